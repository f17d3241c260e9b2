"""OpenTelemetry's SDK sees what the engine does, by the names of the GenAI conventions."""

import asyncio
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator
from typing import Any

import pytest

import ullage

from .conversations import long_conversation, render
from .spans import Exported, exported

MODEL = "claude-sonnet-4-5"
POLICY = ullage.Policy(window=6_000, reserve_output=1_000)


@pytest.fixture
def seen() -> Iterator[Exported]:
    with exported().listening() as listened:
        yield listened


def conversation() -> list[Any]:
    return render(long_conversation(30, 50), "bedrock")


def engine(**arguments: Any) -> ullage.ContextManager:
    return ullage.ContextManager(POLICY, **arguments)


def test_a_compaction_is_a_span_with_the_figures_of_its_report(seen, monkeypatch):
    manager = engine(model=MODEL, store=ullage.MemoryStore())
    plan, planned = manager._components.compactor._plan, []

    def noting(*args: Any, **more: Any) -> Any:
        planned.append(time.time_ns())
        return plan(*args, **more)

    monkeypatch.setattr(manager._components.compactor, "_plan", noting)
    report = manager.compact(conversation())
    (span,) = seen.spans()
    assert span.name == f"compact {MODEL}"
    assert dict(span.attributes) == {
        "gen_ai.operation.name": "compact",
        "gen_ai.request.model": MODEL,
        "gen_ai.conversation.compacted": True,
        "ullage.tokens.before": report.tokens_before,
        "ullage.tokens.after": report.tokens_after,
        "ullage.tokens.budget": report.budget,
        "ullage.tokens.rewritten": report.rewritten,
        "ullage.messages.removed": report.removed_messages,
        "ullage.references": len(report.references),
        "ullage.stages": tuple(report.stages),
        "ullage.warnings": len(report.warnings),
    }
    assert span.status.is_unset
    assert span.start_time <= planned[0] <= span.end_time
    assert span.instrumentation_scope.version == ullage.__version__


def test_without_a_model_the_name_of_the_operation_is_that_of_the_span(seen):
    engine().compact(conversation())
    (span,) = seen.spans()
    assert span.name == "compact"
    assert "gen_ai.request.model" not in span.attributes


def test_what_has_nothing_to_do_leaves_no_span(seen):
    manager = engine()
    messages = conversation()
    manager.compact(messages)
    seen.clear()
    manager.compact(messages)
    manager.view(messages)
    manager.shrink("bash", "short")
    manager.plan(conversation())
    manager.status(messages)
    asyncio.run(manager.acompact(messages))
    assert seen.spans() == []


def test_a_view_and_a_shrunk_result_are_spans_too(seen):
    manager = engine(store=ullage.MemoryStore())
    manager.view(conversation())
    manager.shrink("bash", "One line of many.\n" * 5_000)
    view, shrink = seen.spans()
    assert view.attributes["gen_ai.operation.name"] == "view"
    assert shrink.attributes["gen_ai.operation.name"] == "shrink"
    assert shrink.attributes["gen_ai.tool.name"] == "bash"
    assert shrink.attributes["ullage.tokens.saved"] == manager.stats.saved["shrink"]


def summarized(request: ullage.SummaryRequest) -> str:
    from opentelemetry import trace

    with trace.get_tracer("a provider").start_as_current_span("chat"):
        return "All went well."


async def asummarized(request: ullage.SummaryRequest) -> str:
    await asyncio.sleep(0)
    return summarized(request)


@pytest.mark.parametrize("summarizer", [summarized, asummarized])
@pytest.mark.parametrize("how", ["compact", "acompact"])
def test_what_the_summarizer_does_is_a_part_of_the_compaction(seen, summarizer, how):
    manager = engine(summarizer=summarizer)
    messages = conversation()
    if how == "compact":
        manager.compact(messages)
    else:
        asyncio.run(manager.acompact(messages))
    chat, summarize, compact = seen.spans(None)
    assert (chat.name, summarize.name, compact.name) == ("chat", "summarize", "compact")
    assert chat.parent.span_id == summarize.context.span_id
    assert summarize.parent.span_id == compact.context.span_id
    assert compact.parent is None
    assert summarize.attributes["gen_ai.request.max_tokens"] > 0
    assert compact.attributes["ullage.summary.by"] == "summarizer"


def test_a_compaction_is_a_part_of_what_the_host_does(seen):
    from opentelemetry import trace

    with trace.get_tracer("a host").start_as_current_span("invoke_agent") as agent:
        engine().compact(conversation())
        asyncio.run(engine().acompact(conversation()))
    parents = [span.parent.span_id for span in seen.spans()]
    assert parents == [agent.get_span_context().span_id] * 2


def test_a_summary_in_the_background_is_a_part_of_what_began_it(seen):
    from opentelemetry import trace

    manager = engine(summarizer=summarized)
    with trace.get_tracer("a host").start_as_current_span("invoke_agent") as agent:
        begun = manager.summarize_in_background(conversation())
    assert begun is not None
    assert begun.wait(10)
    (span,) = seen.spans()
    assert span.parent.span_id == agent.get_span_context().span_id


