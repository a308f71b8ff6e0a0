"""Reports: tables, figures and pictures on one self-contained HTML page, and in the folder of a run.

A `Report` is a value: text, tables, figures and pictures in reading order, notes, and information about the run.
Experiments, benchmarks and the demo return one; `Report.html` renders the page, `write_run` writes the folder.
"""

from typing import TYPE_CHECKING

from iokr._lazy import lazy_names

if TYPE_CHECKING:
    from iokr.apps.report.drawings import CLASSES, draw_network, layout
    from iokr.apps.report.figures import INK, MUTED, OURS, THEIRS, Figure, Pictures, plot, require_report_packages
    from iokr.apps.report.live import LiveNetwork, LiveTable
    from iokr.apps.report.networks import to_cytoscape, to_graphml
    from iokr.apps.report.page import Report, Text
    from iokr.apps.report.progress import Progress, silent
    from iokr.apps.report.run import check_folder, run_info, usable_cores, versions, write_run
    from iokr.apps.report.tables import Spread, Table, text_of

__all__ = [
    "CLASSES",
    "INK",
    "MUTED",
    "OURS",
    "THEIRS",
    "Figure",
    "LiveNetwork",
    "LiveTable",
    "Pictures",
    "Progress",
    "Report",
    "Spread",
    "Table",
    "Text",
    "check_folder",
    "draw_network",
    "layout",
    "plot",
    "require_report_packages",
    "run_info",
    "silent",
    "text_of",
    "to_cytoscape",
    "to_graphml",
    "usable_cores",
    "versions",
    "write_run",
]

__getattr__, __dir__ = lazy_names(__name__)
