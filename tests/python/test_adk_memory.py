"""The plugin's memory of conversations: enough to decide once, and no more."""

# mypy: disable-error-code="arg-type,misc,override"

import asyncio
import threading
from typing import Any

import pytest
from google.genai import types

import ullage
from ullage._engine.lru_cache import LruCache
from ullage.adk import ContextPlugin

from .gemini_host import Host, agent, ask, call, gemini, last_text, text
from .lengths import first
from .test_adk_plugin import TASK, fetch, investigation, lines, small
from .test_adk_sessions import made_service

WINDOW = 10_000


def known(plugin) -> Any:
    return plugin._requests._conversations._known._values


def measure(number: int) -> dict[str, Any]:
    """Measures."""
    nested = {"a": [1, 0.1 + 0.2, {"b": None}], "ok": True}
    return {"p99": 1.5, "nested": nested, "logs": lines(number, 25)}


@pytest.mark.parametrize("kind", first(2, ["memory", "sqlite", "database"]))
def test_what_was_decided_holds_in_the_next_invocation(kind, tmp_path):
    def script(number, _):
        if number % 6 == 5:
            return text("Noted.")
        made: Any = call("measure", number=number)
        made.parts[0].thought_signature = b"\x00\xff%d" % number
        return made

    model = gemini(script, window=8_000)
    service = made_service(kind, tmp_path)
    host = Host(agent(model, [measure]), [small(8_000)], service=service)

    async def talk():
        for turn in range(6):
            await host.ask(f"{turn}: {TASK}")
        if kind == "database":
            await service.close()

    asyncio.run(talk())
    assert model.refusals == 0
    assert 1 <= model.compactions <= 5, "not one for each invocation"


def test_between_invocations_only_what_was_compacted_is_kept():
    plugin = small(WINDOW)
    model = gemini(investigation(30), window=WINDOW)
    ask(Host(agent(model, [fetch]), [plugin]), TASK)
    ((one, _bytes),) = known(plugin).values()
    assert one._view._last is None
    state = one._view.state()
    assert 0 < len(state["messages"]) < 30
    counter = ullage.TokenCounter.for_model("gemini-2.5-pro")
    for compaction in state["view"]["budgets"][0]["compactions"]:
        made = [
            shown["message"]
            for piece in compaction["pieces"]
            if isinstance(piece, dict)
            for shown in piece["shows"]
            if "message" in shown
        ]
        contents = [types.Content.model_validate(state["messages"][place]) for place in made]
        assert counter.count_messages(contents, "gemini") <= WINDOW
    assert not plugin._meter._calls._values


def test_of_sessions_that_were_not_compacted_nothing_is_kept():
    plugin = small(WINDOW)

    async def talk():
        for number in range(40):
            host = Host(agent(gemini([text("Hello.")])), [plugin])
            await host.ask("Hello?", f"s{number}")

    asyncio.run(talk())
    assert not known(plugin)
    assert plugin.usage.total_calls == 40


def test_a_conversation_that_was_forgotten_is_compacted_again():
    plugin = small(WINDOW)
    model = gemini(
        lambda n, _: text("Noted.") if n % 15 == 14 else call("fetch", number=n), window=WINDOW
    )
    host = Host(agent(model, [fetch]), [plugin])
    ask(host, TASK)
    known(plugin).clear()
    assert last_text(ask(host, "Go on.")) == "Noted."
    assert model.refusals == 0


def test_a_rewind_is_noticed():
    plugin = small(WINDOW)
    model = gemini(
        lambda n, _: text("Noted.") if n % 15 == 14 else call("fetch", number=n), window=WINDOW
    )
    host = Host(agent(model, [fetch]), [plugin])

    async def talk():
        first = await host.ask("First: look at the payments.")
        await host.ask("Second: look at the shop.")
        await host.runner.rewind_async(
            user_id="u", session_id="s", rewind_before_invocation_id=first[0].invocation_id
        )
        return await host.ask("Third: look at the stock.")

    assert last_text(asyncio.run(talk())) == "Noted."
    assert model.refusals == 0
    after = "".join(model.sent[-1])
    assert "Third" in after
    assert "First" not in after
    assert "Second" not in after


def test_threads_with_loops_of_their_own_share_a_plugin():
    plugin = small(WINDOW)
    outcomes = []

    def work(number):
        model = gemini(investigation(15), window=WINDOW)
        events = ask(Host(agent(model, [fetch]), [plugin]), TASK, f"s{number}")
        counted = plugin.usage.usage(f"test/u/s{number}").prompt
        outcomes.append((last_text(events), model.refusals, counted == sum(model.counts)))

    threads = [threading.Thread(target=work, args=(n,)) for n in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert outcomes == [("It is the database.", 0, True)] * 3


def test_a_summary_is_asked_for_once_for_each_compaction():
    asked = []

    async def summarize(request):
        asked.append(len(request.messages))
        return "The database was slow in every log."

    policy = ullage.Policy(window=WINDOW, reserve_output=1_000)
    own = ullage.ContextManager(
        policy, model="gemini-2.5-pro", summarizer=summarize, format="gemini", append_only=True
    )
    model = gemini(investigation(30), window=WINDOW)
    ask(Host(agent(model, [fetch]), [ContextPlugin(engine=own)]), TASK)
    assert 1 <= len(asked) == model.compactions
    assert "The database was slow in every log." in "".join(model.sent[-1])


def test_a_workflow_of_agents_is_managed_too():
    from google.adk.workflow import START, Workflow

    models = [gemini(investigation(15), window=WINDOW) for _ in range(2)]
    first, second = (agent(m, [fetch], name=f"a{n}") for n, m in enumerate(models))
    plugin = small(WINDOW)
    ask(Host(Workflow(name="flow", edges=[(START, first), (first, second)]), [plugin]), TASK)
    for number, model in enumerate(models):
        assert model.refusals == 0
        assert plugin.usage.usage("test/u/s", f"a{number}").prompt == sum(model.counts)


def test_a_run_that_is_cancelled_leaves_the_plugin_in_order():
    hanging = asyncio.Event()

    async def hang() -> str:
        """Hangs."""
        hanging.set()
        await asyncio.sleep(3_600)
        return "never"

    def script(number, _):
        if number % 25 == 24:
            return text("Noted.")
        return call("hang") if number in (3, 6, 15) else call("fetch", number=number)

    plugin = small(WINDOW)
    model = gemini(script, window=WINDOW)
    host = Host(agent(model, [fetch, hang]), [plugin])

    async def talk():
        for _ in range(3):
            hanging.clear()
            run = asyncio.create_task(host.ask(TASK))
            await hanging.wait()
            run.cancel()
            with pytest.raises(asyncio.CancelledError):
                await run
        return await host.ask("Go on.")

    assert last_text(asyncio.run(talk())) == "Noted."
    assert model.refusals == 0
    assert plugin.usage.usage("test/u/s").prompt == sum(model.counts)


def test_the_values_used_last_are_kept():
    newest: LruCache[int] = LruCache(2)
    for number in range(3):
        newest.put(number, number)
    assert newest.get(0) is None
    assert newest.get(1) == 1
    newest.put(3, 3)
    assert newest.get(2) is None, "one was used later"
    assert newest.take(1) == 1
    assert len(newest) == 1
