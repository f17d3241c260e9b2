"""``ContextConfig`` and ``CompactionResult``."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from ullage._engine.arguments import require_number, require_share
from ullage._engine.fixed_tokens import reserve_in

# Valis' windows.
_LIMITS = {
    "claude-sonnet-4-5-20250929": 200_000,
    "claude-opus-4-5-20251101": 200_000,
    "gpt-4o": 128_000,
    "gpt-4-turbo": 128_000,
    "gemini-1.5-pro": 1_000_000,
}


@dataclass
class ContextConfig:
    """When what happens.

    Args:
        large_result_tokens: A tool result above this is written to a file as it arrives.
        compaction_threshold: Share of the window from which on what calls wrote into files gives
            way to pointers.
        summarization_threshold: Share of the window from which on a summary is made.
        model_context_limits: Windows by model; of others ullage knows many, and takes 128,000 for
            the rest.
        preview_lines: Lines of a large result that are shown.
        summarization_model: What a host makes its summarization agent of; not read here.
        response_reserve: Tokens kept free for the answer, at most half of the window: a summary is
            made in time, and what is left is within the rest. If not given, what the threshold of
            summaries leaves of a window: 5 %.

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
        """Tokens from which on calls are compacted."""
        return int(limit * self.compaction_threshold)

    def summarizes_at(self, limit: int) -> int:
        """Tokens from which on a summary is made, and the most that is left then."""
        reserve = reserve_in(limit, self.response_reserve or 0)
        return min(int(limit * self.summarization_threshold), limit - reserve)


@dataclass
class CompactionResult:
    """The result of one step.

    Args:
        original_tokens: Tokens before.
        compacted_tokens: Tokens after.
        tokens_saved: The difference.
        strategy_used: "offload", "compact" or "summarize".
        files_created: What was written.
    """

    original_tokens: int
    compacted_tokens: int
    tokens_saved: int
    strategy_used: str
    files_created: list[str] = field(default_factory=list)

    @classmethod
    def of(cls, before: int, after: int, strategy: str, files: list[str]) -> CompactionResult:
        """The result of a step from so many tokens to so many."""
        return cls(before, after, before - after, strategy, files)
