"""Tests of features that only LiteLLM has."""

from __future__ import annotations

import asyncio
import json
import os
import re
import subprocess
import sys
from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import pytest

import ullage
from tests.python.blocks import ROOT, text_of

# Its table of models is fetched otherwise.
os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"
pytest.importorskip("litellm", reason="litellm is not installed: run make test-hosts")
pytestmark = [pytest.mark.filterwarnings("ignore"), pytest.mark.timeout(300)]

import litellm  # noqa: E402

from ullage.litellm import ContextCallback  # noqa: E402
from ullage.litellm.retrieval import ServerTool  # noqa: E402
from ullage.stores.reachable import Reachable  # noqa: E402

from .litellm_host import (  # noqa: E402 - after the check
    KEY,
    ProxiedChat,
    ProxiedMessages,
    ProxiedResponses,
    Upstream,
    free_port,
    proxy,
    upstream,
    use,
    wait_for,
)
from .provider import NEEDLE, Provider, Turn, read_log, reference_in  # noqa: E402

MODEL = "openai/gpt-5-mini"
POLICY = ullage.Policy(window=6_000, reserve_output=1_000)


def engine() -> ullage.ContextManager:
    return ullage.ContextManager(POLICY, store=ullage.MemoryStore())


def history(api: Any, steps: int) -> list[Any]:
    """A conversation in which the model has read so many parts."""
    past: list[Any] = [{"role": "user", "content": "Why does the checkout fail?"}]
    for part in range(1, steps + 1):
        function = {"name": "read_log", "arguments": json.dumps({"part": part})}
        call = {"id": f"c{part}", "type": "function", "function": function}
        past.append({"role": "assistant", "content": "I look.", "tool_calls": [call]})
        past.append({"role": "tool", "tool_call_id": f"c{part}", "content": read_log(part)})
    return list(api.past(past))


def client(api: Any, callback: ContextCallback, provider: Provider) -> Any:
    use(callback)
    Upstream.scripts[:] = [provider]
    made = api.client(proxy(), is_async=False)
    made.api_key = KEY
    return made


def changes(requests: list[list[Any]]) -> int:
    return sum(after[: len(before)] != before for before, after in pairwise(requests))


def unmarked(rows: Any) -> Any:
    return json.loads(re.sub(r', "cache_control": \{[^}]*\}', "", json.dumps(rows)))


def test_what_a_client_marks_for_the_cache_is_kept():
    api = ProxiedMessages()
    provider = Provider(steps=0, format=api.format)
    for steps in range(1, 20):
        past = history(api, steps)
        # As coding agents do: the task, and the two newest messages of the user.
        marked = [past[0], past[-3], past[-1]]
        for message in marked:
            message["content"][-1]["cache_control"] = {"type": "ephemeral"}
        with client(api, ContextCallback(engine()), provider) as own:
            api.call(own, past, [api.tool()])
        sent = provider.requests[-1]
        # Anthropic takes four of them.
        assert str(sent).count("cache_control") == len({id(message) for message in marked})
        assert all(message in sent for message in marked)
    assert max(provider.tokens) <= 5_000


def test_marks_that_move_leave_the_beginning_as_it_was():
    api = ProxiedMessages()
    provider = Provider(steps=0, format=api.format)
    own_callback = ContextCallback(engine())
    with client(api, own_callback, provider) as own:
        for steps in range(1, 20):
            past = history(api, steps)
            past[-1]["content"][-1]["cache_control"] = {"type": "ephemeral"}
            api.call(own, past, [api.tool()])
    requests = [unmarked(rows) for rows in provider.requests]
    assert 0 < changes(requests) <= len(requests) // 2


def reading(number: int) -> Any:
    """A script that calls the retrieval tool in this request."""
    provider = Provider(steps=0)

    def wants(rows: list[Any]) -> Turn | None:
        if len(provider.requests) != number:
            return None
        assert reference_in(rows)
        return Turn("I read.", (("call-r", "retrieve", {"pattern": "tok_7f3a"}),))

    provider.wants = wants
    return provider


def test_a_stream_of_messages_has_the_final_answer_only():
    api, provider = ProxiedMessages(), reading(1)
    provider.format = api.format
    with client(api, ContextCallback(engine()), provider) as own:
        stream = own.messages.stream(
            model="claude", max_tokens=99, messages=history(api, 30), tools=[api.tool()]
        )
        with stream as events:
            message = events.get_final_message()
    assert [block.type for block in message.content] == ["text"]
    assert message.content[0].text == "It is the card."
    assert NEEDLE in str(provider.requests[1][-1])


