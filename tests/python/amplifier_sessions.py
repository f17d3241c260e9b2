"""Sessions as Amplifier's loops record them, in both of its forms."""

from __future__ import annotations

import asyncio
from typing import Any

import ullage
from ullage.amplifier import SimpleContextManager

FORMS = ("openai", "anthropic")
TASK = "Audit the repository for ways around the login."
# The mark of the notice about a compaction, which is in no history.
NOTICE = "context-compaction"


class Hooks:
    """Amplifier's hooks, as far as a context calls them."""

    def __init__(self) -> None:
        self.events: list[tuple[str, dict[str, Any]]] = []

    @property
    def compactions(self) -> int:
        """The number of compactions."""
        return sum(event == "context:compaction" for event, _ in self.events)

    async def emit(self, event: str, data: dict[str, Any]) -> None:
        """Notes an event."""
        self.events.append((event, data))


def session(form: str, steps: int, *, lines: int = 40) -> list[dict[str, Any]]:
    """A task, then steps of one call each; a new request after every tenth."""
    messages: list[dict[str, Any]] = [
        {"role": "system", "content": "You are an auditor."},
        {"role": "user", "content": TASK},
    ]
    for step in range(steps):
        messages += called(form, step, f"line {step} of the file has auth_{step}\n" * lines)
        if step % 10 == 9:
            messages.append({"role": "assistant", "content": f"Finding {step}: nothing."})
            messages.append({"role": "user", "content": f"Go on with part {step}."})
    return messages


def called(form: str, number: int, output: str) -> list[dict[str, Any]]:
    """A call and its result."""
    call, name, path = f"call_{number}", "read_file", {"path": f"/src/file_{number}.py"}
    if form == "openai":
        # Amplifier's loops write the tool and its arguments without OpenAI's "function" around them.
        return [
            {
                "role": "assistant",
                "content": "",
                "tool_calls": [{"id": call, "tool": name, "arguments": path}],
            },
            {"role": "tool", "name": name, "tool_call_id": call, "content": output},
        ]
    use = {"type": "tool_use", "id": call, "name": name, "input": path}
    result = {"type": "tool_result", "tool_use_id": call, "content": output}
    return [{"role": "assistant", "content": [use]}, {"role": "user", "content": [result]}]


def talk(messages: list[Any]) -> list[Any]:
    """The messages that the model gets: Amplifier's providers take system messages out."""
    return [message for message in messages if message["role"] != "system"]


def faults(messages: list[Any]) -> list[str]:
    """The violations that a provider would reject."""
    return [str(found) for found in ullage.validate(talk(messages))]


def tokens(messages: list[Any]) -> int:
    """Their tokens, by a counter that has seen nothing before."""
    return ullage.TokenCounter().count_messages(messages)


def is_request(message: dict[str, Any]) -> bool:
    """True if an orchestrator asks the model after it."""
    return message["role"] in {"tool", "user"}


def filled(messages: list[dict[str, Any]], **settings: Any) -> SimpleContextManager:
    """A context to which these messages were added."""
    context = SimpleContextManager(**settings)
    for message in messages:
        asyncio.run(context.add_message(message))
    return context


def requested(context: SimpleContextManager, *args: Any, **kwargs: Any) -> list[dict[str, Any]]:
    """The request that the model would get."""
    return asyncio.run(context.get_messages_for_request(*args, **kwargs))


async def asked(context: SimpleContextManager, budget: int) -> list[dict[str, Any]]:
    """The request that the model would get with this budget, which it keeps to."""
    request = await context.get_messages_for_request(budget)
    assert tokens(request) <= budget
    assert not faults(request)
    return request


def contents(request: list[dict[str, Any]]) -> list[Any]:
    """The contents of a request, without the notice."""
    return [m["content"] for m in request if NOTICE not in str(m.get("metadata"))]
