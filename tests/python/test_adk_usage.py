"""ADK's reports of model calls, added up, with a budget that is kept."""

# mypy: disable-error-code="arg-type,misc,override"

import asyncio
from dataclasses import replace

import pytest
from google.adk.agents import LoopAgent, ParallelAgent, SequentialAgent
from google.adk.agents._streaming_mode import StreamingMode
from google.adk.apps.app import EventsCompactionConfig
from google.adk.apps.llm_event_summarizer import LlmEventSummarizer
from google.adk.models.llm_response import LlmResponse
from google.adk.models.registry import LLMRegistry
from google.adk.tools.agent_tool import AgentTool
from google.genai import types

import ullage
from ullage.adk import (
    ContextCallbacks,
    ContextPlugin,
    EventsSummarizer,
    session_key,
    sre_agent,
)
from ullage.adk.meter import usage_of

from .gemini_host import Gemini, Host, agent, ask, call, gemini, last_text, text


def look(number: int) -> str:
    """Looks."""
    return f"saw {number}"


def read(number: int) -> str:
    """Reads."""
    return f"word and another number {number} " * 50


def three_calls(number, _):
    return call("look", number=number) if number % 3 < 2 else text("Seen.")


def used(plugin, session="test/u/s"):
    return plugin.usage.usage(session)


def test_what_adk_reports_is_what_is_counted():
    model = gemini(three_calls, thoughts=11)
    plugin = ContextPlugin()
    events = ask(Host(agent(model, [look]), [plugin]), "Look twice.")
    reported = [event.usage_metadata for event in events if event.usage_metadata]
    total = used(plugin)
    assert total.calls == 3
    assert total.prompt == sum(model.counts) == sum(one.prompt_token_count for one in reported)
    assert total.candidates == sum(one.candidates_token_count for one in reported)
    assert total.cached == sum(one.cached_content_token_count or 0 for one in reported) > 0
    assert total.thoughts == 33
    assert total.nanoseconds > 0
    summary = plugin.usage.get_summary("test/u/s")
    assert list(summary["by_model"]) == ["gemini-2.5-pro"]
    assert summary["total_cost_usd"] > 0


def test_a_streamed_answer_counts_once():
    model = gemini([text("A long answer that comes in pieces.")])
    plugin = ContextPlugin()
    events = ask(Host(agent(model), [plugin]), "Say.", streaming_mode=StreamingMode.SSE)
    assert [bool(event.partial) for event in events] == [True, False]
    assert used(plugin).calls == 1
    assert used(plugin).prompt == model.counts[0]
    assert used(plugin).candidates == events[-1].usage_metadata.candidates_token_count


class Stopping(Gemini):
    async def generate_content_async(self, llm_request, stream=False):
        async for response in super().generate_content_async(llm_request, stream=stream):
            if not response.partial:
                raise ConnectionError("the line is cut")
            yield response


def test_a_stream_that_breaks_off_counts_as_far_as_it_came():
    model = Stopping(script=[text("A long answer.")], sent=[], counts=[])
    plugin = ContextPlugin()
    with pytest.raises(ConnectionError):
        ask(Host(agent(model), [plugin]), "Say.", streaming_mode=StreamingMode.SSE)
    assert used(plugin).calls == 1
    assert used(plugin).prompt == model.counts[0]


def test_reasoning_that_is_reported_within_the_candidates_counts_once():
    def reported(**fields):
        return usage_of(types.GenerateContentResponseUsageMetadata(**fields))

    inside = reported(
        prompt_token_count=100,
        candidates_token_count=50,
        thoughts_token_count=30,
        total_token_count=150,
    )
    beside = reported(
        prompt_token_count=100,
        candidates_token_count=20,
        thoughts_token_count=30,
        total_token_count=150,
    )
    assert inside == beside
    assert inside.output == 50
    assert reported() is None
    assert usage_of(None) is None


# ADK warns that these agents will go, and, when an agent is called as a tool, of what it does itself.
DEPRECATED = pytest.mark.filterwarnings("ignore::DeprecationWarning")


@DEPRECATED
@pytest.mark.parametrize("kind", [SequentialAgent, ParallelAgent, LoopAgent])
def test_the_agents_of_an_app_are_counted_each_and_together(kind):
    models = [gemini(three_calls), gemini(three_calls)]
    agents = [agent(model, [look], name=f"a{n}") for n, model in enumerate(models)]
    settings = {"max_iterations": 2} if kind is LoopAgent else {}
    plugin = ContextPlugin()
    ask(Host(kind(name="all", sub_agents=agents, **settings), [plugin]), "Look.")
    rounds = settings.get("max_iterations", 1)
    for number, model in enumerate(models):
        part = plugin.usage.usage("test/u/s", f"a{number}")
        assert part.calls == 3 * rounds
        assert part.prompt == sum(model.counts)
    assert used(plugin).prompt == sum(sum(model.counts) for model in models)


