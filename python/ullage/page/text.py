"""Makes any text safe for a page: no markup, no invisible or direction-changing characters."""

from __future__ import annotations

import re
from html import escape

# Removes characters that XML cannot hold (controls, surrogates, the last two codes), that change
# the direction of text, or that are invisible, such as tag letters that hide prompts. Joiners and
# the soft hyphen stay: scripts and emoji need them.
_UNSEEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f"
    "\ud800-\udfff\ufeff\ufff9-\ufffb\ufffe\uffff\U000e0000-\U000e0fff]"
)


def plain(text: str) -> str:
    """Returns the text with a name for each such character, such as ``⟨U+202E⟩``."""
    return _UNSEEN.sub(lambda found: f"⟨U+{ord(found[0]):04X}⟩", text.replace("\r\n", "\n"))


def safe(text: object) -> str:
    """Returns a text for any place in the page, also for quoted attributes."""
    return escape(plain(str(text)))


def short(number: float) -> str:
    """Returns a short number for the axis of a plot."""
    for size, letter in ((1_000_000, "M"), (1_000, "k")):
        if number >= size:
            return f"{number / size:.3g}{letter}"
    return f"{number:.3g}"


def percent(share: float) -> str:
    """Returns a share in percent, with one decimal."""
    return f"{share:.1%}"


def time(seconds: float) -> str:
    """Returns a time with its unit."""
    return f"{seconds:.1f} s" if seconds >= 1 else f"{seconds * 1_000:.1f} ms"
