"""What the log of an agent's session holds, as far as the session says."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ullage.logger import Logger

if TYPE_CHECKING:
    from strands.types.content import Message

logger = Logger(__name__)

# What Strands puts in the place of a result that a log lacks.
_FILLED_IN = "Tool was interrupted."


class LogOf:
    """The log of an agent's session, where its session manager keeps one.

    No public name of Strands leads to it, but each agent has its session manager, and every manager
    with a log has a repository and notes the last message of each agent.
    """

    def __init__(self, agent: Any) -> None:
        self._agent = agent
        self._sessions = getattr(agent, "_session_manager", None)

    @property
    def length(self) -> int | None:
        """How many messages it has; None where nobody knows."""
        latest = getattr(self._sessions, "_latest_agent_message", None)
        last = latest.get(self._agent.agent_id) if isinstance(latest, dict) else None
        number = getattr(last, "message_id", None)
        return number + 1 if isinstance(number, int) else None

    def kept_at_end(self, messages: list[Message]) -> int:
        """How many messages at the end are those at the end of the log, which is read for it.

        None of them, where it cannot be read.
        """
        length = self.length
        if length is None or self._sessions is None:
            return 0
        try:
            stored = self._sessions.session_repository.list_messages(
                session_id=self._sessions.session_id,
                agent_id=self._agent.agent_id,
                offset=max(0, length - len(messages)),
            )
        except Exception:
            # Any session of anybody's; what it could not read is stored once more.
            logger.warning("the log of the session could not be read again", exc_info=True)
            return 0
        kept = 0
        for message, one in zip(reversed(messages), reversed(stored), strict=False):
            if message != one.to_message():
                break
            kept += 1
        return kept


def may_be_mended(messages: list[Any]) -> bool:
    """Whether Strands may have filled in a result that the log of these messages lacks."""
    results = (
        block["toolResult"]
        for message in messages
        for block in message.get("content") or ()
        if isinstance(block, dict) and isinstance(block.get("toolResult"), dict)
    )
    return any(
        isinstance(item, dict) and item.get("text") == _FILLED_IN
        for result in results
        for item in result.get("content") or ()
    )