def test_sub_agents_are_counted_after_a_transfer():
    inner = gemini([call("look", number=1), text("Found it.")])
    outer = gemini([call("transfer_to_agent", agent_name="inner")])
    sub = agent(inner, [look], name="inner", description="Looks.")
    plugin = ContextPlugin()
    events = ask(Host(agent(outer, sub_agents=[sub]), [plugin]), "Look.")
    assert last_text(events) == "Found it."
    assert plugin.usage.usage("test/u/s", "inner").calls == 2
    assert used(plugin).prompt == sum(outer.counts) + sum(inner.counts)


@DEPRECATED
def test_an_agent_that_is_a_tool_is_charged_to_the_session_of_its_caller():
    inner = gemini([call("look", number=1), text("Found it.")])
    outer = gemini([call("inner", request="Look."), text("It was found.")])
    tool = AgentTool(agent(inner, [look], name="inner", description="Looks."))
    plugin = ContextPlugin()
    events = ask(Host(agent(outer, [tool]), [plugin]), "Look.")
    assert last_text(events) == "It was found."
    assert plugin.usage.usage("test/u/s", "inner").calls == 2
    assert used(plugin) == plugin.usage.usage(), "no other session was charged"


def budgeted(budget, how="plugin"):
    model = gemini(lambda n, _: call("look", number=n))
    tracker = ullage.UsageTracker(budget)
    if how == "plugin":
        return model, tracker, Host(agent(model, [look]), [ContextPlugin(usage=tracker)])
    callbacks = ContextCallbacks(usage=tracker)
    return model, tracker, Host(agent(model, [look], **callbacks.fields()))


@pytest.mark.parametrize("how", ["plugin", "callbacks"])
def test_a_session_over_its_budget_pauses_in_the_middle_of_a_run(how):
    model, tracker, host = budgeted(2_000, how)
    events = ask(host, "Look for ever.")
    total = tracker.usage("test/u/s").total
    assert 2_000 <= total < 3_000
    assert last_text(events) == (
        f"Investigation paused: token budget exhausted ({total:,} / 2,000 tokens used). Please"
        " summarize findings with available data."
    )
    made = len(model.sent)
    assert "paused" in last_text(ask(host, "Go on.")), "it stays so"
    assert len(model.sent) == made


def test_one_session_over_its_budget_does_not_stop_another():
    model, tracker, host = budgeted(2_000)
    ask(host, "Look for ever.", "one")
    assert tracker.is_over_budget("test/u/one")
    made = len(model.sent)
    ask(host, "Look for ever.", "two")
    assert len(model.sent) > made


def test_a_resumed_session_has_what_it_used_before_on_its_budget():
    model, tracker, host = budgeted(2_000)
    ask(host, "Look for ever.")
    before = tracker.usage("test/u/s")
    again = ullage.UsageTracker(2_000)
    late = Host(agent(model, [look]), [ContextPlugin(usage=again)], service=host.service)
    made = len(model.sent)
    assert "token budget exhausted" in last_text(ask(late, "Go on."))
    assert len(model.sent) == made
    taken_over = again.usage("test/u/s")
    assert (taken_over.total, taken_over.calls) == (before.total, before.calls)
    assert again.total_tokens == 0
    (one,) = again.get_summary("test/u/s")["by_agent"]
    assert one == "sre"


def test_the_budget_of_the_environment_holds(monkeypatch):
    monkeypatch.setenv("SRE_AGENT_TOKEN_BUDGET", "500")
    model = gemini(lambda n, _: call("look", number=n))
    assert "/ 500 tokens" in last_text(ask(Host(agent(model, [look]), [ContextPlugin()]), "Look."))


def test_many_sessions_at_once_add_up_exactly():
    models = [gemini(three_calls) for _ in range(12)]
    plugin = ContextPlugin()
    hosts = [Host(agent(model, [look]), [plugin]) for model in models]

    async def talk():
        await asyncio.gather(*(host.ask("Look.", f"s{n}") for n, host in enumerate(hosts)))

    asyncio.run(talk())
    for number, model in enumerate(models):
        assert used(plugin, f"test/u/s{number}").prompt == sum(model.counts)
    assert plugin.usage.total_calls == 36


class Silent(Gemini):
    async def generate_content_async(self, llm_request, stream=False):
        yield LlmResponse(content=text("No figures."))


def silent():
    return Silent(script=[], sent=[], counts=[])


