"""The SRE agent's emergency compaction: its numbers, and none of its faults."""

# mypy: disable-error-code="arg-type,misc,override"

import asyncio
from typing import Any

import pytest
from google.adk.events import Event
from google.genai import types

from ullage.adk import ContextPlugin, sre_agent

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
    """What the model was sent when the user went on with a session that has these contents."""
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


def test_the_middle_becomes_a_line_for_each_call_and_result():
    (sent,) = continued(history(*(lines(n, 60) for n in range(120)))).sent
    assert TASK in sent[0]
    assert "Called tool: tool_100_0" in sent[0]
    assert "Result: " in sent[0]
    recent = "".join(sent[-6:])
    assert "ullage" not in recent, "the newest are as they were"
    assert "tool_119_0" in recent
    assert "Go on." in sent[-1]


def test_the_newest_steps_are_not_those_that_are_dropped_from_the_lines():
    (sent,) = continued(history(*(lines(n, 60) for n in range(120)))).sent
    condensed = sent[0]
    for number in (100, 110, 116):
        assert f"Called tool: tool_{number}_0" in condensed


@pytest.mark.parametrize("trailing", [0, 1, 2, 3])
def test_calls_and_results_stay_together_whatever_comes_last(trailing):
    said = [text(f"Remark {n}.", "user") for n in range(trailing)]
    continued([*history(*(lines(n, 60) for n in range(120))), *said])


def test_parallel_calls_stay_together():
    continued(history(*([lines(3 * n + k, 20) for k in range(3)] for n in range(120))))


def test_what_is_left_is_counted():
    # Each of the last ten messages is above the limit by itself.
    (sent,) = continued(history(*("x y " * 250_000 for _ in range(12)))).sent
    assert TASK in sent[0]


def test_a_few_contents_that_are_large_are_shortened_too():
    (sent,) = continued(history("a b " * 250_000, "c d " * 250_000, "e f " * 250_000)).sent
    assert len("".join(sent)) < 300_000


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


def test_it_holds_through_a_long_investigation():
    model = gemini(
        lambda n, _: call("fetch", number=n) if n < 60 else text("The end."), window=104_857
    )
    host = Host(agent(model, [fetch]), [ContextPlugin(engine=sre_agent(**SMALL))])
    assert last_text(asyncio.run(host.ask(TASK))) == "The end."
    assert model.refusals == 0
    assert 1 <= model.compactions <= 15
