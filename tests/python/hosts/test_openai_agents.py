"""Tests of features that only the OpenAI Agents SDK has."""

from __future__ import annotations

import asyncio
import json
from itertools import pairwise
from typing import Any

import pytest

import ullage

pytest.importorskip("agents", reason="openai-agents is not installed: run make test-hosts")

from agents import (
    Agent,
    ModelProvider,
    ModelSettings,
    ModelTracing,
    RunConfig,
    Runner,
    SQLiteSession,
    function_tool,
)
from agents.run_config import CallModelData, ModelInputData

from ullage.openai_agents import (
    ContextModel,
    ContextProvider,
    ContextSession,
    input_filter,
    shorten_output,
)

from .openai_agents_host import OpenAIAgentsHost, ScriptedModel
from .provider import SYSTEM, Provider, Turn, read_log

POLICY = ullage.Policy(window=6_000, reserve_output=1_000)
FORMAT = "openai-responses"
NO_IDS: Any = {"previous_response_id": None, "conversation_id": None, "prompt": None}


def engine(**more: Any) -> ullage.ContextManager:
    return ullage.ContextManager(POLICY, store=ullage.MemoryStore(), **more)


def history(steps: int) -> list[Any]:
    items: list[Any] = [{"role": "user", "content": "Why does the checkout fail?"}]
    for step in range(steps):
        call = {"call_id": f"c{step}", "name": "read_log", "arguments": f'{{"part": {step}}}'}
        items += [
            {"type": "reasoning", "id": f"rs_{step}", "summary": [], "encrypted_content": "x" * 80},
            {"type": "function_call", "id": f"fc_{step}", **call},
            {"type": "function_call_output", "call_id": f"c{step}", "output": read_log(step)},
        ]
    return items


def ask(model: Any, items: list[Any], **ids: Any) -> Any:
    given: Any = (SYSTEM, items, ModelSettings(), [], None, [], ModelTracing.DISABLED)
    return asyncio.run(model.get_response(*given, **{**NO_IDS, **ids}))


def test_reasoning_stays_with_the_call_that_follows_it():
    provider = Provider(steps=0, format=FORMAT)
    model = ContextModel(ScriptedModel(provider), engine())
    for steps in range(2, 30):
        ask(model, history(steps))
    assert sum(a[: len(b)] != b for b, a in pairwise(provider.requests)) > 1
    for rows in provider.requests:
        for place, row in enumerate(rows):
            if row.get("type") == "reasoning":
                assert rows[place + 1]["id"] == row["id"].replace("rs", "fc")


@pytest.mark.parametrize("ids", [{"conversation_id": "conv_1"}, {"previous_response_id": "r"}])
def test_what_the_server_keeps_is_left_alone(ids):
    items = [{"type": "function_call_output", "call_id": "c1", "output": read_log(1) * 20}]

    class Server:
        async def get_response(self, _system: Any, input: Any, *_args: Any, **_ids: Any) -> Any:
            return input

    server: Any = Server()
    sent = ask(ContextModel(server, engine()), items, **ids)
    assert sent is items


def filtered(items: list[Any], own: ullage.ContextManager) -> ModelInputData:
    data: Any = CallModelData(ModelInputData(input=items, instructions=SYSTEM), Agent("A"), None)
    made: Any = input_filter(own)(data)
    return asyncio.run(made)


def test_a_filter_leaves_a_delta_alone_and_keeps_the_hosts_objects():
    delta = [{"type": "function_call_output", "call_id": "c1", "output": read_log(1) * 20}]
    assert filtered(delta, engine()).input is delta
    items = history(30)
    sent = filtered(items, engine())
    assert sent.instructions == SYSTEM
    own = {id(item) for item in items}
    assert 2 <= sum(id(item) in own for item in sent.input) < len(items)
    assert not ullage.validate(sent.input, FORMAT)
    short = items[:4]
    assert all(a is b for a, b in zip(filtered(short, engine()).input, short, strict=True))


def test_a_run_with_a_filter_is_inside_its_budget():
    provider = Provider(steps=30, format=FORMAT)
    # A filter does not see the tools.
    schema = function_tool(read_log).params_json_schema
    own = engine(tools=[{"type": "function", "name": "read_log", "parameters": schema}])
    agent = Agent(
        "A", instructions=SYSTEM, model=ScriptedModel(provider), tools=[function_tool(read_log)]
    )
    config = RunConfig(call_model_input_filter=input_filter(own))
    asyncio.run(Runner.run(agent, "Why?", run_config=config, max_turns=99))
    assert max(provider.tokens) <= 5_000
    assert 0 < sum(a[: len(b)] != b for b, a in pairwise(provider.requests)) <= 15


