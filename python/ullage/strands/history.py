"""Keeps histories valid for providers: repairs, durable ids and pins."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from uuid import uuid4

from strands.types.content import Message

from ullage import ContextManager, Conversation, MessageError, Policy, TokenCounter, repair
from ullage._engine.logger import Logger
from ullage._engine.pins import has_pin
from ullage.strands.agents import PerAgent
from ullage.strands.snapshot import TrackedView, is_same

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ullage import Repaired

logger = Logger(__name__)

# Strands requires a durable id of every message since 1.62.
_HAS_IDS = "tracking_id" in Message.__annotations__

# Its window is never full, so its views repair and never compact.
_REPAIRS = ContextManager(
    Policy(window=1 << 40), counter=TokenCounter.preset("cyber-autoagent"), format="bedrock"
)
_VIEWS: PerAgent[TrackedView] = PerAgent(lambda _: TrackedView(_REPAIRS))


def identify(messages: list[Any], known: Iterable[Any]) -> None:
    """Gives a durable id to each new message without one. ``known`` messages stay as they are.

    Strands does so for every message that it appends. Messages of others are not changed.
    """
    if not _HAS_IDS:
        return
    others = set(map(id, known))
    for message in messages:
        if id(message) not in others and not message.get("tracking_id"):
            message["tracking_id"] = str(uuid4())


def with_pin(message: Any) -> Any:
    """Returns the message if it has a pin, otherwise a copy with one."""
    if has_pin(message):
        return message
    metadata = message.get("metadata") or {}
    custom = {**(metadata.get("custom") or {}), "pinned": True}
    return {**message, "metadata": {**metadata, "custom": custom}}


def repair_request(agent: Any, messages: list[Any]) -> None:
    """Repairs in place what a provider would reject in the messages of a request.

    Costs a comparison of the messages of the last request, and O(new messages). If an earlier
    message has changed, O(messages).
    """
    try:
        valid = _VIEWS.of(agent).following(messages).messages(messages)
        if not is_same(valid, messages):
            messages[:] = _repair(messages)
    except (AttributeError, LookupError, TypeError, MessageError) as error:
        logger.debug("error=<%s> | the history cannot be read, and was left as it is", error)


def repair_history(messages: list[Any]) -> list[Any]:
    """Returns the repaired messages. Calls that may still be answered stay as they are."""
    try:
        waiting = [call.message for call in Conversation(messages, "bedrock").calls if call.waits]
        end = min(waiting, default=len(messages))
        return [*_repair(messages[:end]), *messages[end:]]
    except MessageError as error:
        logger.debug("error=<%s> | the history cannot be read, and was left as it is", error)
        return messages


def _repair(messages: list[Any]) -> Repaired:
    """Returns the repaired messages, gives them ids and logs which rules were broken.

    Raises:
        MessageError: If a message cannot be read.
    """
    whole = repair(messages, "bedrock")
    identify(whole, messages)
    if whole.repairs:
        rules = ", ".join(sorted({done.rule for done in whole.repairs}))
        logger.info("repairs=<%d>, rules=<%s> | repaired", len(whole.repairs), rules)
    return whole
