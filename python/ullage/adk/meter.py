"""``Meter``: the usage of model calls, from ADK's reports."""

from __future__ import annotations

import time
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple
from weakref import WeakKeyDictionary

from google.genai import types

from ullage._engine.lru_cache import LruCache
from ullage._hosts.conversations import KEPT_BYTES
from ullage.adk.conversations import invocation_of, paying_session, session_key
from ullage.usage.tokens import Usage

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from google.adk.agents.callback_context import CallbackContext
    from google.adk.events.event import Event
    from google.adk.models.llm_response import LlmResponse

    from ullage.adk.requests import FittedRequest
    from ullage.report.reports import Report
    from ullage.usage.tracker import UsageTracker

# The agent that summaries are counted under.
SUMMARIES = "(summaries)"


class SummaryUsage(NamedTuple):
    """The tokens that a model used for a summary.

    Attributes:
        model: Its id; empty if it is not known.
        usage: Its usage.
    """

    model: str
    usage: Usage


_found: ContextVar[list[SummaryUsage] | None] = ContextVar("ullage_adk_summary_usage", default=None)


@contextmanager
def collect_usage() -> Iterator[list[SummaryUsage]]:
    """Collects the usage of models for summaries inside the block."""
    found: list[SummaryUsage] = []
    token = _found.set(found)
    try:
        yield found
    finally:
        _found.reset(token)


def add_usage(model: str, usage: Usage) -> None:
    """Adds the usage of a model, if usage is being collected."""
    found = _found.get()
    if found is not None:
        found.append(SummaryUsage(model, usage))


def add_estimate(report: Report, most: int) -> None:
    """Adds an estimate of what a compaction's summarizer used, if the summarizer did not say it.

    Its prompt is estimated by what the compaction removed, of which a summarizer reads at most
    ``most`` tokens.
    """
    summary = report.summary
    if summary is None or summary.by != "summarizer":
        return
    if any(not one.usage.estimated for one in _found.get() or ()):
        return
    add_usage("", estimate(min(most, report.saved + summary.tokens), summary.tokens))


def estimate(prompt: int, candidates: int) -> Usage:
    """Returns an estimate of the usage of a call that was not reported."""
    return Usage(0, prompt, candidates, estimated=prompt + candidates)


# The most model calls at once, over all sessions. The next piece of an older call counts as a call.
# Those of runs that were cancelled stay among them, with what they sent.
_CALLS = 256

# Sessions whose compactions are told apart; of a session that was forgotten, those before now count
# as known.
_SESSIONS = 1_024

# The key among the metadata of an event under which an estimate is kept, so that a resumed session
# knows it.
ESTIMATE = "ullage_estimated_usage"

_NOTHING = Usage()

# By tracker: several plugins and callbacks may share one, and a compaction counts once.
_compactions: WeakKeyDictionary[UsageTracker, LruCache[int]] = WeakKeyDictionary()


@dataclass
class Call:
    """A model call.

    Attributes:
        model: The model that was asked for.
        fitted: The request, if its contents were fitted.
        began: The start time in nanoseconds.
        counted: The usage counted so far.
    """

    model: str = ""
    fitted: FittedRequest | None = None
    began: int = field(default_factory=time.perf_counter_ns)
    counted: Usage = _NOTHING


