"""Lists the removed pieces of a session, each folded."""

from __future__ import annotations

import inspect
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from ullage._engine.wording import many
from ullage.page.text import plain, safe
from ullage.stores.retrieval import discard

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ullage.report.recorded import Change, Changes
    from ullage.stores.protocol import Store

# Of a piece at most so many bytes stand in the page, as a browser takes seconds for a block of
# megabytes; of all pieces together so many, which a phone still opens at once.
MOST_OF_A_PIECE = 200_000
MOST_OF_ALL = 5_000_000
# Characters of a large piece that are shown.
_BEGINNING = 4_000
# Actions of plans, of what was done.
_DONE = {
    "shorten": "shortened",
    "rewrite": "rewritten",
    "drop": "without a part",
    "remove": "removed",
}
# Letters of it that stand beside its name.
_PREVIEW = 60
# More pieces than these are counted, and not listed.
MOST_PIECES = 2_000


class Pieces:
    """The content of a store, as parts of a page.

    Args:
        store: Where it is; None where nothing was kept, or nobody knows where.
        folder: The folder that the page will be in, for links to files; None for no links.
    """

    def __init__(self, store: Store | None, folder: str | Path | None) -> None:
        self._store = store
        self._folder = folder
        self._room = MOST_OF_ALL
        self._shown: set[str] = set()
        self._listed = 0

    def listed(self, references: Iterable[str]) -> Iterator[str]:
        """An item for each; one that was shown before is a link there."""
        left_out = 0
        for reference in references:
            if reference in self._shown:
                yield f'<p><a href="#{safe(reference)}">{safe(reference)}</a>, shown above</p>'
            elif self._listed >= MOST_PIECES:
                left_out += 1
            else:
                self._listed += 1
                self._shown.add(reference)
                yield self._piece(reference)
        if left_out:
            yield f'<p class="dim">and {many(left_out, "more piece")}, which the store has.</p>'

    def changes(self, changes: Changes) -> Iterator[str]:
        """Describes each changed piece, with a link to it."""
        yield '<ul class="changes">'
        for change in changes.changes:
            yield f"<li>{_changed(change)}</li>"
        if changes.others:
            yield f"<li>and {many(changes.others, 'smaller change')}</li>"
        yield "</ul>"

    def _piece(self, reference: str) -> str:
        content, why_not = self._content(reference)
        size = "" if content is None else f' <span class="dim">{_about(content)}</span>'
        body = f'<p class="dim">{safe(why_not)}</p>' if content is None else self._body(content)
        return (
            f'<details class="piece" id="{safe(reference)}"><summary>{safe(reference)}{size}'
            f"</summary>{self._place(reference)}{body}</details>"
        )

    def _content(self, reference: str) -> tuple[bytes | None, str]:
        """Returns the stored content, or the reason why it cannot be shown."""
        if self._store is None:
            return None, "No store was given, so its text is not here."
        try:
            content: Any = self._store.get(reference)
        except Exception as error:  # noqa: BLE001 - whatever a store raises; the rest is still shown
            return None, f"The store does not give it: {error}"
        if inspect.isawaitable(content):
            discard(content)
            return None, "The store has to be awaited, so its text is not here."
        if not isinstance(content, (bytes, bytearray)):
            return None, f"The store gave a {type(content).__name__} for it."
        return bytes(content), ""

    def _body(self, content: bytes) -> str:
        try:
            text = content.decode("utf-8", "surrogatepass")
        except UnicodeDecodeError:
            return '<p class="dim">Not text.</p>'
        if len(content) <= min(MOST_OF_A_PIECE, self._room):
            self._room -= len(content)
            return _unfolded(text)
        why = (
            f"larger than the {MOST_OF_A_PIECE:,} bytes that a piece may take of this page"
            if len(content) > MOST_OF_A_PIECE
            else f"left out, as the pieces above fill the {MOST_OF_ALL:,} bytes for all of them"
        )
        beginning = text[: min(_BEGINNING, len(text))]
        return f'<p class="dim">Its beginning; the whole is {why}.</p>{_unfolded(beginning)}'

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


def _changed(change: Change) -> str:
    """A change in words."""
    if change.end - change.start == 1:
        which = f"message {change.start}"
    else:
        which = f"messages {change.start} to {change.end - 1}"
    kept = "not stored"
    if change.reference is not None:
        reference = safe(change.reference)
        kept = f'<a href="#{reference}">{reference}</a>'
    done = _DONE.get(change.action, change.action)
    tokens = f"{change.tokens_before:,} → {change.tokens_after:,} tokens"
    return safe(f"{change.stage}: {which} {done}, {tokens} ({change.why}); ") + kept


def _about(content: bytes) -> str:
    """Returns the size of the content and its beginning."""
    size = many(len(content), "byte")
    beginning = content[: 4 * _PREVIEW].decode("utf-8", "replace").split()
    words = plain(" ".join(beginning))[:_PREVIEW]
    return f"{size}: {safe(words)}…" if words else size


def _unfolded(text: str) -> str:
    # A parser of HTML drops a first line that is empty, so there is one more.
    return f'<pre tabindex="0">\n{safe(text)}</pre>'
