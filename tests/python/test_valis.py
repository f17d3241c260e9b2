"""Valis' face: the tests that its document names, the faults that it had, bad input, threads."""

import asyncio
import copy
import json
import threading
from types import SimpleNamespace
from typing import Any

import pytest

import ullage
from ullage.valis import (
    CompactionResult,
    ContextConfig,
    ContextManagementMiddleware,
    FilesystemBackend,
    FolderBackend,
)

from .histories import broken_pairs, call, history, result

SECTIONS = (
    "Session Intent",
    "Progress So Far",
    "Key Decisions",
    "Current State",
    "Next Steps",
    "Important Details",
)


def middleware(tmp_path, limit=20_000, **config):
    limits = {"small": limit}
    return ContextManagementMiddleware(
        ContextConfig(model_context_limits=limits, **config), tmp_path / "files"
    )


def conversation(turns, *, parallel=2, lines=60):
    """Turns of parallel calls in the AI SDK's form: one runs a command, the others write files."""
    messages: list[dict[str, Any]] = [
        {"role": "system", "content": "You are an agent"},
        {"role": "user", "content": "Build the app"},
    ]
    for turn in range(turns):
        ids = [f"toolu_01{turn:04}{n}" for n in range(parallel)]
        names = ["run_tests", *["write_file"] * (parallel - 1)]
        text = f"def f{turn}(): return {turn}\n" * lines
        calls = [
            {
                "type": "tool-call",
                "toolCallId": i,
                "toolName": name,
                "args": {"path": f"src/m{turn}.py", "content": text},
            }
            for i, name in zip(ids, names, strict=True)
        ]
        results = [
            {"type": "tool-result", "toolCallId": i, "toolName": name, "result": f"ok {turn}"}
            for i, name in zip(ids, names, strict=True)
        ]
        messages.append(
            {"role": "assistant", "content": [{"type": "text", "text": f"Step {turn}"}, *calls]}
        )
        messages.append({"role": "tool", "content": results})
        messages.append({"role": "user", "content": f"Go on with {turn}"})
    return messages


def parted(messages):
    """Calls and results of the AI SDK's form that do not stand together."""
    waiting: set[str] = set()
    found = []
    for index, message in enumerate(messages):
        parts = message["content"] if isinstance(message["content"], list) else []
        ids = {p["toolCallId"] for p in parts if p.get("type") in ("tool-call", "tool-result")}
        if message["role"] == "tool":
            if ids != waiting:
                found.append(f"message {index} answers {ids}, asked were {waiting}")
            waiting = set()
        else:
            if waiting:
                found.append(f"message {index} stands where {waiting} wait")
            waiting = ids
    return found


def run(coroutine):
    return asyncio.run(coroutine)


class Agent:
    def __init__(self, answer="## Session Intent\nBuild the app"):
        self.answer = answer
        self.prompts: list[str] = []

    async def run(self, given, *, stateless):
        assert stateless
        assert [m["role"] for m in given["messages"]] == ["system", "user"]
        self.prompts.append(given["messages"][1]["content"])
        return self.answer


# The ten tests of the document.


def test_large_result_offload(tmp_path):
    made = middleware(tmp_path)
    text = "\n".join(f"row {n} of the table" for n in range(6_000))
    short = made.process_tool_result(text, "query", "call-1")
    (path,) = made.filesystem.ls("/tool_outputs")
    assert made.filesystem.read_file(path) == text
    assert short.startswith(f"[Large output saved to {path}]")
    assert short.endswith(f'Use read_file("{path}") to view full content.')
    assert made.process_tool_result("small", "query", "call-2") == "small"
    assert len(made.filesystem.ls()) == 1


