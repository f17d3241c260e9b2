"""Every seam sends a valid request, however the history was broken before the turn.

Those of Strands are in `test_strands_seams.py`, Supyagent's and Valis' beside what else they promise.
"""

# mypy: disable-error-code="arg-type,attr-defined,misc,union-attr"

from __future__ import annotations

import asyncio
import contextlib
import copy
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from google.adk.events.event import Event
from google.adk.models.llm_response import LlmResponse
from google.genai import types
from hypothesis import given, settings

import ullage
from ullage.adk import (
    CompactionConfig,
    ContextCallbacks,
    ContextCompactor,
    ContextFilterPlugin,
    ContextPlugin,
    SessionCompactor,
    sre_agent,
)
from ullage.amplifier import PersistentContextManager, SimpleContextManager

from .amplifier_sessions import talk
from .broken_histories import broken_histories, in_format
from .gemini_host import Gemini, Host, agent, text
from .six_formats import FORMATS

if TYPE_CHECKING:
    from collections.abc import Callable

POLICY = ullage.Policy(window=8_000, reserve_output=500, keep_recent=4)
NEXT = {"role": "user", "content": "Go on after that."}
PART = settings(max_examples=settings.default.max_examples // 2)
FEW = settings(max_examples=settings.default.max_examples // 4)


def _grown(view: ullage.View, messages: list[Any]) -> list[list[Any]]:
    """The requests while the history grows."""
    ends = [*range(1, len(messages), 7), len(messages)]
    return [view.messages(messages[:end]) for end in ends]


def _resumed(engine: ullage.ContextManager, messages: list[Any]) -> list[list[Any]]:
    view = engine.open()
    view.messages(messages[: len(messages) // 2])
    return _grown(engine.open(view.state()), messages)[-1:]


def _refused(engine: ullage.ContextManager, messages: list[Any]) -> list[list[Any]]:
    view = engine.open()
    requests = [view.messages(messages)]
    with contextlib.suppress(ullage.BudgetError):  # nothing can be made smaller
        requests.append(view.refused())
    return requests


def _cut(messages: list[Any], limit: int, pins: Any) -> None:
    del messages[:-5]


def _compacted(engine: ullage.ContextManager, messages: list[Any]) -> list[list[Any]]:
    messages = list(messages)
    engine.compact(messages)
    return [messages]


def _acompacted(engine: ullage.ContextManager, messages: list[Any]) -> list[list[Any]]:
    messages = list(messages)
    asyncio.run(engine.acompact(messages, hard=True))
    return [messages]


OWN_LOOPS: dict[str, Callable[[ullage.ContextManager, list[Any]], list[list[Any]]]] = {
    "view": lambda engine, messages: _grown(engine.open(), messages),
    "view of objects that stay": lambda engine, messages: _grown(
        engine.open(append_only=True), messages
    ),
    "view with a compaction": lambda engine, messages: _grown(
        engine.open(compaction=_cut), messages
    ),
    "resumed view": _resumed,
    "refused view": _refused,
    "engine.view": lambda engine, messages: [engine.view(messages)],
    "engine.plan": lambda engine, messages: [engine.plan(messages).apply(messages)],
    "compact": _compacted,
    "acompact": _acompacted,
}


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("seam", OWN_LOOPS)
@PART
@given(messages=broken_histories())
def test_a_loop_of_ones_own_sends_valid_requests(seam, format, messages):
    history = in_format([*messages, NEXT], format)
    before = copy.deepcopy(history)
    engine = ullage.ContextManager(POLICY, store=ullage.MemoryStore(), format=format)
    requests = OWN_LOOPS[seam](engine, history)
    for request in requests:
        assert ullage.validate(request, format) == []
    assert NEXT["content"] in str(requests[-1])
    assert history == before


def _as_amplifier(messages: list[Any]) -> list[Any]:
    """The calls as Amplifier's loops write them."""
    messages = copy.deepcopy(messages)
    for message in messages:
        for call in message.get("tool_calls") or ():
            function = call.pop("function")
            call.update(tool=function["name"], arguments=function["arguments"])
            del call["type"]
    return messages


AMPLIFIER: dict[str, Callable[[Path], Any]] = {
    "simple": lambda _: SimpleContextManager(6_000, compaction_strategy="simple"),
    "smart": lambda _: SimpleContextManager(6_000, compaction_strategy="smart"),
    "custom": lambda _: SimpleContextManager(
        6_000, compaction_strategy="custom", compaction_function=lambda found, _: found[-5:]
    ),
    "persistent": lambda folder: PersistentContextManager(
        max_tokens=6_000, storage_path=folder, session_id="s"
    ),
}


@pytest.mark.parametrize("form", ["openai", "anthropic"])
@pytest.mark.parametrize("way", ["added", "set"])
@pytest.mark.parametrize("seam", AMPLIFIER)
@PART
@given(messages=broken_histories())
def test_amplifier_sends_valid_requests(seam, way, form, messages):
    messages = [*messages, NEXT]
    messages = _as_amplifier(messages) if form == "openai" else in_format(messages, form)

    async def requested(folder: Path) -> list[list[Any]]:
        context = AMPLIFIER[seam](folder)
        if way == "set":
            await context.set_messages(messages[:-1])
            await context.add_message(messages[-1])
            return [await context.get_messages_for_request()]
        requests = []
        for number, message in enumerate(messages):
            await context.add_message(message)
            if number % 5 == 4:
                requests.append(await context.get_messages_for_request())
        return [*requests, await context.get_messages_for_request()]

    with tempfile.TemporaryDirectory() as folder:
        requests = asyncio.run(requested(Path(folder)))
    for request in requests:
        assert ullage.validate(talk(request)) == []
    assert NEXT["content"] in str(requests[-1])


def _events(messages: list[Any]) -> list[Event]:
    """The messages as events of a session, each with a content of Gemini's."""
    written = zip(messages, in_format(messages, "gemini"), strict=True)
    return [
        Event(
            author="user" if message["role"] == "user" else "sre",
            invocation_id=f"i{number // 9}",
            timestamp=1_000.0 + number,
            content=types.Content.model_validate(content),
        )
        for number, (message, content) in enumerate(written)
    ]


def _limited() -> ullage.ContextManager:
    return ullage.ContextManager(POLICY, store=ullage.MemoryStore(), format="gemini")


ADK: dict[str, Callable[[], dict[str, Any]]] = {
    "plugin": lambda: {"plugins": [ContextPlugin(engine=_limited())]},
    "callbacks": lambda: {"callbacks": ContextCallbacks(engine=_limited()).fields()},
    "sre_agent": lambda: {
        "plugins": [ContextPlugin(engine=sre_agent(window=6_000, reserve_output=500))]
    },
    "context filter": lambda: {"plugins": [ContextFilterPlugin(num_invocations_to_keep=2)]},
    "custom filter": lambda: {
        "plugins": [ContextFilterPlugin(custom_filter=lambda contents: contents[-3:])]
    },
    "session compactor": lambda: {
        "plugins": [
            SessionCompactor(CompactionConfig(6_000, 3_000, recent_events_count=4)),
            ContextPlugin(engine=_limited()),
        ]
    },
}


@pytest.mark.filterwarnings("ignore:.*EXPERIMENTAL.*:UserWarning")
@pytest.mark.parametrize("seam", ADK)
@FEW
@given(messages=broken_histories())
def test_adk_sends_valid_requests(seam, messages):
    sent: list[list[Any]] = []

    class Validating(Gemini):
        async def generate_content_async(self, llm_request, stream=False):
            sent.append([content.model_copy(deep=True) for content in llm_request.contents])
            content = text("Seen.")
            yield LlmResponse(content=content)

    given = ADK[seam]()
    host = Host(agent(Validating(), **given.get("callbacks", {})), given.get("plugins", ()))

    async def talk() -> None:
        session = await host.session()
        for event in _events(messages):
            await host.service.append_event(session, event)
        for turn in range(2):
            await host.ask(f"{NEXT['content']} {turn}")

    asyncio.run(talk())
    assert len(sent) == 2
    for request in sent:
        assert ullage.validate(request, "gemini") == []
    assert f"{NEXT['content']} 1" in str(sent[-1])


@given(messages=broken_histories())
def test_a_working_context_is_valid(messages):
    config = CompactionConfig(
        token_budget=6_000, compaction_trigger_tokens=3_000, recent_events_count=4
    )
    events = _events([*messages, NEXT])
    context = ContextCompactor(config).get_working_context("s", events)
    assert ullage.validate(context.contents, "gemini") == []
    assert NEXT["content"] in str(context.contents[-1])
