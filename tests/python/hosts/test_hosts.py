"""Rules for the adapter of every host, with the real packages and a scripted model.

The hosts do not fit into one environment: `make test-hosts` makes one for each.
"""

from __future__ import annotations

import importlib
import itertools
from dataclasses import dataclass
from typing import Any

import pytest

import ullage
from tests.python.lengths import long

from .listed import require
from .provider import NEEDLE, SYSTEM, Provider, Turn, read_log, reference_in

WINDOW = 32_000
POLICY = ullage.Policy(window=WINDOW, reserve_output=2_000)
# A small window for what needs no long conversation.
SMALL = ullage.Policy(window=6_000, reserve_output=1_000)


@dataclass(frozen=True)
class Listed:
    """A host of the table: what must be installed, and the class that drives it."""

    needs: str
    module: str
    name: str


# A proxy in the process of the tests: it and its packages warn of each other, and it starts slowly.
PROXIED = (pytest.mark.filterwarnings("ignore"), pytest.mark.timeout(300))

HOSTS = [
    Listed("anthropic", "own_loop_host", "AnthropicLoopHost"),
    # OpenAI's SDK takes a tenth of a second to check a request before it sends it.
    long(Listed("anthropic", "own_loop_host", "ChatLoopHost"), id="ChatLoop"),
    long(Listed("anthropic", "own_loop_host", "ResponsesLoopHost"), id="ResponsesLoop"),
    Listed("langchain", "langchain_host", "LangChainHost"),
    Listed("agents", "openai_agents_host", "OpenAIAgentsHost"),
    Listed("agents", "openai_agents_host", "StreamedOpenAIAgentsHost"),
    Listed("pydantic_ai", "pydantic_ai_host", "PydanticAIHost"),
    Listed("pydantic_ai", "pydantic_ai_host", "StreamedPydanticAIHost"),
    Listed("agent_framework", "agent_framework_host", "AgentFrameworkHost"),
    Listed("haystack", "haystack_host", "HaystackHost"),
    pytest.param(
        Listed("crewai", "crewai_host", "CrewAIHost"),
        id="CrewAI",
        # CrewAI warns of its own code.
        marks=pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ImportWarning"),
    ),
    pytest.param(
        Listed("litellm", "litellm_host", "LiteLLMMessagesHost"),
        id="LiteLLMMessages",
        marks=PROXIED,
    ),
    # The proxy takes a quarter of a second for each request.
    pytest.param(
        Listed("litellm", "litellm_host", "LiteLLMChatHost"),
        id="LiteLLMChat",
        marks=[*PROXIED, pytest.mark.long],
    ),
    pytest.param(
        Listed("litellm", "litellm_host", "LiteLLMResponsesHost"),
        id="LiteLLMResponses",
        marks=[*PROXIED, pytest.mark.long],
    ),
    # Hermes warns of its own code, and starts slowly.
    pytest.param(Listed("run_agent", "hermes_host", "HermesHost"), id="Hermes", marks=PROXIED),
]


@pytest.fixture(params=HOSTS, ids=lambda listed: listed.name.removesuffix("Host"))
def host(request):
    listed = request.param
    require(listed.needs)
    if listed.module == "own_loop_host":
        require("openai")
    module = importlib.import_module(f".{listed.module}", __package__)
    return getattr(module, listed.name)()


@pytest.fixture(params=[False, True], ids=["sync", "async"])
def is_async(request):
    return request.param


def engine_of(policy=SMALL, **more: Any) -> ullage.ContextManager:
    return ullage.ContextManager(policy, store=ullage.MemoryStore(), **more)


def changes(requests: list[list[Any]]) -> int:
    """Requests that do not begin as the one before."""
    pairs = itertools.pairwise(requests)
    return sum(after[: len(before)] != before for before, after in pairs)


def goes_on_or_skip(host) -> None:
    if not getattr(host, "goes_on", True):
        pytest.skip("each question begins with messages of its own")


