"""No text of a message leaves by an error, a warning, a report, a span or the log above debug level."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

import pytest

import ullage

if TYPE_CHECKING:
    from .ears import Ears


# In every text of the conversations below, and nowhere else.
CANARY = "canary"
LONG = " ".join(f"{CANARY}{number}" for number in range(2_000))
POLICY = ullage.Policy(window=20_000, reserve_output=1_000)


def call_and_result(format: str, number: int) -> list[Any]:
    call: Any
    result: Any
    name, arguments = f"c{number}", {"command": f"{CANARY} {number}"}
    match format:
        case "bedrock":
            call = {"toolUse": {"toolUseId": name, "name": "bash", "input": arguments}}
            result = {"toolResult": {"toolUseId": name, "content": [{"text": LONG}]}}
            return [
                {"role": "assistant", "content": [{"text": CANARY}, call]},
                {"role": "user", "content": [result]},
            ]
        case "anthropic":
            thought = {"type": "thinking", "thinking": CANARY, "signature": CANARY}
            call = {"type": "tool_use", "id": name, "name": "bash", "input": arguments}
            result = {"type": "tool_result", "tool_use_id": name, "content": LONG}
            return [
                {"role": "assistant", "content": [thought, call]},
                {"role": "user", "content": [result]},
            ]
        case "openai":
            function = {"name": "bash", "arguments": json.dumps(arguments)}
            calls = [{"id": name, "type": "function", "function": function}]
            return [
                {"role": "assistant", "content": CANARY, "tool_calls": calls},
                {"role": "tool", "tool_call_id": name, "content": LONG},
            ]
        case "gemini":
            call = {"functionCall": {"name": "bash", "args": arguments}}
            result = {"functionResponse": {"name": "bash", "response": {"output": LONG}}}
            return [{"role": "model", "parts": [call]}, {"role": "user", "parts": [result]}]
        case "openai-responses":
            arguments_text = json.dumps(arguments)
            return [
                {
                    "type": "function_call",
                    "call_id": name,
                    "name": "bash",
                    "arguments": arguments_text,
                },
                {"type": "function_call_output", "call_id": name, "output": LONG},
            ]
        case _:
            call = {"type": "tool-call", "toolCallId": name, "toolName": "bash", "input": arguments}
            output = {"type": "text", "value": LONG}
            result = {
                "type": "tool-result",
                "toolCallId": name,
                "toolName": "bash",
                "output": output,
            }
            return [
                {"role": "assistant", "content": [call]},
                {"role": "tool", "content": [result]},
            ]


FORMATS = ("bedrock", "anthropic", "openai", "gemini", "openai-responses", "ai-sdk")


def conversation(format: str, turns: int = 12) -> list[Any]:
    words: Any = f"{CANARY}, please"
    first = {
        "gemini": {"role": "user", "parts": [{"text": words}]},
        "bedrock": {"role": "user", "content": [{"text": words}]},
    }.get(format, {"role": "user", "content": words})
    return [first, *(m for number in range(turns) for m in call_and_result(format, number))]


def engine(format: str, ears: Ears, **arguments: Any) -> ullage.ContextManager:
    return ullage.ContextManager(
        arguments.pop("policy", POLICY),
        store=arguments.pop("store", ullage.MemoryStore()),
        format=format,
        system=f"{CANARY}: be careful",
        tools=[{"name": "bash", "description": CANARY}],
        on_compaction=lambda report: ears.note(report, json.dumps(report.to_dict())),
        **arguments,
    )


@pytest.mark.parametrize("format", FORMATS)
def test_what_goes_well_says_nothing_of_the_text(format, ears):
    manager = engine(format, ears)
    messages = conversation(format)
    ears.note(manager.status(messages), manager.plan(messages), manager)
    manager.view(messages)
    manager.shrink("bash", LONG)
    asyncio.run(manager.ashrink("bash", {"output": LONG}))
    manager.compact(messages)
    asyncio.run(manager.acompact(conversation(format)))
    ears.note(manager.stats, manager.store, manager.counter, manager.policy)
    said = ears.all()
    assert '"gen_ai.conversation.compacted": true' in said
    assert "| compacted" in said
    assert CANARY not in said


def broken(format: str, how: str) -> list[Any]:
    messages = conversation(format)
    if how == "a result is gone":
        del messages[-1]
    elif how == "a call is gone":
        del messages[1]
    elif how == "a message is a text":
        messages[2] = LONG
    elif how == "a content is a number":
        messages[1] = {"role": "assistant", "content": 5, "parts": 5, "x": LONG}
    elif how == "a message is nothing":
        messages[3] = None
    elif how == "a role is missing":
        messages[0] = {name: value for name, value in messages[0].items() if name != "role"}
    elif how == "an unknown block":
        messages[1] = {"role": messages[1].get("role"), "content": [{LONG: LONG}], "parts": [LONG]}
    elif how == "only what must stay":
        first = conversation(format)[0]
        key = "parts" if format == "gemini" else "content"
        value = first[key]
        first[key] = LONG * 20 if isinstance(value, str) else [{"text": LONG * 20}]
        messages = [first]
    return messages


def outcome_of(ask: Any, messages: list[Any]) -> Any:
    try:
        return ask(messages)
    except ullage.UllageError as error:
        return error


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize(
    "how",
    [
        "a result is gone",
        "a call is gone",
        "a message is a text",
        "a content is a number",
        "a message is nothing",
        "a role is missing",
        "an unknown block",
        "only what must stay",
        "nothing is wrong",
    ],
)
def test_errors_and_violations_say_nothing_of_the_text(format, how, ears):
    manager = engine(format, ears)
    asks: list[Any] = [
        manager.compact,
        manager.view,
        manager.plan,
        manager.status,
        lambda m: manager.compact(m, budget=20),
        lambda m: manager.plan(m, pins=[999]),
        lambda m: asyncio.run(manager.acompact(m, budget=20)),
        lambda m: [str(repair) for repair in ullage.repair(m, format).repairs],
        lambda m: ullage.validate(m, format),
        ullage.detect_format,
        ullage.TokenCounter().count_messages,
    ]
    outcomes = [outcome_of(ask, broken(format, how)) for ask in asks]
    # A view and a detected format are what was asked for, not what is said of it.
    ears.note(*(o for ask, o in zip(asks, outcomes, strict=True) if ask != manager.view))
    assert any(isinstance(outcome, ullage.UllageError) for outcome in outcomes)
    assert CANARY not in ears.all()


def quotes(given: Any) -> Any:
    raise ValueError(f"400 invalid request: {given}")


class Quoting:
    """A store whose errors quote what it was given."""

    def put(self, content: bytes, *, reference: str, tool: str | None = None) -> str:
        quotes(content.decode())
        return reference

    def get(self, reference: str) -> bytes:
        raise KeyError(reference)


class AsyncQuoting(Quoting):
    async def put(self, content: bytes, *, reference: str, tool: str | None = None) -> str:  # type: ignore[override]
        quotes(content.decode())
        return reference


@pytest.mark.parametrize("store", [Quoting(), AsyncQuoting()])
def test_an_error_of_a_store_that_quotes_its_content_is_told_by_its_class(store, ears):
    manager = engine("openai", ears, store=store)
    for ask in (
        lambda: asyncio.run(manager.acompact(conversation("openai"))),
        lambda: asyncio.run(manager.ashrink("bash", LONG)),
        lambda: manager.compact(conversation("openai")),
        lambda: manager.shrink("bash", LONG),
    ):
        with pytest.raises(ullage.StoreError) as caught:
            ask()
        ears.note(caught.value)
    said = ears.all()
    assert "ValueError, whose text quotes its input" in said
    assert CANARY not in said


def quoting(request: ullage.SummaryRequest) -> str:
    return str(quotes(request.prompt))


async def aquoting(request: ullage.SummaryRequest) -> str:
    await asyncio.sleep(0)
    return str(quotes(request.text))


@pytest.mark.parametrize("summarizer", [quoting, aquoting])
@pytest.mark.parametrize("summaries", ["offered", "required"])
def test_an_error_of_a_summarizer_that_quotes_its_request_is_told_by_its_class(
    summarizer, summaries, ears
):
    policy = ullage.Policy(
        window=20_000, reserve_output=1_000, summaries=summaries, stages=["window", "summarize"]
    )
    manager = engine("openai", ears, policy=policy, summarizer=summarizer)
    for ask in (
        lambda: manager.compact(conversation("openai", 20)),
        lambda: asyncio.run(manager.acompact(conversation("openai", 20))),
    ):
        if summaries == "offered":
            ask()
            continue
        with pytest.raises(ullage.SummaryError) as caught:
            ask()
        ears.note(caught.value)
    said = ears.all()
    assert "ValueError, whose text quotes its input" in said
    assert CANARY not in said


def test_what_an_error_says_of_itself_is_told(ears):
    def refused(request: ullage.SummaryRequest) -> str:
        raise ConnectionError("529 overloaded, try again later; request req_011CU")

    policy = ullage.Policy(window=20_000, reserve_output=1_000, stages=["window", "summarize"])
    engine("openai", ears, policy=policy, summarizer=refused).compact(conversation("openai", 20))
    assert "ConnectionError: 529 overloaded, try again later; request req_011CU" in ears.all()
