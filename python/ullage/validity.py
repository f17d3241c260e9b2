"""Validates histories and repairs them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from ullage import _core

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


@dataclass(frozen=True)
class Violation:
    """A rule that a history breaks.

    Attributes:
        rule: Name of the rule, such as "call-has-result".
        message: Index of the message in the list.
        block: Index of the block in that message, or None if it is about the message. Counted as
            ullage reads it: reasoning, content and calls in this order.
        problem: A description of the problem.
        remedy: The advice for solving it.
        provider_says: The answer of the format's provider to such a request, in short.
    """

    rule: str
    message: int
    block: int | None
    problem: str
    remedy: str
    provider_says: str

    def __str__(self) -> str:
        """One line for people."""
        block = "" if self.block is None else f", block {self.block}"
        where = f"message {self.message}{block}"
        return f"{where}: {self.problem} ({self.rule}); {self.remedy}"


@dataclass(frozen=True)
class Repair:
    """One repair of a message.

    Attributes:
        rule: The rule that was broken.
        message: Index of the message in the given list.
        what: A description of the repair.
    """

    rule: str
    message: int
    what: str

    def __str__(self) -> str:
        """One line for people."""
        return f"message {self.message}: {self.what} ({self.rule})"


class Repaired(list[Any]):
    """A repaired list of messages.

    Attributes:
        repairs: The repairs; empty for a history that broke no rule.
    """

    def __init__(self, messages: Iterable[Any], repairs: list[Repair]) -> None:
        super().__init__(messages)
        self.repairs = repairs


def validate(messages: Sequence[Any], format: str | None = None) -> list[Violation]:
    """Returns the violations for which a provider would reject ``messages``. O(blocks).

    Every provider requires that calls and results stay together. Other rules differ: Bedrock's
    roles alternate, Anthropic accepts no blank text, Gemini lets a call wait at the end. All rules
    are in ``docs/formats.md``.

    Args:
        messages: The messages of a request.
        format: The wire format; detected from the messages if not given.

    Returns:
        The violations in the order of the messages. If a message cannot be read at all, the only
        violation is of the rule "readable-message".

    Raises:
        MessageError: If it is not a list.
        PolicyError: If the format is unknown.
    """
    return [Violation(*found) for found in _core.validate(messages, format)]


def repair(
    messages: Sequence[Any],
    format: str | None = None,
    *,
    open_calls: Literal["answer", "remove"] = "answer",
) -> Repaired:
    """Returns the nearest history in which :func:`validate` finds nothing. O(blocks).

    Content stays if possible:

    * A call without a result gets an error result that says so.
    * A late result is moved right after its call. A result without a call becomes user text.
    * Calls that share an id get different ids.
    * System messages in a list that accepts none become user text.
    * Adjacent messages of one role become one if roles must alternate. It has the other fields of
      all of them. If they contradict each other, a pinned message wins, else the first. It is
      pinned if one of them was.

    Only blank texts, empty messages, and results without a call and without text are removed.

    Args:
        messages: The messages; neither the list nor a message is changed.
        format: The wire format; detected from the messages if not given.
        open_calls: "answer" gives calls without a result an error result, "remove" removes them.

    Returns:
        A new list, in which unchanged messages are the same objects. Its ``repairs`` lists the
        repairs.

    Raises:
        MessageError: If it is not a list, or a message cannot be read.
        PolicyError: If the format is unknown.
        ValueError: If ``open_calls`` is neither of the two.
    """
    if open_calls not in {"answer", "remove"}:
        message = f"open_calls must be 'answer' or 'remove'; got {open_calls!r}"
        raise ValueError(message)
    out, repairs = _core.repair(messages, format, remove_open_calls=open_calls == "remove")
    return Repaired(out, [Repair(*done) for done in repairs])
