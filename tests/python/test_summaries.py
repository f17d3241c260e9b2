"""Summaries by the host: plain, async, and whatever goes wrong with them."""

# mypy: disable-error-code="no-untyped-def,type-arg,arg-type"

import asyncio
import contextlib
import contextvars
import gc
import json
import logging
import threading
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

import ullage

from .conversations import FORMATS, long_conversation, render
from .judges import Snapshot, count, faults
from .summarizers import POLICY, engine_of, later, lazy, plainly, release, sleepy, wordy


@pytest.fixture
def messages() -> list[dict]:
    return wordy(61)


def indirectly(request: ullage.SummaryRequest):
    return later(request)


class Model:
    async def __call__(self, request: ullage.SummaryRequest) -> str:
        return await later(request)


WAYS = [plainly, later, indirectly, Model(), partial(later)]


@pytest.mark.parametrize("way", WAYS)
def test_any_kind_of_summarizer_is_asked(way, messages):
    report = engine_of(way).compact(messages)
    assert "They agreed on port_8443." in json.dumps(messages)
    assert report.summary is not None
    assert report.summary.by == "summarizer"
    assert report.tokens_after == count(messages) <= 5_000
    assert faults(messages) == []
    assert report.warnings == []


@pytest.mark.parametrize("way", WAYS)
def test_any_kind_is_asked_beside_a_loop(way, messages):
    async def main():
        engine = engine_of(way)
        plain = wordy(61)
        return await engine.acompact(messages), engine.compact(plain), plain

    beside, within, plain = asyncio.run(main())
    assert beside.summary == within.summary
    assert messages == plain
    assert "port_8443" in json.dumps(messages)


def test_the_request_says_what_is_needed(messages):
    seen: list[ullage.SummaryRequest] = []

    def summarizer(request):
        seen.append(request)
        return "Fine."

    before = Snapshot(messages)
    report = engine_of(summarizer).compact(messages)
    (request,) = seen
    assert len(request.messages) == report.removed_messages
    assert all(any(m is old for old in before.objects) for m in request.messages)
    newest = request.messages[-1]["content"][0]["text"]
    assert newest.strip() in request.text
    assert request.previous == ""
    assert 0 < request.max_words < request.max_tokens <= 300
    assert ullage.count_tokens(request.text) <= 3_000
    assert str(request) == f"{request.system}\n\n{request.prompt}"
    assert request.text.strip() in request.prompt


def test_nothing_is_asked_where_nothing_goes():
    def summarizer(request):
        raise AssertionError("nobody asked")

    engine = engine_of(summarizer)
    assert engine.compact(wordy(5)).summary is None
    report = engine.compact(render(long_conversation(30, 50), "bedrock"), budget=60_000, hard=True)
    assert report.warnings == []


def raises(error):
    def summarizer(request):
        raise error

    return summarizer


async def cancels(request):
    raise asyncio.CancelledError


class Odd(str):
    """Text whose own methods all raise."""

    __slots__ = ()

    def _raises(self, *_args, **_named):
        raise RuntimeError("it is odd")

    __len__ = __iter__ = __str__ = __hash__ = __eq__ = __getitem__ = _raises
    strip = split = encode = startswith = _raises


UNCANCELLED = "it raised CancelledError without being cancelled"

FAILURES = [
    (raises(asyncio.CancelledError()), UNCANCELLED),
    (cancels, UNCANCELLED),
    (partial(cancels), UNCANCELLED),
    (lambda request: Odd(" "), "it returned no text"),
    (raises(RuntimeError("no quota")), "RuntimeError: no quota"),
    (raises(StopIteration("done")), "StopIteration: done"),
    (raises(TimeoutError("read")), "TimeoutError: read"),
    (sleepy, "no answer within 0.1 seconds"),
    (lazy, "no answer within 0.1 seconds"),
    (lambda request: "", "it returned no text"),
    (lambda request: " \n\t", "it returned no text"),
    (lambda request: None, "it returned NoneType, not text"),
    (lambda request: b"bytes", "it returned bytes, not text"),
]


