"""The refusals of each agent's requests, and how a refused request is made smaller."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from strands.types.exceptions import ContextWindowOverflowException

from ullage._engine.logger import Logger
from ullage.strands.agents import PerAgent

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from strands.hooks import AfterModelCallEvent

logger = Logger(__name__)

# Refusals in a row after which the overflow is raised, although each request was smaller than the
# one before. A manager takes about three tenths each time, so a provider that still refuses does
# not refuse the size.
_MOST_REFUSALS = 10


class Refusals:
    """The refusals of one agent's requests since its model last answered.

    Attributes:
        most: The most in a row.
        count: The number so far.
    """

    def __init__(self) -> None:
        self.most = _MOST_REFUSALS
        self.count = 0
        # The reason why nothing could be made smaller, until Strands asks for a reduction.
        self._problem: Exception | None = None

    def end(self) -> None:
        """Forgets the refusals: the provider has answered, or the agent was invoked again."""
        self.count, self._problem = 0, None

    def add(self, error: Exception | None = None) -> None:
        """Counts a refusal.

        Raises:
            ContextWindowOverflowException: If there were too many.
        """
        self.count += 1
        if self.count > self.most:
            # The next invocation has its own attempts.
            self.count = 0
            raise ContextWindowOverflowException(
                f"the provider refused {self.most + 1} requests in a row, each smaller than the"
                " one before"
            ) from error

    async def recover(self, smaller: Callable[[], Awaitable[None]]) -> bool:
        """Calls the function that makes a refused request smaller; returns False if it raises.

        Strands then asks for a reduction in its event loop, and calls itself again for each
        attempt. So only a request that cannot be made smaller is left to it, which raises the
        overflow.
        """
        self._problem = None
        try:
            await smaller()
        except Exception as problem:  # noqa: BLE001 - raised when Strands asks for a reduction
            logger.warning("error=<%s> | the overflow is raised", problem)
            self.count, self._problem = 0, problem
            return False
        return True

    async def after_model_call(
        self, event: AfterModelCallEvent, smaller: Callable[[], Awaitable[None]]
    ) -> None:
        """Ends the refusals after an answer; has a refused request made smaller and sent again."""
        if event.stop_response is not None:
            self.end()
        elif isinstance(event.exception, ContextWindowOverflowException) and not event.retry:
            event.retry = await self.recover(smaller)

    def raise_problem(self, error: Exception | None) -> None:
        """Raises the reason why nothing could be made smaller, if that was tried already."""
        problem, self._problem = self._problem, None
        if error is not None and problem is not None:
            raise problem from (None if problem is error else error)


_REFUSALS: PerAgent[Refusals] = PerAgent(lambda _: Refusals())


def refusals_of(agent: Any) -> Refusals:
    """Returns the refusals of this agent."""
    return _REFUSALS.of(agent)
