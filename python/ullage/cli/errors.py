"""Errors that stop a command."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from ullage import BudgetError, MessageError, StoreError, SummaryError, UllageError, validate

if TYPE_CHECKING:
    from collections.abc import Iterator


# The one rule whose violation `ullage repair` cannot repair.
_UNREADABLE = "readable-message"


class CommandError(UllageError):
    """A command cannot do its work. The text tells the person who typed it why."""


class MissingExtraError(CommandError):
    """A library of an extra is not installed."""

    def __init__(self, what: str, library: str | None, instead: str, extra: str = "cli") -> None:
        super().__init__(f"{what} needs {library}: pip install 'ullage[{extra}]', or {instead}")


@contextmanager
def about(name: str, messages: list[Any], format: str | None) -> Iterator[None]:
    """Adds the name of the conversation to an error, and the command that repairs it."""
    try:
        yield
    except MessageError as error:
        hint = ""
        if any(found.rule != _UNREADABLE for found in validate(messages, format)):
            hint = "; `ullage lint` lists all problems, `ullage repair` repairs it"
        raise CommandError(f"{name}: {error}{hint}") from error
    except (BudgetError, SummaryError, StoreError) as error:
        raise CommandError(f"{name}: {error}") from error
