"""Looking at a history in OpenAI's format."""

from __future__ import annotations

from typing import Any

import ullage
from ullage.supyagent.tokens import FORMAT

# OpenAI's newer models call the first role by the second name.
_SYSTEM = frozenset({"system", "developer"})


def readable(messages: list[Any]) -> list[Any]:
    """The messages, with an empty text where a host wrote none."""
    if any(_says_nothing(message) for message in messages):
        return [{**m, "content": ""} if _says_nothing(m) else m for m in messages]
    return messages


def summarizable(messages: list[Any], begin: int, last: int, recent: int) -> int:
    """Behind the last message that a summary from ``begin`` on may stand for.

    That is the message ``last`` at most, none of the ``recent`` ones, and no call without its
    results. It is ``begin``, or less, if there is none.
    """
    end = min(last + 1, len(messages) - recent)
    if end <= begin:
        return end
    cuts = ullage.Conversation(messages[begin:], FORMAT).cut_points
    return begin + max(cut for cut in cuts if cut <= end - begin)


def beginning(messages: list[Any]) -> int:
    """How many system messages stand in front of everything else."""
    places = range(len(messages))
    return next((place for place in places if _role(messages[place]) not in _SYSTEM), len(messages))


def as_others(messages: list[Any], begin: int, role: str, head: str = "") -> dict[int, Any]:
    """System messages from ``begin`` on, each as a message of ``role``, by their places.

    The engine never removes a system message. Supyagent takes those in the middle, which hosts put
    there by the dozen, as messages like all others.
    """
    found = {}
    for place in range(begin, len(messages)):
        message = messages[place]
        if _role(message) in _SYSTEM:
            said = message.get("content")
            content = f"{head}{said}" if isinstance(said, str) else said
            found[place] = {**message, "role": role, "content": content}
    return found


def first_request(messages: list[Any], end: int) -> int | None:
    """Where the first message of the user is, in front of ``end``."""
    return next((place for place in range(end) if _role(messages[place]) == "user"), None)


def last_request(messages: list[Any]) -> int | None:
    """Where the last message of the user is."""
    places = range(len(messages) - 1, -1, -1)
    return next((place for place in places if _role(messages[place]) == "user"), None)


def waits(messages: list[Any]) -> bool:
    """True if the last call has not all of its results: the turn was interrupted."""
    # Nothing before the last request can wait.
    since = messages[last_request(messages) or 0 :]
    return any(call.waits for call in ullage.Conversation(since, FORMAT).open_calls)


def _role(message: Any) -> Any:
    return message.get("role") if isinstance(message, dict) else None


def _says_nothing(message: Any) -> bool:
    return (
        isinstance(message, dict)
        and message.get("content") is None
        and _role(message) in {"user", *_SYSTEM}
    )