@pytest.mark.timeout(300)
def test_200_calls_fit_a_window_of_32000(host, is_async):
    provider = Provider(steps=200, format=host.format)
    agent = host.agent(provider, engine_of(POLICY), is_async=is_async)
    assert agent.ask("Why does the checkout fail?") == "It is the card."
    assert len(provider.requests) == 201
    assert max(provider.tokens) <= WINDOW - 2_000
    # It was used: the whole conversation is several windows long.
    assert max(provider.tokens) > (WINDOW - 2_000) // 2
    # A compaction leaves half of the window, so that ten or more requests go on from it.
    assert 0 < changes(provider.requests) <= len(provider.requests) // 10
    assert all("Why does the checkout fail?" in str(rows[0]) for rows in provider.requests)
    assert set(provider.systems) == {getattr(host, "system", SYSTEM)}


def test_the_history_stays_whole(host, is_async):
    provider = Provider(steps=30, format=host.format)
    agent = host.agent(provider, engine_of(), is_async=is_async)
    agent.ask("Why does the checkout fail?")
    assert len(provider.requests[-1]) < 30
    calls = str([m.to_dict() if hasattr(m, "to_dict") else m for m in agent.stored()])
    assert all(f"call-{part}" in calls for part in range(1, 31))


def test_unchanged_messages_are_sent_as_the_host_has_them(host):
    provider = Provider(steps=30, format=host.format)
    agent = host.agent(provider, engine_of(POLICY), is_async=False)
    agent.ask("Why does the checkout fail?")
    stored = agent.stored()
    sent = [message in stored for message in provider.raw]
    # The task has the note about what was removed, and older results are shorter.
    if not getattr(host, "replaces", False):
        assert sent.count(False) >= 1
    assert sent.count(True) >= 4


def test_parallel_calls_stay_together(host, is_async):
    provider = Provider(steps=15, parallel=4, format=host.format)
    agent = host.agent(provider, engine_of(), is_async=is_async)
    assert agent.ask("Why does the checkout fail?") == "It is the card."
    assert max(provider.tokens) <= 5_000
    assert changes(provider.requests) > 0


def test_a_refused_request_is_sent_again_smaller(host, is_async):
    provider = Provider(steps=40, limit=3_000, format=host.format)
    agent = host.agent(provider, engine_of(), is_async=is_async)
    assert agent.ask("Why does the checkout fail?") == "It is the card."
    assert len(provider.requests) == 41
    # It is learned from: of forty requests that would be too long, few are refused.
    assert 1 <= len(provider.refused) <= 8


def test_a_refusal_that_stays_is_raised(host):
    provider = Provider(steps=10, limit=100, format=host.format)
    agent = host.agent(provider, engine_of(), is_async=False)
    with pytest.raises(Exception, match=getattr(host, "refusal", "prompt is too long")):
        agent.ask("Why does the checkout fail?")


def test_another_error_is_raised_as_it_is(host, is_async):
    provider = Provider(error=RuntimeError("the model is on strike"), format=host.format)
    agent = host.agent(provider, engine_of(), is_async=is_async)
    with pytest.raises(Exception, match="the model is on strike"):
        agent.ask("Why does the checkout fail?")
    assert len(provider.requests) == 3


def test_the_next_question_goes_on_from_the_last_request(host, is_async):
    goes_on_or_skip(host)
    provider = Provider(steps=20, format=host.format)
    agent = host.agent(provider, engine_of(), is_async=is_async)
    agent.ask("Why does the checkout fail?")
    provider.steps = 0
    agent.ask("Are you sure?")
    assert changes(provider.requests[-2:]) == 0


def test_a_restarted_conversation_goes_on_from_the_last_request(host, is_async):
    if not host.restarts:
        pytest.skip("the host has no place for the state")
    provider = Provider(steps=20, format=host.format)
    agent = host.agent(provider, engine_of(), is_async=is_async)
    agent.ask("Why does the checkout fail?")
    provider.steps = 1
    agent.restarted().ask("Are you sure?")
    assert changes(provider.requests) > 0
    assert changes(provider.requests[-3:]) == 0
    # Without the state the other process would have sent what fits of the whole history.
    assert len(provider.requests[-2]) == len(provider.requests[-3]) + 2


