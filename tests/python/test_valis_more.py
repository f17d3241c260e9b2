"""Valis' face with other forms of messages, other agents and backends, bad input, and threads."""

import copy
import json
import tempfile
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

import ullage
from ullage.valis import ContextConfig, ContextManagementMiddleware

from .broken_histories import broken_histories
from .histories import call, history, result
from .valis_sessions import Agent, conversation, middleware, parted, run


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


@pytest.mark.parametrize(
    "answer",
    [{"content": "said"}, {"text": "said"}, SimpleNamespace(content="said"), "said"],
    ids=range(4),
)
def test_agents_may_answer_in_their_way(answer, tmp_path):
    class Plain:
        def run(self, given, *, stateless):
            assert threading.current_thread() is not threading.main_thread()
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
        {"compaction_threshold": "0.85"},
        {"preview_lines": 10.5},
    ],
    ids=str,
)
def test_settings_out_of_range_are_refused(config):
    with pytest.raises(ullage.PolicyError, match=next(iter(config))):
        ContextConfig(**config)


@pytest.mark.parametrize("limit", [0, -5, 5_000.5, "5000"])
def test_a_window_that_is_none_is_refused(limit, tmp_path):
    made = middleware(tmp_path, limit)
    with pytest.raises(ullage.PolicyError, match="model_context_limits"):
        run(made.manage_context(conversation(1), "small"))


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

    def work(number):
        for n in range(4):
            made.process_tool_result(f"{number} {n} " * 20_000, "query", "toolu_01")
            assert parted(run(made.manage_context(conversation(20 + number), "small"))) == []

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(work, range(4)))
    assert len(made.filesystem.ls("/tool_outputs")) == 16


def test_messages_of_several_formats_stay_while_nothing_is_due(tmp_path):
    messages = [*conversation(2), *history(2)]
    assert run(middleware(tmp_path).manage_context(messages, "small")) is messages


@given(broken_histories(), st.sampled_from([2_000, 4_000, 20_000]))
def test_a_request_is_valid_however_a_history_was_broken(messages, limit):
    # A request of the user's after it: no call can be answered any more.
    messages = [*messages, {"role": "user", "content": "Go on."}]
    before = copy.deepcopy(messages)
    with tempfile.TemporaryDirectory() as folder:
        made = middleware(Path(folder), limit)
        left = run(made.manage_context(messages, "small"))
        assert ullage.validate(left, "openai") == []
        assert made.count_message_tokens(left) <= limit
        again = run(made.manage_context(left, "small"))
    assert again is left
    assert messages == before
