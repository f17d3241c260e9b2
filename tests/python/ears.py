"""Collects ullage's output: notes of a test, the log above debug level, and the spans."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pytest

    from .spans import Exported


class Ears:
    """All that is said: what is noted here, the log above debug level, and the spans."""

    def __init__(self, caplog: pytest.LogCaptureFixture, seen: Exported) -> None:
        self._caplog = caplog
        self._seen = seen
        self._noted: list[str] = []

    def note(self, *said: Any) -> None:
        for one in said:
            self._noted += [str(one), repr(one)]
            if isinstance(one, BaseException):
                self._noted.append(str(vars(one)))

    def all(self) -> str:
        form = logging.Formatter()
        log = [form.format(r) for r in self._caplog.records if r.levelno > logging.DEBUG]
        spans = [span.to_json() for span in self._seen.spans()]
        return "\n".join([*self._noted, *log, *spans])
