"""The glossary is applied: texts avoid the words listed under "Words we do not use" in docs/glossary.rst.

`TEXTS` are pages and scripts, `SOURCES` folders of code: their docstrings, comments and messages; a string without a
blank is a name. A finding is reported as `file:line: word -> replacement`.
"""

import io
import re
import tokenize
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parents[2]
GLOSSARY = ROOT / "docs" / "glossary.rst"

TEXTS = ["README.md", "CONTRIBUTING.md", "CHANGELOG.md", "docs", "tutorials", "examples"]
SOURCES = ["src", "lab/src", "tools"]

# (file or folder, word): why it may stand there
ALLOWED = {
    ("src/iokr/estimators/outputs.py", "is none"): "the message is that of scikit-learn, which its checks ask for",
    ("CHANGELOG.md", "strength"): "the table of renamed arguments has the old names",
    ("CHANGELOG.md", "rival"): "the table of renamed modules has the old names",
    ("src/iokr/files/", "beside"): "a parameter of `save`",
}
GENERATED = {"_build", "generated", "auto_examples", "auto_tutorials"}


class Rule(NamedTuple):
    """A word that is not used, its replacement, and the phrases in which it is fine."""

    word: str
    replacement: str
    exceptions: list[str]


def words_of(cell):
    return [word.strip() for word in cell.split(",") if word.strip()]


def rules():
    """The table `words` of the glossary."""
    text = GLOSSARY.read_text(encoding="utf-8")
    [table] = re.findall(r":name: words\n(.*)", text, flags=re.DOTALL)
    rows = [line.strip().split("|") for line in table.splitlines() if "|" in line and not line.strip().startswith(":")]
    return [
        Rule(word, replacement.strip(), words_of(exceptions))
        for avoided, replacement, exceptions in rows
        for word in words_of(avoided)
    ]


RULES = rules()


def pattern(phrase):
    """The phrase as whole words, in any case, also across a line end."""
    return re.compile(r"(?<![\w-])" + r"[\s#>*]+".join(map(re.escape, phrase.split())) + r"(?![\w-])", re.IGNORECASE)


def blank(text, *expressions):
    """Replace what matches by spaces; line ends stay, so that line numbers do."""
    for expression in expressions:
        text = re.sub(expression, lambda match: re.sub(r"[^\n]", " ", match[0]), text, flags=re.DOTALL | re.MULTILINE)
    return text


DOCTEST = r"^[ \t]*>>> .*?(?=^[ \t]*$|\Z)"
LITERAL = r"``.+?``|(?<![:`\w])`[^`\n]+`(?!_)"
TARGET = r"<[^>\n]*>"
DIRECTIVE = r"^(?P<indent>[ \t]*)\.\. (code-block|math|index)::.*?(?=^(?P=indent)\S|\Z)"
WORDS_TABLE = r":name: words\n.*"


def prose_of_page(text):
    """A page of reStructuredText or Markdown without its code."""
    fences = r"^```.*?^```", r"^ {4}(?:iokr|make|pip) .*?$"
    return blank(text, DIRECTIVE, DOCTEST, *fences, LITERAL, TARGET, WORDS_TABLE)


def prose_of_code(text):
    """Comments, docstrings and messages of a module; everything else is blanked."""
    lines = text.splitlines(keepends=True)
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line))
    kept = list(blank(text, r"[^\n]"))
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if tokenize.tok_name[token.type] in ("COMMENT", "STRING", "FSTRING_MIDDLE"):
            start, end = starts[token.start[0] - 1] + token.start[1], starts[token.end[0] - 1] + token.end[1]
            passage = text[start:end]
            if token.type == tokenize.STRING and not re.search(r"\s", passage):
                continue
            if token.type == tokenize.STRING and "f" in passage.partition(passage.lstrip("rRbBfF")[0])[0].lower():
                passage = blank(passage, r"\{[^{}]*\}")
            kept[start:end] = passage
    return blank("".join(kept), DIRECTIVE, DOCTEST, LITERAL)


def findings(text, path=""):
    """`file:line: word -> replacement` for each word that the glossary replaces."""
    found = []
    for rule in RULES:
        if any(path.startswith(place) and word == rule.word for place, word in ALLOWED):
            continue
        for match in pattern(rule.word).finditer(text):
            if match[0].endswith("None"):  # the value of Python
                continue
            around = " ".join(text[max(match.start() - 20, 0) : match.end() + 20].split())
            if not any(pattern(phrase).search(around) for phrase in rule.exceptions):
                line = text.count("\n", 0, match.start()) + 1
                found.append((line, f"{path}:{line}: {rule.word} -> {rule.replacement}"))
    return [message for _, message in sorted(found)]


def files_of(place):
    folder = ROOT / place
    if folder.is_file():
        return [folder]
    kinds = ("*.rst", "*.md", "*.py", "*.jinja")
    found = {path for kind in kinds for path in folder.rglob(kind)}
    return sorted(path for path in found if not GENERATED & set(path.relative_to(ROOT).parts))


def prose_of(path):
    text = path.read_text(encoding="utf-8")
    return prose_of_code(text) if path.suffix == ".py" else prose_of_page(text)


@pytest.mark.parametrize("place", [*TEXTS, *SOURCES])
def test_texts_avoid_the_words_that_the_glossary_replaces(place):
    files = files_of(place)
    assert files
    found = [message for path in files for message in findings(prose_of(path), str(path.relative_to(ROOT)))]
    assert not found, "\n" + "\n".join(found)


def test_the_table_has_words_with_replacements():
    assert len(RULES) > 20
    assert all(rule.word and rule.replacement for rule in RULES)


def test_a_word_is_found_with_its_line():
    page = "One line.\nThe model is not\ntold ``told``, as\n\n>>> told = 1\n\nasked\nfor.\n"
    found = findings(prose_of_page(page), "page.rst")
    assert [message.split(" -> ")[0] for message in found] == ["page.rst:3: told", "page.rst:7: asked for"]


def test_code_is_not_read_but_its_texts_are():
    code = 'told = 1  # told\ndef said(x):\n    """What is told."""\n    return f"{told} is said"\n'
    found = findings(prose_of_code(code), "module.py")
    assert [message.split(" -> ")[0] for message in found] == [
        "module.py:1: told",
        "module.py:3: told",
        "module.py:4: said",
    ]


def test_names_and_the_value_none_are_not_texts():
    assert findings(prose_of_code('__all__ = ["alike"]  # `y` is None\n')) == []


def test_exceptions_are_phrases_in_which_a_word_is_fine():
    assert findings("There is no limit.") == []
    assert findings("It is no limit.") == [":1: is no -> is not a, are not"]
