"""Checks the arguments of an engine and fills in the defaults."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ullage._core import Policy, PolicyError, TokenCounter
from ullage.models.catalog import BUILT_IN, ModelCatalog

if TYPE_CHECKING:
    from ullage.stores.protocol import Store


def require_number(name: str, value: Any, *, least: int) -> None:
    """Refuses what is no whole number from ``least`` on.

    Raises:
        PolicyError: If it is anything else.
    """
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise PolicyError(f"{name}: it is {value!r}; it must be a number from {least} on")


def require_callable(name: str, value: Any) -> None:
    """Refuses what is neither None nor a function.

    Raises:
        PolicyError: If it is anything else.
    """
    if value is not None and not callable(value):
        raise PolicyError(f"{name}: a {type(value).__name__} cannot be called")


def settled(
    policy: Policy | None,
    counter: TokenCounter | None,
    *,
    store: Store | None,
    summarizer: Any,
    model: str | None,
    catalog: ModelCatalog | None,
) -> tuple[Policy, TokenCounter]:
    """The policy and the counter: those that are given, else those of the model.

    Raises:
        PolicyError: If an argument is not what it should be.
    """
    for name, value, kind in (
        ("policy", policy, Policy),
        ("counter", counter, TokenCounter),
        ("model", model, str),
        ("catalog", catalog, ModelCatalog),
    ):
        if isinstance(value, type):
            raise PolicyError(f"{name}: it is the class; give an instance, {kind.__name__}(...)")
        if value is not None and not isinstance(value, kind):
            raise PolicyError(f"{name}: it is a {type(value).__name__}, not a {kind.__name__}")
    if isinstance(store, type):
        raise PolicyError(f"store: it is the class; give an instance, {store.__name__}(...)")
    if store is not None and not (hasattr(store, "put") and hasattr(store, "get")):
        raise PolicyError(f"store: a {type(store).__name__} has no `put` and `get`")
    require_callable("summarizer", summarizer)
    if model is not None:
        catalog = BUILT_IN if catalog is None else catalog
        policy = catalog.limits(model).policy() if policy is None else policy
        counter = TokenCounter.for_model(model) if counter is None else counter
    policy = Policy() if policy is None else policy
    if policy.summaries == "required" and summarizer is None:
        raise PolicyError("summaries: 'required' needs a summarizer")
    return policy, TokenCounter("o200k_base") if counter is None else counter
