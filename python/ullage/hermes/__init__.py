"""ullage in Hermes Agent.

    plugins:
      enabled: [ullage]
    context:
      engine: ullage

Needs ``hermes-agent`` (the extra ``ullage[hermes]``). See ``docs/hermes.md``.
"""

from __future__ import annotations

from typing import Any

from hermes_constants import get_hermes_home

from ullage import FileStore
from ullage.hermes.engine import CompactionEngine

__all__ = ["CompactionEngine", "register"]


def register(ctx: Any) -> None:
    """Registers an engine with default settings. Hermes calls this for the plugin ``ullage``.

    Removed text is kept in the folder ``ullage`` of Hermes' home.

    Args:
        ctx: The context that Hermes gives to a plugin.
    """
    CompactionEngine(store=FileStore(get_hermes_home() / "ullage")).register(ctx)
