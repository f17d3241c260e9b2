"""Draws one figure of a session as an SVG picture, for a README."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ullage.page.figures import description_of, key, keys_of, tokens_plot
from ullage.page.style import COLOURS, PLOTS
from ullage.page.text import safe
from ullage.report.timeline import Timeline
from ullage.usage.economics import Economics

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ullage.page.plot import Line
    from ullage.report.recorder import Recorder

_WIDTH, _HEIGHT = 860, 380
# The margins around the drawing, for the title and the names of the lines.
_LEFT, _ABOVE, _BELOW = 24, 84, 36
# The widths of a letter of a name, and of its key.
_LETTER, _KEY = 6.6, 58


def session_picture(recorder: Recorder, title: str, *, beside: Sequence[Line] = ()) -> str:
    """Returns the plot of tokens against the window as SVG, for light and dark schemes.

    Args:
        recorder: The session.
        title: The title.
        beside: Other runs of the same session, in place of what is computed as "without".
    """
    plot = tokens_plot(Timeline.of(recorder.entries, Economics()), recorder.window, beside)
    names, place = [], float(_LEFT)
    for kind, name in keys_of(plot):
        names.append(
            f'<svg x="{place:.0f}" y="48" width="26" height="12" overflow="visible">{key(kind)}'
            f'</svg><text x="{place + 34:.0f}" y="58">{safe(name)}</text>'
        )
        place += _KEY + _LETTER * len(name)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img"'
        f' width="{_WIDTH}" height="{_HEIGHT}" aria-labelledby="title said">'
        f'<title id="title">{safe(title)}</title>'
        f'<desc id="said">{safe(description_of(plot))}</desc>'
        f"<style>{COLOURS}{PLOTS} .title {{ font-size: 16px; font-weight: 600; fill: var(--ink); }}"
        '</style><rect width="100%" height="100%" rx="10" fill="var(--paper)"/>'
        f'<text class="title" x="{_LEFT}" y="32">{safe(title)}</text>{"".join(names)}'
        f'<svg x="{_LEFT}" y="{_ABOVE}" width="{_WIDTH - 2 * _LEFT}"'
        f' height="{_HEIGHT - _ABOVE - _BELOW}" overflow="visible">{plot.drawn()}</svg></svg>\n'
    )
