"""The fill of a context window as text: bars and a line, as Supyagent's ``/context`` draws them."""

from __future__ import annotations

# Supyagent's bars: twenty cells, each five percent.
_CELLS = 20
_FILLED, _EMPTY = "█", "░"
# Where the bar stands under its figures.
_INDENT = " " * 11
_WHOLE = 100


def percent(part: float, whole: float) -> int:
    """Whole percents, rounded down and never above 100; of nothing, anything is all."""
    return _WHOLE if whole <= 0 else min(_WHOLE, int(part * _WHOLE / whole))


def trigger(label: str, part: int, whole: int) -> list[str]:
    """A figure against its threshold, and the bar under it."""
    share = percent(part, whole)
    filled = share * _CELLS // _WHOLE
    figures = f"  {label + ':':<9} {part:,} / {whole:,} ({share}%)"
    return [figures, f"{_INDENT}[{_FILLED * filled}{_EMPTY * (_CELLS - filled)}]"]


def tokens_line(messages: int, beside: int, limit: int, name: str = "tools") -> str:
    """What a request takes, in the line that stands behind each turn."""
    used = messages + beside
    share = int(used * _WHOLE / limit) if limit > 0 else _WHOLE
    return (
        f"tokens: {messages:,} msgs + {beside:,} {name} | context: {used:,} / {limit:,} ({share}%)"
    )
