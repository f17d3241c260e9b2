"""Draws the fill of a context window as text, as Supyagent's ``/context`` does."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from datetime import datetime

# Supyagent's bars: twenty cells, each five percent.
_CELLS = 20
_FILLED, _EMPTY = "█", "░"
# The indent of the bar under its figures.
_INDENT = " " * 11
_WHOLE = 100


@dataclass(frozen=True)
class Trigger:
    """A figure that makes a compaction due at its threshold.

    Attributes:
        part: The figure.
        whole: The threshold.
    """

    part: int
    whole: int

    def drawn(self, label: str) -> list[str]:
        """The figures, and the bar under them."""
        share = percent(self.part, self.whole)
        filled = min(_CELLS, share * _CELLS // _WHOLE)
        figures = f"  {label + ':':<9} {self.part:,} / {self.whole:,} ({share}%)"
        return [figures, f"{_INDENT}[{_FILLED * filled}{_EMPTY * (_CELLS - filled)}]"]


@dataclass(frozen=True)
class Picture:
    """The figures of ``/context``.

    Attributes:
        limit: The most that a request may take.
        tools: Number of tool definitions.
        tool_tokens: Tokens of the tool definitions.
        summarized: Number of messages that the last summary replaced; None without a summary.
        summary_tokens: Tokens of the summary.
        created: The time of the summary, if it is known.
        messages: The number of messages against its limit; None without a limit.
        tokens: The tokens of the messages against their limit.
        due: The line to show if a compaction is due, or an empty text.
    """

    limit: int
    tools: int
    tool_tokens: int
    summarized: int | None
    summary_tokens: int
    created: datetime | None
    messages: Trigger | None
    tokens: Trigger
    due: str

    def drawn(self) -> str:
        """The picture."""
        lines = ["Context Status", f"  Context limit: {self.limit:,} tokens"]
        if self.tools:
            lines.append(f"  Tool definitions: {self.tool_tokens:,} tokens ({self.tools} tools)")
        if self.summarized is not None:
            said = f"{self.summarized:,} messages -> {self.summary_tokens:,} tokens"
            lines.append(f"  Last summary: {said}")
        if self.created is not None:
            lines.append(f"  Created: {self.created:%Y-%m-%d %H:%M}")
        which = "tokens" if self.messages is None else "N messages OR K tokens"
        lines += ["", f"Summarization Triggers ({which})"]
        if self.messages is not None:
            lines += self.messages.drawn("Messages")
        lines += self.tokens.drawn("Tokens")
        return "\n".join([*lines, "", f"  {self.due}"] if self.due else lines)


def percent(part: float, whole: float) -> int:
    """Returns whole percents, rounded down: above 100 if the part exceeds the whole."""
    return _WHOLE if whole <= 0 else int(part * _WHOLE / whole)


def tokens_line(messages: int, tools: int, limit: int) -> str:
    """Returns the line of token figures after each turn."""
    used = messages + tools
    share = percent(used, limit)
    return f"tokens: {messages:,} msgs + {tools:,} tools | context: {used:,} / {limit:,} ({share}%)"
