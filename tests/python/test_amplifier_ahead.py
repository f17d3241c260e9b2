"""What a context does before a request asks for it."""

from __future__ import annotations

import asyncio
import contextlib
from itertools import chain
from types import SimpleNamespace

import pytest

import ullage
from ullage.amplifier import PersistentContextManager, SimpleContextManager, mount
from ullage.amplifier.mending import mended_end

from .amplifier_sessions import FORMS, TASK, called, faults, is_request, session, tokens

BUDGET = 8_000
# Messages at the end that "simple" keeps by default.
KEPT = 10


class Hooks:
    """Amplifier's hooks, which note what was going on when they heard of a compaction."""

    def __init__(self):
        self.doing = ""
        self.heard = []

    async def emit(self, event, data):
        if event == "context:compaction":
            self.heard.append(self.doing)


def simple(hooks=None, **settings):
    return SimpleContextManager(**{"max_tokens": BUDGET, "hooks": hooks, **settings})


async def turn(context, messages, hooks=None, pause=0.0):
    """The requests that a loop makes over these messages."""
    hooks = hooks or Hooks()
    requests = []
    for message in messages:
        hooks.doing = "adding"
        await context.add_message(message)
        await asyncio.sleep(pause)
        if is_request(message):
            hooks.doing = "requesting"
            requests.append(await context.get_messages_for_request())
            assert tokens(requests[-1]) <= BUDGET
            assert not faults(requests[-1])
    return requests


@pytest.mark.parametrize("strategy", ["simple", "smart"])
@pytest.mark.parametrize("form", FORMS)
def test_a_request_finds_the_view_compacted_by_the_message_that_filled_it(form, strategy):
    hooks = Hooks()
    asyncio.run(turn(simple(hooks, compaction_strategy=strategy), session(form, 60), hooks))
    assert hooks.heard
    assert set(hooks.heard) == {"adding"}


def test_in_a_file_the_view_is_written_before_the_request(tmp_path):
    hooks = Hooks()
    path = tmp_path / "session.jsonl"

    async def run():
        context = PersistentContextManager(path, max_tokens=BUDGET, hooks=hooks)
        messages = iter(session("openai", 60))
        while not hooks.heard:
            await turn(context, [next(messages)], hooks)
        await context.close()
        again = PersistentContextManager(path, max_tokens=BUDGET, hooks=hooks)
        await again.initialize()
        assert again._last_compaction_stats == context._last_compaction_stats
        await again.close()

    asyncio.run(run())
    assert hooks.heard == ["adding"]


@pytest.mark.parametrize("kind", ["memory", "set in a file", "resumed from a file"])
def test_the_first_request_over_messages_that_came_at_once_finds_them_compacted(tmp_path, kind):
    hooks = Hooks()
    path = tmp_path / "session.jsonl"
    messages = session("openai", 60)

    async def run():
        if kind == "resumed from a file":
            with ullage.Transcript(path) as written:
                written.extend(messages)
        context = (
            simple(hooks)
            if kind == "memory"
            else PersistentContextManager(path, max_tokens=BUDGET, hooks=hooks)
        )
        hooks.doing = "setting"
        await context.set_messages(messages)
        hooks.doing = "requesting"
        assert tokens(await context.get_messages_for_request()) <= BUDGET
        assert await context.get_messages() == messages
        if isinstance(context, PersistentContextManager):
            await context.close()

    asyncio.run(run())
    assert hooks.heard == ["setting"]


@pytest.mark.parametrize("budget", [BUDGET - 2_000, BUDGET, BUDGET + 500, 3 * BUDGET])
def test_a_budget_that_is_told_later_gives_what_it_would_have_given_at_once(budget):
    messages = session("openai", 60)

    async def run():
        prepared, plain = simple(), simple()
        await prepared.set_messages(messages)
        assert prepared._last_compaction_stats is not None
        for message in messages:
            await plain.add_message(message)
        view = await prepared.get_messages_for_request(budget)
        assert tokens(view) <= budget
        seen = [m["content"] for m in await plain.get_messages_for_request(budget)]
        if budget > BUDGET:
            assert [m["content"] for m in view] == seen
        else:
            # What fills the view again and again is compacted as often; the last messages stay.
            assert [m["content"] for m in view][-KEPT:] == seen[-KEPT:]

    asyncio.run(run())


def test_the_only_provider_of_a_session_tells_the_budget_before_a_request():
    hooks = Hooks()
    defaults = {"context_window": BUDGET + 1_500, "max_output_tokens": 1_000}
    provider = SimpleNamespace(get_info=lambda: SimpleNamespace(defaults=defaults))

    async def run(providers):
        coordinator = SimpleNamespace(hooks=hooks, context=None, get={"providers": providers}.get)
        await mount(coordinator)
        context = coordinator.context
        hooks.doing = "setting"
        await context.set_messages(session("openai", 60))
        for message in called("openai", 99, "the last of it"):
            await context.add_message(message)
        hooks.doing = "requesting"
        await context.get_messages_for_request(provider=provider)
        assert context._last_compaction_stats["budget"] < BUDGET

    asyncio.run(run({"one": provider}))
    assert hooks.heard == ["setting"]
    # Of two nobody knows which will be asked.
    asyncio.run(run({"one": provider, "two": provider}))
    assert hooks.heard == ["setting", "requesting"]