@pytest.mark.parametrize("buffers", [False, True])
def test_a_stream_of_completions_has_the_tool_only_if_it_is_buffered(buffers):
    api, provider = ProxiedChat(), reading(1 if buffers else 0)
    with client(api, ContextCallback(engine(), buffer_streams=buffers), provider) as own:
        chunks = own.chat.completions.create(
            model="gpt", messages=history(api, 30), tools=[api.tool()], stream=True
        )
        said = [chunk.choices[0].delta for chunk in chunks if chunk.choices]
    assert "".join(delta.content or "" for delta in said) == "It is the card."
    assert not any(delta.tool_calls for delta in said)
    assert len(provider.requests) == 1 + buffers
    assert ("retrieve" in provider.tools) is buffers


def test_a_stream_of_responses_has_the_tool_if_it_is_buffered():
    api, provider = ProxiedResponses(), reading(1)
    provider.format = api.format
    with client(api, ContextCallback(engine(), buffer_streams=True), provider) as own:
        events = own.responses.create(
            model="gpt", input=history(api, 30), tools=[api.tool()], stream=True
        )
        texts = [event.response.output_text for event in events if hasattr(event, "response")]
    assert texts[-1] == "It is the card."
    assert NEEDLE in str(provider.requests[1][-1])


def test_a_model_that_only_reads_is_stopped():
    api = ProxiedChat()

    def wants(_: list[Any]) -> Turn | None:
        number = len(provider.requests)
        return (
            Turn("I read.", ((f"call-r{number}", "retrieve", {"pattern": "tok"}),))
            if "retrieve" in provider.tools
            else None
        )

    provider = Provider(steps=0, wants=wants)
    with client(api, ContextCallback(engine()), provider) as own:
        answer = api.call(own, history(api, 30), [api.tool()])
    assert api.text(answer) == "It is the card."
    assert len(provider.requests) == 4


def test_a_call_of_the_clients_beside_it_is_made_again():
    tool = ServerTool(ullage.MemoryStore(), "retrieve")
    both = [
        {"type": "tool_use", "id": "a", "name": "read_log", "input": {}},
        {"type": "tool_use", "id": "b", "name": "retrieve", "input": {"pattern": "x"}},
    ]
    said, results = asyncio.run(tool.follow_up([], {"content": both}))
    assert said["content"] == both[1:]
    assert [block["tool_use_id"] for block in results["content"]] == ["b"]
    assert not ullage.validate([{"role": "user", "content": "go"}, said, results], "anthropic")


def test_a_tool_of_the_clients_with_the_same_name_is_its_own():
    api = ProxiedChat()
    provider = Provider(
        steps=0, wants=lambda rows: Turn("", (("a", "retrieve", {}),)) if len(rows) == 1 else None
    )
    own_tool = {"type": "function", "function": {"name": "retrieve", "parameters": {}}}
    with client(api, ContextCallback(engine()), provider) as own:
        answer = api.call(own, history(api, 0), [own_tool])
    assert api.calls(answer) == [("a", "retrieve", {})]
    assert provider.tools == ["retrieve"]


def test_only_what_the_conversation_names_can_be_read():
    store = ullage.MemoryStore()

    def kept(content: bytes, tool: str) -> str:
        return store.put(content, reference=f"{tool}-{len(content):016x}")

    inner = kept(b"the card token is old", "read_log")
    outer = kept(f"[ullage: stored as {inner}; retrieve it]".encode(), "transcript")
    other = kept(b"the card of somebody else", "read_log")
    seen: Any = Reachable(store, [{"role": "user", "content": f"see {outer}"}])
    assert set(asyncio.run(seen.list())) == {inner, outer}
    tool = ullage.RetrievalTool(seen)
    assert "token is old" in asyncio.run(tool.acall({"reference": inner}))
    assert "token is old" in asyncio.run(tool.acall({"pattern": "the card"}))
    assert "somebody" not in asyncio.run(tool.acall({"pattern": "the card"}))
    assert asyncio.run(tool.acall({"reference": other})).startswith("Error: nothing is stored as")


def test_a_client_of_anthropic_reaches_a_model_of_openai():
    api = ProxiedMessages()
    api.model = "gpt"
    provider = Provider(steps=0, format="openai-responses")
    with client(api, ContextCallback(engine()), provider) as own:
        for steps in range(1, 20):
            answer = api.call(own, history(api, steps), [api.tool()])
    assert api.text(answer) == "It is the card."
    assert max(provider.tokens) <= 5_500
    assert 0 < changes(provider.requests) <= 9


def test_the_fallbacks_of_the_configuration_come_last():
    data = {"model": "gpt", "messages": [], "context_window_fallbacks": [{"gpt": ["claude"]}]}
    hook = ContextCallback(engine()).async_pre_call_hook(data, "acompletion")
    (row,) = asyncio.run(hook)["context_window_fallbacks"]  # type: ignore[index]
    assert [target["model"] for target in row["gpt"][:-1]] == ["gpt"] * 4
    assert row["gpt"][-1] == "claude"


@pytest.mark.parametrize("key", ["previous_response_id", "conversation"])
def test_a_conversation_of_the_server_is_left_alone(key):
    given = {"model": "gpt", "input": history(ProxiedResponses(), 30), key: "r"}
    kind: Any = SimpleNamespace(value="aresponses")
    assert (
        asyncio.run(ContextCallback(engine()).async_pre_call_deployment_hook(given, kind)) is None
    )


