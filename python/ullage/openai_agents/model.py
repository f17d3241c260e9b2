"""Models whose requests stay inside their windows, and a filter that does less."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agents import FunctionTool, ModelProvider, MultiProvider
from agents.models.interface import Model
from agents.run_config import ModelInputData

from ullage import PolicyError
from ullage._engine.lru_cache import LruCache
from ullage._engine.steps import arun
from ullage._hosts.conversations import Conversations
from ullage._hosts.definitions import Definitions
from ullage._hosts.engines import MODELS, Engines
from ullage._hosts.rows import SameRows
from ullage._hosts.usage import input_tokens
from ullage.openai_agents.items import is_delta

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

    from agents.run_config import CallModelData

    from ullage import ContextManager, Policy
    from ullage._hosts.conversations import HostConversation
    from ullage.stores.protocol import Store

FORMAT = "openai-responses"


class ContextModel(Model):
    """A model whose requests stay inside its window.

        agent = Agent(name="auditor", model=ContextModel(OpenAIResponsesModel(...)))

    It sends a view of the items (``docs/view.md``), sends a request that the provider refuses as
    too long again, smaller, and corrects the token count by the reported usage. Where the server
    keeps the conversation (``conversation_id``, ``previous_response_id``), it changes nothing.

    Args:
        model: The model that is called.
        engine: The engine. If not given, one with the arguments below.
        policy: The settings, if no engine is given; those for the model if not given either.
        store: Where removed content is kept, if no engine is given; in memory if not given either.
        name: The id of the model, if no engine is given; that of ``model`` if not given.

    Raises:
        PolicyError: If an argument is invalid, or an engine is given together with what it has.
    """

    def __init__(
        self,
        model: Model,
        engine: ContextManager | None = None,
        *,
        policy: Policy | None = None,
        store: Store | None = None,
        name: str | None = None,
    ) -> None:
        if not hasattr(model, "get_response"):
            raise PolicyError(
                f"model: a {type(model).__name__} is not a model; give an instance, or use"
                " ContextProvider for models by name"
            )
        engines = Engines(engine, policy=policy, store=store, model=name, format=FORMAT)
        self._model = model
        self.engine = engines.of(getattr(model, "model", None))
        self._conversations = Conversations(SameRows())
        self._definitions = Definitions(_definition)

    def __getattr__(self, name: str) -> Any:
        # Attributes beyond the interface, such as the name of the model in traces.
        if name == "_model":
            raise AttributeError(name)
        return getattr(self._model, name)

    async def get_response(  # noqa: PLR0917 - of the interface
        self,
        system_instructions: str | None,
        input: str | list[Any],
        model_settings: Any,
        tools: list[Any],
        output_schema: Any,
        handoffs: list[Any],
        tracing: Any,
        **ids: Any,
    ) -> Any:
        """Asks the model, with a view of the items."""

        async def send(items: str | list[Any]) -> Any:
            return await self._model.get_response(
                system_instructions,
                items,
                model_settings,
                tools,
                output_schema,
                handoffs,
                tracing,
                **ids,
            )

        conversation, response = await self._exchange(
            send, input, ids, system=system_instructions, tools=[*tools, *handoffs]
        )
        _learn(conversation, response)
        return response

    async def stream_response(  # noqa: PLR0917 - of the interface
        self,
        system_instructions: str | None,
        input: str | list[Any],
        model_settings: Any,
        tools: list[Any],
        output_schema: Any,
        handoffs: list[Any],
        tracing: Any,
        **ids: Any,
    ) -> AsyncIterator[Any]:
        """Asks the model, with a view of the items, and passes its events on."""

        async def send(items: str | list[Any]) -> tuple[list[Any], Any]:
            """Waits for the first event: providers refuse a request before it."""
            events = self._model.stream_response(
                system_instructions,
                items,
                model_settings,
                tools,
                output_schema,
                handoffs,
                tracing,
                **ids,
            )
            return [event async for event in _first(events)], events

        conversation, (first, others) = await self._exchange(
            send, input, ids, system=system_instructions, tools=[*tools, *handoffs]
        )
        for event in first:
            _learn(conversation, getattr(event, "response", None))
            yield event
        async for event in others:
            _learn(conversation, getattr(event, "response", None))
            yield event

    async def _exchange(
        self,
        send: Callable[[Any], Awaitable[Any]],
        given: str | list[Any],
        ids: dict[str, Any],
        *,
        system: str | None,
        tools: list[Any],
    ) -> tuple[HostConversation | None, Any]:
        """Returns the answer of ``send`` to the items of a request, and their conversation."""
        if isinstance(given, str) or ids.get("conversation_id") or ids.get("previous_response_id"):
            return None, await send(given)
        conversation, reading = self._conversations.of(self.engine, given)
        beside = {"system": system, "tools": self._definitions.of(tools)}
        return conversation, await arun(conversation.exchange(reading, send, **beside))


class ContextProvider(ModelProvider):
    """Gives every model of a run as a :class:`ContextModel`.

        run_config = RunConfig(model_provider=ContextProvider())

    For agents that name their models. An agent with a model object needs a ``ContextModel``.

    Args:
        provider: Finds the models; the SDK's ``MultiProvider`` if not given.
        engine: The engine for all models. If not given, each has an engine of its own.
        policy: The settings of those; the model's if not given.
        store: Where they keep removed content; in memory if not given.

    Raises:
        PolicyError: If an argument is invalid, or an engine is given together with what it has.
    """

    def __init__(
        self,
        provider: ModelProvider | None = None,
        engine: ContextManager | None = None,
        *,
        policy: Policy | None = None,
        store: Store | None = None,
    ) -> None:
        self._provider = provider or MultiProvider()
        self._engines = Engines(engine, policy=policy, store=store, format=FORMAT)
        self._models: LruCache[tuple[Model, ContextModel]] = LruCache(MODELS)

    def get_model(self, model_name: str | None) -> Model:
        """Returns the model of this name: the same object as long as it is in use."""
        inner = self._provider.get_model(model_name)
        known = self._models.get(model_name)
        if known is None or known[0] is not inner:
            own = model_name or getattr(inner, "model", None)
            known = inner, ContextModel(inner, self._engines.of(own))
            self._models.put(model_name, known)
        return known[1]

    async def aclose(self) -> None:
        """Closes the provider that finds the models."""
        await self._provider.aclose()


def input_filter(engine: ContextManager) -> Callable[[CallModelData[Any]], Awaitable[Any]]:
    """Returns a ``call_model_input_filter`` that sends a view of the items.

        RunConfig(call_model_input_filter=input_filter(engine))

    Prefer :class:`ContextProvider` or :class:`ContextModel`: a filter sees neither the tools nor
    the provider's errors nor the usage. Give the tools to the engine. Where a result stands without
    its call, the server has the rest of the conversation, and the items stay as they are.

    Args:
        engine: The engine.
    """
    # A wrong engine is an error here, not in a run.
    conversations, own = Conversations(SameRows()), Engines(engine, format=FORMAT).last

    async def view(data: CallModelData[Any]) -> ModelInputData:
        given = data.model_data
        if is_delta(given.input):
            return given
        conversation, reading = conversations.of(own, given.input)
        items = await arun(conversation.request(reading, system=given.instructions))
        return ModelInputData(input=items, instructions=given.instructions)

    return view


async def _first(events: AsyncIterator[Any]) -> AsyncIterator[Any]:
    """Returns the first event, or none."""
    async for event in events:
        yield event
        return


def _learn(conversation: HostConversation | None, response: Any) -> None:
    if conversation is not None:
        conversation.observe(*input_tokens(getattr(response, "usage", None)))


def _definition(tool: Any) -> dict[str, Any]:
    """Returns the parts of the definition of a tool or a handoff that take room in a request."""
    if isinstance(tool, FunctionTool):
        known = {"description": tool.description, "parameters": tool.params_json_schema}
    else:
        # A handoff is a tool too. A tool of OpenAI itself has only a name.
        description = getattr(tool, "tool_description", "")
        known = {"description": description, "parameters": getattr(tool, "input_json_schema", {})}
    name = getattr(tool, "tool_name", None) or getattr(tool, "name", "tool")
    return {"type": "function", "name": name, **known}
