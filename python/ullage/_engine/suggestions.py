"""Suggests the right name for a misspelled argument, as Python itself does from 3.13 on."""

from __future__ import annotations

import re
import sys
from difflib import get_close_matches
from functools import wraps
from inspect import signature
from typing import TYPE_CHECKING, ParamSpec, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

_P = ParamSpec("_P")
_R = TypeVar("_R")
_UNKNOWN = re.compile(r"got an unexpected keyword argument '(\w+)'$")


def suggesting(function: Callable[_P, _R]) -> Callable[_P, _R]:
    """Makes the error about an unknown argument of ``function`` name the nearest argument."""

    @wraps(function)
    def call(*args: _P.args, **kwargs: _P.kwargs) -> _R:
        try:
            return function(*args, **kwargs)
        except TypeError as error:
            unknown = _UNKNOWN.search(str(error))
            at = error.__traceback__
            # An error from inside the function has a frame below this one.
            if unknown is None or (at is not None and at.tb_next is not None):
                raise
            near = get_close_matches(unknown[1], signature(function).parameters, n=1)
            if not near:
                raise
            raise TypeError(f"{error}. Did you mean '{near[0]}'?") from None

    return call if sys.version_info < (3, 13) else function
