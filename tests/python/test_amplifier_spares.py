"""The first request with a budget that nobody has told: it is answered with what is ready."""

from __future__ import annotations

import asyncio

import pytest

import ullage
from ullage.amplifier import PersistentContextManager, SimpleContextManager

from .amplifier_sessions import (
    FORMS,
    NOTICE,
    Hooks,
    asked,
    called,
    contents,
    filled,
    session,
    tokens,
)
from .lengths import first

# A history of three times the budget, and the budget of three times what is compacted quickly.
STEPS, BUDGET = 500, 60_000
BUDGETS = (300_000, 100_000, 70_000, 50_000, 30_000, 20_000, 9_000, 4_000, 2_000)
# Tokens and messages that an engine compacts while a request waits.
QUICK = {"simple": (100_000, 400), "smart": (21_000, 200)}


class Work:
    """What the engines were given to compact."""

    def __init__(self, monkeypatch):
        self.given: list[tuple[int, int]] = []
        compact = ullage.ContextManager.acompact

        async def noted(manager, messages, **others):
            self.given.append((tokens(messages), len(messages)))
            return await compact(manager, messages, **others)

        monkeypatch.setattr(ullage.ContextManager, "acompact", noted)


@pytest.fixture
def work(monkeypatch):
    return Work(monkeypatch)


async def made(kind, strategy, messages, tmp_path=None, **settings):
    """A context with these messages."""
    settings = {"compaction_strategy": strategy, **settings}
    if kind == "resumed":
        path = tmp_path / "session.jsonl"
        before = PersistentContextManager(path, max_tokens=BUDGET, **settings)
        await before.set_messages(messages)
        await before.close()
        return PersistentContextManager(path, max_tokens=BUDGET, **settings)
    context = SimpleContextManager(BUDGET, **settings)
    if kind == "set":
        await context.set_messages(messages)
    else:
        for message in messages:
            await context.add_message(message)
    return context


@pytest.mark.parametrize("form", first(1, FORMS))
@pytest.mark.parametrize("strategy", first(1, ["simple", "smart"]))
@pytest.mark.parametrize("kind", first(1, ["added", "set", "resumed"]))
def test_no_request_waits_for_more_than_a_quick_compaction(work, tmp_path, kind, strategy, form):
    messages = session(form, STEPS)

    async def run(budget):
        context = await made(kind, strategy, messages, tmp_path / str(budget))
        if kind == "resumed":
            await context.initialize()
        work.given.clear()
        request = await asked(context, budget)
        for took, count in work.given:
            assert took <= QUICK[strategy][0]
            assert count <= QUICK[strategy][1]
        assert contents(request)[-1] == messages[-1]["content"]
        if tokens(messages) < budget and kind != "resumed":
            assert contents(request) == contents(messages)
        elif strategy == "smart":
            assert tokens(request) > 0.15 * min(budget, BUDGET)
        if kind == "resumed":
            await context.close()

    for budget in BUDGETS:
        (tmp_path / str(budget)).mkdir()
        asyncio.run(run(budget))


@pytest.mark.parametrize("strategy", first(1, ["simple", "smart"]))
def test_the_next_message_makes_the_view_of_a_new_budget(work, strategy):
    async def run(budget):
        context = await made("added", strategy, session("openai", STEPS))
        await asked(context, budget)
        for message in called("openai", STEPS, "the last output"):
            await context.add_message(message)
        work.given.clear()
        request = await asked(context, budget)
        assert not work.given
        assert contents(request)[-1] == "the last output"
        if strategy == "smart":
            assert tokens(request) > budget * 0.4

    for budget in BUDGETS:
        asyncio.run(run(budget))


def test_a_budget_with_room_for_it_shows_the_whole_history_at_once(work):
    messages = session("openai", STEPS)

    async def run():
        context = await made("set", "smart", messages)
        assert len(contents(await asked(context, BUDGET))) < len(messages)
        await context.add_message({"role": "user", "content": "go on"})
        work.given.clear()
        assert contents(await asked(context, 10 * tokens(messages)))[:-1] == contents(messages)
        assert not work.given
        await context.add_message({"role": "assistant", "content": "went on"})
        assert contents(await asked(context, 10 * tokens(messages)))[-1] == "went on"

    asyncio.run(run())


# What stands in is the view of 20,000, or a copy of it fits as the view of the request.
@pytest.mark.parametrize("budget", [20_001, 19_000])
@pytest.mark.parametrize("kind", first(1, ["added", "set"]))
def test_nobody_is_told_of_what_no_request_has_seen(kind, budget, tmp_path):
    hooks = Hooks()
    reports: list[ullage.Report] = []

    async def run(budget):
        context = PersistentContextManager(
            tmp_path / f"{kind}.jsonl",
            max_tokens=BUDGET,
            hooks=hooks,
            on_compaction=reports.append,
            export_on_compact=True,
            compaction_notice_enabled=False,
        )
        messages = session("openai", STEPS)
        if kind == "set":
            await context.set_messages(messages)
        else:
            for message in messages:
                await context.add_message(message)
        assert context._views.spares.ladder
        assert set(hooks.budgets) == {BUDGET}
        assert len(reports) == len(hooks.budgets)
        assert len(list(tmp_path.iterdir())) <= 2 + len(reports)
        before = len(hooks.budgets)
        for _ in range(2):
            await asked(context, budget)
            await asked(context, budget)
            (told,) = hooks.budgets[before:]
            assert (context._last_compaction_stats or {})["budget"] == told < BUDGET
        await context.close()

    asyncio.run(run(budget))


