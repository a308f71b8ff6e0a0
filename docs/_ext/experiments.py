"""The directive `experiments` writes the table of `iokr reproduce` from the registry."""

from docutils import nodes
from docutils.statemachine import StringList
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from iokr_lab import EXPERIMENTS

__all__ = ["setup", "table"]


def table() -> list[str]:
    """A `list-table`, line by line: name, title and paper, time, folders under `IOKR_DATA`."""
    lines = [".. list-table::", "   :header-rows: 1", "   :widths: auto", ""]
    rows = [("name", "title", "processor time of ``--short``", "data under ``IOKR_DATA``")]
    for one in EXPERIMENTS:
        data = ", ".join(f"``{name}``" for name in one.data) or "none: simulated, or part of scikit-learn"
        rows.append((f"``{one.name}``", f"{one.title} ({one.paper})", one.time, data))
    for row in rows:
        lines += [f"   {'* -' if i == 0 else '  -'} {cell}" for i, cell in enumerate(row)]
    return lines


class Experiments(SphinxDirective):
    """`.. experiments::` is replaced by the table."""

    def run(self) -> list[nodes.Node]:
        """Parse the table as part of the page."""
        node = nodes.Element()
        self.state.nested_parse(StringList(table(), source="iokr_lab.EXPERIMENTS"), self.content_offset, node)
        return node.children


def setup(app: Sphinx) -> dict[str, bool]:
    """Add the directive."""
    app.add_directive("experiments", Experiments)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
