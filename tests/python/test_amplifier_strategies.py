"""The messages that the strategies of an Amplifier context keep."""

from __future__ import annotations

import asyncio

import pytest

import ullage
from ullage.amplifier import SimpleContextManager

from .amplifier_sessions import (
    FORMS,
    TASK,
    called,
    contents,
    faults,
    filled,
    requested,
    session,
    talk,
    tokens,
)


@pytest.mark.parametrize("form", FORMS)
def test_simple_keeps_system_messages_the_task_and_the_last_ten(form):
    messages = session(form, 30)
    view = requested(filled(messages, max_tokens=12_000, compaction_notice_enabled=False), 9_000)
    assert view[0]["content"] == "You are an auditor."
    assert TASK in str(view[1])
    assert len(view) in {12, 13}  # ten, or eleven where the tenth is a result
    assert [m["content"] for m in view[-10:]] == [m["content"] for m in messages[-10:]]


def test_simple_drops_what_a_later_message_says_again():
    said = [{"role": "assistant", "content": "Working on it. " * 50}] * 20
    asked = {"role": "user", "content": "Done?"}
    messages = [{"role": "user", "content": TASK}, *said, *called("openai", 1, "same"), asked]
    view = requested(filled(messages, max_tokens=1_000, compaction_notice_enabled=False))
    # The task, and the last ten: seven of them say the same.
    assert [m["role"] for m in view] == ["user", *["assistant"] * 8, "tool", "user"]


def test_simple_keeps_the_last_ten_though_the_user_always_says_the_same():
    messages = [{"role": "user", "content": TASK}]
    for number in range(60):
        step = {"role": "assistant", "content": f"Step {number}: " + "word " * 60}
        messages += [step, {"role": "user", "content": "yes"}]
    view = contents(requested(filled(messages, max_tokens=3_000)))
    assert view[-10:] == [message["content"] for message in messages[-10:]]


def test_messages_that_only_begin_alike_are_no_duplicates():
    begin = "The plan so far: " + "x " * 200
    said = [{"role": "assistant", "content": begin + str(n)} for n in range(4)]
    messages = [{"role": "user", "content": TASK}, *said, {"role": "user", "content": "Next?"}]
    context = filled(messages, max_tokens=1_500)
    asyncio.run(context.compact())
    assert [m["content"][-1] for m in requested(context)[1:5]] == list("0123")


@pytest.mark.parametrize("form", FORMS)
def test_smart_keeps_a_decision_and_the_newest_messages_and_lets_a_tangent_go(form):
    # The example of Amplifier's guide, without a model that judges.
    tangent = " ".join(f"One may also say that item {k} is fine." for k in range(30))
    said = {19: "What do we store it in?", 20: "Decision: PostgreSQL 16 on port 5433, not MySQL."}
    messages = []
    for number in range(100):
        role = "assistant" if number % 2 == 0 else "user"
        text = said.get(number, f"Message {number}. {tangent if role == 'assistant' else ''}")
        blocks = [{"type": "text", "text": text}]
        messages.append({"role": role, "content": text if form == "openai" else blocks})
    context = filled(
        [{"role": "user", "content": TASK}, *messages],
        max_tokens=12_000,
        compaction_strategy="smart",
    )
    view = str(requested(context))
    assert "Decision: PostgreSQL 16 on port 5433, not MySQL." in view
    assert all(f"Message {number}. " in view for number in range(92, 100))
    assert f"Message 40. {tangent}" not in view


def test_smart_keeps_lines_that_are_likely_to_be_needed_of_what_goes():
    messages = session("openai", 60)
    context = filled(messages, max_tokens=8_000, compaction_strategy="smart")
    view = requested(context)
    assert "auth_20" in str(view)
    assert len(view) < 30


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("asynchronous", [False, True])
def test_smart_keeps_whole_what_the_user_holds_important(form, asynchronous):
    messages = session(form, 60)
    decision = {"role": "assistant", "content": "Decision: sessions live in PostgreSQL 16."}
    messages.insert(42, decision)
    important = {"/src/file_7.py", decision["content"]}
    asked: list[int] = []

    def scores(batch):
        asked.append(len(batch))
        return [float(any(word in str(m) for word in important)) for m in batch]

    async def ascores(batch):
        return scores(batch)

    judge = ascores if asynchronous else scores
    context = filled(messages, max_tokens=8_000, compaction_strategy="smart", importance=judge)
    view = requested(context)
    assert any(m["content"] == decision["content"] for m in view)
    assert any("file_7.py" in str(m) and m["role"] == "assistant" for m in view)
    assert not faults(view)
    assert talk(view)[-1]["content"] == messages[-1]["content"]
    asyncio.run(context.compact())
    assert sum(asked) < 1.2 * len(messages)  # nothing is judged twice


@pytest.mark.parametrize(
    "importance", [lambda batch: 1 / 0, lambda batch: [1.0], lambda batch: ["high"] * len(batch)]
)
def test_a_judge_that_fails_is_as_none(importance, caplog):
    context = filled(
        session("openai", 60), max_tokens=8_000, compaction_strategy="smart", importance=importance
    )
    assert tokens(requested(context)) <= 8_000
    assert "the importance function failed" in caplog.text


@pytest.mark.parametrize("form", FORMS)
def test_a_custom_compaction_that_parts_pairs_is_mended(form):
    def last_five(messages, target):
        return messages[-5:]

    context = filled(
        session(form, 33),
        max_tokens=12_000,
        compaction_strategy="custom",
        compaction_function=last_five,
    )
    view = requested(context, 10_000)
    assert not faults(view)
    assert view[0]["content"] == "You are an auditor."
    assert len(view) <= 10


@pytest.mark.parametrize(
    "function",
    [
        lambda messages, target: 1 / 0,
        lambda messages, target: None,
        lambda messages, target: [],
        lambda messages, target: ["text"],
        lambda messages, target: messages,
        lambda messages, target: messages * 2,
    ],
    ids=["raises", "none", "empty", "strings", "unchanged", "doubled"],
)
def test_a_custom_compaction_of_no_use_leaves_the_budget_to_the_engine(function):
    context = filled(
        session("openai", 60),
        max_tokens=8_000,
        compaction_strategy="custom",
        compaction_function=function,
    )
    view = requested(context)
    assert tokens(view) <= 8_000
    assert not faults(view)


def test_a_custom_compaction_that_leaves_only_words_is_judged_by_the_form_of_the_session():
    def words(messages, target):
        return [m for m in messages if isinstance(m["content"], str) and m["role"] != "user"][-2:]

    messages = session("anthropic", 60)
    messages.append({"role": "assistant", "content": "Done."})
    context = filled(
        messages, max_tokens=8_000, compaction_strategy="custom", compaction_function=words
    )
    requested(context)
    for message in called("anthropic", 99, "more"):
        asyncio.run(context.add_message(message))
    assert not faults(requested(context))


def test_a_custom_compaction_of_words_alone_begins_with_the_user():
    messages = [{"role": "user", "content": TASK}]
    messages += [{"role": "assistant", "content": f"Step {n}: " + "done " * 90} for n in range(9)]
    context = filled(
        messages,
        max_tokens=900,
        compaction_strategy="custom",
        compaction_function=lambda messages, target: messages[-2:],
    )
    assert talk(requested(context))[0]["role"] == "user"


def test_custom_needs_a_function():
    with pytest.raises(ullage.PolicyError, match="compaction_function"):
        SimpleContextManager(compaction_strategy="custom")