@pytest.mark.parametrize(("summarizer", "reason"), FAILURES)
@pytest.mark.parametrize("beside", [False, True])
def test_a_failure_gives_an_account_and_a_line(summarizer, reason, beside, messages, caplog):
    # Only those that hang are left behind, so that a busy machine gives the others their time.
    timeout = 0.1 if summarizer in (sleepy, lazy) else 30
    engine = engine_of(summarizer, summary_timeout=timeout)
    with caplog.at_level(logging.WARNING, logger="ullage"):
        report = asyncio.run(engine.acompact(messages)) if beside else engine.compact(messages)
    release()
    assert report.summary is not None
    assert report.summary.by == "engine"
    (line,) = report.warnings
    assert line.startswith("the summary was made without a model: ")
    assert reason in line
    assert any(reason in record.getMessage() for record in caplog.records)
    assert "written without a model" in json.dumps(messages)
    assert report.tokens_after == count(messages) <= 5_000


@pytest.mark.parametrize("summarizer", [raises(asyncio.CancelledError()), cancels])
@pytest.mark.parametrize("beside", [False, True])
def test_one_that_cancels_itself_is_an_error_where_a_summary_is_required(
    summarizer, beside, messages
):
    engine = engine_of(summarizer, summaries="required")
    before = Snapshot(messages)
    with pytest.raises(ullage.SummaryError, match=UNCANCELLED):
        asyncio.run(engine.acompact(messages)) if beside else engine.compact(messages)
    before.assert_nothing_changed()


@pytest.mark.parametrize("beside", [False, True])
def test_an_answer_is_read_without_its_own_methods(beside, messages):
    engine = engine_of(lambda request: Odd("They agreed on port_8443."))
    asyncio.run(engine.acompact(messages)) if beside else engine.compact(messages)
    assert "They agreed on port_8443." in json.dumps(messages)


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit])
def test_what_is_no_exception_passes_through(error, messages):
    before = Snapshot(messages)
    with pytest.raises(error):
        engine_of(raises(error())).compact(messages)
    assert messages == before.objects


def test_a_cancelled_compaction_leaves_the_messages(messages):
    async def main():
        begun = asyncio.Event()

        async def hangs(request):
            begun.set()
            await sleepy(request)

        task = asyncio.create_task(engine_of(hangs).acompact(messages))
        await begun.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    before = Snapshot(messages)
    asyncio.run(main())
    assert messages == before.objects


class MuteError(Exception):
    def __str__(self) -> str:
        raise RuntimeError("it cannot be said")


@pytest.mark.parametrize("beside", [False, True])
@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (MuteError(), "MuteError"),
        (type("MuteStop", (MuteError, StopIteration), {})(), "MuteStop"),
        (ValueError("a\nb\r\n\x1b[1m\u2028c \ud800d"), "ValueError: a b [1m c d"),
        (ValueError("x\n" * 50_000), "ValueError: x x x"),
    ],
)
def test_whatever_an_error_says_becomes_a_bounded_line(error, reason, beside, messages):
    engine = engine_of(raises(error))
    report = asyncio.run(engine.acompact(messages)) if beside else engine.compact(messages)
    (line,) = report.warnings
    assert reason in line
    assert len(line) < 500
    assert line.isprintable()


def test_one_that_swallows_its_cancellation_is_left_behind(messages, caplog):
    async def main():
        compacted = asyncio.Event()

        async def deaf(request):
            while not compacted.is_set():
                with contextlib.suppress(asyncio.CancelledError):
                    await compacted.wait()
            raise RuntimeError("nobody listens")

        report = await engine_of(deaf, summary_timeout=0.1).acompact(messages)
        compacted.set()
        return report

    # Whoever waits for it is ended by pytest-timeout.
    with caplog.at_level(logging.ERROR, logger="asyncio"):
        report = asyncio.run(main())
        gc.collect()
    assert "no answer within 0.1 seconds" in report.warnings[0]
    assert caplog.records == []


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit])
def test_what_ends_a_program_passes_to_who_waits_beside_a_loop(error, messages):
    async def leaving(request):
        raise error

    async def main():
        for way in (leaving, raises(error())):
            with pytest.raises(error):
                await engine_of(way).acompact(messages)
        return "went on"

    before = Snapshot(messages)
    assert asyncio.run(main()) == "went on"
    assert messages == before.objects


