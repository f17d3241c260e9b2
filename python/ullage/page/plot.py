"""Plots as SVG. Lines stretch to the width of the page, words and marks do not."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Literal

from ullage.page.text import safe, short

if TYPE_CHECKING:
    from collections.abc import Sequence

Kind = Literal["with", "without", "other"]

# The units of a stretched drawing: about the pixels of a wide screen.
_WIDE, _HIGH = 1_000, 1_000
_STRETCHED = (
    f'<svg viewBox="0 0 {_WIDE} {_HIGH}" preserveAspectRatio="none" width="100%" height="100%"'
    ' overflow="hidden">'
)
# A longer line is drawn by the lowest and the highest value of each stretch.
_PLACES = 500
_COLUMNS = 240
# Of more marks, which would cover the line, every n-th is drawn.
_MARKS = 60
# The plot ends at this multiple of the limit, so that a high line does not flatten the others.
_ABOVE_LIMIT = 1.6
# Number of horizontal lines.
_STEPS = 4


@dataclass(frozen=True)
class Line:
    """A value for each request, from the first on.

    Attributes:
        name: The name in the key.
        kind: The style: "with" is solid and filled, "without" dashed, "other" dotted.
        values: The values.
        is_cut_short: True to draw a cross at the end, where the run was refused.
    """

    name: str
    kind: Kind
    values: Sequence[float]
    is_cut_short: bool = False


@dataclass(frozen=True)
class Plot:
    """Lines over requests.

    Attributes:
        lines: The lines, of which the first is on top.
        limit: The name and the value of a horizontal line, such as the window, or None.
        marks: Marked requests on the first line, each with its tooltip.
    """

    lines: Sequence[Line]
    limit: tuple[str, float] | None = None
    marks: Sequence[tuple[int, str]] = ()

    @cached_property
    def requests(self) -> int:
        """The number of requests of the longest line."""
        return max((len(line.values) for line in self.lines), default=0)

    @cached_property
    def top(self) -> float:
        """The value at the upper edge."""
        highest = max((max(line.values, default=0) for line in self.lines), default=0)
        if self.limit is not None:
            first = max(self.lines[0].values, default=0) if self.lines else 0
            most = _ABOVE_LIMIT * max(self.limit[1], first)
            highest = min(max(highest, 1.1 * self.limit[1]), most)
        return highest or 1

    def drawn(self) -> str:
        """Returns the content of the SVG. Positions are percentages."""
        lines = "".join(self._path(line) for line in reversed(self.lines))
        scale = (
            '<text y="100%" dy="18">request 1</text>'
            f'<text x="100%" y="100%" dy="18" text-anchor="end">{self.requests:,}</text>'
        )
        stretched = f"{_STRETCHED}{lines}</svg>"
        about = [stretched, *self._labels(), *self._limit(), *self._ends(), *self._marks()]
        return "".join([*self._across(), *about, scale])

    def _x(self, request: int) -> float:
        return request / (self.requests - 1) if self.requests > 1 else 0.5

    def _y(self, value: float) -> float:
        return 1 - min(value, self.top) / self.top

    @cached_property
    def _heights(self) -> list[tuple[float, str]]:
        """The values of the horizontal lines, each with its place."""
        step = _round_step(self.top / _STEPS)
        values = [step * number for number in range(int(self.top / step) + 1)]
        return [(value, f"{self._y(value):.2%}") for value in values]

    def _across(self) -> list[str]:
        return [f'<line x2="100%" y1="{y}" y2="{y}"/>' for _, y in self._heights]

    def _labels(self) -> list[str]:
        # A label covers the curve that crosses it, so the curve is drawn first.
        return [
            f'<text y="{y}" dy="-4">{short(value)}</text>' for value, y in self._heights if value
        ]

    def _path(self, line: Line) -> str:
        points = [
            # The drawing clips values above the upper edge.
            (self._x(request) * _WIDE, (1 - value / self.top) * _HIGH)
            for request, value in _thin(line.values)
        ]
        if not points:
            return ""
        if len(points) == 1:
            points = [(0, points[0][1]), (_WIDE, points[0][1])]
        way = "L".join(f"{x:.1f} {y:.1f}" for x, y in points)
        under = f"M{points[0][0]:.1f} {_HIGH}L{way}L{points[-1][0]:.1f} {_HIGH}Z"
        filled = f'<path class="area under" d="{under}"/>' if line.kind == "with" else ""
        return f'{filled}<path class="{line.kind}" d="M{way}"/>'

    def _limit(self) -> list[str]:
        if self.limit is None:
            return []
        name, value = self.limit
        y = f"{self._y(value):.2%}"
        said = f"{safe(name)} {value:,.0f}"
        return [
            f'<line class="limit" x2="100%" y1="{y}" y2="{y}"/>',
            f'<text class="limit" x="100%" y="{y}" dy="-5" text-anchor="end">{said}</text>',
        ]

    def _ends(self) -> list[str]:
        return [
            f'<text class="end {line.kind}" x="{self._x(len(line.values) - 1):.2%}"'
            f' y="{self._y(line.values[-1]):.2%}" dy="6">\N{MULTIPLICATION SIGN}</text>'
            for line in self.lines
            if line.is_cut_short and line.values
        ]

    def _marks(self) -> list[str]:
        every = -(-len(self.marks) // _MARKS) or 1
        return [
            f'<circle class="mark" cx="{self._x(request):.2%}"'
            f' cy="{self._y(self.lines[0].values[request]):.2%}" r="4">'
            f"<title>{safe(said)}</title></circle>"
            for request, said in self.marks[::every]
            if request < len(self.lines[0].values)
        ]


def columns(parts: Sequence[tuple[str, Sequence[float]]]) -> tuple[str, float]:
    """Returns stacked columns, one for each request, and the value of the highest.

    If there are too many requests, a column is the mean of several neighbours.
    """
    count = max((len(values) for _, values in parts), default=0)
    every = -(-count // _COLUMNS) or 1
    means = [(kind, _means(values, every)) for kind, values in parts]
    sums = [sum(at) for at in zip(*(values for _, values in means), strict=True)]
    top = max(sums, default=0) or 1
    drawn, ground = [], [0.0] * len(sums)
    width = _WIDE / max(1, len(sums))
    for kind, values in means:
        way = "".join(
            f"M{place * width:.1f} {(1 - (below + value) / top) * _HIGH:.1f}h{width:.1f}"
            f"v{value / top * _HIGH:.1f}h-{width:.1f}Z"
            for place, (below, value) in enumerate(zip(ground, values, strict=True))
            if value
        )
        drawn.append(f'<path class="area {kind}" d="{way}"/>')
        ground = [below + value for below, value in zip(ground, values, strict=True)]
    return (
        f"{_STRETCHED}{''.join(drawn)}</svg>",
        top,
    )


def _means(values: Sequence[float], every: int) -> list[float]:
    groups = (values[start : start + every] for start in range(0, len(values), every))
    return [sum(group) / len(group) for group in groups]


def _thin(values: Sequence[float]) -> list[tuple[int, float]]:
    """Returns the values with their indices; of many, the extremes of each stretch."""
    places = list(enumerate(values))
    if len(places) <= _PLACES:
        return places
    every = -(-2 * len(places) // _PLACES)
    kept: set[tuple[int, float]] = {places[0], places[-1]}
    for start in range(0, len(places), every):
        stretch = places[start : start + every]
        kept |= {min(stretch, key=lambda at: at[1]), max(stretch, key=lambda at: at[1])}
    return sorted(kept)


def _round_step(about: float) -> float:
    """Returns the next number of the form 1, 2 or 5 times a power of ten."""
    size = 10.0 ** math.floor(math.log10(about))
    return next(step * size for step in (1, 2, 5, 10) if step * size >= about * 0.999)
