"""A model whose requests stay inside its window, and a history processor that does less."""

from __future__ import annotations

from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from pydantic_ai.messages import ModelResponse
from pydantic_ai.models.wrapper import WrapperModel

from ullage._engine.steps import arun
from ullage._hosts.conversations import Conversations
from ullage._hosts.definitions import Definitions, definition
from ullage._hosts.engines import Engines
from ullage._hosts.request import Request
from ullage.pydantic_ai.codec import MessageCodec

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

    from pydantic_ai.models import Model

    from ullage import ContextManager, Policy
    from ullage.stores.protocol import Store

FORMAT = "anthropic"
# The key of the state in the metadata of an answer, which no provider gets.
_KEY = "ullage"


class ContextModel(WrapperModel):
    """A model whose requests stay inside its window.

        agent = Agent(ContextModel("openai:gpt-5-mini"))

    It sends a view of the messages (``docs/view.md``), sends a request that the provider refuses as
    too long again, smaller, and corrects the token count by the reported usage. The history stays
    whole. After a compaction the metadata of the answer has what another process needs to send the
    same requests. :class:`ContextCapability` does this and more.

    Args:
        wrapped: The model that is called, or its name.
        engine: The engine. If not given, one with the arguments below.
        policy: The settings, if no engine is given; those for the model if not given either.
        store: Where removed content is kept, if no engine is given; in memory if not given either.
        name: The id of the model, if no engine is given; that of ``wrapped`` if not given.

    Raises:
        PolicyError: If an argument is invalid, or an engine is given together with what it has.
    """

    def __init__(
        self,
        wrapped: Model | str,
        engine: ContextManager | None = None,
        *,
        policy: Policy | None = None,
        store: Store | None = None,
        name: str | None = None,
    ) -> None:
        super().__init__(wrapped)
        engines = Engines(engine, policy=policy, store=store, model=name, format=FORMAT)
        self.engine = engines.of(self.wrapped.model_name, None)
        self._requests = Requests()

    @classmethod
    def sharing(cls, wrapped: Model, engine: ContextManager, requests: Requests) -> ContextModel:
        """Returns a model that shares the conversations of another."""
        model = cls(wrapped, engine)
        model._requests = requests
        return model

    async def request(self, messages: list[Any], model_settings: Any, parameters: Any) -> Any:
        """Asks the model, with a view of the messages."""

        async def send(view: list[Any]) -> Any:
            return await self.wrapped.request(view, model_settings, parameters)

        request = self._requests.of(self.engine, messages, parameters)
        response = await arun(request.exchange(send))
        request.observe(response.usage)
        saved = request.saved()
        if saved is None:
            return response
        return replace(response, metadata={**(response.metadata or {}), _KEY: saved})

    @asynccontextmanager
    async def request_stream(
        self, messages: list[Any], model_settings: Any, parameters: Any, run_context: Any = None
    ) -> AsyncIterator[Any]:
        """Asks the model, with a view of the messages, and streams its answer."""
        async with AsyncExitStack() as stack:

            async def send(view: list[Any]) -> Any:
                """Opens the stream: providers refuse a request before its first event."""
                opened = self.wrapped.request_stream(view, model_settings, parameters, run_context)
                return await stack.enter_async_context(opened)

            request = self._requests.of(self.engine, messages, parameters)
            response = await arun(request.exchange(send))
            saved = request.saved()
            if saved is not None:
                response.metadata = {**(response.metadata or {}), _KEY: saved}
            yield response
            request.observe(response.usage)


class Requests:
    """Finds the conversation of each request."""

    def __init__(self) -> None:
        self._conversations = Conversations(MessageCodec())
        self._definitions = Definitions(_definition)

    def of(self, engine: ContextManager, messages: list[Any], parameters: Any = None) -> Request:
        """Returns a request with these messages."""
        states = ((m.metadata or {}).get(_KEY) for m in reversed(messages) if _is_answer(m))
        before = next((state for state in states if state), None)
        # The time of its first part distinguishes a conversation from others.
        times = (getattr(part, "timestamp", None) for m in messages[:1] for part in m.parts)
        key = next((time for time in times if time is not None), None)
        conversation, reading = self._conversations.of(engine, messages, key, before)
        beside: dict[str, Any] = {}
        if parameters is not None:
            beside["tools"] = self._definitions.of(
                [*parameters.function_tools, *parameters.output_tools]
            )
            texts = [part.content for part in parameters.instruction_parts or ()]
            beside["system"] = "\n\n".join(texts) or None
        return Request(conversation, reading, before, beside)


def history_processor(engine: ContextManager) -> Callable[[list[Any]], Awaitable[list[Any]]]:
    """Returns a processor for Pydantic AI's ``ProcessHistory`` that replaces the history by a view.

        capabilities = [ProcessHistory(history_processor(engine))]

    Prefer :class:`ContextCapability`: a processor sees neither the tools nor the provider's errors
    nor the usage, and what it removes is gone from ``all_messages()`` too. Give the tools to the
    engine.

    Args:
        engine: The engine.
    """
    requests, own = Requests(), Engines(engine, format=FORMAT).last

    async def view(messages: list[Any]) -> list[Any]:
        return await arun(requests.of(own, messages).messages())

    return view


def _definition(tool: Any) -> dict[str, Any]:
    return definition(tool.name, tool.description, tool.parameters_json_schema)


def _is_answer(message: Any) -> bool:
    return isinstance(message, ModelResponse)
