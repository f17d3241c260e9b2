"""Mounts a context: reads the configuration of a mount plan, and joins a session."""

from __future__ import annotations

import difflib
import inspect
import pkgutil
from collections.abc import Mapping
from typing import Any

from ullage import PolicyError

# Settings whose value is a function. In YAML the value is its name, as "package.module:name".
_FUNCTIONS = frozenset({"compaction_function", "importance", "on_compaction"})
# Parameters that a coordinator gives rather than a mount plan.
_NOT_CONFIGURED = frozenset({"self", "hooks"})


def arguments(constructor: Any, config: dict[str, Any] | None) -> dict[str, Any]:
    """Returns the arguments of a constructor from a configuration, or none without one.

    Raises:
        PolicyError: If a setting is unknown, or names a function that does not exist.
    """
    names = {
        name
        for base in inspect.getmro(constructor)
        for name, parameter in inspect.signature(base).parameters.items()
        if parameter.kind is not inspect.Parameter.VAR_KEYWORD
    } - _NOT_CONFIGURED
    if config is not None and not isinstance(config, Mapping):
        raise PolicyError(f"the configuration must be a mapping; got a {type(config).__name__}")
    settings = dict(config or {})
    for name in settings:
        if name not in names:
            near = difflib.get_close_matches(str(name), sorted(names), n=1)
            remedy = f"did you mean {near[0]}?" if near else f"use {', '.join(sorted(names))}"
            raise PolicyError(f"there is no setting '{name}'; {remedy}")
    return {n: _function(n, v) if n in _FUNCTIONS else v for n, v in settings.items()}


async def mount_in(coordinator: Any, context: Any) -> None:
    """Mounts a context by the coordinator of Amplifier's code, or as its guide shows."""
    context.join(coordinator)
    if hasattr(coordinator, "mount"):
        await coordinator.mount("context", context)
    else:
        coordinator.context = context


def _function(setting: str, value: Any) -> Any:
    if value is None or callable(value):
        return value
    try:
        function = pkgutil.resolve_name(str(value))
    except (ImportError, AttributeError, ValueError) as error:
        raise PolicyError(
            f"{setting} must name a function as 'package.module:name'; {value!r} cannot be loaded:"
            f" {error}"
        ) from error
    if not callable(function):
        raise PolicyError(
            f"{setting} must name a function as 'package.module:name'; {value!r} is not a function"
        )
    return function
