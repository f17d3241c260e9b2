"""Pins of hosts: ``metadata.custom.pinned`` of a message."""

from __future__ import annotations

from typing import Any


def has_pin(message: Any) -> bool:
    """True if this message has a pin itself."""
    found = message
    for name in ("metadata", "custom", "pinned"):
        found = found.get(name) if isinstance(found, dict) else None
    return found is True
