"""``compact`` and ``acompact``: one compaction without an engine of your own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from ullage._engine.arguments import not_a_list
from ullage._engine.suggestions import suggesting
from ullage.manager import ContextManager

if TYPE_CHECKING:
    from ullage.report.reports import Report
    from ullage.stores.protocol import Store


class Compacted(NamedTuple):
    """The outcome of :func:`compact`: ``messages, report = ullage.compact(...)``.

    Attributes:
        messages: The messages to send, as a new list.
        report: The report of the compaction.
    """

    messages: list[Any]
    report: Report


@suggesting
def compact(
    messages: Sequence[Any],
    *,
    model: str,
    budget: int | None = None,
    store: Store | None = None,
    system: Any = None,
    tools: Any = None,
) -> Compacted:
    """Compacts a conversation of any format for a model, if it is too long.

    The given messages do not change. O(text). In a loop, a :class:`View` is cheaper: it counts only
    new messages, and keeps the beginning of the requests for the provider's prompt cache.

    Args:
        messages: The conversation.
        model: The id of the model. It chooses the counter, the window and the reserve.
        budget: The tokens that the messages may take; if not given, the model's window less the
            reserve for the answer, the system prompt and the tools.
        store: Keeps removed content. Without a store, removed content is lost, and the note in the
            conversation says so.
        system: The system prompt, as text or blocks. It takes a part of the window.
        tools: The tool definitions. They take a part of the window.

    Returns:
        The new messages, and the report.

    Raises:
        BudgetError: If the messages that must stay do not fit.
        MessageError: If the messages cannot be read.
        PolicyError: If an argument is invalid.
        StoreError: If the store cannot keep the removed content.
    """
    engine = ContextManager(model=model, store=store, system=system, tools=tools)
    compacted = _copy(messages)
    return Compacted(compacted, engine.compact(compacted, budget))


async def acompact(
    messages: Sequence[Any],
    *,
    model: str,
    budget: int | None = None,
    store: Store | None = None,
    system: Any = None,
    tools: Any = None,
) -> Compacted:
    """:func:`compact` without blocking the event loop, for any store."""
    engine = ContextManager(model=model, store=store, system=system, tools=tools)
    compacted = _copy(messages)
    return Compacted(compacted, await engine.acompact(compacted, budget))


def _copy(messages: Sequence[Any]) -> list[Any]:
    if isinstance(messages, (str, bytes)) or not isinstance(messages, Sequence):
        raise not_a_list(messages)
    return list(messages)
