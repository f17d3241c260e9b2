"""Supyagent's face: what a request holds, when a summary is due, and what it says."""

import contextlib
import copy
import itertools
import random
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import ullage
from ullage.supyagent import (
    CONTEXT_LIMITS,
    MODEL_ENCODINGS,
    ContextManager,
    count_message_tokens,
    count_messages_tokens,
    count_tokens,
    count_tools_tokens,
    get_context_limit,
    get_encoding,
)

from .broken_histories import broken_histories
from .call_counter import CallCounter
from .histories import (
    PICTURE,
    Client,
    broken_pairs,
    call,
    history,
    random_history,
    result,
)
from .lengths import first

TOOLS = [{"type": "function", "function": {"name": f"tool{n}", "parameters": {}}} for n in range(9)]


def manager(limit=None, model="gpt-4o", **more):
    made = ContextManager(model, **more)
    if limit is not None:
        made.context_limit = limit
    return made


def room(made, tools=None):
    reserve = min(made.response_reserve, made.context_limit // 2)
    return made.context_limit - reserve - count_tools_tokens(tools, made.model)


# Requests.


def test_a_short_history_goes_whole_behind_the_system_prompt():
    messages = history(2)
    built = manager().build_messages_for_llm("You are helpful", messages, TOOLS)
    assert built[0] == {"role": "system", "content": "You are helpful"}
    assert all(now is then for now, then in zip(built[1:], messages, strict=True))


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("limit", [6_000, 12_000, 40_000])
def test_a_request_is_within_its_limit_and_valid_or_refused(seed, limit):
    made = manager(limit)
    messages = random_history(seed, 60)
    before, tools = copy.deepcopy(messages), TOOLS * 3
    try:
        built = made.build_messages_for_llm("Be brief", messages, tools)
    except ullage.BudgetError:
        # The first and the last request, and the newest results.
        assert limit < 20_000
    else:
        assert count_messages_tokens(built, "gpt-4o") <= room(made, tools)
        assert broken_pairs(built) == []
        assert ullage.validate(built, "openai") == []
        assert built[-1] == messages[-1]
    assert messages == before


@pytest.mark.parametrize("seed", first(4, range(8)))
def test_a_session_that_grows_stays_valid_and_within_its_limit(seed):
    full = random_history(seed, 90)
    made = manager(8_192, llm=Client(), min_recent_messages=seed % 4, max_messages_before_summary=9)
    built_any = False
    for length in range(1, len(full) + 1):
        messages = full[:length]  # now and then a call is still to be answered
        if made.should_summarize(messages):
            made.generate_summary(messages)
        try:
            built = made.build_messages_for_llm("s", messages)
        except ullage.BudgetError:
            continue
        built_any = True
        assert count_messages_tokens(built, "gpt-4o") <= room(made)
        assert ullage.validate(built, "openai") == []
        if messages[-1]["role"] == "user":
            assert built[-1] == messages[-1]
    assert built_any


def test_the_recent_messages_stay_as_they_are_and_more_room_keeps_more():
    made, messages = manager(20_000), history(80)
    built = made.build_messages_for_llm("s", messages)
    assert all(now is then for now, then in zip(built[-6:], messages[-6:], strict=True))
    assert "First task" in str(built[1:4])
    made.context_limit = 32_000
    large = made.build_messages_for_llm("s", messages)
    assert len(built) < len(large) < len(messages)
    assert count_messages_tokens(large, "gpt-4o") > 0.7 * room(made)


def test_the_beginning_of_a_request_stays_over_many_turns():
    # A provider caches it: cutting a little on every turn costs more than not cutting at all.
    made, messages = manager(20_000), history(200)
    same = 0
    before: list[dict[str, Any]] = []
    for length in range(600, len(messages) + 1):
        if broken_pairs(messages[:length]):
            continue
        built = made.build_messages_for_llm("s", messages[:length])
        same += built[: len(before)] == before
        before = built
    turns = sum(not broken_pairs(messages[:n]) for n in range(600, len(messages) + 1))
    assert same > 0.9 * turns


def test_a_history_that_is_another_one_is_cut_anew():
    made = manager(14_000)
    made.build_messages_for_llm("s", history(80))
    other = [{"role": "user", "content": "Something else"}, *history(1)[1:]]
    assert made.build_messages_for_llm("s", other)[1:] == other


@pytest.mark.parametrize("role", ["system", "developer"])
def test_system_messages_in_the_middle_make_way_like_all_others(role):
    messages = [{"role": role, "content": "You audit."}, *history(2)]
    for number in range(300):
        messages.append({"role": role, "content": f"reminder {number} " * 20})
        messages.append({"role": "user", "content": f"request {number}"})
    made = manager(8_192)
    built = made.build_messages_for_llm("s", messages)
    assert built[1] is messages[0]
    system = [message for message in built[1:] if message["role"] == role]
    assert all(any(message is known for known in messages) for message in system)
    assert "reminder" not in str([message for message in built if message["role"] != role])
    assert built[-6:] == messages[-6:]
    assert count_messages_tokens(built, "gpt-4o") <= room(made)


def test_a_result_that_comes_late_takes_the_place_of_the_word_that_there_is_none():
    made = manager()
    asked = [
        {"role": "user", "content": "Go"},
        {"role": "assistant", "content": None, "tool_calls": [call("a"), call("b")]},
        result("a", "one"),
    ]
    assert "never answered" in made.build_messages_for_llm("s", asked)[-1]["content"]
    answered = [*asked, result("b", "two")]
    assert made.build_messages_for_llm("s", answered)[1:] == answered


@pytest.mark.parametrize("place", [0, 5, -1])
def test_a_message_that_was_changed_in_place_is_sent_as_it_is_now(place):
    made, messages = manager(14_000), history(40)
    messages.append({"role": "assistant", "content": None, "tool_calls": [call("big")]})
    messages.append(result("big", "data " * 40_000))
    made.build_messages_for_llm("s", messages)
    messages[place]["content"] = "it was changed"
    built = made.build_messages_for_llm("s", messages)
    assert ("it was changed" in str(built)) == (place != 5), "the sixth message is long gone"


def test_a_recent_message_that_is_changed_leaves_the_beginning_of_a_request_as_it_is():
    made, messages = manager(14_000), history(80)
    before = made.build_messages_for_llm("s", messages)
    messages[-1]["content"] = "Go on."  # as hosts move their marks for the provider's cache
    after = made.build_messages_for_llm("s", messages)
    assert len(before) < len(messages)
    assert after == before


def test_what_a_cut_took_away_is_there_again_where_what_came_behind_it_was_taken_back():
    made, messages = manager(8_192), history(40)
    for length in range(3, len(messages)):
        made.build_messages_for_llm("s", messages)
        built = made.build_messages_for_llm("s", messages[:length])
        last = [message for message in messages[:length] if message["role"] == "user"][-1]
        assert last["content"] in str(built)
        assert built[-1] == messages[length - 1] or broken_pairs(messages[:length])


def test_the_word_about_what_was_removed_stays_where_it_is():
    made, messages = manager(14_000, llm=Client()), history(80)
    made.generate_summary(messages, 20)
    built = made.build_messages_for_llm("s", messages)
    assert "[ullage: " in str(built[2])
    messages.append({"role": "assistant", "content": "Well."})
    assert made.build_messages_for_llm("s", messages)[:-1] == built


def test_a_pinned_message_keeps_every_word_in_an_emergency():
    pinned = {"role": "user", "content": "word " * 2_500, "metadata": {"custom": {"pinned": True}}}
    long = [{"role": "user", "content": f"text{n} " * 2_000} for n in range(8)]
    built = manager(9_192).build_messages_for_llm(
        "s", [*long[:2], pinned, *long[2:], {"role": "user", "content": "Go"}]
    )
    assert pinned in built


# When even the newest messages are too long.


def test_a_giant_result_among_the_recent_messages_is_cut():
    messages = [*history(3), {"role": "assistant", "content": None, "tool_calls": [call("big")]}]
    messages.append(result("big", "data " * 40_000))
    made = manager(8_192)
    built = made.build_messages_for_llm("s", messages)
    assert count_messages_tokens(built, "gpt-4o") <= room(made)
    cut = built[-1]["content"]
    assert cut == f"{messages[-1]['content'][:1000]}\n...[truncated]...\n{cut[-500:]}"
    assert messages[-1]["content"] == "data " * 40_000


def test_pictures_in_the_middle_go_before_anything_is_cut():
    middle = [{"role": "user", "content": [{"type": "text", "text": "see"}, PICTURE]}] * 4
    recent = [{"role": "user", "content": f"word{n} " * 500} for n in range(6)]
    messages = [{"role": "user", "content": "Task"}, *middle, *recent]
    made = manager(sum(count_message_tokens(m, "gpt-4o") for m in recent) + 4_096 + 120)
    built = made.build_messages_for_llm("s", messages)
    assert built[-6:] == recent
    assert "image_url" not in str(built)


def test_the_middle_is_cut_before_the_recent_messages_are():
    task = {"role": "user", "content": "task " * 2_000}
    recent = [{"role": "user", "content": f"word{n} " * 500} for n in range(6)]
    made = manager(sum(count_message_tokens(m, "gpt-4o") for m in recent) + 4_096 + 600)
    built = made.build_messages_for_llm("s", [task, *recent])
    assert built[-6:] == recent
    assert "...[truncated]..." in str(built[1]["content"])


def test_a_last_request_that_does_not_fit_is_refused_with_its_place():
    made, messages = manager(8_192, llm=Client()), history(12)
    made.generate_summary(messages)
    messages.append({"role": "user", "content": "x " * 30_000})
    with pytest.raises(ullage.BudgetError) as caught:
        made.build_messages_for_llm("s", messages)
    assert caught.value.floor > caught.value.budget
    assert caught.value.messages[0] == len(messages) - 1


@pytest.mark.parametrize("prompt", ["word " * 20_000, "word " * 8_100])
def test_a_system_prompt_that_leaves_no_room_is_refused(prompt):
    with pytest.raises(ullage.BudgetError):
        manager(8_192).build_messages_for_llm(prompt, history(3))


def test_a_reserve_of_the_whole_window_leaves_half_of_it():
    messages = [{"role": "user", "content": f"Message {n}"} for n in range(10)]
    made = ContextManager("gpt-4", min_recent_messages=3, response_reserve=100_000)
    assert made.build_messages_for_llm("System", messages)[1:] == messages


# Bad input, threads, speed.


def test_texts_of_special_tokens_are_text():
    messages = [{"role": "user", "content": "<|endoftext|> <|im_start|>"}] * 40
    made = manager(llm=Client(), max_tokens_before_summary=10)
    assert made.should_summarize(messages)
    made.generate_summary(messages)
    assert made.build_messages_for_llm("<|endoftext|>", messages)


@pytest.mark.parametrize("role", ["user", "assistant", "system", "tool"])
def test_content_of_none_is_taken(role):
    messages = [*history(10), {"role": role, "content": None}, {"role": "user", "content": "Go"}]
    if role == "tool":
        messages[-2:-2] = [{"role": "assistant", "content": None, "tool_calls": [call("x")]}]
        messages[-2]["tool_call_id"] = "x"
    client = Client()
    made = manager(llm=client, min_recent_messages=1)
    made.generate_summary(messages)
    assert "None" not in client.prompts[0]
    assert made.build_messages_for_llm("s", messages)


@pytest.mark.parametrize("bad", [3, {"content": "x"}, {"role": "morse", "content": "x"}], ids=str)
def test_what_is_no_message_is_a_clear_error(bad):
    with pytest.raises(ullage.MessageError):
        manager().build_messages_for_llm("s", [{"role": "user", "content": "a"}, bad])


@pytest.mark.parametrize("value", [-1, None, "30", 1.5])
def test_a_setting_that_is_no_number_is_refused(value):
    with pytest.raises(ullage.PolicyError, match="min_recent_messages"):
        ContextManager("gpt-4o", min_recent_messages=value)


def test_threads_may_share_a_manager():
    made = manager(14_000, llm=Client())

    def work(turns):
        for _ in range(6):
            built = made.build_messages_for_llm("s", history(turns))
            assert broken_pairs(built) == []
            made.generate_summary(history(turns))

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(work, (20, 30, 40, 50)))


