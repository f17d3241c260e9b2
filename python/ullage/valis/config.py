"""``ContextConfig`` and ``CompactionResult``."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import ullage

# Valis' windows.
_LIMITS = {
    "claude-sonnet-4-5-20250929": 200_000,
    "claude-opus-4-5-20251101": 200_000,
    "gpt-4o": 128_000,
    "gpt-4-turbo": 128_000,
    "gemini-1.5-pro": 1_000_000,
}
# Of a window that is smaller than so many times the reserve, the reserve would take too much.
_RESERVE_TIMES = 8


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
        response_reserve: Tokens kept free for the answer, in windows of eight times that and more:
            a summary is made in time, and what is left is within the rest.

    Raises:
        PolicyError: If a setting is out of range.
    """

    large_result_tokens: int = 20_000
    compaction_threshold: float = 0.85
    summarization_threshold: float = 0.95
    model_context_limits: dict[str, int] = field(default_factory=lambda: dict(_LIMITS))
    preview_lines: int = 10
    summarization_model: dict[str, Any] | None = None
    response_reserve: int = 4_096

    def __post_init__(self) -> None:
        for name in ("compaction_threshold", "summarization_threshold"):
            share = getattr(self, name)
            if not 0 < share <= 1:
                raise ullage.PolicyError(f"{name}: {share} is not above 0 and at most 1")
        for name, least in (
            ("large_result_tokens", 1),
            ("preview_lines", 1),
            ("response_reserve", 0),
        ):
            if getattr(self, name) < least:
                raise ullage.PolicyError(f"{name}: it must be at least {least}")

    def most(self, limit: int) -> int:
        """The most that messages may take of a window."""
        fits = limit >= self.response_reserve * _RESERVE_TIMES
        return limit - self.response_reserve if fits else limit

    def compacts_at(self, limit: int) -> int:
        """Tokens from which on calls are compacted."""
        return int(limit * self.compaction_threshold)

    def summarizes_at(self, limit: int) -> int:
        """Tokens from which on a summary is made."""
        return min(int(limit * self.summarization_threshold), self.most(limit))


@dataclass
class CompactionResult:
    """What one step did.

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
