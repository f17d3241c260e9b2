"""The plugin in real runners, with a model that is as strict as Gemini."""

# mypy: disable-error-code="arg-type,misc,override"

import asyncio
import copy
import itertools
import random
from typing import Any

import pytest
from google.adk.models.llm_response import LlmResponse
from google.adk.plugins.base_plugin import BasePlugin
from google.genai import types

import ullage
from ullage.adk import ContextCallbacks, ContextPlugin

from .gemini_host import Gemini, Host, agent, ask, call, dumped, gemini, last_text, text
from .lengths import long

TASK = "Find out why checkout is slow. Do not change anything."


def lines(number: int, size: int) -> str:
    dice = random.Random(number)
    return "".join(
        f"2026-05-0{dice.randint(1, 9)} svc-{dice.randint(1, 40)} latency={dice.random():.4f}\n"
        for _ in range(size)
    )


def fetch(number: int) -> dict[str, Any]:
    """Fetches logs."""
    return {"status": "ok", "logs": lines(number, 30), "count": 30}


def investigation(calls: int):
    return lambda n, _: call("fetch", number=n) if n < calls else text("It is the database.")


def engine(window: int = 10_000, **settings):
    policy = ullage.Policy(**{"window": window, "reserve_output": 1_000, **settings})
    model = "gemini-2.5-pro"
    return ullage.ContextManager(policy, model=model, format="gemini", append_only=True)


def small(window: int = 10_000, **settings):
    return ContextPlugin(engine=engine(window, **settings))


def managed(model, how, **settings):
    if how == "plugin":
        return Host(agent(model, [fetch]), [small(**settings)])
    fields = ContextCallbacks(engine=engine(**settings)).fields()
    return Host(agent(model, [fetch], **fields))


@pytest.mark.parametrize("how", ["plugin", "callbacks"])
@pytest.mark.parametrize("calls", [25, long(200)])
def test_a_long_investigation_in_one_invocation_stays_inside_the_window(how, calls):
    model = gemini(investigation(calls), window=10_000)
    events = ask(managed(model, how), TASK)
    assert last_text(events) == "It is the database."
    assert model.refusals == 0
    assert max(model.counts) <= 10_000
    for sent in model.sent:
        assert TASK in sent[0]
    assert 1 <= model.compactions <= 30, "each leaves room for many calls"


def test_without_the_plugin_it_does_not():
    model = gemini(investigation(40), window=10_000)
    with pytest.raises(Exception, match="exceeds the maximum number of tokens"):
        ask(Host(agent(model, [fetch])), TASK)


def test_between_two_compactions_each_request_begins_with_the_one_before():
    model = gemini(investigation(30))
    ask(Host(agent(model, [fetch]), [small()]), TASK)
    changed = [
        n
        for n, (before, after) in enumerate(itertools.pairwise(model.sent))
        if after[: len(before)] != before
    ]
    assert changed
    assert all(b - a > 3 for a, b in itertools.pairwise(changed)), changed


def without_ids(content):
    content = copy.deepcopy(content)
    for part in content.parts:
        for item in (part.function_call, part.function_response):
            if item is not None:
                item.id = None
    return dumped(content)


def test_the_session_keeps_every_event_as_it_came():
    stored = []
    for plugins in ([], [small()]):
        model = gemini(investigation(20))
        host = Host(agent(model, [fetch]), plugins)
        ask(host, TASK)
        events = asyncio.run(host.session()).events
        stored.append([without_ids(event.content) for event in events])
        assert bool(model.compactions) == bool(plugins)
    assert stored[0] == stored[1]


def test_the_system_instruction_and_the_tools_are_counted():
    instruction = "Always be careful. " * 750
    model = gemini(investigation(30), window=10_000)
    ask(Host(agent(model, [fetch], instruction=instruction), [small()]), TASK)
    assert model.refusals == 0
    assert max(model.counts) <= 10_000
    assert model.compactions


