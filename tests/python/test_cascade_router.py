"""Layer 0 of the cascade, under real agents: results that become artifacts, and unknown tools."""

# mypy: disable-error-code="arg-type,typeddict-item,assignment,attr-defined,union-attr"

import asyncio
import copy
import json
import os
import shlex
import subprocess
import types
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from strands import Agent, tool
from strands.hooks import AfterToolCallEvent, BeforeToolCallEvent

import ullage
from tests.python.loop_probe import LoopProbe
from tests.python.players import Player
from ullage.strands import LargeToolResultMapper, ToolRouterHook, retrieval_tool
from ullage.strands.router import command_line

LONG = "a line of what the tool said\n" * 4_400


@tool
def shell(command: str) -> str:
    """Run a command line."""
    return f"ran: {command}"


def tool_of(name, answer):
    """A tool that answers with this text, or with these blocks."""
    content = [{"text": answer}] if isinstance(answer, str) else answer

    @tool(name=name)
    def said(words: int = 0, number: int = 0) -> dict[str, Any]:
        """Says it."""
        return {"status": "success", "content": content}

    return said


def asked(hook, *tools, name="nmap", calls=1, width=1):
    """The results that an agent gets for its calls, and its messages."""
    model = Player(calls, width=width)
    model.asks = name
    agent = Agent(model=model, tools=[*tools], hooks=[hook], callback_handler=None)
    agent("Look around.")
    return [
        block["toolResult"]
        for message in agent.messages
        for block in message["content"]
        if "toolResult" in block
    ], agent


def text_of(result):
    return result["content"][0]["text"]


def test_a_large_result_becomes_an_artifact_with_its_head_in_the_conversation(tmp_path):
    folder = tmp_path / "artifacts"
    ((result,), _) = asked(ToolRouterHook(artifacts_dir=folder), tool_of("nmap", LONG))
    (path,) = folder.iterdir()
    assert path.read_text() == LONG
    assert text_of(result) == (
        f"[Tool output: {len(LONG):,} chars total | Preview: 4,000 chars below | Full:"
        f" artifacts/{path.name}]\n\n{LONG[:4_000]}\n\n"
        f"[Complete output saved to: artifacts/{path.name}]"
    )
    assert path.name.startswith("nmap_")
    assert path.suffix == ".log"


def test_what_layer_0_leaves_is_nothing_to_layer_1(tmp_path):
    hook = ToolRouterHook(artifacts_dir=tmp_path, artifact_threshold=10_000)
    (_, agent) = asked(hook, tool_of("nmap", LONG))
    mapper = LargeToolResultMapper()
    assert all(mapper(m, i, agent.messages) is m for i, m in enumerate(agent.messages))


@pytest.mark.parametrize("size", [1, 10_000])
def test_a_result_below_the_threshold_stays(tmp_path, size):
    ((result,), _) = asked(ToolRouterHook(artifacts_dir=tmp_path), tool_of("nmap", "x" * size))
    assert text_of(result) == "x" * size
    assert list(tmp_path.iterdir()) == []


def test_json_and_several_blocks_are_one_output_and_media_stay(tmp_path):
    image = {"image": {"format": "png", "source": {"bytes": b"\x89PNG"}}}
    content = [{"json": {"hosts": ["h"] * 3_000}}, image, {"text": "done"}]
    ((result,), _) = asked(ToolRouterHook(artifacts_dir=tmp_path), tool_of("nmap", content))
    (path,) = tmp_path.iterdir()
    text, media = result["content"]
    assert media == image
    assert path.name in text["text"]
    assert json.loads(path.read_text().removesuffix("\ndone")) == {"hosts": ["h"] * 3_000}


def test_without_artifacts_a_result_is_cut_and_says_how_long_it_was():
    ((result,), _) = asked(ToolRouterHook(), tool_of("nmap", LONG))
    assert text_of(result) == f"{LONG[:30_000]}\n\n[Truncated: {len(LONG):,} chars total]"
    ((result,), _) = asked(ToolRouterHook(), tool_of("nmap", "x" * 20_000))
    assert text_of(result) == "x" * 20_000, "what is not cut does not say so"


class Broken:
    def put(self, content, *, reference, tool=None):
        raise OSError(28, "No space left on device")

    def get(self, reference):
        raise OSError(28, "No space left on device")


def test_where_artifacts_cannot_be_written_the_result_is_cut(caplog):
    ((result,), _) = asked(ToolRouterHook(store=Broken()), tool_of("nmap", LONG))
    assert text_of(result).endswith(f"[Truncated: {len(LONG):,} chars total]")
    assert "was not stored" in caplog.text


def test_a_store_that_is_awaited_works():
    class Awaited:
        def __init__(self):
            self.kept = {}

        async def put(self, content, *, reference, tool=None):
            await asyncio.sleep(0)
            self.kept[reference] = content
            return reference

        async def get(self, reference):
            return self.kept[reference]

    store = Awaited()
    ((result,), _) = asked(ToolRouterHook(store=store), tool_of("nmap", LONG))
    ((reference, content),) = store.kept.items()
    assert content == LONG.encode()
    assert reference in text_of(result)


