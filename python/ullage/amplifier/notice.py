"""Tells the model and Amplifier's hooks about a compaction."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

from ullage._engine.logger import Logger
from ullage.amplifier.settings import LEVELS

if TYPE_CHECKING:
    from ullage.amplifier.settings import Verbosity

logger = Logger(__name__)

SOURCE = "context-compaction"
_OPENING = f'<system-reminder source="{SOURCE}">'
_CLOSING = "</system-reminder>"
# Up to this level, Amplifier only shortens tool results.
_ONLY_RESULTS = 2
# A verbose notice lists at most this many ranges, to stay within its reserve.
_NAMED = 12

# The name of the event in Amplifier's document, and its name in the code. Both are emitted.
COMPACT = "context:compact"
COMPACTION = "context:compaction"


def notice_of(stats: dict[str, Any], verbosity: Verbosity) -> str:
    """Returns the notice of a compaction, or an empty text if the verbosity is "off".

    The notice depends only on the compaction. So it stays the same until the next compaction, and
    the provider's prompt cache stays valid.

    "minimal" says that there was a compaction. "normal" adds the sizes and the kept messages, and
    "verbose" adds the changed messages.
    """
    if verbosity == "off" or not stats:
        return ""
    if verbosity == "minimal":
        lines = ["This conversation was compacted: older messages and tool results are shorter."]
    else:
        lines = [*_normal(stats), *(_verbose(stats) if verbosity == "verbose" else [])]
    return "\n".join([_OPENING, *lines, _CLOSING])


def message_of(notice: str) -> dict[str, Any]:
    """Returns the notice as a message, marked as in Amplifier."""
    return {
        "role": "system",
        "content": notice,
        "metadata": {"source": SOURCE, "ephemeral": True},
    }


async def emit(hooks: Any, stats: dict[str, Any]) -> None:
    """Emits both events, each with a copy of the stats. Errors of hooks are logged."""
    if hooks is None:
        return
    for event in (COMPACT, COMPACTION):
        try:
            answer = hooks.emit(event, dict(stats))
            if inspect.isawaitable(answer):
                await answer
        except Exception:  # noqa: PERF203 - the other event must still be emitted
            logger.warning("event=<%s> | a hook failed", event, exc_info=True)


def _normal(stats: dict[str, Any]) -> list[str]:
    level = stats["strategy_level"]
    lines = [
        "This conversation was compacted to fit its token budget.",
        f"Strategy: {stats['strategy']}, level {level}/{LEVELS}",
        (
            f"Messages: {stats['before_messages']} -> {stats['after_messages']}"
            f" ({stats['messages_removed']} removed)"
        ),
        f"Tool results: {stats['messages_truncated']} shortened",
        f"Tokens: {stats['before_tokens']:,} -> {stats['after_tokens']:,}",
        "Kept: the system messages, the first and the last request, and the newest messages.",
    ]
    if stats["messages_truncated"]:
        lines.append("Shortened tool results say so; call the tool again for the whole output.")
    if level > _ONLY_RESULTS and stats["messages_removed"]:
        lines.append("Where messages were removed, a line says how many; ask if you miss the goal.")
    lines.append("This changes what you see and nothing else: the whole history is kept.")
    return lines


def _verbose(stats: dict[str, Any]) -> list[str]:
    affected = stats.get("affected") or []
    more = len(affected) - _NAMED
    return [
        f"Threshold and target: {stats['budget']:,} tokens, down to {stats['target_tokens']:,}.",
        *(f"- {line}" for line in affected[:_NAMED]),
        *([f"- and {more} more"] if more > 0 else []),
    ]
