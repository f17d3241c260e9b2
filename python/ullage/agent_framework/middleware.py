"""Middlewares that keep requests inside the window, and the tool that reads removed text back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agent_framework import ChatMiddleware, FunctionMiddleware, FunctionTool

from ullage import RetrievalTool
from ullage._engine.steps import arun
from ullage._hosts.conversations import Conversations
from ullage._hosts.definitions import Definitions, definition
from ullage._hosts.engines import Engines
from ullage._hosts.results import shrink_result
from ullage._hosts.rows import split
from ullage._hosts.usage import input_tokens
from ullage.agent_framework.codec import MessageCodec

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from agent_framework import ChatContext, FunctionInvocationContext

    from ullage import ContextManager, Policy
    from ullage.stores.protocol import Store

FORMAT = "anthropic"
# The key of the state in a session.
_KEY = "ullage"


class ContextMiddleware(ChatMiddleware):
    """Keeps the requests of agents inside their models' windows.

        agent = Agent(client=client, tools=tools, middleware=[ContextMiddleware(engine)])

    Each request has a view of the messages (``docs/view.md``); the session keeps all of them. A
    request that the provider refuses as too long is sent again, smaller; a streamed one is not. The
    reported usage corrects the token count. The session has the state with which another process
    sends the same requests. Where the service keeps the conversation, nothing is changed.

    Args:
        engine: The engine. If not given, each model has an engine of its own, by its id.
        policy: The settings, if no engine is given; those for the model if not given either.
        store: Where removed content is kept, if no engine is given; in memory if not given either.
        model: The id of the model, if no engine is given; that of the client if not given.

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
    ) -> None:
        self._engines = Engines(engine, policy=policy, store=store, model=model, format=FORMAT)
        self._conversations = Conversations(MessageCodec())
        self._definitions = Definitions(_definition)

    async def process(self, context: ChatContext, call_next: Callable[[], Awaitable[None]]) -> None:
        """Sends a view of the messages."""
        options, session = context.options or {}, context.session
        kept = options.get("conversation_id") or getattr(session, "service_session_id", None)
        if kept or not context.messages:
            await call_next()
            return
        # A system prompt before the messages.
        prompt, messages = split(context.messages, lambda message: str(message.role) == "system")
        texts = [message.text for message in prompt]
        model = options.get("model") or getattr(context.client, "model", None)
        before = None if session is None else session.state.get(_KEY)
        conversation, reading = self._conversations.of(
            self._engines.of(model),
            messages,
            key=None if session is None else session.session_id,
            saved=before,
        )

        async def send(view: list[Any]) -> None:
            context.messages = [*prompt, *view]
            await call_next()

        tools = options.get("tools") or []
        await arun(
            conversation.exchange(
                reading,
                send,
                system="\n".join((options.get("instructions") or "", *texts)).strip() or None,
                tools=self._definitions.of(_counted(tools if isinstance(tools, list) else [tools])),
            )
        )

        def learn(response: Any) -> None:
            conversation.observe(*input_tokens(getattr(response, "usage_details", None)))
            saved = conversation.saved(before)
            if session is not None and saved is not None:
                session.state[_KEY] = saved

        # A streamed answer reports its usage at its end.
        learn(None if context.stream else context.result)
        if context.stream:
            context.stream_result_hooks.append(learn)


class ShortenMiddleware(FunctionMiddleware):
    """Shortens the results of tools before a session stores them, and stores the whole text.

        agent = Agent(client=client, tools=tools, middleware=[ShortenMiddleware(engine)])

    Args:
        engine: The engine. Its store keeps the whole text.
    """

    def __init__(self, engine: ContextManager) -> None:
        self._engine = Engines(engine, format=FORMAT).last

    async def process(
        self, context: FunctionInvocationContext, call_next: Callable[[], Awaitable[None]]
    ) -> None:
        """Shortens a result that is text."""
        await call_next()
        result = context.result
        if isinstance(result, list) and len(result) == 1 and result[0].type == "text":
            result = result[0].text
        if isinstance(result, str):
            short = await arun(shrink_result(self._engine, context.function.name, result))
            if short is not result:
                context.result = short


def retrieval_tool(store: Store, *, name: str = "retrieve") -> FunctionTool:
    """Returns the tool that reads stored text back. A mistake of the model gets an answer.

    Args:
        store: The store of the engine.
        name: The name of the tool for the model.
    """
    retrieval = RetrievalTool(store, name=name)

    async def retrieve(**arguments: Any) -> str:
        return await retrieval.acall(arguments)

    return FunctionTool(
        name=name,
        description=retrieval.description,
        func=retrieve,
        input_model=retrieval.parameters,
        approval_mode="never_require",
    )


def _counted(tools: list[Any]) -> list[Any]:
    return [tool for tool in tools if isinstance(tool, (FunctionTool, dict))]


def _definition(tool: Any) -> dict[str, Any]:
    if isinstance(tool, dict):
        return tool
    return definition(tool.name, tool.description, tool.parameters())
