"""Lists the input that a command could not read. The command handles the rest."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ullage import UllageError
from ullage._engine.policy_file import PolicyFileError
from ullage.cli.codes import FAILED, INCOMPLETE
from ullage.cli.console import complain
from ullage.cli.errors import CommandError
from ullage.sessions import UnreadableSessionError

if TYPE_CHECKING:
    from types import TracebackType


# Errors of one file or conversation. Any other, such as that of an option, stops the command.
_OF_INPUT = (CommandError, UnreadableSessionError, PolicyFileError)


class Unread(list[UllageError]):
    """The files, lines and conversations that could not be read, each with the reason.

    As a context manager it appends the error of a file or a conversation, and goes on::

        with unread:
            sessions = read(file, unread).sessions
    """

    def __enter__(self) -> None:
        pass

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> bool:
        if not isinstance(error, _OF_INPUT):
            return False
        self.append(error)
        return True

    def report(self, code: int, *, did: bool) -> int:
        """Prints the unreadable parts, and returns the exit code of the command.

        Args:
            code: The exit code if everything could be read.
            did: True if the command handled at least a part of its input.
        """
        for error in self:
            complain(str(error))
        if not self:
            return code
        return INCOMPLETE if did else FAILED
