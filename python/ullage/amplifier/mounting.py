"""Putting a context into a session."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ullage.amplifier.viewing import Viewing


async def mounted(coordinator: Any, context: Viewing) -> None:
    """Mounts a context: by the coordinator of Amplifier's code, or as its guide has it."""
    context.mounted_in(coordinator)
    if hasattr(coordinator, "mount"):
        await coordinator.mount("context", context)
    else:
        coordinator.context = context
