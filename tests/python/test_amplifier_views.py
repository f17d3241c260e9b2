"""Budgets that take turns in one session: each has a view of its own."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ullage.amplifier import PersistentContextManager, SimpleContextManager

from .amplifier_sessions import FORMS, called, faults, session, tokens

LARGE, SMALL = 12_000, 5_000
# Messages in front of the history that a compaction writes: none of them is in it.
NOTICE = "context-compaction"


class Hooks:
    """Amplifier's hooks, which count compactions."""

    def __init__(self):
        self.compactions = 0

    async def emit(self, event, data):
        self.compactions += event == "context:compaction"


def contents(request):
    """What is said in a request, the notice aside."""
    return [m["content"] for m in request if NOTICE not in str(m.get("metadata"))]


async def asked(context, budget):
    view = await context.get_messages_for_request(budget)
    assert tokens(view) <= budget
    assert not faults(view)
    return view


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
            for message in called("openai", number, "word of output\n" * 100):
                await context.add_message(message)
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
        assert contents(await asked(again, LARGE)) == contents(large)
        assert contents(await asked(again, SMALL)) == contents(small)
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
            for message in called("openai", number, "word of output\n" * 100):
                await context.add_message(message)
            await asyncio.gather(*(asked(context, budget) for budget in (LARGE, SMALL) * 2))

    asyncio.run(run())
