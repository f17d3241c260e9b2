"""Repairs histories, so that providers accept every request."""

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


class _LastRequest:
    """The messages of an agent's last request, which were valid."""

    def __init__(self, _: Any) -> None:
        self.messages = Remembered()


_LAST_REQUESTS: PerAgent[_LastRequest] = PerAgent(_LastRequest)


def repair_request(agent: Any, messages: list[Any]) -> None:
    """Repairs in place what a provider would reject in the messages of a request.

    Costs a comparison of the messages of the last request, and O(new messages). If an earlier
    message has changed, O(messages).
    """
    last = _LAST_REQUESTS.of(agent)
    try:
        known = len(last.messages) if last.messages.begins(messages) else 0
        # Every rule is about neighbours: an answer that is known to be valid is a place to start.
        start = next((i for i in range(known - 1, 0, -1) if not _is_users(messages[i])), 0)
        if validate([_BEFORE, *messages[start:]] if start else messages, "bedrock"):
            messages[:] = _repair(messages)
            known = 0
        if known:
            last.messages.add(messages[known:])
        else:
            last.messages = Remembered(messages)
    except (AttributeError, LookupError, TypeError, MessageError) as error:
        logger.debug("error=<%s> | the history cannot be read, and was left as it is", error)


def repair_history(messages: list[Any]) -> list[Any]:
    """Returns the repaired messages. Calls that may still be answered stay as they are."""
    end = len(messages) - _waiting(messages)
    try:
        return [*_repair(messages[:end]), *messages[end:]]
    except MessageError as error:
        logger.debug("error=<%s> | the history cannot be read, and was left as it is", error)
        return messages


def has_calls(message: Any) -> bool:
    """True if the message calls tools."""
    return any("toolUse" in block for block in message["content"])


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


def _waiting(messages: list[Any]) -> int:
    """Returns the number of messages at the end with calls that may still be answered."""
    if messages and has_calls(messages[-1]):
        return 1
    half = len(messages) > 1 and has_calls(messages[-2])
    return 2 if half and call_ids(messages[-2]) - call_ids(messages[-1]) else 0


def _is_users(message: Any) -> bool:
    return bool(message["role"] == "user")
