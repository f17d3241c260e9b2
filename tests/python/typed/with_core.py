"""A user's program: every name of ``ullage``, as one would write it."""

from __future__ import annotations

import asyncio
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from typing_extensions import assert_type

import ullage

messages: list[dict[str, Any]] = [{"role": "user", "content": "Find the slow query."}]


def counting() -> None:
    assert_type(ullage.count_tokens("text", "cl100k_base"), int)
    counter = ullage.TokenCounter.for_model("claude-sonnet-4-5")
    assert_type(counter, ullage.TokenCounter)
    assert_type(counter.count("text"), int)
    assert_type(counter.fits("text", 100), bool)
    assert_type(counter.count_messages(messages, tools=[], append_only=True), int)
    assert_type(counter.observe(messages, 1_000), bool)
    assert_type(counter.scale, float)
    ratio = ullage.TokenCounter.with_ratio(ullage.TokenCounter.RATIOS["claude"])
    preset = ullage.TokenCounter.preset("cyber-autoagent", model="gpt-4o")
    assert_type([ratio.name, preset.name], list[str])


def models() -> None:
    warnings.filterwarnings("ignore", category=ullage.UllageWarning)
    catalog = ullage.ModelCatalog(overrides={"mine": {"window": 8_192}}, litellm="auto")
    limits = ullage.model_limits("gpt-4o", catalog)
    assert_type(limits, ullage.ModelLimits)
    assert_type(limits.window, int)
    assert_type(limits.policy(), ullage.Policy)
    economics = ullage.Economics.for_model("claude-sonnet-4-5")
    plan = ullage.ContextManager().plan(messages)
    cost = economics.of(plan, messages, ullage.TokenCounter())
    assert_type(cost, ullage.PlanCost)
    prices: ullage.Prices | None = catalog.prices("gpt-4o")
    savings = ullage.Savings(requests=1, new=100, new_without=200)
    assert_type(savings.money, float | None)
    assert_type(savings.saved(economics), float)
    print(prices, cost, savings)


def policies() -> ullage.Policy:
    preset = ullage.Policy.preset("default")
    assert_type(preset.levels, list[dict[str, Any]])
    assert_type(preset.max_messages, int | None)
    assert_type(ullage.Policy.from_env(prefix="MINE_", environ={}), ullage.Policy)
    assert_type(ullage.Policy.from_dict(preset.to_dict()), ullage.Policy)
    assert_type(preset.replace(window=64_000, levels={0: {"recent": 0.5}}), ullage.Policy)
    try:
        preset.replace(high=2)
    except ullage.PolicyError as error:
        assert_type(error.problems, tuple[tuple[str, str], ...])
    return ullage.Policy(window=32_000, stages=["window", "summarize"], levels=preset.levels)


class TableStore:
    """A store with two methods."""

    def __init__(self) -> None:
        self.table: dict[str, bytes] = {}

    def put(self, content: bytes, *, reference: str, tool: str | None = None) -> str:
        if self.table.setdefault(reference, content) != content:
            raise ullage.ReferenceTakenError(reference)
        return reference

    def get(self, reference: str) -> bytes:
        return self.table[reference]


class AsyncStore:
    """A store that has to be awaited."""

    async def put(self, content: bytes, *, reference: str, tool: str | None = None) -> str:
        return reference

    async def get(self, reference: str) -> bytes:
        raise ullage.StoreError(reference)


def summarize(request: ullage.SummaryRequest) -> str:
    assert_type(request.prompt, str)
    assert_type(request.messages, Sequence[Any])
    return str(request)[: request.max_tokens]


async def asummarize(request: ullage.SummaryRequest) -> str:
    return summarize(request)


async def told(report: ullage.Report) -> None:
    print(report.to_dict())


def engines() -> list[ullage.ContextManager]:
    seen: list[ullage.Report] = []
    stores: list[ullage.Store] = [
        ullage.MemoryStore(),
        ullage.FileStore(Path("outputs"), session="mine", keep=None, clean_above=None),
        TableStore(),
        AsyncStore(),
    ]
    made = [ullage.ContextManager(policies(), store=store) for store in stores]
    made.append(
        ullage.ContextManager(
            counter=ullage.TokenCounter(),
            summarizer=summarize,
            system="Be careful.",
            tools=[{"name": "bash"}],
            format="anthropic",
            on_compaction=seen.append,
        )
    )
    made.append(
        ullage.ContextManager(
            model="gpt-4o",
            catalog=ullage.ModelCatalog(),
            summarizer=asummarize,
            append_only=True,
            on_compaction=told,
        )
    )
    return made


