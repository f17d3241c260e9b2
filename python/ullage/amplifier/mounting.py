"""Putting a context into a session."""

from __future__ import annotations

from typing import Any


async def mounted(coordinator: Any, context: Any) -> None:
    """Mounts a context: by the coordinator of Amplifier's code, or as its guide has it."""
    if hasattr(coordinator, "mount"):
        await coordinator.mount("context", context)
    else:
        coordinator.context = context
