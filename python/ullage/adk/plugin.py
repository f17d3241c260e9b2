"""``ContextPlugin``: ullage for every agent of an app. ``ContextCallbacks``: for one agent."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, TypeAlias, TypedDict, TypeVar, get_args

from google.adk.models.llm_response import LlmResponse
from google.adk.plugins.base_plugin import BasePlugin
from google.genai import types

from ullage import PolicyError
from ullage._engine.logger import Logger
from ullage._hosts.engines import Engines
from ullage.adk.arrivals import Arrivals, Payloads
from ullage.adk.conversations import invocation_of
from ullage.adk.guard import Guard
from ullage.adk.meter import Call, Meter, collect_usage, estimate, usage_of
from ullage.adk.requests import FORMAT, Remember, Requests
from ullage.usage.tracker import UsageTracker

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from google.adk.agents.base_agent import BaseAgent
    from google.adk.agents.callback_context import CallbackContext
    from google.adk.models.llm_request import LlmRequest
    from google.adk.tools.base_tool import BaseTool
    from google.adk.tools.tool_context import ToolContext
    from typing_extensions import Unpack

    from ullage import ContextManager
    from ullage.usage.tokens import Usage

logger = Logger(__name__)

# The plugin's name in ADK. Names are unique in an app.
NAME = "ullage_context"

# An engine, a function from a model's id to its engine, or None for defaults by the id.
EngineOrFactory: TypeAlias = "ContextManager | Callable[[str], ContextManager] | None"

_Outcome = TypeVar("_Outcome")


def _harmless(
    hook: Callable[..., Coroutine[Any, Any, _Outcome | None]],
) -> Callable[..., Coroutine[Any, Any, _Outcome | None]]:
    """The hook, which logs its errors: ADK ends the run of a callback that raises."""

    @functools.wraps(hook)
    async def called(*args: Any, **kwargs: Any) -> _Outcome | None:
        try:
            return await hook(*args, **kwargs)
        except Exception:
            logger.exception("hook=<%s> | the hook failed, ADK continues without it", hook.__name__)
            return None

    return called


class Settings(TypedDict, total=False):
    """The settings of the plugin and of the callbacks.

    Keys:
        engine: The engine: a ``ContextManager``, a function from a model's id to one, or None for
            one for each model, by its id and without a store. Give your own ``format="gemini"``.
        usage: Adds up the usage, and has the budget; if not given, ``UsageTracker.from_env()``,
            with the budget in ``SRE_AGENT_TOKEN_BUDGET``.
        payloads: Handles large payloads before a response is shortened, such as
            ``ullage.adk.LargePayloadHandler``.
        guard: The last limit on a response; if not given, ``Guard()``.
        remember: The place to remember compactions: the state of the "session", so that a resumed
            session sends the same beginning, or this "process" only.
    """

    engine: EngineOrFactory
    usage: UsageTracker | None
    payloads: Payloads | None
    guard: Guard | None
    remember: Remember


class ContextHooks:
    """The work of ullage at each of ADK's callbacks, for an app or for an agent.

    Args:
        **settings: See ``Settings``.

    Raises:
        PolicyError: If a setting is unknown or invalid.
    """

    def __init__(self, **settings: Unpack[Settings]) -> None:
        unknown = settings.keys() - Settings.__annotations__.keys()
        if unknown:
            raise PolicyError(
                f"{', '.join(sorted(unknown))}: unknown; the settings are"
                f" {', '.join(Settings.__annotations__)}. The settings of an engine are given to"
                ' it: engine=ContextManager(Policy(...), format="gemini")'
            )
        engine, usage = settings.get("engine"), settings.get("usage")
        payloads, guard = settings.get("payloads"), settings.get("guard")
        remember = settings.get("remember", "session")
        for name, value, kind in (("usage", usage, UsageTracker), ("guard", guard, Guard)):
            if value is not None and not isinstance(value, kind):
                raise PolicyError(f"{name}: it is a {type(value).__name__}, not a {kind.__name__}")
        if payloads is not None and not callable(getattr(payloads, "handle", None)):
            raise PolicyError(f"payloads: a {type(payloads).__name__} has no `handle`")
        if remember not in get_args(Remember):
            raise PolicyError(f"remember: {remember!r}; it can be {', '.join(get_args(Remember))}")
        factory = engine if callable(engine) else None
        own = None if callable(engine) else engine
        self._engines = Engines(own, factory=factory, format=FORMAT, has_store=False)
        self._requests = Requests(self._engines, remember)
        self._usage = UsageTracker.from_env() if usage is None else usage
        self._meter = Meter(self._usage)
        self._arrivals = Arrivals(self._engines, payloads, guard or Guard())

    @property
    def usage(self) -> UsageTracker:
        """The usage of all sessions."""
        return self._usage

    @_harmless
    async def before_model_callback(
        self, callback_context: CallbackContext, llm_request: LlmRequest
    ) -> LlmResponse | None:
        """Stops a session over its budget; brings any other request inside its window."""
        account = self._meter.account(callback_context)
        if self.usage.is_over_budget(account):
            part = types.Part(text=self.usage.paused(account))
            said = types.Content(role="model", parts=[part])
            return LlmResponse(content=said, turn_complete=True)
        call = self._meter.begin(callback_context, llm_request.model)
        if llm_request.previous_interaction_id is not None:
            # Google has the history of a stateful interaction, and the request only what is new.
            return None
        with collect_usage() as summaries:
            fitted = await self._requests.fit(callback_context, llm_request)
        self._meter.add_summaries(callback_context, summaries)
        self._meter.keep(callback_context, call, fitted)
        return None

    @_harmless
    async def after_model_callback(
        self, callback_context: CallbackContext, llm_response: LlmResponse
    ) -> LlmResponse | None:
        """Counts the usage of the call, and corrects the counter by it."""
        call = self._meter.current_call(callback_context)
        self._meter.add(callback_context, llm_response, lambda: self._estimate(call, llm_response))
        if llm_response.partial or call.fitted is None:
            return None
        used = usage_of(llm_response.usage_metadata)
        if used is not None:
            call.fitted.known.observe(used.prompt, used.cached)
        self._requests.keep_in_session(call.fitted, callback_context)
        return None

    @_harmless
    async def on_model_error_callback(
        self, callback_context: CallbackContext, llm_request: LlmRequest, error: Exception
    ) -> LlmResponse | None:
        """Sends a smaller request again after the provider refused one as too long."""
        call = self._meter.current_call(callback_context)
        if call.fitted is None:
            return None
        try:
            with collect_usage() as summaries:
                send = functools.partial(_answer, callback_context, llm_request)
                return await call.fitted.recovered(error, send)
        except Exception as again:  # noqa: BLE001 - ADK raises the first error
            if again is not error:
                logger.warning("error=<%s> | the refused request was not recovered", again)
            # The run ends here, so nothing else releases them.
            self._release(call)
            return None
        finally:
            self._meter.add_summaries(callback_context, summaries)

    @_harmless
    async def after_agent_callback(
        self, callback_context: CallbackContext, agent: BaseAgent | None = None
    ) -> types.Content | None:
        """Releases the data of the running invocation."""
        del agent
        call = self._meter.end(callback_context)
        if call is not None:
            self._release(call)
        return None

    @_harmless
    async def _shorten_response(
        self, tool: BaseTool, args: dict[str, Any], context: ToolContext, result: Any
    ) -> dict[str, Any] | None:
        return await self._arrivals.shorten(tool, args, context, result)

    def _release(self, call: Call) -> None:
        if call.fitted is not None:
            self._requests.release(call.fitted)
            call.fitted = None

    def _estimate(self, call: Call, response: LlmResponse) -> Usage:
        """The usage of a call by the engine's own count."""
        counter = self._engines.of(call.model).counter
        said = [] if response.content is None else [response.content]
        prompt = 0 if call.fitted is None else call.fitted.tokens
        return estimate(prompt, counter.count_messages(said, FORMAT) if said else 0)


