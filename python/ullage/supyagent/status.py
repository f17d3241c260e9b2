"""The thresholds for the next summary, and the pictures of ``/context`` and ``/tokens``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ullage.report.picture import Picture, Trigger, tokens_line
from ullage.supyagent.history import summary_end
from ullage.supyagent.tokens import count_messages_tokens

if TYPE_CHECKING:
    from ullage.supyagent.summary import ContextSummary

# The least number of older messages that is worth a summary.
LEAST_TO_SUMMARIZE = 4
_PERCENT = 100


@dataclass(frozen=True)
class Triggers:
    """The thresholds that make a summary due, whichever is reached first.

    Only messages that came after the last summary was made are counted. The recent messages at that
    time are not counted. They could reach a threshold by themselves, and then every turn would make
    a summary.

    Attributes:
        messages: The number of messages.
        tokens: The number of tokens.
        recent: The number of messages at the end that are never summarized.
        model: The model whose tokenizer counts.
    """

    messages: int
    tokens: int
    recent: int
    model: str

    def is_due(self, messages: list[Any], summary: ContextSummary | None) -> bool:
        """True if a summary is due. Counts only new messages."""
        begin = 0 if summary is None else summary.last_message_idx + 1
        if len(messages) - begin < self.recent + LEAST_TO_SUMMARIZE:
            return False
        since = _since(messages, summary)
        if len(since) < self.messages and count_messages_tokens(since, self.model) < self.tokens:
            return False
        # No cut is possible if all messages since the last summary belong to one call.
        return summary_end(messages, begin, len(messages), self.recent) > begin

    def status(self, messages: list[Any], summary: ContextSummary | None) -> dict[str, Any]:
        """Returns how far both thresholds are reached, under Supyagent's names."""
        since = _since(messages, summary)
        tokens = count_messages_tokens(since, self.model)
        return {
            "messages_since_summary": len(since),
            "messages_threshold": self.messages,
            "messages_percent": _percent(len(since), self.messages),
            "total_tokens": tokens,
            "tokens_threshold": self.tokens,
            "tokens_percent": _percent(tokens, self.tokens),
            "will_trigger": self.is_due(messages, summary),
        }


@dataclass(frozen=True)
class ContextStatus:
    """The status of a conversation's context.

    Attributes:
        context_limit: The greatest number of tokens in a request.
        tools: The number of tool definitions.
        tool_tokens: The tokens of the tool definitions.
        summary: The summary, or None.
        triggers: The thresholds of the next summary, see ``ContextManager.get_trigger_status``.
        message_tokens: The tokens of the next request's messages, with the summary, and at most as
            many as fit. If not given, the tokens since the last summary are shown.
    """

    context_limit: int
    tools: int
    tool_tokens: int
    summary: ContextSummary | None
    triggers: dict[str, Any]
    message_tokens: int | None = None

    def render(self) -> str:
        """Returns the picture of ``/context``."""
        summary, now = self.summary, self.triggers
        return Picture(
            limit=self.context_limit,
            tools=self.tools,
            tool_tokens=self.tool_tokens,
            summarized=None if summary is None else summary.messages_summarized,
            summary_tokens=0 if summary is None else summary.token_count,
            created=None if summary is None else summary.created_at,
            messages=Trigger(now["messages_since_summary"], now["messages_threshold"]),
            tokens=Trigger(now["total_tokens"], now["tokens_threshold"]),
            due="The next turn makes a summary." if now["will_trigger"] else "",
        ).drawn()

    def tokens_line(self) -> str:
        """Returns the line of ``/tokens``."""
        messages = self.message_tokens
        if messages is None:
            messages = self.triggers["total_tokens"]
        return tokens_line(messages, self.tool_tokens, self.context_limit)


def _since(messages: list[Any], summary: ContextSummary | None) -> list[Any]:
    """Returns the messages that came since the last summary was made."""
    if summary is None:
        return messages
    # Supyagent's files do not say how many there were.
    return messages[max(summary.seen, summary.last_message_idx + 1) :]


def _percent(part: int, whole: int) -> float:
    return min(float(_PERCENT), part / whole * _PERCENT) if whole > 0 else float(_PERCENT)
