"""Models as files: one safetensors file each, read by any version that knows its format, nothing executed."""

from typing import TYPE_CHECKING

from iokr._lazy import lazy_names

if TYPE_CHECKING:
    from iokr.files.container import BadFile
    from iokr.files.model import FORMAT, fingerprint, load, load_beside, save, verify
    from iokr.files.show import describe

__all__ = ["FORMAT", "BadFile", "describe", "fingerprint", "load", "load_beside", "save", "verify"]

__getattr__, __dir__ = lazy_names(__name__)
