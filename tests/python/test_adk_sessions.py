"""Requests stay valid, inside the window and alike, whatever ADK does around them."""

# mypy: disable-error-code="arg-type,misc,override"

import asyncio
import itertools
from typing import Any

import pytest
from google.adk.agents.context_cache_config import ContextCacheConfig
from google.adk.apps import App
from google.adk.apps.app import EventsCompactionConfig
from google.adk.artifacts import FileArtifactService, InMemoryArtifactService
from google.adk.events.event import Event
from google.adk.models.gemini_context_cache_manager import GeminiContextCacheManager
from google.adk.sessions import InMemorySessionService
from google.adk.tools.agent_tool import AgentTool
from google.adk.tools.function_tool import FunctionTool
from google.adk.tools.long_running_tool import LongRunningFunctionTool
from google.genai import types

import ullage
from ullage.adk import ContextPlugin

from .gemini_host import Gemini, Host, agent, ask, call, gemini, last_text, reply, text
from .lengths import long
from .test_adk_plugin import TASK, fetch, investigation, lines, small

WINDOW = 10_000


def made_service(kind, tmp_path):
    if kind == "memory":
        return InMemorySessionService()
    if kind == "sqlite":
        from google.adk.sessions.sqlite_session_service import SqliteSessionService

        return SqliteSessionService(str(tmp_path / "sessions.db"))
    pytest.importorskip("sqlalchemy")
    from google.adk.sessions import DatabaseSessionService

    return DatabaseSessionService(f"sqlite+aiosqlite:///{tmp_path}/sessions.db")


def made_artifacts(kind, tmp_path):
    return (
        InMemoryArtifactService() if kind == "memory" else FileArtifactService(tmp_path / "files")
    )


@pytest.mark.parametrize(
    ("kind", "artifacts"), [("memory", "memory"), ("sqlite", "file"), long("database", "file")]
)
def test_a_session_is_compacted_stored_and_resumed(kind, artifacts, tmp_path):
    window = 8_000

    def script(number, _):
        return text("Noted.") if number % 9 == 8 else call("fetch", number=number)

    model = gemini(script, window=window)
    service = made_service(kind, tmp_path)
    files = made_artifacts(artifacts, tmp_path)

    async def talk():
        for words in ("first", "second"):
            # A plugin of its own: as in another process, nothing is remembered.
            plugins = [small(window)]
            host = Host(agent(model, [fetch]), plugins, service=service, artifact_service=files)
            for turn in range(2):
                assert last_text(await host.ask(f"{words} {turn}: {TASK}")) == "Noted."
        events = (await host.session()).events
        await host.runner.close()
        if kind == "database":
            await service.close()
        return events

    events = asyncio.run(talk())
    assert model.refusals == 0
    assert max(model.counts) <= window
    assert 2 <= model.compactions <= 12
    fetched = [r.response for event in events for r in event.get_function_responses()]
    assert [response["logs"] for response in fetched] == [
        lines(number, 30) for number in range(36) if number % 9 != 8
    ], "the session keeps every response as it came"


def test_parallel_calls_keep_their_results_together():
    def script(number, _):
        if number == 14:
            return text("Done.")
        return types.Content(
            role="model",
            parts=[
                types.Part.from_function_call(name="fetch", args={"number": 3 * number + n})
                for n in range(3)
            ],
        )

    model = gemini(script, window=WINDOW)
    assert last_text(ask(Host(agent(model, [fetch]), [small(WINDOW)]), TASK)) == "Done."
    assert model.refusals == 0
    assert model.compactions


def test_pairs_hold_where_ids_are_present(monkeypatch):
    # ADK leaves the ids in requests to Claude and to litellm, whose packages are not here.
    from google.adk.flows.llm_flows.context import _contents

    monkeypatch.setattr(_contents, "_is_id_pairing_model", lambda _: True)
    model = gemini(investigation(40), window=WINDOW)
    assert last_text(ask(Host(agent(model, [fetch]), [small(WINDOW)]), TASK))
    assert '"adk-' in model.sent[-1][-1]
    assert model.refusals == 0
    assert model.compactions


