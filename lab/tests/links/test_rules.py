"""Rules that choose from one search."""

import itertools

import numpy as np
import pytest

from iokr import LinkPredictor, LinkPredictorCV
from iokr.kernels import RBF, Diffusion, Normalized
from iokr.model_selection import NodeKFold
from iokr_lab.links import rules as link_rules
from iokr_lab.links.protocol import measures_of
from iokr_lab.links.rules import Rule, ridge_by_rules
from iokr_lab.lookup import Lookup
from link_samples import K, N, W, X


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
