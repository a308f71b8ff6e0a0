"""Figures as inline SVG and small pictures, embedded in the page."""

import base64
import io
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import util
from typing import TYPE_CHECKING, Any
from zlib import crc32

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Canvas
    from numpy.typing import ArrayLike
else:
    Canvas = Any  # what `plot` hands to a drawing function; matplotlib is imported when it draws

__all__ = ["INK", "MUTED", "OURS", "THEIRS", "Canvas", "Figure", "Pictures", "plot", "require_report_packages"]

# Colours of figures: placeholders for variables of the page's style sheet, so that figures follow light and dark.
INK = "#010203"
MUTED = "#010204"
OURS = "#010205"
THEIRS = "#010206"
_VARIABLES = {INK: "currentColor", MUTED: "var(--muted)", OURS: "var(--ours)", THEIRS: "var(--theirs)"}

_STYLE: Any = {
    "axes.edgecolor": MUTED,
    "axes.grid": True,
    "axes.labelcolor": INK,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "figure.facecolor": "none",
    "axes.facecolor": "none",
    "font.size": 9,
    "grid.alpha": 0.25,
    "grid.color": MUTED,
    "grid.linewidth": 0.6,
    "legend.frameon": False,
    "lines.linewidth": 1.6,
    "savefig.facecolor": "none",
    "svg.fonttype": "none",
    "svg.hashsalt": "iokr",
    "text.color": INK,
    "xtick.color": MUTED,
    "xtick.labelcolor": INK,
    "ytick.color": MUTED,
    "ytick.labelcolor": INK,
}


@dataclass(frozen=True)
class Figure:
    """A figure as inline SVG, made by `plot`.

    Examples
    --------
    >>> from iokr.apps.report import Figure
    >>> Figure("<svg></svg>", caption="Nothing.", width=4.8).caption
    'Nothing.'
    """

    svg: str
    caption: str
    width: float  # in inches, as drawn

    @classmethod
    def of(cls, svg: str, caption: str, width: float) -> "Figure":
        """An <svg> element, with its caption as the label that screen readers read."""
        label = caption.replace("&", "&amp;").replace('"', "&quot;").replace("<", "&lt;")
        return cls(svg.replace("<svg", f'<svg role="img" aria-label="{label}"', 1), caption, width)


@dataclass(frozen=True)
class Pictures:
    """Rows of small images, each row with its label.

    Parameters
    ----------
    rows : mapping of str to sequence of arrays (h, w)
        NaN pixels are transparent.
    caption : str
    low, high : float
        The values drawn white and black.

    Examples
    --------
    >>> import numpy as np
    >>> from iokr.apps.report import Pictures
    >>> Pictures({"one": [np.eye(8)]}, "A diagonal.", low=0, high=1).encoded()["one"][0][:15]
    'data:image/png;'
    """

    rows: Mapping[str, Sequence["ArrayLike"]]
    caption: str
    low: float
    high: float

    def encoded(self) -> dict[str, list[str]]:
        """Every image as a `data:` address."""
        from matplotlib import colormaps
        from matplotlib.image import imsave

        def encode(image: "ArrayLike") -> str:
            file = io.BytesIO()
            imsave(file, image, vmin=self.low, vmax=self.high, cmap=colormaps["gray_r"], format="png")
            return "data:image/png;base64," + base64.b64encode(file.getvalue()).decode()

        return {label: [encode(image) for image in images] for label, images in self.rows.items()}


def plot(draw: "Callable[[Canvas], None]", *, caption: str, size: tuple[float, float] = (4.8, 3.2)) -> Figure:
    """A matplotlib figure of `size` inches, filled by `draw`, as SVG.

    The default width is that of a telephone, so that letters are readable there.

    Examples
    --------
    >>> from iokr.apps.report import plot
    >>> figure = plot(lambda canvas: canvas.subplots().plot([1, 2, 3]), caption="A line.")
    >>> figure.svg.startswith("<svg")
    True
    """
    require_report_packages()
    from matplotlib import rc_context
    from matplotlib.figure import Figure as Canvas

    file = io.StringIO()
    with rc_context(_STYLE):
        canvas = Canvas(figsize=size, layout="constrained")
        draw(canvas)
        canvas.savefig(file, format="svg", metadata={"Date": None})
    return Figure.of(_inline(file.getvalue()), caption, size[0])


def _inline(svg: str) -> str:
    """The <svg> element: sized by the page, coloured by its style sheet, with ids that are unique on the page."""
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>\s*", "", svg, flags=re.DOTALL)
    svg = re.sub(r' (?:width|height)="[\d.]+pt"', "", svg, count=2)
    for colour, variable in _VARIABLES.items():
        svg = svg.replace(colour, variable)
    prefix = f"f{crc32(svg.encode()):08x}-"
    svg = re.sub(r'\bid="', f'id="{prefix}', svg)
    return re.sub(r'(url\(#|href="#)', rf"\1{prefix}", svg)


def require_report_packages(*names: str) -> None:
    """Raise ImportError if packages of the extra `report` are not installed, by default those of pages and figures.

    Examples
    --------
    >>> from iokr.apps.report import require_report_packages
    >>> require_report_packages()
    """
    missing = [name for name in names or ("jinja2", "matplotlib") if util.find_spec(name) is None]
    if missing:
        raise ImportError(f"reports need {' and '.join(missing)}: pip install 'iokr[report]'")
