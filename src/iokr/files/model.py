"""`save` and `load`: one file, in the safetensors format, its structure one JSON string of the header."""

from __future__ import annotations

import json
import os
import platform
import warnings
from collections.abc import Mapping
from hashlib import sha256
from importlib import metadata as packages
from typing import Any

import joblib
import numpy as np

from iokr._state import Stateful
from iokr._system.files import write_atomically
from iokr.files.arrays import ArrayReader
from iokr.files.container import BadFile, Container, check_path, open_container, write_container
from iokr.files.format1 import renewed
from iokr.files.reading import Reader, UnfitPart, UnknownClass
from iokr.files.registry import MissingBaseline, name_of
from iokr.files.structure import Hole, Writer, role_of

__all__ = ["FORMAT", "fingerprint", "load", "load_beside", "read_structure", "save", "verify"]

FORMAT = 2
_KEY, _DIGEST = "iokr", "iokr_sha256"
_PACKAGES = ("iokr", "numpy", "scipy", "scikit-learn")
_MALFORMED = (KeyError, TypeError, ValueError, IndexError, AttributeError, OverflowError, RecursionError)


def save(
    model: Any,
    path: str | os.PathLike[str],
    *,
    data: Mapping[str, Any] | None = None,
    provenance: Mapping[str, Any] | None = None,
    beside: Mapping[str, Any] | None = None,
) -> None:
    """Write a fitted model, or any component, to one file that `load` reads and that executes nothing.

    The file is in the safetensors format: every reader of that sees the arrays, and the structure as one JSON string.
    It holds parameters and fitted values, with the versions and a hash of every array, and takes the place of an older
    file only when it is whole. Functions and objects of other packages are not stored: they are named, and given again
    to `load`. The same model gives the same bytes.

    Parameters
    ----------
    model : estimator or component of iokr
    path : path
        By custom with the suffix `.safetensors`.
    data : mapping of names to data, default=None
        The training data, `{"X": X, "y": y}`, whose hashes are stored: see `fingerprint`.
    provenance : mapping of names to texts and numbers, default=None
        Where the model comes from; `iokr show` prints it.
    beside : mapping of names to data, default=None
        Further data of an application, such as ids of nodes; `iokr.files.load_beside` reads them.

    Examples
    --------
    >>> import os, tempfile
    >>> from iokr import IOKR, load, save
    >>> model = IOKR(alpha=0.1).fit([[0.0], [1.0], [2.0]], [0.0, 1.0, 4.0])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(model, os.path.join(folder, "model.safetensors"))
    ...     again = load(os.path.join(folder, "model.safetensors"))
    >>> bool((again.predict([[1.5]]) == model.predict([[1.5]])).all())
    True
    """
    if name_of(type(model)) is None:
        raise TypeError(
            f"`model` must be an estimator or a component of iokr, got {type(model).__name__}; for a pipeline or a "
            "search, save the fitted step, such as `pipeline[-1]` or `search.best_estimator_`."
        )
    path = check_path(path)
    data, provenance, beside = (
        _mapping(value, name) for value, name in ((data, "data"), (provenance, "provenance"), (beside, "beside"))
    )
    writer = Writer(model)
    root = writer.node(model)
    beside_node = writer.node(beside, "beside", few=len(beside))  # its names stay readable, however many
    entries, tensors = writer.arrays.finish()
    structure = {
        "format": FORMAT,
        "versions": {"python": platform.python_version(), **{name: packages.version(name) for name in _PACKAGES}},
        "model": root,
        "holes": [vars(hole) for hole in writer.holes],
        "data": {name: fingerprint(value) for name, value in data.items()},
        "provenance": _checked_provenance(provenance),
        "beside": beside_node,
        "objects": writer.objects,
        "arrays": entries,
    }
    for hole in writer.holes:
        warnings.warn(
            f"The file does not hold {hole}; to load it pass `parts={{{hole.path!r}: {hole.name}}}`"
            + (", the fitted object." if hole.kind == "object" else "."),
            UserWarning,
            stacklevel=2,
        )

    def describe(digests: dict[str, str]) -> dict[str, str]:
        text = json.dumps({**structure, "sha256": digests}, separators=(",", ":"), ensure_ascii=False)
        return {_KEY: text, _DIGEST: _digest(text)}

    with write_atomically(path) as file:
        write_container(file, tensors, describe)


