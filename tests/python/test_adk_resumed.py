"""A decision about a session holds in other processes, and in runs at the same time."""

# mypy: disable-error-code="arg-type,misc,override"

import asyncio
import base64
import itertools
import json
import zlib
from typing import Any

import pytest
from google.adk.agents._streaming_mode import StreamingMode
from google.adk.agents.run_config import RunConfig
from google.adk.events import Event
from google.adk.sessions import InMemorySessionService
from google.adk.tools.agent_tool import AgentTool
from google.genai import types

import ullage
from ullage.adk import ContextCallbacks, ContextPlugin, requests
from ullage.adk.requests import written_view

from .gemini_host import Host, agent, ask, call, gemini, last_text, text
from .lengths import first, long
from .test_adk_plugin import TASK, engine, fetch, investigation, lines, small
from .test_adk_sessions import made_service

WINDOW = 10_000
KEY = "ullage/sre//gemini-2.5-pro"


def measure(number: int) -> dict[str, Any]:
    """Measures."""
    return {
        "p99": 0.1 + 0.2,
        "none": None,
        "\u00fc": ["\u2028", True],
        "logs": fetch(number)["logs"],
    }


def signed(name: str, number: int) -> types.Content:
    made = call(name, number=number)
    assert made.parts
    made.parts[0].thought_signature = b"\x00\xff%d" % number
    return made


def turns(calls: int) -> Any:
    return lambda n, _: text("Noted.") if n % calls == calls - 1 else signed("measure", n)


def begins_alike(sent: list[list[str]]) -> bool:
    return all(after[: len(before)] == before for before, after in itertools.pairwise(sent))


@pytest.mark.parametrize(
    ("kind", "how"),
    [
        ("memory", "plugin"),
        ("sqlite", "callbacks"),
        long("memory", "callbacks"),
        long("sqlite", "plugin"),
        long("database", "plugin"),
        long("database", "callbacks"),
    ],
)
def test_a_resumed_session_begins_with_what_was_sent_before(kind, how, tmp_path):
    service: Any = None
    model = gemini(turns(6), window=WINDOW)
    firsts = []

    async def process(words):
        """A turn in a process of its own: nothing is remembered but by the session."""
        nonlocal service
        if service is None or kind != "memory":
            service = made_service(kind, tmp_path)
        if how == "plugin":
            host = Host(agent(model, [measure]), [small(WINDOW)], service=service)
        else:
            fields = ContextCallbacks(engine=engine(WINDOW)).fields()
            host = Host(agent(model, [measure], **fields), service=service)
        assert last_text(await host.ask(words)) == "Noted."
        if kind == "database":
            await service.close()

    for turn in range(5):
        firsts.append(len(model.sent))
        asyncio.run(process(f"{turn}: {TASK}"))
    assert model.refusals == 0
    changed = {
        n
        for n, (before, after) in enumerate(itertools.pairwise(model.sent), start=1)
        if after[: len(before)] != before
    }
    assert changed, "there were compactions"
    assert len(changed) <= 6
    # A first request may be above the mark; then it is compacted, as it would be in one process.
    assert len(changed & set(firsts)) <= 1


def test_without_the_session_it_is_compacted_again():
    service = InMemorySessionService()
    model = gemini(turns(6), window=WINDOW)
    for turn in range(4):
        plugin = ContextPlugin(engine=engine(WINDOW), remember="process")
        host = Host(agent(model, [measure]), [plugin], service=service)
        ask(host, f"{turn}: {TASK}")
    assert asyncio.run(host.session()).state == {}
    assert not begins_alike([model.sent[17], model.sent[18]])


def test_the_later_decision_of_another_process_is_taken_over():
    service = InMemorySessionService()
    model = gemini(turns(10), window=WINDOW)
    hosts = [Host(agent(model, [measure]), [small(WINDOW)], service=service) for _ in range(2)]
    for turn in range(5):
        # As behind a balancer: each has forgotten nothing, and does not know what the other did.
        assert last_text(ask(hosts[turn % 2], f"{turn}: {TASK}")) == "Noted."
    assert model.refusals == 0
    changed = [
        n
        for n, (before, after) in enumerate(itertools.pairwise(model.sent), start=1)
        if after[: len(before)] != before
    ]
    assert all(b - a > 3 for a, b in itertools.pairwise(changed)), changed


def test_an_answer_that_failed_does_not_bring_an_older_decision_back():
    def script(number, request):
        if number > 30 and not failed and not begins_alike(model.sent[-2:]):
            failed.append(number)
            raise RuntimeError("503 try later")
        return text("Noted.") if number % 20 == 19 else signed("measure", number)

    failed: list[int] = []
    model = gemini(script, window=WINDOW)
    plugin = small(WINDOW)
    host = Host(agent(model, [measure]), [plugin])
    ask(host, TASK)
    with pytest.raises(RuntimeError, match="503"):
        ask(host, "Go on.")
    before = asyncio.run(host.session()).state[KEY]
    ((known, _bytes),) = plugin._requests._conversations._known._values.values()
    assert before != written_view(known.dump()), "the decision was not stored with the answer"
    refused = model.sent[-1]
    ask(host, "Go on again.")
    again = model.sent[failed[0] + 1]
    assert again[: len(refused) - 1] == refused[:-1]
    assert model.refusals == 0


