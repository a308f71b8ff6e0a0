"""B11 and B16 on networks, run on small made-up data: the protocol against plain loops, the pages complete.

Tests of `iokr_lab.links.few`, `iokr_lab.links.nips`, `iokr_lab.links.protocol`, `iokr_lab.links.rules`,
`iokr_lab.links.semi`, `iokr_lab.links.yeast_go` and `iokr_lab.links.yeast_ppi`.
"""

import itertools
from importlib import import_module

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.metrics import average_precision_score, roc_auc_score

from iokr import LinkPredictor, LinkPredictorCV
from iokr.kernels import RBF, Diffusion, Normalized, Precomputed
from iokr.manifolds import Heat, Laplacian
from iokr.model_selection import NodeKFold
from iokr.report import Figure
from iokr.rivals import LocalModels, Naive
from iokr_lab import find
from iokr_lab.data import ONTOLOGIES
from iokr_lab.links import protocol as link_protocol
from iokr_lab.links import rules as link_rules
from iokr_lab.links import semi as link_semi
from iokr_lab.links.few import (
    BOTH_NEW,
    ONE_NEW,
    TEST,
    evaluate,
    few_labels,
    labeled_draw,
)
from iokr_lab.links.protocol import Fold, LinkPlan, Lookup, best, cross_validated, five_fold, measures_of
from iokr_lab.links.rules import Rule, ridge_by_rules
from iokr_lab.published import published
from iokr_lab.study import run

N = 48
rng = np.random.default_rng(0)
GROUP = np.arange(N) % 4
X = np.eye(4)[GROUP] + 0.4 * rng.normal(size=(N, 4))
W = np.triu((GROUP[:, None] == GROUP[None, :]) & (rng.random((N, N)) < 0.6), 1).astype(float)
W = W + W.T
K = RBF(0.5)(X)


def test_lookup_is_the_matrix_and_is_not_copied():
    ours = LinkPredictor(Lookup(K), alpha=0.3).fit(np.arange(N), W, labeled=np.arange(20))
    assert ours.model_.kernel_.matrix is K
    theirs = LinkPredictor(Precomputed(K), alpha=0.3).fit(np.arange(N), W, labeled=np.arange(20))
    np.testing.assert_allclose(ours.decision_function(), theirs.decision_function(), atol=1e-10)


def test_a_fold_is_chosen_on_training_nodes_and_evaluated_on_test_by_training_pairs():
    candidates = [LinkPredictor(alpha=alpha) for alpha in (1e-4, 0.3, 100.0)]
    train, test = next(NodeKFold(5, random_state=3).split(np.arange(N)))
    folds = list(NodeKFold(4, random_state=3).split(train))
    means = {name: [] for name in link_protocol.MEASURES}
    for candidate in candidates:
        figures = []
        for inner, held_out in folds:
            known, new = train[inner], train[held_out]
            model = LinkPredictor(RBF(0.5), alpha=candidate.alpha).fit(X[known], W[np.ix_(known, known)])
            scores = model.decision_function(X[new], X[known]).ravel()
            truth = W[np.ix_(new, known)].ravel()
            figures.append((100 * roc_auc_score(truth, scores), 100 * average_precision_score(truth, scores)))
        for name, value in zip(link_protocol.MEASURES, np.mean(figures, axis=0), strict=True):
            means[name].append(value)
    chosen = best(candidates, K, W, train, folds)
    odds = [np.prod([v / (100 - v) for v in pair]) for pair in zip(*means.values(), strict=True)]
    assert chosen == {name: candidates[int(np.argmax(v))] for name, v in (means | {"both": odds}).items()}
    fold = cross_validated(candidates, K, W, train, test, folds)
    model = LinkPredictor(RBF(0.5), alpha=chosen["roc_auc"].alpha).fit(X[train], W[np.ix_(train, train)])
    scores, truth = model.decision_function(X[test], X[train]).ravel(), W[np.ix_(test, train)].ravel()
    assert fold["roc_auc"] == pytest.approx(100 * roc_auc_score(truth, scores))
    assert fold["seconds"] > 0
    for criterion, model in chosen.items():
        fold = cross_validated(candidates, K, W, train, test, folds, (criterion,))
        model = LinkPredictor(RBF(0.5), alpha=model.alpha).fit(X[train], W[np.ix_(train, train)])
        scores = model.decision_function(X[test], X[train]).ravel()
        assert fold["roc_auc"] == pytest.approx(100 * roc_auc_score(truth, scores))
        assert fold["average_precision"] == pytest.approx(100 * average_precision_score(truth, scores))