def test_offload_creates_preview(tmp_path):
    made = middleware(tmp_path)
    path, short = made.offload_large_result("\n".join(map(str, range(50))), "query", "call-1")
    assert short == (
        f"[Large output saved to {path}]\n\nPreview (first 10 lines):\n"
        "0\n1\n2\n3\n4\n5\n6\n7\n8\n9\n... (40 more lines)\n\n"
        f'Use read_file("{path}") to view full content.'
    )


def test_compaction_threshold(tmp_path):
    messages = conversation(10)
    tokens = middleware(tmp_path).count_message_tokens(messages)
    below = middleware(tmp_path, int(tokens / 0.84), response_reserve=0)
    assert below.compact_messages(messages, "small") is messages
    above = middleware(tmp_path, int(tokens / 0.86), response_reserve=0)
    compacted = above.compact_messages(messages, "small")
    assert above.count_message_tokens(compacted) < tokens
    assert above.compaction_history[0].strategy_used == "compact"


def test_file_write_compaction(tmp_path):
    made, messages = middleware(tmp_path, 5_000), conversation(10)
    before = copy.deepcopy(messages)
    compacted = made.compact_messages(messages, "small")
    assert messages == before
    arguments = compacted[2]["content"][2]["args"]
    assert arguments["path"] == "src/m0.py"
    assert arguments["content"].startswith(
        "[Content written to src/m0.py] Preview: def f0(): return 0\n"
    )
    assert compacted[2]["content"][1] is messages[2]["content"][1], "other tools' calls stay"
    kept = arguments["content"].split("[As written: ")[1].removesuffix("]")
    assert made.filesystem.read_file(kept) == messages[2]["content"][2]["args"]["content"]
    assert made.compact_messages(compacted, "small") is compacted


def test_summarization_threshold(tmp_path):
    messages = conversation(10)
    tokens = middleware(tmp_path).count_message_tokens(messages)
    below = middleware(tmp_path, int(tokens / 0.94), response_reserve=0)
    assert run(below.summarize_conversation(messages, "small")) is messages
    above = middleware(tmp_path, int(tokens / 0.96), response_reserve=0)
    assert run(above.summarize_conversation(messages, "small")) is not messages


@pytest.mark.parametrize("agent", [None, Agent()], ids=["engine", "agent"])
def test_summary_structure(tmp_path, agent):
    made = middleware(tmp_path, 5_000)
    left = run(made.summarize_conversation(conversation(20), "small", agent))
    assert left[0] == {"role": "system", "content": "You are an agent"}
    assert left[1]["role"] == "system"
    assert "[CONVERSATION SUMMARY]" in left[1]["content"]
    assert left[1]["content"].rstrip().endswith("[END SUMMARY]")
    assert "Build the app" in left[1]["content"]
    for section in SECTIONS:
        assert f"## {section}" in (left[1]["content"] if agent is None else agent.prompts[0])


def test_original_preserved(tmp_path):
    made, messages = middleware(tmp_path, 5_000), conversation(20)
    left = run(made.manage_context(messages, "small"))
    as_json, as_markdown = made.filesystem.ls("/conversation_history")
    assert json.loads(made.filesystem.read_file(as_json)) == messages
    readable = made.filesystem.read_file(as_markdown)
    assert all(f"Step {n}" in readable for n in range(20))
    # The next time, what was compacted and summarized before is whole again.
    run(made.summarize_conversation([*left, *conversation(20)[2:]], "small"))
    saved = [
        json.loads(made.filesystem.read_file(f))
        for f in made.filesystem.ls()
        if "n_h" in f and f.endswith("json")
    ]
    assert max(saved, key=len) == [*messages, *conversation(20)[2:]]


def test_recent_messages_kept(tmp_path):
    made, messages = middleware(tmp_path, 5_000), conversation(40, lines=10)
    left = run(made.summarize_conversation(messages, "small"))
    kept = [m for m in left if any(m is old for old in messages)]
    newest = kept[2:]
    assert newest == messages[-len(newest) :]
    assert 500 < made.count_message_tokens(newest) <= 1_000 + 250, "a fifth, and its first pair"
    assert kept[1] is messages[1], "the first request"


