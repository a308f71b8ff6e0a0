"""Molecules of tandem mass spectra: read, train, identify, evaluate.

What `iokr msms` does, as functions that take files or data in memory and return values with tables and reports.
"""

from typing import TYPE_CHECKING

from iokr._lazy import lazy_names

if TYPE_CHECKING:
    from iokr.apps.msms.checkpoint import Checkpoint
    from iokr.apps.msms.demo import MadeSpectra, make_spectra, write_demo
    from iokr.apps.msms.evaluation import TableEvaluation, evaluate, evaluate_table
    from iokr.apps.msms.evaluation_result import EvaluationResult
    from iokr.apps.msms.identification import identify
    from iokr.apps.msms.identification_result import IdentificationResult
    from iokr.apps.msms.inputs import cache_file, read_spectra
    from iokr.apps.msms.model import SpectraModel, load
    from iokr.apps.msms.training import train

__all__ = [
    "Checkpoint",
    "EvaluationResult",
    "IdentificationResult",
    "MadeSpectra",
    "SpectraModel",
    "TableEvaluation",
    "cache_file",
    "evaluate",
    "evaluate_table",
    "identify",
    "load",
    "make_spectra",
    "read_spectra",
    "train",
    "write_demo",
]

__getattr__, __dir__ = lazy_names(__name__)
