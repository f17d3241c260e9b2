"""Layer 1 of the cascade: a mapper compresses messages in place, each of them once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ullage._engine.logger import Logger
from ullage.strands.mapper import LargeToolResultMapper

if TYPE_CHECKING:
    from collections.abc import Callable

logger = Logger(__name__)


class ResultCompression:
    """Compresses the messages of one agent.

    A message that ``LargeToolResultMapper`` has seen is not shown to it again. Another mapper may
    ask where a message stands, so it sees every message each time.
    """

    def __init__(self) -> None:
        self._seen: list[Any] = []
        # The settings of the mapper that has seen them; None for a mapper of somebody else's.
        self._settings: Any = None

    def compress(
        self, messages: list[Any], places: range, mapper: Callable[[Any, int, Any], Any]
    ) -> None:
        """Replaces the messages at these places that the mapper compresses."""
        if not places:
            return
        settings = mapper.settings if type(mapper) is LargeToolResultMapper else None
        is_known = settings is not None and settings == self._settings
        seen = set(map(id, self._seen)) if is_known else set()
        changed = {}
        for index in places:
            if id(messages[index]) in seen:
                continue
            try:
                mapped = mapper(messages[index], index, messages)
            except Exception:
                # A mapper of somebody else's. Its failure must not end the agent.
                logger.exception("message=<%d> | the mapper failed, the message stays", index)
                continue
            # A mapper may return None to leave a message out; a call would lose its result.
            if mapped is not None and mapped is not messages[index]:
                changed[index] = mapped
        if changed:
            logger.info("LAYER 2 COMPRESSION: Compressing %d tool result(s)", len(changed))
            messages[:] = [changed.get(index, message) for index, message in enumerate(messages)]
        self._settings, self._seen = settings, [messages[index] for index in places]
