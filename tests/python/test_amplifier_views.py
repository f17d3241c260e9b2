"""Budgets that take turns in one session: each has a view of its own."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

import ullage
from ullage.amplifier import PersistentContextManager, SimpleContextManager

from .amplifier_sessions import (
    FORMS,
    NOTICE,
    Hooks,
    asked,
    called,
    contents,
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
def test_budgets_that_take_turns_each_keep_their_view(form, strategy):
    hooks = Hooks()
    context = SimpleContextManager(LARGE, hooks=hooks, compaction_strategy=strategy)

    async def run():
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

    asyncio.run(run())


def test_a_view_that_another_budget_fills_is_compacted_by_the_message_too():
    hooks = Hooks()
    context = SimpleContextManager(LARGE, hooks=hooks, compaction_strategy="smart")

    async def run():
        await context.set_messages(session("openai", 60))
        for number in range(100, 160):
            await asked(context, LARGE)
            await asked(context, SMALL)
            before = hooks.compactions
            await called_once(context, number)
            added = hooks.compactions
            await asked(context, LARGE)
            await asked(context, SMALL)
            assert hooks.compactions == added
            assert added <= before + 2

    asyncio.run(run())
    assert hooks.compactions > 4


def test_only_the_last_budgets_have_views():
    context = SimpleContextManager(LARGE)

    async def run():
        await context.set_messages(session("openai", 60))
        for budget in (LARGE, SMALL, 3_000, 2_000, 1_500, LARGE, 40_000):
            await asked(context, budget)
        assert len(context._views.all()) <= 3
        await context.clear()
        await context.add_message({"role": "user", "content": "anew"})
        for budget in (LARGE, SMALL, 3_000):
            assert contents(await asked(context, budget)) == ["anew"]

    asyncio.run(run())


def test_a_view_that_nobody_asks_for_is_given_up():
    hooks = Hooks()
    context = SimpleContextManager(LARGE, hooks=hooks)

    async def run():
        await context.set_messages(session("openai", 60))
        await asked(context, LARGE)
        for _ in range(60):
            await asked(context, SMALL)
        assert len(context._views.all()) == 1

    asyncio.run(run())


def test_a_file_has_the_view_of_the_largest_budget(tmp_path):
    path = tmp_path / "session.jsonl"

    async def run():
        context = PersistentContextManager(path, max_tokens=LARGE)
        await context.set_messages(session("openai", 60))
        large, history = await asked(context, LARGE), await context.get_messages()
        small = await asked(context, SMALL)
        await context.close()
        again = PersistentContextManager(path, max_tokens=LARGE)
        assert contents(await asked(again, SMALL))[-1] == contents(small)[-1]
        assert contents(await asked(again, LARGE)) == contents(large)
        assert await again.get_messages() == history
        await again.close()

    asyncio.run(run())


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


def test_requests_of_two_budgets_at_once_both_fit():
    context = SimpleContextManager(LARGE, compaction_strategy="smart")

    async def run():
        await context.set_messages(session("openai", 60))
        for number in range(100, 130):
            await called_once(context, number)
            await asyncio.gather(*(asked(context, budget) for budget in (LARGE, SMALL) * 2))

    asyncio.run(run())


def test_a_file_that_is_opened_again_by_the_same_context_goes_on(tmp_path):
    context = PersistentContextManager(tmp_path / "session.jsonl", max_tokens=LARGE)

    async def run():
        await context.set_messages(session("openai", 60))
        large = await asked(context, LARGE)
        await asked(context, SMALL)
        await context.close()
        assert contents(await asked(context, LARGE)) == contents(large)
        await context.close()

    asyncio.run(run())


def test_each_compaction_is_exported(tmp_path):
    hooks = Hooks()
    path = tmp_path / "session.jsonl"

    async def run():
        context = PersistentContextManager(
            path, max_tokens=LARGE, hooks=hooks, export_on_compact=True
        )
        await context.set_messages(session("openai", 60))
        await asked(context, LARGE)
        await asked(context, SMALL)
        await context.close()

    asyncio.run(run())
    assert hooks.compactions > 1
    assert len(list(tmp_path.glob("*.jsonl*"))) >= 1 + hooks.compactions


def test_a_view_of_a_history_that_was_cleared_is_not_kept(tmp_path):
    path = tmp_path / "session.jsonl"

    async def run():
        context = PersistentContextManager(path, max_tokens=LARGE)
        await context.set_messages(session("openai", 60))
        await asked(context, LARGE)
        await asked(context, SMALL)
        views = context._views.all()
        await context.clear()
        for view in views:
            # As a compaction that was under way would do.
            await context._keep(view)
        assert all(not view.messages for view in views)
        await context.close()
        again = PersistentContextManager(path, max_tokens=LARGE)
        assert contents(await asked(again, LARGE)) == []
        await again.close()

    asyncio.run(run())


@pytest.mark.parametrize("strategy", ["simple", "smart"])
def test_near_budgets_that_take_turns_find_their_view_ready(strategy):
    hooks = Hooks()
    context = SimpleContextManager(LARGE, hooks=hooks, compaction_strategy=strategy)

    async def run():
        await context.set_messages(session("openai", 60))
        for number in range(100, 160):
            for budget in (LARGE - 2_000, LARGE):
                before = hooks.compactions
                await asked(context, budget)
                assert hooks.compactions == before or number == 100
            await called_once(context, number)

    asyncio.run(run())
    assert hooks.compactions > 2


def test_a_budget_that_is_too_small_costs_the_others_nothing():
    hooks = Hooks()
    context = SimpleContextManager(LARGE, hooks=hooks, compaction_strategy="smart")

    async def run():
        await context.set_messages(session("openai", 60))
        await asked(context, LARGE)
        await asked(context, SMALL)
        with pytest.raises(ullage.BudgetError):
            await context.get_messages_for_request(1)
        assert len(context._views.all()) == 2
        for number in range(100, 140):
            before = hooks.compactions
            await called_once(context, number)
            added = hooks.compactions
            assert added <= before + 2
        await asked(context, SMALL)
        await asked(context, LARGE)
        assert hooks.compactions == added

    asyncio.run(run())
    assert hooks.compactions > 4


def test_the_largest_of_many_budgets_keeps_its_view():
    context = SimpleContextManager(LARGE, compaction_strategy="smart")

    async def run():
        await context.set_messages(session("openai", 60))
        large = await asked(context, LARGE)
        for _ in range(3):
            for budget in (7_000, SMALL, 3_500, 2_500):
                await asked(context, budget)
        assert contents(await asked(context, LARGE)) == contents(large)

    asyncio.run(run())


def test_system_messages_that_take_the_budget_are_an_error_of_their_own():
    async def prompt():
        return "word " * 2_000

    context = SimpleContextManager(LARGE)

    async def run():
        await context.set_system_prompt_factory(prompt)
        with pytest.raises(ullage.BudgetError, match="in front take") as raised:
            await context.get_messages_for_request(500)
        assert raised.value.budget == 500
        assert raised.value.floor > 2_000
        assert len(await asked(context, LARGE)) == 1

    asyncio.run(run())


def test_a_request_bears_the_notice_of_its_own_view():
    context = SimpleContextManager(LARGE, compaction_strategy="smart")

    def told(request):
        return [m["content"] for m in request if NOTICE in str(m.get("metadata"))]

    async def run():
        await context.set_messages(session("openai", 60))
        both = await asyncio.gather(asked(context, SMALL), asked(context, LARGE))
        for budget, request in zip((SMALL, LARGE), both, strict=True):
            assert told(await asked(context, budget)) == told(request) != []

    asyncio.run(run())


def test_importance_is_asked_once_for_each_message_however_many_views_there_are():
    seen = []

    def importance(messages):
        seen.extend(messages)
        return [0.2] * len(messages)

    context = SimpleContextManager(LARGE, compaction_strategy="smart", importance=importance)

    async def run():
        await context.set_messages(session("openai", 60))
        for number in range(100, 130):
            await asked(context, LARGE)
            await asked(context, SMALL)
            await called_once(context, number)

    asyncio.run(run())
    places = [id(message) for message in seen]
    assert len(places) == len(set(places)) > 60


def test_after_an_interruption_views_are_made_ready_all_the_same():
    hooks = Hooks()
    context = SimpleContextManager(LARGE, hooks=hooks, compaction_strategy="smart")

    async def run():
        await context.set_messages(session("openai", 20))
        await asked(context, LARGE)
        await context.add_message(called("openai", 99, "never comes")[0])
        await context.add_message({"role": "user", "content": "Stop. Go on elsewhere."})
        for number in range(100, 200):
            await called_once(context, number)
        added = hooks.compactions
        assert added > 1
        await asked(context, LARGE)
        assert hooks.compactions == added

    asyncio.run(run())
