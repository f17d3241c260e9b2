"""Parts of all pages: the document, tables, bars."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ullage.page.style import PAGE
from ullage.page.text import safe

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

# A browser loads nothing and runs no script, even if a text became markup.
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'"


def document(title: str, body: Iterable[str]) -> str:
    """Returns a page: one file, without scripts and without a network.

    It is also well-formed XML. The title is any text; the body is markup.
    """
    return "\n".join(
        [
            "<!DOCTYPE html>",
            f'<html lang="en"><head><meta charset="utf-8"/><title>{safe(title)}</title>',
            f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}"/>',
            '<meta name="referrer" content="no-referrer"/>',
            '<meta name="viewport" content="width=device-width, initial-scale=1"/>',
            f"<style>{PAGE}</style></head><body><main>",
            *body,
            "</main></body></html>",
            "",
        ]
    )


def table(caption: str, heads: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    """Returns a table of plain texts. It scrolls if it is wider than the page."""
    name = safe(caption)
    yield f'<div class="wide" tabindex="0" role="region" aria-label="{name}"><table>'
    yield f"<caption>{name}</caption><thead><tr>"
    yield "".join(f'<th scope="col">{safe(head)}</th>' for head in heads) + "</tr></thead><tbody>"
    for first, *others in rows:
        cells = "".join(f"<td>{safe(cell)}</td>" for cell in others)
        yield f'<tr><th scope="row">{safe(first)}</th>{cells}</tr>'
    yield "</tbody></table></div>"


def bar(kind: str, name: str, share: float, shown: str, dots: Sequence[float] = ()) -> str:
    """Returns a bar for a share, with its label and the single values.

    Args:
        kind: The CSS class, which sets the colour.
        name: The label.
        share: The share, from 0 to 1.
        shown: The share as text.
        dots: Single values of the same measure, drawn as dots below.
    """
    drawn = "".join(
        f'<circle class="{kind}" cx="{dot * 100:.2f}%" cy="85%" r="2.5"/>' for dot in dots
    )
    label = f"{safe(name)} {safe(shown)}"
    return (
        f'<div class="bar"><span>{safe(name)}</span>'
        f'<svg role="img" aria-label="{label}" overflow="visible">'
        '<rect class="all" width="100%" height="60%"/>'
        f'<rect class="{kind}" width="{share * 100:.2f}%" height="60%"/>'
        f'<g class="spread">{drawn}</g></svg><span>{safe(shown)}</span></div>'
    )


def tiles(figures: Iterable[tuple[str, str, str]]) -> Iterator[str]:
    """Returns tiles, each with a name, a figure and a remark."""
    yield '<dl class="tiles">'
    for name, figure, says in figures:
        yield f"<div><dt>{safe(name)}</dt><dd>{safe(figure)}<small>{safe(says)}</small></dd></div>"
    yield "</dl>"
