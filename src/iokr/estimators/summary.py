"""A fitted model in a notebook: its formula and what was chosen, above scikit-learn's diagram."""

from __future__ import annotations

from html import escape
from typing import Any

from sklearn import get_config
from sklearn.utils import estimator_html_repr

__all__ = ["Summarised", "chosen", "formula", "summary"]

_SHOWN = ("alpha_", "manifold_weight_", "kernel_", "output_kernel_", "embedding_", "decoder_", "solver_", "guarantee_")
_LENGTH = 160


def formula(model: Any) -> str:
    """The first line of the class's docstring, which opens with the formula."""
    lines = (type(model).__doc__ or "").strip().splitlines()
    return lines[0].strip() if lines else ""


def chosen(model: Any) -> list[tuple[str, str]]:
    """What `fit` found or took, by name, as text; empty before it. What the model itself lacks is that of `model_`."""
    found = {name: getattr(model, name, getattr(getattr(model, "model_", None), name, None)) for name in _SHOWN}
    return [
        (name.removesuffix("_").replace("_", " "), _text(value)) for name, value in found.items() if value is not None
    ]


def _text(value: Any) -> str:
    """A value in a line, with the numbers that it learned."""
    text = f"{value:.6g}" if isinstance(value, float) else " ".join(str(value).split())
    state = getattr(value, "__dict__", {})
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


class Summarised:
    """Models that show formula and choices in notebooks, once they are fitted; scikit-learn's diagram stays below."""

    def _repr_html_inner(self) -> str:
        diagram = str(estimator_html_repr(self))
        return summary(self) + diagram if chosen(self) else diagram

    def _repr_mimebundle_(self, **options: Any) -> dict[str, str]:
        bundle = {"text/plain": repr(self)}
        if get_config()["display"] == "diagram":
            bundle["text/html"] = self._repr_html_inner()
        return bundle
