"""Telling Amplifier's hooks of a compaction."""

from __future__ import annotations

import inspect
from typing import Any

from ullage.logger import Logger

logger = Logger(__name__)

# The event of Amplifier's document, and that of its code. Each carries the names of both.
COMPACT = "context:compact"
COMPACTION = "context:compaction"


async def emit(hooks: Any, stats: dict[str, Any]) -> None:
    """Emits both events; what a hook raises is logged, and the request goes on.

    Args:
        hooks: Amplifier's registry, or None.
        stats: What they carry; each handler gets a copy.
    """
    if hooks is None:
        return
    for event in (COMPACT, COMPACTION):
        try:
            answer = hooks.emit(event, dict(stats))
            if inspect.isawaitable(answer):
                await answer
        except Exception:  # noqa: PERF203 - the other event is emitted all the same
            logger.warning("event=<%s> | a hook failed", event, exc_info=True)
