"""Measures the work of a host between two calls of its model, at 1,000 messages.

Each host runs a real agent over a long history, with a model that only calls a tool: as it is, with
its own compaction, and with the adapter of ullage. Nothing is due in any of them. What is measured
is the processor time from an answer of the model to its next request: the tool, the host's own
assembly, and what stands between. What a run adds is its median less that of the host as it is. The
runs take turns. Hosts that are not installed are left out. Without the adapter, Agent Framework has
a middleware that does nothing.
"""

from __future__ import annotations

import asyncio
import json
import statistics
import sys
import time
import warnings
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any

from support.machine import described
from support.results import record

from ullage import ContextManager, Policy

if TYPE_CHECKING:
    from collections.abc import Callable

MESSAGES, CALLS, ROUNDS = 1_000, 21, 3
# A window that no history here fills: what is measured is looking, not cutting.
LIMIT = 100_000_000
PLAIN, OWN, ULLAGE = "as it is", "its own compaction", "ullage"


class Clock:
    """Takes the time between an answer of a model and its next request."""

    def __init__(self) -> None:
        self.taken: list[float] = []
        self._since: float | None = None

    def request(self) -> bool:
        """Notes a request. Returns True if the model calls a tool once more."""
        if self._since is not None:
            self.taken.append((time.process_time() - self._since) * 1_000)
        return len(self.taken) < CALLS

    def answer(self) -> None:
        """Notes an answer."""
        self._since = time.process_time()


