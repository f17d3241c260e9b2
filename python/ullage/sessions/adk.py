"""Reads sessions of Google ADK in JSON."""

from __future__ import annotations

from typing import Any


def is_session(value: dict[str, Any]) -> bool:
    """True if the value is a session with its events."""
    return isinstance(value.get("events"), list)


def contents(session: dict[str, Any]) -> list[Any]:
    """Returns the contents of the events, as they were sent to the model.

    A partial event is followed by the whole one. An event without content is about an action.
    """
    found = []
    for event in session["events"]:
        content = event.get("content") if isinstance(event, dict) else None
        if not isinstance(content, dict) or not content.get("parts") or event.get("partial"):
            continue
        role = content.get("role") or ("user" if event.get("author") == "user" else "model")
        found.append({**content, "role": role})
    return found