def test_recovery_via_grep(tmp_path):
    made = middleware(tmp_path, 5_000)
    run(made.summarize_conversation(conversation(20), "small"))
    found = made.filesystem.grep("Go on with 3$", "/conversation_history/")
    assert len(found) == 1
    assert made.filesystem.grep("def f7", "/conversation_history/")
    segment = made.get_system_prompt_segment()
    for word in ("read_file(", "grep(", "ls(", "/tool_outputs/", "/conversation_history/"):
        assert word in segment


def test_stats_tracking(tmp_path):
    made = middleware(tmp_path, 5_000)
    made.process_tool_result("word " * 30_000, "query", "1")
    run(made.manage_context(conversation(20), "small"))
    stats = made.get_compaction_stats()
    assert stats["compaction_events"] == 3
    assert set(stats["by_strategy"]) == {"offload", "compact", "summarize"}
    assert stats["total_tokens_saved"] == sum(stats["by_strategy"].values())
    assert all(saved > 0 for saved in stats["by_strategy"].values())
    first = made.compaction_history[0]
    assert isinstance(first, CompactionResult)
    assert first.tokens_saved == first.original_tokens - first.compacted_tokens
    assert len(first.files_created) == 1


# Its faults.


def test_arguments_of_calls_count(tmp_path):
    made = middleware(tmp_path)
    words = "word " * 5_000
    part = {
        "type": "tool-call",
        "toolCallId": "1",
        "toolName": "write_file",
        "args": {"content": words},
    }
    assert made.count_message_tokens([{"role": "assistant", "content": [part]}]) > 5_000


def test_a_result_of_one_line_is_shortened(tmp_path):
    made = middleware(tmp_path)
    short = made.process_tool_result("word " * 30_000, "query", "1")
    assert made.count_tokens(short) < 400
    wide = middleware(tmp_path, preview_lines=100_000)
    assert wide.count_tokens(wide.process_tool_result("1\n" * 60_000, "q", "1")) < 20_000


def test_results_of_one_second_have_files_of_their_own(tmp_path):
    made = middleware(tmp_path)
    texts = [f"{n} " * 30_000 for n in range(9)]
    for n, text in enumerate(texts):
        made.process_tool_result(text, "query", f"toolu_01{'A' * 16}{n}")
    files = made.filesystem.ls("/tool_outputs")
    assert sorted(map(made.filesystem.read_file, files)) == sorted(texts)


@pytest.mark.parametrize(
    "name", ["../../etc/cron.d/x", "/etc/passwd", "a\0b", "..", "", "名前", "a" * 999]
)
def test_no_name_leads_out_of_the_folder(name, tmp_path):
    made = middleware(tmp_path)
    path, _ = made.offload_large_result("text", name, name)
    assert path.count("/") == 2
    assert made.filesystem.read_file(path) == "text"
    assert {file.name for file in tmp_path.iterdir()} == {"files"}


def test_a_backend_of_a_folder_refuses_other_paths(tmp_path):
    backend = FolderBackend(tmp_path / "files")
    (tmp_path / "secret").write_text("key")
    for path in ("../secret", "/../secret", "/a/../../secret"):
        with pytest.raises(ullage.StoreError, match="leads out"):
            backend.read_file(path)
        with pytest.raises(ullage.StoreError):
            backend.write_file(path, "x")
    backend.write_file("/a", "x\r\ny\ud800")
    (tmp_path / "files" / "link").symlink_to(tmp_path)
    with pytest.raises(ullage.StoreError):
        backend.read_file("/link/secret")
    assert backend.read_file("/a") == "x\r\ny\ud800"
    assert (tmp_path / "secret").read_text() == "key"