def test_a_request_bears_the_notice_of_what_stands_in():
    async def run():
        context = await made("added", "smart", session("openai", STEPS))
        request = await asked(context, 25_000)
        (notice,) = [m["content"] for m in request if NOTICE in str(m.get("metadata"))]
        stats = context._last_compaction_stats
        assert stats["budget"] < 25_000
        assert f"{stats['tokens_after']:,}" in notice
        assert await context.get_token_count() == tokens(request)
        assert not await context.should_compact()

    asyncio.run(run())


def test_a_prompt_that_grows_past_the_threshold_is_seen_to_by_the_next_message(work):
    words = 100

    async def prompt():
        return "word " * words

    async def run():
        nonlocal words
        context = SimpleContextManager(BUDGET, compaction_strategy="smart")
        await context.set_system_prompt_factory(prompt)
        for number in range(STEPS):
            for message in called("openai", number, "line of output\n" * 50):
                await context.add_message(message)
            request = await asked(context, BUDGET)
            if tokens(request) > 0.8 * BUDGET:
                break
        words += int(0.97 * BUDGET) - tokens(request)
        work.given.clear()
        assert len(await asked(context, BUDGET)) == len(request)
        assert not work.given
        # It no longer fits: another view does.
        words += BUDGET // 10
        assert len(await asked(context, BUDGET)) < len(request)
        assert not work.given
        await context.add_message({"role": "user", "content": "go on"})
        assert work.given
        work.given.clear()
        assert contents(await asked(context, BUDGET))[-1] == "go on"
        assert not work.given

    asyncio.run(run())


