"""``ContextManager``: the engine that a host calls.

The core decides, the store keeps removed content, and ``Compactor`` calls both in order.
"""

from __future__ import annotations

import sys
from functools import partial
from typing import TYPE_CHECKING, Any

from ullage._core import MessageError, PolicyError, ViewIndex
from ullage._engine.arguments import policy_and_counter, require_callable
from ullage._engine.components import Components
from ullage._engine.fixed_tokens import number_of
from ullage._engine.listener import Listener
from ullage._engine.notes import last_summary
from ullage._engine.plan_request import PlanRequest
from ullage._engine.steps import arun, run
from ullage._engine.suggestions import suggesting
from ullage.report.reports import Stats, Status
from ullage.summary import request_for
from ullage.usage.savings import Savings

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ullage._core import Plan, Policy, TokenCounter, ViewLookup
    from ullage._engine.background import BackgroundSummary
    from ullage._engine.listener import OnCompaction
    from ullage._engine.summarizer import Summarizer
    from ullage.models.catalog import ModelCatalog
    from ullage.report.recorder import Recorder
    from ullage.report.reports import Report
    from ullage.stores.protocol import Store
    from ullage.summary import Summary
    from ullage.view import Compaction, View


# Enough for 500 conversations of 100,000 tokens, or for the decisions about some thousands.
_VIEW_BYTES = 256 * 2**20