@pytest.mark.parametrize(
    ("raises", "kind"),
    [
        (ConnectionError("refused"), "ConnectionError"),
        (ullage.StoreError("x"), "ullage.StoreError"),
    ],
)
def test_a_summary_that_fails_says_the_class_of_the_error_and_no_text(seen, raises, kind):
    def summarizer(request: ullage.SummaryRequest) -> str:
        raise raises

    engine(summarizer=summarizer).compact(conversation())
    summarize, compact = seen.spans()
    assert summarize.attributes["error.type"] == kind
    assert not summarize.status.is_ok
    assert summarize.status.description is None
    assert summarize.events == ()
    assert compact.status.is_unset, "the compaction went on"
    assert compact.attributes["ullage.warnings"] == 1


def test_a_summary_that_takes_too_long_is_a_timeout(seen):
    async def summarizer(request: ullage.SummaryRequest) -> str:
        await asyncio.sleep(60)
        return ""

    policy = ullage.Policy(window=6_000, reserve_output=1_000, summary_timeout=0.05)
    ullage.ContextManager(policy, summarizer=summarizer).compact(conversation())
    assert seen.spans()[0].attributes["error.type"] == "timeout"


@pytest.mark.parametrize("how", ["compact", "acompact", "view"])
def test_a_compaction_that_fails_is_a_span_with_the_error(seen, how):
    def run() -> Any:
        returned = getattr(engine(), how)(conversation(), budget=1)
        return asyncio.run(returned) if how == "acompact" else returned

    with pytest.raises(ullage.BudgetError):
        run()
    (span,) = seen.spans()
    assert span.attributes["error.type"] == "ullage.BudgetError"
    assert "gen_ai.conversation.compacted" not in span.attributes
    assert not span.status.is_ok


def test_the_metrics_are_the_sums_of_what_the_reports_say(seen):
    before = {
        name: exported().total(name)
        for name in ("ullage.operation.duration", "ullage.tokens.saved", "ullage.tokens.rewritten")
    }
    manager = engine(model=MODEL, store=ullage.MemoryStore())
    reports = [manager.compact(conversation()) for _ in range(3)]
    manager.shrink("bash", "One line of many.\n" * 5_000)
    after = {name: exported().total(name) - before[name] for name in before}
    assert after == {
        "ullage.operation.duration": 4,
        "ullage.tokens.saved": sum(manager.stats.saved.values()),
        "ullage.tokens.rewritten": sum(report.rewritten for report in reports),
    }
    (attributes,) = {
        tuple(sorted(attributes.items()))
        for attributes, _ in exported().points("ullage.tokens.saved")
        if (attributes["ullage.stage"], attributes.get("gen_ai.request.model")) == ("shrink", MODEL)
    }
    assert dict(attributes) == {
        "gen_ai.operation.name": "shrink",
        "gen_ai.request.model": MODEL,
        "ullage.stage": "shrink",
    }


def test_a_failure_is_counted_with_its_class(seen):
    kind = {"error__type": "ullage.BudgetError"}
    before = exported().total("ullage.operation.duration", **kind)
    with pytest.raises(ullage.BudgetError):
        engine().compact(conversation(), budget=1)
    assert exported().total("ullage.operation.duration", **kind) == before + 1


def test_a_processor_that_fails_does_not_end_a_compaction(seen, caplog):
    from opentelemetry import trace
    from opentelemetry.sdk.trace import SpanProcessor

    class Fails(SpanProcessor):
        on = True

        def on_start(self, span: Any, parent_context: Any = None) -> None:
            self.raise_if_on()

        def on_end(self, span: Any) -> None:
            self.raise_if_on()

        def raise_if_on(self) -> None:
            if self.on:
                raise RuntimeError("the collector is away")

    processor = Fails()
    provider: Any = trace.get_tracer_provider()
    provider.add_span_processor(processor)
    try:
        report = engine().compact(conversation())
    finally:
        processor.on = False
    assert report.stages
    assert "the collector is away" in caplog.text
    assert not trace.get_current_span().is_recording(), "no span is left open"


PROGRAM = """
    import sys
    import ullage
    messages = [{"role": "user", "content": "word " * 9_000} for _ in range(3)]
    engine = ullage.ContextManager(ullage.Policy(window=9_000, reserve_output=1_000))
    engine.shrink("bash", "word " * 90_000)
    engine.view([m for pair in zip(messages, [
        {"role": "assistant", "content": "yes"}] * 3) for m in pair], budget=20_000)
    print([m for m in sys.modules if m.startswith("opentelemetry")])
"""


def test_nothing_imports_opentelemetry_by_itself():
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(PROGRAM)],
        capture_output=True,
        text=True,
        check=True,
        timeout=30,
    )
    assert done.stdout.strip() == "[]"
