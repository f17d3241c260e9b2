"""Looking at a history in OpenAI's format."""

from __future__ import annotations

from typing import Any


def readable(messages: list[Any]) -> list[Any]:
    """The messages, with an empty text where a host wrote none."""
    if any(_says_nothing(message) for message in messages):
        return [{**m, "content": ""} if _says_nothing(m) else m for m in messages]
    return messages


def before_results(messages: list[Any], begin: int, end: int) -> int:
    """The end, moved in front of a call whose results stand behind it, or are still to come."""
    while begin < end < len(messages) and _role(messages[end]) == "tool":
        end -= 1
    while begin < end and waits(messages[begin:end]):
        end -= 1
    return end


def first_request(messages: list[Any], end: int) -> int | None:
    """Where the first message of the user is, in front of ``end``."""
    return next((place for place in range(end) if _role(messages[place]) == "user"), None)


def last_request(messages: list[Any]) -> int | None:
    """Where the last message of the user is."""
    places = range(len(messages) - 1, -1, -1)
    return next((place for place in places if _role(messages[place]) == "user"), None)


def waits(messages: list[Any]) -> bool:
    """Whether the last call has not all of its results: the turn was interrupted."""
    answered: set[Any] = set()
    for message in reversed(messages):
        if _role(message) != "tool":
            calls = message.get("tool_calls") if isinstance(message, dict) else None
            ids = {call.get("id") for call in calls or () if isinstance(call, dict)}
            return not ids <= answered
        answered.add(message.get("tool_call_id"))
    return False


def _role(message: Any) -> Any:
    return message.get("role") if isinstance(message, dict) else None


def _says_nothing(message: Any) -> bool:
    return (
        isinstance(message, dict)
        and message.get("content") is None
        and message.get("role") in ("user", "system")
    )
