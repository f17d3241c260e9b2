"""The context of an Amplifier session, in memory."""

from __future__ import annotations

import asyncio
import inspect
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import ullage
from ullage.amplifier import SimpleContextManager, mount

from .amplifier_sessions import (
    FORMS,
    TASK,
    Hooks,
    asked,
    called,
    faults,
    filled,
    is_request,
    requested,
    session,
    talk,
    tokens,
)
from .call_counter import CallCounter

STRATEGIES = ("simple", "smart")


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("form", FORMS)
async def test_requests_between_compactions_begin_as_the_one_before(form, strategy):
    hooks = Hooks()
    context = SimpleContextManager(max_tokens=8_000, compaction_strategy=strategy, hooks=hooks)
    messages = session(form, 60)

    last: list[Any] = []
    changes = 0
    for message in messages:
        await context.add_message(message)
        if is_request(message):
            request = await asked(context, 8_000)
            assert str(request).count(TASK) == 1
            assert talk(request)[-1]["content"] == message["content"]
            changes += request[: len(last)] != last
            last = request
    assert changes <= hooks.compactions < 20
    assert hooks.compactions > 0


@pytest.mark.parametrize("form", FORMS)
def test_the_history_is_never_compacted_nor_the_callers_message_changed(form):
    messages = session(form, 30)
    copies = [dict(message) for message in messages]
    context = filled(messages, max_tokens=4_000)
    requested(context)
    asyncio.run(context.compact())
    assert messages == copies
    kept = asyncio.run(context.get_messages())
    assert [{k: v for k, v in m.items() if k != "metadata"} for m in kept] == messages
    kept[0]["content"] = "changed"
    assert context.messages[0]["content"] == "You are an auditor."


@pytest.mark.parametrize("max_tokens", [200, 500, 800, 801, 1_000])
def test_a_small_budget_compacts(max_tokens):
    view = requested(filled(session("openai", 20), max_tokens=max_tokens))
    assert tokens(view) <= max_tokens


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("form", FORMS)
def test_a_huge_last_result_is_cut_to_the_budget(form, strategy):
    messages = [{"role": "user", "content": TASK}, *called(form, 1, "word of output\n" * 50_000)]
    view = requested(filled(messages, max_tokens=10_000, compaction_strategy=strategy))
    assert tokens(view) <= 10_000
    assert not faults(view)


def test_a_request_that_cannot_fit_is_refused_by_name():
    # Nothing may shorten what the system says.
    messages = [{"role": "system", "content": "word " * 5_000}, {"role": "user", "content": TASK}]
    with pytest.raises(ullage.BudgetError) as raised:
        requested(filled(messages, max_tokens=1_000))
    assert raised.value.floor > 1_000
    assert raised.value.messages[0] == 0


def test_a_larger_budget_shows_the_whole_history_again():
    context = filled(session("openai", 30), max_tokens=4_000)
    assert len(requested(context)) < len(context.messages)
    assert requested(context, 100_000) == context.messages


def test_the_budget_is_that_of_the_providers_model():
    info = SimpleNamespace(id="gpt-4o", context_window=9_000, max_output_tokens=4_000)
    defaults = {"context_window": 6_000, "max_output_tokens": 2_000}
    by_model = SimpleNamespace(get_model_info=lambda: info)
    by_info = SimpleNamespace(get_info=lambda: SimpleNamespace(defaults=defaults))
    failing = SimpleNamespace(get_model_info=lambda: 1 / 0, get_info=lambda: 1 / 0)
    for provider, most in ((by_model, 6_000), (by_info, 4_000), (failing, 8_000)):
        context = filled(session("openai", 60), max_tokens=8_000)
        view = requested(context, provider=provider)
        assert most / 4 < tokens(view) <= most


@pytest.mark.parametrize("form", FORMS)
def test_a_system_prompt_is_asked_for_with_each_request(form):
    prompts = iter(["one", "two"])

    async def factory():
        return next(prompts)

    context = filled(session(form, 3))
    hook = {"role": "system", "content": "remember", "metadata": {"source": "hook"}}
    asyncio.run(context.add_message(hook))
    asyncio.run(context.set_system_prompt_factory(factory))
    first, second = requested(context), requested(context)
    assert [m["content"] for m in first if m["role"] == "system"] == ["one", "remember"]
    assert first[-1]["content"] == "remember"  # where the hook put it
    assert second[0]["content"] == "two"
    assert second[1:] == first[1:]


