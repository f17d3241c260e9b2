"""``View``: the part of a growing conversation that a model sees."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NoReturn, TypeAlias

from ullage._core import BudgetError, MessageError
from ullage._core import View as CoreView
from ullage._engine.logger import Logger
from ullage._engine.steps import arun, aside, call_host, run
from ullage._engine.wording import many
from ullage.report.reports import Report
from ullage.usage.savings import Savings

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from ullage._core import Reading, ViewRequest
    from ullage._engine.components import Components
    from ullage._engine.plan_request import PlanRequest
    from ullage._engine.steps import Steps

    Compaction: TypeAlias = Callable[
        [list[Any], int, list[int]], Report | Awaitable[Report | None] | None
    ]

logger = Logger(__name__)

# The key of the view in a state, beside the messages that are not in the history.
_VIEW = "view"
_MESSAGES = "messages"


@dataclass(frozen=True)
class ViewArguments:
    """The arguments of a request."""

    history: Sequence[Any]
    budget: int | None
    pins: Sequence[int]
    transient: Sequence[int]
    system: Any
    tools: Any
    hard: bool = False


@dataclass(frozen=True)
class Outlook:
    """The next request before any compaction, from :meth:`View.outlook`.

    Attributes:
        messages: Its messages, after the last compaction.
        tokens: Their tokens.
        is_due: True if a compaction comes before the request.
    """

    messages: list[Any]
    tokens: int
    is_due: bool


class View:
    """The requests of a growing conversation. Get one from :meth:`ContextManager.open`.

    Give it the whole history before each request. It returns the messages to send:

    * Below the high mark: the history itself, with the host's own objects.
    * Above it: the compacted history. Later requests have the same messages followed by the new
      ones, until the high mark is reached again. So the beginning of the requests does not change
      in between, and a provider's prompt cache stays useful.
    * Always a valid request: faults that a provider would refuse are repaired in the returned
      messages, and the history stays unchanged. A call without a result gets one that says so,
      until its result comes.

    The history may be the host's own list or a new one. It is recognized by the text that the model
    sees of it. After an edit, a rewind or an insertion, decisions about the messages before it
    stay. So two branches share the decisions about their common beginning.

    A request depends on the history, the policy and the budget. It does not depend on threads,
    timing, other budgets, or the process that made earlier requests. Several threads and tasks may
    share a view. Nothing is locked while a summarizer or a store is working.

    Each budget has its own compactions: give the same budget again to get the same beginning.
    Sixteen budgets and four compactions of each are remembered.
    """

    def __init__(
        self,
        components: Components,
        ask: Callable[..., PlanRequest],
        state: dict[str, Any] | None,
        *,
        append_only: bool,
        dump: Callable[[Any], Any] | None,
        load: Callable[[Any], Any] | None,
        compaction: Compaction | None = None,
        replay: bool = False,
    ) -> None:
        self._components = components
        self._compaction = compaction
        # True until the requests before the first one are made again.
        self._is_behind = replay and state is None
        self._ask = ask
        self._dump = dump
        # The arguments of the last request, and its messages.
        self._last: ViewArguments | None = None
        self._sent: list[Any] = []
        self._report: Report | None = None
        # Compactions that were made or postponed by this object.
        self._compactions = 0
        self._load_message = load
        self._append_only = append_only
        self._restore(state)

    def __repr__(self) -> str:
        return f"View({many(len(self._sent), 'message')}, {self.tokens:,} tokens)"

    def __reduce__(self) -> NoReturn:
        raise TypeError("a View cannot be pickled; keep its `state()`, and give it to `open`")

    @property
    def report(self) -> Report | None:
        """The report of the last compaction of this view; None before the first."""
        return self._report

    @property
    def tokens(self) -> int:
        """Tokens of the messages of the last request; 0 before the first."""
        return self._core.sent or 0

    @property
    def savings(self) -> Savings:
        """The observed requests of this view, beside those of doing nothing.

        A view that was opened with a state continues with the sums of that state. Requests after
        the state was saved, and requests of other processes, are missing on both sides.
        """
        return Savings.of_sums(self._core.savings, self._components.prices)

    @property
    def _decisions(self) -> tuple[int, int | None, str]:
        """The values on which later requests depend: with others, the state must be saved again."""
        return self._compactions, self._core.ceiling, self._core.cache

    @property
    def ceiling(self) -> int | None:
        """The most tokens that the messages may take after a refusal; None before any."""
        return self._core.ceiling

    def messages(
        self,
        history: Sequence[Any],
        budget: int | None = None,
        *,
        pins: Sequence[int] = (),
        transient: Sequence[int] = (),
        system: Any = None,
        tools: Any = None,
        hard: bool = False,
    ) -> list[Any]:
        """Returns the messages to send for this history, as a new list.

        O(new messages). Strings of the other messages are compared by identity; with
        ``append_only`` only the list is checked. Messages that are not dicts are read each time, at
        memory speed. A compaction costs as much as :meth:`ContextManager.compact`.

        Args:
            history: All messages so far. Neither the list nor a message is changed.
            budget: Tokens that the messages may take; if not given, what the policy's window leaves
                beside the reserve, the system prompt and the tools.
            pins: Indices of messages that must stay unchanged, such as one that waits for an
                approval.
            transient: Indices of messages for this request only, such as a reminder or the time.
                They are sent unchanged, and are not remembered as part of the history.
            system: The system prompt of this request, if it is not the engine's.
            tools: The tool definitions of this request, if they are not the engine's.
            hard: Compact down to the low mark now, rather than only above the high mark.

        Raises:
            BudgetError: If the messages that must stay do not fit. It names messages by their
                indices in the history.
            MessageError: If the messages cannot be read, or the state that the view was opened with
                belongs to another history.
            StoreError: If the store cannot keep the removed content.
            SummaryError: If the policy requires a summarizer's text and there is none.
        """
        arguments = ViewArguments(history, budget, pins, transient, system, tools, hard)
        return run(self._next(arguments))

    async def amessages(
        self,
        history: Sequence[Any],
        budget: int | None = None,
        *,
        pins: Sequence[int] = (),
        transient: Sequence[int] = (),
        system: Any = None,
        tools: Any = None,
        hard: bool = False,
    ) -> list[Any]:
        """:meth:`messages` without blocking the event loop."""
        arguments = ViewArguments(history, budget, pins, transient, system, tools, hard)
        return await arun(self._next(arguments))

    def outlook(
        self,
        history: Sequence[Any],
        budget: int | None = None,
        *,
        pins: Sequence[int] = (),
        transient: Sequence[int] = (),
        system: Any = None,
        tools: Any = None,
    ) -> Outlook:
        """Returns the next request before any compaction, and says if one is due.

        The arguments are those of :meth:`messages`. Nothing changes. O(length of the history) at
        memory speed.

        Raises:
            MessageError: If the messages cannot be read, or the state that the view was opened with
                belongs to another history.
        """
        arguments = ViewArguments(history, budget, pins, transient, system, tools)
        request = self._read(_as_list(history), self._ask_of(arguments), arguments, is_sent=False)
        return Outlook(request.messages, request.tokens, is_due=request.reading is not None)

    def refused(self, tokens: int | None = None) -> list[Any]:
        """Returns the last request again, smaller, after a provider refused it as too long.

        The next requests stay below the refused size; :meth:`state` keeps this limit too. The first
        refusal in a row reduces the messages to at most 70 % of their tokens, the next ones
        further.

        Args:
            tokens: The tokens that the provider counted, if it says so. The counter learns from it.

        Raises:
            BudgetError: If nothing is left to remove.
            MessageError: If no request was made before.
        """
        return run(self._smaller(tokens))

    async def arefused(self, tokens: int | None = None) -> list[Any]:
        """:meth:`refused` without blocking the event loop."""
        return await arun(self._smaller(tokens))

    def observe(self, reported_tokens: int, cached_tokens: int | None = None) -> bool:
        """Learns from the answer to the last request; see :meth:`ContextManager.observe`.

        Args:
            reported_tokens: Input tokens that the provider counted for the whole request.
            cached_tokens: The part that it read from its prompt cache, if it says so.

        Returns:
            True if the counter learned something.
        """
        learned, added = self._core.observe(reported_tokens, cached=cached_tokens)
        if added is not None:
            prices = self._components.prices
            self._components.telemetry.answered(Savings.of_sums(added, prices))
        if self._last is not None:
            self._components.listener.request(
                self._sent, reported_tokens, cached_tokens, is_plausible=learned
            )
        return learned

    def state(self) -> dict[str, Any]:
        """Returns the state with which another process sends the same requests, as JSON-like data.

        It has some bytes for each message that stays, and the messages that are not in the history,
        such as the one with the note about removed messages. Give it to
        :meth:`ContextManager.open`.
        """
        view, messages = self._core.state()
        dumped = messages if self._dump is None else [self._dump(message) for message in messages]
        return {_VIEW: view, _MESSAGES: dumped}

    def release(self) -> None:
        """Releases the messages of the last request, until the next.

        Decisions stay. For a host that keeps the views of many conversations.
        """
        self._last, self._sent = None, []
        self._core.release()

    def _restore(self, state: dict[str, Any] | None) -> None:
        """Begins with a state, or with nothing."""
        view, messages = (None, []) if state is None else _read_state(state)
        if self._load_message is not None:
            messages = [self._load_message(message) for message in messages]
        engine = self._components.engine
        self._core = CoreView(engine, view, messages, append_only=self._append_only)

    def _fork(self) -> View:
        """Returns another view with the same decisions, for another branch of the conversation."""
        # Not `copy.copy`, which would ask `__reduce__`.
        other = object.__new__(type(self))
        other.__dict__.update(self.__dict__)
        other._core = self._core.fork()
        other.release()
        return other

    def _next(self, arguments: ViewArguments) -> Steps[list[Any]]:
        """Returns the request for a history. A longer one means that the last was accepted."""
        arguments = replace(arguments, history=_as_list(arguments.history))
        if self._last is not None and len(arguments.history) > len(self._last.history):
            self._core.accepted()
        if self._is_behind:
            yield from self._replay(arguments)
        return (yield from self._request(arguments))

    def _replay(self, arguments: ViewArguments) -> Steps[None]:
        """Makes the requests again that led to a history."""
        self._is_behind = False
        for count in self._core.requests(arguments.history):
            pins = [pin for pin in arguments.pins if pin < count]
            earlier = replace(arguments, history=arguments.history[:count], pins=pins, transient=())
            try:
                yield from self._request(replace(earlier, hard=False))
            except BudgetError as error:
                logger.debug("error=<%s> | an earlier request was over its budget", error)

    def _request(self, arguments: ViewArguments) -> Steps[list[Any]]:
        ceiling = self._core.ceiling
        try:
            return (yield from self._below_ceiling(arguments))
        except BudgetError as error:
            if ceiling is None or error.budget < ceiling:
                raise
            # The messages that must stay count more than the ceiling of an earlier refusal.
            self._core.ceiling = error.floor
        try:
            return (yield from self._below_ceiling(arguments))
        except BudgetError:
            self._core.ceiling = ceiling
            raise

    def _below_ceiling(self, arguments: ViewArguments) -> Steps[list[Any]]:
        ask, history = self._ask_of(arguments), arguments.history
        messages: list[Any] | None = None
        if len(arguments.pins) == 0 and len(arguments.transient) == 0 and not arguments.hard:
            with self._components.stopwatch.running():
                messages = self._core.next(history, budget=ask.budget, fixed=ask.fixed)
        if messages is None:
            messages = yield from self._whole(history, ask, arguments)
        self._last, self._sent = replace(arguments, hard=False), list(messages)
        return messages

    def _ask_of(self, arguments: ViewArguments) -> PlanRequest:
        return self._ask(
            arguments.budget,
            hard=arguments.hard,
            pins=arguments.pins,
            system=arguments.system,
            tools=arguments.tools,
        )

    def _read(
        self,
        history: Sequence[Any],
        ask: PlanRequest,
        arguments: ViewArguments,
        *,
        is_sent: bool = True,
    ) -> ViewRequest:
        with self._components.stopwatch.running():
            return self._core.request(
                history,
                budget=ask.budget,
                fixed=ask.fixed,
                pins=list(ask.pins),
                transient=list(arguments.transient),
                hard=ask.hard,
                is_sent=is_sent,
            )

    def _whole(
        self, history: Sequence[Any], ask: PlanRequest, arguments: ViewArguments
    ) -> Steps[list[Any]]:
        """Returns the request after reading the history, and compacting it if due."""
        request = yield from aside(self._read, history, ask, arguments)
        for repair in request.repairs:
            logger.debug("repair=<%s> | the request was repaired", repair)
        if request.reading is not None and self._compaction is not None:
            yield from self._call_compaction(request, self._compaction)
            # Its result is repaired, and compacted by the engine if it does not fit.
            ask = self._ask_of(replace(arguments, hard=False))
            request = yield from aside(self._read, history, ask, arguments)
        if request.reading is None:
            return request.messages
        return (yield from self._compact(request, request.reading, ask))

    def _compact(
        self, request: ViewRequest, reading: Reading, ask: PlanRequest
    ) -> Steps[list[Any]]:
        start, compactor = time.perf_counter(), self._components.compactor
        with self._components.telemetry.operation("view") as operation:
            summarized = yield from compactor.prepare(reading, ask, operation, own=None)
            with self._components.stopwatch.running():
                messages = yield from aside(request.apply, summarized.plan)
            report = compactor.finish(summarized, start, self._core.savings)
            operation.reported(report)
        self._compactions += 1
        if report.first_changed is not None:
            # A compaction that waits is none.
            self._report = report
        yield self._components.listener.notify(report, summarized.plan)
        return messages

    def _call_compaction(self, request: ViewRequest, compaction: Compaction) -> Steps[None]:
        """Lets the user's function compact a request."""
        messages = list(request.messages)
        try:
            report = yield from call_host(compaction, messages, request.limit, request.pins)
        except BudgetError as error:
            error.messages = request.places(error.messages)
            raise
        with self._components.stopwatch.running():
            yield from aside(request.replace, messages)
        self._compactions += 1
        self._report = report if isinstance(report, Report) else self._report

    def _smaller(self, tokens: int | None) -> Steps[list[Any]]:
        if self._last is None:
            raise MessageError("no request was made yet, so none can be refused")
        before, ceiling = self.tokens, self._core.ceiling
        self._core.refused(tokens)
        try:
            return (yield from self._below_ceiling(self._last))
        except BudgetError as error:
            if error.floor >= before:
                self._core.ceiling = ceiling
                raise
            self._core.ceiling = error.floor
        # The request is larger than wanted, but smaller than the refused one.
        return (yield from self._below_ceiling(self._last))


def _as_list(history: Sequence[Any]) -> list[Any]:
    try:
        return list(history)
    except TypeError as error:
        kind = type(history).__name__
        raise MessageError(f"the history is a {kind}, not a list of messages") from error


def _read_state(state: Any) -> tuple[dict[str, Any], list[Any]]:
    if isinstance(state, (str, bytes)):
        try:
            state = json.loads(state)
        except ValueError as error:
            raise MessageError(f"the state of a view is not JSON: {error}") from error
    if isinstance(state, dict) and state.keys() == {_VIEW, _MESSAGES}:
        view, messages = state[_VIEW], state[_MESSAGES]
        if isinstance(view, dict) and isinstance(messages, list):
            return view, messages
    raise MessageError(
        "this is not the state of a view; give what `View.state()` returned, or none"
    )
