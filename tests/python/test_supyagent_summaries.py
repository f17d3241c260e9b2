"""Supyagent's summaries: when one is due, what it stands for, and for which conversation."""

import asyncio
import itertools
from typing import Any

import pytest

import ullage
from ullage.supyagent import (
    ContextSummary,
    count_message_tokens,
    count_messages_tokens,
    count_tokens,
)
from ullage.supyagent.summary import save

from .histories import (
    AsyncClient,
    BrokenClient,
    Client,
    answer,
    broken_pairs,
    call,
    history,
    result,
)
from .test_supyagent import manager, room

# Triggers.


def test_a_summary_is_due_by_messages_or_by_tokens_and_never_of_the_recent_ones():
    messages = [{"role": "user", "content": "Message " * 30}] * 15
    assert not manager().should_summarize(messages)
    assert manager(max_messages_before_summary=15).should_summarize(messages)
    assert manager(max_tokens_before_summary=300).should_summarize(messages)
    assert not manager(max_tokens_before_summary=300).should_summarize(messages[:9])


def test_tokens_are_counted_since_the_last_summary():
    made = manager(llm=Client(), max_messages_before_summary=1_000, max_tokens_before_summary=8_000)
    messages = history(12)
    summaries = 0
    for turn in range(12, 24):
        messages = history(turn)
        if made.should_summarize(messages):
            made.generate_summary(messages)
            summaries += 1
    assert summaries == 2
    status = made.get_trigger_status(messages)
    assert status["total_tokens"] < 8_000
    assert status["messages_since_summary"] == len(messages) - made.summary.seen


@pytest.mark.parametrize(
    ("most", "tokens", "words"), [(8, 10**6, 1), (1_000, 4_000, 400)], ids=["messages", "tokens"]
)
def test_the_recent_messages_make_no_summary_due_again(most, tokens, words):
    # The six recent ones alone are nearly as many, or take more, than what makes one due.
    made = manager(llm=Client(), max_messages_before_summary=most, max_tokens_before_summary=tokens)
    messages, made_at = [{"role": "user", "content": "Task"}], []
    for turn in range(60):
        messages.append({"role": "assistant", "content": f"answer {turn} " * words})
        messages.append({"role": "user", "content": f"request {turn}"})
        if made.should_summarize(messages):
            before = made.summary
            made.generate_summary(messages)
            made_at.append(len(messages))
            assert made.summary is not before
            assert not made.should_summarize(messages)
    assert len(made_at) > 4
    assert all(b - a >= min(most, 6) for a, b in itertools.pairwise(made_at))


def test_what_cannot_be_summarized_makes_no_summary_due():
    ids = [f"c{n}" for n in range(20)]
    messages = [{"role": "assistant", "content": None, "tool_calls": [call(i) for i in ids]}]
    messages += [result(i, "data " * 400) for i in ids]
    made = manager(llm=Client(), max_messages_before_summary=5, max_tokens_before_summary=500)
    assert not made.should_summarize(messages)
    with pytest.raises(ValueError, match="No messages to summarize"):
        made.generate_summary(messages)


def test_the_status_has_supyagents_keys():
    status = manager().get_trigger_status([{"role": "user", "content": "Hi"}] * 15)
    assert status == {
        "messages_since_summary": 15,
        "messages_threshold": 30,
        "messages_percent": 50.0,
        "total_tokens": status["total_tokens"],
        "tokens_threshold": 128_000,
        "tokens_percent": status["tokens_percent"],
        "will_trigger": False,
    }


# Summaries.


@pytest.mark.parametrize("reminders", [False, True])
def test_a_summary_never_parts_a_call_from_its_results(reminders):
    messages = history(8, parallel=3)
    for place in reversed([n for n, m in enumerate(messages) if reminders and m["role"] == "tool"]):
        messages.insert(place + 1, {"role": "system", "content": f"reminder {place}"})
    for up_to in range(4, len(messages)):
        made = manager(llm=Client())
        summary = made.generate_summary(messages, up_to)
        assert summary.content == "## Current State\n- all is well"
        built = made.build_messages_for_llm("s", messages)
        assert broken_pairs(built) == []
        assert "no longer in this conversation" not in str(built)


def test_a_summary_stands_for_all_but_the_recent_messages():
    client = Client("## Current State\n- step 9")
    made, messages = manager(llm=client), history(20)
    summary = made.generate_summary(messages)
    assert summary is made.summary
    assert summary.content == "## Current State\n- step 9"
    assert summary.messages_summarized == summary.last_message_idx + 1
    built = made.build_messages_for_llm("s", messages)
    assert built[1]["role"] == "system"
    assert built[1]["content"].startswith(
        f"[Context Summary - {summary.messages_summarized} previous messages]\n\n## Current State"
    )
    assert built[2] is messages[0], "the task stays"
    assert built[3:] == messages[summary.last_message_idx + 1 :]
    assert len(built[3:]) >= 6