def test_a_system_prompt_takes_its_room():
    async def factory():
        return "rule " * next(lengths)

    lengths = iter(range(0, 7_000, 500))
    context = filled(session("openai", 60), max_tokens=8_000)
    asyncio.run(context.set_system_prompt_factory(factory))
    for _ in range(14):
        assert tokens(requested(context)) <= 8_000


def test_auto_compact_false_leaves_it_to_compact():
    context = filled(session("openai", 60), max_tokens=8_000, auto_compact=False)
    assert len(requested(context)) == len(context.messages)
    assert not asyncio.run(context.should_compact())
    before = asyncio.run(context.get_token_count())
    saved = asyncio.run(context.compact())
    after = asyncio.run(context.get_token_count())
    assert saved > 0
    assert after <= 8_000 < before
    assert context.config["max_tokens"] == 8_000


def test_events_bear_the_names_of_the_document_and_of_the_code():
    hooks = Hooks()
    requested(filled(session("openai", 60), max_tokens=8_000, hooks=hooks))
    names = [event for event, _ in hooks.events]
    assert names == ["context:compact", "context:compaction"] * (len(names) // 2)
    assert names
    for _, data in hooks.events:
        assert data["tokens_saved"] == data["tokens_before"] - data["tokens_after"] > 0
        assert data["before_tokens"] == data["tokens_before"]
        assert data["messages_removed"] > 0
        assert 1 <= data["strategy_level"] <= 8


def test_a_hook_that_fails_does_not_fail_the_request(caplog):
    hooks = SimpleNamespace(emit=lambda event, data: 1 / 0)
    assert requested(filled(session("openai", 60), max_tokens=8_000, hooks=hooks))
    assert "a hook failed" in caplog.text


@pytest.mark.parametrize("verbosity", ["off", "minimal", "normal", "verbose"])
def test_the_notice_says_as_much_as_is_wanted(verbosity):
    context = filled(session("openai", 60), max_tokens=8_000, compaction_notice_verbosity=verbosity)
    view = requested(context)
    notices = [m for m in view if "context-compaction" in str(m.get("metadata"))]
    assert len(notices) == (verbosity != "off")
    if notices:
        assert view[1] is notices[0]
        assert notices[0]["metadata"] == {"source": "context-compaction", "ephemeral": True}
        text = notices[0]["content"]
        assert text.startswith('<system-reminder source="context-compaction">')
        assert ("Tokens:" in text) == (verbosity != "minimal")
        assert ("removed: message" in text) == (verbosity == "verbose")


def test_a_notice_waits_for_its_level_and_for_room():
    messages = session("openai", 20)

    def level_and_notice(**settings):
        context = filled(messages, max_tokens=5_000, compaction_strategy="smart", **settings)
        view = requested(context)
        assert context._last_compaction_stats is not None
        return context._last_compaction_stats["strategy_level"], "context-compaction" in str(view)

    level, told = level_and_notice()
    assert told
    assert level < 8
    assert level_and_notice(compaction_notice_min_level=level) == (level, True)
    assert level_and_notice(compaction_notice_min_level=level + 1) == (level, False)
    assert level_and_notice(compaction_notice_enabled=False)[1] is False


def test_a_subclass_words_its_own_notice():
    class Own(SimpleContextManager):
        def _format_compaction_notice(self):
            stats = self._last_compaction_stats
            return "" if stats is None else f"from {stats['before_messages']}"

    context = Own(max_tokens=8_000)
    for message in session("openai", 60):
        asyncio.run(context.add_message(message))
    assert requested(context)[1]["content"].startswith("from ")


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("look", ["get_token_count", "should_compact", "requested"])
def test_who_looks_while_a_tool_runs_changes_nothing(form, look):
    call, result = called(form, 1, "what the tool found")
    earlier = called(form, 0, "of an interrupted call")[0]
    for before in ([{"role": "user", "content": TASK}], [*session(form, 8), earlier]):
        asked = [*before, {"role": "user", "content": "Go on."}, call]
        context, plain = filled(asked), filled(asked)
        if look == "requested":
            assert not faults(requested(context))
        else:
            asyncio.run(getattr(context, look)())
        for one in (context, plain):
            asyncio.run(one.add_message(result))
            asyncio.run(one.add_message({"role": "user", "content": "And?"}))
        view = requested(context)
        assert not faults(view)
        assert [m["content"] for m in view] == [m["content"] for m in requested(plain)]
        assert view[-2]["content"] == result["content"]


def test_setting_and_clearing_begin_again():
    context = filled(session("openai", 30), max_tokens=4_000)
    requested(context)
    asyncio.run(context.set_messages([{"role": "user", "content": "New."}]))
    assert requested(context) == [{"role": "user", "content": "New."}]
    asyncio.run(context.clear())
    assert requested(context) == asyncio.run(context.get_messages()) == []


@pytest.mark.parametrize(
    "bad",
    [
        None,
        "text",
        [],
        {},
        {"content": "x"},
        {"role": 3},
        {"role": "robot", "content": "x"},
        {"role": "user", "content": None},
        {"role": "user", "content": 5},
        {"role": "user", "content": [None]},
        {"role": "assistant", "content": "", "tool_calls": [None]},
    ],
)
def test_what_is_no_message_is_refused_at_once(bad):
    context = SimpleContextManager()
    with pytest.raises(ullage.MessageError):
        asyncio.run(context.add_message(bad))
    with pytest.raises(ullage.MessageError):
        asyncio.run(context.set_messages([{"role": "user", "content": "x"}, bad]))
    assert context.messages == []


@pytest.mark.parametrize(
    "settings",
    [
        {"compact_threshold": 1.5},
        {"compaction_strategy": "clever"},
        {"compaction_notice_verbosity": "loud"},
        {"compaction_notice_min_level": 9},
        {"protected_recent": -1.0},
        {"compaction_notice_token_reserve": -1},
        {"max_tokens": 0},
        {"max_tokens": "200000"},
        {"auto_compact": "no"},
        {"target_usage": 0},
        {"protected_recent": 2},
        {"truncate_boundary": "half"},
        {"keep_last": 2.5},
        {"protected_tool_results": True},
    ],
)
def test_settings_out_of_range_are_refused_by_name(settings):
    with pytest.raises(ullage.PolicyError, match=next(iter(settings))):
        SimpleContextManager(**{"compaction_strategy": "smart", **settings})


@given(st.integers(0, 2**32), st.integers(300, 6_000), st.sampled_from(FORMS))
def test_random_sessions_fit_or_say_why_not(seed, budget, form):
    context = SimpleContextManager(compaction_strategy="smart" if seed % 2 else "simple")
    messages = session(form, seed % 23, lines=1 + seed % 90)

    async def run():
        for message in messages:
            await context.add_message(message)
        try:
            view = await context.get_messages_for_request(budget)
        except ullage.BudgetError as error:
            assert error.floor > error.budget  # noqa: PT017
        else:
            assert tokens(view) <= budget
            assert not faults(view)

    asyncio.run(run())


def test_what_is_added_while_a_judge_thinks_is_not_lost():
    added = {"role": "user", "content": "By the way."}

    async def judged(messages):
        if len(messages) > 1:
            await context.add_message(added)
        return [0.0] * len(messages)

    context = filled(
        session("openai", 60), max_tokens=8_000, compaction_strategy="smart", importance=judged
    )
    requested(context)
    assert requested(context)[-1]["content"] == added["content"]


def test_a_request_that_others_always_outrun_fits_all_the_same():
    inside = False

    async def outrun(messages, _):
        nonlocal inside
        if not inside:
            inside = True
            await context.compact()
            await context.add_message({"role": "user", "content": "new " * 3_000})
            await context.add_message({"role": "user", "content": "Go on."})
            await context.get_token_count()
            inside = False
        return messages[-1:]

    context = filled(
        session("openai", 40),
        max_tokens=2_000,
        compaction_strategy="custom",
        compaction_function=outrun,
    )
    assert tokens(requested(context)) <= 2_000


def test_tasks_and_threads_share_one_context():
    context = SimpleContextManager(max_tokens=6_000, compaction_strategy="smart")
    messages = session("openai", 40)
    asyncio.run(context.set_messages(messages))

    async def several():
        await asyncio.gather(*(asked(context, 6_000) for _ in range(8)))

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda _: asyncio.run(several()), range(4)))
    assert context.messages == messages


@pytest.mark.parametrize("budget", [200_000, 10_000_000])
def test_a_request_over_5000_messages_costs_what_is_new(budget):
    async def calls_of_request(steps):
        context = SimpleContextManager(max_tokens=budget, compaction_strategy="smart")
        await context.set_messages(session("openai", steps))
        await context.get_messages_for_request()
        await context.add_message({"role": "user", "content": "Next."})
        with CallCounter() as counter:
            await context.get_messages_for_request()
        return counter.calls

    assert asyncio.run(calls_of_request(2_300)) < 2 * asyncio.run(calls_of_request(20))


def test_its_methods_are_coroutine_functions():
    for name in ("add_message", "get_messages_for_request", "get_messages", "set_messages"):
        assert inspect.iscoroutinefunction(getattr(SimpleContextManager(), name))
    assert inspect.iscoroutinefunction(mount)
