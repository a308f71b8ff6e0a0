"""The cases of a study on the workers of a Dask scheduler: a task per cell, which reads its own data.

A task is a function of this module and has the name of the study, its plan and the case: nothing else travels, and the
work follows from these alone, so that a worker may die and another repeat it. Only this module of the laboratory and
`iokr.gram.distributed` import Dask.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from importlib import import_module
from typing import Any

from iokr_lab.cells import kept

__all__ = ["on_workers"]

_RETRIES = 5  # of a task whose worker died
_PATIENCE = "30s"  # to reach the scheduler


def on_workers(
    address: str, module: str, plan: Any, cases: Sequence[Any], sources: Sequence[str], data: Mapping[str, str]
) -> Iterator[tuple[Any, Mapping[str, Any]]]:
    """(case, metrics) as they are finished, worked on by the workers of the scheduler at `address`.

    `module` has the study in `STUDY`; `sources` are the data sets that it reads, and `data` the hash of each of their
    files here, which the workers must find, too.
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
        raise ImportError("A scheduler needs Dask: pip install 'iokr[dask]'.") from None
    try:
        return distributed.Client(address, timeout=_PATIENCE, set_as_default=False)
    except (OSError, ValueError, TypeError) as error:
        raise ValueError(
            f"`scheduler`: no Dask scheduler answers at {address!r} ({str(error).splitlines()[0]:.120}); give the "
            "address that `dask scheduler` prints, tcp://HOST:8786."
        ) from None


def _check_workers(client: Any, address: str) -> None:
    """Refuse a cluster without workers, or whose workers have another version of the library."""
    from iokr import __version__

    found = client.run(_version)
    if not found:
        raise ValueError(f"`scheduler`: {address} has no workers; start some with `dask worker {address}`.")
    others = {where: version for where, version in found.items() if version != __version__}
    if others:
        where, version = next(iter(others.items()))
        raise ValueError(
            f"`scheduler`: the worker {where} has iokr {version} and this is {__version__}; numbers of two versions "
            "do not belong in one table."
        )


def _version() -> str:
    try:
        return str(import_module("iokr").__version__)
    except ImportError:
        return "not installed"


def _cell(module: str, plan: Any, case: Any, sources: tuple[str, ...], data: dict[str, str]) -> Mapping[str, Any]:
    """The work on a case with one BLAS thread: a worker with several threads works on several cases."""
    import warnings

    from threadpoolctl import threadpool_limits

    study = import_module(module).STUDY
    with threadpool_limits(1), warnings.catch_warnings():
        for message in study.ignored:
            warnings.filterwarnings("ignore", message=message)
        return dict(study.work(case, plan, _data(module, plan, sources, tuple(sorted(data.items())))))


@kept(2)
def _data(module: str, plan: Any, sources: tuple[str, ...], data: tuple[tuple[str, str], ...]) -> Any:
    """What all cases share, read once by each process, from the same files as here."""
    from iokr.apps.report import run_info
    from iokr.datasets.home import data_files

    files = [path for name in sources for path in data_files(name)]
    here = run_info(files=files)["data"]
    for name, expected in data:
        if here.get(name) != expected:
            raise ValueError(f"a worker has another {name} than the one that asked; copy the data to all, IOKR_DATA.")
    return import_module(module).STUDY.load(plan)