def test_a_turn_costs_one_pass_over_the_messages():
    made, messages = manager(), history(1_000)
    made.should_summarize(messages)
    made.build_messages_for_llm("s", messages)
    messages.append({"role": "assistant", "content": "Well."})
    with CallCounter() as turn:
        made.should_summarize(messages)
        made.build_messages_for_llm("s", messages)
    assert turn.calls < 15 * len(messages)


# Counting.


def test_counts_are_those_of_the_models_own_encoding():
    text = "Это короткий текст, и не более того."
    assert count_tokens(text, "gpt-4o") == ullage.count_tokens(text)
    assert count_tokens(text, "gpt-4") == ullage.count_tokens(text, "cl100k_base")
    assert count_tokens("Hello, world!") == 4
    assert count_tokens("") == 0
    assert get_encoding("gpt-4o").name == "o200k_base"
    assert {get_encoding(m).name for m in ("gpt-4", "claude-3-5-sonnet", "x")} == {"cl100k_base"}
    assert set(MODEL_ENCODINGS.values()) == {"o200k_base", "cl100k_base"}


def test_messages_and_tools_are_counted():
    assert count_messages_tokens([]) == 3
    assert count_tools_tokens([]) == count_tools_tokens(None) == 0
    assert count_tools_tokens(TOOLS * 2) > count_tools_tokens(TOOLS) > 0
    odd = {"role": "assistant", "content": "Let me help", "tool_calls": [{"id": "1"}]}
    assert count_message_tokens(odd) > 10
    assert count_message_tokens({"role": "morse", "content": object()}) > 4
    assert count_messages_tokens([odd, {"role": "user", "content": None}]) > 10


