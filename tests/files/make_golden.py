"""Write the golden files of the present format: `python tests/files/make_golden.py` in the root of the repository.

One for each of `CASES`, and for each public estimator that none of them is of, its first in `tests/fitted_models.py`. A
file that is there is kept: those of a format are never written again, since later versions have to read them. Beside
each lie the arrays that it holds and what the model answered, as one .npz file.
"""

import sys
import warnings
from pathlib import Path

import numpy as np

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))

GOLDEN = HERE / "golden"
CASES = (
    *("IOKR vectors", "IOKR strings", "IOKR networkx", "IOKR sparse", "IOKR sets", "IOKRCV rankings", "IOKRCV folds"),
    *("LinkPredictor", "LinkPredictorCV", "PairModel kernel", "PairModel local", "MultiTask learned", "MultiTaskCV"),
    *("OutputKernelTree strings", "OutputKernelForest sets", "OutputKernelBoosting vectors", "X Fortran", "a function"),
    *("PairModelCV", "Functional gaps", "Functional bsplines", "FunctionalCV", "QuantileCurves levels"),
    *("QuantileCurvesCV levels", "Conformal full", "Conformal jackknife+", "Conformal split", "Conformal links"),
    *("LinkStack", "LinkStack logits"),
    *("SetModel", "SetModel worst"),
    "Identification",
    *("rivals.KDE", "rivals.OK3", "rivals.PKMR", "rivals.TPPK", "rivals.EMCompletion", "rivals.KernelCCA"),
    *("rivals.KernelMetricLearning", "rivals.LocalModels", "rivals.Naive"),
    *("LinkPredictor semi", "embedding Nystroem", "embedding Eigen", "operator Covariance", "X Nystroem"),
    *("decoder GraphEdits", "decoder TreeEdits", "decoder Positions", "decoder GraphBarycenter", "decoder FixedPoint"),
    *("IOKR bags", "IOKR series"),
)


def wanted() -> list[str]:
    """The cases to write."""
    from fitted_models import CASES as every
    from fitted_models import with_a_file

    missing = with_a_file() - {name.split()[0] for name in CASES}
    return [*CASES, *(next(name for name in every if name.split()[0] == one) for one in sorted(missing))]


def stem(name: str) -> str:
    return name.replace(" ", "_")


def words(answer: object) -> str:
    """An answer that is no array; sets in order."""
    return str(sorted(answer)) if isinstance(answer, frozenset) else str(answer)


def main() -> None:
    import iokr
    from fitted_models import fitted, flat
    from iokr.files import FORMAT
    from iokr.files.container import open_container
    from iokr.files.model import read_structure

    folder = GOLDEN / f"format{FORMAT}"
    folder.mkdir(parents=True, exist_ok=True)
    warnings.simplefilter("ignore")
    for name in wanted():
        path = folder / f"{stem(name)}.safetensors"
        if path.exists():
            continue
        case = fitted(name)
        iokr.save(case.model, path)
        with open_container(path) as file:
            arrays = {f"array:{key}": value for key, value in file.read(read_structure(file)["sha256"]).items()}
        found = enumerate(flat(case.answer(case.model)))
        answers = {f"answer:{i}": a if isinstance(a, np.ndarray) else np.array(words(a)) for i, a in found}
        np.savez_compressed(path.with_suffix(".npz"), **arrays, **answers)


if __name__ == "__main__":
    main()
