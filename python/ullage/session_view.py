"""``SessionView``: a view with its state in a store, for conversations that change workers."""

from __future__ import annotations

import json
import time
from functools import partial
from typing import TYPE_CHECKING, Any

from ullage._core import MessageError, PolicyError, StoreError
from ullage._engine.logger import Logger
from ullage._engine.steps import aside
from ullage.stores.records import read, written
from ullage.stores.retrieval import at_once
from ullage.view import Outlook, View

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ullage._engine.steps import Steps
    from ullage.view import ViewArguments

logger = Logger(__name__)

# Times that a request is made again because another worker wrote the state first. Each time, one
# other worker has finished, so this many workers can answer one session at once.
_TRIES = 16

# An unchanged state is written again after this part of the store's `keep_for`, so it stays alive.
_FRESH_PART = 0.25

_STATE, _AT = "state", "at"


class SessionView(View):
    """A view whose state is in a store: read before each request, and written after it.

    If two workers answer at once, the second makes its request again from the state of the first.
    """

    def __init__(self, *args: Any, store: Any, session: str, **more: Any) -> None:
        super().__init__(*args, **more)
        if not (hasattr(store, "read_cell") and hasattr(store, "write_cell")):
            raise PolicyError(
                f"session={session!r} needs a store that keeps the state of views, such as"
                f" ullage.stores.SQLiteStore; got {type(store).__name__}. Or keep `view.state()`"
                " yourself, and give it to `open`"
            )
        self._store = store
        self._name = f"view/{session}"
        # The version of the stored state, the state, and the time when it was written.
        self._version: str | None = None
        self._known: Any = None
        self._known_at = 0.0

    def outlook(self, history: Sequence[Any], *args: Any, **more: Any) -> Outlook:  # noqa: D102
        self._load()
        return super().outlook(history, *args, **more)

    def observe(self, reported_tokens: int, cached_tokens: int | None = None) -> bool:  # noqa: D102
        cache = self._core.cache
        learned = super().observe(reported_tokens, cached_tokens)
        # Requests depend on this, and another worker may make the next one. If another worker has
        # written the state meanwhile, the next report is soon enough.
        if self._core.cache != cache:
            try:
                self._save()
            except StoreError as error:
                logger.warning("error=<%s> | the state of a view was not written", error)
        return learned

    def _next(self, arguments: ViewArguments) -> Steps[list[Any]]:
        return (yield from self._in_turn(partial(super()._next, arguments)))

    def _smaller(self, tokens: int | None) -> Steps[list[Any]]:
        return (yield from self._in_turn(partial(super()._smaller, tokens), again=True))

    def _in_turn(
        self, request: Callable[[], Steps[list[Any]]], *, again: bool = False
    ) -> Steps[list[Any]]:
        """Reads the state, makes a request, and writes the state.

        With ``again`` the request repeats the last one, and is smaller.
        """
        for _ in range(_TRIES):
            is_new = yield from aside(self._load)
            core = self._core
            if again and is_new and self._last is not None:
                # The state of another worker does not have the refused request.
                yield from self._request(self._last)
            messages = yield from request()
            # Another thread may have loaded another state meanwhile.
            if core is self._core and (yield from aside(self._save)):
                return messages
        raise StoreError(
            f"{self._name} was changed {_TRIES} times while one request was made; let fewer workers"
            " answer one session at once"
        )

    def _load(self) -> bool:
        """Loads the state that another worker wrote. Returns True if there was a new one."""
        cell = at_once(self._store, "read_cell", self._name)
        if cell is None:
            self._version, self._known = None, None
            return False
        if cell.version == self._version:
            return False
        try:
            found = read(cell.content.decode())
            state, at = found[_STATE], float(found[_AT])
        except (ValueError, TypeError, KeyError, RecursionError) as error:
            raise MessageError(f"{self._name} in the store is not the state of a view") from error
        self._restore(state)
        self._version, self._known, self._known_at = cell.version, _decisions(state), at
        return True

    def _save(self) -> bool:
        """Writes the state. Returns False if another worker wrote first."""
        state = json.loads(written(self.state()))
        keep_for = getattr(self._store, "keep_for", None)
        fresh = float("inf") if keep_for is None else keep_for * _FRESH_PART
        now = time.time()
        # The clock of the worker that wrote it may be ahead of this one's.
        decisions = _decisions(state)
        if decisions == self._known and abs(now - self._known_at) < fresh:
            return True
        content = written({_STATE: state, _AT: now}).encode()
        version = at_once(self._store, "write_cell", self._name, content, self._version)
        if version is None:
            return False
        self._version, self._known, self._known_at = version, decisions, now
        return True


def _decisions(state: dict[str, Any]) -> dict[str, Any]:
    """Returns a state without its account of tokens.

    The account changes with each answer. It is written with the next decision.
    """
    view = {name: value for name, value in state["view"].items() if name != "account"}
    return {**state, "view": view}
