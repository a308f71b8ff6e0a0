"""Text from files and users, made safe to print."""

from __future__ import annotations

import re

__all__ = ["printable"]

# Control characters that terminals interpret (C0 except tab and line end, DEL, C1); characters that reorder or hide
# what follows (bidirectional controls, line and paragraph separators, tags); invisible ones (soft hyphens, spaces and
# joiners of zero width, except the two that join letters and emoji); surrogates, which cannot be printed.
_UNSAFE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2064\u2066-\u2069\ufeff"
    "\ufff9-\ufffb\ud800-\udfff\U000e0000-\U000e007f]"
)


def printable(text: str) -> str:
    r"""The text with escapes for characters that a terminal would interpret or not show.

    Examples
    --------
    >>> from iokr._system.text import printable
    >>> print(printable("a\x9b31mb\u202ec"))
    a\u009b31mb\u202ec
    """
    return _UNSAFE.sub(_escape, text)


def _escape(found: re.Match[str]) -> str:
    code = ord(found[0])
    return f"\\u{code:04x}" if code < 1 << 16 else f"\\U{code:08x}"
