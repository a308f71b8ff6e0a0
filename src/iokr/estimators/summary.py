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
    return (type(model).__doc__ or "").strip().partition("\n")[0].strip()


def chosen(model: Any) -> list[tuple[str, str]]:
    """What `fit` found or took, by name, as text; empty before it. Models around another show its choices, too."""
    found = vars(model)
    inner = found.get("model_")
    if isinstance(inner, BaseEstimator):
        found = {**vars(inner), **found}
    shown = [name for name in _SHOWN if found.get(name) is not None]
    return [(name.removesuffix("_").replace("_", " "), _text(found[name])) for name in shown]


def _text(value: Any) -> str:
    """A value in a line, with the numbers that it learned."""
    text = " ".join(str(value).split())
    if isinstance(value, float):
        text = f"{value:.6g}"
    if isinstance(value, BaseEstimator):
        learned = {name: v for name, v in vars(value).items() if name.endswith("_") and isinstance(v, float)}
        text = "; ".join([text, *(f"{name} = {v:.4g}" for name, v in learned.items())])
    if len(text) > _LENGTH:
        text = text[: _LENGTH - 1] + "…"
    return text


def summary(model: Any) -> str:
    """Formula and choices of a fitted model as HTML, every text escaped."""
    rows = "".join(
        f"<tr><th style='text-align:left;padding:0 1em 0 0'>{escape(name)}</th>"
        f"<td style='text-align:left'>{escape(text)}</td></tr>"
        for name, text in chosen(model)
    )
    table = f"<table style='margin:0.3em 0;font-size:0.9em'>{rows}</table>"
    return f"<div class='iokr-summary'><code>{escape(formula(model))}</code>{table}</div>"


def notebook_html(model: Any) -> str:
    """scikit-learn's diagram; above it, once the model is fitted, its formula and choices."""
    diagram = str(estimator_html_repr(model))
    if not chosen(model):
        return diagram
    return summary(model) + diagram


def notebook_bundle(model: Any, **options: Any) -> dict[str, str]:
    """What a notebook shows, by MIME type."""
    bundle = {"text/plain": repr(model)}
    if get_config()["display"] == "diagram":
        bundle["text/html"] = notebook_html(model)
    return bundle
