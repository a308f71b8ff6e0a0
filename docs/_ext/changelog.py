"""The directive `changelog` includes CHANGELOG.md in a page."""

import re
from pathlib import Path

from docutils import nodes
from docutils.statemachine import StringList
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

__all__ = ["restructured", "setup"]

FILE = Path(__file__).parents[2] / "CHANGELOG.md"
LINK = re.compile(r"\[([^\]]+)\]\((https?://[^)]+)\)")
CODE = re.compile(r"(?<!`)(`{1,2})(?!`)(.+?)(?<!`)\1(?!`)", flags=re.DOTALL)


def restructured(text: str) -> list[str]:
    """Convert the Markdown of the file: headings, lists, tables, code and links, without the title."""
    lines: list[str] = []
    for line in text.splitlines():
        if line.startswith("|"):
            lines += _row(line, first=not lines or not lines[-1].startswith("   "))
            continue
        if match := re.match(r"(#+) +(.*)", line):
            if len(match[1]) > 1:
                title = match[2].replace("[", "").replace("]", "")
                lines += ["", title, {2: "-", 3: "~"}.get(len(match[1]), "^") * (2 * len(title)), ""]
            continue
        if line.startswith("- ") and lines and lines[-1].strip() and not lines[-1].startswith(("- ", "  ")):
            lines.append("")
        lines.append(line)
    return _inline("\n".join(lines)).splitlines()


def _row(line: str, first: bool) -> list[str]:
    """A row of a table, as a row of a `list-table`; the first one opens it, the line of dashes is left out."""
    cells = [cell.strip() for cell in line.strip("|").split("|")]
    if set("".join(cells)) <= {"-", ":"}:
        return []
    head = ["", ".. list-table::", "   :header-rows: 1", "   :widths: auto", ""] if first else []
    return [*head, f"   - - {cells[0]}", *(f"     - {cell}" for cell in cells[1:])]


def _inline(text: str) -> str:
    """Code in double backquotes, links with their address; outside of code, | and single * are escaped."""
    parts, start = [], 0
    for match in CODE.finditer(text):
        parts += [_prose(text[start : match.start()]), f"``{match[2].strip()}``", _after(text[match.end() :])]
        start = match.end()
    return "".join(parts) + _prose(text[start:])


def _prose(text: str) -> str:
    text = re.sub(r"(?<=\w)_(?=\W|$)", r"\\_", re.sub(r"(?<!\*)\*(?!\*)", r"\*", text).replace("|", r"\|"))
    return LINK.sub(r"`\1 <\2>`__", text)


def _after(rest: str) -> str:
    """A separator where a letter follows markup: `RBF`s."""
    return r"\ " if rest[:1].isalnum() else ""


class Changelog(SphinxDirective):
    """`.. changelog::` is replaced by the file."""

    def run(self) -> list[nodes.Node]:
        """Parse the file as part of the page."""
        self.env.note_dependency(str(FILE))
        node = nodes.section()
        node.document = self.state.document
        lines = StringList(restructured(FILE.read_text(encoding="utf-8")), source=str(FILE))
        self.state.nested_parse(lines, self.content_offset, node, match_titles=True)
        return node.children


def setup(app: Sphinx) -> dict[str, bool]:
    """Add the directive."""
    app.add_directive("changelog", Changelog)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
