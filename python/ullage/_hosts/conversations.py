"""``Conversations``: the views of a host's conversations, and their requests.

The code of a request is written once for sync and async hosts: see :mod:`ullage._engine.steps`.
"""

from __future__ import annotations

import uuid
from functools import partial
from typing import TYPE_CHECKING, Any

from ullage import BudgetError, MessageError, StoreError, is_overflow
from ullage._engine.logger import Logger
from ullage._engine.lru_cache import LruCache
from ullage._engine.steps import Step
from ullage._hosts.engines import without_store
from ullage._hosts.rows import Reading
from ullage.overflow import counted_tokens

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from ullage import ContextManager, Report, View
    from ullage._engine.steps import Steps
    from ullage._hosts.rows import Codec, StateCodec

logger = Logger(__name__)

# The most conversations whose rows are kept, and the bytes of these rows. A dropped conversation is
# converted and read again, which takes some milliseconds, and continues from its saved state.
_KEPT = 64
KEPT_BYTES = 256 * 2**20
# The same for conversations without a key, most of whose requests belong to a server.
_UNNAMED_BYTES = 64 * 2**20

# After each refusal the view reduces the request further: to 70, 50, 30 and 20 % of its size.
MOST_REFUSALS = 4

_MARK, _STATE = "mark", "state"

# The decisions of a new conversation.
UNDECIDED = (0, None, "unseen")


class HostConversation:
    """The requests of one conversation.

    Args:
        engine: The engine of the conversation.
        view: The view of the conversation.
        mark: The id of the saved state that the view was opened with.
    """

    def __init__(self, engine: ContextManager, view: View, mark: str | None = None) -> None:
        self.engine = engine
        self._view = view
        self.reading: Reading | None = None
        self._mark = mark
        self._marks = {mark}
        # The decisions that the saved state with this mark has.
        self._marked = self.decided
        self._taken: Report | None = None

    @property
    def decided(self) -> tuple[int, int | None, str]:
        """The values on which later requests depend."""
        return self._view._decisions  # noqa: SLF001

    @property
    def tokens(self) -> int:
        """Tokens of the messages of the last request."""
        return self._view.tokens

    @property
    def is_undecided(self) -> bool:
        """True if there is nothing to save."""
        return self._mark is None and self.decided == UNDECIDED

    def is_at(self, saved: Mapping[str, Any] | None, *, may_lag: bool = False) -> bool:
        """True if no other process has compacted since this one saved its state.

        Args:
            saved: The state that the host has.
            may_lag: True if the host may have an earlier state of this process.
        """
        if saved is None or saved.get(_MARK) == self._mark:
            return True
        return may_lag and saved.get(_MARK) in self._marks

    def has(self, view: View) -> bool:
        """True if these are the requests of that view."""
        return view is self._view

    def take_report(self) -> Report | None:
        """Returns the report of the last compaction the first time that it is asked for."""
        report = self._view.report
        if report is self._taken:
            return None
        self._taken = report
        return report

    def release(self) -> None:
        """Releases the messages of the last request. Decisions stay."""
        self.reading = None
        self._view.release()

    def request(self, reading: Reading, **beside: Any) -> Steps[list[Any]]:
        """Returns the messages of the next request, in the host's form.

        Args:
            reading: The history.
            beside: The other arguments of :meth:`View.messages`.
        """
        self.reading = reading
        rows, view = reading.rows, self._view
        while True:
            asked = partial(view.messages, rows, **beside), partial(view.amessages, rows, **beside)
            try:
                return reading.messages((yield Step(*asked)))
            except BudgetError as error:
                if beside.get("budget") is not None:
                    raise
                # The request is sent anyway: the provider may count fewer tokens than the estimate.
                logger.warning("error=<%s> | the request stays above its budget", error)
                beside = {**beside, "budget": error.floor}
            except StoreError as error:
                if view is not self._view:
                    raise
                # Nothing is lost, because the host has every message.
                logger.warning("error=<%s> | compacted without the store", error)
                view = without_store(self.engine).open(view.state(), **reading.opening)

    def exchange(
        self, reading: Reading, send: Callable[[list[Any]], Any], **beside: Any
    ) -> Steps[Any]:
        """Sends a request. Sends a smaller one each time the provider refuses it as too long.

        Args:
            reading: The history.
            send: A function that sends messages of the host; async for an async host.
            beside: The other arguments of :meth:`View.messages`.

        Raises:
            Exception: The provider's error, if it is not an overflow or nothing is left to remove.
        """
        messages = yield from self.request(reading, **beside)
        try:
            return (yield Step(partial(send, messages), partial(send, messages)))
        except Exception as error:  # noqa: BLE001 - what is no overflow is raised again
            refusal = error
        return (yield from self.recovered(reading, refusal, send, **beside))

    def recovered(
        self,
        reading: Reading,
        refusal: Exception,
        send: Callable[[list[Any]], Any],
        *,
        tries: int = MOST_REFUSALS,
        **beside: Any,
    ) -> Steps[Any]:
        """Sends smaller requests after one was refused as too long, until one is accepted.

        Args:
            reading: The history.
            refusal: The provider's error.
            send: As for :meth:`exchange`.
            tries: The most requests to send.
            beside: The other arguments of :meth:`View.messages`.

        Raises:
            Exception: The provider's error, if it is not an overflow or nothing is left to remove.
        """
        for _ in range(tries):
            if not is_overflow(refusal):
                break
            messages = yield from self.smaller(reading, refusal, **beside)
            try:
                return (yield Step(partial(send, messages), partial(send, messages)))
            except Exception as error:  # noqa: BLE001 - judged by the next step
                refusal = error
        raise refusal

    def smaller(self, reading: Reading, error: Exception, **beside: Any) -> Steps[list[Any]]:
        """Returns a smaller request after a provider refused the last one as too long.

        Args:
            reading: The history.
            error: The refusal.
            beside: The other arguments of :meth:`View.messages`.

        Raises:
            Exception: The refusal, if nothing is left to remove.
        """
        tokens = counted_tokens(error)
        logger.info("tokens=<%s>, error=<%s> | the request was refused", self._view.tokens, error)
        asked = partial(self._view.refused, tokens), partial(self._view.arefused, tokens)
        try:
            yield Step(*asked)
        except BudgetError as nothing_left:
            raise error from nothing_left
        # The view's last request may belong to another branch that runs at the same time.
        return (yield from self.request(reading, **beside))

    def observe(self, tokens: int | None, cached: int | None = None) -> None:
        """Learns from the input tokens that the provider reported, if it did."""
        if tokens:
            self._view.observe(tokens, cached)

    def saved(self, before: Mapping[str, Any] | None) -> dict[str, Any] | None:
        """Returns the state to keep with the conversation; None if the host has it already.

        The state is small JSON-like data. It changes with compactions, with refusals, and when the
        provider begins or stops to answer from its cache.

        Args:
            before: The state that the host has, or None.
        """
        if self.decided != self._marked:
            self._mark, self._marked = uuid.uuid4().hex, self.decided
            self._marks.add(self._mark)
        if self._mark is None or self._mark == (before or {}).get(_MARK):
            return None
        return self.dump()

    def dump(self) -> dict[str, Any]:
        """Returns the state to keep, even if the host has it already."""
        return {_MARK: self._mark, _STATE: self._view.state()}


