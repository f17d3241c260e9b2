"""What an agent remembers of its reductions."""

from __future__ import annotations

import contextlib
from dataclasses import asdict, dataclass
from typing import Any, Literal

from ullage._engine.logger import Logger
from ullage.strands.settings import MAX_REDUCTION_HISTORY

logger = Logger(__name__)

Stage = Literal["compression", "sliding", "summarizing"]


@dataclass(frozen=True)
class Reduction:
    """One reduction of a conversation.

    Attributes:
        stage: The last layer that had to act.
        reason: Why it was asked for.
        before_messages: Messages before.
        after_messages: Messages after.
        before_tokens: Tokens of the prompt before, by the estimate; None where nobody knows.
        after_tokens: Tokens after.
        removed_messages: Messages that left.
    """

    stage: Stage
    reason: str
    before_messages: int
    after_messages: int
    before_tokens: int | None
    after_tokens: int | None
    removed_messages: int


def remember(agent: Any, reduction: Reduction) -> None:
    """Logs a reduction, and puts it behind the last few on ``agent._context_reduction_events``."""
    logger.info(
        "Context reduced via %s manager: messages %d->%d",
        reduction.stage,
        reduction.before_messages,
        reduction.after_messages,
    )
    known = getattr(agent, "_context_reduction_events", None)
    events = [*known] if isinstance(known, list) else []
    # An agent may refuse attributes; its history is a courtesy.
    with contextlib.suppress(AttributeError, TypeError):
        agent._context_reduction_events = [*events, asdict(reduction)][-MAX_REDUCTION_HISTORY:]  # noqa: SLF001


def reason_of(agent: Any, error: Exception | None) -> str:
    """Why a reduction is asked for; what the agent says of it, is said once."""
    said = getattr(agent, "_pending_reduction_reason", None)
    if isinstance(said, str):
        with contextlib.suppress(AttributeError, TypeError):
            agent._pending_reduction_reason = None  # noqa: SLF001
        return said
    return "budget" if error is None else "overflow"
