"""Shortens results of tools before a host stores them."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from ullage._engine.logger import Logger
from ullage._engine.steps import Step

if TYPE_CHECKING:
    from ullage import ContextManager
    from ullage._engine.steps import Steps

logger = Logger(__name__)


def shrink_result(engine: ContextManager, tool: str, result: Any) -> Steps[Any]:
    """Returns the shortened result, or the same object if it is short enough or anything fails."""
    try:
        short = yield Step(
            partial(engine.shrink, tool, result), partial(engine.ashrink, tool, result)
        )
    except Exception:
        # A long result does less harm than an ended run.
        logger.exception("tool=<%s> | the result was left as it is", tool)
        return result
    return short
