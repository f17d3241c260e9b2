"""``sre_agent``: the emergency brake of the SRE agent's document, as an engine."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from google.genai import types

from ullage import (
    BudgetError,
    ContextManager,
    MessagesChangedError,
    Policy,
    TokenCounter,
)
from ullage._engine.steps import Step, arun, run
from ullage.adk.event_lines import content_lines
from ullage.adk.fitting import fitting
from ullage.adk.model_summarizer import summarizer_of
from ullage.adk.summary_text import FORMAT
from ullage.report.reports import StageReport

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ullage import View
    from ullage._engine.steps import Steps
    from ullage._engine.summarizer import SummaryRequest
    from ullage.adk.model_summarizer import SummarizerOrModel
    from ullage.report.reports import Report
    from ullage.stores.protocol import Store

# The document's: realistic for logs and code.
_CHARS_A_TOKEN = 2.5

# Above 900,000 tokens, where the brake acts from 750,000 on, six contents stay rather than ten.
_TIGHT = 900 / 750
_TIGHT_SHARE = 0.6

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
            "stages": ["window", "summarize", "trim"],
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
        report = run(self._braked(left, condenser, budget, hard=hard, beside=beside))
        messages[:] = left
        return report

    async def acompact(
        self, messages: list[Any], budget: int | None = None, hard: bool = False, **beside: Any
    ) -> Report:
        """:meth:`compact` without holding up the event loop."""
        condenser = self._due(messages, budget, hard, beside)
        if condenser is None:
            return await super().acompact(messages, budget, hard, **beside)
        before, left = list(messages), list(messages)
        report = await arun(self._braked(left, condenser, budget, hard=hard, beside=beside))
        if any(now is not old for now, old in zip(messages, before, strict=False)):
            raise MessagesChangedError("an older message changed during a compaction")
        # What came in meanwhile stays at the end.
        messages[: len(before)] = left
        return report

    def view(self, messages: Sequence[Any], budget: int | None = None, **beside: Any) -> list[Any]:
        """What :meth:`compact` would leave, as a new list."""
        left = list(messages)
        self.compact(left, budget, **beside)
        return left

    def open(self, state: dict[str, Any] | None = None, **given: Any) -> View:
        """A view of one conversation, which is compacted as :meth:`compact` does."""

        async def condensed(messages: list[Any], limit: int, pins: list[int]) -> Report:
            tokens = self.counter.count_messages(messages, FORMAT)
            condenser = self._condenser(tokens, int(limit * self.policy.high))
            steps = self._braked(messages, condenser, limit, hard=False, beside={"pins": pins})
            return await arun(steps)

        return super().open(state, **given, compaction=condensed)

    def _due(
        self, messages: list[Any], budget: int | None, hard: bool, beside: dict[str, Any]
    ) -> ContextManager | None:
        """What condenses the middle; None where nothing is due."""
        fixed = {name: value for name, value in beside.items() if name != "pins"}
        status = self.status(messages, budget, **fixed)
        if status.due == "none" and not hard:
            return None
        return self._condenser(status.tokens, status.high)

    def _condenser(self, tokens: int, high: int) -> ContextManager:
        return self._tight if tokens > high * _TIGHT else self._wide

    def _braked(
        self,
        messages: list[Any],
        condenser: ContextManager,
        budget: int | None,
        *,
        hard: bool,
        beside: dict[str, Any],
    ) -> Steps[Report]:
        """Condenses the middle of messages in place, and removes more where they do not fit."""
        before = list(messages)
        try:
            first = yield _compaction(condenser, messages, **beside)
        except BudgetError as error:
            # The messages that stay are too large by themselves, and are shortened below.
            first = yield _compaction(condenser, messages, error.floor, **beside)
        beside = {**beside, "pins": _places(messages, before, beside)}
        hard = hard and not first.stages
        then = yield _compaction(super(), messages, budget, hard, **beside)
        return self._both(first, then)

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


def _compaction(engine: Any, *args: Any, **beside: Any) -> Step:
    return Step(partial(engine.compact, *args, **beside), partial(engine.acompact, *args, **beside))
