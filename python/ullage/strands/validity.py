"""Requests that providers accept, whatever the history looks like."""

from __future__ import annotations

from typing import Any

from ullage import MessageError, Repaired, repair, validate
from ullage.logger import Logger
from ullage.strands.agents import PerAgent
from ullage.strands.identity import identify
from ullage.strands.pins import call_ids
from ullage.strands.remembered import Remembered

logger = Logger(__name__)

# Stands for the messages that are not validated again.
_BEFORE = {"role": "user", "content": [{"text": "..."}]}


class _Valid:
    """The last request of an agent."""

    def __init__(self, _: Any) -> None:
        self.messages = Remembered()


_VALID: PerAgent[_Valid] = PerAgent(_Valid)


def repair_request(agent: Any, messages: list[Any]) -> None:
    """Repairs in place what a provider would reject in the messages of a request.

    Costs a comparison of the messages of the last request, and O(new messages). If an earlier
    message has changed, O(messages).
    """
    valid = _VALID.of(agent)
    try:
        known = len(valid.messages) if valid.messages.begins(messages) else 0
        # Every rule is about neighbours: an answer that is known to be valid is a place to start.
        start = next((i for i in range(known - 1, 0, -1) if not _is_users(messages[i])), 0)
        if validate([_BEFORE, *messages[start:]] if start else messages, "bedrock"):
            messages[:] = _repaired(messages)
            known = 0
        if known:
            valid.messages.add(messages[known:])
        else:
            valid.messages = Remembered(messages)
    except (AttributeError, LookupError, TypeError, MessageError) as error:
        logger.debug("error=<%s> | the history cannot be read, and was left as it is", error)


def mended(messages: list[Any]) -> list[Any]:
    """The messages as a provider takes them, but for calls that may still be answered."""
    end = len(messages) - _waiting(messages)
    try:
        return [*_repaired(messages[:end]), *messages[end:]]
    except MessageError as error:
        logger.debug("error=<%s> | the history cannot be read, and was left as it is", error)
        return messages


def has_calls(message: Any) -> bool:
    """Whether the message calls tools."""
    return any("toolUse" in block for block in message["content"])


def _repaired(messages: list[Any]) -> Repaired:
    """The repaired messages, with ids and with a line in the log.

    Raises:
        MessageError: If a message cannot be read.
    """
    whole = repair(messages, "bedrock")
    identify(whole, messages)
    if whole.repairs:
        rules = ", ".join(sorted({done.rule for done in whole.repairs}))
        logger.info("repairs=<%d>, rules=<%s> | repaired", len(whole.repairs), rules)
    return whole


def _waiting(messages: list[Any]) -> int:
    """The number of messages at the end that have calls which may still be answered."""
    if messages and has_calls(messages[-1]):
        return 1
    half = len(messages) > 1 and has_calls(messages[-2])
    return 2 if half and call_ids(messages[-2]) - call_ids(messages[-1]) else 0


def _is_users(message: Any) -> bool:
    return bool(message["role"] == "user")
