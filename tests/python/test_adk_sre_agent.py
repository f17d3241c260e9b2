"""The SRE agent's emergency compaction: its numbers, and none of its faults."""

# mypy: disable-error-code="arg-type,index,misc,override,union-attr"

import asyncio
import json
import re
from typing import Any

import pytest
from google.adk.events import Event
from google.genai import types

import ullage
from ullage.adk import ContextPlugin, sre_agent
from ullage.adk.strategies import one_liner

from .adk_host import PAYLOADS
from .gemini_host import Host, agent, call, gemini, last_text, text
from .test_adk_plugin import TASK, lines

INSTRUCTION = "You are an SRE. Change nothing."

# A tenth of the document's numbers, so that the tests take a tenth of the time.
SMALL = {"window": 104_857, "reserve_output": 6_553}
TRIGGER = 75_000


def fetch(number: int) -> str:
    """Fetches logs."""
    return lines(number, 300)


def history(*responses: Any) -> list[types.Content]:
    """A session from before: the task, and a call for each response, or for each list of them."""
    contents = [text(TASK, "user")]
    for number, response in enumerate(responses):
        several = response if isinstance(response, list) else [response]
        names = [f"tool_{number}_{n}" for n in range(len(several))]
        contents.append(call(*names))
        parts = [
            types.Part.from_function_response(name=name, response={"result": one})
            for name, one in zip(names, several, strict=True)
        ]
        contents.append(types.Content(role="user", parts=parts))
    return contents


def continued(contents: list[types.Content], words: str = "Go on.", **settings: Any) -> Any:
    """The model after the user went on with a session that has these contents."""
    model = gemini([text("It is the database.")], window=104_857)
    host = Host(
        agent(model, [fetch], instruction=INSTRUCTION),
        [ContextPlugin(engine=sre_agent(**{**SMALL, **settings}))],
    )

    async def talk():
        session = await host.session()
        for content in contents:
            made = content.model_copy(deep=True)
            for number, part in enumerate(made.parts):
                for item in (part.function_call, part.function_response):
                    if item is not None:
                        item.id = f"adk-{item.name}-{number}"
            author = "user" if part.text and made.role == "user" else "sre"
            event = Event(author=author, invocation_id="before", content=made)
            await host.service.append_event(session, event)
        return await host.ask(words)

    assert last_text(asyncio.run(talk())) == "It is the database."
    assert model.refusals == 0, "as strict as Gemini is"
    assert model.counts[-1] <= 104_857
    return model


def test_the_numbers_are_those_of_the_document():
    policy = sre_agent().policy
    assert policy.high * (policy.window - policy.reserve_output) == pytest.approx(750_000)
    assert (policy.keep_recent, policy.keep_first, policy.cache_relax) == (10, 1, 0)
    assert sre_agent().counter.count("x" * 2_500) == 1_000
    assert sre_agent(keep_recent=12).policy.keep_recent == 12


def test_below_the_trigger_nothing_happens():
    (sent,) = continued(history(*(lines(n, 300) for n in range(15)))).sent
    assert len(sent) == 32
    assert "ullage" not in "".join(sent)


def investigation(calls: int) -> list[types.Content]:
    """A session with calls of an SRE's tools, each with arguments and what such a tool returns."""
    contents = [text(TASK, "user")]
    for number in range(calls):
        name, payload = list(PAYLOADS.items())[number % len(PAYLOADS)]
        contents.append(call(name, window=f"{number} min"))
        part = types.Part.from_function_response(name=name, response=payload(number))
        contents.append(types.Content(role="user", parts=[part]))
    return contents


def first_parts(sent: list[str]) -> list[str]:
    return [part["text"] for part in json.loads(sent[0])["parts"]]


