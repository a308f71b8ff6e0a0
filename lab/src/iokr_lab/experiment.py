"""An entry of the registry: name, paper, required data and the module of the study.

Every import of `iokr_lab` imports this module, so NumPy and the other packages are imported only when a study runs.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from iokr.apps.report import Progress, Report

__all__ = ["Experiment"]


@cache
def _times() -> dict[str, dict[str, str]]:
    """The rows of times.tsv by name."""
    import csv
    from importlib.resources import files

    text = files("iokr_lab").joinpath("times.tsv").read_text("utf-8")
    return {row["name"]: row for row in csv.DictReader(text.splitlines(), delimiter="\t")}


def _duration(seconds: float) -> str:
    """Seconds, minutes or hours, at least 1."""
    if seconds < 100:
        return f"{max(seconds, 1):.0f} s"
    if seconds < 6000:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.0f} h"


@dataclass(frozen=True)
class Experiment:
    """A published table or figure that can be run again.

    Parameters
    ----------
    name : str
        Name on the command line.
    title, paper : str
    module : str
        Module of `iokr_lab` with the constant `STUDY`; imported when the experiment runs.
    data : tuple of str
        Required data sets, folders of `iokr.datasets.data_home()`.

    Examples
    --------
    >>> from iokr_lab import EXPERIMENTS
    >>> "usps" in [experiment.name for experiment in EXPERIMENTS]
    True
    """

    name: str
    title: str
    paper: str
    module: str
    data: tuple[str, ...] = ()

    @property
    def time(self) -> str:
        """Time of the short plan on one core and the numbers of cells of both plans, as `tools/times.py` measured.

        Cells run in parallel, one per core; those of the default plan may take longer.
        """
        row = _times().get(self.name)
        if row is None:
            return "not measured"
        about = "" if row["how"] == "measured" else "about "
        duration = _duration(float(row["seconds"]))
        return f"{about}{duration} for {row['cells']} cells; default {row['default_cells']}"

    def missing(self) -> str | None:
        """The missing data sets in a sentence; None if all are present."""
        from iokr.datasets.home import missing_data

        return missing_data(self.data)

    def run(
        self,
        *,
        plan: str = "default",
        seed: int = 0,
        repeat: int | None = None,
        progress: Progress | None = None,
        folder: Path | None = None,
        n_jobs: int | None = None,
        scheduler: str | None = None,
    ) -> Report:
        """Run the study and report the published numbers next to ours.

        Parameters
        ----------
        plan : str, default="default"
            "short", a smaller plan that takes minutes at most; "full", the whole published protocol if the default is
            shorter.
        seed : int, default=0
            Random seed.
        repeat : int, optional
            Number of repetitions of the random choices; None is the number of the plan.
        progress, folder, n_jobs
            As in `iokr_lab.study.run`.
        scheduler : str, optional
            Address of a Dask scheduler, tcp://HOST:8786. Its workers compute the cases; they need the same version of
            the library and the same data. This process stores the results.
        """
        from iokr.apps.report import silent
        from iokr.datasets.home import data_files
        from iokr_lab.study import run

        module = f"iokr_lab.{self.module}"
        study = import_module(module).STUDY
        chosen = study.plan(plan, seed=seed, repeat=repeat)
        files = [path for name in self.data for path in data_files(name)]
        remote = None
        if scheduler is not None:
            from iokr_lab.scheduler import on_workers

            def remote(cases: Any, hashes: Any) -> Any:
                return on_workers(scheduler, module, chosen, cases, self.data, hashes)

        return run(
            study,
            chosen,
            folder=folder,
            progress=progress or silent,
            n_jobs=n_jobs,
            files=files,
            remote=remote,
        )
