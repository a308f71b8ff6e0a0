"""Fingerprints of molecules: their substructures as bits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin

from iokr._state import Stateful
from iokr.chem.structures.cache import Cache
from iokr.chem.structures.molecules import BadMolecule, Molecule, rdkit_version
from iokr.data.bits import Bits
from iokr.data.objects import BadObject, BadObjectType, as_objects, n_objects

__all__ = ["Fingerprints"]

_SIZES = {"maccs": 167, "morgan2": 2048, "morgan3": 2048, "rdkit6": 2048, "atompair": 2048, "morgan2c": 2048}
_COUNTS = ("morgan2c",)


class Fingerprints(TransformerMixin, Stateful, BaseEstimator):  # type: ignore[misc]  # scikit-learn is untyped
    """SMILES ↦ bits: a scikit-learn transformer from molecules to `Bits`, which `Tanimoto` compares.

    Molecules are SMILES, InChI, `Molecule` or RDKit molecules. Fingerprints of a text are computed once; with `cache`,
    once for all runs. Needs the extra `chem`.

    Parameters
    ----------
    kinds : str, default="maccs,morgan2,rdkit6"
        One or more of ``maccs`` (167 bits), ``morgan2``, ``morgan3`` (radius), ``rdkit6`` (paths of up to six bonds),
        ``atompair`` (2048 each), and ``morgan2c``, which has counts instead of bits and gives a matrix.
    cache : path, optional
        A file of fingerprints, by SMILES, kinds and version of RDKit. If it cannot be read or written, there is a
        warning, and fingerprints are computed each time.

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
        self.kinds = kinds
        self.cache = cache

    def fit(self, X: Any = None, y: Any = None) -> Fingerprints:
        """Check the kinds."""
        self.n_bits_ = sum(_SIZES[kind] for kind in self._listed())
        return self

    def transform(self, X: Any) -> Any:
        """`Bits` (n, p), or a matrix if a kind has counts; an error names the first object that is not a molecule."""
        kinds = self._listed()
        n_objects(X)
        items = [
            item if isinstance(item, (str, Molecule)) else _molecule(item, i) for i, item in enumerate(as_objects(X))
        ]
        texts = [item.smiles if isinstance(item, Molecule) else item.strip() for item in items]
        width = sum(_SIZES[kind] for kind in kinds)
        if any(kind in _COUNTS for kind in kinds):
            return self._rows(items, texts, kinds, np.dtype(np.uint16), width)
        return Bits(self._rows(items, texts, kinds, np.dtype(np.uint8), -(-width // 8)), width)

    def _rows(
        self, items: list[Any], texts: list[str], kinds: tuple[str, ...], dtype: np.dtype[Any], width: int
    ) -> np.ndarray:
        """A row for each text: counts, or packed bits for the type of bytes; texts of the cache are not computed."""
        first = {text: i for i, text in reversed(list(enumerate(texts)))}
        cache = Cache(self.cache, "bits", ["bits"])
        version = f"{','.join(kinds)} RDKit {rdkit_version()}"
        rows = {
            text: np.frombuffer(values, dtype=dtype)
            for text, (values,) in cache.read(list(first), version).items()
            if len(values) == width * dtype.itemsize
        }
        missing = {text: i for text, i in first.items() if text not in rows}
        makers = [_maker(kind) for kind in kinds] if missing else []
        for text, i in missing.items():
            item = items[i]
            molecule = item if isinstance(item, Molecule) else _molecule(item, i)
            row = np.concatenate([make(molecule.mol) for make in makers])
            rows[text] = np.packbits(row) if dtype == np.uint8 else row
        cache.write({text: [rows[text].tobytes()] for text in missing}, version)
        return np.array([rows[text] for text in texts], dtype=dtype).reshape(len(texts), width)

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
                raise ValueError(f"`kinds` must be one or more of {', '.join(_SIZES)}, got {kind!r}.")
        return kinds


def _molecule(item: Any, number: int) -> Molecule:
    try:
        return Molecule(item)
    except BadMolecule as error:
        raise BadObject("Molecule", number, f": {error}") from None
    except TypeError as error:
        raise BadObjectType("Molecule", number, f": {error}") from None


def _maker(kind: str) -> Callable[[Any], np.ndarray]:
    """The function from an RDKit molecule to an array."""
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
