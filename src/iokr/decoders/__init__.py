"""Decoders, from h(x) to an output: the pre-image problem."""

from typing import TYPE_CHECKING

from iokr._lazy import lazy_names

if TYPE_CHECKING:
    from iokr.decoders.assignment import Assignment
    from iokr.decoders.barycenter import GraphBarycenter
    from iokr.decoders.base import Decoder, Identity
    from iokr.decoders.candidates import Candidates
    from iokr.decoders.descent import FixedPoint
    from iokr.decoders.edits import GraphEdits
    from iokr.decoders.ngrams import NGramPath
    from iokr.decoders.positions import Positions
    from iokr.decoders.risk import MinimumRisk
    from iokr.decoders.threshold import Threshold
    from iokr.decoders.trees import TreeEdits

__all__ = [
    "Assignment",
    "Candidates",
    "Decoder",
    "FixedPoint",
    "GraphBarycenter",
    "GraphEdits",
    "Identity",
    "MinimumRisk",
    "NGramPath",
    "Positions",
    "Threshold",
    "TreeEdits",
]

__getattr__, __dir__ = lazy_names(__name__)
