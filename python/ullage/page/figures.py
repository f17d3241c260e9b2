"""The figures of a session's report."""

from __future__ import annotations

from itertools import accumulate
from typing import TYPE_CHECKING, TypeAlias

from ullage.page.parts import bar, table
from ullage.page.plot import Line, Plot, columns
from ullage.page.text import safe, short
from ullage.report.reports import Report
from ullage.usage.economics import Economics

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from ullage.report.timeline import Timeline

# The unit of all costs, and the prices.
Money: TypeAlias = tuple[str, Economics]

_KEYS = {
    "with": '<path class="with" d="M0 6H26"/>',
    "without": '<path class="without" d="M0 6H26"/>',
    "other": '<path class="other" d="M0 6H26"/>',
    "mark": '<circle class="mark" cx="13" cy="6" r="4"/>',
    "end": '<text class="end" x="13" y="12">\N{MULTIPLICATION SIGN}</text>',
    **{
        kind: f'<path class="area {kind}" d="M6 0h14v12h-14Z"/>'
        for kind in ("read", "new", "again")
    },
}


def tokens_plot(line: Timeline, window: int | None, beside: Sequence[Line] = ()) -> Plot:
    """Returns the plot of a session's prompts against the window, with ullage and without."""
    own = Line("with ullage", "with", [step.prompt for step in line.steps])
    others = beside or [Line("without", "without", [step.without for step in line.steps])]
    marks = [
        (request, f"request {request + 1:,}: {done.tokens_before:,} → {done.tokens_after:,} tokens")
        for request, done in line.compactions
        if isinstance(done, Report) and done.stages
    ]
    limit = None if window is None else ("window", window)
    return Plot([own, *others], limit, marks)


def keys_of(plot: Plot) -> list[tuple[str, str]]:
    """Returns the style and the meaning of each line in a plot."""
    keys: list[tuple[str, str]] = [(line.kind, line.name) for line in plot.lines]
    if plot.marks:
        keys.append(("mark", "compaction"))
    if any(line.is_cut_short for line in plot.lines):
        keys.append(("end", "refused: the end of a run"))
    return keys


def key(kind: str) -> str:
    """Returns the content of a key: a drawing 26 wide and 12 high."""
    return _KEYS[kind]


def description_of(plot: Plot) -> str:
    """Describes a plot of tokens in words."""
    limit = None if plot.limit is None else plot.limit[1]
    return ". ".join(_course(line, limit) for line in plot.lines) + "."


def _course(line: Line, limit: float | None) -> str:
    end = ", where it ends" if line.is_cut_short else ""
    over = next((n for n, value in enumerate(line.values, 1) if limit and value > limit), None)
    if over is None:
        most, count = max(line.values, default=0), len(line.values)
        return f"{line.name}: at most {most:,.0f} tokens in {count:,} requests{end}"
    last = f"at last {line.values[-1]:,.0f} tokens"
    return f"{line.name}: over the window at request {over:,}, {last}{end}"


def tokens_figure(line: Timeline, window: int | None, beside: Sequence[Line]) -> Iterator[str]:
    """Draws the tokens of each request against the window."""
    plot = tokens_plot(line, window, beside)
    yield "<h2>Tokens against the window</h2>"
    yield from _figure("tokens", description_of(plot), plot.drawn(), keys_of(plot))


def stages_figure(line: Timeline) -> Iterator[str]:
    """Draws the savings of each stage."""
    if not line.stages:
        return
    yield '<h2 id="stages">What each stage saved</h2>'
    most = max(stage.saved for stage in line.stages.values()) or 1
    for name, stage in line.stages.items():
        yield bar("saved", name, max(0, stage.saved) / most, short(stage.saved))
    rows = [(name, f"{stage.edits:,}", f"{stage.saved:,}") for name, stage in line.stages.items()]
    yield from table("What each stage did", ("stage", "edits", "tokens saved"), rows)


def cache_figure(line: Timeline) -> Iterator[str]:
    """Draws the cached part of each request."""
    kinds = (
        ("read", "read from the cache", [step.read for step in line.steps]),
        ("new", "written because it is new", [step.new for step in line.steps]),
        ("again", "written again, after a change", [step.rewritten for step in line.steps]),
    )
    drawn, top = columns([(kind, values) for kind, _, values in kinds])
    sums = ", ".join(f"{sum(values):,} tokens {name}" for _, name, values in kinds)
    yield "<h2>Cache reads and rewrites</h2>"
    axis = f'<text dy="-4">{short(top)} tokens a request</text>'
    yield from _figure("cache", f"{sums}.", drawn + axis, [(kind, name) for kind, name, _ in kinds])


def cost_figure(line: Timeline, money: Money) -> Iterator[str]:
    """Draws the cumulative cost of the input."""
    unit, prices = money
    own = list(accumulate(step.cost for step in line.steps))
    full = list(accumulate(step.cost_without for step in line.steps))
    plot = Plot([Line("with ullage", "with", own), Line("without", "without", full)])
    ends = " and ".join(f"{each.values[-1]:,.4g} {each.name}" for each in plot.lines)
    said = (
        f"{ends} ({unit}). Writing a token into the cache costs {prices.cache_write:g} times a"
        f" token of input, reading it {prices.cache_read:.2g} times. The cost without ullage is"
        " that of a history that only grows, if a window could hold it."
    )
    yield "<h2>Cost of the input</h2>"
    yield from _figure("cost", said, plot.drawn(), keys_of(plot))


def _figure(name: str, said: str, drawn: str, keys: Iterable[tuple[str, str]]) -> Iterator[str]:
    yield f'<figure id="{name}"><ul class="key">'
    for kind, meaning in keys:
        small = f'<svg viewBox="0 0 26 12" aria-hidden="true">{key(kind)}</svg>'
        yield f"<li>{small}{safe(meaning)}</li>"
    yield f'</ul><svg role="img" aria-labelledby="{name}-said">{drawn}</svg>'
    yield f'<figcaption id="{name}-said">{safe(said)}</figcaption></figure>'