class Recording(BasePlugin):
    def __init__(self):
        super().__init__("recording")
        self.errors = []

    async def on_model_error_callback(self, *, callback_context, llm_request, error):
        self.errors.append(str(error))


def test_what_the_provider_refuses_for_its_length_is_sent_again_with_less():
    # The engine believes in a window of 30,000, and the provider has 7,500.
    model = gemini(investigation(30), window=7_500)
    plugin = small(30_000)
    events = ask(Host(agent(model, [fetch]), [plugin]), TASK)
    assert last_text(events) == "It is the database."
    assert 1 <= model.refusals <= 12, "it learns where the limit is"
    assert plugin.usage.total_input_tokens == sum(model.counts)
    assert plugin.usage.total_calls == len(model.sent)


def test_there_is_an_end_to_sending_again():
    model = gemini(investigation(3), window=10)
    with pytest.raises(Exception, match="exceeds the maximum number of tokens"):
        ask(Host(agent(model, [fetch]), [small()]), TASK)
    assert model.refusals <= 4


def test_another_error_of_the_model_stays_what_it_is():
    def script(number, request):
        raise RuntimeError("503 try later")

    model, recording = gemini(script), Recording()
    with pytest.raises(RuntimeError, match="503"):
        ask(Host(agent(model, [fetch]), [small(), recording]), TASK)
    assert recording.errors == ["503 try later"]


def test_a_request_that_is_too_large_by_itself_goes_to_the_provider():
    model = gemini([text("A long question.")], window=100_000)
    events = ask(Host(agent(model, [fetch]), [small(5_000)]), "why? " * 10_000)
    assert last_text(events) == "A long question."


def test_nothing_that_fails_ends_a_run(monkeypatch, caplog):
    plugin = small()
    for name in ("acompact", "ashrink", "observe", "status"):

        def fail(self, *_, **__):
            raise RuntimeError("broken on purpose")

        monkeypatch.setattr(ullage.ContextManager, name, fail)
    model = gemini(investigation(5))
    assert last_text(ask(Host(agent(model, [fetch]), [plugin]), TASK)) == "It is the database."
    assert "broken on purpose" in caplog.text


class FailingStore(ullage.MemoryStore):
    def put(self, content, **_):
        raise OSError("No space left on device")


def test_a_store_that_fails_does_not_keep_the_request_long():
    policy = ullage.Policy(window=10_000, reserve_output=1_000)
    own = ullage.ContextManager(policy, store=FailingStore(), format="gemini")
    model = gemini(investigation(20), window=10_000)
    events = ask(Host(agent(model, [fetch]), [ContextPlugin(engine=own)]), TASK)
    assert last_text(events) == "It is the database."
    assert model.refusals == 0


class Stateful(BasePlugin):
    """Sends only what is new, as the interactions API of Google does."""

    def __init__(self):
        super().__init__("stateful")

    async def before_model_callback(self, *, callback_context, llm_request):
        if len(llm_request.contents) > 1:
            llm_request.previous_interaction_id = "interactions/1"
            llm_request.contents = llm_request.contents[-1:]


class Remembering(Gemini):
    """Has the history, so that a response may come alone."""

    async def generate_content_async(self, llm_request, stream=False):
        self.sent.append([dumped(content) for content in llm_request.contents])
        said = self.script(len(self.sent) - 1, llm_request)
        usage = types.GenerateContentResponseUsageMetadata(prompt_token_count=9)
        yield LlmResponse(content=said, usage_metadata=usage)


def test_a_request_of_which_google_has_the_history_is_left_alone():
    model = Remembering(script=investigation(5), sent=[], counts=[])
    plugin = small()
    assert last_text(ask(Host(agent(model, [fetch]), [Stateful(), plugin]), TASK))
    assert all("function_response" in content for (content,) in model.sent[1:])
    assert plugin.usage.total_input_tokens == 6 * 9
