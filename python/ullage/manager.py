"""``ContextManager``: the engine as Python calls it.

The core decides, the store keeps, and ``Compactor`` puts the two in order; this class is what a
host calls.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from ullage._core import ViewIndex
from ullage._engine.arguments import require_callable, settled
from ullage._engine.components import Components
from ullage._engine.fixed_tokens import number_of
from ullage._engine.listener import Listener
from ullage._engine.notes import last_summary
from ullage._engine.plan_request import PlanRequest
from ullage._engine.steps import arun, run
from ullage.report.reports import Stats, Status
from ullage.summary import request_for

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ullage._core import Plan, Policy, TokenCounter
    from ullage._engine.background import BackgroundSummary
    from ullage._engine.listener import OnCompaction
    from ullage._engine.summarizer import Summarizer
    from ullage.models.catalog import ModelCatalog
    from ullage.report.recorder import Recorder
    from ullage.report.reports import Report
    from ullage.stores.protocol import Store
    from ullage.summary import Summary
    from ullage.view import Compaction, View


# Five hundred conversations of 100,000 tokens, or the decisions about some thousands.
_VIEW_BYTES = 256 * 2**20


class ContextManager:
    """Keeps conversations inside their budget.

    One engine may serve any number of conversations and threads. It remembers token counts, so a
    call costs what is new in the conversation and one pass over the rest at memory speed.

    Args:
        policy: The settings; if not given, those for the model, and ``Policy()`` without one.
        counter: What counts; if not given, the counter of the model, and
            ``TokenCounter("o200k_base")`` without one.
        store: Where what leaves the conversation is kept. Without one it is lost, and the texts
            left behind say so.
        summarizer: Makes the summary of messages that are removed: a function, plain or async, that
            takes a ``SummaryRequest`` and returns text. It runs while nothing is locked, plain ones
            in a thread of their own. Where it raises, returns no text or takes longer than
            ``Policy.summary_timeout``, the engine says without a model what happened, and the
            report why.
        system: The system prompt, as text or as blocks, which takes its part of the window.
        tools: The tool definitions, likewise.
        format: The wire format; told from the messages if not given.
        model: The id of the model that the conversations are for. It chooses the counter, the
            window and the reserve for the answer; a policy or a counter that is given wins. To
            change other settings too, give ``model_limits(model).policy(...)`` as the policy.
        catalog: Where the limits of the model are looked up; the built-in table if not given.
        append_only: The host promises that messages stay as they are and new ones come at the end
            of the list, compactions by this engine aside, and that it replaces the engine's
            ``system`` and ``tools`` rather than edit them. A compaction that has nothing to do then
            reads only what is new, and compares the rest object by object.
        on_compaction: Called with the ``Report`` of each compaction, also of a view, that changed
            something or has a warning: a function, plain or async, in the context of who compacts.
            The run waits for it, for an async one up to ten seconds (in ``compact`` where a loop
            runs in the thread it is begun as a task). An error in it is logged and no more.
        recorder: Where compactions are recorded, results that are shortened as they arrive, and
            requests that :meth:`observe` is told of, for a report of the session.
        view_bytes: The most bytes that the views of :meth:`view_of` hold together.

    Raises:
        PolicyError: If an argument is not what it should be.
    """

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
        self._policy, self._counter = settled(
            policy, counter, store=store, summarizer=summarizer, model=model, catalog=catalog
        )
        require_callable("on_compaction", on_compaction)
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
            append_only=self._append_only,
            recorder=recorder,
        )
        self._views = ViewIndex(view_bytes)
        self._recorder = recorder
        if recorder is not None:
            recorder.attach(
                counter=self._counter,
                format=format,
                window=self._policy.window,
                model=model,
                store=store,
            )

    @property
    def policy(self) -> Policy:
        """The settings."""
        return self._policy

    @property
    def counter(self) -> TokenCounter:
        """What counts."""
        return self._counter

    @property
    def on_compaction(self) -> OnCompaction | None:
        """What is told of each compaction."""
        return self._listener.function

    @property
    def recorder(self) -> Recorder | None:
        """What records the session."""
        return self._recorder

    @property
    def store(self) -> Store | None:
        """Where what leaves a conversation is kept."""
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
        """Decides what to do, and does nothing.

        O(messages) where all were seen before and nothing is due; O(text) for what is new. Where
        something is due, every line of what goes is weighed.

        Args:
            messages: The conversation.
            budget: Tokens that the messages may take; if not given, what the policy's window leaves
                beside the reserve, the system prompt and the tools.
            hard: Compact down to the low mark now, rather than only above the high mark.
            pins: Indices of messages that must stay as they are.
            system: The system prompt of this request, if it is not the engine's.
            tools: The tool definitions of this request, if they are not the engine's.

        Returns:
            The plan; ``plan.is_empty`` where nothing is due.

        Raises:
            BudgetError: If what must stay does not fit, with the messages that take the room.
            MessageError: If the messages cannot be read, or if the policy repairs nothing and a
                provider would refuse them.
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
        """Makes a plan and carries it out, in place: ``messages[:] = ...``.

        Messages that a provider would refuse are repaired first, and ``Report.repairs`` says so.
        Messages that do not change stay the same objects; those that do are replaced by copies. The
        arguments are those of :meth:`plan`. Costs what :meth:`plan` does, and what the store and
        the summarizer take; O(new messages) with ``append_only`` where nothing is due.

        Raises:
            BudgetError: If what must stay does not fit.
            MessageError: If the messages cannot be read, or if the policy repairs nothing and a
                provider would refuse them.
            StoreError: If the store cannot keep what would leave. After any error the messages are
                as they were.
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
        """:meth:`compact` without holding up the event loop.

        Planning and storing run in a thread; a store whose ``put`` is a coroutine is awaited.
        Messages that come in meanwhile stay behind those that were planned for; if an older one
        changes, the plan is made again.

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
        """What :meth:`compact` would leave, as a new list; ``messages`` stay as they are.

        What leaves is stored, so that the references in the view can be followed. Costs what
        :meth:`compact` does, each time.

        Raises:
            BudgetError: If what must stay does not fit.
            MessageError: If the messages cannot be read, or if the policy repairs nothing and a
                provider would refuse them.
            StoreError: If the store cannot keep what would leave.
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
    ) -> View:
        """A view of one conversation: what to send for a history that grows.

        Args:
            state: What :meth:`View.state` returned, in this process or another.
            append_only: The host promises that messages in the list stay as they are; if not given,
                what the engine was given. A request then reads only what is new.
            dump: Turns a message into JSON-like data for the state; not needed for dicts.
            load: Turns such data into a message.
            compaction: Compacts in place of the engine, plain or async. It is called where a
                compaction is due, with a list of messages to change in place, the tokens that they
                may take, and the places of those that must stay. A message that stays has to be the
                same object. What it leaves is repaired where a provider would refuse it, and
                compacted by the engine where it does not fit. It may return a ``Report`` for
                :attr:`View.report`.
            replay: For a view without a state whose first history is already long: first make the
                requests again that led to it, one before each answer of the model. The bytes are
                those of the first time if no summarizer wrote a part of them and the counter has
                learned nothing since. Without it, a long history is compacted once.

        Raises:
            MessageError: If this is no state of a view.
        """
        from ullage.view import View

        promised = self._append_only if append_only is None else append_only
        return View(
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
    ) -> View:
        """The view of the conversation that a history belongs to, for a host that serves many.

        Call it before each request, and then ask the view for the messages. A conversation is found
        by its longest beginning that was asked about before, whatever its ids. Each branch of a
        conversation gets a view of its own, with the decisions about what the branches share. If
        nothing is known of the history, a view is opened with the other arguments, which are those
        of :meth:`open`.

        The views of an engine hold at most ``view_bytes`` bytes together. Beyond that, the least
        recently used ones let go of their messages, which :meth:`View.refused` needs, and then they
        are dropped. O(length of the history) at memory speed.

        Raises:
            MessageError: If the messages cannot be read.
        """
        lookup = self._views.find(self._components.engine, history)
        view: View | None = lookup.view
        if view is None:
            view = self.open(
                append_only=append_only,
                dump=dump,
                load=load,
                compaction=compaction,
                replay=replay,
            )
        elif not lookup.is_last:
            view = view._forked()  # noqa: SLF001
        for dropped in self._views.note(lookup, view, tokens=view.tokens):
            dropped.release()
        return view

    def resume(self, plan: Plan, messages: Sequence[Any], summary: str | None = None) -> Plan:
        """A pending plan with the summary that it waits for; any other plan as it is.

        Without a summary the engine says without a model what happened.

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

        The summarizer works while the agent goes on: an async one as a task where a loop runs, any
        other in a thread. The next compaction that has to remove messages uses the summary if what
        it was made for is still there unchanged and the outcome is below the high mark (the low
        mark where ``hard``); otherwise it is dropped, and the report says why. One that is not
        done by then is waited for, as long as ``Policy.summary_timeout``; if in vain, nobody is
        asked again, and the engine says without a model what happened. See
        ``Policy.summary_ahead`` to begin by itself.

        Costs what :meth:`plan` does.

        Returns:
            The summary in the making; None where a compaction would remove no messages, or there is
            no summarizer.

        Raises:
            BudgetError: If what must stay does not fit.
            MessageError: If the messages are no list, or cannot be read.
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

        The summarizer is asked as in :meth:`compact`. If there is none, or it fails, the engine
        writes an account without a model, and ``warnings`` says why. The text takes at most
        ``Policy.summary_tokens``, the lines at most ``Policy.summary_lines``.

        O(length of the conversation), and what the summarizer takes.

        Args:
            messages: The conversation.
            range: The first place to summarize and the one after the last; if not given, all.
                System messages and pinned ones in it are left out, with the calls and results
                they belong to.
            previous: The summary that the new one continues and takes the place of.
            pins: Places of further messages to leave out.

        Raises:
            MessageError: If the messages cannot be read, or the range is not in them.
            SummaryError: If the policy requires a summarizer's text and there is none.
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
        """:meth:`summarize` without holding up the event loop.

        Messages that are added, removed or replaced meanwhile have no effect on the summary.
        """
        ask = request_for(messages, range, pins, previous)
        return await arun(self._components.summarizer.summary(ask))

    def shrink(self, tool_name: str, result: Any) -> Any:
        """Shrinks a tool result as it arrives, before it enters the history. O(length).

        Args:
            tool_name: The tool that it came from.
            result: A string, a tool-result block, a list of its items, or any JSON-like value.

        Returns:
            The same object where nothing is too long. Otherwise a string, a block or a list of
            items of the same shape, or ``{"result": text}`` for any other value.

        Raises:
            StoreError: If the store cannot keep the whole; ``result`` is as it was.
        """
        return run(self._components.arrival.shrink(tool_name, result))

    async def ashrink(self, tool_name: str, result: Any) -> Any:
        """:meth:`shrink` without holding up the event loop, for any store."""
        return await arun(self._components.arrival.shrink(tool_name, result))

    def status(
        self,
        messages: Sequence[Any],
        budget: int | None = None,
        *,
        system: Any = None,
        tools: Any = None,
    ) -> Status:
        """How full the conversation is, and what a compaction would have to do. O(messages).

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
        """Learns from what the provider reported for a request.

        Args:
            messages: The messages of the request, before its answer.
            reported_tokens: Its whole prompt, cached parts included.
            cached_tokens: What of it the provider read from its prompt cache, where it says so.

        Returns:
            Whether the report could be the size of this request; one that could not is ignored.

        The counter is corrected by it, and with the counter every engine that uses it: see
        :meth:`TokenCounter.observe`. From the third report of a conversation on, what the provider
        counts beside its messages takes its part of the window, where that is more than the system
        prompt and the tools; at most three quarters of what the reserve leaves.

        While the provider reads from its cache, compactions of this conversation start later, by
        the policy's ``cache_relax``, and only if they pay back within ``pay_back_within`` requests,
        unless the messages do not fit otherwise. O(messages).

        Raises:
            MessageError: If the messages cannot be read.
        """
        with self._components.stopwatch.running():
            learned = self._components.engine.observe(
                messages, reported_tokens, cached=cached_tokens, append_only=self._append_only
            )
        self._listener.request(messages, reported_tokens, cached_tokens, is_plausible=learned)
        return learned

    @property
    def stats(self) -> Stats:
        """What this engine did so far."""
        return Stats(**self._components.engine.stats(), seconds=self._components.stopwatch.seconds)

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
