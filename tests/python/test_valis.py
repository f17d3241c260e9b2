"""Valis' face: the tests that its document names, and the faults that it had."""

import copy
import json

import pytest

from ullage.valis import CompactionResult

from .valis_sessions import Agent, conversation, middleware, parted, run

SECTIONS = (
    "Session Intent",
    "Progress So Far",
    "Key Decisions",
    "Current State",
    "Next Steps",
    "Important Details",
)


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
    made = middleware(tmp_path, 40_000, response_reserve=4_096)
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
