"""Parts of all pages: the document, tables, bars."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ullage.page.style import PAGE
from ullage.page.text import safe

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

# Nothing is loaded and no script runs, even if a text were taken for markup.
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'"


def document(title: str, body: Iterable[str]) -> str:
    """A page: one file that any browser opens, without scripts and without a network.

    It is well-formed as XML too. The title is any text; the body is markup.
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
    """A table of plain texts, which scrolls by itself where it is wider than the page."""
    name = safe(caption)
    yield f'<div class="wide" tabindex="0" role="region" aria-label="{name}"><table>'
    yield f"<caption>{name}</caption><thead><tr>"
    yield "".join(f'<th scope="col">{safe(head)}</th>' for head in heads) + "</tr></thead><tbody>"
    for first, *others in rows:
        cells = "".join(f"<td>{safe(cell)}</td>" for cell in others)
        yield f'<tr><th scope="row">{safe(first)}</th>{cells}</tr>'
    yield "</tbody></table></div>"


def bar(kind: str, name: str, share: float, shown: str, dots: Sequence[float] = ()) -> str:
    """A bar of a share of its whole, with what it says, and the values that it is made of.

    Args:
        kind: The class that colours it.
        name: What it is of.
        share: From 0 to 1.
        shown: The share in words.
        dots: Values of the same measure, each drawn below.
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
    """Figures side by side: what it is, the figure, and what it says."""
    yield '<dl class="tiles">'
    for name, figure, says in figures:
        yield f"<div><dt>{safe(name)}</dt><dd>{safe(figure)}<small>{safe(says)}</small></dd></div>"
    yield "</dl>"