def test_windows_are_those_of_the_models():
    assert get_context_limit("gpt-4o") == CONTEXT_LIMITS["gpt-4o"] == 128_000
    assert get_context_limit("anthropic/claude-sonnet-4-5-20250929") == 200_000
    assert get_context_limit("gemini-2-flash") >= 1_000_000
    assert get_context_limit("gemini-pro") == 32_768
    assert get_context_limit("unknown-model-xyz") == 128_000


@pytest.mark.parametrize("text", ["word " * 30_000, "z" * 200_000, "日本" * 20_000])
def test_the_last_request_is_sent_if_it_fits_whatever_was_read_before_it(text):
    calls = {"role": "assistant", "content": None, "tool_calls": [call("c")]}
    messages = [{"role": "user", "content": "Audit app.py"}, calls, result("c", text)]
    messages.append({"role": "user", "content": "long " * 900})
    made = manager(1_500, response_reserve=200)
    request = made.build_messages_for_llm("You are careful.", messages)
    assert request[-1] == messages[-1]
    assert broken_pairs(request) == []
    assert count_messages_tokens(request, "gpt-4o") <= 1_300


def test_a_request_leaves_the_reserve_also_where_tokens_are_estimated():
    rng = random.Random(25)
    words = ["the", "quick", "ação", "日本", "Привет", "error", "x=1;", "🙂", "foo_bar\n"]
    for length in range(1, 120):
        made = manager(2_000, model="deepseek-chat", response_reserve=0)
        texts = [" ".join(rng.choices(words, k=rng.choice((5, 30, 60)))) for _ in range(length)]
        roles = itertools.cycle(["user", "assistant", "system"])
        messages = [
            {"role": role, "content": text} for role, text in zip(roles, texts, strict=False)
        ]
        request = made.build_messages_for_llm("You are careful. 日本", messages)
        assert count_messages_tokens(request, "deepseek-chat") <= 2_000


def test_the_beginning_of_a_request_stays_where_the_only_request_bears_the_note():
    made, messages = manager(14_000), history(1)[:1]
    calls = [message for message in history(120)[1:] if message["role"] != "user"]
    requests, changes = 0, 0
    before: list[Any] = []
    for message in calls:
        messages.append(message)
        if broken_pairs(messages):
            continue
        requests += 1
        built = made.build_messages_for_llm("s", messages)
        changes += built[: len(before)] != before
        before = built
    assert "[ullage: " in str(before[1])
    assert 0 < changes < requests / 4


@given(broken_histories(), st.sampled_from([8_192, 20_000]), st.booleans())
def test_a_request_is_valid_however_a_history_was_broken(messages, limit, is_summarized):
    before = copy.deepcopy(messages)
    made = manager(limit, llm=Client(), min_recent_messages=4)
    if is_summarized:
        with contextlib.suppress(ValueError):  # nothing to summarize
            made.generate_summary(messages)
    request = made.build_messages_for_llm("You are careful.", messages)
    assert ullage.validate(request, "openai") == []
    assert count_messages_tokens(request, "gpt-4o") <= room(made)
    assert messages == before