def test_rules_choose_from_one_search_on_training_nodes_alone(monkeypatch):
    """λ, β and the kernel of each rule are those of the largest criterion; links of test nodes change nothing."""
    monkeypatch.setattr(link_rules, "ALPHAS", (0.01, 1.0))
    grams, betas = [RBF(0.05)(X), K], (0.3, 1.0)
    rules = {name: Rule(name, betas) for name in ("roc_auc", "average_precision", "both")}
    rules["β = 1"] = Rule("both", (1.0,))
    for i, (train, test) in enumerate(NodeKFold(5, random_state=2).split(np.arange(N))):
        found = ridge_by_rules(grams, W, rules, split=2, fold=i)
        hidden = W.copy()
        hidden[test] = hidden[:, test] = 0
        for name, rule in rules.items():
            points = {}
            for beta, (g, gram), alpha in itertools.product(rule.betas, enumerate(grams), link_rules.ALPHAS):
                model = LinkPredictorCV(
                    Lookup(gram),
                    alphas=(alpha,),
                    scoring=rule.criterion,
                    cv=NodeKFold(4, random_state=2),
                    output_kernel=Normalized(Diffusion(beta)),
                )
                points[beta, g, alpha] = float(model.fit(np.arange(N), hidden, labeled=train).scores_)
            beta, g, alpha = max(points, key=points.get)
            model = LinkPredictor(Lookup(grams[g]), alpha=alpha, output_kernel=Normalized(Diffusion(beta)))
            scores = model.fit(np.arange(N), hidden, labeled=train).decision_function(test)[:, train].ravel()
            expected = measures_of(W[np.ix_(test, train)].ravel(), scores)
            assert {key: found[name][key] for key in expected} == pytest.approx(expected), (name, i)


def test_the_links_of_test_nodes_are_never_read():
    """Scores of a fold do not change when the links of its test nodes do."""
    methods = {
        "Naive": [Naive()],
        "Local": [LocalModels(alpha=alpha) for alpha in (1.0, 0.1)],
        "IOKR": [LinkPredictor()],
    }
    train, test = next(NodeKFold(5, random_state=0).split(np.arange(N)))
    other = W.copy()
    other[test] = other[:, test] = 0
    for candidates in methods.values():
        first, second = (link_protocol.known_new(candidates[-1], K, A, train, test)[0] for A in (W, other))
        np.testing.assert_array_equal(first, second)


def test_slow_methods_choose_on_one_inner_fold(monkeypatch):
    seen = []
    monkeypatch.setattr(link_protocol, "cross_validated", lambda *a: seen.append((a[3], a[4], len(a[5]))) or {})
    for name in ("EM", "kML"):
        five_fold(Fold(name, "", 1, 2), [Naive()], K, W, seed=3)
    train, test = list(NodeKFold(5, random_state=4).split(np.arange(N)))[2]
    assert [n for _, _, n in seen] == [4, 1]
    assert all(np.array_equal(one, train) and np.array_equal(other, test) for one, other, _ in seen)


def test_draws_are_disjoint_and_repeat():
    first, second, again = (labeled_draw(np.ones((100, 100)), 20, 0.1, (0, i)) for i in (0, 1, 0))
    assert (len(first.labeled), len(first.unlabeled), len(first.test)) == (8, 72, 20)
    assert np.array_equal(np.sort(np.concatenate([first.nodes, first.test])), np.arange(100))
    assert np.array_equal(first.labeled, again.labeled) and not np.array_equal(first.labeled, second.labeled)