def running(engine: ullage.ContextManager) -> None:
    plan = engine.plan(messages, budget=10_000, hard=True, pins=[0])
    assert_type(plan, ullage.Plan)
    assert_type(plan.explain(), str)
    assert_type(plan.edits, list[dict[str, Any]])
    assert_type(ullage.Plan.from_dict(plan.to_dict()).apply(messages), list[Any])
    if plan.is_pending:
        assert_type(engine.resume(plan, messages, "All went well."), ullage.Plan)
    view = engine.open(append_only=True)
    assert_type(engine.view_of(messages), ullage.View)
    assert_type(view, ullage.View)
    assert_type(view.messages(messages, 10_000, pins=[0], transient=[1]), list[Any])
    assert_type(view.refused(12_000), list[Any])
    assert_type(view.observe(9_000, 8_000), bool)
    assert_type(view.report, ullage.Report | None)
    view.release()
    assert_type(view.ceiling, int | None)
    assert_type(view.tokens, int)
    assert_type(engine.open(view.state()).state(), dict[str, Any])
    report = engine.compact(messages)
    assert_type(report, ullage.Report)
    assert_type(report.stages, dict[str, ullage.StageReport])
    assert_type(report.summary, ullage.SummaryReport | None)
    assert_type(engine.view(messages), list[Any])
    assert_type(engine.observe(messages, 1_000, cached_tokens=500), bool)
    status = engine.status(messages)
    assert_type(status, ullage.Status)
    assert_type(status.render(), str)
    assert_type(engine.stats, ullage.Stats)
    assert_type(engine.stats.saved, dict[str, int])
    shrunk: str = engine.shrink("bash", "a long text")
    begun = engine.summarize_in_background(messages)
    assert_type(begun, ullage.BackgroundSummary | None)
    summary = engine.summarize(messages, (0, 4), previous="They met.", pins=[1])
    assert_type(summary, ullage.Summary)
    assert_type(engine.summarize(messages, range(4), previous=summary).messages, list[range])
    if begun is not None and not begun.done:
        assert_type(begun.wait(1.0), bool)
        begun.cancel()
    print(shrunk, engine.policy, engine.counter, engine.store, engine.on_compaction)


async def running_beside(engine: ullage.ContextManager) -> None:
    assert_type(await engine.acompact(messages), ullage.Report)
    result: dict[str, Any] = await engine.ashrink("bash", {"rows": [1, 2]})
    store = engine.store
    if store is not None:
        assert_type(await ullage.aretrieve(store, "bash-0123456789abcdef", head=3), str)
        assert_type(await ullage.asearch(store, "ERROR", 2), str)
    print(result)


def failing(engine: ullage.ContextManager) -> int:
    try:
        engine.compact(messages, budget=1)
    except ullage.BudgetError as error:
        assert_type(error.messages, list[int])
        return error.floor
    except ullage.MessagesChangedError:
        return 1
    except ullage.MessageError as error:
        assert_type(error.index, int | None)
    except (ullage.PolicyError, ullage.StoreError, ullage.SummaryError) as error:
        print(error)
    except ullage.UllageError:
        raise
    return 0


def judging() -> None:
    assert_type(ullage.detect_format(messages), str)
    violations = ullage.validate(messages, "openai")
    assert_type(violations, list[ullage.Violation])
    mended = ullage.repair(messages)
    assert_type(mended, ullage.Repaired)
    assert_type(mended.repairs, list[ullage.Repair])
    first: Any = mended[0]
    print(first, *violations)


def reading() -> None:
    conversation = ullage.Conversation(messages, "openai")
    assert_type(conversation.format, str)
    assert_type(len(conversation), int)
    assert_type([conversation.roles, conversation.texts], list[list[str]])
    assert_type(
        [conversation.cut_points, conversation.requests, conversation.pins], list[list[int]]
    )
    calls: list[ullage.ToolCall] = [*conversation.calls, *conversation.open_calls]
    for call in calls:
        assert_type((call.message, call.number), tuple[int, int])
        assert_type((call.id, call.tool, call.arguments), tuple[str, str, str])
        assert_type(call.result, ullage.ToolResult | None)
        assert_type(call.waits, bool)
    for result in conversation.results:
        assert_type((result.message, result.number), tuple[int, int])
        assert_type((result.id, result.tool, result.text), tuple[str, str, str])
        assert_type(result.call, ullage.ToolCall | None)
        assert_type((result.outcome, result.failed), tuple[str, bool])
    assert_type(ullage.tool_outcome({"success": True}), str)
    assert_type(ullage.is_overflow(ValueError("prompt is too long")), bool)


def shortening() -> None:
    one = ullage.compact([{"role": "user", "content": "a"}], model="gpt-4o")
    assert_type(one, ullage.Compacted)
    assert_type(one.report, ullage.Report)
    compressed = ullage.compress("a log\n" * 900, tool="bash", budget=100)
    assert_type(compressed, ullage.Compressed)
    assert_type(compressed.text, str)
    assert_type(compressed.left_out, tuple[ullage.LeftOut, ...])
    assert_type(compressed.metadata, ullage.CompressionMetadata)


def reading_back() -> None:
    store = ullage.MemoryStore()
    full: ullage.FullStore = store
    reference = store.put(b"content", reference="bash-0123456789abcdef")
    assert_type(reference, str)
    assert_type(store.get(reference), bytes)
    assert_type(ullage.retrieve(store, reference, pattern="x", lines=(1, 3), context=2), str)
    assert_type(ullage.search(store, "x"), str)
    tool = ullage.RetrievalTool(full)
    print(tool.definition("openai"), tool.call({"reference": reference}))


def logging_to_a_file() -> None:
    with ullage.Transcript("session.jsonl", fsync="always") as transcript:
        assert_type(transcript.resume(), list[Any])
        transcript.append(messages[0])
        view = transcript.view()
        transcript.set_view(view)


def recording() -> None:
    recorder = ullage.Recorder("session.jsonl", name="mine")
    engine = ullage.ContextManager(recorder=recorder)
    running(engine)
    recorder.request(messages)
    assert_type(recorder.html(), str)


def paying() -> None:
    tracker = ullage.UsageTracker(budget=1_000_000, catalog=ullage.ModelCatalog())
    usage: ullage.Usage = tracker.usage()
    print(usage, ullage.__version__)


if __name__ == "__main__":
    for made in engines():
        running(made)
        asyncio.run(running_beside(made))
