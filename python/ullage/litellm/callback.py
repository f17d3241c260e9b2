"""``ContextCallback``: keeps the requests that go through LiteLLM inside their windows."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import litellm
from litellm.integrations.custom_logger import CustomLogger
from litellm.litellm_core_utils.agentic_loop_settings import DEFAULT_MAX_AGENTIC_LOOPS
from litellm.types.integrations.custom_logger import (
    HEADROOM_CONVERTED_STREAM_KEY,
    AgenticLoopPlan,
    AgenticLoopRequestPatch,
)

from ullage import UllageWarning, is_overflow, model_limits
from ullage._engine.logger import Logger
from ullage._engine.lru_cache import LruCache
from ullage._engine.steps import arun
from ullage._hosts.conversations import KEPT_BYTES, MOST_REFUSALS, Conversations
from ullage._hosts.engines import Engines
from ullage._hosts.rows import SameRows
from ullage._hosts.usage import input_tokens
from ullage.litellm.retrieval import ServerTool

if TYPE_CHECKING:
    from ullage import ContextManager, Policy
    from ullage._hosts.conversations import HostConversation
    from ullage._hosts.rows import Reading
    from ullage.stores.protocol import Store

logger = Logger(__name__)

# The form of each kind of call, and the key of its history.
_CALLS = {
    "acompletion": ("openai", "messages"),
    "anthropic_messages": ("anthropic", "messages"),
    "aresponses": ("openai-responses", "input"),
}
# The most calls that wait for an answer. Nothing is learned from an older call.
_MOST_CALLS = 256
# The server has the rest of the conversation.
_CONTINUES = ("previous_response_id", "conversation")


@dataclass
class _Call:
    """A call that waits for an answer: its kind, conversation, and the tokens of its messages."""

    kind: str
    conversation: HostConversation
    reading: Reading
    beside: dict[str, Any] = field(repr=False)
    tokens: int


class ContextCallback(CustomLogger):
    """Sends a view of the messages in place of them; the client keeps its whole history.

        litellm_settings:
          callbacks: ullage.litellm.context

    The conversation is found by its messages. A message with ``cache_control`` stays unchanged. On
    the proxy, a request that the provider refuses as too long is sent again, smaller, and the model
    can read removed text back: the proxy answers these calls. Reported usage corrects the count.

    Args:
        engine: The engine. If not given, each model has an engine of its own.
        policy: The settings, if no engine is given; those for the model if not given either.
        store: Where removed content is kept, if no engine is given; in memory if not given either.
        model: The id of the model, if no engine is given; that of the request if not given.
        retrieve: The name of the retrieval tool; None for no such tool.
        buffer_streams: True to add the tool to streamed requests of OpenAI's APIs too. Their
            answers then arrive in one piece.

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
        retrieve: str | None = "retrieve",
        buffer_streams: bool = False,
    ) -> None:
        super().__init__()
        self._engines: dict[str, Engines] = {}
        for kind, (form, _) in _CALLS.items():
            made = Engines(engine, policy=policy, store=store, model=model, format=form)
            self._engines[kind] = made
            store = made.store if engine is None else None
        self._conversations = Conversations(SameRows(), replay=True)
        self._tool = (
            None if retrieve is None or made.store is None else ServerTool(made.store, retrieve)
        )
        self._buffers = buffer_streams
        # LiteLLM holds a stream of Anthropic's API back while it may contain calls of these.
        self.server_fulfilled_tool_names = frozenset({retrieve} if self._tool else ())
        self._calls: LruCache[_Call] = LruCache(_MOST_CALLS, KEPT_BYTES)

    async def async_pre_call_hook(
        self, data: dict[str, Any], call_type: str, **_: Any
    ) -> dict[str, Any] | None:
        """Lets the proxy send a refused request again, to the same model."""
        model = data.get("model")
        if call_type not in _CALLS or not isinstance(model, str):
            return None
        from litellm.proxy.proxy_server import llm_router

        configured = data.get("context_window_fallbacks")
        if configured is None:
            configured = getattr(llm_router, "context_window_fallbacks", None)
        others = [one for row in configured or () for one in row.get(model) or ()]
        # The router overwrites the depth, so each target is only one more.
        again = [{"model": model, "fallback_depth": n} for n in range(1, MOST_REFUSALS + 1)]
        return {**data, "context_window_fallbacks": [{model: [*again, *others]}]}

    async def async_pre_call_deployment_hook(
        self, kwargs: dict[str, Any], call_type: Any
    ) -> dict[str, Any] | None:
        """Replaces the messages by the view."""
        kind = getattr(call_type, "value", None)
        if kind not in _CALLS:
            return None
        form, key = _CALLS[kind]
        history, name = kwargs.get(key), str(kwargs.get("litellm_call_id") or "")
        known = self._calls.get(name)
        # LiteLLM makes a call of another kind if the provider does not have this API.
        is_nested = known is not None and known.kind != kind
        if is_nested or not isinstance(history, list) or not history:
            return None
        if any(kwargs.get(one) for one in _CONTINUES):
            return None
        changed = self._with_tool(kwargs, kind, form)
        tools = changed.get("tools")
        beside: dict[str, Any] = {
            "system": kwargs.get("system") or kwargs.get("instructions"),
            "tools": tools or None,
            "pins": [place for place, row in enumerate(history) if _is_marked(row)],
        }
        engine = self._engines[kind].of(kwargs.get("model"), _window(kwargs))
        conversation, reading = self._conversations.of(engine, history)
        changed[key] = await arun(conversation.request(reading, **beside))
        if name:
            call = _Call(kind, conversation, reading, beside, conversation.tokens)
            self._calls.put(name, call, reading.bytes)
        return changed

    def _with_tool(self, kwargs: dict[str, Any], kind: str, form: str) -> dict[str, Any]:
        """Returns a copy of the arguments, with the tool if LiteLLM can answer its calls."""
        changed = dict(kwargs)
        streamed = kwargs.get("stream") and kind != "anthropic_messages"
        if self._tool is None or kwargs.get("_agentic_loop_depth") or kwargs.get("background"):
            return changed
        if not self._tool.fits(kwargs.get("tools")) or (streamed and not self._buffers):
            return changed
        changed["tools"] = [*kwargs["tools"], self._tool.definition(form)]
        if streamed:
            changed |= {"stream": False, HEADROOM_CONVERTED_STREAM_KEY: True}
        return changed

    async def async_post_call_failure_deployment_hook(
        self,
        request_data: Any,
        exception: Exception,
        call_type: Any = None,  # noqa: ARG002 - LiteLLM gives it by position
        **_: Any,
    ) -> None:
        """Makes the conversation smaller that the provider refused as too long."""
        call = self._calls.take(str(request_data.get("litellm_call_id")))
        if call is None or not is_overflow(exception):
            return
        try:
            await arun(call.conversation.smaller(call.reading, exception, **call.beside))
        except Exception as error:  # noqa: BLE001 - LiteLLM raises the refusal itself
            logger.warning("error=<%s> | nothing is left to remove", error)

    async def async_log_success_event(
        self, kwargs: dict[str, Any], response_obj: Any, **_: Any
    ) -> None:
        """Learns from the reported usage."""
        name = str(kwargs.get("litellm_call_id"))
        call = self._calls.get(name)
        usage = getattr(response_obj, "usage", None)
        # A later request of the conversation may be waiting for its answer.
        if call is not None and usage is not None and call.tokens == call.conversation.tokens:
            call.conversation.observe(*input_tokens(usage))
        self._calls.take(name)

    async def async_should_run_agentic_loop(
        self, response: Any, tools: Any, **_: Any
    ) -> tuple[bool, dict[str, Any]]:
        """True if the model called the retrieval tool of this proxy."""
        if self._tool is None or not self._tool.is_in(tools):
            return False, {}
        calls = self._tool.calls(response)
        return bool(calls), {"tool_calls": calls}

    async def async_build_agentic_loop_plan(  # noqa: PLR0917 - of LiteLLM
        self,
        model: str,
        messages: list[Any],
        response: Any,
        anthropic_messages_optional_request_params: dict[str, Any],
        logging_obj: Any,
        kwargs: dict[str, Any],
        **_: Any,
    ) -> AgenticLoopPlan:
        """Answers the calls of the retrieval tool, and asks the model again."""
        if self._tool is None:
            return AgenticLoopPlan(run_agentic_loop=False)
        params = dict(anthropic_messages_optional_request_params)
        max_tokens = params.pop("max_tokens", None)
        known = getattr(logging_obj, "model_call_details", None) or {}
        is_last = (kwargs.get("_agentic_loop_depth") or 0) + 1 >= (
            kwargs.get("max_agentic_loops") or DEFAULT_MAX_AGENTIC_LOOPS
        )
        # LiteLLM answers a call beyond its limit with an error.
        offered = self._tool.without(params["tools"]) if is_last else params["tools"]
        patch = AgenticLoopRequestPatch(
            model=known.get("agentic_loop_params", {}).get("model") or model,
            messages=[*messages, *await self._tool.follow_up(messages, response)],
            tools=offered,
            max_tokens=max_tokens,
            optional_params=params,
        )
        return AgenticLoopPlan(run_agentic_loop=True, request_patch=patch)


def _is_marked(row: Any) -> bool:
    """True if a row or one of its blocks ends a part that the provider caches."""
    if not isinstance(row, dict):
        return False
    content = row.get("content")
    blocks = content if isinstance(content, list) else ()
    return any(isinstance(one, dict) and "cache_control" in one for one in (row, *blocks))


def _window(kwargs: dict[str, Any]) -> int | None:
    """Returns the window of a model in the configuration, or in LiteLLM if only it knows one."""
    model = kwargs.get("model") or ""
    configured = (kwargs.get("model_info") or {}).get("max_input_tokens")
    if configured is not None:
        return int(configured)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UllageWarning)
        if model_limits(model).source != "default":
            return None
    try:
        known = litellm.get_model_info(model).get("max_input_tokens")
    except Exception:  # noqa: BLE001 - LiteLLM reports an unknown model like this
        return None
    return None if known is None else int(known)
