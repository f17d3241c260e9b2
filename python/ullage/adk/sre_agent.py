"""``sre_agent``: the emergency brake of the SRE agent's document, as an engine."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from google.genai import types

from ullage import (
    BudgetError,
    ContextManager,
    MessageError,
    MessagesChangedError,
    Policy,
    TokenCounter,
    View,
    repair,
)
from ullage.adk.event_lines import content_lines
from ullage.adk.fitting import fitting
from ullage.adk.model_summarizer import summarizer_of
from ullage.adk.summary_text import FORMAT
from ullage.report import StageReport

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ullage.adk.model_summarizer import SummarizerOrModel
    from ullage.report import Report
    from ullage.store import Store
    from ullage.summarizer import SummaryRequest

# The document's: realistic for logs and code.
_CHARS_A_TOKEN = 2.5

# Above 900,000 tokens, where the brake acts from 750,000 on, six contents stay rather than ten.
_TIGHT = 900 / 750
_TIGHT_SHARE = 0.6

# When a provider refuses contents that counted as fitting, its own count is higher than ours by a
# share that nobody knows. The next try aims so far below what was refused.
_REFUSED_SHARE = 0.7

# The part of the window that the lines may take: 200,000 tokens of a million. A call and its result
# take 550 characters at most, and a session of 750,000 tokens seldom has more than 900 calls.
_LINES = 0.2


def sre_agent(
    *, store: Store | None = None, summarizer: SummarizerOrModel | None = None, **settings: Any
) -> ContextManager:
    """An engine with the emergency brake of the SRE agent's document.

    At 750,000 tokens, by 2.5 characters for each, the first content and the last ten stay, and the
    last six above 900,000. All between becomes a line for each call, with its arguments, one for
    each result, by what its tool is asked for, and one for each thought. A call stays with its
    result. The outcome is counted, and where it is still too large, less stays. What a provider
    answers from its cache does not put that off.

    Args:
        store: Where what leaves is kept; if not given, only ADK's session has it.
        summarizer: Makes a summary in place of the lines: a model of ADK, the id of one, or a
            function.
        settings: Settings of the policy that are to be others than the preset's.

    Raises:
        PolicyError: If a setting is unknown or out of range.
    """
    policy = Policy.preset("sre-agent").replace(**settings)
    return Brake(policy, store, summarizer)


class Brake(ContextManager):
    """An engine that first condenses the middle of a conversation, and then does what it must.

    Args:
        policy: Its policy.
        store: Where what leaves is kept.
        summarizer: Makes a summary in place of the lines.
    """

    def __init__(
        self, policy: Policy, store: Store | None, summarizer: SummarizerOrModel | None
    ) -> None:
        counter = TokenCounter.with_ratio(_CHARS_A_TOKEN)
        self._given = summarizer
        told = summarizer_of(summarizer)
        shared: dict[str, Any] = {"counter": counter, "store": store, "format": FORMAT}
        shared |= {"append_only": True, "summarizer": told or self._lines}
        super().__init__(policy, **shared)
        # By number, so that all of the middle goes; the low mark would bound the lines.
        condensing: dict[str, Any] = {
            "stages": ["window", "summarize"],
            "low": policy.high,
            "low_messages": 1.0,
            "levels": policy.levels[:1],
        }
        if told is None:
            # The lines are all that is kept.
            condensing |= {"summary_tokens": int(policy.window * _LINES), "summary_lines": 0}

        def condenser(recent: int) -> ContextManager:
            most = max(1, policy.keep_first + recent)
            condensed = policy.replace(keep_recent=recent, max_messages=most, **condensing)
            return ContextManager(condensed, **shared)

        self._wide = condenser(policy.keep_recent)
        self._tight = condenser(int(policy.keep_recent * _TIGHT_SHARE))

    def without_store(self) -> ContextManager:
        """The same without a store."""
        return Brake(self.policy, None, self._given)

    def compact(
        self, messages: list[Any], budget: int | None = None, hard: bool = False, **beside: Any
    ) -> Report:
        """Condenses the middle where something is due, and removes more where that is too little.

        The arguments are those of ``ContextManager.compact``.
        """
        condenser = self._due(messages, budget, hard, beside)
        if condenser is None:
            return super().compact(messages, budget, hard, **beside)
        left = list(messages)
        try:
            first = condenser.compact(left, **beside)
        except BudgetError as error:
            # What stays is too large by itself, and shortened below.
            first = condenser.compact(left, error.floor, **beside)
        beside["pins"] = _places(left, messages, beside)
        then = super().compact(left, budget, hard and not first.stages, **beside)
        messages[:] = left
        return self._both(first, then)

    async def acompact(
        self, messages: list[Any], budget: int | None = None, hard: bool = False, **beside: Any
    ) -> Report:
        """:meth:`compact` without holding up the event loop."""
        condenser = self._due(messages, budget, hard, beside)
        if condenser is None:
            return await super().acompact(messages, budget, hard, **beside)
        before, left = list(messages), list(messages)
        try:
            first = await condenser.acompact(left, **beside)
        except BudgetError as error:
            first = await condenser.acompact(left, error.floor, **beside)
        beside["pins"] = _places(left, before, beside)
        then = await super().acompact(left, budget, hard and not first.stages, **beside)
        if any(now is not old for now, old in zip(messages, before, strict=False)):
            raise MessagesChangedError("an older message changed during a compaction")
        # What came in meanwhile stays at the end.
        messages[: len(before)] = left
        return self._both(first, then)

    def view(self, messages: Sequence[Any], budget: int | None = None, **beside: Any) -> list[Any]:
        """What :meth:`compact` would leave, as a new list."""
        left = list(messages)
        self.compact(left, budget, **beside)
        return left

    def open(self, state: dict[str, Any] | None = None, **_: Any) -> View:
        """A view of one conversation, which is compacted as :meth:`compact` does.

        Its state is empty: another process condenses the history again, to the same lines.
        """
        del state
        return _BrakeView(self)

    def _due(
        self, messages: list[Any], budget: int | None, hard: bool, beside: dict[str, Any]
    ) -> ContextManager | None:
        """What condenses the middle; None where nothing is due."""
        fixed = {name: value for name, value in beside.items() if name != "pins"}
        status = self.status(messages, budget, **fixed)
        if status.due == "none" and not hard:
            return None
        return self._tight if status.tokens > status.high * _TIGHT else self._wide

    def _lines(self, request: SummaryRequest) -> str:
        """The summary so far, and lines about the messages, as far as there is room."""
        lines = [line for line in request.previous.splitlines() if line.strip()]
        for message in request.messages:
            lines += content_lines(types.Content.model_validate(message))
        return fitting(lines, request.max_tokens, self.counter)

    def _both(self, first: Report, then: Report) -> Report:
        """The report of two compactions, one after the other."""
        stages = dict(first.stages)
        for name, stage in then.stages.items():
            before = stages.get(name, StageReport(0, 0))
            stages[name] = StageReport(before.edits + stage.edits, before.saved + stage.saved)
        summary = then.summary or first.summary
        if summary is not None and self._given is None:
            summary = replace(summary, by="engine")
        changed = [at for at in (first.first_changed, then.first_changed) if at is not None]
        return replace(
            then,
            tokens_before=first.tokens_before,
            rewritten=max(first.rewritten, then.rewritten),
            stages=stages,
            removed_messages=first.removed_messages + then.removed_messages,
            references=[*first.references, *then.references],
            first_changed=min(changed, default=None),
            summary=summary,
            warnings=[*first.warnings, *then.warnings],
            repairs=[*first.repairs, *then.repairs],
            elapsed=first.elapsed + then.elapsed,
        )


def _places(left: Sequence[Any], before: Sequence[Any], beside: dict[str, Any]) -> list[int]:
    """Where the pinned messages are after a compaction, which leaves them the objects they are."""
    pinned = {id(before[place]) for place in beside.get("pins", ())}
    return [place for place, message in enumerate(left) if id(message) in pinned]


@dataclass(frozen=True)
class _Sent:
    """What was sent last.

    Attributes:
        history: The history that it was made of.
        messages: The messages.
        count: So many messages of the history are condensed; the others stand at the end.
        beside: The system prompt and the tools.
    """

    history: Sequence[Any] = ()
    messages: Sequence[Any] = ()
    count: int = 0
    beside: Mapping[str, Any] = field(default_factory=dict)

    def continued(self, history: Sequence[Any]) -> _Sent:
        """The same with what is new in the history; all of it where a condensed one changed."""
        pairs = zip(self.history, history, strict=False)
        alike = next((at for at, (one, other) in enumerate(pairs) if one != other), None)
        if alike is None:
            alike = min(len(self.history), len(history))
        if alike < self.count:
            return _Sent(history, history)
        kept = len(self.messages) - (len(self.history) - alike)
        return _Sent(history, [*self.messages[:kept], *history[alike:]], self.count)

    def compacted(self, messages: Sequence[Any]) -> _Sent:
        """The same after a compaction."""
        pairs = zip(reversed(messages), reversed(self.history), strict=False)
        same = next((at for at, (one, other) in enumerate(pairs) if one != other), len(messages))
        return replace(self, messages=messages, count=len(self.history) - same)


class _BrakeView(View):
    """What a model sees of a conversation: its last compaction, and what came in since.

    Args:
        engine: What compacts it.
    """

    def __init__(self, engine: Brake) -> None:
        self._engine = engine
        self._sent = _Sent()
        self._done: Report | None = None
        self._most: int | None = None

    @property
    def report(self) -> Report | None:
        """What the last compaction did; None before the first."""
        return self._done

    @property
    def tokens(self) -> int:
        """Tokens of the messages of the last request."""
        return self._engine.status(self._sent.messages).tokens

    @property
    def ceiling(self) -> int | None:
        """The most tokens that the messages may take since a provider refused more; or None."""
        return self._most

    def messages(
        self,
        history: Sequence[Any],
        budget: int | None = None,
        *,
        pins: Sequence[int] = (),
        transient: Sequence[int] = (),
        **beside: Any,
    ) -> list[Any]:
        """The messages to send for this history, as a new list."""
        sent = replace(self._sent.continued(list(history)), beside=beside)
        left = list(repair(sent.messages, FORMAT))
        asked = self._asked_for(sent, left, budget, [*pins, *transient])
        return self._keep(sent, left, self._engine.compact(left, **asked))

    async def amessages(
        self,
        history: Sequence[Any],
        budget: int | None = None,
        *,
        pins: Sequence[int] = (),
        transient: Sequence[int] = (),
        **beside: Any,
    ) -> list[Any]:
        """:meth:`messages` without holding up the event loop."""
        sent = replace(self._sent.continued(list(history)), beside=beside)
        left = list(repair(sent.messages, FORMAT))
        asked = self._asked_for(sent, left, budget, [*pins, *transient])
        return self._keep(sent, left, await self._engine.acompact(left, **asked))

    def refused(self, tokens: int | None = None) -> list[Any]:
        """The last request again, smaller, after a provider refused it for its length."""
        sent, left, asked = self._after_refusal(tokens)
        return self._keep(sent, left, self._engine.compact(left, **asked))

    async def arefused(self, tokens: int | None = None) -> list[Any]:
        """:meth:`refused` without holding up the event loop."""
        sent, left, asked = self._after_refusal(tokens)
        return self._keep(sent, left, await self._engine.acompact(left, **asked))

    def observe(self, reported_tokens: int, cached_tokens: int | None = None) -> bool:
        """Learns from the answer to the last request."""
        return self._engine.observe(list(self._sent.messages), reported_tokens, cached_tokens)

    def state(self) -> dict[str, Any]:
        """Nothing: the lines can be made again."""
        return {}

    def release(self) -> None:
        """Keeps everything: the contents share their texts with the session."""

    def _asked_for(
        self, sent: _Sent, left: list[Any], budget: int | None, pins: Sequence[int]
    ) -> dict[str, Any]:
        """The arguments of a compaction."""
        places = (_place(left, sent.history[pin]) for pin in pins)
        limits = [limit for limit in (budget, self._most) if limit is not None]
        return {
            "budget": min(limits, default=None),
            "pins": sorted({place for place in places if place is not None}),
            **sent.beside,
        }

    def _after_refusal(self, counted: int | None) -> tuple[_Sent, list[Any], dict[str, Any]]:
        """What is compacted after a refusal, to at most 70 % of its tokens."""
        sent = self._sent
        if not sent.history:
            raise MessageError("no request was made that could have been refused")
        if counted is not None:
            self.observe(counted)
        self._most = max(1, int(self.tokens * _REFUSED_SHARE))
        left = list(repair(sent.messages, FORMAT))
        return sent, left, {"budget": self._most, "hard": True, **sent.beside}

    def _keep(self, sent: _Sent, left: list[Any], report: Report) -> list[Any]:
        """Remembers a request. Others may have been made meanwhile: the last one stands."""
        if report.stages:
            self._done = report
            sent = sent.compacted(left)
        self._sent = sent
        return list(left)


def _place(messages: Sequence[Any], message: Any) -> int | None:
    """Where the last message is that is equal to this one."""
    return next((at for at in reversed(range(len(messages))) if messages[at] == message), None)