@pytest.mark.parametrize("form", ["objects", "dicts"])
def test_the_middle_becomes_a_line_for_each_call_and_result(form):
    contents: list[Any] = [*investigation(120), text("Go on.", "user")]
    engine = sre_agent(**SMALL)
    before = [content.model_copy(deep=True) for content in contents]
    if form == "dicts":
        contents = [content.model_dump(exclude_none=True) for content in contents]
    assert engine.status(contents).due != "none"
    report = engine.compact(contents)
    removed = report.removed_messages
    left = [types.Content.model_validate(content) for content in contents]
    assert left[1:] == before[removed + 1 :], "the newest are as they were"
    task, note = (part.text for part in left[0].parts)
    assert task == TASK
    heading, of_them, *said = note.splitlines()
    assert heading.startswith("[ullage: ")
    assert of_them == "Summary of them:"
    expected = []
    for asked, answered in zip(
        before[1 : removed + 1 : 2], before[2 : removed + 1 : 2], strict=True
    ):
        (called,), (got,) = asked.parts, answered.parts
        window = called.function_call.args["window"]
        expected.append(f"• Called tool: {called.function_call.name}(window='{window}')")
        line = one_liner(got.function_response.name, got.function_response.response)
        expected.append(f"  └ {got.function_response.name}: {line}")
    assert said == expected
    assert report.summary is not None
    assert report.summary.by == "engine", "no model wrote it"


