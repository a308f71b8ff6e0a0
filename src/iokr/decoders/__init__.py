"""Pre-images: from h(x) back to an output."""

from iokr.decoders.base import Decoder
from iokr.decoders.candidates import Candidates
from iokr.decoders.identity import Identity
from iokr.decoders.threshold import Threshold

__all__ = ["Candidates", "Decoder", "Identity", "Threshold"]
