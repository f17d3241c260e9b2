"""Results of tools, shortened before a host stores them."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from ullage import UllageError
from ullage._engine.logger import Logger
from ullage._engine.steps import Step

if TYPE_CHECKING:
    from ullage import ContextManager
    from ullage._engine.steps import Steps

logger = Logger(__name__)


def shortened(engine: ContextManager, tool: str, result: Any) -> Steps[Any]:
    """A result as :meth:`ContextManager.shrink` returns it; the same object if it stays whole."""
    try:
        short = yield Step(
            partial(engine.shrink, tool, result), partial(engine.ashrink, tool, result)
        )
    except UllageError as error:
        # A run that ends would lose more than a long result takes.
        logger.error(  # noqa: TRY400 - the message says it all
            "error=<%s>, tool=<%s> | the result was left as it is", error, tool
        )
        return result
    return short
