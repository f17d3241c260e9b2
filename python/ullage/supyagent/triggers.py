"""``Triggers``: when the next summary is due."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ullage.supyagent.history import summary_end
from ullage.supyagent.tokens import count_messages_tokens

if TYPE_CHECKING:
    from ullage.supyagent.summary import ContextSummary

# Fewer messages than these beside the recent ones are not worth a summary.
LEAST_TO_SUMMARIZE = 4
_PERCENT = 100


@dataclass(frozen=True)
class Triggers:
    """What makes a summary due, whichever comes first.

    What counts came since the last summary was made. The recent messages that it left do not count
    again: one would follow on the other if they are as many, or as long, as the thresholds.

    Attributes:
        messages: So many messages.
        tokens: So many tokens of them.
        recent: Messages at the end that are never summarized.
        model: Whose tokens they are.
    """

    messages: int
    tokens: int
    recent: int
    model: str

    def since(self, messages: list[Any], summary: ContextSummary | None) -> list[Any]:
        """The messages that came since the last summary was made."""
        if summary is None:
            return messages
        # Supyagent's files do not say how many there were.
        return messages[max(summary.seen, summary.last_message_idx + 1) :]

    def is_met(self, messages: list[Any], summary: ContextSummary | None) -> bool:
        """Whether a summary is due. Counts only what is new."""
        begin = 0 if summary is None else summary.last_message_idx + 1
        if len(messages) - begin < self.recent + LEAST_TO_SUMMARIZE:
            return False
        since = self.since(messages, summary)
        if len(since) < self.messages and count_messages_tokens(since, self.model) < self.tokens:
            return False
        # The results of one call may reach back to the last summary.
        return summary_end(messages, begin, len(messages), self.recent) > begin

    def status(self, messages: list[Any], summary: ContextSummary | None) -> dict[str, Any]:
        """How near the next summary is, both ways, under Supyagent's names."""
        since = self.since(messages, summary)
        tokens = count_messages_tokens(since, self.model)
        return {
            "messages_since_summary": len(since),
            "messages_threshold": self.messages,
            "messages_percent": _percent(len(since), self.messages),
            "total_tokens": tokens,
            "tokens_threshold": self.tokens,
            "tokens_percent": _percent(tokens, self.tokens),
            "will_trigger": self.is_met(messages, summary),
        }


def _percent(part: int, whole: int) -> float:
    return min(float(_PERCENT), part / whole * _PERCENT) if whole > 0 else float(_PERCENT)
