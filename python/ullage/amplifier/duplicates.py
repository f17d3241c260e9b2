"""Which messages say again what another one says."""

from __future__ import annotations

import json
from typing import Any

from ullage.amplifier.shape import is_system, is_tool_message


def without_duplicates(messages: list[Any]) -> list[Any]:
    """The messages without those that a later one repeats word for word. O(characters).

    Only the newest of them stays. The first request stays too, because it is the task, and system
    messages and whatever belongs to a call or a result always do. Amplifier compared the first
    characters; here all of them count, so that nothing is lost that is said only once.

    Args:
        messages: The conversation.

    Returns:
        A new list of the same objects.
    """
    task = next((n for n, m in enumerate(messages) if m.get("role") == "user"), None)
    seen: set[tuple[Any, str]] = set()
    kept = []
    for index in reversed(range(len(messages))):
        message = messages[index]
        if not is_system(message) and not is_tool_message(message):
            said = (message.get("role"), _words(message.get("content")))
            if said in seen and index != task:
                continue
            seen.add(said)
        kept.append(message)
    kept.reverse()
    return kept


def _words(content: Any) -> str:
    if isinstance(content, str):
        return content
    return json.dumps(content, sort_keys=True, default=repr)
