"""Turns an error into one line for an error, a report and a log.

Code of the host may raise anything: an HTTP client the whole answer of a server, a store its
content.
"""

from __future__ import annotations

# Characters of a reason: a long sentence or two.
_LONGEST = 400

# Adjacent characters that count as a quotation: more than a name, a number or a phrase.
_QUOTED = 24

# Characters of the input that are searched, so that the check is fast.
_LOOKED_THROUGH = 2_000_000


def error_line(error: BaseException, given: str | bytes = "") -> str:
    """Returns an error's class and text in a line; only the class if it quotes ``given``."""
    try:
        text = str(error)
    except Exception:  # noqa: BLE001 - it is the host's class, and its text is only told
        text = ""
    name = type(error).__name__
    if given and _quotes(text[:_LONGEST], given[:_LOOKED_THROUGH]):
        return f"{name}, whose text quotes its input"
    return one_line(f"{name}: {text}" if text else name)


def one_line(text: str) -> str:
    """Returns the text as one line of printable characters, cut if it is long."""
    head = text[:_LONGEST]
    line = " ".join("".join(c if c.isprintable() else " " for c in head).split())
    return line if len(text) <= _LONGEST else f"{line}…"


def _quotes(text: str, given: str | bytes) -> bool:
    """True if the text has a long run of characters of ``given``.

    Adjacent pieces are searched for, so up to twice as many characters may be needed.
    """
    for start in range(0, len(text) - _QUOTED + 1, _QUOTED):
        piece = text[start : start + _QUOTED]
        if isinstance(given, str):
            if piece in given:
                return True
        elif piece.encode("utf-8", "surrogatepass") in given:
            return True
    return False