def test_draws_have_a_link():
    one = np.zeros((30, 30))
    one[3, 8] = one[8, 3] = 1
    for i in range(5):
        assert {3, 8} <= set(labeled_draw(one, 5, 0.2, (0, i)).labeled.tolist())
    with pytest.raises(ValueError, match="No two of 5 labelled nodes"):
        labeled_draw(np.zeros((30, 30)), 5, 0.2, (0, 0))


def test_folds_without_links_are_left_out_of_the_choice():
    few = np.zeros((N, N))
    few[0, 1] = few[1, 0] = few[2, 3] = few[3, 2] = 1
    candidates = [LinkPredictor(alpha=alpha) for alpha in (0.1, 1.0)]
    train = np.arange(8)
    chosen = best(candidates, K, few, train, list(NodeKFold(4).split(train)))
    assert set(chosen.values()) <= set(candidates)


@pytest.mark.parametrize(
    "method",
    [[LinkPredictor(alpha=0.3)], LinkPredictorCV(alphas=(0.3,), manifold=Heat(0.0, 1.0))],
    ids=["candidates", "cv"],
)
def test_few_labels_evaluates_each_kind_of_pairs(method):
    draw = labeled_draw(W, 12, 0.4, (0, 0))
    found = few_labels(method, K, W, draw)
    known = draw.labeled
    model = LinkPredictor(RBF(0.5), alpha=0.3).fit(X[known], W[np.ix_(known, known)])
    S = model.decision_function(X, X)
    kinds = {
        ONE_NEW: [(i, j) for i, j in itertools.combinations(draw.nodes, 2) if not (i in known and j in known)],
        BOTH_NEW: list(itertools.combinations(draw.unlabeled, 2)),
        TEST: list(itertools.combinations(draw.test, 2)),
    }
    for kind, pairs in kinds.items():
        rows, columns = np.transpose(pairs)
        truth, scores = W[rows, columns], S[rows, columns]
        assert found.metrics[kind]["roc_auc"] == pytest.approx(100 * roc_auc_score(truth, scores))
        expected = 100 * average_precision_score(truth, scores)
        assert found.metrics[kind]["average_precision"] == pytest.approx(expected)


def test_few_labels_chooses_from_the_whole_grid_by_each_criterion():
    draw = labeled_draw(W, 12, 0.4, (0, 0))
    grid = {"alphas": (1e-3, 0.1, 10.0), "strengths": (0.0, 0.1, 1.0), "manifold": Laplacian(1.0, 4)}
    place, known = np.arange(len(draw.labeled)), W[np.ix_(draw.labeled, draw.labeled)]
    for criterion in ("roc_auc", "average_precision", "both"):
        found = few_labels(LinkPredictorCV(**grid), K, W, draw, (criterion,))
        search = LinkPredictorCV(Lookup(K), **grid, scoring=criterion, cv=NodeKFold(5))
        search.fit(draw.nodes, known, labeled=place)
        assert (found.model.alpha, found.model.manifold.strength) == (search.alpha_, search.strength_)
        assert found.metrics[ONE_NEW] == pytest.approx(evaluate(search.decision_function(), W, draw)[ONE_NEW], abs=1e-6)


def test_measures_are_percentages():
    figures = measures_of([1, 0, 0, 1], [0.9, 0.1, 0.8, 0.8])
    assert figures["roc_auc"] == pytest.approx(87.5)


def test_published_numbers_are_those_of_the_papers():
    assert str(published("b11_table2")["IOKR-ridge"]["ROC"]) == "83.3 ± 2.1"
    assert str(published("b16_table4", "ROC")["OK3+ET"]["GO-MF"]) == "79.3 ± 1.8"
    assert str(published("b16_table6", "PR")[link_semi.EM]["5%"]) == "15.7 ± 1.4"
    row = published("b16_table3", "ROC")[link_semi.IOKR]
    assert {column: str(number) for column, number in row.items()} == {
        "5%": "83.6 ± 5.9",
        "10%": "93.6 ± 1.0",
        "20%": "96.5 ± 0.4",
    }
    assert str(published("b11_table1")[link_semi.SUPERVISED]["ROC, 20%"]) == "82.2 ± 0.8"


