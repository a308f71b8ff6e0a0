"""Probabilities that mean what they say, and sets that cover, on candidates that are made."""

import numpy as np
import pytest

from iokr.estimators.identification.confidence import (
    calibration_error,
    group_means,
    in_set,
    log_loss,
    mean_rank,
    nonconformity,
    probabilities,
    quantile,
    temperature,
)


def drawn(n, T, rng, c=6):
    """Scores, and a truth that is drawn with p = softmax(f/T)."""
    scores = [rng.normal(size=c) for _ in range(n)]
    return scores, [int(rng.choice(c, p=probabilities(f, T))) for f in scores]


def test_the_temperature_is_recovered():
    scores, truth = drawn(4000, 0.3, np.random.default_rng(0))
    T = temperature(scores, truth)
    assert pytest.approx(0.3, rel=0.1) == T
    assert log_loss(scores, truth, T) <= min(log_loss(scores, truth, t) for t in np.linspace(0.2, 0.4, 9)) + 1e-6
    p = np.array([probabilities(f, T).max() for f in scores])
    right = np.array([np.argmax(f) == t for f, t in zip(scores, truth, strict=True)])
    assert calibration_error(p, right) < 0.03


def test_sets_of_one_have_no_effect():
    scores, truth = drawn(200, 0.3, np.random.default_rng(1))
    more = [*scores, np.array([3.0])]
    assert temperature(more, [*truth, 0]) == pytest.approx(temperature(scores, truth))
    assert temperature([np.array([1.0])], [0]) == 1.0


@pytest.mark.parametrize("delta", [0.1, 0.3])
def test_conformal_sets_cover(delta):
    """P(truth in set) ≥ 1 − δ, over draws of calibration and test; the bound is four deviations of the mean."""
    rng = np.random.default_rng(2)
    covered = []
    for _ in range(300):
        scores, truth = drawn(60, 0.5, rng)
        level = quantile(nonconformity(scores[:50], truth[:50], 0.4), delta)  # any T will do
        members = [in_set(probabilities(f, 0.4), level)[t] for f, t in zip(scores[50:], truth[50:], strict=True)]
        covered.append(np.mean(members))
    mean, error = float(np.mean(covered)), float(np.std(covered) / np.sqrt(len(covered)))
    assert 1 - delta - 4 * error <= mean <= 1 - delta + 1 / 51 + 0.03 + 4 * error


def test_quantiles_by_hand():
    values = np.array([0.4, 0.1, 0.3, 0.2])
    assert quantile(values, 0.2) == 0.4  # ⌈5 · 0.8⌉ = 4
    assert quantile(values, 0.4) == 0.3
    assert quantile(values, 0.1) == np.inf  # the fifth of four
    assert quantile(np.array([]), 0.5) == np.inf


def test_the_best_is_always_in_the_set():
    assert in_set(np.array([0.4, 0.35, 0.25]), 0.0).tolist() == [True, False, False]


def test_ties_count_their_mean_rank():
    assert mean_rank(np.array([3.0, 2.0, 2.0, 1.0]), 1) == 2.5
    assert mean_rank(np.array([3.0, 2.0]), 0) == 1.0


def test_a_molecule_counts_once():
    assert group_means(np.array([0.2, 0.4, 0.1]), ["a", "a", "b"]).tolist() == pytest.approx([0.1, 0.3])


def test_calibration_error_by_hand():
    p, right = np.array([0.95, 0.95, 0.55, 0.55]), np.array([True, True, True, False])
    assert calibration_error(p, right) == pytest.approx(0.05)
    assert np.isnan(calibration_error(np.array([]), np.array([])))
