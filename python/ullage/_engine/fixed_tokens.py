"""``FixedTokens``: counts the system prompt and the tools of an engine."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ullage._core import Engine, TokenCounter


@dataclass(frozen=True)
class _FixedCount:
    """The tokens of a system prompt and tools at a scale."""

    system: Any
    tools: Any
    scale: float
    tokens: int

    def is_of(self, system: Any, tools: Any, scale: float) -> bool:
        """True if it is the count of these same objects at this scale."""
        return self.system is system and self.tools is tools and self.scale == scale


# The part of a window that a reserve may take. A reserve of all of it would leave no room at all.
_RESERVE_SHARE = 0.5


class FixedTokens:
    """Counts system prompts and tools, and caches the count of the engine's own.

    Args:
        engine: Counts.
        counter: The engine's counter, whose scale may change.
        append_only: True if the host replaces the engine's own instead of editing them.
    """

    def __init__(self, engine: Engine, counter: TokenCounter, *, append_only: bool) -> None:
        self._engine = engine
        self._counter = counter
        self._append_only = append_only
        self._known: _FixedCount | None = None

    def of(self, system: Any, tools: Any, *, own: bool) -> int:
        """Returns their tokens; ``own`` is True if they are the engine's."""
        if not (own and self._append_only):
            return self._engine.fixed_tokens(system, tools)
        # Read before the count, so a scale that changes meanwhile causes a new count.
        scale, known = self._counter.scale, self._known
        if known is None or not known.is_of(system, tools, scale):
            known = _FixedCount(system, tools, scale, self._engine.fixed_tokens(system, tools))
            self._known = known
        return known.tokens


def reserve_in(window: int, reserve: int) -> int:
    """Returns the tokens of a window that are kept free for the answer, at most half of it."""
    return min(reserve, int(window * _RESERVE_SHARE))


def number_of(tools: Any) -> int:
    """Returns the number of tools, in any host's form."""
    if not isinstance(tools, (list, tuple)):
        return 1 if tools else 0
    return sum(_functions_in(tool) for tool in tools)


def _functions_in(tool: Any) -> int:
    """Gemini's tools hold several functions each."""
    for name in ("function_declarations", "functionDeclarations"):
        functions = tool.get(name) if isinstance(tool, dict) else getattr(tool, name, None)
        if isinstance(functions, (list, tuple)):
            return len(functions)
    return 1
