"""``SummaryChain``: tells a summarizer which summary stands in front of the events it gets."""

from __future__ import annotations

from typing import TYPE_CHECKING

from google.adk.plugins.base_plugin import BasePlugin

from ullage._engine.logger import Logger

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from google.adk.agents.invocation_context import InvocationContext
    from google.adk.events.event import Event

logger = Logger(__name__)


class SummaryChain(BasePlugin):
    """Shows a summarizer each session before ADK compacts it.

    ADK gives a summarizer events and no session, and leaves earlier summaries out of them.

    Args:
        note: Takes the id of an invocation and the events of its session.
        name: The name of the plugin, of which an app has one of each.
    """

    def __init__(
        self, note: Callable[[str, Sequence[Event]], None], name: str = "ullage_summary_chain"
    ) -> None:
        super().__init__(name=name)
        self._note = note

    async def after_run_callback(self, *, invocation_context: InvocationContext) -> None:
        """Shows the session, which ADK compacts next. Never raises."""
        try:
            self._note(invocation_context.invocation_id, invocation_context.session.events)
        except Exception:
            logger.exception("the summary before was not found: a new one stands beside it")
