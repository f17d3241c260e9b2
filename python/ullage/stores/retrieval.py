"""Reads stored outputs back and searches them, in sync and async stores."""

from __future__ import annotations

import inspect
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any

from ullage import _core
from ullage._core import StoreError
from ullage._engine.calling import in_pool
from ullage._engine.reasons import error_line
from ullage._engine.steps import Step, arun, aside, run
from ullage._engine.wording import type_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ullage._engine.steps import Steps
    from ullage.stores.protocol import Store

DEFAULT_LIMIT = _core.RETRIEVAL_LIMIT


def retrieve(  # noqa: PLR0917 - the order is the public face's
    store: Store,
    reference: str,
    pattern: str | None = None,
    lines: tuple[int, int] | None = None,
    pointer: str | None = None,
    context: int = 0,
    *,
    head: int | None = None,
    tail: int | None = None,
    limit: int = DEFAULT_LIMIT,
) -> str:
    """Reads a stored output back, or a piece of it.

    The text begins with a line that names the reference. By this line ullage recognizes the text
    and does not store it again. Content that is not text, such as a picture, is described, with the
    path of its file if the store has files. O(length of the content), whatever the pattern.

    Args:
        store: The store of the output.
        reference: The reference, as in the conversation.
        pattern: Only lines that match this regular expression (Rust syntax: no look-around).
        lines: Only these lines, counted from 1, both ends included.
        pointer: Only the value in the JSON that this JSON pointer (RFC 6901) leads to. The lines of
            JSON lines count as an array. The other arguments then refer to the lines of that value.
        context: With a pattern: the number of lines before and after each match.
        head: The number of first lines to return.
        tail: The number of last lines to return.
        limit: The most characters to return. The default is about 5,000 tokens.

    Raises:
        StoreError: If nothing is stored under the reference (the error names the nearest ones), the
            pattern is invalid, the pointer finds nothing (the error names the nearest keys), or the
            store must be awaited.
    """
    return run(
        retrieval(
            store, reference, pattern, lines, pointer, context, head=head, tail=tail, limit=limit
        )
    )


async def aretrieve(  # noqa: PLR0917 - the order is the public face's
    store: Store,
    reference: str,
    pattern: str | None = None,
    lines: tuple[int, int] | None = None,
    pointer: str | None = None,
    context: int = 0,
    *,
    head: int | None = None,
    tail: int | None = None,
    limit: int = DEFAULT_LIMIT,
) -> str:
    """:func:`retrieve` without blocking the event loop, for any store."""
    return await arun(
        retrieval(
            store, reference, pattern, lines, pointer, context, head=head, tail=tail, limit=limit
        )
    )


def search(store: Store, pattern: str, context: int = 0, *, limit: int = DEFAULT_LIMIT) -> str:
    """Searches all stored text, and returns the matching lines by reference, with line numbers.

    A ``FileStore`` of a session searches that session. Content that is not text is skipped. No
    artifact takes more than half of the remaining room, so that the first does not hide the others.
    O(length of all stored text), whatever the pattern.

    Args:
        store: The store; it needs ``search``, or ``list`` and ``get``.
        pattern: A regular expression (Rust syntax: no look-around).
        context: The number of lines before and after each match.
        limit: The most characters to return.

    Raises:
        StoreError: If the pattern is invalid, or the store cannot be listed or must be awaited.
    """
    return run(search_steps(store, pattern, context, limit=limit))


async def asearch(
    store: Store, pattern: str, context: int = 0, *, limit: int = DEFAULT_LIMIT
) -> str:
    """:func:`search` without blocking the event loop, for any store."""
    return await arun(search_steps(store, pattern, context, limit=limit))


def retrieval(  # noqa: PLR0917 - the order is the public face's
    store: Store,
    reference: str,
    pattern: str | None = None,
    lines: tuple[int, int] | None = None,
    pointer: str | None = None,
    context: int = 0,
    *,
    head: int | None = None,
    tail: int | None = None,
    limit: int = DEFAULT_LIMIT,
) -> Steps[str]:
    """:func:`retrieve` as steps."""
    content = yield from content_of(store, reference)

    def piece() -> str:
        return _core.retrieve(
            reference,
            content,
            pattern=pattern,
            lines=lines,
            pointer=pointer,
            context=context,
            head=head,
            tail=tail,
            limit=limit,
            place=_place(store, reference),
        )

    return (yield from aside(piece))


