"""The tool that reads removed text back, and results that are shortened on arrival."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agents import FunctionTool
from agents.tool_guardrails import ToolGuardrailFunctionOutput, ToolOutputGuardrail

from ullage import RetrievalTool
from ullage._engine.steps import arun
from ullage._hosts.results import shrink_result

if TYPE_CHECKING:
    from agents.tool_guardrails import ToolOutputGuardrailData

    from ullage import ContextManager
    from ullage.stores.protocol import Store


def retrieval_tool(store: Store, *, name: str = "retrieve") -> FunctionTool:
    """Returns the tool that reads stored text back. A mistake of the model gets an answer.

    Args:
        store: The store of the engine.
        name: The name of the tool for the model.
    """
    retrieval = RetrievalTool(store, name=name)

    async def invoke(_: Any, arguments: str) -> str:
        return await retrieval.acall(arguments)

    return FunctionTool(
        name=name,
        description=retrieval.description,
        params_json_schema=retrieval.parameters,
        on_invoke_tool=invoke,
        strict_json_schema=False,
    )


def shorten_output(engine: ContextManager) -> ToolOutputGuardrail[Any]:
    """Returns a guardrail that shortens the output of a tool and stores the whole text.

        @function_tool(tool_output_guardrails=[shorten_output(engine)])

    Args:
        engine: The engine. Its store keeps the whole text.
    """

    async def shorten(data: ToolOutputGuardrailData) -> ToolGuardrailFunctionOutput:
        short = await arun(shrink_result(engine, data.context.tool_name, data.output))
        if short is data.output or not isinstance(short, str):
            return ToolGuardrailFunctionOutput.allow()
        return ToolGuardrailFunctionOutput.reject_content(message=short)

    return ToolOutputGuardrail(guardrail_function=shorten, name="ullage")
