"""Valis' face with other forms of messages, other agents and backends, bad input, and threads."""

import asyncio
import copy
import json
import threading
from types import SimpleNamespace
from typing import Any

import pytest

import ullage
from ullage.valis import (
    ContextConfig,
    ContextManagementMiddleware,
    FilesystemBackend,
    FolderBackend,
)
from ullage.valis.summarizing import message_of, said_in

from .histories import broken_pairs, call, history, random_history, result
from .valis_sessions import Agent, conversation, middleware, parted, run


@pytest.mark.parametrize("form", ["ai-sdk", "openai"])
@pytest.mark.parametrize("limit", [2_000, 4_000])
def test_a_session_that_grows_stays_valid_within_its_limit_and_whole_on_disk(form, limit, tmp_path):
    full = conversation(30, lines=30) if form == "ai-sdk" else random_history(3, 90)
    faults = parted if form == "ai-sdk" else broken_pairs
    made = middleware(tmp_path, limit)
    state: list[Any] = []
    for message in full:
        state = [*state, message]
        if faults(state):
            continue
        try:
            state = run(made.manage_context(state, "small"))
        except ullage.BudgetError:
            continue
        assert faults(state) == []
        assert made.count_message_tokens(state) <= limit
    saved = [f for f in made.filesystem.ls("/conversation_history") if f.endswith("json")]
    histories = [json.loads(made.filesystem.read_file(file)) for file in saved]
    assert len(histories) > 1
    assert all(history == full[: len(history)] for history in histories)


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


def test_a_search_of_the_folder_takes_no_longer_than_its_files(tmp_path):
    """Python's own expressions take half a minute for 28 letters, and twice as long for one more."""
    folder = FolderBackend(tmp_path)
    folder.write_file("/a.txt", f"{'a' * 5_000}!\r\nthe aim\n\u2028a\n")
    assert folder.grep("^(a+)+$") == []
    assert folder.grep("(a|a)+im$") == ["/a.txt:2:the aim"]
    assert folder.grep("a$") == ["/a.txt:3:\u2028a"]
    with pytest.raises(ullage.StoreError, match="look-around"):
        folder.grep("(?=a)")


@pytest.mark.parametrize("role", ["system", "user", "tool"])
def test_what_only_begins_like_a_summary_is_told_at_once(role):
    """An expression with two gaps looked at every pair of blank lines: 3 seconds for 20 KB."""
    for text in ("[CONVERSATION SUMMARY]\n" + "x\n\n" * 500_000, "\n" * 1_000_000):
        assert said_in({"role": role, "content": text}) is None


def test_a_summary_is_read_back_as_it_was_written():
    for summary in ("", "a", "a\n\nb", "\n", "[END SUMMARY]", "a\n\n[END SUMMARY]\n"):
        assert said_in(message_of(summary)) == summary
    for broken in ("[CONVERSATION SUMMARY]\n\n[END SUMMARY]", "[CONVERSATION SUMMARY]", "", "a"):
        assert said_in({"role": "system", "content": broken}) is None


def test_nothing_outside_of_the_folder_is_read_or_written(tmp_path):
    (tmp_path / "secret").write_text("the key", encoding="utf-8")
    folder = FolderBackend(tmp_path / "inside")
    folder.write_file("/a.txt", "a")
    (tmp_path / "inside" / "way-out").symlink_to(tmp_path)
    (tmp_path / "inside" / "way-to-it").symlink_to(tmp_path / "secret")
    assert folder.ls() == ["/a.txt"]
    assert folder.grep("key") == []
    for path in ("../secret", "/../secret", "way-to-it", "way-out/secret", "a\0b"):
        with pytest.raises(ullage.StoreError, match=r"leads out|holds a zero"):
            folder.read_file(path)
        with pytest.raises(ullage.StoreError, match=r"leads out|holds a zero"):
            folder.write_file(path, "x")
    assert (tmp_path / "secret").read_text(encoding="utf-8") == "the key"


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


@pytest.mark.parametrize("turns", [20, 40])
def test_a_conversation_in_anthropic_form_is_summarized(tmp_path, turns):
    messages = []
    for n in range(turns):
        call = {"type": "tool_use", "id": f"toolu_{n}", "name": "look", "input": {"at": n}}
        result = {"type": "tool_result", "tool_use_id": f"toolu_{n}", "content": "found " * 40}
        messages += [
            {"role": "user", "content": [{"type": "text", "text": f"Look at {n}."}]},
            {"role": "assistant", "content": [{"type": "text", "text": "I look."}, call]},
            {"role": "user", "content": [result]},
            {"role": "assistant", "content": [{"type": "text", "text": f"Seen {n}."}]},
        ]
    messages.append({"role": "user", "content": [{"type": "text", "text": "Go on."}]})
    left = run(middleware(tmp_path, 800).summarize_conversation(messages, "small"))
    assert len(left) < len(messages)
    assert "Go on." in json.dumps(left)
