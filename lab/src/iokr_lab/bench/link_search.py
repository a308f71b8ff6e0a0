"""Parameters of link prediction chosen on a sample and by the search on all nodes: time, and links of new nodes."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter, process_time
from typing import Any

import numpy as np
from scipy.sparse import csr_array
from scipy.spatial import cKDTree

from iokr.apps import links
from iokr.apps.links.methods import choose_and_learn, parts_of, searches
from iokr.apps.links.model import training_set
from iokr.apps.links.nodes import ModelNodes, PairScores
from iokr.apps.links.settings import Settings
from iokr.apps.report import Table
from iokr.estimators.areas import areas_of
from iokr_lab.bench.base import Run, Section, Verdict
from iokr_lab.bench.grams import Matrix

__all__ = ["SECTION", "command_files", "network"]

FULL = {"N": 5000, "p": 100, "new": 500}
SMALL = {"N": 60, "p": 8, "new": 12}
SECONDS = 240.0  # of the command
POINTS = 0.5  # of AUC-ROC that a sample may cost
_SEMI = 2  # one node in two is labelled where the fit is semi-supervised


def network(rng: np.random.Generator, N: int, p: int, degree: float, noise: float = 0.5) -> tuple[Matrix, csr_array]:
    """Nodes at positions in a square, linked to those nearby, and noisy features of the positions."""
    Z = rng.uniform(size=(N, 2))
    ends = cKDTree(Z).query_pairs(np.sqrt(degree / (np.pi * N)), output_type="ndarray")
    half = csr_array((np.ones(len(ends)), (ends[:, 0], ends[:, 1])), shape=(N, N))
    waves = np.sin(2 * np.pi * Z @ rng.standard_normal((2, p)) + rng.uniform(0, 2 * np.pi, size=p))
    return waves + noise * rng.standard_normal((N, p)), csr_array(half + half.T)


def command_files(
    folder: Path, *, seed: int, N: int, p: int, new: int, semi: bool
) -> tuple[dict[str, Any], np.ndarray, Any]:
    """Files of a network as users bring them; (arguments of `links.read`, nodes whose links are hidden, all links).

    Nodes lie in a square and are linked to those nearby; features are waves of the place, with noise.
    """
    rng = np.random.default_rng(seed)
    X, W = network(rng, N, p, degree=10.0, noise=1.5)
    order = rng.permutation(N)
    labeled = np.sort(order[new:][: (N // _SEMI if semi else N)])
    lines = ("\t".join([f"n{i}", *(f"{value:.6g}" for value in row)]) for i, row in enumerate(X))
    head = "\t".join(["id", *(f"x{j}" for j in range(p))])
    (folder / "nodes.tsv").write_text("\n".join([head, *lines]) + "\n", encoding="utf-8")
    inside = np.isin(np.arange(N), labeled)
    ends = W.tocoo()
    known = (ends.row < ends.col) & inside[ends.row] & inside[ends.col]
    pairs = zip(ends.row[known].tolist(), ends.col[known].tolist(), strict=True)
    links = "".join(f"n{i}\tn{j}\n" for i, j in pairs)
    (folder / "edges.tsv").write_text("source\ttarget\n" + links, encoding="utf-8")
    (folder / "labeled.tsv").write_text("id\n" + "".join(f"n{i}\n" for i in labeled), encoding="utf-8")
    files = {name: folder / f"{name}.tsv" for name in ("nodes", "edges", "labeled")}
    return files, np.sort(order[:new]), W


def _areas(scores: PairScores, labeled: np.ndarray, new: np.ndarray, W: Any) -> list[float]:
    """Both areas of pairs of a new node and a labelled one, in percent."""
    truth = W[new][:, labeled].toarray() != 0
    return [100 * area for area in areas_of(truth.ravel(), scores.between(new, labeled).ravel())]


def _timed(what: Any) -> tuple[Any, float, float]:
    """(answer, seconds, seconds of all cores)."""
    start = perf_counter()
    cores = process_time()
    answer = what()
    return answer, perf_counter() - start, process_time() - cores


def _work(run: Run) -> tuple[list[Table], list[Verdict]]:
    tables = []
    verdicts = []
    for semi in (False, True):
        size = SMALL if run.quick else FULL
        words = "semi-supervised" if semi else "supervised"
        with TemporaryDirectory(prefix="iokr-bench-") as place:
            files, new, W = command_files(Path(place), seed=run.seed, semi=semi, **size)
            messages: list[str] = []

            def progress(done: int, total: int, what: str, words: str = words, messages: list[str] = messages) -> None:
                messages.append(what)
                run.step(f"{words}: {what}")

            def command(files: Any = files, semi: bool = semi, progress: Any = progress) -> Any:
                result = links.predict(links.read(**files), seed=run.seed, progress=progress, unlabeled=semi)
                return result.report()

            _, seconds, cores = _timed(command)
            rows: list[dict[str, Any]] = [{"what": "the command", "seconds": seconds, "CPU seconds": cores}]
            if not run.quick:
                verdicts.append(Verdict(f"seconds of the command, {words}", seconds, at_most=SECONDS))
            network = links.read(**files)
            n_labeled = len(network.labeled)
            found = []
            for everything in (False, True):
                settings = Settings(method="iokr", unlabeled=semi, search_all=everything)
                data, inputs = training_set(network, settings)
                given = "iokr", searches(inputs.kernels, settings), data, settings, run.seed
                fitted, seconds, cores = _timed(lambda given=given: choose_and_learn(*given))
                nodes = ModelNodes.of(network, [data.X])
                scores = PairScores.of(parts_of("iokr", fitted.model), nodes)
                roc, precision = _areas(scores, network.labeled, new, W)
                found.append(roc)
                chosen_by = fitted.searches["iokr"]
                chosen = {"alpha": float(chosen_by.alpha_), "gamma": float(chosen_by.kernel_.gamma_)}
                rows.append(
                    {
                        "what": "search on all (--all)" if everything else "search on a sample",
                        "nodes": fitted.n_sampled or n_labeled,
                        "seconds": seconds,
                        "CPU seconds": cores,
                        "AUC-ROC %": roc,
                        "AUC-PR %": precision,
                        **chosen,
                    }
                )
            verdicts.append(
                Verdict(f"AUC-ROC of the whole search, less a sample's, {words}", found[1] - found[0], POINTS)
            )
        note = (
            f"{size['N']} nodes, {size['p']} features, {n_labeled} labelled; areas on links of "
            f"{size['new']} nodes whose links were held out. The command compares models, chooses, learns, ranks and "
            f"draws; it reported {len(set(messages))} different lines of progress. The searches are `LinkPredictor`'s."
        )
        tables.append(Table(f"(c) {words}: parameters on a sample", rows, note))
    return tables, verdicts


SECTION = Section("parameters on a sample", _work)
