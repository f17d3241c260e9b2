"""The hook that shrinks tool results as they arrive."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from strands.hooks import AfterToolCallEvent, HookProvider, HookRegistry

if TYPE_CHECKING:
    from ullage import ContextManager

logger = logging.getLogger(__name__)


class ToolRouterHook(HookProvider):
    """Shrinks a tool result before it enters the conversation; the whole goes to the store.

    The result is replaced and never changed in place. If the store fails, the tool's own result
    stays: a hook that raised would end the agent between a call and its result.

    Args:
        engine: What decides, and whose store keeps the originals.
    """

    def __init__(self, *, engine: ContextManager) -> None:
        self.engine = engine

    def register_hooks(self, registry: HookRegistry, **_: Any) -> None:
        """Registers the hook after each tool call."""
        registry.add_callback(AfterToolCallEvent, self._after_tool_call)

    async def _after_tool_call(self, event: AfterToolCallEvent) -> None:
        tool = str(event.tool_use.get("name", "tool"))
        try:
            result = await self.engine.ashrink(tool, event.result)
        except Exception:
            logger.exception("tool=<%s> | the result was left as it is", tool)
            return
        if result is not event.result:
            event.result = result