@pytest.mark.parametrize("strategy", ["simple", "smart"])
@pytest.mark.parametrize("asked_before", [True, False])
def test_messages_that_nobody_asks_for_in_between_are_compacted_as_they_come(
    asked_before, strategy
):
    hooks = Hooks()
    context = simple(hooks, compaction_strategy=strategy)
    steps = [called("openai", number, "word of output\n" * 200) for number in range(10, 200)]

    async def run():
        messages = session("openai", 1)
        await context.set_messages(messages)
        if asked_before:
            await context.get_messages_for_request()
        hooks.doing = "adding"
        for message in chain.from_iterable(steps):
            await context.add_message(message)
            shown, _ = context._view.shown(mended_end)
            assert tokens(shown) <= BUDGET or context._view.waits
        # Each time, a good part of the budget has come in since the last.
        assert 1 < len(hooks.heard) < len(steps) / 2
        view = await context.get_messages_for_request()
        assert tokens(view) <= BUDGET
        assert not faults(view)
        assert [m["content"] for m in view][-1] == steps[-1][-1]["content"]
        if strategy == "simple" and not asked_before:
            assert len([m for m in view if m["role"] != "system"]) <= KEPT + 2

    asyncio.run(run())


@pytest.mark.parametrize("strategy", ["simple", "smart"])
def test_a_first_budget_for_all_of_the_history_shows_all_of_it(strategy):
    context = simple(compaction_strategy=strategy)
    messages = session("openai", 60)

    async def run():
        for message in messages:
            await context.add_message(message)
        assert context._last_compaction_stats is not None
        view = await context.get_messages_for_request(100 * BUDGET)
        assert [m["content"] for m in view] == [m["content"] for m in messages]

    asyncio.run(run())


@pytest.mark.parametrize("kind", ["custom", "judged"])
def test_what_asks_the_user_is_asked_once_ahead_and_not_before_the_budget_is_known(kind):
    asked = []

    def compaction(messages, target):
        asked.append(len(messages))
        return messages[-4:]

    def importance(messages):
        asked.append(len(messages))
        return [0.0] * len(messages)

    context = simple(
        compaction_strategy="custom" if kind == "custom" else "smart",
        compaction_function=compaction if kind == "custom" else None,
        importance=importance if kind == "judged" else None,
    )

    async def fill(numbers):
        for number in numbers:
            for message in called("openai", number, "word of output\n" * 200):
                await context.add_message(message)

    async def run():
        await fill(range(10, 60))
        assert not asked
        assert tokens(await context.get_messages_for_request()) <= BUDGET
        asked.clear()
        await fill(range(60, 200))
        assert sum(asked) < 60, "one compaction"
        assert asked

    asyncio.run(run())


def test_what_fails_ahead_fails_the_request_and_not_the_message():
    asked = []

    async def custom(messages, target):
        asked.append(len(messages))
        return messages

    context = simple(compaction_strategy="custom", compaction_function=custom)
    long = {"role": "user", "content": "word " * 2 * BUDGET}

    async def run():
        await turn(context, session("openai", 1))
        for number in range(5):
            await context.add_message(long)
            assert len(context.messages) == 5 + number
        ahead = len(asked)
        assert ahead > 0
        await context.add_message(long)
        assert len(asked) == ahead, "once between two requests"
        with pytest.raises(ullage.BudgetError):
            await context.get_messages_for_request()
        assert len(asked) > ahead

    asyncio.run(run())


def test_who_is_cancelled_while_the_view_is_compacted_has_added_the_message():
    begun = asyncio.Event()

    async def slow(messages, target):
        begun.set()
        await asyncio.sleep(60)
        return messages

    context = simple(compaction_strategy="custom", compaction_function=slow)

    async def run():
        await turn(context, session("openai", 1))
        call, result = called("openai", 9, "word of output\n" * BUDGET)
        await context.add_message(call)
        adding = asyncio.create_task(context.add_message(result))
        await begun.wait()
        adding.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await adding
        assert asyncio.all_tasks() == {asyncio.current_task()}
        assert context.messages[-1]["content"] == result["content"]
        context.compaction_function = lambda messages, target: messages[-2:]
        view = await context.get_messages_for_request()
        assert tokens(view) <= BUDGET
        assert not faults(view)

    asyncio.run(run())


@pytest.mark.parametrize("form", FORMS)
def test_the_same_messages_give_the_same_requests_however_they_are_timed(form):
    def without_times(requests):
        return [[m["content"] for m in request] for request in requests]

    async def run(pause):
        return without_times(await turn(simple(compaction_strategy="smart"), messages, pause=pause))

    messages = session(form, 40)
    assert asyncio.run(run(0.0)) == asyncio.run(run(0.001))


def test_a_result_that_comes_after_a_hooks_words_is_not_lost():
    first, second = called("openai", 1, "found the one"), called("openai", 2, "found the other")
    both = {**first[0], "tool_calls": [*first[0]["tool_calls"], *second[0]["tool_calls"]]}
    hook = {"role": "system", "content": "remember", "metadata": {"source": "hook"}}
    context = simple()

    async def run():
        await turn(context, [{"role": "user", "content": TASK}])
        for message in (both, first[1], hook, second[1]):
            await context.add_message(message)
        view = await context.get_messages_for_request()
        assert not faults(view)
        for found in ("found the one", "found the other", "remember"):
            assert found in str(view)

    asyncio.run(run())


def test_who_counts_a_resumed_session_leaves_its_view(tmp_path):
    path = tmp_path / "session.jsonl"

    async def run():
        context = PersistentContextManager(path)
        for message in session("openai", 60):
            await context.add_message(message)
        seen = await context.get_messages_for_request(BUDGET)
        await context.close()
        again = PersistentContextManager(path)
        assert await again.get_token_count() == tokens(seen)
        assert await again.should_compact() is False
        assert await again.get_messages_for_request(BUDGET) == seen
        await again.close()

    asyncio.run(run())