def test_after_a_rewind_what_was_decided_before_holds_again():
    model = gemini(turns(6), window=WINDOW)
    plugin = small(WINDOW)
    host = Host(agent(model, [measure]), [plugin])

    async def talk():
        while not model.compactions:
            await host.ask(TASK)
        before, last = model.compactions, model.sent[-1]
        first = None
        while model.compactions == before:
            asked = (await host.ask(TASK))[0].invocation_id
            first = first or asked
        await host.runner.rewind_async(
            user_id="u", session_id="s", rewind_before_invocation_id=first
        )
        number = len(model.sent)
        await host.ask("Another way.")
        return last, model.sent[number]

    last, again = asyncio.run(talk())
    assert again[: len(last)] == last
    assert model.refusals == 0


def test_runs_of_one_session_at_once_each_keep_what_they_decided():
    plugin = small(WINDOW)
    models = [gemini(investigation(20), window=WINDOW) for _ in range(3)]
    service = InMemorySessionService()
    hosts = [Host(agent(model, [later]), [plugin], service=service) for model in models]

    async def talk():
        await hosts[0].session()
        asked = (host.ask(f"{n}: {TASK}") for n, host in enumerate(hosts))
        return await asyncio.gather(*asked)

    for events in asyncio.run(talk()):
        assert last_text(events) == "It is the database."
    alone = gemini(investigation(20), window=WINDOW)
    ask(Host(agent(alone, [later]), [small(WINDOW)]), TASK)
    for number, model in enumerate(models):
        assert model.refusals == 0
        assert model.compactions <= alone.compactions + 1, "as many as by itself"
        assert all(f"{number}: {TASK}" in "".join(sent) for sent in model.sent)


async def later(number: int) -> dict[str, Any]:
    """Fetches logs, while others do."""
    await asyncio.sleep(0)
    return fetch(number)


later.__name__ = "fetch"


def test_what_the_session_keeps_is_what_changed_and_nothing_else():
    model = gemini(investigation(30), window=WINDOW)
    host = Host(agent(model, [fetch]), [small(WINDOW)])
    ask(host, TASK)
    state = asyncio.run(host.session()).state
    assert list(state) == [KEY]
    said = json.loads(zlib.decompress(base64.b64decode(state[KEY].rpartition(":")[2])))
    assert len(said["messages"]) < 10, "what stayed is named by its place"
    assert len(state[KEY]) < 10_000


@pytest.mark.parametrize(
    "broken",
    first(
        3,
        [
            "view:AAAA",
            7,
            "view:eJyrrgUAAXUA+Q==",
            "view:!!!",
            "view:",
            "view:eJyLjgUAARUAuQ==",
            "other:x",
            None,
        ],
    ),
)
def test_a_state_that_cannot_be_read_is_passed_over(broken):
    service = InMemorySessionService()
    model = gemini(turns(15), window=WINDOW)
    host = Host(agent(model, [measure]), [small(WINDOW)], service=service)
    ask(host, TASK)

    async def spoil():
        session = await host.session()
        event = Event(author="sre", invocation_id="x")
        event.actions.state_delta[KEY] = broken
        await service.append_event(session, event)

    asyncio.run(spoil())
    other = Host(agent(model, [measure]), [small(WINDOW)], service=service)
    assert last_text(ask(other, "Go on.")) == "Noted."
    assert model.refusals == 0


def test_a_view_that_is_too_long_for_a_session_is_not_written(monkeypatch):
    state = {"view": {}, "messages": [{"text": "\ud800 half a character"}]}
    text = written_view({"mark": "m", "state": state})
    assert requests._SavedView(text) == {"mark": "m"}
    assert requests._SavedView(text)["state"] == state
    monkeypatch.setattr(requests, "_LONGEST", len(text) - 1)
    assert written_view({"mark": "m", "state": state}) == "view:m:"
    assert written_view({"mark": "m", "state": {"messages": [object()]}}) == "view:m:"


def test_a_view_of_an_earlier_version_is_read():
    state = {"view": {"a": 1}, "messages": []}
    old = "view:" + base64.b64encode(zlib.compress(json.dumps(state).encode())).decode()
    assert requests._SavedView(old)["state"] == state


def test_of_a_streamed_answer_the_last_piece_has_the_decision():
    model = gemini(
        lambda n, _: types.Content(
            role="model", parts=[types.Part(text=f"{n} {k}") for k in range(3)]
        ),
        window=8_000,
    )
    host = Host(agent(model), [small(8_000)])
    pieces: list[tuple[bool | None, bool]] = []

    async def talk():
        await host.session()
        for turn in range(20):
            events = host.runner.run_async(
                user_id="u",
                session_id="s",
                new_message=text(f"{turn}: " + lines(turn, 40), "user"),
                run_config=RunConfig(streaming_mode=StreamingMode.SSE),
            )
            async for event in events:
                # The data that a service would store or send.
                sent = event.model_dump(mode="json")["actions"]["state_delta"]
                pieces.append((event.partial, KEY in sent))

    asyncio.run(talk())
    assert model.compactions, "before answers, which come in pieces"
    # The state also changes with the first cached answer, and if a compaction waits.
    assert 1 <= pieces.count((None, True)) <= 2 * model.compactions + 1
    assert pieces.count((True, False)) > 40
    assert (True, True) not in pieces


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_agents_that_are_tools_leave_nothing_in_the_session_of_the_user():
    asked = gemini(investigation(30), window=WINDOW)
    inner = agent(asked, [fetch], name="inner", description="Looks.")
    model = gemini([call("inner", request="look"), text("Done.")], window=WINDOW)
    host = Host(agent(model, [AgentTool(inner)]), [small(WINDOW)])
    assert last_text(ask(host, TASK)) == "Done."
    assert asked.compactions
    assert asyncio.run(host.session()).state == {}


def test_where_to_remember_is_checked():
    with pytest.raises(ullage.PolicyError, match="remember"):
        ContextPlugin(remember="disk")
