"""``Hooks``: what ullage does at each of ADK's callbacks, for the plugin and for agents alike."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, TypedDict, TypeVar, get_args

from google.adk.models.llm_response import LlmResponse
from google.genai import types

from ullage import PolicyError, UllageError
from ullage._engine.logger import Logger
from ullage.adk.arrivals import Arrivals, Payloads
from ullage.adk.conversations import conversation_of
from ullage.adk.engines import EngineOrFactory, Engines
from ullage.adk.guard import Guard
from ullage.adk.meter import Call, Meter, usage_of
from ullage.adk.overflow import counted_tokens, is_overflow
from ullage.adk.requests import Requests
from ullage.adk.session_state import Remember
from ullage.adk.summary_text import FORMAT
from ullage.adk.summary_usage import collect_usage, estimate
from ullage.usage.tracker import UsageTracker

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from google.adk.agents.callback_context import CallbackContext
    from google.adk.models.llm_request import LlmRequest
    from google.adk.tools.base_tool import BaseTool
    from google.adk.tools.tool_context import ToolContext

    from ullage.usage.tokens import Usage

logger = Logger(__name__)

# How often one model call is made again with less, after the provider refused it for its length.
# Each time it is at most 70 % of what was refused, so three times come to a third.
RETRIES = 3

# What a model may change in a request's configuration on its way to the provider: with an explicit
# cache, ADK moves these into it.
_CONFIGURED = ("system_instruction", "tools", "tool_config", "cached_content")

T = TypeVar("T")


def _harmless(hook: Callable[..., Awaitable[T | None]]) -> Callable[..., Awaitable[T | None]]:
    """The hook, which logs what goes wrong in it: ADK ends the run of a callback that raises."""

    @functools.wraps(hook)
    async def called(*args: Any, **kwargs: Any) -> T | None:
        try:
            return await hook(*args, **kwargs)
        except Exception:
            logger.exception("hook=<%s> | ADK goes on as if it were not there", hook.__name__)
            return None

    return called


class Settings(TypedDict, total=False):
    """What the plugin and the callbacks are made with.

    Keys:
        engine: What decides: a ``ContextManager``, a function from a model's id to one, or None
            for one for each model, by its id and without a store. Give ``format="gemini"`` to
            one's own.
        usage: Where usage is added up, and whose budget is kept; if not given,
            ``UsageTracker.from_env()``, with the budget in ``SRE_AGENT_TOKEN_BUDGET``.
        payloads: What handles large payloads before a response is shrunk, such as
            ``ullage.adk.LargePayloadHandler``.
        guard: The last limit on a response; if not given, ``Guard()``.
        remember: Where compactions are remembered: in the state of the "session", so that a
            resumed one begins with what was sent before, or in this "process" alone.
    """

    engine: EngineOrFactory
    usage: UsageTracker | None
    payloads: Payloads | None
    guard: Guard | None
    remember: Remember


_SETTINGS = tuple(Settings.__annotations__)


class Hooks:
    """What ullage does at each callback.

    Args:
        engine: See ``Settings``, as for all that follow.
        usage: Where usage is added up.
        payloads: What handles large payloads.
        guard: The last limit on a response.
        remember: Where compactions are remembered.
        **unknown: Settings that there are not.

    Raises:
        PolicyError: If an argument is unknown, or not what it should be.
    """

    def __init__(
        self,
        *,
        engine: EngineOrFactory = None,
        usage: UsageTracker | None = None,
        payloads: Payloads | None = None,
        guard: Guard | None = None,
        remember: Remember = "session",
        **unknown: object,
    ) -> None:
        if unknown:
            raise PolicyError(
                f"{', '.join(unknown)}: unknown; the settings are {', '.join(_SETTINGS)}. What an"
                " engine decides by is given to it: engine=ContextManager(Policy(...),"
                ' format="gemini")'
            )
        for name, value, kind in (("usage", usage, UsageTracker), ("guard", guard, Guard)):
            if value is not None and not isinstance(value, kind):
                raise PolicyError(f"{name}: it is a {type(value).__name__}, not a {kind.__name__}")
        if payloads is not None and not callable(getattr(payloads, "handle", None)):
            raise PolicyError(f"payloads: a {type(payloads).__name__} has no `handle`")
        if remember not in get_args(Remember):
            raise PolicyError(f"remember: {remember!r}; it can be {', '.join(get_args(Remember))}")
        self._engines = Engines(engine)
        self._requests = Requests(self._engines, remember)
        self.usage = UsageTracker.from_env() if usage is None else usage
        self._meter = Meter(self.usage)
        self._arrivals = Arrivals(self._engines, payloads, Guard() if guard is None else guard)

    @_harmless
    async def before_model(
        self, context: CallbackContext, request: LlmRequest
    ) -> LlmResponse | None:
        """Stops a session that has used up its budget; brings any other inside its window."""
        account = self._meter.account(context)
        if self.usage.is_over_budget(account):
            return _said(self.usage.paused(account))
        call = Call(request.model or "", config=_configured(request))
        self._meter.begin(context, call)
        if request.previous_interaction_id is not None:
            # Google has the history of a stateful interaction, and the request only what is new.
            return None
        conversation = conversation_of(context, request.model)
        with collect_usage() as summaries:
            call.sent = await self._requests.fitted(conversation, context, request)
        self._meter.add_summaries(context, summaries)
        # A list of its own: models may change that of the request.
        request.contents = list(call.sent)
        call.restart()
        return None

    @_harmless
    async def after_model(self, context: CallbackContext, response: LlmResponse) -> None:
        """Counts what the call used, and learns from it how the provider counts."""
        call = self._meter.running(context)
        self._meter.add(context, response, lambda: self._estimated(call, response))
        if not response.partial:
            self._requests.answered(conversation_of(context, call.model), context)
        used = None if response.partial else usage_of(response.usage_metadata)
        if used is None or call.sent is None or not used.prompt:
            return
        sent, call.sent = call.sent, None
        self._engines.of(call.model).observe(sent, used.prompt, used.cached)

    @_harmless
    async def model_error(
        self, context: CallbackContext, request: LlmRequest, error: Exception
    ) -> LlmResponse | None:
        """Makes a call again with less that the provider refused for its length."""
        call = self._meter.running(context)
        while is_overflow(error) and call.retries < RETRIES:
            call.retries += 1
            if not await self._shortened(context, request, call, error):
                break
            try:
                return await _answer(context, request)
            except Exception as again:  # noqa: BLE001 - whatever the model raises is judged above
                error = again
        # The run ends here, so nothing else lets go of them.
        call.sent = None
        if call.retries > 0:
            logger.warning("error=<%s>, retries=<%d> | not recovered", error, call.retries)
        return None

    @_harmless
    async def after_agent(self, context: CallbackContext) -> None:
        """Lets go of what only the running invocation needs."""
        call = self._meter.end(context)
        if call is not None:
            self._requests.rest(conversation_of(context, call.model))

    @_harmless
    async def after_tool(
        self, tool: BaseTool, args: dict[str, Any], context: ToolContext, result: Any
    ) -> dict[str, Any] | None:
        """Makes a response shorter that is too long."""
        return await self._arrivals.shortened(tool, args, context, result)

    def _estimated(self, call: Call, response: LlmResponse) -> Usage:
        """The usage of a call by the engine's own count."""
        engine = self._engines.of(call.model)
        system, tools = call.config.get("system_instruction"), call.config.get("tools")
        status = engine.status(call.sent or [], system=system, tools=tools)
        said = [] if response.content is None else [response.content]
        return estimate(status.tokens + status.fixed, engine.counter.count_messages(said, FORMAT))

    async def _shortened(
        self, context: CallbackContext, request: LlmRequest, call: Call, error: Exception
    ) -> bool:
        """Puts less into a request that was refused; whether there is less."""
        if call.sent is None:
            return False
        for name, value in call.config.items():
            setattr(request.config, name, value)
        try:
            with collect_usage() as summaries:
                left = await self._requests.refused(
                    conversation_of(context, request.model),
                    context,
                    request,
                    counted_tokens(error),
                )
            self._meter.add_summaries(context, summaries)
        except UllageError as problem:
            logger.warning("error=<%s> | the request cannot be made smaller", problem)
            return False
        if left is None:
            logger.warning("the request cannot be made smaller: nothing in it may go")
            return False
        logger.info("contents=<%d>, left=<%d> | asked again", len(call.sent), len(left))
        call.sent, request.contents = left, list(left)
        return True


async def _answer(context: CallbackContext, request: LlmRequest) -> LlmResponse | None:
    """The model's whole answer, by ADK's own count of calls."""
    invocation: Any = context._invocation_context  # noqa: SLF001 - the public way copies all of it
    agent = invocation.agent
    find = getattr(agent, "canonical_model_async", None)
    model = agent.canonical_model if find is None else await find(context)
    invocation.increment_llm_call_count()
    answer: LlmResponse | None = None
    async for response in model.generate_content_async(request, stream=False):
        answer = response
    return answer


def _configured(request: LlmRequest) -> dict[str, Any]:
    return {name: getattr(request.config, name, None) for name in _CONFIGURED}


def _said(text: str) -> LlmResponse:
    content = types.Content(role="model", parts=[types.Part(text=text)])
    return LlmResponse(content=content, turn_complete=True)
