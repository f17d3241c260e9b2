"""Compacts a conversation now, for hosts that keep the outcome in place of it."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from ullage import BudgetError, StoreError
from ullage._engine.logger import Logger
from ullage._engine.steps import Step
from ullage._hosts.engines import without_store
from ullage._hosts.focus import rows_about

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ullage import ContextManager
    from ullage._engine.steps import Steps
    from ullage._hosts.rows import Row

logger = Logger(__name__)

# The part of the low mark that rows about a focus may take.
_FOCUS_SHARE = 0.5


def compact_rows(
    engine: ContextManager,
    rows: Sequence[Row],
    format: str,
    budget: int | None = None,
    *,
    focus: str | None = None,
    pins: Sequence[int] = (),
) -> Steps[list[Any]]:
    """Returns the rows compacted down to the low mark, or unchanged if nothing can be removed.

    Args:
        engine: The engine of the conversation.
        rows: The conversation.
        format: The form of the rows.
        budget: Tokens that they may take; if not given, what the policy's window leaves beside the
            reserve. If they take fewer, they get smaller all the same.
        focus: A topic. Rows about it stay whole, as far as they take half of what is left.
        pins: Indices of rows that stay whole.

    Raises:
        UllageError: If the rows cannot be compacted.
    """
    tokens = [engine.counter.count_messages([row], format=format) for row in rows]
    if budget is None:
        budget = engine.policy.window - engine.policy.reserve_output
    # Over budget, so that nothing is postponed.
    budget = max(min(budget, sum(tokens) - 1), 1)
    if focus:
        limit = budget * engine.policy.low * _FOCUS_SHARE
        pins = [*pins, *rows_about(focus, rows, tokens, limit)]
    compacted, own = list(rows), engine
    while True:
        given = (compacted, budget)
        try:
            yield Step(
                partial(own.compact, *given, pins=pins), partial(own.acompact, *given, pins=pins)
            )
        except BudgetError as error:
            if budget == error.floor:
                raise
            budget = error.floor
        except StoreError as error:
            if own is not engine:
                raise
            logger.warning("error=<%s> | compacted without the store", error)
            own = without_store(engine)
        else:
            return compacted