def test_a_provider_wraps_the_models_that_agents_name():
    provider, asked = Provider(steps=30, format=FORMAT), []
    model = ScriptedModel(provider)

    class Own(ModelProvider):
        def get_model(self, model_name: str | None) -> Any:
            asked.append(model_name)
            return model

    config = RunConfig(model_provider=ContextProvider(Own(), policy=POLICY))
    agent = Agent("A", instructions=SYSTEM, model="gpt-5-mini", tools=[function_tool(read_log)])
    asyncio.run(Runner.run(agent, "Why?", run_config=config, max_turns=99))
    assert max(provider.tokens) <= 5_000
    assert set(asked) == {"gpt-5-mini"}


def test_each_model_of_a_provider_has_its_own_window():
    class Own(ModelProvider):
        def get_model(self, model_name: str | None) -> Any:
            return ScriptedModel(Provider())

    models: Any = ContextProvider(Own())
    windows = {name: models.get_model(name).engine.policy.window for name in ("gpt-4o", "gpt-4.1")}
    assert windows["gpt-4o"] == 128_000 < windows["gpt-4.1"]


def test_an_output_is_shortened_before_the_session_stores_it():
    own = engine()

    @function_tool(tool_output_guardrails=[shorten_output(own)])
    def read_all() -> str:
        """Reads all of the log."""
        return "\n".join(read_log(part) for part in range(90))

    provider = Provider(
        steps=0,
        wants=lambda rows: None if len(rows) > 1 else Turn("I look.", (("c1", "read_all", {}),)),
        format=FORMAT,
    )
    agent = Agent("A", model=ContextModel(ScriptedModel(provider), own), tools=[read_all])
    session = SQLiteSession("s")
    asyncio.run(Runner.run(agent, "Why?", session=session))
    output = next(i["output"] for i in asyncio.run(session.get_items()) if "output" in i)
    store: Any = own.store
    (reference,) = store.list()
    assert reference in output
    assert len(output) < 20_000 < len(store.get(reference))


def test_the_usage_corrects_the_counter():
    provider, own = Provider(steps=12, format=FORMAT), engine()
    provider._counter = ullage.TokenCounter.with_ratio(1.2)
    agent = Agent(
        "A", model=ContextModel(ScriptedModel(provider), own), tools=[function_tool(read_log)]
    )
    asyncio.run(Runner.run(agent, "Why?", max_turns=99))
    assert own.counter.scale > 1.2


@pytest.mark.parametrize("text", ["", "{", "[]", '{"mark": null, "state": {"view": {}}}'])
def test_a_damaged_file_of_a_session_is_not_used(text, tmp_path, caplog):
    path = tmp_path / "s.json"
    path.write_text(text, encoding="utf-8")
    session: Any = ContextSession(SQLiteSession("s"), engine(), path)
    asyncio.run(session.add_items(history(2)))
    assert len(asyncio.run(session.get_items())) == 7
    assert "the saved state cannot be used" in caplog.text


def test_a_cleared_session_begins_again(tmp_path):
    provider = Provider(steps=20, format=FORMAT)
    own, path = engine(), tmp_path / "views" / "s.json"
    session: Any = ContextSession(SQLiteSession("s"), own, path)
    agent = Agent(
        "A", model=ContextModel(ScriptedModel(provider), own), tools=[function_tool(read_log)]
    )
    asyncio.run(Runner.run(agent, "Why?", session=session, max_turns=99))
    assert json.loads(path.read_bytes())["state"]
    assert asyncio.run(session.pop_item())["role"] == "assistant"
    asyncio.run(session.clear_session())
    assert not path.exists()
    assert session.session_id == "s"
    provider.steps = 0
    asyncio.run(Runner.run(agent, "Who are you?", session=session))
    assert len(provider.requests[-1]) == 1


def test_misuse_names_the_remedy():
    wrong: dict[str, Any] = {"model": "gpt-5-mini", "session": [], "engine": POLICY}
    with pytest.raises(ullage.PolicyError, match="use ContextProvider for models by name"):
        ContextModel(wrong["model"])
    with pytest.raises(ullage.PolicyError, match="is no session of the SDK"):
        ContextSession(wrong["session"], engine(), "s.json")
    with pytest.raises(ullage.PolicyError, match="give it as policy="):
        input_filter(wrong["engine"])


def test_the_adapter_of_the_table_is_the_one_of_the_guide():
    assert isinstance(OpenAIAgentsHost().adapter(), ContextProvider)