class Meter:
    """Counts the usage of model calls.

    Each piece of a streamed answer reports the usage so far. Each piece adds the difference, so a
    call counts once, even if it is cancelled half way.

    Args:
        tracker: Adds up the usage.
    """

    def __init__(self, tracker: UsageTracker) -> None:
        self.tracker = tracker
        self._calls: LruCache[Call] = LruCache(_CALLS, KEPT_BYTES)

    def account(self, context: CallbackContext) -> str:
        """Returns the session that pays, with its usage in earlier processes.

        Summaries for ADK since the last call are counted with it.
        """
        session = paying_session(context)
        key = session_key(session)
        known = _compactions.setdefault(self.tracker, LruCache(_SESSIONS))
        compactions = [event for event in session.events if event.actions.compaction]
        before = known.get(key)
        known.put(key, len(compactions))
        if not self.tracker.knows(key):
            self.tracker.restore(key, earlier(session.events))
        elif before is not None:
            for row in earlier(compactions[before:]):
                self.tracker.record(key, *row)
        return key

    def begin(self, context: CallbackContext, model: str | None = None) -> Call:
        """Begins a call."""
        call = Call(model or "")
        self._calls.put(_place(context), call)
        return call

    def keep(self, context: CallbackContext, call: Call, fitted: FittedRequest | None) -> None:
        """Keeps the request of a call until its usage is counted, and starts its time."""
        call.fitted, call.began = fitted, time.perf_counter_ns()
        self._calls.put(_place(context), call, 0 if fitted is None else fitted.reading.bytes)

    def current_call(self, context: CallbackContext) -> Call:
        """Returns the running call of this context."""
        return self._calls.get(_place(context)) or self.begin(context)

    def end(self, context: CallbackContext) -> Call | None:
        """Returns the last call when the agent is done, and forgets it."""
        return self._calls.take(_place(context))

    def add_summaries(self, context: CallbackContext, summaries: Sequence[SummaryUsage]) -> None:
        """Counts the usage of models that summarized for a request."""
        for model, used in summaries:
            self.tracker.record(self.account(context), SUMMARIES, model, used + Usage(calls=1))

    def add(
        self, context: CallbackContext, response: LlmResponse, estimated: Callable[[], Usage]
    ) -> None:
        """Counts the new usage in a piece of an answer.

        Args:
            context: The callback's.
            response: The piece.
            estimated: The estimated usage, if the model reports none.
        """
        call = self.current_call(context)
        reported = usage_of(response.usage_metadata)
        if reported is None:
            if response.partial or response.content is None or call.counted.calls:
                return
            reported = estimated()
            kept = as_fields(reported)["custom_metadata"]
            response.custom_metadata = {**(response.custom_metadata or {}), **kept}
        # Before it is counted: what the session used earlier comes from its events.
        account = self.account(context)
        model = response.model_version or call.model
        took = Usage(calls=1, nanoseconds=time.perf_counter_ns() - call.began)
        so_far = call.counted.at_least(reported + took)
        self.tracker.record(account, context.agent_name, model, so_far - call.counted)
        call.counted = so_far


def usage_of(metadata: Any) -> Usage | None:
    """The tokens in ADK's ``usage_metadata``; None where there are none.

    Some models of ADK's, such as litellm's, report reasoning within the candidates too. Then the
    parts come to more than the total by just that.
    """
    if metadata is None:
        return None
    prompt, candidates, cached, thoughts, tool_prompt, total, written = (
        _tokens(getattr(metadata, name, None))
        for name in (
            "prompt_token_count",
            "candidates_token_count",
            "cached_content_token_count",
            "thoughts_token_count",
            "tool_use_prompt_token_count",
            "total_token_count",
            "cache_creation_input_tokens",
        )
    )
    if total and thoughts and prompt + tool_prompt + candidates == total:
        candidates -= min(thoughts, candidates)
    if not (prompt or candidates or thoughts or tool_prompt):
        return None
    return Usage(0, prompt, candidates, cached, thoughts, tool_prompt, written)


def as_fields(usage: Usage) -> dict[str, Any]:
    """Usage as fields of an event: what a model reported, or an estimate among the metadata."""
    if usage.estimated:
        kept = {"prompt": usage.prompt, "candidates": usage.candidates}
        return {"custom_metadata": {ESTIMATE: kept}}
    reported = types.GenerateContentResponseUsageMetadata(
        prompt_token_count=usage.prompt,
        candidates_token_count=usage.candidates,
        cached_content_token_count=usage.cached or None,
        thoughts_token_count=usage.thoughts or None,
    )
    return {"usage_metadata": reported}


def earlier(events: Sequence[Event]) -> Iterator[tuple[str, str, Usage]]:
    """The usage that events report, each with its agent (or summaries) and its model."""
    for event in events:
        used = None if event.partial else usage_of(event.usage_metadata)
        if used is None and ESTIMATE in (event.custom_metadata or {}):
            kept = (event.custom_metadata or {})[ESTIMATE]
            used = estimate(_tokens(kept.get("prompt")), _tokens(kept.get("candidates")))
        if used is not None:
            agent = SUMMARIES if event.actions.compaction else event.author
            yield agent, event.model_version or "", used + Usage(calls=1)


def _tokens(value: Any) -> int:
    return value if isinstance(value, int) and value > 0 else 0


def _place(context: CallbackContext) -> tuple[str, str, str | None, str | None]:
    """The place where a call is made; one call at a time goes on there."""
    invocation = invocation_of(context)
    scope = getattr(invocation, "isolation_scope", None)
    return invocation.invocation_id, context.agent_name, invocation.branch, scope