def test_a_reference_that_is_taken_gives_way_to_the_next(tmp_path):
    store = ullage.FileStore(tmp_path)
    asked(ToolRouterHook(store=store), tool_of("nmap", LONG))
    (reference,) = store.list()
    other = ullage.MemoryStore()
    other.put(b"something else", reference=reference)
    ((result,), _) = asked(ToolRouterHook(store=other), tool_of("nmap", LONG))
    (new,) = set(other.list()) - {reference}
    assert other.get(new) == LONG.encode()
    assert other.get(reference) == b"something else"
    assert new in text_of(result)


def test_what_was_retrieved_is_not_stored_again(tmp_path):
    store = ullage.FileStore(tmp_path)
    asked(ToolRouterHook(store=store), tool_of("nmap", LONG))
    (reference,) = store.list()
    retrieve = retrieval_tool(store)
    agent = Agent(
        model=Player(), tools=[retrieve], hooks=[ToolRouterHook(store=store)], callback_handler=None
    )
    read = agent.tool.retrieve(reference=reference)
    assert len(read["content"][0]["text"]) > 20_000
    assert store.list() == [reference]


@pytest.mark.parametrize("spelled", [" ", "", "[quoted] sha-0123456789abcdef "])
def test_a_text_that_speaks_of_references_is_stored_like_any_other(tmp_path, spelled):
    ((result,), _) = asked(ToolRouterHook(artifacts_dir=tmp_path), tool_of("nmap", spelled + LONG))
    assert len(text_of(result)) < 5_000
    assert len(list(tmp_path.iterdir())) == 1


def test_the_result_is_replaced_and_not_written_to(tmp_path):
    hook = ToolRouterHook(artifacts_dir=tmp_path)
    result = {"toolUseId": "1", "status": "success", "content": [{"text": LONG}], "extra": 1}
    before = copy.deepcopy(result)
    event = AfterToolCallEvent(
        agent=Agent(model=Player()),
        selected_tool=None,
        tool_use={"toolUseId": "1", "name": "nmap", "input": {}},
        invocation_state={},
        result=result,
    )
    asyncio.run(hook._after_tool_call(event))
    assert result == before
    assert event.result is not result
    assert event.result["extra"] == 1


def test_the_newest_hundred_stay_once_there_are_a_hundred_and_fifty(tmp_path):
    hook = ToolRouterHook(artifacts_dir=tmp_path)
    results = iter(range(10_000))

    @tool(name="nmap")
    def counted(words: int = 0, number: int = 0) -> str:
        """Counts."""
        return f"{next(results)}\n" + "x" * 10_001

    agent = Agent(model=Player(), tools=[counted], hooks=[hook], callback_handler=None)
    for _ in range(150):
        agent.tool.nmap(record_direct_tool_call=False)
    assert len(list(tmp_path.iterdir())) == 150
    agent.tool.nmap(record_direct_tool_call=False)
    assert len(list(tmp_path.iterdir())) == 100


def test_an_artifact_that_a_conversation_refers_to_stays(tmp_path):
    hook = ToolRouterHook(artifacts_dir=tmp_path)
    _, agent = asked(hook, tool_of("nmap", LONG), tool_of("scan", "another\n" + LONG))
    (kept,) = tmp_path.iterdir()
    for number in range(200):
        store = hook.store
        store.put(b"%d" % number, reference=f"scan-{number:016x}", tool="scan")
    agent.tool.scan(record_direct_tool_call=False)
    assert kept.exists()
    assert len(list(tmp_path.iterdir())) < 150


def test_one_hook_may_serve_agents_in_many_threads(tmp_path, caplog):
    hook = ToolRouterHook(artifacts_dir=tmp_path, artifact_threshold=1_000)
    results = iter(range(10_000))

    @tool(name="nmap")
    def counted(words: int = 0, number: int = 0) -> str:
        """Counts."""
        return f"{next(results)}\n" + "x" * 1_500

    texts: list[str] = []

    def run(_):
        found, _ = asked(hook, counted, calls=15, width=2)
        texts.extend(text_of(result) for result in found)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(run, range(8)))
    assert len(texts) == 8 * 15 * 2
    assert all("[Complete output saved to: " in text for text in texts)
    assert "Traceback" not in caplog.text
    assert len(list(tmp_path.iterdir())) <= 8 * 15 * 2


