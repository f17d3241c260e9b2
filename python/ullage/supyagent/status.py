"""``ContextStatus``: what Supyagent's ``/context`` and ``/tokens`` show."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ullage.picture import Picture, Trigger, tokens_line

if TYPE_CHECKING:
    from ullage.supyagent.summary import ContextSummary


@dataclass(frozen=True)
class ContextStatus:
    """How full the context of a conversation is.

    Attributes:
        context_limit: The most that a request may take.
        tools: Number of tool definitions.
        tool_tokens: Tokens that they take.
        summary: The summary, if there is one.
        triggers: How near the next one is, see ``ContextManager.get_trigger_status``.
        message_tokens: Tokens of the messages of the next request, the summary included, at most
            as many as fit; if not given, those that came since the last summary.
    """

    context_limit: int
    tools: int
    tool_tokens: int
    summary: ContextSummary | None
    triggers: dict[str, Any]
    message_tokens: int | None = None

    def render(self) -> str:
        """The picture of ``/context``."""
        said, now = self.summary, self.triggers
        return Picture(
            limit=self.context_limit,
            tools=self.tools,
            tool_tokens=self.tool_tokens,
            summarized=None if said is None else said.messages_summarized,
            summary_tokens=0 if said is None else said.token_count,
            created=None if said is None else said.created_at,
            messages=Trigger(now["messages_since_summary"], now["messages_threshold"]),
            tokens=Trigger(now["total_tokens"], now["tokens_threshold"]),
            due="The next turn makes a summary." if now["will_trigger"] else "",
        ).drawn()

    def tokens_line(self) -> str:
        """The line of ``/tokens``."""
        messages = self.message_tokens
        if messages is None:
            messages = self.triggers["total_tokens"]
        return tokens_line(messages, self.tool_tokens, self.context_limit)
