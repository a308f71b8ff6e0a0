"""The directive `changelog`: CHANGELOG.md as a part of the page, so that there is one list of changes."""

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
    """The Markdown that the file uses, as reStructuredText: headings, lists, code and links; the title is left out."""
    lines: list[str] = []
    for line in text.splitlines():
        if match := re.match(r"(#+) +(.*)", line):
            if len(match[1]) > 1:
                title = match[2].replace("[", "").replace("]", "")
                lines += ["", title, {2: "-", 3: "~"}.get(len(match[1]), "^") * (2 * len(title)), ""]
            continue
        if line.startswith("- ") and lines and lines[-1].strip() and not lines[-1].startswith(("- ", "  ")):
            lines.append("")
        lines.append(line)
    return _inline("\n".join(lines)).splitlines()


def _inline(text: str) -> str:
    """Code in double backquotes, links with their address; | and * stand for themselves outside of code."""
    parts, start = [], 0
    for match in CODE.finditer(text):
        parts += [_prose(text[start : match.start()]), f"``{match[2].strip()}``", _after(text[match.end() :])]
        start = match.end()
    return "".join(parts) + _prose(text[start:])


def _prose(text: str) -> str:
    text = re.sub(r"(?<=\w)_(?=\W|$)", r"\\_", text.replace("*", r"\*").replace("|", r"\|"))
    return LINK.sub(r"`\1 <\2>`__", text)


def _after(rest: str) -> str:
    """Markup must end before a letter: `RBF`s."""
    return r"\ " if rest[:1].isalnum() else ""


class Changelog(SphinxDirective):
    """`.. changelog::` stands for the file."""

    def run(self) -> list[nodes.Node]:
        """Read it as if it were written on the page."""
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
