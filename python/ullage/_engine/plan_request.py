"""``PlanRequest``: the arguments of a plan."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from ullage._engine.arguments import is_whole, require_budget

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


class PlanRequest:
    """The arguments of a plan.

    Args:
        budget: Tokens that the messages may take, or None for what the window leaves.
        hard: True if it does not wait for the high mark.
        pins: Indices of messages that stay unchanged.
        fixed: Counts the system prompt and the tools; it is called once, when needed.
        time_limit: Seconds from now on for the plan and its summary.
    """

    def __init__(
        self,
        budget: int | None,
        hard: bool,
        pins: Sequence[int],
        fixed: Callable[[], int],
        time_limit: float,
    ) -> None:
        require_budget(budget)
        if is_whole(pins):
            raise TypeError(f"pins must be a list of indices; got {pins!r}; use [{pins!r}]")
        for pin in pins:
            if not is_whole(pin):
                raise TypeError(f"pins must be whole numbers, indices of messages; got {pin!r}")
        self.budget = budget
        self.hard = hard
        self.pins = pins
        self._time_limit = time_limit
        self._until = time.monotonic() + time_limit
        self._count_fixed = fixed
        self._fixed: int | None = None

    @property
    def fixed(self) -> int:
        """Tokens of the system prompt and the tools."""
        # Not `cached_property`, whose lock all requests share before Python 3.12.
        if self._fixed is None:
            self._fixed = self._count_fixed()
        return self._fixed

    @property
    def seconds(self) -> float:
        """Seconds that are left."""
        return max(0.0, self._until - time.monotonic())

    def down_to_low(self) -> PlanRequest:
        """Returns the same request, down to the low mark now."""
        return PlanRequest(
            self.budget,
            hard=True,
            pins=self.pins,
            fixed=lambda: self.fixed,
            time_limit=self._time_limit,
        )
