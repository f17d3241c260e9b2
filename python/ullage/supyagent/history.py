"""Functions for Supyagent's histories, which are lists of messages in OpenAI's format."""

from __future__ import annotations

from typing import Any

import ullage
from ullage._engine.roles import is_system, role_of
from ullage.supyagent.tokens import FORMAT


def summary_end(messages: list[Any], begin: int, last: int, recent: int) -> int:
    """Returns the end of the messages that a summary from ``begin`` on may replace.

    A summary may replace messages up to ``last``. It may not replace the ``recent`` last messages
    of the list, or a call without its results. If no message may be replaced, the returned end is
    ``begin`` or less.
    """
    end = min(last + 1, len(messages) - recent)
    if end <= begin:
        return end
    cuts = ullage.Conversation(messages[begin:], FORMAT).cut_points
    return begin + max(cut for cut in cuts if cut <= end - begin)


def with_other_system_messages(messages: list[Any], role: str, head: str = "") -> list[Any]:
    """Returns the messages, with another role for system messages after the beginning.

    Returns the same list if there are none. The engine never removes a system message. But some
    hosts put dozens of them in the middle, and Supyagent treats these like other messages.
    """
    system = [place for place, message in enumerate(messages) if is_system(message)]
    others = [place for number, place in enumerate(system) if place != number]
    if not others:
        return messages
    shown = list(messages)
    for place in others:
        message = messages[place]
        text = message.get("content")
        content = f"{head}{text}" if isinstance(text, str) else text
        shown[place] = {**message, "role": role, "content": content}
    return shown


def requests_in(messages: list[Any]) -> list[int]:
    """Returns the indices of the user's messages."""
    return [place for place, message in enumerate(messages) if role_of(message) == "user"]
