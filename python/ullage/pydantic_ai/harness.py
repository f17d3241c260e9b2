"""``EngineStrategy``: the compactions of an engine, for the strategies of Pydantic AI's harness.

Needs ``pydantic-ai-harness``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic_ai_harness.compaction import is_pinned

from ullage._engine.steps import arun
from ullage._hosts.compaction import compact_rows
from ullage._hosts.engines import Engines
from ullage._hosts.rows import Reading
from ullage.pydantic_ai.codec import MessageCodec
from ullage.pydantic_ai.model import FORMAT

if TYPE_CHECKING:
    from ullage import ContextManager


class EngineStrategy:
    """A ``CompactionStrategy`` that compacts as an engine does.

        capabilities = [TieredCompaction([EngineStrategy(engine)], target_fraction=0.7)]

    For ``TieredCompaction``, ``FallbackCompaction``, ``CompactOnRequest`` and ``compact_now``. Its
    outcome takes the place of the run's history. Pinned messages stay whole, and so do those about
    a focus, as far as they take half of what is left. It sees neither the tools, the usage nor a
    refusal, so prefer :class:`~ullage.pydantic_ai.ContextCapability`.

    Args:
        engine: What decides.
        focus: The topic to keep; the harness sets it by :meth:`with_focus`.

    Raises:
        PolicyError: If it is no engine.
    """

    def __init__(self, engine: ContextManager, *, focus: str | None = None) -> None:
        self._engine = Engines(engine, format=FORMAT).last
        self._focus = focus

    def with_focus(self, focus: str) -> EngineStrategy:
        """Returns a strategy that keeps the messages about a topic."""
        return EngineStrategy(self._engine, focus=focus)

    async def compact(self, messages: list[Any], ctx: Any) -> list[Any]:  # noqa: ARG002 - of the protocol
        """Returns the messages compacted down to the low mark, whatever their size.

        Raises:
            UllageError: If they cannot be compacted.
        """
        reading = Reading(MessageCodec(), messages)
        pins = [n for n, message in enumerate(messages) if any(map(is_pinned, message.parts))]
        steps = compact_rows(self._engine, reading.rows, FORMAT, focus=self._focus, pins=pins)
        return reading.messages(await arun(steps))