def deployed(callback: ContextCallback, **given: Any) -> dict[str, Any]:
    kind: Any = SimpleNamespace(value="acompletion")
    changed: Any = asyncio.run(callback.async_pre_call_deployment_hook(given, kind))
    return dict(changed)


def test_the_window_is_that_of_the_deployment():
    rows = history(ProxiedChat(), 30)
    callback = ContextCallback()
    info = {"max_input_tokens": 8_000}
    known = deployed(callback, model="openai/gpt-5-mini", messages=rows, model_info=info)
    assert ullage.TokenCounter().count_messages(known["messages"]) < 8_000
    whole = deployed(callback, model="openai/gpt-5-mini", messages=rows)
    assert whole["messages"] == rows


def test_another_worker_sends_the_same_requests():
    callback = ContextCallback(engine())
    for steps in range(1, 20):
        rows = history(ProxiedChat(), steps)
        sent = deployed(callback, model="m", messages=rows)["messages"]
        assert deployed(ContextCallback(engine()), model="m", messages=rows)["messages"] == sent
    assert len(sent) < len(rows)


def report(callback: ContextCallback, call: int, tokens: int) -> None:
    usage = SimpleNamespace(prompt_tokens=tokens, prompt_tokens_details=None)
    given, response = {"litellm_call_id": str(call)}, SimpleNamespace(usage=usage)
    asyncio.run(callback.async_log_success_event(given, response))


@pytest.mark.parametrize("is_late", [False, True])
def test_reported_usage_is_learned_from_unless_a_newer_request_is_on_its_way(is_late):
    own = engine()
    callback = ContextCallback(own)
    for steps in range(1, 13):
        rows = history(ProxiedChat(), steps)
        sent = deployed(callback, model="m", messages=rows, litellm_call_id=str(steps))
        tokens = ullage.TokenCounter().count_messages(sent["messages"])
        if is_late:
            rows = history(ProxiedChat(), steps + 1)
            deployed(callback, model="m", messages=rows, litellm_call_id="newer")
        report(callback, steps, round(tokens * 1.4))
    assert (own.counter.scale > 1.2) is not is_late


def test_a_refused_request_is_smaller_the_next_time_without_a_proxy():
    use(ContextCallback(engine()))
    provider = Provider(steps=0, limit=2_000)
    Upstream.scripts[:] = [provider]
    rows = history(ProxiedChat(), 30)
    more: Any = {"api_base": f"{upstream()}/v1", "api_key": "-", "max_retries": 0}

    async def ask() -> Any:
        for _ in range(8):
            try:
                return await litellm.acompletion(model=MODEL, messages=rows, **more)
            except litellm.ContextWindowExceededError:  # noqa: PERF203 - a few times
                continue
        return None

    assert asyncio.run(ask()).choices[0].message.content == "It is the card."
    assert sorted(provider.refused, reverse=True) == provider.refused


def test_the_configuration_of_the_guide_runs(tmp_path):
    guide = text_of("docs/litellm.md")
    config, code = re.findall(r"```yaml\n(.*?)```", guide, re.DOTALL)
    litellm_params = f"{{model: anthropic/claude-sonnet-4-5, api_base: '{upstream()}', api_key: k}}"
    config = config.replace("{model: anthropic/claude-sonnet-4-5}", litellm_params)
    config = config.replace("ullage.litellm.context", "gateway.context")
    (tmp_path / "config.yaml").write_text(config, encoding="utf-8")
    (tmp_path / "gateway.py").write_text(code, encoding="utf-8")
    command = [sys.executable, "-c", "from litellm import run_server; run_server()"]
    port = free_port()
    command += ["--config", str(tmp_path / "config.yaml"), "--port", str(port)]
    settings = {**os.environ, "PYTHONPATH": str(ROOT / "python")}
    settings["LITELLM_MASTER_KEY"] = KEY
    settings.pop("CONFIG_FILE_PATH", None)
    server = subprocess.Popen(
        command, cwd=tmp_path, env=settings, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    api = ProxiedMessages()
    provider = Provider(steps=0, format=api.format)
    Upstream.scripts[:] = [provider]
    try:
        address = f"http://127.0.0.1:{port}"
        wait_for(address)
        with api.client(address, is_async=False) as own:
            own.api_key = KEY
            answer = api.call(own, history(api, 300), [api.tool()])
    finally:
        server.terminate()
        server.wait()
    assert api.text(answer) == "It is the card."
    assert max(provider.tokens) < 200_000
    assert list((tmp_path / "outputs").iterdir())
    assert "retrieve" in provider.tools


def test_the_default_callback_is_made_once():
    import ullage.litellm as module

    assert module.context is module.context
    with pytest.raises(AttributeError, match="nothing"):
        _ = module.nothing
