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
        problem: What is wrong.
        remedy: What to do about it.
        provider_says: What the provider behind the format answers to such a request, in short.
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
        message: Index of the message in the list as it came.
        what: What was done.
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
        repairs: What was done; empty for a history that broke no rule.
    """

    def __init__(self, messages: Iterable[Any], repairs: list[Repair]) -> None:
        super().__init__(messages)
        self.repairs = repairs


def validate(messages: Sequence[Any], format: str | None = None) -> list[Violation]:
    """Returns the violations for which a provider would reject ``messages``. O(blocks).

    Every provider wants calls and results to stay together; the others' demands differ: Bedrock's
    roles alternate, Anthropic takes no blank text, Gemini lets a call wait at the end. The rules,
    with the providers' own words, are in ``docs/formats.md``.

    Args:
        messages: The messages as they would be sent.
        format: The wire format; detected from the messages if not given.

    Returns:
        The violations in the order of the messages. A message that cannot be read at all is the
        only one, of the rule "readable-message".

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
    """The nearest history that a provider takes: :func:`validate` finds nothing in it. O(blocks).

    Nothing goes away that can stay. A call without a result gets one that says so, as an error; a
    late result is put right behind its call; one without a call becomes words of the user; calls
    that share an id get ids of their own; system messages in a list that takes none become words
    of the user; messages in a row become one where roles must alternate. That one has the other
    fields of all of them, and where two have the same, those of the one that is pinned, else of the
    first; what comes from a pinned message is pinned. Only blank texts and empty messages are
    removed, and results without a call that hold nothing but media.

    Args:
        messages: The messages; neither the list nor a message is changed.
        format: The wire format; detected from the messages if not given.
        open_calls: "answer" gives calls without a result an error result, "remove" removes them.

    Returns:
        A new list, in which messages that are in order are the very same objects, and what was
        done, as its ``repairs``.

    Raises:
        MessageError: If it is not a list, or a message cannot be read.
        PolicyError: If the format is unknown.
        ValueError: If ``open_calls`` is neither of the two.
    """
    if open_calls not in {"answer", "remove"}:
        message = f"open_calls is {open_calls!r}; it must be 'answer' or 'remove'"
        raise ValueError(message)
    out, repairs = _core.repair(messages, format, remove_open_calls=open_calls == "remove")
    return Repaired(out, [Repair(*done) for done in repairs])