# ---------------------------------------------------------------------------------------------- pages on small data


@pytest.fixture
def home(monkeypatch, tmp_path):
    """Small files of the forms of the real ones."""
    monkeypatch.setenv("IOKR_DATA", str(tmp_path))
    edges = np.argwhere(np.triu(W))
    orf = np.array([f"Y{i:03}" for i in range(N)])

    def save(name, **arrays):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        np.savez(path, **arrays)

    none = np.zeros((0, 2), int)
    yeast = {"orf": orf, "edges": edges, "expr_spellman": 4 * X, "expr_eisen": X, "loc": np.eye(4)[GROUP]}
    yeast |= {"loc_names": np.array(list("abcd")), "mips_class": np.full(N, "P")}
    save("yeast_ppi/yeast_ppi.npz", **yeast, edges_medium=none, edges_y2h_core=none, edges_y2h_full=none)
    terms = csr_array(((X > 0.3) | (rng.random((N, 4)) < 0.2) | np.eye(N, 4, dtype=bool)).astype(float))
    terms = csr_array(np.hstack([terms.toarray(), np.ones((N, 1))]))
    go = {"orf": orf, "evidence_codes": np.array(["IDA", "IPI"])}
    for ontology in ONTOLOGIES:
        for prefix in (ontology, f"{ontology}_closure"):
            go |= {
                f"{prefix}_terms": np.arange(5),
                f"{prefix}_indptr": terms.indptr,
                f"{prefix}_indices": terms.indices,
            }
        go[f"{ontology}_evidence"] = np.where(np.arange(terms.nnz) % 5, 1, 3)
    save("yeast_go/yeast_go.npz", **go)
    save(
        "nips_coauthorship/nips17_graph.npz",
        author=orf,
        edges=edges,
        doc_year=np.full(N, 1990),
        doc_author_indptr=np.arange(N + 1),
        doc_author_indices=np.arange(N),
    )
    words = csr_array(np.round(3 + 2 * np.abs(X)).astype(int))
    save(
        "nips_coauthorship/nips12_words.npz",
        indptr=words.indptr,
        indices=words.indices,
        counts=words.data,
        vocab=np.array(list("abcd")),
    )
    return tmp_path


@pytest.mark.parametrize(("name", "n_tables"), [("nips", 7), ("yeast-ppi", 5), ("yeast-go", 9)])
def test_page_has_published_beside_ours(home, name, n_tables):
    study, steps = import_module(f"iokr_lab.{find(name).module}").STUDY, []
    plan = LinkPlan(seed=1, repeat=2, fractions=(0.3, 0.4, 0.5), betas=(1.0,), n_trees=3, candidates=1)
    report = run(study, plan, progress=lambda *step: steps.append(step))
    assert len(report.tables) == n_tables
    assert sum(isinstance(item, Figure) for item in report.items) == 1
    page = report.html()
    printed = {"nips": "83.6 ± 5.9", "yeast-ppi": "13.7 ± 4.4", "yeast-go": "144.60 ± 70.70"}
    assert printed[name] in page
    assert steps[-1][:2] == (report.info["cells"],) * 2
    for table in report.tables:
        ours = [row[column] for row in table.rows for column in table.ours if row.get(column) is not None]
        assert all(np.isfinite(cell.mean) for cell in ours)
    assert report.info["seed"] == 1
    names = [[str(next(iter(row.values()))) for row in table.rows] for table in report.tables]
    assert any(
        {"PairModel", "IOKR"} <= {name[: len(key)] for name in column for key in ("PairModel", "IOKR")}
        for column in names
    ), "pairs and nodes side by side"
    assert any("not scaled" in name for column in names for name in column)