def test_without_a_backend_there_is_a_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    made = ContextManagementMiddleware()
    assert list(tmp_path.iterdir()) == []
    made.process_tool_result("<|endoftext|> " * 20_000, "query", "1")
    assert len(list((tmp_path / ".valis" / "tool_outputs").iterdir())) == 1


@pytest.mark.parametrize("parallel", [1, 2, 3])
def test_calls_keep_their_results_at_every_length(parallel, tmp_path):
    messages = conversation(14, parallel=parallel)
    for length in range(3, len(messages) + 1):
        if parted(messages[:length]) or messages[length - 1]["role"] == "assistant":
            continue
        made = middleware(tmp_path, 1_800)
        left = run(made.manage_context(messages[:length], "small"))
        assert parted(left) == []
        assert left[-1] == messages[length - 1]


def test_the_newest_message_stays_also_if_it_is_long(tmp_path):
    made, messages = middleware(tmp_path, 5_000), conversation(20)
    messages.append({"role": "user", "content": "word " * 2_000})
    left = run(made.summarize_conversation(messages, "small"))
    assert left[-1] is messages[-1]


def test_a_short_conversation_has_its_system_message_once(tmp_path):
    made = middleware(tmp_path, 360)
    messages = [
        {"role": "system", "content": "Be brief"},
        {"role": "user", "content": "Go"},
        {"role": "assistant", "content": "word " * 330},
        {"role": "user", "content": "Go on"},
    ]
    left = run(made.summarize_conversation(messages, "small"))
    assert [m["content"] for m in left].count("Be brief") == 1


def test_the_next_summary_has_the_whole_of_the_last(tmp_path):
    agent = Agent("\n".join(f"- fact {n} is {n * 7919}" for n in range(120)))
    made = middleware(tmp_path, 20_000)
    first = run(made.summarize_conversation(conversation(80), "small", agent))
    again = run(made.summarize_conversation([*first, *conversation(80)[2:]], "small", agent))
    previous = agent.prompts[1].split("</previous_summary>")[0]
    assert all(f"fact {n} is {n * 7919}" in previous for n in range(120))
    assert sum("[CONVERSATION SUMMARY]" in str(m) for m in again) == 1


def test_room_for_the_answer_is_left(tmp_path):
    made = middleware(tmp_path, 40_000)
    messages = conversation(45)
    tokens = made.count_message_tokens(messages)
    made.config.model_context_limits["small"] = int(tokens / 0.93)
    assert tokens > made.config.model_context_limits["small"] - 4_096
    left = run(made.summarize_conversation(messages, "small"))
    assert left is not messages


def test_a_summary_is_the_same_in_every_run(tmp_path):
    made = [middleware(tmp_path / str(n), 5_000) for n in range(2)]
    one, two = (run(m.summarize_conversation(conversation(20), "small")) for m in made)
    assert one == two


# What else holds.


def test_a_result_too_long_for_the_window_is_shortened_and_kept(tmp_path):
    made, messages = middleware(tmp_path, 5_000), conversation(20)
    messages[-2]["content"][0]["result"] = "data " * 20_000
    messages.pop()
    left = run(made.summarize_conversation(messages, "small"))
    assert made.count_message_tokens(left) <= 5_000
    assert parted(left) == []
    assert any(
        made.filesystem.read_file(f) == "data " * 20_000
        for f in made.filesystem.ls("/tool_outputs")
    )


def test_what_cannot_fit_is_refused(tmp_path):
    made = middleware(tmp_path, 5_000)
    with pytest.raises(ullage.BudgetError):
        run(
            made.manage_context(
                [*conversation(9), {"role": "user", "content": "x " * 20_000}], "small"
            )
        )


def test_a_long_first_request_becomes_a_file(tmp_path):
    made, messages = middleware(tmp_path, 5_000), conversation(20)
    messages[1]["content"] = "\n".join(f"demand {n}" for n in range(2_000))
    left = run(made.summarize_conversation(messages, "small"))
    assert left[2]["role"] == "user"
    assert left[2]["content"].startswith("[Large output saved to /tool_outputs/first_request_")
    assert made.filesystem.grep("demand 1999", "/tool_outputs")


