"""Repairs histories, so that providers accept every request."""

from __future__ import annotations

from operator import is_
from typing import Any

from ullage import ContextManager, MessageError, Policy, Repaired, TokenCounter, repair
from ullage.logger import Logger
from ullage.strands.agents import PerAgent
from ullage.strands.identity import identify
from ullage.strands.pins import call_ids
from ullage.strands.remembered import TrackedView

logger = Logger(__name__)

# Nothing is ever due to it: its views repair, and do nothing else.
_REPAIRS = ContextManager(
    Policy(window=1 << 40), counter=TokenCounter.preset("cyber-autoagent"), format="bedrock"
)
_VIEWS: PerAgent[TrackedView] = PerAgent(lambda _: TrackedView(_REPAIRS))


def repair_request(agent: Any, messages: list[Any]) -> None:
    """Repairs in place what a provider would reject in the messages of a request.

    Costs a comparison of the messages of the last request, and O(new messages). If an earlier
    message has changed, O(messages).
    """
    try:
        valid = _VIEWS.of(agent).following(messages).messages(messages)
        if len(valid) != len(messages) or not all(map(is_, valid, messages)):
            messages[:] = _repair(messages)
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