def test_instructions_of_one_request_do_not_undo_what_was_decided():
    # With a static instruction, ADK puts the other one in front of the user's last words.
    model = gemini(investigation(30), window=WINDOW)
    settings = {"static_instruction": "Be careful.", "instruction": "The time is {clock?}."}
    host = Host(agent(model, [fetch], **settings), [small(WINDOW)])
    assert last_text(ask(host, TASK))
    assert model.refusals == 0
    steady = [
        after[: len(before) - 3] == before[:-3]
        for before, after in itertools.pairwise(model.sent)
        if len(before) > 3
    ]
    assert steady.count(False) <= 12, "only compactions change the beginning"


def test_the_fingerprint_of_a_context_cache_holds_between_compactions():
    seen: list[Any] = []

    class Caching(Gemini):
        async def generate_content_async(self, llm_request, stream=False):
            manager: Any = GeminiContextCacheManager.__new__(GeminiContextCacheManager)
            manager._cache_scope = dict
            count = manager._find_count_of_contents_to_cache(llm_request.contents)
            if seen:
                before = manager._generate_cache_fingerprint(llm_request, seen[-1][0])
                seen[-1] += (before == seen[-1][1],)
            seen.append((count, manager._generate_cache_fingerprint(llm_request, count)))
            assert llm_request.cache_config is not None
            async for response in super().generate_content_async(llm_request, stream):
                yield response

    model = Caching(script=investigation(30), window=WINDOW, sent=[], counts=[])
    app = {"context_cache_config": ContextCacheConfig(cache_intervals=5)}
    ask(Host(agent(model, [fetch]), [small(WINDOW)], app=app), TASK)
    broken = [matches for _, _, matches in seen[:-1]].count(False)
    assert broken <= model.compactions <= 6


def test_a_cache_that_a_model_moved_the_instruction_into_does_not_break_a_second_try():
    class Moving(Gemini):
        async def generate_content_async(self, llm_request, stream=False):
            try:
                async for response in super().generate_content_async(llm_request, stream):
                    yield response
            finally:
                # As ADK's cache manager does.
                llm_request.config.cached_content = "caches/1"
                llm_request.config.system_instruction = None
                llm_request.config.tools = None
                llm_request.contents = llm_request.contents[2:]

    seen = []

    def script(number, request):
        seen.append(
            (request.config.system_instruction, request.config.tools, request.config.cached_content)
        )
        return investigation(20)(number, request)

    model = Moving(script=script, window=5_000, sent=[], counts=[])
    host = Host(agent(model, [fetch], instruction="Be careful."), [small(20_000)])
    assert last_text(ask(host, TASK)) == "It is the database."
    assert model.refusals
    assert all("Be careful." in words for words, _, _ in seen)
    assert all(tools and not cached for _, tools, cached in seen)


class Deploy:
    """Waits for a person."""

    def __init__(self):
        self.done = 0

    def tool(self):
        def deploy(version: str) -> dict[str, Any]:
            """Deploys a version, once a person agrees."""
            self.done += 1
            return {"deployed": version}

        return FunctionTool(deploy, require_confirmation=True)


def test_a_confirmation_that_is_pending_survives_compactions():
    deploy = Deploy()

    def script(number, request):
        if number == 15:
            return call("deploy", version="1.2.3")
        last = request.contents[-1].parts[-1]
        if last.function_response and last.function_response.name == "deploy":
            done = (last.function_response.response or {}).get("deployed")
            return text(f"Deployed {done}.")
        if last.text == "Look at the logs meanwhile.":
            return call("fetch", number=number)
        return call("fetch", number=number) if number != 30 else text("I have looked.")

    model = gemini(script, window=WINDOW)
    host = Host(agent(model, [fetch, deploy.tool()]), [small(WINDOW)])
    events = ask(host, TASK)
    (asked,) = [
        one
        for event in events
        for one in event.get_function_calls()
        if one.name == "adk_request_confirmation"
    ]
    assert deploy.done == 0
    assert last_text(ask(host, "Look at the logs meanwhile.")) == "I have looked."
    assert last_text(ask(host, reply(asked, confirmed=True))) == "Deployed 1.2.3."
    assert deploy.done == 1
    assert model.refusals == 0
    assert model.compactions


