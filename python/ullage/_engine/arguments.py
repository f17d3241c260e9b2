"""Checks the arguments of an engine and fills in the defaults."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ullage._core import Policy, PolicyError, TokenCounter
from ullage.models.catalog import BUILT_IN, ModelCatalog

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ullage.stores.protocol import Store


def require_number(name: str, value: Any, *, least: int, most: int | None = None) -> None:
    """Refuses what is no whole number from ``least`` on, up to ``most`` if that is given.

    Raises:
        PolicyError: If it is anything else.
    """
    is_number = isinstance(value, int) and not isinstance(value, bool)
    if not is_number or value < least or (most is not None and value > most):
        end = "on" if most is None else f"to {most}"
        raise PolicyError(f"{name}: it is {value!r}; it must be a number from {least} {end}")


def require_share(name: str, value: Any, *, above_zero: bool) -> None:
    """Refuses what is no number from 0, or above 0, to 1.

    Raises:
        PolicyError: If it is anything else.
    """
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if not is_number or not 0 <= value <= 1 or (above_zero and value == 0):
        least = "above 0" if above_zero else "from 0"
        raise PolicyError(f"{name}: it is {value!r}; it must be a share {least} to 1")


def require_bool(name: str, value: Any) -> None:
    """Refuses what is neither True nor False, such as the text "no" of a YAML file.

    Raises:
        PolicyError: If it is anything else.
    """
    if not isinstance(value, bool):
        raise PolicyError(f"{name}: it is {value!r}; it must be true or false")


def require_choice(name: str, value: Any, choices: Sequence[str]) -> None:
    """Refuses what is not one of the choices.

    Raises:
        PolicyError: If it is anything else.
    """
    if value not in choices:
        raise PolicyError(f"{name}: it is {value!r}; it must be one of {', '.join(choices)}")


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