@pytest.mark.parametrize(
    ("tokens", "recent"), [(70_000, None), (76_000, 10), (89_000, 10), (91_000, 6), (200_000, 6)]
)
def test_ten_contents_stay_and_six_where_it_is_very_full(tokens, recent):
    contents = [text(TASK, "user")]
    for number in range(30):
        contents += [text(f"Thought {number}."), text("x y " * (tokens * 5 // 8 // 30), "user")]
    engine = sre_agent(**SMALL)
    assert engine.status(contents).tokens == pytest.approx(tokens, rel=0.01)
    before = list(contents)
    assert engine.view(contents) != contents or recent is None
    report = engine.compact(contents)
    assert len(contents) == (len(before) if recent is None else 1 + recent)
    if recent is not None:
        assert contents[1:] == before[-recent:]
        assert report.tokens_before - report.tokens_after > tokens / 2


def test_the_lines_go_on_from_one_compaction_to_the_next():
    model = gemini(
        lambda n, _: call("fetch", number=n) if n < 60 else text("The end."), window=104_857
    )
    plugin = ContextPlugin(engine=sre_agent(**SMALL))
    host = Host(agent(model, [fetch]), [plugin])
    assert last_text(asyncio.run(host.ask(TASK))) == "The end."
    assert model.refusals == 0
    assert 2 <= model.compactions <= 15
    note = first_parts(model.sent[-1])[1]
    steps = re.findall(r"Called tool: fetch\(number=(\d+)\)", note)
    assert steps == [str(number) for number in range(len(steps))]
    assert len(steps) > 25
    assert "older lines" not in note
    assert plugin.usage.usage("test/u/s", "(summaries)").calls == 0, "no model wrote them"


@pytest.mark.parametrize("place", [1, 61, 200])
def test_pinned_contents_stay_where_the_middle_is_condensed(place):
    contents = [*investigation(120), text("Go on.", "user")]
    pinned = contents[place : place + 2]
    sre_agent(**SMALL).compact(contents, pins=[place, place + 1])
    assert [any(one is kept for one in contents) for kept in pinned] == [True, True]
    assert len(contents) < 20
    assert ullage.validate(contents, "gemini") == []


@pytest.mark.parametrize("way", ["compact", "acompact", "view"])
def test_contents_stay_as_they_were_where_what_must_stay_does_not_fit(way):
    contents = [*investigation(120), text("x y " * 90_000, "user"), text("I see.")]
    before = list(contents)
    engine = sre_agent(**SMALL)

    async def compacted():
        await engine.acompact(contents, **pins)

    pins = {"pins": [len(contents) - 2]}
    with pytest.raises(ullage.BudgetError):
        asyncio.run(compacted()) if way == "acompact" else getattr(engine, way)(contents, **pins)
    assert all(one is kept for one, kept in zip(contents, before, strict=True))


def test_what_comes_in_during_a_compaction_stays_behind_it():
    contents = [*investigation(120), text("Go on.", "user")]

    async def summarize(request):
        contents.append(text("And then?", "user"))
        await asyncio.sleep(0)
        return "The database was looked at."

    engine = sre_agent(summarizer=summarize, **SMALL)
    asyncio.run(engine.acompact(contents))
    assert len(contents) < 20
    assert [content.parts[0].text for content in contents[-2:]] == ["Go on.", "And then?"]


def test_a_view_keeps_its_beginning_and_takes_edits_of_the_history():
    contents = [*investigation(160), text("Go on.", "user")]
    view = sre_agent(**SMALL).open()
    beginnings = set()
    for end in range(1, len(contents), 25):
        # ADK makes the contents anew for each request.
        history = [content.model_copy(deep=True) for content in contents[:end]]
        sent = view.messages(history)
        assert ullage.validate(sent, "gemini") == []
        beginnings.add(sent[0].model_dump_json())
    assert 2 <= len(beginnings) <= 12
    assert view.tokens < TRIGGER
    history[-1] = text("Something else.", "user")
    assert view.messages(history)[0].model_dump_json() in beginnings, "the newest was replaced"
    history[3] = text("Another start.")
    edited = view.messages(history)
    assert "• Thought: Another start." in edited[0].parts[1].text
    assert view.messages(history[:3]) == history[:3], "a rewind"
    before = view.tokens
    view.messages(contents)
    assert len(view.refused()) < len(contents)
    assert view.ceiling is not None
    assert before < view.tokens <= view.ceiling


def test_a_function_may_summarize_in_place_of_the_lines():
    asked = []

    def summarize(request):
        asked.append(request)
        return "The database was looked at."

    (sent,) = continued(investigation(120), summarizer=summarize).sent
    assert "The database was looked at." in first_parts(sent)[1]
    assert [request.max_tokens for request in asked] == [1_500]


def test_a_store_that_fails_does_not_release_the_brake(caplog):
    class Failing(ullage.MemoryStore):
        def put(self, content, **_):
            raise OSError("No space left on device")

    contents = [*investigation(120), text("x y " * 90_000, "user"), text("I see.")]
    (sent,) = continued(contents, store=Failing()).sent
    assert "• Called tool: " in first_parts(sent)[1]


@pytest.mark.parametrize("trailing", [0, 1, 2, 3])
def test_calls_and_results_stay_together_whatever_comes_last(trailing):
    said = [text(f"Remark {n}.", "user") for n in range(trailing)]
    continued([*history(*(lines(n, 120) for n in range(60))), *said])


def test_parallel_calls_stay_together():
    continued(history(*([lines(3 * n + k, 20) for k in range(3)] for n in range(120))))


def test_what_is_left_is_counted():
    # Each of the last ten messages is above the limit by itself.
    (sent,) = continued(history(*("x y " * 250_000 for _ in range(12)))).sent
    assert TASK in sent[0]


def test_a_few_contents_that_are_large_are_shortened_too():
    (sent,) = continued(history("a b " * 250_000, "c d " * 250_000, "e f " * 250_000)).sent
    assert len("".join(sent)) < 300_000


def test_a_first_request_that_is_too_long_is_shortened_last():
    pasted = "Why is this slow?\n" + "".join(lines(n, 300) for n in range(25))
    contents = [text(pasted, "user"), *investigation(12)[1:], text("Go on.", "user")]
    engine = sre_agent(**SMALL)
    report = engine.compact(contents)
    assert report.tokens_before > 98_304 > TRIGGER >= report.tokens_after
    assert "trim" in report.stages
    assert ullage.validate(contents, "gemini") == []
    assert "Why is this slow?" in contents[0].model_dump_json()
    assert contents[-1] == text("Go on.", "user")


def test_the_system_instruction_and_the_tools_are_counted_and_kept():
    model = gemini([text("Well.")], window=104_857)
    long = INSTRUCTION + " Be careful." * 12_000
    host = Host(agent(model, [fetch], instruction=long), [ContextPlugin(engine=sre_agent(**SMALL))])

    async def talk():
        await host.ask("x y " * 12_000)
        model.script = [None, text("Well.")]
        return await host.ask("Go on.")

    asyncio.run(talk())
    assert model.refusals == 0
