"""`iokr doctor`."""

import os
import platform
import sys
from collections.abc import Callable, Sequence
from importlib import metadata
from pathlib import Path

from threadpoolctl import threadpool_info

from iokr.cli.shared import FormatOption, Verbose, print_sections

_PACKAGES = (
    *("iokr", "numpy", "scipy", "scikit-learn", "pandas", "array-api-compat", "filelock"),
    *("matplotlib", "jinja2", "networkx", "pyarrow", "numba", "torch", "cupy-cuda12x", "cupy-cuda13x"),
    *("POT", "grakel"),
)
_THREAD_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


def doctor(format: FormatOption = None, verbose: Verbose = False) -> None:
    """Print versions, devices, threads, memory and the data folder."""
    from iokr.apps.report import usable_cores

    torch, torch_memory = _devices(_torch)
    cupy, cupy_memory = _devices(_cupy)
    sections = {
        "Versions": _versions(),
        "Devices": {"cpu": f"{usable_cores()} of {os.cpu_count()} cores usable", "torch": torch, "cupy": cupy},
        "Linear algebra": _linear_algebra(),
        "Memory": _memory(torch_memory or cupy_memory),
        "Data": _data(),
    }
    print_sections(sections, "found", format)


def _versions() -> dict[str, str]:
    found = {"python": f"{platform.python_version()} ({sys.executable})", "platform": platform.platform()}
    for name in _PACKAGES:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            found[name] = "not installed"
    return found


def _devices(find: Callable[[], tuple[list[str], list[int]]]) -> tuple[str, list[int]]:
    """The names of the GPUs that a library finds, and their free bytes."""
    try:
        names, free = find()
    except ModuleNotFoundError:
        return "not installed", []
    except (ImportError, OSError, RuntimeError) as error:
        return f"cannot be loaded: {error}", []
    return ", ".join(names) or "no GPU", free


def _torch() -> tuple[list[str], list[int]]:
    from torch import cuda

    devices = range(cuda.device_count())
    return [cuda.get_device_name(i) for i in devices], [cuda.mem_get_info(i)[0] for i in devices]


def _cupy() -> tuple[list[str], list[int]]:
    from cupy import cuda

    devices = range(cuda.runtime.getDeviceCount())
    names = [cuda.runtime.getDeviceProperties(i)["name"].decode() for i in devices]
    return names, [cuda.Device(i).mem_info[0] for i in devices]


def _linear_algebra() -> dict[str, str]:
    """The BLAS libraries that NumPy and SciPy have loaded, and their threads."""
    import scipy.linalg  # noqa: F401  (loads its own copy of BLAS)

    found = {}
    for pool in threadpool_info():
        threads = f"{pool['num_threads']} thread{'s' if pool['num_threads'] > 1 else ''}"
        name = f"{pool['prefix']} of {Path(pool['filepath']).parent.name.removesuffix('.libs')}"
        found[name] = f"{pool['internal_api']} {pool['version'] or ''}, {threads}".replace(" ,", ",")
    limits = [f"{name}={os.environ[name]}" for name in _THREAD_VARIABLES if name in os.environ]
    return {**found, "limits set": ", ".join(limits) or "none"}


def _memory(devices: Sequence[int]) -> dict[str, str]:
    """Free memory of the machine and of its GPUs, and the largest fit with a full matrix."""
    from iokr._system.memory import available_memory, container_limit, human_bytes, largest_exact

    try:
        machine = human_bytes(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    except (AttributeError, ValueError, OSError):
        machine = "unknown"
    limit = container_limit()
    free = available_memory()
    found = {
        "machine": machine,
        "left by the container's limit": "no limit" if limit is None else human_bytes(limit),
        "available to a fit": "unknown" if free is None else human_bytes(free),
        "largest exact fit": "unknown" if free is None else f"n = {largest_exact(free)}",
    }
    for i, size in enumerate(devices):
        found[f"free on cuda:{i}"] = f"{human_bytes(size)}, largest exact fit n = {largest_exact(size)}"
    return found


def _data() -> dict[str, str]:
    """The data folder and its data sets."""
    from iokr._system.memory import human_bytes
    from iokr.datasets import data_files, data_home

    home = data_home()
    origin = "IOKR_DATA" if os.environ.get("IOKR_DATA") else "default; set IOKR_DATA for another"
    if not home.is_dir():
        return {"folder": f"{home} ({origin}; does not exist)"}
    found = {"folder": f"{home} ({origin})"}
    for name in sorted(path.name for path in home.iterdir() if path.is_dir()):
        sizes = [file.stat().st_size for file in data_files(name)]
        found[name] = f"{len(sizes)} file{'s' if len(sizes) != 1 else ''}, {human_bytes(sum(sizes))}"
    return found