def test_files_are_written_beside_the_event_loop():
    class Slow(ullage.MemoryStore):
        def put(self, content, **more):
            probe.work()
            return super().put(content, **more)

    probe = LoopProbe()
    hook = ToolRouterHook(store=Slow())
    agent = Agent(
        model=Player(1), tools=[tool_of("fetch", LONG)], hooks=[hook], callback_handler=None
    )
    probe.run(agent.invoke_async("Look around."))
    assert probe.was_free == [True]


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"options": "-sV -p 80", "target": "10.0.0.1"}, ["nmap", "-sV", "-p", "80", "10.0.0.1"]),
        ({"host": "h; rm -rf /"}, ["nmap", "h; rm -rf /"]),
        ({"options": "-x; rm -rf / #"}, ["nmap", "-x;", "rm", "-rf", "/", "#"]),
        ({"options": "'open"}, ["nmap", "'open"]),
        ({"args": ["-a", "b c"], "url": "$(id)"}, ["nmap", "-a", "b c", "$(id)"]),
        ({"p": 80, "v": True, "q": False, "n": None}, ["nmap", "--p", "80", "--v"]),
        ({"e": ["a", "b"]}, ["nmap", "--e", "a", "--e", "b"]),
        ({"a b; c": "d`e`"}, ["nmap", "a b; c", "d`e`"]),
        ({"target": "t", "host": "h"}, ["nmap", "t", "--host", "h"]),
        ("-sV `id`", ["nmap", "-sV", "`id`"]),
        (None, ["nmap"]),
        ({"target": "line\nbreak"}, ["nmap", "line\nbreak"]),
    ],
    ids=str,
)
def test_every_word_of_an_unknown_tool_is_one_word_to_the_shell(given, words):
    command = command_line("nmap", given)
    assert shlex.split(command) == words
    told = subprocess.run(
        ["sh", "-c", f'nmap() {{ printf "%s\\0" nmap "$@"; }}; {command}'],
        capture_output=True,
        check=True,
        env={**os.environ},
    )
    assert told.stdout.decode().split("\0")[:-1] == words


def test_an_unknown_tool_runs_in_the_shell():
    ((result,), _) = asked(ToolRouterHook(shell), name="masscan")
    assert result["status"] == "success"
    assert text_of(result) == "ran: masscan --words 40 --number 100"


def test_without_a_shell_an_unknown_tool_stays_unknown():
    ((result,), _) = asked(ToolRouterHook())
    assert result["status"] == "error"
    assert "Unknown tool" in text_of(result)


def test_a_known_tool_is_not_routed():
    ((result,), _) = asked(ToolRouterHook(shell), tool_of("nmap", "known"))
    assert text_of(result) == "known"


def test_the_call_in_the_history_stays_as_the_model_made_it():
    (_, agent) = asked(ToolRouterHook(shell))
    (use,) = [b["toolUse"] for m in agent.messages for b in m["content"] if "toolUse" in b]
    assert (use["name"], use["input"]) == ("nmap", {"words": 40, "number": 100})


def test_a_cancelled_call_is_not_run_in_the_shell():
    class Cancels(ToolRouterHook):
        def register_hooks(self, registry, **kwargs):
            registry.add_callback(
                BeforeToolCallEvent, lambda event: setattr(event, "cancel_tool", "not allowed")
            )
            super().register_hooks(registry, **kwargs)

    ((result,), _) = asked(Cancels(shell))
    assert text_of(result) == "not allowed"


def test_a_module_of_a_tool_is_a_shell_too():
    module = types.ModuleType("shell_module")
    module.TOOL_SPEC = {
        "name": "shell",
        "description": "Runs.",
        "inputSchema": {"json": {"type": "object", "properties": {"command": {"type": "string"}}}},
    }
    module.shell = lambda use, **_: {
        "toolUseId": use["toolUseId"],
        "status": "success",
        "content": [{"text": "module " + use["input"]["command"]}],
    }
    ((result,), _) = asked(ToolRouterHook(module))
    assert text_of(result) == "module nmap --words 40 --number 100"
    with pytest.raises(TypeError, match="shell_tool"):
        ToolRouterHook(print)


def test_the_thresholds_come_from_the_environment_whatever_its_prefix(monkeypatch):
    monkeypatch.setenv("CYBER_TOOL_MAX_RESULT_CHARS", "500")
    monkeypatch.setenv("MINE_TOOL_RESULT_ARTIFACT_THRESHOLD", "700")
    hook = ToolRouterHook()
    assert (hook.max_result_chars, hook.artifact_threshold) == (500, 10_000)
    hook = ToolRouterHook(env_prefix="MINE_")
    assert (hook.max_result_chars, hook.artifact_threshold) == (30_000, 700)
    assert ToolRouterHook(None, 9, None, 8).max_result_chars == 9


def test_one_of_them_keeps_the_originals(tmp_path):
    with pytest.raises(ullage.PolicyError):
        ToolRouterHook(artifacts_dir=tmp_path, store=ullage.MemoryStore())


def test_the_engine_knows_what_is_stored_already_by_the_words_around_it(tmp_path):
    store = ullage.FileStore(tmp_path / "artifacts")
    hook = ToolRouterHook(store=store)
    _, agent = asked(hook, tool_of("nmap", LONG), calls=3)
    (reference,) = store.list()
    engine = ullage.ContextManager(ullage.Policy(stages=["offload"], keep_recent=0), store=store)
    report = engine.compact(agent.messages, budget=1_500, hard=True)
    assert report.saved > 1_000
    assert store.list() == [reference], "nothing is stored a second time"
    texts = [
        block["toolResult"]["content"][0]["text"]
        for message in agent.messages
        for block in message["content"]
        if "toolResult" in block
    ]
    hashed = reference.rsplit("-", 1)[1]
    assert all(hashed in text for text in texts)
