"""What is done before a request asks for it, so that the request finds it done."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ullage.logger import Logger

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

logger = Logger(__name__)


class Ahead:
    """Tries work early that a request would do, and leaves to the request what fails.

    One compaction between two requests, or one failure: a host that adds a thousand messages, or
    has too small a budget, would otherwise pay for many that no request ever sees.
    """

    def __init__(self) -> None:
        self._is_open = True

    async def tried(self, work: Callable[[], Awaitable[bool]]) -> None:
        """Does the work, unless it is being done, or was done since the last request.

        Args:
            work: Returns whether there was anything to do. An error is logged and no more, since
                the request runs into it again.
        """
        if not self._is_open:
            return
        self._is_open = False
        try:
            self._is_open = not await work()
        except Exception as error:  # noqa: BLE001 - the request raises what it has to
            logger.debug("error=<%s> | left to the next request", type(error).__name__)

    def renew(self) -> None:
        """There was a request, or all is new."""
        self._is_open = True
