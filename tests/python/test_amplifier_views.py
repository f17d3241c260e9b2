"""Budgets that take turns in one session: each has a view of its own."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

import ullage
from ullage.amplifier import PersistentContextManager, SimpleContextManager, mount

from .amplifier_sessions import (
    FORMS,
    NOTICE,
    TASK,
    Hooks,
    asked,
    called,
    contents,
    is_request,
    session,
    tokens,
)

LARGE, SMALL = 12_000, 5_000


async def called_once(context, number):
    """A call and its result."""
    for message in called("openai", number, "word of output\n" * 100):
        await context.add_message(message)


@pytest.mark.parametrize("strategy", ["simple", "smart"])
@pytest.mark.parametrize("form", FORMS)
async def test_budgets_that_take_turns_each_keep_their_view(form, strategy):
    hooks = Hooks()
    context = SimpleContextManager(LARGE, hooks=hooks, compaction_strategy=strategy)

    await context.set_messages(session(form, 60))
    large, small = await asked(context, LARGE), await asked(context, SMALL)
    assert tokens(small) <= tokens(large)
    before = hooks.compactions
    for number in range(5):
        await context.add_message({"role": "user", "content": f"go on {number}"})
        await context.add_message({"role": "assistant", "content": f"went on {number}"})
        large_now, small_now = await asked(context, LARGE), await asked(context, SMALL)
        for now, old in ((large_now, large), (small_now, small)):
            assert contents(now)[: len(contents(old))] == contents(old)
            assert contents(now)[-1] == f"went on {number}"
    assert hooks.compactions == before


@given(
    strategy=st.sampled_from(["simple", "smart"]),
    steps=st.lists(
        st.tuples(st.integers(0, 3), st.sampled_from([1_500, 3_000, SMALL, 6_000, LARGE, 40_000])),
        max_size=12,
    ),
)
def test_whatever_budgets_come_each_request_fits_and_ends_with_the_newest(strategy, steps):
    async def run():
        context = SimpleContextManager(LARGE, compaction_strategy=strategy)
        await context.set_messages(session("openai", 20))
        newest = None
        for number, (more, budget) in enumerate(steps):
            for step in range(more):
                newest = f"said {number} {step}"
                await context.add_message({"role": "user", "content": newest})
            view = await asked(context, budget)
            assert newest is None or contents(view)[-1] == newest

    asyncio.run(run())


async def test_a_file_that_is_opened_again_by_the_same_context_goes_on(tmp_path):
    context = PersistentContextManager(tmp_path / "session.jsonl", max_tokens=LARGE)

    await context.set_messages(session("openai", 60))
    large = await asked(context, LARGE)
    await asked(context, SMALL)
    await context.close()
    assert contents(await asked(context, LARGE)) == contents(large)
    await context.close()


async def test_system_messages_that_take_the_budget_are_an_error_of_their_own():
    async def prompt():
        return "word " * 2_000

    context = SimpleContextManager(LARGE)

    await context.set_system_prompt_factory(prompt)
    with pytest.raises(ullage.BudgetError, match="before the history take") as raised:
        await context.get_messages_for_request(500)
    assert raised.value.budget == 500
    assert raised.value.floor > 2_000
    assert len(await asked(context, LARGE)) == 1


async def test_a_request_bears_the_notice_of_its_own_view():
    context = SimpleContextManager(LARGE, compaction_strategy="smart")

    def told(request):
        return [m["content"] for m in request if NOTICE in str(m.get("metadata"))]

    await context.set_messages(session("openai", 60))
    both = await asyncio.gather(asked(context, SMALL), asked(context, LARGE))
    for budget, request in zip((SMALL, LARGE), both, strict=True):
        assert told(await asked(context, budget)) == told(request) != []


async def test_importance_is_asked_once_for_each_message_however_many_views_there_are():
    seen = []

    def importance(messages):
        seen.extend(messages)
        return [0.2] * len(messages)

    context = SimpleContextManager(LARGE, compaction_strategy="smart", importance=importance)

    await context.set_messages(session("openai", 60))
    for number in range(100, 130):
        await asked(context, LARGE)
        await asked(context, SMALL)
        await called_once(context, number)
    places = [id(message) for message in seen]
    assert len(places) == len(set(places)) > 60


async def test_near_budgets_share_a_view():
    hooks = Hooks()
    context = SimpleContextManager(LARGE, hooks=hooks, compaction_strategy="smart")

    await context.set_messages(session("openai", 60))
    await asked(context, LARGE)
    for step in range(100):
        await context.add_message({"role": "user", "content": f"go on {step}"})
        await asked(context, LARGE - 7 * step)
    assert hooks.compactions <= 3


async def test_a_budget_that_is_too_small_changes_no_other_request():
    hooks = Hooks()
    context = SimpleContextManager(LARGE, hooks=hooks, compaction_strategy="smart")

    await context.set_messages(session("openai", 60))
    large, small = await asked(context, LARGE), await asked(context, SMALL)
    with pytest.raises(ullage.BudgetError):
        await context.get_messages_for_request(1)
    assert await asked(context, SMALL) == small
    assert await asked(context, LARGE) == large
    assert hooks.compactions == 2


async def test_sixteen_budgets_keep_their_views():
    context = SimpleContextManager(LARGE, compaction_strategy="smart")

    await context.set_messages(session("openai", 60))
    large = await asked(context, LARGE)
    for _ in range(3):
        for budget in (7_000, SMALL, 3_500, 2_500):
            await asked(context, budget)
    assert await asked(context, LARGE) == large


async def test_requests_of_new_budgets_while_messages_come():
    async def scores(messages):
        await asyncio.sleep(0.001)
        return [0.0] * len(messages)

    messages = session("openai", 60)
    context = SimpleContextManager(LARGE, compaction_strategy="smart", importance=scores)

    async def add():
        for message in messages:
            await context.add_message(message)
            await asyncio.sleep(0)

    async def ask(budgets):
        for budget in budgets:
            await asked(context, budget)

    await asyncio.gather(add(), ask(range(9_000, 3_000, -900)), ask(range(3_000, 20_000, 1_700)))
    assert contents(await asked(context, LARGE))[-1] == messages[-1]["content"]


async def test_a_view_in_the_file_that_nobody_can_read_is_made_again(tmp_path, caplog):
    path = tmp_path / "session.jsonl"

    context = PersistentContextManager(path, max_tokens=LARGE)
    await context.set_messages(session("openai", 60))
    await asked(context, LARGE)
    await context.close()
    path.write_text(path.read_text().replace('"landmarks"', '"marks"'))
    again = PersistentContextManager(path, max_tokens=LARGE)
    assert len(await asked(again, LARGE)) > 2
    await again.close()
    assert "cannot be read" in caplog.text


async def test_who_counts_a_resumed_session_leaves_its_view(tmp_path):
    path = tmp_path / "session.jsonl"

    context = PersistentContextManager(path)
    for message in session("openai", 60):
        await context.add_message(message)
    seen = await context.get_messages_for_request(LARGE)
    await context.close()
    again = PersistentContextManager(path)
    assert await again.get_token_count() == tokens(seen)
    assert await again.should_compact() is False
    assert await again.get_messages_for_request(LARGE) == seen
    await again.close()


@pytest.mark.parametrize("strategy", ["simple", "smart"])
async def test_who_adds_past_the_methods_has_the_count_of_what_is_sent(strategy):
    context = SimpleContextManager(LARGE, compaction_strategy=strategy)

    for _ in range(2):
        context.messages.extend({"role": "user", "content": f"note {n}"} for n in range(300))
        assert not await context.should_compact()
        count = await context.get_token_count()
        assert count == tokens(await asked(context, LARGE)) > 1_500


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("strategy", ["simple", "smart"])
def test_when_requests_are_made_changes_none_of_them(form, strategy):
    """A request depends on the messages, and not on who looked at them in between."""

    async def run(*, looks):
        context = SimpleContextManager(LARGE, compaction_strategy=strategy)
        requests = []
        for message in session(form, 40):
            await context.add_message(message)
            if is_request(message):
                if looks:
                    await context.should_compact()
                    await context.get_token_count()
                    await asyncio.sleep(0.0001)
                requests.append(contents(await asked(context, LARGE)))
        return requests

    assert asyncio.run(run(looks=False)) == asyncio.run(run(looks=True))


async def test_a_result_that_comes_after_a_hooks_words_is_not_lost():
    first, second = called("openai", 1, "found the one"), called("openai", 2, "found the other")
    both = {**first[0], "tool_calls": [*first[0]["tool_calls"], *second[0]["tool_calls"]]}
    hook = {"role": "system", "content": "remember", "metadata": {"source": "hook"}}
    context = SimpleContextManager(LARGE)

    await context.add_message({"role": "user", "content": TASK})
    for message in (both, first[1], hook, second[1]):
        await context.add_message(message)
        await asked(context, LARGE)
    view = str(await asked(context, LARGE))
    assert all(found in view for found in ("found the one", "found the other", "remember"))


async def test_results_that_take_the_room_while_another_is_awaited_are_shortened():
    call, first = called("openai", 1, "line of output\n" * 20_000)
    second, last = called("openai", 2, "at last")
    call["tool_calls"] += second["tool_calls"]

    context = SimpleContextManager(60_000, compaction_strategy="smart")
    for message in [*session("openai", 100), call, first]:
        await context.add_message(message)
    for budget in (60_000, 10_000):
        await asked(context, budget)
    await context.add_message(last)
    assert contents(await asked(context, 60_000))[-1] == "at last"


def test_the_only_provider_of_a_session_tells_the_budget_before_a_request():
    defaults = {"context_window": SMALL + 1_500, "max_output_tokens": 1_000}
    provider = SimpleNamespace(get_info=lambda: SimpleNamespace(defaults=defaults))

    async def run(providers):
        coordinator = SimpleNamespace(hooks=None, context=None, get={"providers": providers}.get)
        await mount(coordinator, {"max_tokens": 20 * LARGE})
        await coordinator.context.set_messages(session("openai", 60))
        return await coordinator.context.should_compact()

    assert asyncio.run(run({"one": provider}))
    # Of two nobody knows which will be asked.
    assert not asyncio.run(run({"one": provider, "two": provider}))


async def test_a_request_that_is_cancelled_while_a_function_compacts_changes_nothing():
    async def slow(messages, target):
        begun.set()
        await asyncio.sleep(60)
        return messages

    context = SimpleContextManager(LARGE, compaction_strategy="custom", compaction_function=slow)
    begun = asyncio.Event()

    await context.set_messages(session("openai", 60))
    request = asyncio.create_task(context.get_messages_for_request())
    await begun.wait()
    request.cancel()
    with pytest.raises(asyncio.CancelledError):
        await request
    context.compaction_function = lambda messages, target: messages[-2:]
    assert contents(await asked(context, LARGE))[-1] == "Go on with part 59."
