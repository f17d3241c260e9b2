"""``PassiveConversationManager``: remembers for a session what others did to the messages."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from strands.agent.conversation_manager import (
    NullConversationManager,
    SlidingWindowConversationManager,
)

from ullage._engine.logger import Logger
from ullage.strands.session import RestorableConversationManager

if TYPE_CHECKING:
    from strands import Agent

    from ullage.strands.refusals import Refusals

logger = Logger(__name__)


class PassiveConversationManager(RestorableConversationManager):
    """Changes nothing, and remembers for a session what others have changed.

    Strands' ``NullConversationManager`` changes nothing either, but an agent that comes back from
    a session with it has its messages as they arrived: what a plugin, a strategy or a user did to
    them is undone.
    """

    _is_seam = False

    def __init__(self) -> None:
        super().__init__()
        # The refusals know why the context could not be made smaller.
        self.refusals: Refusals | None = None

    def apply_management(self, agent: Agent, **_: Any) -> None:
        """Leaves the messages as they are."""

    def reduce_context(self, agent: Agent, e: Exception | None = None, **_: Any) -> None:  # noqa: ARG002
        """Leaves the messages as they are.

        Raises:
            ContextWindowOverflowException: If ``e`` is given and it is known why the messages
                cannot be made smaller.
            Exception: ``e``, if it is given and nothing is known.
        """
        if self.refusals is not None:
            self.refusals.raise_problem(e)
        if e is not None:
            raise e

    @classmethod
    def take_over(cls, agent: Agent, refusals: Refusals) -> None:
        """Takes the place of a manager that does nothing, or that the agent was not given.

        It has to be called before the agent is initialized, as plugins and strategies are.
        """
        manager = agent.conversation_manager
        if type(manager) is not NullConversationManager and not _is_default(manager):
            return
        own = cls()
        own.refusals = refusals
        agent.conversation_manager = own
        agent.hooks.add_hook(own)
        logger.debug("manager=<%s> | replaced", type(manager).__name__)


def _is_default(manager: Any) -> bool:
    """Returns True if this is the manager of an agent that was given none."""
    return type(manager) is SlidingWindowConversationManager and _settings(manager) == _settings(
        SlidingWindowConversationManager()
    )


def _settings(manager: Any) -> dict[str, Any]:
    return {key: value for key, value in vars(manager).items() if key != "removed_message_count"}
