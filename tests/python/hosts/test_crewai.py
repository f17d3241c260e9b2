"""Behaviour that only the adapter of CrewAI has."""

from __future__ import annotations

import importlib.util
import warnings
from typing import Any

import pytest

import ullage

if importlib.util.find_spec("crewai") is None:
    pytest.skip("crewai is not installed: run make test-hosts", allow_module_level=True)

with warnings.catch_warnings():
    # CrewAI warns of its own code.
    warnings.simplefilter("ignore")
    from .crewai_host import CrewAgent, Model

from crewai import Agent, Crew, Task
from crewai.hooks import (
    register_after_tool_call_hook,
    register_before_llm_call_hook,
    unregister_after_tool_call_hook,
    unregister_before_llm_call_hook,
)
from crewai.llms.base_llm import call_stop_override
from crewai.tools import tool

from ullage._hosts.conversations import HostConversation
from ullage.crewai import ContextLLM, compact_messages, retrieval_tool, shorten_result

from .provider import SYSTEM, Provider, Turn, read_log

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ImportWarning")

POLICY = ullage.Policy(window=6_000, reserve_output=1_000)
TOOLS = [{"type": "function", "function": {"name": "read_log", "parameters": {}}}]


def engine(**more: Any) -> ullage.ContextManager:
    return ullage.ContextManager(POLICY, store=ullage.MemoryStore(), **more)


def kickoff(llm: Any, *tools: Any) -> str:
    agent = Agent(
        role="auditor", goal="audit", backstory="An auditor.", llm=llm, tools=list(tools),
        max_iter=1_000, max_retry_limit=0,
    )  # fmt: skip
    task = Task(description="Why?", expected_output="a text", agent=agent)
    return str(Crew(agents=[agent], tasks=[task]).kickoff().raw)


def called(*ids: str) -> dict[str, Any]:
    function = {"name": "read_log", "arguments": '{"part": 1}'}
    calls = [{"id": i, "type": "function", "function": function} for i in ids]
    return {"role": "assistant", "content": "I look.", "tool_calls": calls}


@pytest.mark.parametrize(
    "broken",
    [
        pytest.param([called("a", "b")], id="not-answered"),
        pytest.param(
            [called("a", "b"), {"role": "tool", "tool_call_id": "a", "content": read_log(1)}],
            id="half-answered",
        ),
        pytest.param(
            [{"role": "tool", "tool_call_id": "a", "content": read_log(1)}], id="orphan-result"
        ),
    ],
)
def test_broken_messages_are_sent_valid(broken):
    # The provider of the tests refuses others.
    provider = Provider(steps=0)
    llm = ContextLLM(Model(model="scripted", provider_of_tests=provider), engine())
    messages = [{"role": "system", "content": SYSTEM}, {"role": "user", "content": "Go."}, *broken]
    before = [dict(message) for message in messages]
    assert llm.call(messages, TOOLS) == "It is the card."
    assert messages == before


def test_a_text_is_passed_on():
    class Echo(Model):
        def call(self, messages: Any, tools: Any = None, **_more: Any) -> Any:
            return messages

    assert ContextLLM(Echo(model="scripted"), engine()).call("Hi") == "Hi"


def test_all_else_is_that_of_the_wrapped_model():
    model = Model(model="openai/gpt-5-mini", temperature=0.3, stop=["Observation:"])
    llm = ContextLLM(model)
    assert llm.temperature == 0.3
    assert llm.model == "openai/gpt-5-mini"
    assert llm.get_context_window_size() == 1_000_000
    assert llm.stop == llm.stop_sequences == ["Observation:"]
    assert llm.get_token_usage_summary() is not None
    assert llm.engine.policy.window == ullage.ContextManager(model="gpt-5-mini").policy.window


def test_the_stop_words_of_a_call_reach_the_wrapped_model():
    class Stopping(Model):
        def call(self, messages: Any, tools: Any = None, **_more: Any) -> Any:
            return str(self.stop_sequences)

    llm = ContextLLM(Stopping(model="scripted"), engine())
    messages = [{"role": "user", "content": "Go."}]
    with call_stop_override(llm, ["Result:"]):
        assert llm.call(messages) == "['Result:']"
    assert llm.call(messages) == "[]"


def test_a_result_is_shortened_before_the_task_keeps_it():
    @tool("read_all")
    def read_all() -> str:
        """Reads all of the log."""
        return "\n".join(read_log(part) for part in range(90))

    provider = Provider(
        steps=0,
        wants=lambda rows: None if len(rows) > 1 else Turn("I look.", (("c1", "read_all", {}),)),
    )
    own = engine()
    hook = shorten_result(own)
    register_after_tool_call_hook(hook)
    try:
        kickoff(ContextLLM(Model(model="scripted", provider_of_tests=provider), own), read_all)
    finally:
        unregister_after_tool_call_hook(hook)
    store: Any = own.store
    (reference,) = store.list()
    (result,) = [row["content"] for row in provider.requests[-1] if row["role"] == "tool"]
    assert reference in result
    assert len(result) < 20_000 < len(store.get(reference))


def test_a_hook_compacts_in_place():
    provider = Provider(steps=30)
    own = engine()
    hook = compact_messages(own)
    register_before_llm_call_hook(hook)
    try:
        model = Model(model="scripted", provider_of_tests=provider)
        kickoff(model, tool("read_log")(read_log), retrieval_tool(ullage.MemoryStore()))
    finally:
        unregister_before_llm_call_hook(hook)
    assert len(provider.requests) == 31
    # It does not see the tools, which stand beside the messages.
    assert max(provider.tokens) <= 6_000
    assert len(provider.requests[-1]) < 30


def test_the_reported_usage_of_each_call_is_learned_from(monkeypatch):
    learned, observe = [], HostConversation.observe

    def watched(self: Any, tokens: int | None, cached: int | None = None) -> None:
        learned.append((tokens, cached))
        observe(self, tokens, cached)

    monkeypatch.setattr(HostConversation, "observe", watched)
    provider = Provider(steps=5)
    CrewAgent(provider, engine(), is_async=False).ask("Why does the checkout fail?")
    assert learned == [(tokens, 0) for tokens in provider.tokens]


def test_what_is_no_model_is_an_error():
    given: Any = object()
    with pytest.raises(ullage.PolicyError, match="a object is no model"):
        ContextLLM(given)
