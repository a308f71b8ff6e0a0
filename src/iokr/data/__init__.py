"""Containers of data: rows in chunks, sets of candidates, unlabelled inputs."""

from typing import TYPE_CHECKING

from iokr._lazy import lazy_names

if TYPE_CHECKING:
    from iokr.data.candidates import CandidateSets, SharedCandidates, Unlabeled
    from iokr.data.chunks import Stream

__all__ = ["CandidateSets", "SharedCandidates", "Stream", "Unlabeled"]

__getattr__, __dir__ = lazy_names(__name__)
