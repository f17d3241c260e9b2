"""``sre_agent``: an engine with the emergency limit of the SRE agent's document."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from google.genai import types

from ullage import ContextManager, Policy, TokenCounter
from ullage.adk.event_lines import content_lines, fit_lines
from ullage.adk.model_summarizer import summarizer_of
from ullage.adk.requests import FORMAT

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ullage import View
    from ullage._engine.summarizer import SummaryRequest
    from ullage.adk.model_summarizer import SummarizerOrModel
    from ullage.report.reports import Report
    from ullage.stores.protocol import Store

# The document's value, realistic for logs and code.
_CHARS_A_TOKEN = 2.5

# Above 900,000 tokens, six contents stay instead of ten. The limit acts from 750,000 on.
_TIGHT = 900 / 750
_TIGHT_SHARE = 0.6

# The part of the window that the lines may take: 200,000 tokens of a million. A call and its result
# take 550 characters at most, and a session of 750,000 tokens seldom has more than 900 calls.
_LINES = 0.2

# The share of the trigger that is left if more than the middle must be removed. It has room for the
# lines and as much again.
_CONDENSED = 0.6


def sre_agent(
    *, store: Store | None = None, summarizer: SummarizerOrModel | None = None, **settings: Any
) -> ContextManager:
    """Returns an engine with the emergency limit of the SRE agent's document.

    From 750,000 tokens on, counted as 2.5 characters each, the first content and the last ten stay;
    above 900,000 the last six. The contents between them become lines: one for each call with its
    arguments, one for each result, and one for each thought. A call stays with its result. If the
    outcome is still too large, the remaining contents are shortened. A provider's cache does not
    delay this.

    Args:
        store: Keeps removed content; if not given, only ADK's session has it.
        summarizer: Writes a summary in place of the lines: a model of ADK, the id of one, or a
            function.
        settings: Settings of the policy that differ from the preset.

    Raises:
        PolicyError: If a setting is unknown or out of range.
    """
    policy = Policy.preset("sre-agent").replace(**settings)
    return Brake(policy, store, summarizer)


class Brake(ContextManager):
    """An engine that condenses the middle of a conversation when a compaction is due.

    Args:
        policy: Its policy.
        store: Keeps removed content.
        summarizer: Writes a summary in place of the lines.
    """

    def __init__(
        self, policy: Policy, store: Store | None, summarizer: SummarizerOrModel | None
    ) -> None:
        self._summarizer = summarizer
        asked = summarizer_of(summarizer)
        shared: dict[str, Any] = {
            "counter": TokenCounter.with_ratio(_CHARS_A_TOKEN),
            "store": store,
            "format": FORMAT,
            "append_only": True,
            "summarizer": asked or self._lines,
        }
        super().__init__(policy, **shared)
        # By number, so that the whole middle is removed. The rest is shortened only if it does not
        # fit, and what must stay last of all.
        condensing: dict[str, Any] = {
            "stages": [stage for stage in policy.stages if stage != "digest"],
            "low": max(policy.low, policy.high * _CONDENSED),
            "low_messages": 1.0,
            "levels": [{"stages": ["window", "summarize"]}, *policy.levels[1:]],
        }
        if asked is None:
            # The lines are all that is kept.
            condensing |= {"summary_tokens": int(policy.window * _LINES), "summary_lines": 0}

        def condenser(recent: int) -> ContextManager:
            most = max(1, policy.keep_first + recent)
            condensed = policy.replace(keep_recent=recent, max_messages=most, **condensing)
            return ContextManager(condensed, **shared)

        self._wide = condenser(policy.keep_recent)
        self._tight = condenser(int(policy.keep_recent * _TIGHT_SHARE))

    def without_store(self) -> ContextManager:
        """Returns the same engine without a store."""
        return Brake(self.policy, None, self._summarizer)

    def compact(
        self, messages: list[Any], budget: int | None = None, hard: bool = False, **beside: Any
    ) -> Report:
        """Condenses the middle if a compaction is due; see ``ContextManager.compact``."""
        engine = self._due(messages, budget, hard, beside)
        if engine is None:
            return super().compact(messages, budget, hard, **beside)
        return self._reported(engine.compact(messages, budget, hard, **beside))

    async def acompact(
        self, messages: list[Any], budget: int | None = None, hard: bool = False, **beside: Any
    ) -> Report:
        """:meth:`compact` without blocking the event loop."""
        engine = self._due(messages, budget, hard, beside)
        if engine is None:
            return await super().acompact(messages, budget, hard, **beside)
        return self._reported(await engine.acompact(messages, budget, hard, **beside))

    def view(self, messages: Sequence[Any], budget: int | None = None, **beside: Any) -> list[Any]:
        """Returns the result of :meth:`compact` as a new list."""
        left = list(messages)
        self.compact(left, budget, **beside)
        return left

    def open(self, state: dict[str, Any] | None = None, **given: Any) -> View:
        """Opens a view of one conversation, which is compacted like :meth:`compact`."""

        async def condensed(messages: list[Any], limit: int, pins: list[int]) -> Report:
            tokens = self.counter.count_messages(messages, FORMAT)
            engine = self._condenser(tokens, int(limit * self.policy.high))
            return self._reported(await engine.acompact(messages, limit, pins=pins))

        return super().open(state, **given, compaction=condensed)

    def _due(
        self, messages: list[Any], budget: int | None, hard: bool, beside: dict[str, Any]
    ) -> ContextManager | None:
        """Returns the engine that condenses the middle; None if nothing is due."""
        fixed = {name: value for name, value in beside.items() if name != "pins"}
        status = self.status(messages, budget, **fixed)
        if status.due == "none" and not hard:
            return None
        return self._condenser(status.tokens, status.high)

    def _condenser(self, tokens: int, high: int) -> ContextManager:
        return self._tight if tokens > high * _TIGHT else self._wide

    def _lines(self, request: SummaryRequest) -> str:
        """Returns the summary so far, and lines about the messages, as far as there is room."""
        lines = [line for line in request.previous.splitlines() if line.strip()]
        for message in request.messages:
            lines += content_lines(types.Content.model_validate(message))
        return fit_lines(lines, request.max_tokens, self.counter)

    def _reported(self, report: Report) -> Report:
        if report.summary is None or self._summarizer is not None:
            return report
        return replace(report, summary=replace(report.summary, by="engine"))
