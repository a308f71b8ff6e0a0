"""An entry of the registry: a name, a paper, the data it needs, and where its study is.

Whoever imports anything of the laboratory imports this, so that NumPy and the rest wait until something is run.
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


@dataclass(frozen=True)
class Experiment:
    """A published table or figure that can be run again.

    Parameters
    ----------
    name : str
        As on the command line.
    title, paper : str
    module : str
        Of `iokr_lab`; it has the constant `STUDY`, and is imported when it runs.
    data : tuple of str
        Data sets it needs, folders of `iokr.datasets.data_home()`.

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
        """What `--short` costs one core, and how many cells it and the default plan have, as `tools/times.py` measured.

        Cells run side by side, one per core; those of the default plan may take longer each.
        """
        row = _times().get(self.name)
        if row is None:
            return "not measured"
        seconds = float(row["seconds"])
        unit, size = ("s", 1.0) if seconds < 100 else ("min", 60.0) if seconds < 6000 else ("h", 3600.0)
        about = "" if row["how"] == "measured" else "about "
        return f"{about}{max(seconds / size, 1):.0f} {unit} for {row['cells']} cells; default {row['default_cells']}"

    def missing(self) -> str | None:
        """What keeps it from running: the data sets that are not there, in a sentence."""
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
        """Run it, as `iokr_lab.study.run` does: the published numbers beside ours.

        Parameters
        ----------
        plan : str, default="default"
            "short", a smaller one that takes minutes at most; "full", the whole published protocol where the default is
            shorter.
        seed : int, default=0
            Every random choice follows from it.
        repeat : int, optional
            How often to repeat the random choices; None is the number of the plan.
        progress, folder, n_jobs
            As there.
        scheduler : str, optional
            The address of a Dask scheduler, tcp://HOST:8786: its workers, which need the same version and the data,
            work on the cases, and this process keeps what they find.
        """
        from iokr.apps.report import silent
        from iokr.datasets.home import data_files
        from iokr_lab.study import run

        module = f"iokr_lab.{self.module}"
        study = import_module(module).STUDY
        chosen = study.plan(plan, seed=seed, repeat=repeat)
        files = [path for name in self.data for path in data_files(name)]
        elsewhere = None
        if scheduler is not None:
            from iokr_lab.scheduler import on_workers

            def elsewhere(cases: Any, data: Any) -> Any:
                return on_workers(scheduler, module, chosen, cases, self.data, data)

        return run(
            study,
            chosen,
            folder=folder,
            progress=progress or silent,
            n_jobs=n_jobs,
            files=files,
            elsewhere=elsewhere,
        )
