"""Functions for CrewAI's hooks: results shortened on arrival, and messages compacted in place."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ullage import BudgetError, UllageError
from ullage._engine.logger import Logger
from ullage._engine.steps import run
from ullage._hosts.engines import Engines
from ullage._hosts.results import shrink_result

if TYPE_CHECKING:
    from collections.abc import Callable

    from crewai.hooks import LLMCallHookContext, ToolCallHookContext

    from ullage import ContextManager

logger = Logger(__name__)

FORMAT = "openai"


def shorten_result(engine: ContextManager) -> Callable[[ToolCallHookContext], str | None]:
    """Returns a hook that shortens the result of a tool as it arrives, and stores the whole text.

        register_after_tool_call_hook(shorten_result(engine))

    CrewAI calls a hook for every agent of the process. One for some of them is
    ``after_tool_call(agents=["auditor"])(shorten_result(engine))``.

    Args:
        engine: The engine. Its store keeps the whole text.

    Raises:
        PolicyError: If it is no engine.
    """
    own = Engines(engine, format=FORMAT).last

    def shorten(context: ToolCallHookContext) -> str | None:
        result = context.tool_result
        if not isinstance(result, str):
            return None
        short: Any = run(shrink_result(own, context.tool_name, result))
        return None if short is result else short

    return shorten


def compact_messages(engine: ContextManager) -> Callable[[LLMCallHookContext], None]:
    """Returns a hook that compacts the messages of a task in place before each call of the model.

        register_before_llm_call_hook(compact_messages(engine))

    Prefer :class:`ContextLLM`: a hook sees neither the tools, the usage nor a refusal, and what it
    removes is gone from the task's messages too. Give the tools to the engine.

    Args:
        engine: The engine.

    Raises:
        PolicyError: If it is no engine.
    """
    own = Engines(engine, format=FORMAT).last

    def compact(context: LLMCallHookContext) -> None:
        messages: list[Any] = context.messages
        try:
            try:
                own.compact(messages)
            except BudgetError as error:
                own.compact(messages, budget=error.floor)
        except UllageError as error:
            # CrewAI would continue and report nothing.
            logger.error(  # noqa: TRY400 - the message names the error
                "error=<%s> | the messages were left as they are", error
            )

    return compact