def test_a_huge_answer_is_not_remembered(messages):
    calls = []

    def answering(answer, request):
        calls.append(request)
        return answer

    for answer, asked in (("Sentence by sentence. " * 50_000, 2), ("Sentence. " * 100, 1)):
        calls.clear()
        engine = engine_of(partial(answering, answer))
        assert engine.view(messages) == engine.view(list(messages))
        assert len(calls) == asked


def test_required_means_required(messages):
    with pytest.raises(ullage.PolicyError, match="needs a summarizer"):
        engine_of(None, summaries="required")
    before = Snapshot(messages)
    engine = engine_of(raises(RuntimeError("no quota")), summaries="required")
    with pytest.raises(ullage.SummaryError, match="RuntimeError: no quota"):
        engine.compact(messages)
    with pytest.raises(ullage.SummaryError):
        asyncio.run(engine.acompact(messages))
    assert messages == before.objects
    assert engine_of(plainly, summaries="required").compact(messages).summary is not None


def test_always_needs_no_summarizer(messages):
    report = engine_of(None, summaries="always").compact(messages)
    assert report.summary is not None
    assert report.summary.by == "engine"
    assert "no summarizer was given" in report.warnings[0]
    assert ullage.ContextManager(POLICY).compact(wordy(61)).summary is None


def test_a_summarizer_that_is_not_callable_is_refused():
    with pytest.raises(ullage.PolicyError, match="summarizer: it is an int; give a function"):
        ullage.ContextManager(summarizer=3)


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("summaries", "never"),
        ("summary_prompt", "other"),
        ("summary_tokens", 0),
        ("summary_ratio", 0.0),
        ("summary_timeout", 0.0),
        ("summary_timeout", 1e9),
        ("summary_ahead", 1.5),
    ],
)
def test_a_setting_out_of_range_is_named(setting, value):
    with pytest.raises(ullage.PolicyError, match=setting):
        ullage.Policy(**{setting: value})


def test_an_agent_that_summarizes_with_itself_is_not_asked_twice():
    calls = []

    def summarizer(request):
        calls.append(request)
        inner = wordy(61, "inner")
        report = engine.compact(inner)
        assert "the summarizer itself started the compaction" in report.warnings[0]
        return "Fine."

    async def asummarizer(request):
        return summarizer(request)

    for way in (summarizer, asummarizer):
        engine = engine_of(way)
        engine.compact(wordy(61))
        asyncio.run(engine.acompact(wordy(61, "b")))
    assert len(calls) == 4


def test_the_summarizer_sees_the_context_of_its_caller(messages):
    tenant: contextvars.ContextVar[str] = contextvars.ContextVar("tenant")
    tenant.set("acme")
    engine_of(lambda request: f"for {tenant.get()}").compact(messages)
    assert "for acme" in json.dumps(messages)


def test_nothing_is_locked_while_it_runs():
    gate = threading.Event()

    def summarizer(request):
        assert gate.wait(10)
        return "Fine."

    engine = engine_of(summarizer)
    first = threading.Thread(target=engine.compact, args=(wordy(61),))
    first.start()
    other = wordy(5)
    assert engine.compact(other).saved == 0
    assert engine.status(other).tokens > 0
    gate.set()
    first.join(10)
    assert not first.is_alive()


