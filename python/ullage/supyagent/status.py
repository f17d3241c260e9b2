"""``ContextStatus``: what Supyagent's ``/context`` and ``/tokens`` show."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ullage.picture import tokens_line, trigger

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
    """

    context_limit: int
    tools: int
    tool_tokens: int
    summary: ContextSummary | None
    triggers: dict[str, Any]

    def render(self) -> str:
        """The picture of ``/context``."""
        lines = ["Context Status", f"  Context limit: {self.context_limit:,} tokens"]
        if self.tools:
            lines.append(f"  Tool definitions: {self.tool_tokens:,} tokens ({self.tools} tools)")
        if self.summary is not None:
            said = self.summary
            lines += [
                f"  Last summary: {said.messages_summarized} messages -> {said.token_count} tokens",
                f"  Created: {said.created_at:%Y-%m-%d %H:%M}",
            ]
        now = self.triggers
        lines += [
            "",
            "Summarization Triggers (N messages OR K tokens)",
            *trigger("Messages", now["messages_since_summary"], now["messages_threshold"]),
            *trigger("Tokens", now["total_tokens"], now["tokens_threshold"]),
        ]
        if now["will_trigger"]:
            lines += ["", "  The next turn makes a summary."]
        return "\n".join(lines)

    def tokens_line(self) -> str:
        """The line of ``/tokens``, of the messages since the last summary and the summary."""
        summary = 0 if self.summary is None else self.summary.token_count
        messages = self.triggers["total_tokens"] + summary
        return tokens_line(messages, self.tool_tokens, self.context_limit)