def test_the_prompt_has_the_five_sections_the_messages_and_the_limit_of_words():
    client = Client()
    manager(llm=client).generate_summary(history(20))
    (prompt,) = client.prompts
    sections = ("Files Modified", "Key Decisions", "Important Values", "Current State")
    for section in (*sections, "Pending Tasks"):
        assert f"## {section}" in prompt
    assert "at most 600 words" in prompt
    assert "First task: audit app.py" in prompt
    assert "E1077" in prompt


@pytest.mark.parametrize("words", [5, 550, 590, 600])
def test_the_600_words_of_a_summary_include_the_lines_that_follow_it(words):
    made = manager(llm=Client("word " * words))
    summary = made.generate_summary(history(60))
    assert len(summary.text().split()) <= 600
    assert bool(summary.lines) == (words < 590)


def test_the_next_summary_goes_on_from_the_last():
    client = Client("- the key is SWORDFISH")
    made = manager(llm=client)
    made.generate_summary(history(20))
    made.generate_summary(history(30))
    assert "SWORDFISH" in client.prompts[1]
    assert "code=E377" not in client.prompts[1].split("</previous_summary>")[1]
    assert "code=E2277" in client.prompts[1]
    assert made.summary.messages_summarized == len(history(30)) - 6


@pytest.mark.parametrize("up_to", [None, 0, 90, 97, 100, 10**6])
def test_the_recent_messages_are_never_summarized(up_to):
    messages = history(20)
    made = manager(llm=Client())
    summary = made.generate_summary(messages, up_to)
    assert summary.last_message_idx < len(messages) - 6
    built = made.build_messages_for_llm("s", messages)
    assert all(now is then for now, then in zip(built[-6:], messages[-6:], strict=True))


def test_system_messages_in_the_middle_are_summarized_with_the_others():
    messages = history(20)
    messages.insert(11, {"role": "system", "content": "RULE: the port is 9999"})
    messages.insert(31, {"role": "system", "content": "", "metadata": {"custom": {"pinned": True}}})
    messages.insert(0, {"role": "system", "content": "You audit files."})
    client = Client()
    made = manager(llm=client)
    made.generate_summary(messages)
    assert "RULE: the port is 9999" in client.prompts[0]
    built = made.build_messages_for_llm("s", messages)
    assert "9999" not in str([message for message in built if message["role"] != "system"])
    assert built[2] is messages[0], "what stands in front of all is the host's own prompt"
    assert messages[32] in built, "pinned"
    assert messages[12] not in built


def test_a_summary_is_not_used_where_what_it_stands_for_was_changed():
    made, messages = manager(llm=Client()), history(20)
    made.generate_summary(messages)
    assert "Context Summary" in str(made.build_messages_for_llm("s", messages)[1])
    messages[3]["metadata"] = {"seen": True}
    assert "Context Summary" in str(made.build_messages_for_llm("s", messages)[1])
    messages[2]["content"] = "no error at all"
    assert made.build_messages_for_llm("s", messages)[1:] == messages
    assert made.get_trigger_status(messages)["messages_since_summary"] == len(messages)
    assert made.generate_summary(messages).fingerprint
    assert "Context Summary" in str(made.build_messages_for_llm("s", messages)[1])


def test_another_conversation_gets_no_summary_of_this_one():
    made = manager(llm=Client())
    made.generate_summary(history(20))
    other = [{"role": "user", "content": f"Something else {n}"} for n in range(150)]
    assert made.build_messages_for_llm("s", other)[1:] == other
    assert made.context_status(other).summary is None


def test_requests_that_were_the_last_once_do_not_stay_for_ever():
    made = manager(llm=Client(), min_recent_messages=2)
    messages: list[dict[str, Any]] = []
    for turn in range(12):
        messages.append({"role": "user", "content": f"request {turn} " * 200})
        for step in range(4):
            messages.append(
                {"role": "assistant", "content": None, "tool_calls": [call(f"{turn}{step}")]}
            )
            messages.append(result(f"{turn}{step}", "data " * 40))
        made.generate_summary(messages)
    assert made.summary is not None
    assert made.summary.kept == []
    built = made.build_messages_for_llm("s", messages)
    assert [m for m in built if m["role"] == "user"] == [messages[0], messages[-9]]


def test_a_task_of_any_length_is_shortened_where_it_was_summarized_too():
    messages = [{"role": "user", "content": "task " * 30_000}, *history(20)[1:]]
    made = manager(8_192, llm=Client())
    made.generate_summary(messages)
    built = made.build_messages_for_llm("s", messages)
    assert "...[truncated]..." in built[2]["content"]
    assert count_messages_tokens(built, "gpt-4o") <= room(made)


def test_a_pinned_message_stays_beside_the_summary():
    messages = history(20)
    messages[4] = {**messages[4], "metadata": {"custom": {"pinned": True}}}
    made = manager(llm=Client())
    made.generate_summary(messages)
    assert messages[4] in made.build_messages_for_llm("s", messages)
    made.generate_summary([*messages, *history(10)[1:]])
    assert messages[4] in made.build_messages_for_llm("s", [*messages, *history(10)[1:]])


