"""Checks the arguments of an adapter."""

from __future__ import annotations

from typing import Any

from ullage import ContextManager, Policy, PolicyError


def require_engine(engine: Any) -> None:
    """Raises an error if the value is not an engine.

    Raises:
        PolicyError: If it is neither a ``ContextManager`` nor None.
    """
    if engine is None or isinstance(engine, ContextManager):
        return
    if isinstance(engine, Policy):
        name = "policy"
    elif isinstance(engine, str):
        name = "model"
    else:
        name = "store" if hasattr(engine, "put") and hasattr(engine, "get") else ""
    remedy = f"; give it as {name}=" if name else ""
    raise PolicyError(f"engine must be a ContextManager; got {type(engine).__name__}{remedy}")
