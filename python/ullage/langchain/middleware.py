"""``ContextMiddleware``: every request of an agent inside its model's window."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

from langchain.agents.middleware.types import (
    AgentMiddleware,
    ExtendedModelResponse,
    PrivateStateAttr,
)
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.tools import StructuredTool
from langchain_core.utils.function_calling import convert_to_openai_tool
from langgraph.types import Command
from typing_extensions import TypedDict

from ullage import RetrievalTool
from ullage._engine.steps import Step, arun, run
from ullage._hosts.conversations import Conversations
from ullage._hosts.definitions import Definitions
from ullage._hosts.engines import Engines
from ullage._hosts.results import shrink_result
from ullage._hosts.usage import input_tokens
from ullage.langchain.codec import MessageCodec

if TYPE_CHECKING:
    from collections.abc import Callable

    from langchain.agents.middleware.types import ModelRequest, ToolCallRequest

    from ullage import ContextManager, Policy
    from ullage._engine.steps import Steps
    from ullage.stores.protocol import Store

# The key of the state in the checkpoint.
_KEY = "ullage"


class ContextState(TypedDict, total=False):
    """The part of an agent's state with which another process sends the same requests."""

    ullage: Annotated[dict[str, Any], PrivateStateAttr]


class ContextMiddleware(AgentMiddleware[Any, Any, Any]):
    """Keeps the requests of agents inside their models' windows.

        agent = create_agent(model, tools, middleware=[ContextMiddleware()])

    The state keeps every message; the model sees a view of them (``docs/view.md``). Tool results
    are shortened as they arrive. A request that the provider refuses as too long is made smaller
    and sent again. What the provider reports corrects the token count. With a checkpointer another
    process sends the same requests. The agent gets a tool that reads removed content back.

    Its name is that of the middleware that summarizes in LangChain and deepagents:
    ``create_deep_agent(middleware=[ContextMiddleware()])`` puts it in the place of that one. One
    instance may serve several agents, threads and event loops.

    Args:
        engine: The engine. If not given, each model has an engine of its own, by its id, or by
            the ``max_input_tokens`` of its profile if ullage does not know the id.
        policy: The settings, if no engine is given; those for the model if not given either.
        store: Where removed content is kept, if no engine is given; in memory if not given either.
        model: The id of the model, if no engine is given; that of the agent's model if not given.
        shrink: Whether tool results are shortened as they arrive.
        retrieval: Whether the agent gets the tool that reads removed content back.

    Raises:
        PolicyError: If an argument is invalid, or an engine is given together with what it has.
    """

    state_schema = ContextState

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
        super().__init__()
        self._engines = Engines(engine, policy=policy, store=store, model=model, format="openai")
        self._conversations = Conversations(MessageCodec())
        self._shrink = shrink
        self._retrieval = None
        self.tools = []
        if retrieval and self._engines.store is not None:
            self._retrieval = RetrievalTool(self._engines.store)
            self.tools = [_tool(self._retrieval)]
        self._definitions = Definitions(convert_to_openai_tool)

    @property
    def name(self) -> str:
        """The name by which deepagents finds the middleware that this one replaces."""
        return "SummarizationMiddleware"

    def wrap_model_call(self, request: ModelRequest[Any], handler: Callable[..., Any]) -> Any:
        """Sends a view of the messages."""
        return run(self._model_call(request, handler))

    async def awrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[..., Any]
    ) -> Any:
        """Sends a view of the messages."""
        return await arun(self._model_call(request, handler))

    def wrap_tool_call(self, request: ToolCallRequest, handler: Callable[..., Any]) -> Any:
        """Shortens the result of a tool."""
        return run(self._tool_call(request, handler))

    async def awrap_tool_call(self, request: ToolCallRequest, handler: Callable[..., Any]) -> Any:
        """Shortens the result of a tool."""
        return await arun(self._tool_call(request, handler))

    def _model_call(self, request: ModelRequest[Any], handler: Callable[..., Any]) -> Steps[Any]:
        before = request.state.get(_KEY)
        conversation, reading = self._conversations.of(
            self._engine(request.model),
            request.messages,
            # LangGraph gives every message an id.
            key=request.messages[0].id if request.messages else None,
            saved=before,
        )
        system = request.system_message
        response = yield from conversation.exchange(
            reading,
            lambda messages: handler(request.override(messages=messages)),
            system=None if system is None else system.content,
            tools=self._definitions.of(request.tools),
        )
        answer = next((m for m in response.result if isinstance(m, AIMessage)), None)
        conversation.observe(*input_tokens(answer and answer.usage_metadata))
        saved = conversation.saved(before)
        if saved is None:
            return response
        return ExtendedModelResponse(response, Command(update={_KEY: saved}))

    def _tool_call(self, request: ToolCallRequest, handler: Callable[..., Any]) -> Steps[Any]:
        result = yield Step(partial(handler, request), partial(handler, request))
        name = request.tool_call["name"]
        is_own = self._retrieval is not None and name == self._retrieval.name
        if not self._shrink or is_own or not isinstance(result, ToolMessage):
            return result
        short = yield from shrink_result(self._engines.last, name, result.content)
        return result if short is result.content else result.model_copy(update={"content": short})

    def _engine(self, model: Any) -> ContextManager:
        name = next(
            (n for n in (getattr(model, key, None) for key in _MODEL_NAMES) if isinstance(n, str)),
            None,
        )
        window = (getattr(model, "profile", None) or {}).get("max_input_tokens")
        return self._engines.of(name, window if isinstance(window, int) else None)


# The names of the model's id in LangChain's model classes.
_MODEL_NAMES = ("model_name", "model", "model_id")


def _tool(retrieval: RetrievalTool) -> StructuredTool:
    def retrieve(**arguments: Any) -> str:
        return retrieval.call(arguments)

    async def aretrieve(**arguments: Any) -> str:
        return await retrieval.acall(arguments)

    return StructuredTool(
        name=retrieval.name,
        description=retrieval.description,
        args_schema=retrieval.parameters,
        func=retrieve,
        coroutine=aretrieve,
    )