class ContextPlugin(ContextHooks, BasePlugin):
    """Keeps the requests of every agent of an app inside the window of its model.

        app = App(name="sre", root_agent=agent, plugins=[ContextPlugin()])

    * A tool's response is shortened before it enters the session. The original is stored if the
      engine has a store. No text above 200,000 characters and no list above 500 items enters.
    * Before a model call the request is compacted if it is above the high mark, also in the middle
      of an invocation. Its system instruction and tools are counted. The outcome is used until the
      high mark is reached again, so the prompt keeps its beginning and the provider its cache.
      Invalid histories are repaired. Only the request changes; the session keeps every event.
    * A request that the provider refuses as too long is sent again, smaller, at most three times.
    * Usage is added up in ``usage``, by session and agent. A session that has used up the tracker's
      budget gets the SRE agent's pause as the answer. Earlier usage of a resumed session comes from
      its events. Agents that are called as tools count to the user's session. Reports of providers
      correct the engine's counter.

    A callback never raises: errors are logged, and ADK continues without the callback's effect.

    One plugin may serve several runners and threads, and several runs of a session at once. It
    remembers the last compaction of 64 conversations (an agent in a session). The state of the
    session keeps it for other processes, under a key that begins with ``ullage/``. Beside the
    engine's own cost, a call takes one pass over the compacted contents.

    Args:
        name: The plugin's name.
        **settings: ``engine``, ``usage``, ``payloads``, ``guard`` and ``remember``, all optional:
            see ``ullage.adk.plugin.Settings``.

    Raises:
        PolicyError: If a setting is unknown or invalid.
    """

    def __init__(self, *, name: str = NAME, **settings: Unpack[Settings]) -> None:
        BasePlugin.__init__(self, name)
        ContextHooks.__init__(self, **settings)

    async def after_tool_callback(
        self,
        *,
        tool: BaseTool,
        tool_args: dict[str, Any],
        tool_context: ToolContext,
        result: dict[str, Any],
    ) -> dict[str, Any] | None:
        """Shortens a response that is too long."""
        return await self._shorten_response(tool, tool_args, tool_context, result)


