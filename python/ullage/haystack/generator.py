"""``ContextGenerator``: every request of an agent inside its model's window."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from haystack import component
from haystack.core.serialization import component_to_dict, default_from_dict, default_to_dict
from haystack.dataclasses import ChatMessage
from haystack.tools import ToolsType, flatten_tools_or_toolsets
from haystack.utils.deserialization import deserialize_component_inplace

from ullage import Policy, PolicyError
from ullage._engine.calling import in_pool
from ullage._engine.steps import arun, run
from ullage._hosts.conversations import Conversations
from ullage._hosts.definitions import Definitions, definition
from ullage._hosts.engines import Engines
from ullage._hosts.rows import split
from ullage._hosts.usage import input_tokens
from ullage.haystack.codec import MessageCodec, is_system

if TYPE_CHECKING:
    from collections.abc import Callable

    from ullage import ContextManager
    from ullage._engine.steps import Steps
    from ullage.stores.protocol import Store

FORMAT = "anthropic"
# The key of the state in the metadata of an answer, which no provider gets.
_KEY = "ullage"


@component
class ContextGenerator:
    """A chat generator whose requests stay inside the window of its model.

        agent = Agent(chat_generator=ContextGenerator(OpenAIChatGenerator()), tools=tools)

    It sends a view of the messages (``docs/view.md``), sends a request that the provider refuses as
    too long again, smaller, and corrects the token count by the reported usage. The agent's history
    stays whole. After a compaction the metadata of the answer has what another process needs to
    send the same requests.

    Args:
        chat_generator: The generator that is called.
        engine: The engine. If not given, one with the arguments below.
        policy: The settings, if no engine is given; those for the model if not given either.
        store: Where removed content is kept, if no engine is given; in memory if not given either.
        model: The id of the model, if no engine is given; that of ``chat_generator`` if not given.

    Raises:
        PolicyError: If an argument is invalid, or an engine is given together with what it has.
    """

    def __init__(
        self,
        chat_generator: Any,
        engine: ContextManager | None = None,
        *,
        policy: Policy | None = None,
        store: Store | None = None,
        model: str | None = None,
    ) -> None:
        if not hasattr(chat_generator, "run"):
            raise PolicyError(
                f"chat_generator: a {type(chat_generator).__name__} is no chat generator; give the"
                " generator of the agent"
            )
        engines = Engines(engine, policy=policy, store=store, model=model, format=FORMAT)
        self.chat_generator = chat_generator
        self.engine = engines.of(getattr(chat_generator, "model", None))
        self._given: dict[str, Any] = {"engine": engine, "store": store}
        self._policy, self._model = policy, model
        self._conversations = Conversations(MessageCodec())
        self._definitions = Definitions(_definition)

    def __getattr__(self, name: str) -> Any:
        # `warm_up`, `close` and others, which not every generator has.
        if name == "chat_generator" or name.startswith("__"):
            raise AttributeError(name)
        return getattr(self.chat_generator, name)

    @component.output_types(replies=list[ChatMessage])  # type: ignore[untyped-decorator]
    def run(
        self, messages: list[ChatMessage], tools: ToolsType | None = None, **more: Any
    ) -> dict[str, Any]:
        """Asks the model, with a view of the messages."""
        return run(self._answer(messages, tools, more, self.chat_generator.run))

    @component.output_types(replies=list[ChatMessage])  # type: ignore[untyped-decorator]
    async def run_async(
        self, messages: list[ChatMessage], tools: ToolsType | None = None, **more: Any
    ) -> dict[str, Any]:
        """Asks the model, with a view of the messages."""
        ask = getattr(self.chat_generator, "run_async", None)
        ask = ask or partial(in_pool, self.chat_generator.run)
        return await arun(self._answer(messages, tools, more, ask))

    def to_dict(self) -> dict[str, Any]:
        """Returns the settings. An engine and a store cannot be serialized: set them after loading.

        Raises:
            PolicyError: If it was created with one of them.
        """
        if named := [name for name, value in self._given.items() if value is not None]:
            raise PolicyError(f"{named[0]}: it cannot be serialized; give policy= and model= alone")
        policy = None if self._policy is None else self._policy.to_dict()
        inner = component_to_dict(self.chat_generator, name="chat_generator")
        given = {"chat_generator": inner, "policy": policy, "model": self._model}
        return default_to_dict(self, **given)  # type: ignore[no-any-return]

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> ContextGenerator:
        """Returns a generator with the settings of :meth:`to_dict`."""
        given = data["init_parameters"]
        deserialize_component_inplace(given, key="chat_generator")
        if given.get("policy") is not None:
            given["policy"] = Policy.from_dict(given["policy"])
        read: ContextGenerator = default_from_dict(cls, data)
        return read

    def _answer(
        self,
        messages: list[ChatMessage],
        tools: ToolsType | None,
        more: dict[str, Any],
        ask: Callable[..., Any],
    ) -> Steps[dict[str, Any]]:
        if tools is not None:
            more["tools"] = tools
        prompt, history = split(messages, is_system)
        metas = (message.meta for message in reversed(history))
        before = next((meta[_KEY] for meta in metas if _KEY in meta), None)
        conversation, reading = self._conversations.of(
            self.engine,
            history,
            # Haystack passes the same objects with each request. Their rows are kept with them, so
            # that no other message gets the number of the first.
            key=id(history[0]) if history else None,
            saved=before,
        )
        result = yield from conversation.exchange(
            reading,
            lambda view: ask(messages=[*prompt, *view], **more),
            system="\n".join(message.text or "" for message in prompt) or None,
            tools=self._definitions.of(flatten_tools_or_toolsets(tools)),
        )
        replies = list(result["replies"])
        if replies:
            conversation.observe(*input_tokens(replies[0].meta.get("usage")))
        saved = conversation.saved(before)
        if saved is not None and replies:
            replies[0] = replace(replies[0], _meta={**replies[0].meta, _KEY: saved})
        return {**result, "replies": replies}


def _definition(tool: Any) -> dict[str, Any]:
    return definition(tool.name, tool.description, tool.parameters)
