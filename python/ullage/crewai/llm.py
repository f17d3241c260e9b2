"""``ContextLLM``: every request of a crew inside its model's window."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from crewai import LLM, BaseLLM
from crewai.llms.base_llm import call_stop_override

from ullage import PolicyError
from ullage._engine.steps import arun, run
from ullage._hosts.conversations import Conversations
from ullage._hosts.engines import Engines
from ullage._hosts.rows import SameRows, split
from ullage.crewai.hooks import FORMAT

if TYPE_CHECKING:
    from collections.abc import Callable

    from ullage import ContextManager, Policy
    from ullage._engine.steps import Steps
    from ullage.stores.protocol import Store

# Attributes of the wrapper itself. The stop words of one call are kept by the id of the model.
_OWN = {
    "acall",
    "call",
    "engine",
    "is_context_window_overflowing_threshold",
    "stop_sequences",
    "stream_events",
    "_answer",
    "_conversations",
    "_wrapped",
}


class ContextLLM(BaseLLM):
    """A model whose requests stay inside its window.

        agent = Agent(role=..., goal=..., backstory=..., llm=ContextLLM("gpt-5-mini"))

    It sends a view of the messages (``docs/view.md``), sends a request that the provider refuses as
    too long again, smaller, and corrects the token count by the reported usage. The task's messages
    stay whole, and CrewAI does not summarize them. All else is that of the wrapped model.

    Args:
        llm: The model that is called, or its name.
        engine: The engine. If not given, one with the arguments below.
        policy: The settings, if no engine is given; those for the model if not given either.
        store: Where removed content is kept, if no engine is given; in memory if not given either.
        name: The id of the model, if no engine is given; that of ``llm`` if not given.

    Raises:
        PolicyError: If an argument is invalid, or an engine is given together with what it has.
    """

    def __init__(
        self,
        llm: BaseLLM | str,
        engine: ContextManager | None = None,
        *,
        policy: Policy | None = None,
        store: Store | None = None,
        name: str | None = None,
    ) -> None:
        wrapped = LLM(model=llm) if isinstance(llm, str) else llm
        if not hasattr(wrapped, "call"):
            raise PolicyError(
                f"llm: a {type(llm).__name__} is no model; give a crewai.LLM or its name"
            )
        super().__init__(model=wrapped.model)
        engines = Engines(engine, policy=policy, store=store, model=name, format=FORMAT)
        # CrewAI writes `gpt-5-mini` or `openai/gpt-5-mini`.
        own = {
            "engine": engines.of(wrapped.model.rpartition("/")[2]),
            "_wrapped": wrapped,
            "_conversations": Conversations(SameRows()),
        }
        for attribute, value in own.items():
            object.__setattr__(self, attribute, value)

    def __getattribute__(self, name: str) -> Any:
        if name in _OWN or name.startswith(("__", "model_", "_abc")):
            return super().__getattribute__(name)
        wrapped = super().__getattribute__("__dict__").get("_wrapped")
        return super().__getattribute__(name) if wrapped is None else getattr(wrapped, name)

    def call(self, messages: str | list[Any], *args: Any, **more: Any) -> Any:
        """Asks the model, with a view of the messages."""
        if isinstance(messages, str):
            return self._wrapped.call(messages, *args, **more)
        return run(self._answer(messages, self._wrapped.call, args, more))

    async def acall(self, messages: str | list[Any], *args: Any, **more: Any) -> Any:
        """Asks the model, with a view of the messages."""
        if isinstance(messages, str):
            return await self._wrapped.acall(messages, *args, **more)
        return await arun(self._answer(messages, self._wrapped.acall, args, more))

    def is_context_window_overflowing_threshold(self, *_: Any, **__: Any) -> bool:
        """Returns False, because a request is inside the window. CrewAI need not summarize."""
        return False

    def _answer(
        self, messages: list[Any], ask: Callable[..., Any], args: Any, more: dict[str, Any]
    ) -> Steps[Any]:
        prompt, history = split(messages, lambda message: message["role"] == "system")
        # CrewAI passes the same objects with each request of a task. They are kept with their rows,
        # so that no other message gets the number of the first.
        key = id(history[0]) if history else None
        conversation, reading = self._conversations.of(self.engine, history, key)

        def send(view: list[Any]) -> Any:
            return ask([*prompt, *view], *args, **more)

        before = self._wrapped.get_token_usage_summary()
        with call_stop_override(self._wrapped, self.stop_sequences):
            answer = yield from conversation.exchange(
                reading,
                send,
                system="\n".join(str(message["content"]) for message in prompt) or None,
                tools=(args[0] if args else more.get("tools")) or None,
            )
        after = self._wrapped.get_token_usage_summary()
        # The sums of several calls, where agents share the model and call it at the same time.
        if after.successful_requests == before.successful_requests + 1:
            conversation.observe(
                after.prompt_tokens - before.prompt_tokens,
                after.cached_prompt_tokens - before.cached_prompt_tokens,
            )
        return answer
