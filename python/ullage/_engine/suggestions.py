"""Suggests the right name for an unknown argument, as Python itself does from 3.13 on."""

from __future__ import annotations

import re
from difflib import get_close_matches
from functools import wraps
from inspect import signature
from typing import TYPE_CHECKING, ParamSpec, TypeVar

from ullage._core import Policy

if TYPE_CHECKING:
    from collections.abc import Callable

_P = ParamSpec("_P")
_R = TypeVar("_R")
_UNKNOWN = re.compile(r"^(.* got an unexpected keyword argument '(\w+)')(?:\. Did you mean .*)?$")


def suggesting(function: Callable[_P, _R]) -> Callable[_P, _R]:
    """Makes the error about an unknown argument of ``function`` name the nearest argument.

    If ``function`` takes a policy, the error also recognizes the settings of a policy.
    """

    @wraps(function)
    def call(*args: _P.args, **kwargs: _P.kwargs) -> _R:
        try:
            return function(*args, **kwargs)
        except TypeError as error:
            unknown = _UNKNOWN.match(str(error))
            at = error.__traceback__
            # An error from inside the function has a frame below this one.
            if unknown is None or (at is not None and at.tb_next is not None):
                raise
            problem, name = unknown.groups()
            hint = _hint(name, list(signature(function).parameters))
            if hint is None:
                raise
            raise TypeError(f"{problem}. {hint}") from None

    return call


def _hint(name: str, parameters: list[str]) -> str | None:
    settings = set(Policy().to_dict()) if "policy" in parameters else set()
    near = get_close_matches(name, [*parameters, *settings.difference(parameters)], n=1)
    if not near:
        return None
    if near[0] in parameters:
        return f"Did you mean '{near[0]}'?"
    return f"'{near[0]}' is a setting of the policy: pass policy=ullage.Policy({near[0]}=...)"
