"""When a summary is made, what is left of the window, and what stays the same from turn to turn."""

import json
from typing import Any

import pytest

import ullage
from ullage.valis import ContextConfig

from .lengths import first
from .valis_sessions import Agent, conversation, middleware, parted, run

WINDOWS = [4_096, 8_192, 16_000, 32_768, 40_000, 64_000, 82_000, 128_000, 200_000, 1_000_000]


@pytest.mark.parametrize("limit", WINDOWS)
def test_the_threshold_is_the_documents_in_every_window(limit):
    assert ContextConfig().compacts_at(limit) == int(limit * 0.85)
    assert ContextConfig().summarizes_at(limit) == int(limit * 0.95)


@pytest.mark.parametrize("limit", WINDOWS)
def test_a_reserve_that_is_asked_for_is_kept_free(limit):
    reserve = min(20_000, limit // 2)
    config = ContextConfig(response_reserve=20_000)
    assert config.summarizes_at(limit) == min(int(limit * 0.95), limit - reserve)


def talk(*sizes):
    """A system message, and turns of so many tokens."""
    roles = ["user", "assistant"] * len(sizes)
    turns = zip(roles, sizes, strict=False)
    system = {"role": "system", "content": "You are an agent"}
    return [system, *({"role": role, "content": "word " * size} for role, size in turns)]


@pytest.mark.parametrize(
    "messages",
    [
        pytest.param(talk(10, 10, 4_850), id="the newest takes it all"),
        pytest.param(
            [{"role": "system", "content": "rule " * 4_800}, *talk(9, 9)[1:]], id="system"
        ),
        pytest.param(talk(4_850), id="one message"),
    ],
)
def test_a_conversation_within_the_window_is_left_alone_where_a_summary_would_not_help(
    messages, tmp_path
):
    made, agent = middleware(tmp_path, 5_000), Agent()
    assert 4_750 < made.count_message_tokens(messages) <= 5_000
    for _ in range(3):
        assert run(made.manage_context(messages, "small", agent)) is messages
        assert run(made.summarize_conversation(messages, "small", agent)) is messages
    assert agent.prompts == []
    assert made.get_compaction_stats()["compaction_events"] == 0
    assert not (tmp_path / "files").exists()


@pytest.mark.parametrize("limit", first(2, [700, 1_500, 4_000, 9_000]))
@pytest.mark.parametrize("words", [3, 400, 40_000], ids="an answer of {} words".format)
def test_what_is_given_back_is_smaller_and_not_compacted_again(words, limit, tmp_path):
    made, agent = middleware(tmp_path, limit), Agent("word " * words)
    full = [message for n in range(limit // 20) for message in talk(20 + n % 60, 30)[1:]]
    state: list[Any] = full[:1]
    for message in full:
        state = [*state, message]
        before = made.count_message_tokens(state)
        left = run(made.manage_context(state, "small", agent))
        if left is not state:
            assert made.count_message_tokens(left) < before
            assert made.count_message_tokens(left) <= limit * 0.95
            events = len(made.compaction_history)
            assert run(made.manage_context(left, "small", agent)) is left
            assert len(made.compaction_history) == events
        state = left
    assert made.compaction_history


def test_what_cannot_fit_is_refused_before_anybody_is_asked(tmp_path):
    made, agent = middleware(tmp_path, 5_000), Agent()
    messages = [*talk(100, 100), {"role": "user", "content": "word " * 5_100}]
    with pytest.raises(ullage.BudgetError, match="model_context_limits") as raised:
        run(made.manage_context(messages, "small", agent))
    assert agent.prompts == []
    assert raised.value.budget == 5_000
    assert raised.value.floor > 5_100
    assert raised.value.messages[0] == 3


# Hosts that hand over the full history.


def test_a_full_history_that_grows_costs_as_many_summaries_as_one_that_was_taken_over(tmp_path):
    full = conversation(40, lines=20)
    asked, prompts = [], []
    for takes_over in (True, False):
        made, agent = middleware(tmp_path / str(takes_over), 6_000), Agent()
        state: list[Any] = []
        for count, message in enumerate(full, 1):
            state = [*state, message] if takes_over else full[:count]
            if not parted(state):
                left = run(made.manage_context(state, "small", agent))
                prompts.append(left)
                state = left
        asked.append(len(agent.prompts))
        files = made.filesystem.ls()
        assert len(files) == len(set(files))
    assert asked[0] == asked[1]
    half = len(prompts) // 2
    assert prompts[:half] == prompts[half:]


def test_the_beginning_of_a_prompt_changes_only_where_something_is_compacted(tmp_path):
    made, full = middleware(tmp_path, 6_000), conversation(60, lines=20)
    before: list[Any] = []
    for count in range(2, len(full) + 1):
        if parted(full[:count]):
            continue
        events = len(made.compaction_history)
        left = run(made.manage_context(json.loads(json.dumps(full[:count])), "small"))
        if len(made.compaction_history) == events:
            assert left[: len(before)] == before
        before = left
    assert len(made.compaction_history) > 3


def test_a_system_prompt_of_today_stands_in_front_of_what_is_remembered(tmp_path):
    made, full = middleware(tmp_path, 5_000), conversation(20)
    first = run(made.manage_context(full, "small"))
    day = {"role": "system", "content": "You are an agent; it is Tuesday"}
    again = run(made.manage_context([day, *full[1:]], "small"))
    assert again == [day, *first[1:]]
    assert made.get_compaction_stats()["compaction_events"] == 2


def test_what_is_remembered_of_one_window_is_not_used_in_another(tmp_path):
    made, full = middleware(tmp_path, 5_000), conversation(20)
    run(made.manage_context(full, "small"))
    assert run(made.manage_context(full, "gpt-4o")) is full


def test_the_same_result_has_the_same_preview_and_file_in_every_process(tmp_path):
    texts = [f"{n} " * 30_000 for n in range(2)]
    shown = [
        middleware(tmp_path).process_tool_result(text, "query", "call-1")
        for text in (*texts, *texts)
    ]
    assert shown[:2] == shown[2:]
    assert len(middleware(tmp_path).filesystem.ls()) == 2


def test_what_is_read_back_is_not_offloaded_again(tmp_path):
    made, text = middleware(tmp_path), "row\n" * 30_000
    short = made.process_tool_result(text, "read_file", "1")
    assert made.process_tool_result(text, "read_file", "2") == text
    assert made.process_tool_result(text, "read_file", "1") == short, "a turn that is shown again"
    assert made.process_tool_result(text, "query", "3") != text


# Results that are shortened because even the newest are too long.


def answered(form, text):
    """A call and its result of this text."""
    ids = {"toolCallId": "1", "toolName": "query"}
    if form == "openai":
        function = {"name": "query", "arguments": "{}"}
        call = {"id": "1", "type": "function", "function": function}
        return [
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "1", "content": text},
        ]
    if form == "anthropic":
        call = {"type": "tool_use", "id": "1", "name": "query", "input": {}}
        content = [{"type": "text", "text": text}]
        result = {"type": "tool_result", "tool_use_id": "1", "content": content}
        return [{"role": "assistant", "content": [call]}, {"role": "user", "content": [result]}]
    told = {
        "result": {"result": text},
        "rows": {"result": {"rows": text.split("\n")}},
        "output": {"output": {"type": "text", "value": text}},
    }[form]
    return [
        {"role": "assistant", "content": [{"type": "tool-call", **ids, "args": {}}]},
        {"role": "tool", "content": [{"type": "tool-result", **ids, **told}]},
    ]


@pytest.mark.parametrize("form", ["result", "rows", "output", "openai", "anthropic"])
def test_the_mark_of_a_shortened_result_names_a_file_that_can_be_read(form, tmp_path):
    made = middleware(tmp_path, 2_000)
    text = "\n".join(f"row {n}" for n in range(3_000))
    messages = [{"role": "user", "content": "Go"}, *answered(form, text)]
    left = run(made.manage_context(messages, "small"))
    assert made.count_message_tokens(left) <= 1_900
    said = json.dumps(left[-1])
    assert "[Large output saved to /tool_outputs/" in said
    path = said.split('read_file(\\"')[1].split('\\"')[0]
    whole = made.filesystem.read_file(path)
    assert whole == text or json.loads(whole) == {"rows": text.split("\n")}
    assert [m["role"] for m in left[-2:]] == [m["role"] for m in messages[-2:]]


def test_a_summary_that_did_not_help_is_not_asked_for_again(tmp_path):
    made, agent = middleware(tmp_path, 5_000), Agent()
    pinned = {"metadata": {"custom": {"pinned": True}}}
    messages = talk(20, 40, 40, 1_000)
    messages[2:3] = [{"role": "assistant", "content": "fact " * 3_700, **pinned}]
    assert 4_750 < made.count_message_tokens(messages) <= 5_000
    for word in ("so", "and", "then"):
        assert run(made.manage_context(messages, "small", agent)) is messages
        messages = [*messages, {"role": "assistant", "content": word}]
    assert len(agent.prompts) == 1
    assert made.get_compaction_stats()["compaction_events"] == 0


def test_system_messages_that_come_with_each_turn_do_not_fill_the_window(tmp_path):
    made = middleware(tmp_path, 4_000)
    state: list[Any] = [{"role": "system", "content": "You are an agent"}]
    for n in range(200):
        state += [
            {"role": "user", "content": f"turn {n} " * 20},
            {"role": "assistant", "content": "done " * 40},
            {"role": "system", "content": "Be brief"},
            {"role": "system", "content": f"It is minute {n}"},
        ]
        state = run(made.manage_context(state, "small"))
        assert made.count_message_tokens(state) <= 3_800
    said = [message["content"] for message in state if message["role"] == "system"]
    assert said[0] == "You are an agent"
    assert said[-2:] == ["Be brief", "It is minute 199"]
    assert len(said) < 60
