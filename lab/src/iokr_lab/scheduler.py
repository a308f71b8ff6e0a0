"""The cases of a study on the workers of a Dask scheduler: one task per cell, which reads its own data.

A task is a function of this module with the name of the study, the plan and the case as arguments. Nothing else is
sent and the result depends on these only, so a task can be repeated on another worker when one dies.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from importlib import import_module
from typing import Any

from iokr_lab.cells import memoized

__all__ = ["on_workers"]

_RETRIES = 5  # per task, when its worker dies
_TIMEOUT = "30s"  # for connecting to the scheduler


def on_workers(
    address: str, module: str, plan: Any, cases: Sequence[Any], sources: Sequence[str], data: Mapping[str, str]
) -> Iterator[tuple[Any, Mapping[str, Any]]]:
    """(case, metrics) in the order in which the workers of the scheduler at `address` finish them.

    `module` has the study in `STUDY`; `sources` are the data sets that it reads, and `data` the hashes of their files,
    which must be the same on the workers.
    """
    if not cases:
        return
    with closing(_client(address)) as client:
        _check_workers(client, address)
        keys = {f"iokr-{module}-{case}-{plan.seed}-{hash(plan)}": case for case in cases}
        futures = [
            client.submit(_cell, module, plan, case, tuple(sources), dict(data), key=key, retries=_RETRIES, pure=True)
            for key, case in keys.items()
        ]
        distributed: Any = import_module("distributed")
        try:
            for future, metrics in distributed.as_completed(futures, loop=client.loop, with_results=True):
                yield keys[future.key], metrics
        finally:
            client.cancel(futures)


def _client(address: str) -> Any:
    try:
        distributed: Any = import_module("distributed")
    except ImportError:
        raise ImportError("`scheduler` needs Dask: pip install 'iokr-lab[dask]'.") from None
    try:
        return distributed.Client(address, timeout=_TIMEOUT, set_as_default=False)
    except (OSError, ValueError, TypeError) as error:
        raise ValueError(
            f"`scheduler` must be the address that `dask scheduler` prints, tcp://HOST:8786; no scheduler answers at "
            f"{address!r} ({str(error).splitlines()[0]:.120})."
        ) from None


def _check_workers(client: Any, address: str) -> None:
    """Raise `ValueError` for a cluster without workers or with another version of the library."""
    from iokr import __version__

    found = client.run(_version)
    if not found:
        raise ValueError(f"`scheduler` must have workers, {address} has none; start some with `dask worker {address}`.")
    others = {where: version for where, version in found.items() if version != __version__}
    if others:
        where, version = next(iter(others.items()))
        raise ValueError(
            f"`scheduler` must have workers with iokr {__version__}, as numbers of two versions cannot be compared; "
            f"the worker {where} has {version}."
        )


def _version() -> str:
    try:
        return str(import_module("iokr").__version__)
    except ImportError:
        return "not installed"


def _cell(module: str, plan: Any, case: Any, sources: tuple[str, ...], data: dict[str, str]) -> Mapping[str, Any]:
    """The metrics of a case, computed with one BLAS thread: a worker with several threads computes several cases."""
    from threadpoolctl import threadpool_limits

    study = import_module(module).STUDY
    with threadpool_limits(1), study.silenced():
        return dict(study.work(case, plan, _data(module, plan, sources, tuple(sorted(data.items())))))


@memoized(2)
def _data(module: str, plan: Any, sources: tuple[str, ...], data: tuple[tuple[str, str], ...]) -> Any:
    """What all cases share, read once per process; its files must have the given hashes."""
    from iokr.apps.report import run_info
    from iokr.datasets.home import data_files

    files = [path for name in sources for path in data_files(name)]
    here = run_info(files=files)["data"]
    for name, expected in data:
        if here.get(name) != expected:
            raise ValueError(f"{name} must be the same file on all workers (IOKR_DATA); a worker has another one.")
    return import_module(module).STUDY.load(plan)
