"""Lists the removed and the shortened pieces of a session, each folded."""

from __future__ import annotations

import inspect
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from ullage._engine.wording import many, type_of
from ullage.page.text import plain, safe
from ullage.stores.readable import TRANSCRIPT, transcript_as_text
from ullage.stores.retrieval import discard

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ullage.report.recorded import Arrived, Change, Changes
    from ullage.stores.protocol import Store

# The most bytes of a piece in the page, since a browser takes seconds for a block of megabytes, and
# of all pieces together, which a phone still opens at once.
MOST_OF_A_PIECE = 200_000
MOST_OF_ALL = 5_000_000
# Characters of a larger piece that are shown.
_BEGINNING = 4_000
# The actions of plans as participles.
_DONE = {
    "shorten": "shortened",
    "rewrite": "rewritten",
    "drop": "without a part",
    "remove": "removed",
}
# Shown if the recording has no texts.
_NO_TEXTS = "Not recorded: give the Recorder texts=True."
# Characters of a piece in its summary line.
_PREVIEW = 60
# Pieces beyond this number are only counted.
MOST_PIECES = 2_000


class Pieces:
    """The content of a store, as parts of a page.

    Args:
        store: The store; None if there is none, or it is not known.
        folder: The folder that the page will be in, for links to files; None for no links.
    """

    def __init__(self, store: Store | None, folder: str | Path | None) -> None:
        self._store = store
        self._folder = folder
        self._room = MOST_OF_ALL
        self._shown: set[str] = set()
        self._listed = 0

    def list_stored(self, references: Iterable[str]) -> Iterator[str]:
        """Lists stored pieces. A piece that is already on the page becomes a link."""
        left_out = 0
        for reference in references:
            if reference in self._shown:
                yield f"<p>{_link(reference)}, shown above</p>"
            elif self._listed >= MOST_PIECES:
                left_out += 1
            else:
                self._listed += 1
                yield self._piece(reference)
        yield from _left_out(left_out)

    def changes(self, changes: Changes) -> Iterator[str]:
        """Lists changed pieces, each with the original and what the model sees instead."""
        left_out = 0
        for change in changes.changes:
            if self._listed >= MOST_PIECES:
                left_out += 1
                continue
            self._listed += 1
            yield self._item(
                _describe_change(change), change.reference, change.instead, _reason(change)
            )
        yield from _left_out(left_out)
        if changes.others:
            yield f'<p class="dim">and {many(changes.others, "smaller change")}</p>'

    def list_results(self, arrived: Iterable[Arrived]) -> Iterator[str]:
        """Lists the results that were shortened as they arrived, in the same way."""
        left_out = 0
        for result in arrived:
            if self._listed >= MOST_PIECES:
                left_out += 1
                continue
            self._listed += 1
            reference = result.references[0] if result.references else None
            name = f"{result.tool}: {many(result.saved, 'token')} saved"
            yield self._item(name, reference, result.instead)
            yield from self.list_stored(result.references[1:])
        yield from _left_out(left_out)

    def _item(self, name: str, reference: str | None, instead: str | None, reason: str = "") -> str:
        """Returns a piece that unfolds to both texts, side by side if there is room."""
        anchor, about = "", [safe(reason)]
        if reference is None:
            original = '<p class="dim">Not stored.</p>'
        elif reference in self._shown:
            original = f"<p>{_link(reference)}, shown above</p>"
        else:
            anchor = f' id="{safe(reference)}"'
            size, original = self._original(reference)
            about.append(size)
        dim = "; ".join(part for part in about if part)
        return (
            f'<details class="piece"{anchor}><summary>{safe(name)} <span class="dim">{dim}</span>'
            f'</summary><div class="sides"><section><h4>The original</h4>{original}</section>'
            f"<section><h4>What the model sees instead</h4>{self._instead(instead)}</section>"
            "</div></details>"
        )

    def _original(self, reference: str) -> tuple[str, str]:
        """Returns the size and the beginning of a stored piece, and its text with its place."""
        self._shown.add(reference)
        content, why_not = self._content(reference)
        place = self._place(reference)
        if content is None:
            return "", f'{place}<p class="dim">{safe(why_not)}</p>'
        if TRANSCRIPT in reference:
            content = transcript_as_text(content)
        return _about(content), place + self._body(content)

    def _instead(self, text: str | None) -> str:
        if text is None:
            return f'<p class="dim">{_NO_TEXTS}</p>'
        if not text:
            return '<p class="dim">Nothing.</p>'
        if len(text) > self._room:
            return '<p class="dim">Left out, because the pieces above fill the page.</p>'
        self._room -= len(text)
        return _unfold(text)

    def _piece(self, reference: str) -> str:
        size, original = self._original(reference)
        return (
            f'<details class="piece" id="{safe(reference)}"><summary>{safe(reference)}'
            f' <span class="dim">{size}</span></summary>{original}</details>'
        )

    def _content(self, reference: str) -> tuple[bytes | None, str]:
        """Returns the stored content, or the reason why it cannot be shown."""
        if self._store is None:
            return None, "No store was given, so its text is not here."
        try:
            content: Any = self._store.get(reference)
        except Exception as error:  # noqa: BLE001 - whatever a store raises; the rest is still shown
            return None, f"The store raised an error: {error}"
        if inspect.isawaitable(content):
            discard(content)
            return None, "The store is async, so its text is not here."
        if not isinstance(content, (bytes, bytearray)):
            return None, f"The store returned {type_of(content)}, not bytes."
        return bytes(content), ""

    def _body(self, content: bytes) -> str:
        try:
            text = content.decode("utf-8", "surrogatepass")
        except UnicodeDecodeError:
            return '<p class="dim">Not text.</p>'
        if len(content) <= min(MOST_OF_A_PIECE, self._room):
            self._room -= len(content)
            return _unfold(text)
        why = (
            f"larger than {MOST_OF_A_PIECE:,} bytes, the limit for a piece on this page"
            if len(content) > MOST_OF_A_PIECE
            else f"left out, because the pieces above take {MOST_OF_ALL:,} bytes, the limit"
        )
        beginning = text[: min(_BEGINNING, len(text))]
        return f'<p class="dim">Its beginning; the whole is {why}.</p>{_unfold(beginning)}'

    def _place(self, reference: str) -> str:
        """Returns the place of the content, with a link if the page can have one."""
        path = getattr(self._store, "path", None)
        file = None if path is None else path(reference)
        if file is None:
            return ""
        if self._folder is None:
            return f"<p>{safe(file.name)}</p>"
        try:
            way = os.path.relpath(file, self._folder)
        except ValueError:  # another drive
            return f"<p>{safe(file)}</p>"
        link = quote(Path(way).as_posix().encode("utf-8", "surrogateescape"))
        return f'<p>Stored in <a href="./{link}">{safe(file.name)}</a></p>'


def _left_out(count: int) -> Iterator[str]:
    if count:
        yield f'<p class="dim">and {many(count, "more piece")}, which the store has.</p>'


def _link(reference: str) -> str:
    return f'<a href="#{safe(reference)}">{safe(reference)}</a>'


def _describe_change(change: Change) -> str:
    """Describes which messages changed, and how."""
    if change.end - change.start == 1:
        which = f"message {change.start}"
    else:
        which = f"messages {change.start} to {change.end - 1}"
    done = _DONE.get(change.action, change.action)
    return f"{which} {done}, {change.tokens_before:,} → {change.tokens_after:,} tokens"


def _reason(change: Change) -> str:
    return f"{change.stage}: {change.why}"


def _about(content: bytes) -> str:
    """Returns the size of the content and its beginning."""
    size = many(len(content), "byte")
    beginning = content[: 4 * _PREVIEW].decode("utf-8", "replace").split()
    words = plain(" ".join(beginning))[:_PREVIEW]
    return f"{size}: {safe(words)}…" if words else size


def _unfold(text: str) -> str:
    # A parser of HTML drops a first line that is empty, so there is one more.
    return f'<pre tabindex="0">\n{safe(text)}</pre>'