def history() -> list[dict[str, Any]]:
    """Messages in the form of Chat Completions."""
    messages: list[dict[str, Any]] = [{"role": "user", "content": "Audit the logs."}]
    for step in range(MESSAGES // 2):
        known = {"name": "read_log", "arguments": json.dumps({"part": step})}
        call = {"id": f"call-{step}", "type": "function", "function": known}
        messages.append({"role": "assistant", "content": "I look.", "tool_calls": [call]})
        text = "\n".join(f"{step}:{line} took {line * step % 97} ms" for line in range(100))
        messages.append({"role": "tool", "tool_call_id": call["id"], "content": text})
    return messages


def read_log(part: int) -> str:
    """Reads a part of the log."""
    return f"part {part} is in order"


def engine() -> ContextManager:
    """An engine that finds nothing to do."""
    return ContextManager(Policy(window=LIMIT), append_only=True)


def langchain(kind: str, clock: Clock) -> None:
    from langchain.agents import create_agent
    from langchain.agents.middleware import SummarizationMiddleware
    from langchain_core.language_models.chat_models import BaseChatModel
    from langchain_core.messages import AIMessage
    from langchain_core.messages.utils import convert_to_messages
    from langchain_core.outputs import ChatGeneration, ChatResult

    from ullage.langchain import ContextMiddleware

    class Model(BaseChatModel):  # type: ignore[misc]
        @property
        def _llm_type(self) -> str:
            return "scripted"

        def bind_tools(self, *_: Any, **__: Any) -> Any:
            return self

        def _generate(self, *_: Any, **__: Any) -> ChatResult:
            call = {"name": "read_log", "args": {"part": 1}, "id": f"new-{len(clock.taken)}"}
            calls = [call] if clock.request() else []
            answer = ChatGeneration(message=AIMessage("I look.", tool_calls=calls))
            clock.answer()
            return ChatResult(generations=[answer])

    theirs = SummarizationMiddleware(Model(), trigger=("tokens", LIMIT))
    own = {PLAIN: [], OWN: [theirs], ULLAGE: [ContextMiddleware(engine())]}
    agent = create_agent(Model(), [read_log], middleware=own[kind])
    agent.invoke({"messages": convert_to_messages(history())}, {"recursion_limit": 10_000})


def pydantic_ai(kind: str, clock: Clock) -> None:
    from pydantic_ai import Agent, UsageLimits
    from pydantic_ai.capabilities import ProcessHistory
    from pydantic_ai.messages import (
        ModelRequest,
        ModelResponse,
        TextPart,
        ToolCallPart,
        ToolReturnPart,
        UserPromptPart,
    )
    from pydantic_ai.models.function import FunctionModel

    from ullage.pydantic_ai import ContextCapability

    def answer(*_: Any) -> ModelResponse:
        call = ToolCallPart("read_log", {"part": 1}, tool_call_id=f"new-{len(clock.taken)}")
        parts: list[Any] = [call] if clock.request() else [TextPart("done")]
        clock.answer()
        return ModelResponse(parts=parts)

    past: list[Any] = []
    for message in history():
        if message["role"] == "assistant":
            (call,) = message["tool_calls"]
            known = call["function"]
            made = ToolCallPart(known["name"], known["arguments"], tool_call_id=call["id"])
            past.append(ModelResponse([made]))
        elif message["role"] == "tool":
            result = ToolReturnPart("read_log", message["content"], message["tool_call_id"])
            past.append(ModelRequest([result]))
        else:
            past.append(ModelRequest([UserPromptPart(message["content"])]))

    # Its own compaction is in the harness, which takes another version of it.
    newest: Any = ProcessHistory(lambda messages: messages[-LIMIT:])
    own: dict[str, list[Any]] = {PLAIN: [], OWN: [newest], ULLAGE: [ContextCapability(engine())]}
    agent: Any = Agent(FunctionModel(answer), tools=[read_log], capabilities=own[kind])
    limits = UsageLimits(request_limit=None)
    agent.run_sync("Go on.", message_history=past, usage_limits=limits)


def openai_agents(kind: str, clock: Clock) -> None:
    from agents import Agent, ModelResponse, RunConfig, Runner, Usage, function_tool
    from agents.extensions.tool_output_trimmer import ToolOutputTrimmer
    from agents.models.interface import Model
    from openai.types.responses import (
        ResponseFunctionToolCall,
        ResponseOutputMessage,
        ResponseOutputText,
    )

    from ullage.openai_agents import ContextModel

    class Scripted(Model):  # type: ignore[misc]
        async def get_response(self, *_: Any, **__: Any) -> ModelResponse:
            output: Any = ResponseFunctionToolCall(
                type="function_call",
                call_id=f"new-{len(clock.taken)}",
                name="read_log",
                arguments='{"part": 1}',
            )
            if not clock.request():
                text = ResponseOutputText(type="output_text", text="done", annotations=[])
                output = ResponseOutputMessage(
                    id="m", type="message", role="assistant", status="completed", content=[text]
                )
            clock.answer()
            return ModelResponse(output=[output], usage=Usage(), response_id=None)

        def stream_response(self, *_: Any, **__: Any) -> Any:
            raise NotImplementedError

    items: list[Any] = []
    for message in history():
        if message["role"] == "tool":
            known = {"call_id": message["tool_call_id"], "output": message["content"]}
            items.append({"type": "function_call_output", **known})
        elif message["role"] == "assistant":
            (call,) = message["tool_calls"]
            items.append({"type": "function_call", "call_id": call["id"], **call["function"]})
        else:
            items.append(message)
    model: Model = Scripted()
    if kind == ULLAGE:
        model = ContextModel(model, engine())
    # It looks at everything before the last two user turns; a limit that no output reaches.
    trimmer = ToolOutputTrimmer(max_output_chars=LIMIT) if kind == OWN else None
    agent = Agent(name="A", model=model, tools=[function_tool(read_log)])
    config = RunConfig(call_model_input_filter=trimmer, tracing_disabled=True)
    asyncio.run(Runner.run(agent, items, max_turns=10_000, run_config=config))


def haystack(kind: str, clock: Clock) -> None:
    from haystack import component
    from haystack.components.agents import Agent
    from haystack.dataclasses import ChatMessage, ToolCall
    from haystack.hooks.compaction import CompactionHook, SlidingWindowCompactor
    from haystack.tools import tool

    from ullage.haystack import ContextGenerator

    @component
    class Generator:
        @component.output_types(replies=list[ChatMessage])  # type: ignore[untyped-decorator]
        def run(self, messages: Any, tools: Any = None) -> dict[str, Any]:  # noqa: ARG002
            call = ToolCall("read_log", {"part": 1}, id=f"new-{len(clock.taken)}")
            calls = [call] if clock.request() else []
            reply = ChatMessage.from_assistant("I look.", tool_calls=calls)
            clock.answer()
            return {"replies": [reply]}

    past = []
    for message in history():
        if message["role"] == "tool":
            origin = ToolCall("read_log", {"part": 1}, id=message["tool_call_id"])
            past.append(ChatMessage.from_tool(message["content"], origin))
        elif message["role"] == "assistant":
            calls = [ToolCall("read_log", {"part": 1}, id=c["id"]) for c in message["tool_calls"]]
            past.append(ChatMessage.from_assistant(message["content"], tool_calls=calls))
        else:
            past.append(ChatMessage.from_user(message["content"]))
    generator: Any = Generator()
    if kind == ULLAGE:
        generator = ContextGenerator(generator, engine())
    hook = CompactionHook(SlidingWindowCompactor(), context_window=LIMIT)
    hooks = {"before_llm": [hook]} if kind == OWN else None
    agent = Agent(
        chat_generator=generator, tools=[tool(read_log)], hooks=hooks, max_agent_steps=10_000
    )
    agent.run(messages=past)


def agent_framework(kind: str, clock: Clock) -> None:
    from agent_framework import (
        Agent,
        BaseChatClient,
        ChatMiddleware,
        ChatMiddlewareLayer,
        ChatResponse,
        Content,
        FunctionInvocationLayer,
        Message,
        SlidingWindowStrategy,
        tool,
    )

    from ullage.agent_framework import ContextMiddleware

    class Raw(BaseChatClient):  # type: ignore[misc]
        def _inner_get_response(self, **_: Any) -> Any:
            return self._answered()

        async def _answered(self) -> Any:
            call = f"new-{len(clock.taken)}"
            content = Content.from_text("done")
            if clock.request():
                content = Content.from_function_call(call, "read_log", arguments='{"part": 1}')
            clock.answer()
            return ChatResponse(messages=[Message("assistant", [content])])

    class Client(FunctionInvocationLayer, ChatMiddlewareLayer, Raw):  # type: ignore[misc]
        pass

    class Empty(ChatMiddleware):  # type: ignore[misc]
        async def process(self, context: Any, call_next: Any) -> None:  # noqa: ARG002
            await call_next()

    past = []
    for message in history():
        if message["role"] == "tool":
            known = message["tool_call_id"]
            result = Content.from_function_result(known, result=message["content"])
            past.append(Message("tool", [result]))
        elif message["role"] == "assistant":
            (call,) = message["tool_calls"]
            made = Content.from_function_call(call["id"], "read_log", arguments='{"part": 1}')
            past.append(Message("assistant", [made]))
        else:
            past.append(Message("user", [Content.from_text(message["content"])]))
    client: Any = Client()
    client.function_invocation_configuration["max_iterations"] = 10_000
    agent = Agent(
        client=client,
        tools=[tool(read_log, approval_mode="never_require")],
        # With any middleware, the framework itself takes 2 ms more.
        middleware=[ContextMiddleware(engine()) if kind == ULLAGE else Empty()],
        compaction_strategy=SlidingWindowStrategy(keep_last_groups=LIMIT) if kind == OWN else None,
    )
    asyncio.run(agent.run(past))


# By the package that must be installed.
HOSTS: dict[str, Callable[[str, Clock], None]] = {
    "langchain": langchain,
    "pydantic-ai-slim": pydantic_ai,
    "openai-agents": openai_agents,
    "agent-framework-core": agent_framework,
    "haystack-ai": haystack,
}


def installed(package: str) -> str | None:
    """The version of a package, if it is installed."""
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def medians(run: Callable[[str, Clock], None]) -> dict[str, float]:
    """Median milliseconds between an answer and the next request, for each kind of run."""
    taken: dict[str, list[float]] = {PLAIN: [], OWN: [], ULLAGE: []}
    for _ in range(ROUNDS):
        for kind in taken:
            clock = Clock()
            run(kind, clock)
            # The first request reads the whole history.
            taken[kind] += clock.taken[1:]
    return {kind: statistics.median(times) for kind, times in taken.items()}


def main() -> None:
    """Prints a row for each host that is installed."""
    warnings.simplefilter("ignore")
    known = {package: installed(package) for package in HOSTS}
    here = {package: found for package, found in known.items() if found}
    if not here:
        sys.exit("none of the hosts is installed: pip install --group bench-hosts")
    named = [f"{package} {found}" for package, found in here.items()]
    print(described(*named))
    title = f"Processor time between two model calls, {MESSAGES:,} messages, nothing due"
    print(f"\n{title}, in ms")
    columns = ["", "as it is", "its own compaction", "ullage", "its own adds", "ullage adds"]
    print(f"{'':22}" + "".join(f"{column:>20}" for column in columns[1:]))
    rows = []
    for package in here:
        found = medians(HOSTS[package])
        plain, own, ours = found[PLAIN], found[OWN], found[ULLAGE]
        figures = (plain, own, ours, own - plain, ours - plain)
        rows.append([package, *(f"{value:.2f} ms" for value in figures)])
        print(f"{package:22}" + "".join(f"{cell:>20}" for cell in rows[-1][1:]), flush=True)
    record("hosts", title, columns, rows, against=", ".join(named))


if __name__ == "__main__":
    main()
