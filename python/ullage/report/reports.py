"""Reports of the engine, as plain values."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from html import escape
from typing import Any, Literal

from ullage.report.picture import Picture, Trigger, tokens_line
from ullage.usage.savings import Savings


@dataclass(frozen=True)
class StageReport:
    """The work of one stage.

    Attributes:
        edits: Number of its edits.
        saved: Tokens that its edits saved.
    """

    edits: int
    saved: int


@dataclass(frozen=True)
class SummaryReport:
    """A summary that replaces removed messages.

    Attributes:
        by: "summarizer", or "engine" if it was written without a model.
        tokens: Tokens of the summary and its added lines.
        lines: Number of lines that were added because the summary lacks them.
    """

    by: Literal["summarizer", "engine"]
    tokens: int
    lines: int


@dataclass(frozen=True)
class Report:
    """The outcome of one compaction.

    Attributes:
        tokens_before: Tokens of the messages before.
        tokens_after: Tokens of the messages after.
        rewritten: Tokens from the first changed message on. The provider has to write them into its
            prompt cache again.
        budget: The most tokens that the messages may take.
        stages: The stages that changed something, by name.
        removed_messages: Number of removed messages.
        references: References of the stored content.
        first_changed: Index of the first changed message, or None. The provider's prompt cache
            covers only the messages before it.
        summary: The summary that replaces the removed messages, or None.
        warnings: Problems that did not stop the compaction, such as a failed summarizer.
        repairs: Descriptions of the repairs to messages that a provider would have refused.
        elapsed: Seconds of the compaction, with storing and the summarizer.
        savings: The conversation's requests before the compaction, beside those of doing nothing;
            None if no tokens of them were reported.
    """

    tokens_before: int
    tokens_after: int
    rewritten: int
    budget: int
    stages: dict[str, StageReport]
    removed_messages: int
    references: list[str]
    first_changed: int | None
    summary: SummaryReport | None
    warnings: list[str]
    repairs: list[str]
    elapsed: float
    savings: Savings | None = None

    @classmethod
    def _of(cls, values: dict[str, Any], elapsed: float) -> Report:
        stages = {name: StageReport(**stage) for name, stage in values.pop("stages").items()}
        summary = values.pop("summary")
        summary = None if summary is None else SummaryReport(**summary)
        if values.get("savings") is not None:
            values["savings"] = Savings(**values["savings"])
        return cls(**values, stages=stages, summary=summary, elapsed=elapsed)

    @property
    def saved(self) -> int:
        """Tokens saved."""
        return self.tokens_before - self.tokens_after

    def to_dict(self) -> dict[str, Any]:
        """The report as a JSON-able dict."""
        return asdict(self)

    def _repr_html_(self) -> str:
        """The report as a table, for notebooks."""
        stages = [
            f"{name}: {one.edits} edits, {one.saved:,} tokens" for name, one in self.stages.items()
        ]
        rows = {
            "tokens": f"{self.tokens_before:,} → {self.tokens_after:,} of {self.budget:,}",
            "removed messages": f"{self.removed_messages:,}",
            "stages": "; ".join(stages),
            "savings so far": "" if self.savings is None else str(self.savings),
            "warnings": "; ".join(self.warnings),
            "repairs": "; ".join(self.repairs),
        }
        cells = [
            f"<tr><th>{name}</th><td>{escape(text)}</td></tr>"
            for name, text in rows.items()
            if text
        ]
        return f"<table>{''.join(cells)}</table>"


@dataclass(frozen=True)
class LastSummary:
    """The newest summary in a conversation.

    Attributes:
        messages: Number of messages that it replaces.
        tokens: Tokens of the summary and its added lines.
    """

    messages: int
    tokens: int


@dataclass(frozen=True)
class Status:
    """The state of a conversation: its tokens and its limits.

    Attributes:
        tokens: Tokens of the messages.
        window: Context window of the model.
        fixed: Tokens of the window that the system prompt and the tool definitions take; more if
            the provider's reports show more.
        available: Tokens that the messages may take.
        high: Tokens above which a compaction starts.
        low: Tokens to which a compaction reduces the messages.
        due: The compaction that is due: "soft" above ``high``, "hard" above ``available``, "none".
        parts: Tokens by kind of content.
        largest: The message that takes the most room and what would help, in a sentence; None
            if no message takes a tenth of ``available``.
        messages: Number of messages.
        max_messages: The most messages that are allowed; None for any number.
        tools: Number of tool definitions.
        tool_tokens: Tokens of ``fixed`` that the tool definitions take.
        summary: The newest summary in the messages, or None.
    """

    tokens: int
    window: int
    fixed: int
    available: int
    high: int
    low: int
    due: Literal["none", "soft", "hard"]
    parts: dict[str, int]
    largest: str | None = None
    messages: int = 0
    max_messages: int | None = None
    tools: int = 0
    tool_tokens: int = 0
    summary: LastSummary | None = None

    def render(self) -> str:
        """Returns a picture of the status as text, like Supyagent's ``/context``."""
        summary, most = self.summary, self.max_messages
        return Picture(
            limit=self.window,
            tools=self.tools,
            tool_tokens=self.tool_tokens,
            summarized=None if summary is None else summary.messages,
            summary_tokens=0 if summary is None else summary.tokens,
            created=None,
            messages=None if most is None else Trigger(self.messages, most),
            tokens=Trigger(self.tokens, self.high),
            due="" if self.due == "none" else "A compaction is due.",
        ).drawn()

    def tokens_line(self) -> str:
        """Returns the status as a line, like Supyagent's ``/tokens``.

        Supyagent counts the system prompt as a message.
        """
        messages = self.tokens + self.fixed - self.tool_tokens
        return tokens_line(messages, self.tool_tokens, self.window)


@dataclass(frozen=True)
class Stats:
    """The totals of an engine.

    Attributes:
        compactions: Compactions that changed something.
        shrinks: Number of tool results that were shortened as they arrived.
        saved: Tokens saved, by stage; "shrink" is the shortening of arriving results.
        seconds: Seconds spent in ullage, including the time for storing.
        savings: The requests with reported tokens, beside those of doing nothing.
    """

    compactions: int
    shrinks: int
    saved: dict[str, int]
    seconds: float
    savings: Savings
