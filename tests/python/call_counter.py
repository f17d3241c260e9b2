"""``CallCounter``: what work costs, as a number that no clock and no busy machine changes."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from typing_extensions import Self


class CallCounter:
    """Counts the functions that are called in a ``with`` block, in this thread."""

    def __init__(self) -> None:
        self.calls = 0

    def __enter__(self) -> Self:
        sys.setprofile(self._note)
        return self

    def __exit__(self, *_: object) -> None:
        sys.setprofile(None)

    def _note(self, _frame: Any, event: str, _argument: Any) -> None:
        self.calls += event in {"call", "c_call"}