@pytest.mark.parametrize("how", ["plugin", "callbacks"])
def test_a_call_that_reports_nothing_is_estimated_and_says_so(how):
    tracker = ullage.UsageTracker(100)
    long = "Say what you see. " * 100
    if how == "plugin":
        host = Host(agent(silent(), [look]), [ContextPlugin(usage=tracker)])
    else:
        host = Host(agent(silent(), [look], **ContextCallbacks(usage=tracker).fields()))
    assert last_text(ask(host, long)) == "No figures."
    total = tracker.usage("test/u/s")
    assert total.calls == 1
    assert total.prompt >= ullage.TokenCounter.for_model("gemini-2.5-pro").count(long)
    assert total.candidates > 0
    assert total.estimated == total.total == tracker.get_summary()["total_estimated_tokens"]
    assert "token budget exhausted" in last_text(ask(host, "Go on.")), "the budget acts"
    again = ullage.UsageTracker(100)
    late = Host(agent(silent()), [ContextPlugin(usage=again)], service=host.service)
    assert "token budget exhausted" in last_text(ask(late, "Go on.")), "in another process too"
    assert again.usage("test/u/s").estimated == total.estimated


def test_a_session_is_known_by_its_id():
    plugin = ContextPlugin()
    host = Host(agent(gemini(three_calls), [look]), [plugin])
    ask(host, "Look twice.", "first")
    ask(host, "Look twice.", "second")
    whole = plugin.usage.get_summary("test/u/first")
    assert whole["total_calls"] == 3
    assert plugin.usage.get_summary("first") == whole


class Summarizing(Gemini):
    """Answers a request for a summary with one, and what it used."""

    @classmethod
    def supported_models(cls):
        return ["summarizing-.*"]

    async def generate_content_async(self, llm_request, stream=False):
        usage = types.GenerateContentResponseUsageMetadata(
            prompt_token_count=700, candidates_token_count=30
        )
        yield LlmResponse(content=text("Nothing was wrong."), usage_metadata=usage)


LLMRegistry.register(Summarizing)


def plain(request):
    return "Nothing was wrong."


def compacting(summarizer):
    return {
        "events_compaction_config": EventsCompactionConfig(
            summarizer=summarizer, compaction_interval=2, overlap_size=0
        )
    }


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize(
    ("summarizer", "estimated"),
    [
        (lambda: LlmEventSummarizer(Summarizing()), False),
        (lambda: EventsSummarizer(Summarizing()), False),
        (lambda: EventsSummarizer("summarizing-model"), False),
        (lambda: EventsSummarizer(plain), True),
    ],
    ids=["adk", "model", "model id", "function"],
)
def test_summaries_that_a_model_makes_for_adk_are_counted_once(summarizer, estimated):
    plugin = ContextPlugin()
    model = gemini(lambda n, _: text(f"Answer {n}. " * 200))
    host = Host(agent(model), [plugin], app=compacting(summarizer()))
    for number in range(4):
        ask(host, f"Look {number}.")
    assert "Nothing was wrong." in "".join(model.sent[-1])
    summaries = plugin.usage.usage("test/u/s", "(summaries)")
    assert summaries.calls == 1, "the second stands behind the last call"
    ask(host, "Look again.")
    summaries = plugin.usage.usage("test/u/s", "(summaries)")
    assert summaries.calls == 2
    if estimated:
        assert summaries.estimated == summaries.total > 400
    else:
        assert (summaries.prompt, summaries.candidates, summaries.estimated) == (1_400, 60, 0)
    late = ContextPlugin()
    ask(Host(agent(model), [late], service=host.service), "Look late.")
    assert late.usage.usage("test/u/s", "(summaries)") == replace(summaries, nanoseconds=0)


@pytest.mark.parametrize(
    ("summarizer", "estimated"), [(plain, True), (Summarizing(), False)], ids=["function", "model"]
)
def test_summaries_for_the_engine_are_counted_too(summarizer, estimated):
    own = sre_agent(window=20_000, reserve_output=500, summarizer=summarizer)
    plugin = ContextPlugin(engine=own)
    model = gemini(lambda n, _: call("read", number=n) if n < 50 else text("Seen."))
    ask(Host(agent(model, [read]), [plugin]), "Look.")
    summaries = plugin.usage.usage("test/u/s", "(summaries)")
    assert summaries.calls >= 1
    if estimated:
        assert summaries.estimated == summaries.total > 0
    else:
        assert summaries.total == 730 * summaries.calls
        assert summaries.estimated == 0


def test_reports_teach_the_counter_of_the_engine():
    # The provider takes a token for 2 characters, and the counter thinks that it takes 4.
    counter = ullage.TokenCounter.with_ratio(4)
    policy = ullage.Policy(window=1_000_000)
    own = ullage.ContextManager(policy, counter=counter, format="gemini", append_only=True)
    model = gemini(lambda n, _: call("read", number=n) if n < 10 else text("Seen."))
    ask(Host(agent(model, [read]), [ContextPlugin(engine=own)]), "Look.")
    assert counter.scale > 1.5


def test_sessions_are_named_by_app_user_and_id():
    host = Host(agent(gemini([])))
    assert session_key(asyncio.run(host.session("x"))) == "test/u/x"
