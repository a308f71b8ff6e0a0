"""A fitted model in a notebook: its formula and what was chosen, above scikit-learn's diagram."""

from __future__ import annotations

from html import escape
from typing import Any

from sklearn import get_config
from sklearn.base import BaseEstimator
from sklearn.utils import estimator_html_repr

__all__ = ["chosen", "formula", "notebook_bundle", "notebook_html", "summary"]

_SHOWN = ("alpha_", "manifold_weight_", "kernel_", "output_kernel_", "embedding_", "decoder_", "solver_", "guarantee_")
_LENGTH = 160


def formula(model: Any) -> str:
    """The first line of the class's docstring, which opens with the formula."""
    lines = (type(model).__doc__ or "").strip().splitlines()
    return lines[0].strip() if lines else ""


def chosen(model: Any) -> list[tuple[str, str]]:
    """What `fit` found or took, by name, as text; empty before it. Models around another show its choices, too."""
    state = vars(model)
    inner = state.get("model_")
    found = {**vars(inner), **state} if isinstance(inner, BaseEstimator) else state
    return [
        (name.removesuffix("_").replace("_", " "), _text(found[name])) for name in _SHOWN if found.get(name) is not None
    ]


def _text(value: Any) -> str:
    """A value in a line, with the numbers that it learned."""
    text = f"{value:.6g}" if isinstance(value, float) else " ".join(str(value).split())
    state = vars(value) if isinstance(value, BaseEstimator) else {}
    learned = [f"{name} = {v:.4g}" for name, v in state.items() if name.endswith("_") and isinstance(v, float)]
    text = "; ".join([text, *learned])
    return text if len(text) <= _LENGTH else text[: _LENGTH - 1] + "…"


def summary(model: Any) -> str:
    """Formula and choices as HTML, every text escaped."""
    rows = "".join(
        f"<tr><th style='text-align:left;padding:0 1em 0 0'>{escape(name)}</th>"
        f"<td style='text-align:left'>{escape(text)}</td></tr>"
        for name, text in chosen(model)
    )
    table = f"<table style='margin:0.3em 0;font-size:0.9em'>{rows}</table>" if rows else ""
    return f"<div class='iokr-summary'><code>{escape(formula(model))}</code>{table}</div>"


def notebook_html(model: Any) -> str:
    """scikit-learn's diagram; above it, once the model is fitted, its formula and choices."""
    diagram = str(estimator_html_repr(model))
    return summary(model) + diagram if chosen(model) else diagram


def notebook_bundle(model: Any, **options: Any) -> dict[str, str]:
    """What a notebook shows, by MIME type."""
    bundle = {"text/plain": repr(model)}
    if get_config()["display"] == "diagram":
        bundle["text/html"] = notebook_html(model)
    return bundle
