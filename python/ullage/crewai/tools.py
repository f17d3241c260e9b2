"""The tool that reads removed text back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from crewai.tools import BaseTool
from crewai.utilities.pydantic_schema_utils import create_model_from_schema

from ullage import RetrievalTool

if TYPE_CHECKING:
    from ullage.stores.protocol import Store


class _Retrieve(BaseTool):
    def __init__(self, retrieval: RetrievalTool) -> None:
        super().__init__(
            name=retrieval.name,
            description=retrieval.description,
            args_schema=create_model_from_schema(retrieval.parameters),
        )
        self._retrieval = retrieval

    def _run(self, **arguments: Any) -> str:
        return self._retrieval.call(_without_none(arguments))

    async def _arun(self, **arguments: Any) -> str:
        return await self._retrieval.acall(_without_none(arguments))


def retrieval_tool(store: Store, *, name: str = "retrieve") -> BaseTool:
    """Returns the tool that reads stored text back. A mistake of the model gets an answer.

    Args:
        store: The store of the engine.
        name: The name of the tool for the model.
    """
    return _Retrieve(RetrievalTool(store, name=name))


def _without_none(arguments: dict[str, Any]) -> dict[str, Any]:
    # CrewAI sends None for arguments that the model left out.
    return {name: value for name, value in arguments.items() if value is not None}
