"""Why something failed, in a line that can go into an error, a report and a log.

Code of the host's raises what it likes: an HTTP client the whole answer of a server, a store the
content that it was to keep.
"""

from __future__ import annotations

# Characters of a reason: a long sentence or two.
_LONGEST = 400

# Characters in a row that are a quotation: more than a name, a number or a turn of phrase.
_QUOTED = 24

# Characters of what was given that are looked through, so that an error is told at once.
_LOOKED_THROUGH = 2_000_000


def said(error: BaseException, given: str | bytes = "") -> str:
    """The kind of an error and what it says, in a line; only the kind where it quotes ``given``."""
    try:
        text = str(error)
    except Exception:  # noqa: BLE001 - it is the host's class, and its text is only told
        text = ""
    name = type(error).__name__
    if given and _quotes(text[:_LONGEST], given[:_LOOKED_THROUGH]):
        return f"{name}, which quotes what was given to it"
    return one_line(f"{name}: {text}" if text else name)


def one_line(text: str) -> str:
    """The text in a line of printable characters, cut where it is long."""
    head = text[:_LONGEST]
    line = " ".join("".join(c if c.isprintable() else " " for c in head).split())
    return line if len(text) <= _LONGEST else f"{line}…"


def _quotes(text: str, given: str | bytes) -> bool:
    """True if so many characters of the text are those of what was given, in a row.

    Pieces that follow each other are looked for, so it may take twice as many to see it.
    """
    for start in range(0, len(text) - _QUOTED + 1, _QUOTED):
        piece = text[start : start + _QUOTED]
        if isinstance(given, str):
            if piece in given:
                return True
        elif piece.encode("utf-8", "surrogatepass") in given:
            return True
    return False
