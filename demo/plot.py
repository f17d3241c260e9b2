"""A plot of tokens per request against the window, in characters."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .provider import Request

_EIGHTHS = " ▁▂▃▄▅▆▇█"
_REFUSED = "\N{MULTIPLICATION SIGN}"
_ROWS = 8
_COLUMNS = 80


def plot(requests: list[Request], window: int) -> list[str]:
    """Lines of text: requests go to the right, the dotted line is the window."""
    groups = _grouped(requests)
    step = window / (_ROWS - 1)  # one row is left above the window, for what is over it
    lines = []
    for row in reversed(range(_ROWS)):
        label = f"{round(step * row / 1000):>4}k"
        cells = "".join(_cell(group, row, step) for group in groups)
        if row == _ROWS - 1:
            cells = cells.replace(" ", "·").ljust(_COLUMNS, "·") + " window"
        lines.append(f"{label} ┤{cells}".rstrip())
    width = len(groups)
    scale = f"requests 1 to {len(requests)}; {_REFUSED} is one that was refused" + (
        f", up to {-(-len(requests) // width)} in a column" if len(requests) > width else ""
    )
    return [*lines, f"      └{'─' * max(width, len(scale))}", f"       {scale}"]


def _grouped(requests: list[Request]) -> list[list[Request]]:
    """The requests in at most as many groups as there are columns, in order."""
    if len(requests) <= _COLUMNS:
        return [[request] for request in requests]
    return [
        requests[column * len(requests) // _COLUMNS : (column + 1) * len(requests) // _COLUMNS]
        for column in range(_COLUMNS)
    ]


def _cell(group: list[Request], row: int, step: float) -> str:
    if row == _ROWS - 1:
        return " " if all(request.accepted for request in group) else _REFUSED
    highest = max((request.tokens for request in group), default=0)
    filled = round((highest / step - row) * 8)
    return _EIGHTHS[max(0, min(8, filled))]
