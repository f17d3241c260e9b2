"""Which calls are known to have succeeded.

A pointer says that something was written, so it needs a word for it: a result that is pending, that
says no, or that says nothing to the point, is none. If a text stays in the conversation, nothing is
lost.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import ullage
from ullage.logger import Logger
from ullage.valis.calls import calls_in, results_in
from ullage.valis.messages import readable
from ullage.valis.notes import format_of

if TYPE_CHECKING:
    from ullage.valis.calls import Call

logger = Logger(__name__)

# Calls that went well, by the indices of their messages and their numbers among its calls.
Succeeded: TypeAlias = dict[tuple[int, int], "Call"]


def succeeded(messages: list[Any]) -> tuple[Succeeded, set[int]]:
    """The calls whose results say that they went well, and what those results are, by identity."""
    listed = [readable(message) for message in messages]
    try:
        conversation = ullage.Conversation(listed, format_of(listed))
    except ullage.MessageError as error:
        logger.debug("error=<%s> | the outcomes of calls cannot be read", error)
        return {}, set()
    # A call may be answered twice, and one of the answers be the worse.
    doubtful = {
        result.id
        for result in conversation.results
        if result.call is None and result.outcome != "succeeded"
    }
    good: Succeeded = {}
    holders: set[int] = set()
    for call in conversation.calls:
        result = call.result
        if result is None or result.outcome != "succeeded" or (call.id and call.id in doubtful):
            continue
        good[call.message, call.number] = calls_in(messages[call.message])[call.number]
        holders.add(id(results_in(messages[result.message])[result.number].holder))
    return good, holders