def load(
    path: str | os.PathLike[str],
    parts: Mapping[str, Any] | None = None,
    mmap: bool = False,
    *,
    device: str | None = None,
) -> Any:
    """Read a model that `save` has written. Nothing in the file is executed, whoever wrote it.

    Parameters
    ----------
    path : path
    parts : mapping, default=None
        The functions and foreign objects that the file names, by the paths of `get_params`: `{"kernel__f": f}`.
    mmap : bool, default=False
        Leave the arrays in the file and read them when they are used: large models open in milliseconds, and processes
        share their memory. Header, places and sizes are checked, hashes are not (`iokr show FILE --verify` does that),
        arrays cannot be written to, and answers may differ in the last bit where the model held strided arrays.
    device : str, default=None
        Where arrays of torch go, "cpu" unless you say "cuda"; with "cpu" those of CuPy become NumPy's.

    Returns
    -------
    model
        Predicts the same to the last bit on the machine that saved it.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> import iokr
    >>> model = iokr.IOKR(alpha=0.1).fit([[0.0], [1.0]], [0.0, 1.0])
    >>> with TemporaryDirectory() as folder:
    ...     iokr.save(model, Path(folder, "model.safetensors"))
    ...     again = iokr.load(Path(folder, "model.safetensors"))
    >>> again, bool((again.predict([[0.5]]) == model.predict([[0.5]])).all())
    (IOKR(alpha=0.1), True)
    """
    return _load(path, "model", parts, mmap, device)


def load_beside(path: str | os.PathLike[str]) -> dict[str, Any]:
    """The argument `beside` of `save`: data of an application, such as names, units and settings.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from iokr import IOKR
    >>> from iokr.files import load_beside, save
    >>> model = IOKR(alpha=0.1).fit([[0.0], [1.0]], [0.0, 1.0])
    >>> with TemporaryDirectory() as folder:
    ...     save(model, Path(folder, "model.safetensors"), beside={"unit": "mm"})
    ...     load_beside(Path(folder, "model.safetensors"))
    {'unit': 'mm'}
    """
    return dict(_load(path, "beside", None, False, None))


def _load(path: Any, what: str, parts: Mapping[str, Any] | None, mmap: bool, device: str | None) -> Any:
    with open_container(path) as file:
        structure = read_structure(file)
        parts = _mapping(parts, "parts")
        holes = _holes(file, structure, parts) if what == "model" else []
        arrays = None if mmap else file.read(structure["sha256"])
        try:
            tensors = file.mapped if arrays is None else arrays.__getitem__
            values = ArrayReader(structure["arrays"], tensors, mapped=mmap, device=device)
            renew = renewed if structure["format"] == 1 else None
            reader = Reader(structure["objects"], values, holes, parts, renew)
            value = reader.value(structure[what])
            for parameter, component in reader.components.items():
                _check_parameters(parameter, parts[parameter], component)
            return value
        except UnknownClass as error:
            raise file.bad(
                f"it names the class {error}, which iokr {packages.version('iokr')} does not have; it was written by "
                f"iokr {structure['versions']['iokr']}"
            ) from None
        except MissingBaseline as error:
            raise MissingBaseline(f"{file.path}: {error}.") from None
        except (BadFile, UnfitPart):
            raise
        except _MALFORMED as error:
            raise file.bad(f"its structure is malformed ({type(error).__name__}: {error!s:.100})") from error


def read_structure(file: Container) -> dict[str, Any]:
    """The structure of an open file, checked as far as it can be without the arrays."""
    text = file.metadata.get(_KEY)
    if text is None:
        raise file.bad("it is a safetensors file, but iokr has not written it")
    try:
        structure = json.loads(text)
        number = structure["format"]
        version = structure["versions"]["iokr"]
    except _MALFORMED as error:
        raise file.bad(f"its structure is not a JSON object with a format and versions ({error!s:.80})") from None
    if number not in range(1, FORMAT + 1):
        raise file.bad(
            f"it has the format {number!r:.20} (iokr {version!r:.20}), and iokr {packages.version('iokr')} reads "
            f"formats up to {FORMAT}; a newer iokr may read it"
        )
    if _digest(text) != file.metadata.get(_DIGEST):
        raise file.bad("its structure is not what was saved (its hash differs)")
    expected = {"versions": dict, "holes": list, "objects": list, "arrays": list, "sha256": dict}
    for name, kind in expected.items():
        if not isinstance(structure.get(name), kind):
            raise file.bad(f"its structure has no {name}")
    if set(structure["sha256"]) != set(file.tensors):
        raise file.bad("it has other arrays than its structure says")
    return dict(structure)


