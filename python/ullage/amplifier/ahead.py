"""What is done before a request asks for it, so that the request finds it done."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ullage.logger import Logger

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

logger = Logger(__name__)


class Ahead:
    """Tries work early that a request would do, and leaves to the request what fails.

    One failure between two requests, since a host whose budget is too small would otherwise pay for
    it with each message.
    """

    def __init__(self) -> None:
        self._is_open = True

    async def tried(self, work: Callable[[], Awaitable[bool]]) -> None:
        """Does the work, unless it is being done, or was done for good since the last request.

        Args:
            work: Returns whether it may be done again before the next request. An error is logged
                and no more, since the request runs into it again.
        """
        if not self._is_open:
            return
        self._is_open = False
        try:
            self._is_open = await work()
        except Exception as error:  # noqa: BLE001 - the request raises what it has to
            logger.debug("error=<%s> | left to the next request", type(error).__name__)
        except BaseException:
            # Who waited for it was cancelled, which says nothing of the work.
            self._is_open = True
            raise

    def renew(self) -> None:
        """There was a request, or all is new."""
        self._is_open = True