def test_a_call_that_takes_long_survives_compactions():
    def approve(amount: int) -> None:
        """Asks a person."""

    def script(number, request):
        if number == 10:
            return call("approve", amount=7)
        last = request.contents[-1].parts[-1]
        if last.function_response and last.function_response.name == "approve":
            return text(f"Approved: {last.function_response.response}")
        return text("I have looked.") if number == 30 else call("fetch", number=number)

    model = gemini(script, window=WINDOW)
    host = Host(agent(model, [fetch, LongRunningFunctionTool(approve)]), [small(WINDOW)])
    events = ask(host, TASK)
    (waiting,) = [e for e in events if e.long_running_tool_ids]
    (asked,) = waiting.get_function_calls()
    assert last_text(ask(host, "Look at the logs meanwhile.")) == "I have looked."
    pending = [c for sent in model.sent for c in sent if "it comes when it is there" in c]
    assert pending, "the model reads that it is still to come"
    assert last_text(ask(host, reply(asked, status="yes"))) == "Approved: {'status': 'yes'}"
    assert model.refusals == 0
    assert model.compactions


def test_what_a_call_that_takes_long_says_first_stays_until_its_last_answer():
    def order(what: str) -> dict[str, str]:
        """Orders."""
        return {"status": "pending", "ticket": "T-4711"}

    def script(number, request):
        last = request.contents[-1].parts[-1]
        if number == 5:
            return call("order", what="disks")
        if last.function_response and last.function_response.name == "order":
            return text(f"It is {last.function_response.response['status']}.")
        return text("I have looked.") if number % 12 == 11 else call("fetch", number=number)

    model = gemini(script, window=WINDOW)
    host = Host(agent(model, [fetch, LongRunningFunctionTool(order)]), [small(WINDOW)])
    events = ask(host, TASK)
    (waiting,) = [e for e in events if e.long_running_tool_ids]
    (asked,) = waiting.get_function_calls()
    for _ in range(3):
        ask(host, "Look at the logs meanwhile.")
    assert model.compactions >= 2
    later = model.sent[7:]
    assert len(later) > 25
    assert all("T-4711" in "".join(sent) for sent in later)
    ask(host, reply(asked, status="here"))
    assert "T-4711" not in "".join(model.sent[-1])
    assert model.refusals == 0


def test_parallel_calls_of_which_some_were_answered_are_sent_whole():
    model = gemini(
        lambda n, _: call("fetch", number=n) if n < 30 else text("Noted."), window=WINDOW
    )
    host = Host(agent(model, [fetch]), [small(WINDOW)])

    async def interrupted():
        session = await host.session()
        calls = [types.Part.from_function_call(name="fetch", args={"number": n}) for n in range(3)]
        for number, part in enumerate(calls):
            assert part.function_call is not None
            part.function_call.id = f"c{number}"
        answer = types.FunctionResponse(id="c1", name="fetch", response={"logs": "half"})
        for author, role, parts in (
            ("user", "user", [types.Part(text=TASK)]),
            ("sre", "model", calls),
            ("sre", "user", [types.Part(function_response=answer)]),
        ):
            event = Event(
                author=author, invocation_id="i0", content=types.Content(role=role, parts=parts)
            )
            await host.service.append_event(session, event)
        return await host.ask("Go on.")

    assert last_text(asyncio.run(interrupted())) == "Noted."
    assert model.refusals == 0
    assert model.compactions
    assert "half" in "".join(model.sent[0])


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_an_agent_that_is_a_tool_is_compacted_in_its_own_session():
    inner = gemini(investigation(30), window=WINDOW)
    outer = gemini([call("inner", request=TASK), text("So it is.")], window=WINDOW)
    tool = AgentTool(agent(inner, [fetch], name="inner", description="Looks."))
    assert last_text(ask(Host(agent(outer, [tool]), [small(WINDOW)]), "Ask.")) == "So it is."
    assert inner.refusals == 0
    assert inner.compactions


