"""``Conversations``: the views of a host's conversations, and the requests that they make.

A request is written once, as steps, for sync and async hosts: see :mod:`ullage._engine.steps`.
"""

from __future__ import annotations

import threading
import uuid
from collections import OrderedDict
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from ullage import BudgetError, MessageError, StoreError, is_overflow
from ullage._engine.logger import Logger
from ullage._engine.steps import Step
from ullage._hosts.engines import without_store
from ullage._hosts.rows import Reading
from ullage.overflow import counted_tokens

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from ullage import ContextManager, Report, View
    from ullage._engine.steps import Steps
    from ullage._hosts.rows import Codec, Row

logger = Logger(__name__)

Answer = TypeVar("Answer")

# Conversations whose rows are kept. One that was forgotten is converted and read again, which takes
# some milliseconds, and goes on from its saved state.
_KEPT = 64

# The view's own steps are 70, 50, 30 and 20 % of a refused request.
_MOST_REFUSALS = 4

_MARK, _STATE = "mark", "state"


class Conversation:
    """The requests of one conversation.

    Args:
        engine: What decides.
        view: What the model sees.
        mark: The mark of the saved state that the view was opened with.
    """

    def __init__(self, engine: ContextManager, view: View, mark: str | None = None) -> None:
        self.engine = engine
        self._view = view
        self.reading: Reading | None = None
        self._mark = mark
        # The state that the mark stands for.
        self._marked = self.decided

    @property
    def decided(self) -> tuple[Report | None, int | None]:
        """The values that change the state: the last compaction, and the ceiling of a refusal."""
        return self._view.report, self._view.ceiling

    def is_at(self, saved: Mapping[str, Any] | None) -> bool:
        """True if no other process has compacted since this one saved its state."""
        return saved is None or saved.get(_MARK) == self._mark

    def request(self, reading: Reading, **beside: Any) -> Steps[list[Any]]:
        """The messages of the next request, as the host's own.

        Args:
            reading: The history.
            beside: The other arguments of :meth:`View.messages`.
        """
        self.reading = reading
        rows = yield from self._rows(reading.rows, beside)
        return reading.messages(rows)

    def _rows(self, rows: list[Row], beside: dict[str, Any]) -> Steps[list[Row]]:
        view = self._view
        while True:
            asked = partial(view.messages, rows, **beside), partial(view.amessages, rows, **beside)
            try:
                shown: list[Row] = yield Step(*asked)
                return shown  # noqa: TRY300 - the loop goes on after an error
            except BudgetError as error:
                if beside.get("budget") is not None:
                    raise
                # A provider may count less, and its refusal says more than an estimate.
                logger.warning("error=<%s> | the request stays above its budget", error)
                beside = {**beside, "budget": error.floor}
            except StoreError as error:
                if view is not self._view:
                    raise
                # Nothing is lost by it: the host has every message.
                logger.warning("error=<%s> | compacted without the store", error)
                view = without_store(self.engine).open(view.state(), append_only=True)

    def exchange(
        self, reading: Reading, send: Callable[[list[Any]], Any], **beside: Any
    ) -> Steps[Any]:
        """Sends a request, and again, smaller, while the provider refuses it as too long.

        Args:
            reading: The history.
            send: Sends messages of the host; a plain function, or an async one for an async host.
            beside: The other arguments of :meth:`View.messages`.

        Raises:
            Exception: What the provider raised, if nothing is left to remove or it is no overflow.
        """
        messages = yield from self.request(reading, **beside)
        for refusals in range(_MOST_REFUSALS + 1):
            try:
                return (yield Step(partial(send, messages), partial(send, messages)))
            except Exception as error:  # noqa: PERF203 - a few times at most
                if refusals == _MOST_REFUSALS or not is_overflow(error):
                    raise
                messages = yield from self.smaller(reading, error, **beside)

    def smaller(self, reading: Reading, error: Exception, **beside: Any) -> Steps[list[Any]]:
        """The request for a history again, smaller, after a provider refused it as too long.

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
        # The view's last request may be that of another branch, which runs at the same time.
        return (yield from self.request(reading, **beside))

    def observe(self, tokens: int | None, cached: int | None = None) -> None:
        """Learns from the input tokens that the provider reported, where it did."""
        if tokens:
            self._view.observe(tokens, cached)

    def saved(self, before: Mapping[str, Any] | None) -> dict[str, Any] | None:
        """Returns the state to keep with the conversation; None if the host has it already.

        It is small JSON, and changes with compactions only.

        Args:
            before: What the host has.
        """
        current = (self._view.report, self._view.ceiling)
        if any(
            new is not old and new != old for new, old in zip(current, self._marked, strict=True)
        ):
            self._mark, self._marked = uuid.uuid4().hex, current
        if self._mark is None or self._mark == (before or {}).get(_MARK):
            return None
        return self.dump()

    def dump(self) -> dict[str, Any]:
        """Returns the value of :meth:`saved`, in any case."""
        return {_MARK: self._mark, _STATE: self._view.state()}


class Conversations:
    """Finds the conversation that a request belongs to.

    Args:
        codec: Converts the messages of the host.
    """

    def __init__(self, codec: Codec) -> None:
        self._codec = codec
        self._known: OrderedDict[Any, Conversation] = OrderedDict()
        self._finding = threading.Lock()

    def of(
        self,
        engine: ContextManager,
        messages: Sequence[Any],
        key: Any = None,
        saved: Mapping[str, Any] | None = None,
    ) -> tuple[Conversation, Reading]:
        """The conversation of a history, and the history as rows.

        Args:
            engine: What decides.
            messages: The history.
            key: What tells the conversation from others; if None, its messages do.
            saved: What :meth:`Conversation.saved` returned last, as far as the host has kept it. It
                takes precedence over what this process knows.

        Raises:
            MessageError: If a message cannot be read.
        """
        place = (id(engine), key)
        known = None
        if key is not None:
            with self._finding:
                known = self._known.get(place)
        reading = Reading(self._codec, messages, None if known is None else known.reading)
        if known is None or not known.is_at(saved):
            known = self._opened(engine, reading, key, saved)
        if key is not None:
            with self._finding:
                self._known[place] = known
                self._known.move_to_end(place)
                while len(self._known) > _KEPT:
                    self._known.popitem(last=False)
        return known, reading

    def _opened(
        self,
        engine: ContextManager,
        reading: Reading,
        key: Any,
        saved: Mapping[str, Any] | None,
    ) -> Conversation:
        state, mark, view = None, None, None
        # For rows that hold objects of the host.
        dump, load = getattr(self._codec, "dump", None), getattr(self._codec, "load", None)
        if saved is not None:
            try:
                view = engine.open(saved[_STATE], append_only=True, dump=dump, load=load)
                # Raises an error if the state is of another conversation.
                view.outlook(reading.rows)
                state, mark = saved[_STATE], saved[_MARK]
            except (KeyError, TypeError, MessageError) as error:
                logger.warning("error=<%s> | the saved state cannot be used", error)
                view = None
        if key is None:
            view = engine.view_of(reading.rows, append_only=True, dump=dump, load=load, state=state)
        elif view is None:
            view = engine.open(append_only=True, dump=dump, load=load)
        return Conversation(engine, view, mark)
