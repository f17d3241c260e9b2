"""ullage in the LiteLLM proxy.

    litellm_settings:
      callbacks: ullage.litellm.context

Needs ``litellm`` (the extra ``ullage[litellm]``). See ``docs/litellm.md``.
"""

from typing import Any

from ullage.litellm.callback import ContextCallback

__all__ = ["ContextCallback"]


def __getattr__(name: str) -> Any:
    """Makes ``context``, a callback with default settings, for a configuration without code."""
    if name != "context":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    made = globals()[name] = ContextCallback()
    return made
