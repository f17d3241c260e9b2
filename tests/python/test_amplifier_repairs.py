"""An interrupted Amplifier session is repaired in the model's view."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ullage.amplifier import SimpleContextManager

from .amplifier_sessions import FORMS, TASK, called, faults, session, tokens

STEPS = ("call", "result", "both", "user", "assistant", "system")


def step(kind, form, number):
    call, result = called(form, 200 + number, f"output {number}")
    return {
        "call": [call],
        "result": [result],
        "both": [call, result],
        "user": [{"role": "user", "content": f"Go on with {number}."}],
        "assistant": [{"role": "assistant", "content": f"Finding {number}."}],
        "system": [{"role": "system", "content": f"Hint {number}."}],
    }[kind]


@given(
    st.sampled_from(FORMS),
    st.sampled_from(["simple", "smart"]),
    st.integers(0, 8),
    st.lists(st.tuples(st.sampled_from(STEPS), st.integers(0, 3)), max_size=8),
)
def test_whatever_is_interrupted_each_request_is_valid_and_counted_exactly(
    form, strategy, steps, more
):
    context = SimpleContextManager(3_000, compaction_strategy=strategy)

    async def run():
        for message in session(form, steps, lines=20):
            await context.add_message(message)
        for kind, number in [("user", 9), *more]:
            for message in step(kind, form, number):
                await context.add_message(message)
            view = await context.get_messages_for_request()
            assert not faults(view)
            assert tokens(view) <= 3_000
            assert await context.get_token_count() == tokens(view)

    asyncio.run(run())


@pytest.mark.parametrize("form", FORMS)
async def test_a_stray_result_among_those_of_a_running_call_is_mended_with_them(form):
    context = SimpleContextManager()
    (first, one), (second, other) = called(form, 1, "one"), called(form, 2, "other")
    key = "tool_calls" if form == "openai" else "content"
    both = {**first, key: [*first[key], *second[key]]}
    stray = called(form, 3, "of a call that is gone")[1]

    for message in ({"role": "user", "content": TASK}, both, one, stray):
        await context.add_message(message)
        assert not faults(await context.get_messages_for_request())
    await context.add_message(other)
    view = await context.get_messages_for_request()
    assert not faults(view)
    assert all(said in str(view) for said in ("one", "other"))


@pytest.mark.parametrize("form", FORMS)
async def test_what_is_added_while_a_request_is_made_is_in_the_next_one(form):
    more = [*step("call", form, 1), {"role": "user", "content": "Stop."}]

    async def compaction(messages, target):
        while more:
            await context.add_message(more.pop(0))
        return messages[-1:]

    context = SimpleContextManager(
        3_000, compaction_strategy="custom", compaction_function=compaction
    )

    for message in session(form, 12):
        await context.add_message(message)
    assert not faults(await context.get_messages_for_request())
    view = await context.get_messages_for_request()
    assert not faults(view)
    assert "Stop." in str(view[-1])


def use(*ids):
    calls = [{"type": "tool_use", "id": i, "name": "f", "input": {}} for i in ids]
    return {"role": "assistant", "content": calls}


def answer(number, text="done"):
    result = {"type": "tool_result", "tool_use_id": number, "content": text}
    return {"role": "user", "content": [result]}


HOOK = {"role": "system", "content": "A reminder.", "metadata": {"source": "hook"}}
LONG = "a line of the result\n" * 900


@pytest.mark.parametrize("strategy", ["simple", "smart"])
@pytest.mark.parametrize(
    "steps",
    [
        [use("1", "2"), answer("1"), HOOK, answer("2", LONG)],
        [use("1"), HOOK, use("2"), answer("2", LONG)],
        [use("1"), HOOK, use("2"), answer("1"), answer("2", LONG)],
        [use("1"), HOOK, answer("1", LONG)],
    ],
    ids=["results parted", "interrupted", "calls parted", "call and result parted"],
)
@pytest.mark.parametrize("limit", [2_000, 100_000])
def test_a_hook_that_speaks_between_calls_and_results_stops_no_request(steps, strategy, limit):
    context = SimpleContextManager(limit, compaction_strategy=strategy)

    async def run():
        for message in ({"role": "user", "content": "Do it."}, *steps, use("3"), answer("3")):
            await context.add_message(message)
        first = await context.get_messages_for_request()
        await context.add_message({"role": "user", "content": "Go on."})
        return first, await context.get_messages_for_request()

    for request in asyncio.run(run()):
        assert HOOK["content"] in [message["content"] for message in request]
        assert not faults(request)
