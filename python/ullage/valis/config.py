"""Defines the settings, ``ContextConfig``, and the result of a step, ``CompactionResult``."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from ullage._engine.arguments import require_number, require_share
from ullage._engine.fixed_tokens import reserve_in

# The windows in Valis' own configuration.
_LIMITS = {
    "claude-sonnet-4-5-20250929": 200_000,
    "claude-opus-4-5-20251101": 200_000,
    "gpt-4o": 128_000,
    "gpt-4-turbo": 128_000,
    "gemini-1.5-pro": 1_000_000,
}


@dataclass
class ContextConfig:
    """The thresholds and limits of :class:`ContextManagementMiddleware`.

    Args:
        large_result_tokens: A tool result with more tokens is written to a file as it arrives.
        compaction_threshold: If the conversation reaches this share of the window, pointers replace
            the content that calls wrote to files.
        summarization_threshold: If the conversation reaches this share of the window, the older
            messages are summarized.
        model_context_limits: The window of each model, in tokens. For other models, ullage's own
            table is used, or 128,000 tokens if the model is unknown.
        preview_lines: The number of lines in the preview of a large result.
        summarization_model: Settings for the host's summarization agent. ullage does not read them.
        response_reserve: The tokens kept free for the answer, at most half of the window. A
            summarized conversation does not use them. By default, the threshold for summaries
            keeps 5 % of the window free.

    Raises:
        PolicyError: If a setting is out of range.
    """

    large_result_tokens: int = 20_000
    compaction_threshold: float = 0.85
    summarization_threshold: float = 0.95
    model_context_limits: dict[str, int] = field(default_factory=lambda: dict(_LIMITS))
    preview_lines: int = 10
    summarization_model: dict[str, Any] | None = None
    response_reserve: int | None = None

    def __post_init__(self) -> None:
        for name in ("compaction_threshold", "summarization_threshold"):
            require_share(name, getattr(self, name), above_zero=True)
        require_number("large_result_tokens", self.large_result_tokens, least=1)
        require_number("preview_lines", self.preview_lines, least=1)
        if self.response_reserve is not None:
            require_number("response_reserve", self.response_reserve, least=0)

    def compacts_at(self, limit: int) -> int:
        """Returns the number of tokens at which pointers replace written content."""
        return int(limit * self.compaction_threshold)

    def summarizes_at(self, limit: int) -> int:
        """Returns the tokens at which a summary is made, which the new messages do not exceed."""
        reserve = reserve_in(limit, self.response_reserve or 0)
        return min(int(limit * self.summarization_threshold), limit - reserve)


@dataclass
class CompactionResult:
    """The result of one step.

    Args:
        original_tokens: The tokens before the step.
        compacted_tokens: The tokens after the step.
        tokens_saved: The difference.
        strategy_used: "offload", "compact" or "summarize".
        files_created: The paths of the written files.
    """

    original_tokens: int
    compacted_tokens: int
    tokens_saved: int
    strategy_used: str
    files_created: list[str] = field(default_factory=list)

    @classmethod
    def of(cls, before: int, after: int, strategy: str, files: list[str]) -> CompactionResult:
        """Returns the result of a step, with the tokens before and after it."""
        return cls(before, after, before - after, strategy, files)