def test_threads_share_a_summarizer_each_with_its_own_list():
    engine = engine_of(lambda request: f"It was {request.messages[-1]['content'][0]['text'][:3]}")
    lists = [wordy(61, f"a{i:02}") for i in range(8)]
    threads = [threading.Thread(target=engine.compact, args=(m,)) for m in lists]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for i, m in enumerate(lists):
        assert f"It was a{i:02}" in json.dumps(m)
        assert faults(m) == []


def test_messages_that_come_meanwhile_are_kept(messages):
    news = {"role": "assistant", "content": [{"text": "news"}]}

    def summarizer(request):
        messages.append(news)
        return "Fine."

    engine_of(summarizer).compact(messages)
    assert messages[-1] is news


def test_a_huge_answer_is_cut_and_said_so(messages):
    report = engine_of(lambda request: "Sentence by sentence. " * 50_000).compact(messages)
    assert "was cut" in report.warnings[0]
    assert report.tokens_after == count(messages) <= 5_000


def test_a_dry_run_asks_nobody_and_can_be_resumed(messages):
    engine = engine_of(raises(AssertionError("nobody asked")))
    plan = engine.plan(messages)
    assert plan.is_pending
    assert "a summary of up to" in plan.explain()
    assert plan.to_dict()["pending"]["summary_tokens"] <= 300
    done = engine.resume(plan, messages, "They agreed.")
    assert not done.is_pending
    assert count(done.apply(messages)) == done.tokens_after
    assert done.to_dict()["summary"]["by"] == "summarizer"
    assert engine.resume(plan, messages).to_dict()["summary"]["by"] == "engine"
    assert engine.resume(done, messages, "Other.").apply(messages) == done.apply(messages)
    assert count(plan.apply(messages)) == plan.tokens_after
    with pytest.raises(ullage.MessagesChangedError):
        engine.resume(plan, messages[:-1], "They agreed.")


def test_a_view_of_the_same_messages_asks_once(messages):
    calls = []

    def summarizer(request):
        calls.append(request)
        return f"Answer {len(calls)}."

    engine = engine_of(summarizer)
    assert engine.view(messages) == engine.view(list(messages))
    assert len(calls) == 1


def test_five_compactions_neither_decay_nor_grow():
    def model(request):
        """Keeps what it was given before, as a good model does, and adds a line."""
        kept = [line for line in request.previous.splitlines() if line.startswith("- ")]
        turns = [w for w in request.text.split() if w.startswith("turn_")]
        return "\n".join([*kept, f"- seen {turns[-1]} of {request.max_words} words"])

    engine = engine_of(model)
    messages = wordy(61, "round0")
    sizes = []
    for round_ in range(5):
        report = engine.compact(messages)
        assert report.summary is not None
        sizes.append(report.summary.tokens)
        text = json.dumps(messages)
        assert text.count("- seen turn_") == round_ + 1, text
        messages.extend(wordy(61, f"round{round_ + 1}")[1:])
    assert max(sizes) <= 300 + 80 + 20


@pytest.mark.parametrize("format", FORMATS)
def test_every_format_gets_a_valid_history(format):
    messages = render(long_conversation(30, 50), format)
    report = engine_of(plainly).compact(messages, budget=2_000, hard=True)
    assert faults(messages) == []
    assert report.tokens_after == count(messages) <= 2_000


ANSWERS = st.one_of(
    st.none(),
    st.text(max_size=300),
    st.text(alphabet=st.characters(), max_size=2_000),
    st.sampled_from(["\ud800 half", "<|endoftext|>" * 99, "[ullage: 3 earlier messages]", "\0"]),
)


@given(answer=ANSWERS, turns=st.integers(2, 40), budget=st.integers(300, 4_000))
def test_no_answer_breaks_the_budget(answer, turns, budget):
    messages = wordy(turns * 2 + 1)
    engine = engine_of(lambda request: answer)
    try:
        report = engine.compact(messages, budget=budget)
    except ullage.BudgetError:
        return
    assert report.tokens_after == count(messages) <= budget
    assert faults(messages) == []
    again = engine.compact(messages, budget=budget)
    assert again.saved == 0