class ContextManager:
    """Keeps conversations inside their budget.

    One engine may serve any number of conversations and threads. It caches token counts, so a call
    counts only new messages and compares the others: O(messages).

    Args:
        policy: The settings; if not given, those of the model, or ``Policy()`` without a model.
        counter: Counts tokens; if not given, the counter of the model, or
            ``TokenCounter("o200k_base")`` without a model.
        store: Keeps removed content. Without a store, removed content is lost, and the note in the
            conversation says so.
        summarizer: Summarizes removed messages: a function, plain or async, that takes a
            ``SummaryRequest`` and returns text. Plain functions run in a thread of their own. If it
            raises, returns no text or takes longer than ``Policy.summary_timeout``, the engine
            writes an account without a model, and the report has the reason. With a store of
            ``ullage.stores`` one worker asks for a summary, and the others use its text.
        system: The system prompt, as text or blocks. It takes a part of the window.
        tools: The tool definitions. They take a part of the window.
        format: The wire format; detected from the messages if not given.
        model: The id of the model. It chooses the counter, the window and the reserve for the
            answer; a given policy or counter takes precedence. To change other settings too, give
            ``model_limits(model).policy(...)`` as the policy.
        catalog: Looks up the limits of the model; the built-in table if not given.
        append_only: A promise of the host: messages are never edited, new ones come at the end, and
            ``system`` and ``tools`` are replaced rather than edited. If no compaction is due, a
            call then reads only new messages.
        on_compaction: Called with the ``Report`` of each compaction, also of a view, that changed
            something or has a warning: a function, plain or async. The run waits for it, up to ten
            seconds if it is async (``compact`` in a running loop starts it as a task). Its errors
            are only logged.
        recorder: Records compactions, shortened results and observed requests, for a report of the
            session.
        view_bytes: The most bytes that the views of :meth:`view_of` hold together.

    Raises:
        PolicyError: If an argument is invalid.
    """

    @suggesting
    def __init__(
        self,
        policy: Policy | None = None,
        *,
        counter: TokenCounter | None = None,
        store: Store | None = None,
        summarizer: Summarizer | None = None,
        system: Any = None,
        tools: Any = None,
        format: str | None = None,
        model: str | None = None,
        catalog: ModelCatalog | None = None,
        append_only: bool = False,
        on_compaction: OnCompaction | None = None,
        recorder: Recorder | None = None,
        view_bytes: int = _VIEW_BYTES,
    ) -> None:
        self._policy, self._counter = policy_and_counter(
            policy, counter, store=store, summarizer=summarizer, model=model, catalog=catalog
        )
        require_callable("on_compaction", on_compaction)
        self._arguments = {
            "policy": self._policy,
            "counter": self._counter,
            "store": store,
            "summarizer": summarizer,
            "format": format,
            "model": model,
            "append_only": append_only,
            "on_compaction": on_compaction,
            "recorder": recorder,
            "view_bytes": view_bytes,
        }
        self._store = store
        self._append_only = bool(append_only)
        self._listener = Listener(on_compaction, recorder)
        self.system = system
        self.tools = tools
        self._components = Components.of(
            self._policy,
            self._counter,
            store=store,
            summarizer=summarizer,
            listener=self._listener,
            format=format,
            model=model,
            catalog=catalog,
            append_only=self._append_only,
            recorder=recorder,
        )
        if type(view_bytes) is not int or view_bytes < 0:
            raise PolicyError(f"view_bytes: give a number of bytes from 0 up, not {view_bytes!r}")
        self._views = ViewIndex(min(view_bytes, sys.maxsize))
        self._recorder = recorder
        if recorder is not None:
            recorder.attach(
                counter=self._counter,
                format=format,
                window=self._policy.window,
                model=model,
                store=store,
            )

    def __repr__(self) -> str:
        return (
            f"ContextManager(window={self._policy.window}, counter={self._counter!r},"
            f" store={self._store!r})"
        )

    def __getstate__(self) -> dict[str, Any]:
        """The arguments of an engine that works the same, for `copy` and `pickle`."""
        return self._arguments | {"system": self.system, "tools": self.tools}

    def __setstate__(self, arguments: dict[str, Any]) -> None:
        self.__init__(**arguments)  # type: ignore[misc]

    @property
    def policy(self) -> Policy:
        """The settings."""
        return self._policy

    @property
    def counter(self) -> TokenCounter:
        """The token counter."""
        return self._counter

    @property
    def on_compaction(self) -> OnCompaction | None:
        """The callback for compactions."""
        return self._listener.function

    @property
    def recorder(self) -> Recorder | None:
        """The recorder of the session."""
        return self._recorder

    @property
    def store(self) -> Store | None:
        """The store for removed content."""
        return self._store

    def plan(
        self,
        messages: Sequence[Any],
        budget: int | None = None,
        hard: bool = False,
        *,
        pins: Sequence[int] = (),
        system: Any = None,
        tools: Any = None,
    ) -> Plan:
        """Plans a compaction without changing anything.

        O(messages) if all were seen before and no compaction is due; O(text) for new messages. A
        due compaction weighs every line of the content that it removes.

        Args:
            messages: The conversation.
            budget: Tokens that the messages may take; if not given, what the policy's window leaves
                beside the reserve, the system prompt and the tools.
            hard: Compact down to the low mark now, rather than only above the high mark.
            pins: Indices of messages that must stay unchanged.
            system: The system prompt of this request, if it is not the engine's.
            tools: The tool definitions of this request, if they are not the engine's.

        Returns:
            The plan; ``plan.is_empty`` if no compaction is due.

        Raises:
            BudgetError: If the messages that must stay do not fit. It names the largest.
            MessageError: If the messages cannot be read, or if a provider would refuse
                them and the policy does not repair.
        """
        return self._components.compactor.plan(
            messages, self._ask(budget, hard, pins, system, tools)
        )

    def compact(
        self,
        messages: list[Any],
        budget: int | None = None,
        hard: bool = False,
        *,
        pins: Sequence[int] = (),
        system: Any = None,
        tools: Any = None,
    ) -> Report:
        """Compacts the messages in place, if that is due: ``messages[:] = ...``.

        Messages that a provider would refuse are repaired first, and ``Report.repairs`` lists the
        repairs. Unchanged messages stay the same objects; changed ones are replaced by copies. The
        arguments are those of :meth:`plan`. Costs as much as :meth:`plan`, the store and the
        summarizer; O(new messages) with ``append_only`` if no compaction is due.

        Raises:
            BudgetError: If the messages that must stay do not fit.
            MessageError: If the messages cannot be read, or if a provider would refuse
                them and the policy does not repair.
            StoreError: If the store cannot keep the removed content. After any
                error the messages are unchanged.
        """
        ask = self._ask(budget, hard, pins, system, tools)
        return run(self._components.compactor.compact(messages, ask))

    async def acompact(
        self,
        messages: list[Any],
        budget: int | None = None,
        hard: bool = False,
        *,
        pins: Sequence[int] = (),
        system: Any = None,
        tools: Any = None,
    ) -> Report:
        """:meth:`compact` without blocking the event loop.

        Planning and storing run in a thread; a store whose ``put`` is a coroutine is awaited.
        Messages appended meanwhile stay after the planned ones. If an older message changes, the
        plan is made again.

        Raises:
            MessagesChangedError: If an older message keeps changing.
        """
        ask = self._ask(budget, hard, pins, system, tools)
        return await arun(self._components.compactor.compact(messages, ask))

    def view(
        self,
        messages: Sequence[Any],
        budget: int | None = None,
        *,
        pins: Sequence[int] = (),
        system: Any = None,
        tools: Any = None,
    ) -> list[Any]:
        """Returns the outcome of :meth:`compact` as a new list; ``messages`` stay unchanged.

        Removed content is stored, so that the references in the view can be followed. Costs as
        much as :meth:`compact`, each time.

        Raises:
            BudgetError: If the messages that must stay do not fit.
            MessageError: If the messages cannot be read, or if a provider would refuse
                them and the policy does not repair.
            StoreError: If the store cannot keep the removed content.
        """
        ask = self._ask(budget, hard=False, pins=pins, system=system, tools=tools)
        return run(self._components.compactor.view(messages, ask))

    def open(
        self,
        state: dict[str, Any] | None = None,
        *,
        append_only: bool | None = None,
        dump: Callable[[Any], Any] | None = None,
        load: Callable[[Any], Any] | None = None,
        compaction: Compaction | None = None,
        replay: bool = False,
        session: str | None = None,
    ) -> View:
        """Opens a view of one conversation, which returns the messages to send for its history.

        Args:
            state: The outcome of :meth:`View.state`, of this process or another.
            append_only: The host promises never to edit messages in the list; if not given, the
                engine's value. A request then reads only new messages.
            dump: Turns a message into JSON-like data for the state; not needed for dicts.
            load: Turns such data into a message.
            compaction: A function, plain or async, that compacts in place of the engine. It is
                called when a compaction is due, with a list of messages to change in place, the
                tokens that they may take, and the indices of messages that must stay. Kept messages
                must be the same objects. The view repairs its outcome for the provider, and the
                engine compacts it further if it does not fit. It may return a ``Report`` for
                :attr:`View.report`.
            replay: For a view without a state and with a long first history: first makes the
                earlier requests again, one before each answer of the model. The bytes are the same
                as before, unless a summarizer wrote a part of them or the counter has learned
                since. Without it, a long history is compacted once.
            session: A name under which the state is kept in the engine's store, in place of
                ``state``. Any worker that opens the session continues with that state. If two
                workers answer at once, the second makes its request from the state of the first.
                The store needs cells: see ``ullage.stores.SharedStore``.

        Raises:
            MessageError: If ``state`` is not the state of a view.
            PolicyError: If the store has no cells, or if both a state and a session are given.
        """
        from ullage.session_view import SessionView
        from ullage.view import View

        if session is None:
            kind: Callable[..., View] = View
        elif state is not None:
            raise PolicyError(
                "give a `state` or a `session`, not both: a session keeps its own state"
            )
        else:
            kind = partial(SessionView, store=self._store, session=session)
        promised = self._append_only if append_only is None else append_only
        return kind(
            self._components,
            self._ask,
            state,
            append_only=promised,
            dump=dump,
            load=load,
            compaction=compaction,
            replay=replay,
        )

    def view_of(
        self,
        history: Sequence[Any],
        *,
        append_only: bool | None = None,
        dump: Callable[[Any], Any] | None = None,
        load: Callable[[Any], Any] | None = None,
        compaction: Compaction | None = None,
        replay: bool = False,
        state: dict[str, Any] | None = None,
    ) -> View:
        """Returns the view of the conversation with this history, for a host that serves many.

        Call it before each request, and then get the messages from the view. A conversation is
        found by its longest known beginning, whatever its ids. Each branch of a conversation gets a
        view of its own, with the decisions about the shared messages. For an unknown history, a
        view is opened with the other arguments, which are those of :meth:`open`.

        The views of an engine hold at most ``view_bytes`` bytes together. Beyond that, the least
        recently used ones release their messages, which :meth:`View.refused` needs. Then they are
        dropped. O(length of the history) at memory speed.

        Raises:
            MessageError: If the messages cannot be read.
        """
        opening = {
            "append_only": append_only,
            "dump": dump,
            "load": load,
            "compaction": compaction,
            "replay": replay,
            "state": state,
        }
        return self._look_up(history, None, opening)[0]

    def _look_up(
        self, history: Sequence[Any], known: ViewLookup | None, opening: dict[str, Any]
    ) -> tuple[View, ViewLookup]:
        """Returns the view of a history, and how it was found.

        Args:
            history: The history.
            known: The second value that was returned for the beginning of this history. Only the
                messages after that are read.
            opening: The arguments for opening a view.
        """
        engine = self._components.engine
        try:
            lookup = self._views.find(engine, history, known)
        except MessageError:
            if known is None:
                raise
            # A beginning that is only text has no form of its own.
            lookup = self._views.find(engine, history)
        view: View | None = lookup.view
        if view is None:
            view = self.open(**opening)
        elif not lookup.is_last:
            view = view._fork()  # noqa: SLF001
        for dropped in self._views.note(lookup, view, tokens=view.tokens):
            dropped.release()
        return view, lookup

    def resume(self, plan: Plan, messages: Sequence[Any], summary: str | None = None) -> Plan:
        """Completes a pending plan with its summary; returns any other plan unchanged.

        Without a summary the engine writes an account without a model.

        Raises:
            MessagesChangedError: If these are not the messages that the plan was made for.
        """
        with self._components.stopwatch.running():
            engine = self._components.engine
            reading = engine.read(messages[: plan.messages], budget=None, fixed=0, pins=[])
            return reading.resume(plan, summary, reason="none was given")

    def summarize_in_background(
        self,
        messages: list[Any],
        budget: int | None = None,
        *,
        pins: Sequence[int] = (),
        system: Any = None,
        tools: Any = None,
    ) -> BackgroundSummary | None:
        """Begins the summary that the next compaction of this list will need.

        The summarizer works while the agent continues: an async one as a task in the running loop,
        any other in a thread. The next compaction that removes messages uses the summary if the
        summarized messages are unchanged and the outcome is below the high mark (the low mark with
        ``hard``). Otherwise the summary is dropped, and the report has the reason. A compaction
        waits for an unfinished summary, up to ``Policy.summary_timeout``; then the engine writes an
        account without a model. ``Policy.summary_ahead`` starts such summaries by itself.

        Costs as much as :meth:`plan`.

        Returns:
            The summary in the making; None if a compaction would remove no messages, or without a
            summarizer.

        Raises:
            BudgetError: If the messages that must stay do not fit.
            MessageError: If the messages are not a list, or cannot be read.
        """
        ask = self._ask(budget, hard=True, pins=pins, system=system, tools=tools)
        return run(self._components.compactor.begin(messages, ask))

    def summarize(
        self,
        messages: Sequence[Any],
        range: range | tuple[int, int] | None = None,
        *,
        previous: Summary | str | None = None,
        pins: Sequence[int] = (),
    ) -> Summary:
        """Summarizes messages of your choice, and changes nothing.

        The summarizer is called as in :meth:`compact`. If there is none, or it fails, the engine
        writes an account without a model, and ``warnings`` says why. The text takes at most
        ``Policy.summary_tokens``, the lines at most ``Policy.summary_lines``.

        O(length of the conversation), and the time of the summarizer.

        Args:
            messages: The conversation.
            range: The first index to summarize and the one after the last; if not given, all.
                System messages and pinned ones in it are left out, with the calls and results
                they belong to.
            previous: The summary that the new one continues and replaces.
            pins: Indices of further messages to leave out.

        Raises:
            MessageError: If the messages cannot be read, or the range is not in them.
            SummaryError: If the policy requires a summarizer's text and none was made.
            TypeError: If the range or the previous summary is of another type.
        """
        return run(
            self._components.summarizer.summary(request_for(messages, range, pins, previous))
        )

    async def asummarize(
        self,
        messages: Sequence[Any],
        range: range | tuple[int, int] | None = None,
        *,
        previous: Summary | str | None = None,
        pins: Sequence[int] = (),
    ) -> Summary:
        """:meth:`summarize` without blocking the event loop.

        Messages that are added, removed or replaced meanwhile have no effect on the summary.
        """
        ask = request_for(messages, range, pins, previous)
        return await arun(self._components.summarizer.summary(ask))

    def shrink(self, tool_name: str, result: Any) -> Any:
        """Shortens a tool result as it arrives, before it enters the history. O(length).

        Args:
            tool_name: The tool that returned it.
            result: A string, a tool-result block, a list of its items, or any JSON-like value.

        Returns:
            The same object if nothing is too long. Otherwise a string, a block or a list of
            items of the same shape, or ``{"result": text}`` for any other value.

        Raises:
            StoreError: If the store cannot keep the original; ``result`` is unchanged.
        """
        return run(self._components.arrival.shrink(tool_name, result))

    async def ashrink(self, tool_name: str, result: Any) -> Any:
        """:meth:`shrink` without blocking the event loop, for any store."""
        return await arun(self._components.arrival.shrink(tool_name, result))

    def status(
        self,
        messages: Sequence[Any],
        budget: int | None = None,
        *,
        system: Any = None,
        tools: Any = None,
    ) -> Status:
        """Returns how full the conversation is, and the compaction that is due. O(messages).

        The arguments are those of :meth:`plan`.

        Raises:
            MessageError: If the messages cannot be read.
        """
        with self._components.stopwatch.running():
            fixed = self._fixed_tokens(system, tools)
            values = self._components.engine.status(messages, budget=budget, fixed=fixed)
            tools = self.tools if tools is None else tools
            tool_tokens = self._components.engine.fixed_tokens(None, tools) if tools else 0
            summary = last_summary(messages, self._counter)
        return Status(
            **values,
            messages=len(messages),
            max_messages=self._policy.max_messages,
            tools=number_of(tools),
            tool_tokens=tool_tokens,
            summary=summary,
        )

    def observe(
        self, messages: Sequence[Any], reported_tokens: int, cached_tokens: int | None = None
    ) -> bool:
        """Corrects the counter by the tokens that the provider reported for a request.

        Args:
            messages: The messages of the request, before its answer.
            reported_tokens: Its whole prompt, cached parts included.
            cached_tokens: The part that the provider read from its prompt cache, if it says so.

        Returns:
            True if the report is a possible size of this request. Otherwise it is ignored.

        The correction applies to every engine that uses this counter: see
        :meth:`TokenCounter.observe`. From the third report of a conversation on, the tokens that
        the provider counts beside the messages take their part of the window, if they are more than
        the system prompt and the tools; at most three quarters of the window less the reserve.

        While the provider reads from its cache, compactions of this conversation start later, by
        the policy's ``cache_relax``. A compaction that could wait is then made only if it pays back
        within ``pay_back_within`` requests and before the window is full, and only at the expense
        of earlier savings or a twentieth of the cost so far. O(messages).

        Raises:
            MessageError: If the messages cannot be read.
        """
        with self._components.stopwatch.running():
            learned, added = self._components.engine.observe(
                messages, reported_tokens, cached=cached_tokens, append_only=self._append_only
            )
        self._components.telemetry.answered(Savings.of_sums(added, self._components.prices))
        self._listener.request(messages, reported_tokens, cached_tokens, is_plausible=learned)
        return learned

    @property
    def stats(self) -> Stats:
        """The totals of this engine so far."""
        stats, seconds = self._components.engine.stats(), self._components.stopwatch.seconds
        savings = Savings.of_sums(stats.pop("savings"), self._components.prices)
        return Stats(**stats, seconds=seconds, savings=savings)

    def _ask(
        self, budget: int | None, hard: bool, pins: Sequence[int], system: Any, tools: Any
    ) -> PlanRequest:
        fixed = partial(self._fixed_tokens, system, tools)
        return PlanRequest(budget, hard, pins, fixed, self._policy.time_limit)

    def _fixed_tokens(self, system: Any, tools: Any) -> int:
        own = system is None and tools is None
        system = self.system if system is None else system
        tools = self.tools if tools is None else tools
        return self._components.fixed.of(system, tools, own=own)
