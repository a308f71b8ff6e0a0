"""Models as files: one safetensors file each, read by any version that knows its format, nothing executed."""

from iokr.files.container import BadFile
from iokr.files.model import FORMAT, fingerprint, load, save, verify

__all__ = ["FORMAT", "BadFile", "fingerprint", "load", "save", "verify"]
