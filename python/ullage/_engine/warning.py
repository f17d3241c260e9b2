"""Warnings about problems that a user of ullage can solve. The log has them too."""

from __future__ import annotations

import contextlib
import sys
import warnings

_PACKAGE = __name__.partition(".")[0]


class UllageWarning(UserWarning):
    """A problem that the program can solve.

    A filter that turns warnings into errors does not affect this one, because an error would end a
    compaction in the middle. ``pytest.warns`` and ``warnings.catch_warnings(record=True)`` see it.
    """


def warn(message: str) -> None:
    """Warns the code that called ullage. Never raises."""
    level, frame = 2, sys._getframe(1)  # noqa: SLF001 - `warnings` itself counts frames so
    while frame.f_back is not None and _is_own(frame.f_globals.get("__name__")):
        level, frame = level + 1, frame.f_back
    # With the filter "error" it is raised. The caller has logged the message.
    with contextlib.suppress(UllageWarning):
        warnings.warn(message, UllageWarning, stacklevel=level)


def _is_own(module: object) -> bool:
    return isinstance(module, str) and module.partition(".")[0] == _PACKAGE