class ContextCallbacks(ContextHooks):
    """The work of ``ContextPlugin``, as callbacks of an agent.

        agent = LlmAgent(name="sre", model=model, tools=tools, **ContextCallbacks().fields())

    Several agents may share one object. Do not use it beside the plugin: usage would count twice.

    Args:
        **settings: As for ``ContextPlugin``.

    Raises:
        PolicyError: If a setting is unknown or invalid.
    """

    def fields(self) -> dict[str, Any]:
        """The callbacks by the names of an agent's fields."""
        return {
            "before_model_callback": self.before_model_callback,
            "after_model_callback": self.after_model_callback,
            "on_model_error_callback": self.on_model_error_callback,
            "after_tool_callback": self.after_tool_callback,
            "after_agent_callback": self.after_agent_callback,
        }

    async def after_tool_callback(
        self,
        tool: BaseTool,
        args: dict[str, Any],
        tool_context: ToolContext,
        tool_response: dict[str, Any],
    ) -> dict[str, Any] | None:
        """Shortens a response that is too long."""
        return await self._shorten_response(tool, args, tool_context, tool_response)


async def _answer(context: CallbackContext, request: LlmRequest) -> LlmResponse | None:
    """The model's whole answer, by ADK's own count of calls."""
    invocation = invocation_of(context)
    agent = invocation.agent
    find = getattr(agent, "canonical_model_async", None)
    model = agent.canonical_model if find is None else await find(context)
    invocation.increment_llm_call_count()
    answer: LlmResponse | None = None
    async for response in model.generate_content_async(request, stream=False):
        answer = response
    return answer