def search_steps(
    store: Store, pattern: str, context: int = 0, *, limit: int = DEFAULT_LIMIT
) -> Steps[str]:
    """:func:`search` as steps."""
    _require_store(store)
    if hasattr(store, "search"):
        return str((yield _call(store, "search", pattern, context=context, limit=limit)))
    found = _core.Search(pattern, context=context, limit=limit)
    for reference in (yield _call(_require_list(store), "list")):
        content = None
        # Deleted since it was listed, or unreadable. The rest is still useful.
        with suppress(Exception):
            content = yield _call(store, "get", reference)
        if content is not None:
            yield from aside(found.look, reference, _as_bytes(store, content))
    return found.report()


def content_of(store: Store, reference: str) -> Steps[bytes]:
    """Returns the content of a reference.

    Raises:
        StoreError: If the store cannot give it.
    """
    _require_store(store)
    try:
        content = yield _call(store, "get", reference)
    except StoreError:
        raise
    except Exception as error:
        known = yield from _references(store)
        raise _not_found(store, reference, error, known) from error
    return _as_bytes(store, content)


def _require_store(store: Any) -> None:
    if isinstance(store, type):
        raise StoreError(f"the store is a class; give an instance, {store.__name__}(...)")
    if not hasattr(store, "get"):
        raise StoreError(f"the store is {type_of(store)}, which has no `get`; give the store first")


def _place(store: Any, reference: str) -> str | None:
    """Returns the path of the stored file, if the store has files."""
    path = None
    # The `path` of a user's store may be anything.
    with suppress(Exception):
        path = store.path(reference)
    return None if path is None or inspect.isawaitable(path) else str(path)


def _call(store: Any, name: str, *args: Any, **more: Any) -> Step:
    """Returns the step that calls a method of a store."""
    return Step(
        partial(_now, store, name, *args, **more), partial(_await, store, name, *args, **more)
    )


def _now(store: Any, name: str, *args: Any, **more: Any) -> Any:
    returned = getattr(store, name)(*args, **more)
    if inspect.isawaitable(returned):
        discard(returned)
        raise StoreError(f"{type(store).__name__}.{name} is async; call aretrieve or asearch")
    return returned


async def _await(store: Any, name: str, *args: Any, **more: Any) -> Any:
    # In a thread, because most stores read from a disk. A coroutine is only created there.
    returned = await in_pool(partial(getattr(store, name), *args, **more))
    return await returned if inspect.isawaitable(returned) else returned


def _require_list(store: Any) -> Any:
    if hasattr(store, "list"):
        return store
    raise StoreError(f"{type(store).__name__} has no `search` and no `list`: it cannot be searched")


def _references(store: Any) -> Steps[Sequence[str]]:
    with suppress(Exception):
        return list(map(str, (yield _call(store, "list"))))
    return []


def _not_found(store: Any, reference: str, error: Exception, known: Sequence[str]) -> StoreError:
    nearest = _core.nearest(str(reference), list(known))
    named = f"; the nearest stored references: {', '.join(nearest)}" if nearest else ""
    return StoreError(
        f"{type(store).__name__} could not return {str(reference)[:80]!r}:"
        f" {error_line(error)}{named}"
    )


def _as_bytes(store: Any, content: Any) -> bytes:
    if isinstance(content, bytes):
        return content
    if isinstance(content, (bytearray, memoryview)):
        return bytes(content)
    raise StoreError(f"{type(store).__name__}.get returned a {type(content).__name__}, not bytes")


def at_once(store: Any, name: str, *args: Any) -> Any:
    """Calls a method of a store that must not be a coroutine function.

    Raises:
        StoreError: If what it returns must be awaited.
    """
    returned = getattr(store, name)(*args)
    if inspect.isawaitable(returned):
        discard(returned)
        raise StoreError(f"{type(store).__name__}.{name} is async; give a store with plain methods")
    return returned


def discard(awaitable: Any) -> None:
    """Drops a coroutine that will not be awaited, without Python's warning."""
    if inspect.iscoroutine(awaitable):
        awaitable.close()