def verify(path: str | os.PathLike[str]) -> None:
    """Compare every array of a file with its hash, in little memory; `BadFile` names one that differs.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from iokr import IOKR
    >>> from iokr.files import BadFile, save, verify
    >>> model = IOKR(alpha=0.1).fit([[0.0], [1.0]], [0.0, 1.0])
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "model.safetensors")
    ...     save(model, path)
    ...     verify(path)  # says nothing when all is well
    ...     data = path.read_bytes()
    ...     _ = path.write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
    ...     try:
    ...         verify(path)
    ...     except BadFile:
    ...         print("damaged")
    damaged
    """
    with open_container(path) as file:
        file.verify(read_structure(file)["sha256"])


def fingerprint(value: Any) -> str:
    """A hash of data of any kind that files can hold: equal data give equal hashes for any layout in memory.

    Examples
    --------
    >>> import numpy as np
    >>> from iokr.files import fingerprint
    >>> A = np.arange(6.0).reshape(2, 3)
    >>> fingerprint(A) == fingerprint(np.asfortranarray(A)), fingerprint(A) == fingerprint(A + 1)
    (True, False)
    """
    writer = Writer()
    if isinstance(value, np.ndarray):
        value = np.ascontiguousarray(value)
    text = json.dumps([writer.node(value, "data"), writer.objects])
    entries, tensors = writer.arrays.finish()
    digest = sha256(text.encode("utf-8", "surrogatepass") + json.dumps(entries).encode())
    for name in sorted(tensors):
        digest.update(f"{name} {tensors[name].dtype.str} {tensors[name].shape}".encode())
        digest.update(tensors[name].tobytes())
    return digest.hexdigest()


def _digest(text: str) -> str:
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _mapping(value: Any, name: str) -> dict[str, Any]:
    if value is not None and not isinstance(value, Mapping):
        raise TypeError(f"`{name}` must map names to values, got {value!r:.60}.")
    return dict(value or {})


def _checked_provenance(provenance: dict[str, Any]) -> dict[str, Any]:
    try:
        if len(json.dumps(provenance, allow_nan=False)) < 1 << 20:
            return provenance
    except (TypeError, ValueError) as error:
        raise TypeError(f"`provenance` must hold texts and numbers ({error}).") from None
    raise ValueError("`provenance` must be short: it has more than a megabyte.")


def _holes(file: Container, structure: Mapping[str, Any], parts: dict[str, Any]) -> list[Hole]:
    """The holes of a file, each with its part."""
    try:
        holes = [Hole(**{name: str(value) for name, value in hole.items()}) for hole in structure["holes"]]
    except _MALFORMED as error:
        raise file.bad(f"its list of missing parts is malformed ({error!s:.80})") from None
    missing = [hole for hole in holes if hole.path not in parts]
    if missing:
        given = ", ".join(f"{hole.path!r}: {hole.name}" for hole in missing)
        raise ValueError(
            f"{file.path} does not hold {'; '.join(map(str, missing))}. Pass the missing parts: "
            f"`load(path, parts={{{given}}})`."
        )
    unknown = sorted(set(parts) - {hole.path for hole in holes})
    if unknown:
        known = ", ".join(f"`{hole.path}`" for hole in holes) or "none"
        raise ValueError(
            f"`parts` has {', '.join(map(repr, unknown))}, but the parts that {file.path} needs are: {known}."
        )
    for hole in holes:
        _check_part(hole, parts[hole.path])
    return holes


def _check_part(hole: Hole, part: Any) -> None:
    """Raise unless what is given for a hole is of its kind."""
    what = f"`parts[{hole.path!r}]` must be"
    cls = part if isinstance(part, type) else type(part)
    if hole.kind == "function" and not callable(part):
        raise TypeError(f"{what} a function, got {part!r:.60}.")
    if hole.kind == "object" and isinstance(part, type):
        raise TypeError(f"{what} the fitted {hole.name}, got the class itself.")
    if hole.kind == "class":
        if (cls.__module__, cls.__qualname__) != (hole.module, hole.name):
            raise TypeError(f"{what} the class {hole.module}.{hole.name}, got {part!r:.60}.")
        if not issubclass(cls, Stateful) or role_of(cls) != hole.role:
            raise TypeError(f"{what} a class derived from {hole.role or 'an estimator of iokr'}, got {part!r:.60}.")


def _check_parameters(path: str, part: Any, component: Any) -> None:
    """Raise if an object given in place of its class has other parameters than the one in the file."""
    if isinstance(part, type):
        return
    given = part.get_params(deep=False)
    for name, stored in component.get_params(deep=False).items():
        if joblib.hash(given[name]) != joblib.hash(stored):
            raise UnfitPart(
                f"`parts[{path!r}]` has {name}={given[name]!r:.60}, but {name}={stored!r:.60} is in the file; pass the "
                f"class {type(part).__name__} itself."
            )
