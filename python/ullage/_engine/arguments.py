"""Checks the arguments of an engine and fills in the defaults."""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike
from typing import TYPE_CHECKING, Any

from ullage._core import MessageError, Policy, PolicyError, TokenCounter
from ullage._engine.wording import type_of
from ullage.models.catalog import BUILT_IN, ModelCatalog

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ullage.stores.protocol import Store


def is_whole(value: object) -> bool:
    """True if the value is a whole number. A bool is not one here."""
    return isinstance(value, int) and not isinstance(value, bool)


def require_budget(budget: object) -> None:
    """Refuses a budget that is neither None nor a whole number.

    Raises:
        TypeError: If it is any other value.
    """
    if budget is not None and not is_whole(budget):
        raise TypeError(f"budget must be a whole number of tokens; got {budget!r}")


def require_number(name: str, value: Any, *, least: int, most: int | None = None) -> None:
    """Refuses a value that is not a whole number from ``least`` to ``most``, if given.

    Raises:
        PolicyError: If it is any other value.
    """
    if not is_whole(value) or value < least or (most is not None and value > most):
        end = "or more" if most is None else f"to {most}"
        raise PolicyError(f"{name}: must be a whole number, {least} {end}; got {value!r}")


def require_share(name: str, value: Any, *, above_zero: bool) -> None:
    """Refuses a value that is not a number from 0, or above 0, to 1.

    Raises:
        PolicyError: If it is any other value.
    """
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if not is_number or not 0 <= value <= 1 or (above_zero and value == 0):
        least = "above 0" if above_zero else "from 0"
        raise PolicyError(f"{name}: must be a number {least} to 1; got {value!r}")


def require_bool(name: str, value: Any) -> None:
    """Refuses a value that is not a bool, such as the text "no" of a YAML file.

    Raises:
        PolicyError: If it is any other value.
    """
    if not isinstance(value, bool):
        raise PolicyError(f"{name}: must be True or False; got {value!r}")


def require_choice(name: str, value: Any, choices: Sequence[str]) -> None:
    """Refuses a value that is not one of the choices.

    Raises:
        PolicyError: If it is any other value.
    """
    if value not in choices:
        raise PolicyError(f"{name}: must be one of {', '.join(choices)}; got {value!r}")


def require_callable(name: str, value: Any) -> None:
    """Refuses a value that is neither None nor a function.

    Raises:
        PolicyError: If it is any other value.
    """
    if value is not None and not callable(value):
        raise PolicyError(f"{name}: it is {type_of(value)}; give a function")
    # Calling `str` returns text. Calling a class of the host's returns an instance, which nobody
    # calls.
    if isinstance(value, type) and value is not str:
        raise _class_error(name, value)


def require_store(store: Any, *methods: str) -> None:
    """Refuses a value that is not a store with these methods.

    Raises:
        PolicyError: If it is any other value.
    """
    if isinstance(store, type):
        raise _class_error("store", store)
    if not all(hasattr(store, method) for method in methods):
        names = " and ".join(f"`{method}`" for method in methods)
        remedy = _remedy("store", store)
        raise PolicyError(f"store: it is {type_of(store)}, which has no {names}{remedy}")


def not_a_list(messages: Any, remedy: str = "give a list of messages") -> MessageError:
    """Returns the error for a value that is not a list of messages.

    Args:
        messages: The value.
        remedy: The advice, if the value itself gives none.
    """
    if isinstance(messages, Mapping):
        lists = (key for key in ("messages", "contents", "input") if key in messages)
        key = next(lists, None)
        remedy = f"give the list in its {key!r}" if key else "put a single message into a list"
    elif isinstance(messages, int):
        remedy = "give the messages first, then the budget"
    elif isinstance(messages, (str, PathLike)):
        remedy = "`ullage.sessions.read_sessions` reads the messages in a file"
    return MessageError(f"the messages are {type_of(messages)}, not a list; {remedy}")


def _class_error(name: str, kind: type) -> PolicyError:
    return PolicyError(f"{name}: it is the class; give an instance, {kind.__name__}(...)")


def _remedy(name: str, value: Any) -> str:
    """Returns what to write in place of a value of the wrong type; empty if unknown."""
    match name, value:
        case "policy", str():
            return f"; use {_policy_named(value)}"
        case "policy", Mapping():
            return "; use Policy.from_dict(...)"
        case "policy", list():
            return "; messages are given to `compact`, `view` and `plan`"
        case "counter", str():
            return f"; use TokenCounter.for_model({value!r})"
        case "store", str() | PathLike():
            return f"; use FileStore({str(value)!r})"
        case _:
            return ""


def _policy_named(name: str) -> str:
    try:
        Policy.preset(name)
    except PolicyError:
        return f"model={name!r} for the id of a model"
    return f"Policy.preset({name!r})"


def policy_and_counter(
    policy: Policy | None,
    counter: TokenCounter | None,
    *,
    store: Store | None,
    summarizer: Any,
    model: str | None,
    catalog: ModelCatalog | None,
) -> tuple[Policy, TokenCounter]:
    """Returns the policy and the counter: the given ones, else those of the model.

    Raises:
        PolicyError: If an argument is invalid.
    """
    for name, value, kind in (
        ("policy", policy, Policy),
        ("counter", counter, TokenCounter),
        ("model", model, str),
        ("catalog", catalog, ModelCatalog),
    ):
        if isinstance(value, type):
            raise _class_error(name, kind)
        if value is not None and not isinstance(value, kind):
            remedy = _remedy(name, value)
            raise PolicyError(f"{name}: it is {type_of(value)}, not a {kind.__name__}{remedy}")
    if store is not None:
        require_store(store, "put", "get")
    require_callable("summarizer", summarizer)
    if model is not None:
        catalog = BUILT_IN if catalog is None else catalog
        policy = catalog.limits(model).policy() if policy is None else policy
        counter = TokenCounter.for_model(model) if counter is None else counter
    policy = Policy() if policy is None else policy
    if policy.summaries == "required" and summarizer is None:
        raise PolicyError("summaries: 'required' needs a summarizer")
    return policy, TokenCounter("o200k_base") if counter is None else counter