@pytest.mark.parametrize("form", ["openai", "anthropic", "metadata"])
def test_other_forms_of_calls_are_compacted_too(form, tmp_path):
    text, diff = "line of code\n" * 400, "+ line of a diff\n" * 100
    if form == "openai":
        written = call("1", "edit_file", path="a.py", new_text=text)
        messages = [
            {"role": "assistant", "content": None, "tool_calls": [written]},
            result("1", diff),
        ]
    elif form == "anthropic":
        use = {
            "type": "tool_use",
            "id": "1",
            "name": "edit_file",
            "input": {"path": "a.py", "new_text": text},
        }
        answered = {"type": "tool_result", "tool_use_id": "1", "content": diff}
        messages = [
            {"role": "assistant", "content": [use]},
            {"role": "user", "content": [answered]},
        ]
    else:
        args = {"path": "a.py", "new_text": text}
        part = {"type": "tool-call", "toolCallId": "1", "toolName": "edit_file", "args": args}
        messages = [
            {"role": "assistant", "content": [part]},
            {"role": "tool", "content": diff, "metadata": {"tool_name": "edit_file"}},
        ]
    made = middleware(tmp_path, 1_000)
    compacted = made.compact_messages([{"role": "user", "content": "Go"}, *messages], "small")
    assert "[See a.py for content]" in json.dumps(compacted)
    assert "[File operation completed successfully." in json.dumps(compacted)
    stored = [made.filesystem.read_file(path) for path in made.filesystem.ls("/tool_inputs")]
    assert sorted(stored) == sorted([text, diff])


def test_what_failed_is_not_said_to_be_written(tmp_path):
    messages = conversation(10)
    messages[3]["content"][1]["result"] = "Error: disk full " * 60
    compacted = middleware(tmp_path, 5_000).compact_messages(messages, "small")
    assert compacted[2] is messages[2]
    assert compacted[3] is messages[3]
    assert compacted[6] is messages[6], "a short outcome stays"


def test_histories_of_openais_form_are_summarized(tmp_path):
    made = middleware(tmp_path, 5_000)
    left = run(made.manage_context(history(20), "small"))
    assert broken_pairs(left) == []
    assert made.count_message_tokens(left) <= 5_000


@pytest.mark.parametrize(
    "answer",
    [{"content": "said"}, {"text": "said"}, SimpleNamespace(content="said"), "said"],
    ids=range(4),
)
def test_agents_may_answer_in_their_way(answer, tmp_path):
    class Plain:
        def run(self, given, *, stateless):
            return answer

    for agent in (Plain(), Agent(answer)):
        left = run(
            middleware(tmp_path, 5_000).summarize_conversation(conversation(20), "small", agent)
        )
        assert "\nsaid\n" in left[1]["content"]


class Away:
    async def run(self, given, *, stateless):
        raise OSError("the model is away")


@pytest.mark.parametrize("agent", [Away(), Agent(None), Agent({})], ids=["raises", "none", "empty"])
def test_an_agent_that_fails_is_done_without(agent, tmp_path):
    left = run(middleware(tmp_path, 5_000).summarize_conversation(conversation(20), "small", agent))
    assert "## Session Intent" in left[1]["content"]


class Memory:
    """A backend that only writes, and has to be awaited."""

    def __init__(self, error=None):
        self.files: dict[str, str] = {}
        self.error = error

    async def write_file(self, path, content):
        await asyncio.sleep(0)
        if self.error:
            raise self.error
        self.files[path] = content


def test_any_backend_that_writes_files_will_do():
    backend = Memory()
    assert isinstance(backend, FilesystemBackend)
    made = ContextManagementMiddleware(
        ContextConfig(model_context_limits={"small": 5_000}), backend
    )
    made.process_tool_result("word " * 30_000, "query", "1")
    run(made.manage_context(conversation(20), "small"))
    assert {path.split("/")[1] for path in backend.files} == {
        "tool_outputs",
        "tool_inputs",
        "conversation_history",
    }


