"""``ContextCapability``: every request of an agent inside its model's window."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.tools import Tool
from pydantic_ai.toolsets import FunctionToolset

from ullage import RetrievalTool
from ullage._engine.steps import arun
from ullage._hosts.engines import Engines
from ullage._hosts.results import shrink_result
from ullage.pydantic_ai.model import FORMAT, ContextModel, Requests

if TYPE_CHECKING:
    from pydantic_ai.models import Model

    from ullage import ContextManager, Policy
    from ullage.stores.protocol import Store

# The types of results that the engine shortens. Other results are objects of the program.
_SHORTENED = (str, dict, list)


class ContextCapability(AbstractCapability[Any]):
    """Keeps the requests of agents inside their models' windows.

        agent = Agent("openai:gpt-5-mini", capabilities=[ContextCapability()])

    Each request is one of a :class:`ContextModel`: a view of the messages, made smaller where the
    provider refuses it. ``all_messages()`` has every message. Tool results are shortened as they
    arrive. The agent gets a tool that reads removed content back. One capability may serve several
    agents and runs.

    Args:
        engine: The engine. If not given, each model has an engine of its own, by its id.
        policy: The settings, if no engine is given; those for the model if not given either.
        store: Where removed content is kept, if no engine is given; in memory if not given either.
        model: The id of the model, if no engine is given; that of the agent's model if not given.
        shrink: Whether tool results are shortened as they arrive.
        retrieval: Whether the agent gets the tool that reads removed content back.

    Raises:
        PolicyError: If an argument is invalid, or an engine is given together with what it has.
    """

    def __init__(
        self,
        engine: ContextManager | None = None,
        *,
        policy: Policy | None = None,
        store: Store | None = None,
        model: str | None = None,
        shrink: bool = True,
        retrieval: bool = True,
    ) -> None:
        self._engines = Engines(engine, policy=policy, store=store, model=model, format=FORMAT)
        self._requests = Requests()
        self._shrink = shrink
        self._retrieval: RetrievalTool | None = None
        if retrieval and self._engines.store is not None:
            self._retrieval = RetrievalTool(self._engines.store)

    def get_wrapper_model(self, model: Model) -> Model:
        """Returns the model that serves a request, with a view of its messages."""
        return ContextModel.sharing(model, self._engines.of(model.model_name, None), self._requests)

    def get_toolset(self) -> Any:
        """Returns the tool that reads removed content back, if there is a store."""
        retrieval = self._retrieval
        if retrieval is None:
            return None

        async def retrieve(**arguments: Any) -> str:
            return await retrieval.acall(arguments)

        description, schema = retrieval.description, retrieval.parameters
        return FunctionToolset(
            [Tool.from_schema(retrieve, retrieval.name, description, schema)], id="ullage"
        )

    async def after_tool_execute(
        self,
        ctx: Any,  # noqa: ARG002 - Pydantic AI passes these by name
        *,
        call: Any,
        tool_def: Any,  # noqa: ARG002
        args: Any,  # noqa: ARG002
        result: Any,
    ) -> Any:
        """Shortens a result before it enters the history."""
        is_own = self._retrieval is not None and call.tool_name == self._retrieval.name
        if not self._shrink or is_own or type(result) not in _SHORTENED:
            return result
        return await arun(shrink_result(self._engines.last, call.tool_name, result))