def test_what_the_user_asked_stays_when_other_agents_speak_after_it():
    request = "Compare the two regions and say which is slower."
    inner = gemini(
        lambda n, _: call("fetch", number=n) if n < 60 else text("Region b."), window=20_000
    )
    outer = gemini(
        lambda n, _: (
            call("transfer_to_agent", agent_name="inner") if n == 15 else call("fetch", number=n)
        ),
        window=20_000,
    )
    sub = agent(inner, [fetch], name="inner", description="Compares.")
    host = Host(agent(outer, [fetch], sub_agents=[sub]), [small(20_000)])
    assert last_text(ask(host, request)) == "Region b."
    assert inner.refusals == outer.refusals == 0
    assert inner.compactions
    for sent in inner.sent:
        assert any(request in content for content in sent)


@pytest.mark.filterwarnings("ignore:.*EXPERIMENTAL.*:UserWarning")
def test_it_goes_together_with_compactions_of_adks_own():
    from google.adk.apps.llm_event_summarizer import LlmEventSummarizer

    summaries = gemini(lambda *_: text("A summary of what was said."))
    own = EventsCompactionConfig(
        summarizer=LlmEventSummarizer(llm=summaries), compaction_interval=2, overlap_size=0
    )

    def script(number, _):
        return text("Noted.") if number % 11 == 10 else call("fetch", number=number)

    model = gemini(script, window=WINDOW)
    host = Host(agent(model, [fetch]), [small(WINDOW)], app={"events_compaction_config": own})

    async def talk():
        for turn in range(4):
            assert last_text(await host.ask(f"{turn}: {TASK}")) == "Noted."

    asyncio.run(talk())
    assert summaries.sent
    assert any("A summary of what was said." in c for c in model.sent[-1])
    assert model.refusals == 0


def test_two_runs_of_one_session_at_once_do_not_mix():
    plugin = small(WINDOW)
    models = [gemini(investigation(20), window=WINDOW) for _ in range(2)]
    service = InMemorySessionService()
    hosts = [Host(agent(model, [fetch]), [plugin], service=service) for model in models]

    async def talk():
        await hosts[0].session()
        return await asyncio.gather(
            *(host.ask(f"{n}: {TASK}") for n, host in enumerate(hosts)), return_exceptions=True
        )

    asyncio.run(talk())
    for number, model in enumerate(models):
        for sent in model.sent:
            assert f"{number}: {TASK}" in sent[0] or any(f"{number}: " in c for c in sent)
    assert isinstance(hosts[0].runner.app, App)


def dense(number: int) -> dict[str, Any]:
    """Has logs, of which the provider counts fewer tokens than the engine."""
    return {"logs": lines(number, 12)}


def prose(number: int) -> dict[str, Any]:
    """Has words, of which the provider counts twice as many tokens as the engine."""
    return {"said": " ".join(f"the service should always answer before {number}".split() * 8)}


@pytest.mark.parametrize("other", ["gpt-4", "gpt-4-0613"], ids=["one model", "one family"])
@pytest.mark.parametrize(("tool", "calls"), [(dense, 9), (dense, 14), (prose, 12), (prose, 20)])
def test_an_agent_that_takes_over_begins_with_what_was_learned(tool, calls, other):
    inner = gemini([call(tool.__name__, number=0), text("Here.")], window=8_192, model=other)
    outer = gemini(
        lambda n, _: (
            call("transfer_to_agent", agent_name="inner")
            if n == calls
            else call(tool.__name__, number=n)
        ),
        window=8_192,
        model="gpt-4",
    )
    sub = agent(inner, [tool], name="inner", description="Helps.")
    host = Host(agent(outer, [tool], sub_agents=[sub]), [ContextPlugin()])
    assert last_text(ask(host, TASK)) == "Here."
    assert inner.refusals == 0


def test_engines_are_made_for_each_model():
    made = []

    def engine_for(model):
        made.append(model)
        return ullage.ContextManager(model=model, format="gemini")

    one = gemini([call("transfer_to_agent", agent_name="inner")], model="gemini-2.5-flash")
    two = gemini([text("Here.")], model="gemini-2.0-flash")
    sub = agent(two, name="inner", description="Helps.")
    ask(Host(agent(one, sub_agents=[sub]), [ContextPlugin(engine=engine_for)]), "Hello.")
    assert made == ["gemini-2.5-flash", "gemini-2.0-flash"]
