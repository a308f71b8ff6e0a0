"""What terminals obey is escaped, what people write is not."""

import sys
import unicodedata

import pytest

from iokr._system.text import printable


@pytest.mark.parametrize(
    "text", ["plain", "tab\tand\nline", "é 日本 ⟨h(u)⟩ – ± σ", "a\u00a0b", "\u200c\u200d", "🧬", "\\x9b"]
)
def test_what_people_write_stays(text):
    assert printable(text) == text


def test_no_control_character_is_left():
    every = "".join(map(chr, range(sys.maxunicode + 1)))
    left = printable(every)
    assert {c for c in left if unicodedata.category(c) in ("Cc", "Cs", "Zl", "Zp")} == {"\t", "\n"}
    bidirectional = {"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"}
    assert not {c for c in left if unicodedata.bidirectional(c) in bidirectional}
    left.encode()


@pytest.mark.parametrize("name", ["\u200b", "\u2060", "\u00ad", "\ufeff", "\u200e"])
def test_what_is_not_seen_is_told(name):
    assert printable(f"a{name}b") == f"a\\u{ord(name):04x}b"