def test_a_summary_over_its_share_is_shortened_and_not_dropped(tmp_path):
    text = "\n".join(f"- /srv/app/file{n}.py has the value {n}" for n in range(2_000))
    summary = ContextSummary(text, 50, 0, 49)
    save(summary, tmp_path / "summary.json")
    made = manager(20_000, summary_storage_path=tmp_path / "summary.json")
    built = made.build_messages_for_llm("s", history(20))
    said = count_message_tokens(built[1], "gpt-4o")
    assert 0.15 * room(made) < said <= 0.3 * room(made)
    assert "/srv/app/file0.py" in built[1]["content"]
    assert built[1]["content"].startswith("[Context Summary - 50 previous messages]")
    assert made.summary.content == text


def test_nothing_new_is_not_summarized_again():
    client, messages = Client(), history(20)
    made = manager(llm=client)
    first = made.generate_summary(messages)
    assert made.generate_summary(messages) is first
    assert len(client.prompts) == 1


def test_without_a_client_or_messages_there_is_no_summary():
    with pytest.raises(ValueError, match="LLM client required"):
        manager().generate_summary(history(20))
    for messages in ([], history(1)):
        client = Client()
        with pytest.raises(ValueError, match="No messages to summarize"):
            manager(llm=client).generate_summary(messages, up_to_idx=0)
        assert client.prompts == []
    with pytest.raises(ullage.PolicyError, match="no method chat"):
        manager(llm=print).generate_summary(history(20))


@pytest.mark.parametrize("client", [BrokenClient(), Client("  ")], ids=["raises", "says-nothing"])
def test_a_client_that_fails_leaves_all_as_it_was(client, tmp_path):
    made = manager(llm=client, summary_storage_path=tmp_path / "summary.json")
    with pytest.raises(ullage.SummaryError):
        made.generate_summary(history(20))
    assert made.summary is None
    assert list(tmp_path.iterdir()) == []


def test_the_summary_of_an_async_client_is_awaited_in_its_loop():
    async def run():
        client = AsyncClient()
        made = manager(llm=client)
        summary = await made.agenerate_summary(history(20))
        assert made.summary is summary
        assert summary.content == "## Current State\n- all is well"
        return await made.agenerate_summary(history(20)) is summary

    assert asyncio.run(run())
    assert manager(llm=AsyncClient()).generate_summary(history(20)).content


class SlowClient(AsyncClient):
    def __init__(self):
        super().__init__()
        self.begun = asyncio.Event()

    async def chat(self, messages):
        self.begun.set()
        await asyncio.sleep(0.02)
        return await super().chat(messages)


def test_two_that_ask_for_a_summary_at_once_get_the_same():
    client = SlowClient()
    made = manager(llm=client)

    async def run():
        both = [made.agenerate_summary(history(20)) for _ in range(5)]
        return await asyncio.gather(*both, asyncio.to_thread(made.generate_summary, history(20)))

    first, *others = asyncio.run(run())
    assert all(other is first is made.summary for other in others)
    assert len(client.prompts) == 1


def test_a_shorter_history_does_not_take_the_summary_of_a_longer_one_away():
    client = SlowClient()
    made = manager(llm=client)

    async def run():
        longer = asyncio.create_task(made.agenerate_summary(history(40)))
        await client.begun.wait()
        # In the loop of the other, which it cannot wait for.
        made.llm = Client()
        shorter = made.generate_summary(history(10))
        return await longer, shorter

    longer, shorter = asyncio.run(run())
    assert shorter.last_message_idx < longer.last_message_idx
    assert made.summary is longer


def test_who_is_cancelled_while_waiting_holds_nobody_up():
    made = manager(llm=SlowClient())

    async def run():
        tasks = [asyncio.create_task(made.agenerate_summary(history(20 + n))) for n in range(6)]
        await asyncio.sleep(0.01)
        for task in (tasks[0], tasks[2], tasks[3]):
            task.cancel()
        return await asyncio.gather(*tasks, return_exceptions=True)

    ended = asyncio.run(run())
    cancelled = [isinstance(end, asyncio.CancelledError) for end in ended]
    assert cancelled == [True, False, True, True, False, False]
    assert made.generate_summary(history(40)).last_message_idx == len(history(40)) - 7


def test_a_client_that_asks_for_a_summary_itself_is_an_error_and_no_standstill():
    class Curious(Client):
        def chat(self, messages):
            return answer(made.generate_summary(history(20)).content)

    made = manager(llm=Curious())
    with pytest.raises(ullage.SummaryError, match="while it made one"):
        made.generate_summary(history(20))
    made.llm = Client()
    assert made.generate_summary(history(20)).content


def test_a_long_history_is_asked_for_within_the_window_of_the_model():
    client = Client()
    made = manager(8_192, model="gpt-4", llm=client)
    made.generate_summary(history(400))
    assert count_tokens(client.prompts[0], "gpt-4") < 8_192
    assert "E39777" in client.prompts[0], "the newest is there, not the oldest"
