"""What an experiment is: a name, a paper, the data it needs, and a function that returns a report."""

from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from time import perf_counter

from iokr.datasets.home import DataNotFound, data_files
from iokr.report import Progress, Report, run_info, silent

__all__ = ["Experiment"]


@dataclass(frozen=True)
class Experiment:
    """A published table or figure that can be run again.

    Parameters
    ----------
    name : str
        As on the command line.
    title, paper : str
    module : str
        Of `iokr_lab`; it has the function `run`.
    data : tuple of str
        Data sets it needs, folders of `iokr.datasets.data_home()`.
    threads : int, optional
        BLAS threads; one is best for the many small matrices of some experiments. None leaves it to the library.
    resumable : bool
        A long one: it has a short and a complete protocol, and keeps finished parts in the folder of the run.

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
    threads: int | None = None
    resumable: bool = False

    def missing(self) -> list[str]:
        """What keeps it from running, a line for every data set that is not there."""
        lines = []
        for name in self.data:
            try:
                data_files(name)
            except DataNotFound as error:
                lines.append(str(error))
        return lines

    def run(
        self,
        *,
        seed: int = 0,
        repeat: int | None = None,
        progress: Progress = silent,
        complete: bool = False,
        folder: Path | None = None,
    ) -> Report:
        """Run it.

        Parameters
        ----------
        seed : int, default=0
            Every random choice follows from it.
        repeat : int, optional
            How often to repeat the random choices; None is what the experiment thinks enough.
        progress : callable, optional
        complete : bool, default=False
            The whole published protocol, where the experiment has a shorter one.
        folder : Path, optional
            Where a resumable experiment keeps what is finished.

        Returns
        -------
        Report
            With the published figures beside ours, and with `info` filled in.
        """
        from threadpoolctl import threadpool_limits

        if complete and not self.resumable:
            raise ValueError(f"{self.name} has one protocol; `--full` is for experiments that also have a short one.")
        files = [path for name in self.data for path in data_files(name)]
        module = import_module(f"iokr_lab.{self.module}")
        start = perf_counter()
        with threadpool_limits(self.threads):
            more = {"complete": complete, "folder": folder} if self.resumable else {}
            report: Report = module.run(seed=seed, repeat=repeat, progress=progress, **more)
        return report.with_info(run_info(seed=seed, seconds=perf_counter() - start, files=files))
