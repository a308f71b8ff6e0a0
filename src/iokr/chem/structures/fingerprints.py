"""Fingerprints of molecules: which substructures they have, as bits."""

from __future__ import annotations

import os
import sqlite3
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin

from iokr._system.text import printable
from iokr.chem.structures.molecules import BadMolecule, Molecule, rdkit_version
from iokr.data.bits import Bits
from iokr.data.objects import BadObject, BadObjectType, as_objects, n_objects

__all__ = ["Fingerprints"]

_SIZES = {"maccs": 167, "morgan2": 2048, "morgan3": 2048, "rdkit6": 2048, "atompair": 2048, "morgan2c": 2048}
_COUNTS = ("morgan2c",)
_MANY = 500  # of SQLite's parameters in one question


class Fingerprints(TransformerMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn is untyped
    """SMILES ↦ bits: a scikit-learn transformer, from molecules to `Bits`, which `Tanimoto` compares.

    Molecules are SMILES, InChI, `Molecule` or RDKit molecules. Each distinct text is computed once, and with `cache`
    once for ever. Needs the extra `chem`.

    Parameters
    ----------
    kinds : str, default="maccs,morgan2,rdkit6"
        Out of ``maccs`` (167 bits), ``morgan2``, ``morgan3`` (radius), ``rdkit6`` (paths of up to six bonds),
        ``atompair`` (2048 each), and ``morgan2c``, counts in place of bits, which give a matrix.
    cache : path, optional
        A file in which fingerprints are kept, by SMILES, kinds and RDKit's version; one that cannot be read or written,
        as on a full disk, is left alone with a warning.

    Examples
    --------
    >>> from iokr.chem import Fingerprints
    >>> from iokr.kernels import Tanimoto
    >>> bits = Fingerprints().fit_transform(["CCO", "CCCO", "c1ccccc1"])
    >>> bits
    Bits(3 rows of 4263)
    >>> Tanimoto()(bits).round(2)
    array([[1.  , 0.61, 0.  ],
           [0.61, 1.  , 0.  ],
           [0.  , 0.  , 1.  ]])
    """

    def __init__(self, kinds: str = "maccs,morgan2,rdkit6", cache: Any = None) -> None:
        self.kinds, self.cache = kinds, cache

    def fit(self, X: Any = None, y: Any = None) -> Fingerprints:
        """Check the kinds."""
        self.n_bits_ = sum(_SIZES[kind] for kind in self._listed())
        return self

    def transform(self, X: Any) -> Any:
        """`Bits` (n, p), or a matrix where a kind has counts; what is no molecule is refused by its number."""
        kinds = self._listed()
        n_objects(X)
        items = [
            item if isinstance(item, (str, Molecule)) else _molecule(item, i) for i, item in enumerate(as_objects(X))
        ]
        texts = [item.smiles if isinstance(item, Molecule) else item.strip() for item in items]
        first = {text: i for i, text in reversed(list(enumerate(texts)))}
        known = self._read(first, kinds)
        made: dict[str, np.ndarray] = {}
        makers = [_maker(kind) for kind in kinds] if len(known) < len(first) else []
        for text, i in first.items():
            if text not in known:
                item = items[i]
                molecule = item if isinstance(item, Molecule) else _molecule(item, i)
                made[text] = np.concatenate([make(molecule.mol) for make in makers])
        packed = {t: row if _any_counts(kinds) else np.packbits(row) for t, row in made.items()}
        self._write(packed, kinds)
        rows = known | packed
        width = sum(_SIZES[kind] for kind in kinds)
        if _any_counts(kinds):
            return np.array([rows[text] for text in texts], dtype=np.uint16).reshape(len(texts), width)
        return Bits(np.array([rows[t] for t in texts], dtype=np.uint8).reshape(len(texts), -(-width // 8)), width)

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """The kind and number of each bit."""
        return np.array([f"{kind}_{bit}" for kind in self._listed() for bit in range(_SIZES[kind])], dtype=object)

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def _listed(self) -> tuple[str, ...]:
        names = self.kinds.split(",") if isinstance(self.kinds, str) else self.kinds
        if not isinstance(names, (list, tuple)) or not names or not all(isinstance(name, str) for name in names):
            raise TypeError(
                f"`kinds` must be names separated by commas, such as 'maccs,morgan2', got {self.kinds!r:.60}."
            )
        kinds = tuple(name.strip() for name in names)
        for kind in kinds:
            if kind not in _SIZES:
                raise ValueError(f"`kinds` must be out of {', '.join(_SIZES)}, got {kind!r}.")
        return kinds

    # --------------------------------------------------------------------------------------------------------- cache

    def _read(self, texts: Iterable[str], kinds: Sequence[str]) -> dict[str, np.ndarray]:
        """Those of `texts` that the cache has."""
        if self._path is None:
            return {}
        wanted, found = list(texts), dict[str, np.ndarray]()
        kind = np.dtype(np.uint16 if _any_counts(kinds) else np.uint8)
        size = sum(_SIZES[name] for name in kinds)
        size = size if _any_counts(kinds) else -(-size // 8)
        with self._spared():
            if not self._path.exists():
                return {}
        with self._spared(), self._connected() as store:
            for start in range(0, len(wanted), _MANY):
                some = wanted[start : start + _MANY]
                marks = ",".join("?" * len(some))
                rows = store.execute(
                    f"SELECT smiles, bits FROM fingerprints WHERE kinds = ? AND smiles IN ({marks})",
                    [self._version(kinds), *some],
                )
                found.update({text: np.frombuffer(bits, dtype=kind) for text, bits in rows})
        return {text: row for text, row in found.items() if len(row) == size}

    def _write(self, rows: dict[str, np.ndarray], kinds: Sequence[str]) -> None:
        if self._path is None or not rows:
            return
        version = self._version(kinds)
        with self._spared(), self._connected() as store, store:
            store.executemany(
                "INSERT OR REPLACE INTO fingerprints VALUES (?, ?, ?)",
                [(text, version, row.tobytes()) for text, row in rows.items()],
            )

    @property
    def _path(self) -> Path | None:
        if self.cache is None or isinstance(self.cache, (str, os.PathLike)):
            return Path(self.cache) if self.cache else None
        raise TypeError(f"`cache` must be a path or None, got {self.cache!r:.60}.")

    @contextmanager
    def _spared(self) -> Iterator[None]:
        """A cache that fails costs time and nothing else."""
        try:
            yield
        except (sqlite3.Error, OSError, ValueError) as error:
            warnings.warn(
                f"`cache` {printable(str(self.cache))} cannot be used for fingerprints ({error}): they are computed "
                "each time. Delete it if it is damaged.",
                stacklevel=4,
            )

    def _connected(self) -> closing[sqlite3.Connection]:
        assert self._path is not None
        self._path.parent.mkdir(parents=True, exist_ok=True)
        store = sqlite3.connect(self._path, timeout=60.0)
        try:
            store.execute(
                "CREATE TABLE IF NOT EXISTS fingerprints"
                " (smiles TEXT, kinds TEXT, bits BLOB, PRIMARY KEY (smiles, kinds))"
            )
        except sqlite3.Error:
            store.close()
            raise
        return closing(store)

    def _version(self, kinds: Sequence[str]) -> str:
        return f"{','.join(kinds)} RDKit {rdkit_version()}"


def _any_counts(kinds: Sequence[str]) -> bool:
    return any(kind in _COUNTS for kind in kinds)


def _molecule(item: Any, number: int) -> Molecule:
    try:
        return Molecule(item)
    except BadMolecule as error:
        raise BadObject("Molecule", number, f": {error}") from None
    except TypeError as error:
        raise BadObjectType("Molecule", number, f": {error}") from None


def _maker(kind: str) -> Callable[[Any], np.ndarray]:
    """The function from RDKit's molecule to an array."""
    rdkit_version()
    from rdkit.Chem import rdFingerprintGenerator as generators
    from rdkit.Chem import rdMolDescriptors

    if kind == "maccs":
        return lambda mol: np.array(rdMolDescriptors.GetMACCSKeysFingerprint(mol), dtype=np.uint8)
    generator = {
        "morgan2": lambda: generators.GetMorganGenerator(radius=2, fpSize=2048),
        "morgan2c": lambda: generators.GetMorganGenerator(radius=2, fpSize=2048),
        "morgan3": lambda: generators.GetMorganGenerator(radius=3, fpSize=2048),
        "rdkit6": lambda: generators.GetRDKitFPGenerator(maxPath=6, fpSize=2048),
        "atompair": lambda: generators.GetAtomPairGenerator(fpSize=2048),
    }[kind]()
    if kind in _COUNTS:
        return lambda mol: generator.GetCountFingerprintAsNumPy(mol).astype(np.uint16)
    return lambda mol: generator.GetFingerprintAsNumPy(mol).astype(np.uint8)