@pytest.mark.parametrize("again", first(1, ["set", "clear", "factory"]))
def test_what_was_forgotten_stands_in_for_nothing(again):
    async def prompt():
        return "Be brief."

    async def run(budget):
        context = await made("added", "smart", session("openai", STEPS))
        if again == "factory":
            await context.set_system_prompt_factory(prompt)
            assert "You are an auditor." not in contents(await asked(context, budget))
            await context.set_system_prompt_factory(None)
            assert "You are an auditor." in contents(await asked(context, budget))
            assert "You are an auditor." in contents(await asked(context, budget // 3))
            return
        await (context.set_messages([]) if again == "set" else context.clear())
        await context.add_message({"role": "user", "content": "anew"})
        assert contents(await asked(context, budget)) == ["anew"]

    for budget in (300_000, BUDGET, 4_000):
        asyncio.run(run(budget))


@pytest.mark.parametrize("kind", ["custom", "judged", "manual"])
def test_what_asks_the_user_or_is_switched_off_is_done_for_no_unknown_budget(kind):
    settings = {
        "custom": {
            "compaction_strategy": "custom",
            "compaction_function": lambda messages, _: messages[-4:],
        },
        "judged": {
            "compaction_strategy": "smart",
            "importance": lambda messages: [0.0] * len(messages),
        },
        "manual": {"compaction_strategy": "smart", "auto_compact": False},
    }
    context = filled(session("openai", 200), max_tokens=BUDGET, **settings[kind])
    assert not context._views.spares.all()


def test_a_short_session_has_no_spare_views():
    context = filled(session("openai", 20), max_tokens=200_000, compaction_strategy="smart")
    assert not context._views.spares.all()


def test_what_must_stay_is_more_than_a_small_budget_holds():
    messages = session("openai", STEPS)
    messages[1] = {"role": "user", "content": "word " * 15_000}

    async def run():
        context = await made("added", "smart", messages)
        with pytest.raises(ullage.BudgetError):
            await context.get_messages_for_request(9_000)
        assert contents(await asked(context, BUDGET))[-1] == messages[-1]["content"]

    asyncio.run(run())


def test_requests_of_new_budgets_while_messages_come():
    messages = session("openai", STEPS)

    async def run():
        context = SimpleContextManager(BUDGET, compaction_strategy="smart")

        async def add():
            for message in messages:
                await context.add_message(message)
                await asyncio.sleep(0)

        async def ask(budgets):
            for budget in budgets:
                await asked(context, budget)
                await asyncio.sleep(0.001)

        await asyncio.gather(
            add(), ask(range(50_000, 10_000, -500)), ask(range(10_000, 100_000, 900))
        )
        assert contents(await asked(context, BUDGET))[-1] == messages[-1]["content"]

    asyncio.run(run())


@pytest.mark.parametrize("strategy", first(1, ["simple", "smart"]))
def test_a_budget_that_sinks_makes_no_views_anew(work, strategy):
    async def run():
        context = await made("added", strategy, session("openai", STEPS))
        await asked(context, BUDGET)
        work.given.clear()
        for step in range(100):
            await context.add_message({"role": "user", "content": f"go on {step}"})
            await asked(context, BUDGET - 7 * step)
        assert len(work.given) < 10

    asyncio.run(run())


@pytest.mark.parametrize("strategy", first(1, ["simple", "smart"]))
def test_a_resumed_session_has_the_view_that_its_last_request_showed(tmp_path, strategy):
    messages = session("openai", STEPS)

    async def run(budget):
        def opened():
            return PersistentContextManager(
                tmp_path / f"{budget}.jsonl", max_tokens=BUDGET, compaction_strategy=strategy
            )

        context = opened()
        for message in messages:
            await context.add_message(message)
        before = contents(await asked(context, budget))
        await context.close()
        again = opened()
        assert contents(await asked(again, budget)) == before
        await again.close()

    for budget in BUDGETS:
        asyncio.run(run(budget))


@pytest.mark.parametrize("first", [True, False])
def test_a_budget_that_is_too_small_leaves_what_is_ready(work, first):
    async def run():
        context = await made("added", "smart", session("openai", STEPS))
        if not first:
            await asked(context, BUDGET)
        with pytest.raises(ullage.BudgetError):
            await context.get_messages_for_request(50)
        assert not await context.should_compact()
        await context.add_message({"role": "user", "content": "go on"})
        work.given.clear()
        assert contents(await asked(context, BUDGET))[-1] == "go on"
        assert contents(await asked(context, 25_000))[-1] == "go on"
        assert not work.given

    asyncio.run(run())


@pytest.mark.parametrize("strategy", ["simple", "smart"])
def test_who_adds_past_the_methods_has_the_count_of_what_is_sent(strategy):
    context = SimpleContextManager(BUDGET, compaction_strategy=strategy)

    async def run():
        for _ in range(2):
            context.messages.extend({"role": "user", "content": f"note {n}"} for n in range(300))
            assert not await context.should_compact()
            count = await context.get_token_count()
            assert count == tokens(await asked(context, BUDGET)) > 1_500

    asyncio.run(run())


@pytest.mark.parametrize("kind", ["set", "added"])
@pytest.mark.parametrize("strategy", ["simple", "smart"])
def test_a_call_that_waits_keeps_no_request_waiting(work, kind, strategy):
    messages = session("openai", STEPS)
    call, result = called("openai", STEPS, "at last")

    async def run():
        context = await made(kind, strategy, [*messages, call])
        work.given.clear()
        for budget in (BUDGET, 25_000, BUDGET, 25_000):
            await asked(context, budget)
        assert all(took <= QUICK[strategy][0] for took, _ in work.given)
        assert len(work.given) <= 1
        await context.add_message(result)
        assert contents(await asked(context, BUDGET))[-1] == "at last"
        # It was not answered by something else meanwhile.
        assert "never answered" not in str(await asked(context, BUDGET))

    asyncio.run(run())


def test_results_that_take_the_room_while_another_is_awaited_are_shortened_for_each_request():
    call, first = called("openai", 1, "line of output\n" * 20_000)
    second, last = called("openai", 2, "at last")
    call["tool_calls"] += second["tool_calls"]

    async def run():
        context = await made("added", "smart", [*session("openai", 100), call, first])
        for budget in (BUDGET, 10_000):
            await asked(context, budget)
        await context.add_message(last)
        assert contents(await asked(context, BUDGET))[-1] == "at last"

    asyncio.run(run())


def test_a_view_that_is_given_up_may_stand_in(work):
    async def run():
        context = await made("added", "smart", session("openai", STEPS))
        for budget in (BUDGET, 40_000, 9_000):
            await asked(context, budget)
            await context.add_message({"role": "user", "content": "go on"})
        work.given.clear()
        await asked(context, 24_000)
        await asked(context, 15_000)
        await asked(context, 4_000)
        for took, _ in work.given:
            assert took <= QUICK["smart"][0]

    asyncio.run(run())


def test_who_is_cancelled_leaves_the_views_to_the_next_message(work, monkeypatch):
    async def run():
        context = await made("added", "smart", session("openai", STEPS))
        compacted = context._compact

        async def cancelled(view, request):
            raise asyncio.CancelledError

        monkeypatch.setattr(context, "_compact", cancelled)

        async def add(numbers):
            for number in numbers:
                for message in called("openai", number, "line of output\n" * 100):
                    await context.add_message(message)

        with pytest.raises(asyncio.CancelledError):
            await add(range(STEPS, 2 * STEPS))
        monkeypatch.setattr(context, "_compact", compacted)
        await add(range(2 * STEPS, 2 * STEPS + 100))
        work.given.clear()
        await asked(context, BUDGET)
        await asked(context, 25_000)
        assert not work.given

    asyncio.run(run())


def test_a_function_of_the_user_waits_for_the_budget_after_set_messages_too():
    given = []

    def compaction(messages, target):
        given.append(target)
        return messages[-4:]

    async def run():
        context = SimpleContextManager(
            BUDGET, compaction_strategy="custom", compaction_function=compaction
        )
        await context.set_messages(session("openai", STEPS))
        assert not given
        await asked(context, 25_000)
        assert len(given) == 1

    asyncio.run(run())
