"""Sessions of Google ADK, as JSON."""

from __future__ import annotations

from typing import Any


def is_session(value: dict[str, Any]) -> bool:
    """True if that is a session with its events."""
    return isinstance(value.get("events"), list)


def contents(session: dict[str, Any]) -> list[Any]:
    """Returns the contents of the events, as they were sent to the model.

    A partial event comes again as a whole. An event without content says what was done.
    """
    found = []
    for event in session["events"]:
        content = event.get("content") if isinstance(event, dict) else None
        if not isinstance(content, dict) or not content.get("parts") or event.get("partial"):
            continue
        role = content.get("role") or ("user" if event.get("author") == "user" else "model")
        found.append({**content, "role": role})
    return found
