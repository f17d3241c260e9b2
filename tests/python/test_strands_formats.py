"""Strands formats the conversation that each seam leaves into requests that providers accept."""

# mypy: disable-error-code="arg-type,attr-defined,union-attr,override"

from functools import cache
from typing import Any

import pytest
from strands import Agent, tool
from strands.models import BedrockModel

import ullage
from tests.python.lengths import first
from tests.python.players import TASK, Player
from tests.python.seams import SEAMS, WINDOW


@tool(name="fetch")
def look(words: int = 0, number: int = 0) -> dict[str, Any]:
    """Gives a picture, a document and JSON beside its text."""
    return {
        "status": "error" if number % 5 == 0 else "success",
        "content": [
            {"text": f"seen {number}\n" * (words // 2)},
            {"json": {"rows": [{"row": n, "number": number} for n in range(words // 20)]}},
            {"image": {"format": "png", "source": {"bytes": b"\x89PNG\r\n\x1a\n" + b"x" * 400}}},
            {"document": {"format": "txt", "name": f"d{number}", "source": {"bytes": b"a note"}}},
        ],
    }


class Thinker(Player):
    """Says what it thinks before it answers, signed."""

    async def stream(self, messages, *given, **more):
        async for event in super().stream(messages, *given, **more):
            yield event
            if "messageStart" in event:
                yield {"contentBlockStart": {"start": {}}}
                thought = {"text": "let me see"}
                yield {"contentBlockDelta": {"delta": {"reasoningContent": thought}}}
                yield {"contentBlockDelta": {"delta": {"reasoningContent": {"signature": "s"}}}}
                yield {"contentBlockStop": {}}


@cache
def reduced(seam, thinking):
    """The last request of a run that a seam has reduced, and whether it did."""
    kind = Thinker if thinking else Player
    # Two pictures leave the cascade no call in the window that suits the others.
    window = 2 * WINDOW if seam == "cascade" else WINDOW
    model = kind(16, width=1, words=350, limit=window, window=window)
    # No request is refused, whatever its size, where a seam knows messages alone.
    model.window = 10**9 if seam == "sliding" else window
    agent = Agent(model=model, tools=[look], callback_handler=None, **SEAMS[seam]().given)
    agent(TASK)
    picture = {"image": {"format": "png", "source": {"bytes": b"\x89PNG\r\n\x1a\n"}}}
    agent([{"text": "And this?"}, picture])
    assert len(model.seen) < 35, "the seam has reduced nothing"
    return model.seen


def bedrock(messages):
    model = BedrockModel(model_id="us.anthropic.claude-sonnet-4-5", region_name="us-east-1")
    # Older versions of Strands have it under a private name.
    formatted = getattr(model, "format_request", None) or model._format_request
    return formatted(messages, None, [{"text": "Be careful."}])["messages"]


def openai(messages):
    models = pytest.importorskip("strands.models.openai", reason="needs openai")
    request = models.OpenAIModel(model_id="gpt-5").format_request(messages, None, "Be careful.")
    calls = [c["id"] for m in request["messages"] for c in m.get("tool_calls", ())]
    answered = [m["tool_call_id"] for m in request["messages"] if m["role"] == "tool"]
    assert calls == answered != []
    return request["messages"]


def anthropic(messages):
    models = pytest.importorskip("strands.models.anthropic", reason="needs anthropic")
    model = models.AnthropicModel(model_id="claude-sonnet-4-5", max_tokens=1_000)
    return model.format_request(messages, None, "Be careful.")["messages"]


FORMATS = {"bedrock": bedrock, "openai": openai, "anthropic": anthropic}


@pytest.mark.parametrize("thinking", first(1, [True, False]), ids=["thinking", "plain"])
@pytest.mark.parametrize("seam", SEAMS)
def test_a_reduced_history_is_one_that_the_provider_takes(seam, thinking):
    for provider, formatted in FORMATS.items():
        messages = formatted(reduced(seam, thinking))
        assert ullage.validate(messages, provider) == []
        assert all(message["content"] for message in messages if not message.get("tool_calls"))
        assert TASK in str(messages[:2])