def test_removed_text_can_be_read_back(host, is_async):
    asked: list[Any] = []

    def wants(rows: list[Any]) -> Turn | None:
        reference = reference_in(rows)
        if reference is None or asked or len(provider.requests) < 25:
            return None
        asked.append(reference)
        return Turn("I read.", (("call-r", "retrieve", {"pattern": "tok_7f3a"}),))

    provider = Provider(steps=30, wants=wants, format=host.format)
    agent = host.agent(provider, engine_of(), is_async=is_async)
    agent.ask("Why does the checkout fail?")
    assert asked
    assert {"read_log", "retrieve"} <= set(provider.tools)
    at = next(n for n, rows in enumerate(provider.requests) if "call-r" in str(rows))
    results = [row for row in provider.requests[at][-2:] if NEEDLE in str(row)]
    assert results, "the line is in the answer of the tool"


def test_an_unknown_reference_is_an_answer(host):
    def wants(_: list[Any]) -> Turn | None:
        if len(provider.requests) > 1:
            return None
        return Turn(
            "I read.", (("call-r", "retrieve", {"reference": "read_log-0123456789abcdef"}),)
        )

    provider = Provider(steps=0, wants=wants, format=host.format)
    agent = host.agent(provider, engine_of(), is_async=False)
    assert agent.ask("Why does the checkout fail?") == "It is the card."
    assert "Error: nothing is stored as" in str(provider.requests[-1][-1])


def called(*ids: str) -> dict[str, Any]:
    calls = [
        {"id": i, "type": "function", "function": {"name": "read_log", "arguments": '{"part": 1}'}}
        for i in ids
    ]
    return {"role": "assistant", "content": "I look.", "tool_calls": calls}


def result(call: str) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": call, "content": read_log(1)}


USER = {"role": "user", "content": "Why does the checkout fail?"}


@pytest.mark.parametrize(
    "past",
    [
        pytest.param([USER, called("a", "b"), result("a")], id="half-answered"),
        pytest.param([USER, called("a", "b")], id="not-answered"),
        pytest.param([USER, result("a")], id="orphan-result"),
        pytest.param([USER, called("a"), result("a"), result("a")], id="answered-twice"),
        pytest.param([USER, called("a", "b"), result("b"), USER, result("a")], id="late-result"),
        pytest.param([called("a"), result("a"), USER], id="begins-with-a-call"),
    ],
)
def test_a_broken_history_is_sent_valid(host, past, request):
    goes_on_or_skip(host)
    if request.node.callspec.id.split("-", 1)[1] in getattr(host, "refuses", ()):
        pytest.skip("the host itself refuses this history")
    provider = Provider(steps=20, format=host.format)
    agent = host.agent(provider, engine_of(), is_async=False, past=past)
    assert agent.ask("Are you there?") == "It is the card."
    assert changes(provider.requests) > 0, "it was compacted too"


def test_the_prefix_is_the_same_whatever_the_loop(host):
    requests = []
    for is_async in (False, True):
        provider = Provider(steps=25, format=host.format)
        host.agent(provider, engine_of(), is_async=is_async).ask("Why does the checkout fail?")
        requests.append(provider.requests)
    assert requests[0] == requests[1]


def test_two_conversations_of_one_adapter_do_not_mix(host):
    provider = Provider(steps=20, format=host.format)
    engine = engine_of()
    first = host.agent(provider, engine, is_async=False)
    first.ask("Why does the checkout fail?")
    sent = len(provider.requests)
    second = host.agent(provider, engine, is_async=False)
    second.ask("Why does the mail fail?")
    assert all("the mail" in str(rows[0]) for rows in provider.requests[sent:])
    assert "the checkout" not in str(provider.requests[sent:])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        pytest.param({"engine": engine_of(), "policy": SMALL}, "policy: the engine has", id="both"),
        pytest.param({"engine": SMALL}, "got Policy; give it as policy=", id="no-engine"),
        pytest.param({"policy": 8_000}, "policy: it is an int", id="no-policy"),
        pytest.param({"store": ullage.MemoryStore}, "store: it is the class", id="class"),
    ],
)
def test_misuse_is_an_error_when_it_is_made(host, arguments, message):
    if host.adapter is None:
        pytest.skip("a loop of one's own has no adapter")
    with pytest.raises(ullage.PolicyError, match=message):
        host.adapter(**arguments)
