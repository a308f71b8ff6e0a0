"""`iokr doctor`."""

import os
import platform
import sys
from importlib import metadata, util
from pathlib import Path

from iokr.cli.shared import FormatOption, Verbose, print_tables

_PACKAGES = (
    *("iokr", "numpy", "scipy", "scikit-learn", "pandas", "array-api-compat", "filelock"),
    *("matplotlib", "jinja2", "networkx", "pyarrow", "numba", "torch", "cupy-cuda12x", "cupy-cuda13x"),
    *("POT", "grakel"),
)
_THREAD_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


def doctor(format: FormatOption = None, verbose: Verbose = False) -> None:
    """Print versions, devices, threads, memory and the data folder."""
    from iokr.apps.report import Table

    sections = {
        "Versions": _versions(),
        "Devices": _devices(),
        "Linear algebra": _linear_algebra(),
        "Memory": _memory(),
        "Data": _data(),
    }
    tables = [
        Table(title, [{"item": item, "found": found} for item, found in rows.items()])
        for title, rows in sections.items()
    ]
    print_tables(tables, format)


def _versions() -> dict[str, str]:
    found = {"python": f"{platform.python_version()} ({sys.executable})", "platform": platform.platform()}
    for name in _PACKAGES:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            found[name] = "not installed"
    return found


def _devices() -> dict[str, str]:
    """Processors, and the accelerators that torch and CuPy find."""
    from iokr.apps.report import usable_cores

    return {"cpu": f"{usable_cores()} of {os.cpu_count()} cores usable", "torch": _torch(), "cupy": _cupy()}


def _torch() -> str:
    if util.find_spec("torch") is None:
        return "not installed"
    try:
        import torch

        names = [torch.cuda.get_device_name(i) for i in range(torch.cuda.device_count())]
    except (ImportError, OSError, RuntimeError) as error:
        return f"does not start: {error}"
    return ", ".join(names) or "cpu only"


def _cupy() -> str:
    if util.find_spec("cupy") is None:
        return "not installed"
    try:
        import cupy

        runtime = cupy.cuda.runtime
        names = [runtime.getDeviceProperties(i)["name"].decode() for i in range(runtime.getDeviceCount())]
    except (ImportError, OSError, RuntimeError) as error:
        return f"does not start: {error}"
    return ", ".join(names) or "no device"


def _linear_algebra() -> dict[str, str]:
    """The BLAS libraries that NumPy and SciPy have loaded, and their threads."""
    import scipy.linalg  # noqa: F401  (loads its own copy of BLAS)
    from threadpoolctl import threadpool_info

    found = {}
    for pool in threadpool_info():
        threads = f"{pool['num_threads']} thread{'s' if pool['num_threads'] > 1 else ''}"
        name = f"{pool['prefix']} of {Path(pool['filepath']).parent.name.removesuffix('.libs')}"
        found[name] = f"{pool['internal_api']} {pool['version'] or ''}, {threads}".replace(" ,", ",")
    limits = [f"{name}={os.environ[name]}" for name in _THREAD_VARIABLES if name in os.environ]
    return {**found, "limits set": ", ".join(limits) or "none"}


def _memory() -> dict[str, str]:
    from iokr._system.memory import available_memory, container_limit, human_bytes, largest_exact

    def words(n: int | None, otherwise: str) -> str:
        return otherwise if n is None else human_bytes(n)

    free = available_memory()
    found = {
        "machine": words(_physical_memory(), "unknown"),
        "left by the container's limit": words(container_limit(), "no limit"),
        "available to a fit": words(free, "unknown"),
        "largest exact fit": "unknown" if free is None else f"n = {largest_exact(free)}",
    }
    for name, device_free in _device_memory().items():
        found[f"free on {name}"] = f"{human_bytes(device_free)}, largest exact fit n = {largest_exact(device_free)}"
    return found


def _device_memory() -> dict[str, int]:
    """Free bytes of every CUDA device that torch or CuPy finds."""
    if util.find_spec("torch") is not None:
        try:
            import torch

            return {f"cuda:{i}": torch.cuda.mem_get_info(i)[0] for i in range(torch.cuda.device_count())}
        except (ImportError, OSError, RuntimeError):
            return {}
    if util.find_spec("cupy") is not None:
        try:
            import cupy

            devices = [cupy.cuda.Device(i) for i in range(cupy.cuda.runtime.getDeviceCount())]
            return {f"cuda:{device.id}": device.mem_info[0] for device in devices}
        except (ImportError, OSError, RuntimeError):
            return {}
    return {}


def _physical_memory() -> int | None:
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return None


def _data() -> dict[str, str]:
    """The data folder and its data sets."""
    from iokr._system.memory import human_bytes
    from iokr.datasets import data_files, data_home

    def state(name: str) -> str:
        files = data_files(name)
        return f"{len(files)} file{'s' if len(files) != 1 else ''}, {human_bytes(sum(f.stat().st_size for f in files))}"

    home = data_home()
    origin = "IOKR_DATA" if os.environ.get("IOKR_DATA") else "default; set IOKR_DATA for another"
    folder = f"{home} ({origin}{'' if home.is_dir() else '; does not exist'})"
    names = sorted(path.name for path in home.iterdir() if path.is_dir()) if home.is_dir() else []
    return {"folder": folder, **{name: state(name) for name in names}}