class Conversations:
    """Finds the conversation that a request belongs to.

    Args:
        codec: Converts the messages of the host.
        reading: Reads them; a ``PlainReading`` if the engine reads the host's messages themselves.
        may_lag: True if a host may lose the last saved state, so that an earlier one of the same
            process is no news.
        replay: True if the requests of a history that this process does not know are to be made
            again. Only for conversations without a key.
    """

    def __init__(
        self,
        codec: Codec | StateCodec,
        reading: type[Reading] = Reading,
        *,
        may_lag: bool = False,
        replay: bool = False,
    ) -> None:
        self._codec = codec
        self._reading: Any = reading
        self._may_lag = may_lag
        self._replay = replay
        self._known: LruCache[HostConversation] = LruCache(_KEPT, KEPT_BYTES)
        self._unnamed: LruCache[HostConversation] = LruCache(_KEPT, _UNNAMED_BYTES)

    def of(
        self,
        engine: ContextManager,
        messages: Sequence[Any],
        key: Any = None,
        saved: Mapping[str, Any] | None = None,
    ) -> tuple[HostConversation, Reading]:
        """Returns the conversation of a history, and the history as rows.

        Args:
            engine: The engine of the conversation.
            messages: The history.
            key: The host's id of the conversation; if None, it is recognized by its messages.
            saved: The last outcome of :meth:`HostConversation.saved` that the host has. It takes
                precedence over the state in this process.

        Raises:
            MessageError: If a message cannot be read.
        """
        if key is None:
            return self._unnamed_of(engine, messages, saved)
        known = self.known(engine, key)
        reading = self._reading(self._codec, messages, None if known is None else known.reading)
        if known is None or not known.is_at(saved, may_lag=self._may_lag):
            view, mark = self._opened(engine, reading, saved)
            known = HostConversation(engine, view or engine.open(**reading.opening), mark)
        self._known.put((id(engine), key), known, reading.bytes)
        return known, reading

    def _unnamed_of(
        self, engine: ContextManager, messages: Sequence[Any], saved: Mapping[str, Any] | None
    ) -> tuple[HostConversation, Reading]:
        """Returns the conversation of a history without a key, and the history as rows."""
        beginnings = [
            (known, known.reading)
            for known in self._unnamed.values()
            if known.engine is engine and known.reading and known.reading.begins(messages)
        ]
        longest = max(beginnings, key=lambda pair: len(pair[1].rows), default=(None, None))
        known, before = longest
        reading = self._reading(self._codec, messages, before)
        state, mark = None, None
        if saved is not None and (known is None or not known.is_at(saved, may_lag=self._may_lag)):
            view, mark = self._opened(engine, reading, saved)
            state = saved[_STATE] if view else None
        opening = {**reading.opening, "state": state, "replay": self._replay}
        view, reading.lookup = engine._look_up(reading.rows, reading.lookup, opening)  # noqa: SLF001
        if known is None or mark is not None or not known.has(view):
            known = HostConversation(engine, view, mark)
        if reading.is_reusable:
            self._unnamed.put(id(known), known, reading.bytes)
        return known, reading

    def known(self, engine: ContextManager, key: Any) -> HostConversation | None:
        """Returns the conversation of a key, if it had a request."""
        return self._known.get((id(engine), key))

    def release(self, engine: ContextManager, key: Any) -> None:
        """Releases the messages of a conversation. One without decisions is forgotten."""
        known = self.known(engine, key)
        if known is None:
            return
        if known.is_undecided:
            self._known.take((id(engine), key))
        known.release()

    def _opened(
        self, engine: ContextManager, reading: Reading, saved: Mapping[str, Any] | None
    ) -> tuple[View | None, str | None]:
        """Returns a view with the saved state, and the mark of that; None if it cannot be used."""
        if saved is None:
            return None, None
        try:
            view = engine.open(saved[_STATE], **reading.opening)
            # Raises an error if the state belongs to another conversation.
            view.outlook(reading.rows)
            return view, saved[_MARK]
        except (KeyError, TypeError, MessageError) as error:
            logger.warning("error=<%s> | the saved state cannot be used", error)
            return None, None
