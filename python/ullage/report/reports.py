"""Reports of the engine, as plain values."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from html import escape
from typing import Any, Literal

from ullage.report.picture import Picture, Trigger, tokens_line


@dataclass(frozen=True)
class StageReport:
    """The work of one stage.

    Attributes:
        edits: Number of its edits.
        saved: Tokens that they saved.
    """

    edits: int
    saved: int


@dataclass(frozen=True)
class SummaryReport:
    """A summary that stands for removed messages.

    Attributes:
        by: "summarizer", or "engine" where it was made without a model.
        tokens: Tokens that it takes, with the lines that hold what it lost.
        lines: Number of those lines.
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
        rewritten: Tokens from the first message that changed on, which the provider has to write
            into its prompt cache again.
        budget: The most that they might take.
        stages: Each stage that did something, by name.
        removed_messages: Messages removed.
        references: References of what was stored.
        first_changed: Index of the first message that changed, or None. From here on the
            provider's prompt cache is of no use.
        summary: What stands for the removed messages, or None.
        warnings: Soft wishes that were not met, and what went wrong on the way.
        repairs: What was repaired in the messages, because a provider would have refused it.
        elapsed: Seconds that it took, storing and the summarizer included.
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

    @classmethod
    def _of(cls, values: dict[str, Any], elapsed: float) -> Report:
        stages = {name: StageReport(**stage) for name, stage in values.pop("stages").items()}
        summary = values.pop("summary")
        summary = None if summary is None else SummaryReport(**summary)
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
    """A summary that stands in a conversation.

    Attributes:
        messages: How many messages it stands for.
        tokens: Tokens that it takes, with the lines that hold what it lost.
    """

    messages: int
    tokens: int


@dataclass(frozen=True)
class Status:
    """The state of a conversation: its tokens and its limits.

    Attributes:
        tokens: Tokens of the messages.
        window: Context window of the model.
        fixed: Tokens that the system prompt and the tool definitions take of it, or more where the
            provider's reports show more.
        available: Tokens that the messages may take.
        high: Above this, compaction starts.
        low: Down to this it goes.
        due: What the fill asks for: "soft" above the high mark, "hard" above what is available.
        parts: Tokens by kind of content.
        largest: The message that takes the most room and what would help, in a sentence; None
            if no message takes a tenth of ``available``.
        messages: Number of messages.
        max_messages: More than these are too many; None for any number.
        tools: Number of tool definitions beside them.
        tool_tokens: Tokens of ``fixed`` that they take.
        summary: What stands for removed messages, or None.
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
        """A picture of it, as Supyagent's ``/context`` draws one."""
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
        """It in a line, as Supyagent's ``/tokens`` shows it: the system prompt is a message."""
        messages = self.tokens + self.fixed - self.tool_tokens
        return tokens_line(messages, self.tool_tokens, self.window)


@dataclass(frozen=True)
class Stats:
    """The totals of an engine.

    Attributes:
        compactions: Compactions that changed something.
        shrinks: Tool results shrunk at arrival.
        saved: Tokens saved, by stage; "shrink" is what happened at arrival.
        seconds: Time spent in ullage, storing included.
    """

    compactions: int
    shrinks: int
    saved: dict[str, int]
    seconds: float