def test_a_backend_that_cannot_write_loses_nothing():
    backend = Memory(OSError(28, "No space left"))
    made = ContextManagementMiddleware(
        ContextConfig(model_context_limits={"small": 5_000}), backend
    )
    messages = conversation(20)
    before = copy.deepcopy(messages)
    with pytest.raises(ullage.StoreError, match="No space left"):
        made.process_tool_result("word " * 30_000, "query", "1")
    with pytest.raises(ullage.StoreError):
        run(made.manage_context(messages, "small"))
    assert messages == before
    assert made.compaction_history == []


@pytest.mark.parametrize(
    "bad",
    [
        {"role": "user", "content": None},
        {"role": "user", "content": ["a string", {"type": "text", "text": "b"}]},
        {"role": "assistant", "content": None, "metadata": None},
        {"role": "user", "content": "<|endoftext|>"},
        {"role": "tool", "content": "x", "metadata": None, "toolCallId": "nobody's"},
        {
            "role": "assistant",
            "content": [
                {
                    "type": "tool-call",
                    "toolCallId": "z",
                    "toolName": "write_file",
                    "args": {"path": 3, "content": 5},
                }
            ],
        },
    ],
    ids=["none", "strings", "assistant", "special", "orphan", "arguments"],
)
def test_odd_messages_are_taken(bad, tmp_path):
    messages = conversation(20)
    messages.insert(10, bad) if bad["role"] != "tool" else messages.insert(11, bad)
    made = middleware(tmp_path, 5_000)
    assert made.count_message_tokens(messages) > 5_000
    left = run(made.manage_context(messages, "small"))
    assert made.count_message_tokens(left) <= 5_000
    json.loads(made.filesystem.read_file(made.filesystem.ls("/conversation_history")[0]))


@pytest.mark.parametrize("result_", [None, {"rows": [1, 2]}, 3, ["a"]])
def test_a_result_that_is_no_text_becomes_one(result_, tmp_path):
    assert middleware(tmp_path).process_tool_result(result_, "query", "1") == json.dumps(result_)


@pytest.mark.parametrize(
    "config",
    [
        {"compaction_threshold": 0},
        {"summarization_threshold": 1.2},
        {"large_result_tokens": 0},
        {"preview_lines": 0},
        {"response_reserve": -1},
    ],
    ids=str,
)
def test_settings_out_of_range_are_refused(config):
    with pytest.raises(ullage.PolicyError, match=next(iter(config))):
        ContextConfig(**config)


def test_the_defaults_are_the_documents():
    config = ContextConfig()
    assert (config.large_result_tokens, config.preview_lines) == (20_000, 10)
    assert (config.compaction_threshold, config.summarization_threshold) == (0.85, 0.95)
    made = ContextManagementMiddleware(config)
    assert made.get_context_limit("gemini-1.5-pro") == 1_000_000
    assert made.get_context_limit("gpt-4-turbo") == made.get_context_limit("nobody") == 128_000
    assert made.get_compaction_stats() == {
        "total_tokens_saved": 0,
        "compaction_events": 0,
        "by_strategy": {},
    }
    assert run(made.manage_context([], "gpt-4o")) == []


def test_threads_may_share_a_middleware(tmp_path):
    made = middleware(tmp_path, 5_000)
    failed = []

    def work(number):
        try:
            for n in range(4):
                made.process_tool_result(f"{number} {n} " * 20_000, "query", "toolu_01")
                assert parted(run(made.manage_context(conversation(20 + number), "small"))) == []
        except Exception as error:  # noqa: BLE001
            failed.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []
    assert len(made.filesystem.ls("/tool_outputs")) == 16
