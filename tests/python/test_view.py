"""A view: what a model sees of a history that grows, is edited, rewound and branched."""

from __future__ import annotations

import asyncio
import copy
import itertools
import json
import threading
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import ullage

from . import six_formats
from .broken_histories import broken_histories
from .conversations import Call, Message, Result, Text

POLICY = ullage.Policy(window=3_000, reserve_output=500, keep_recent=2)
BUDGETS = (None, 1_500, 900)
WORDS = "the handler reads this file and finds the line that fails"


def words(mark: int, count: int) -> Text:
    return Text("\n".join(f"{mark} {line} {WORDS}" for line in range(count)))


class Host:
    """A host whose history anything may happen to. Messages are abstract, and are written anew for each request."""

    def __init__(self) -> None:
        self.history: list[Message] = [Message("user", (words(0, 2),))]
        self.made = 0

    def written(self, format: str) -> list[Any]:
        entries, _ = six_formats.written(tuple(self.history), format)
        return copy.deepcopy(entries)

    def grow(self, size: int, parallel: int) -> None:
        self.made += 1
        ids = [f"call-{self.made}-{number}" for number in range(parallel)]
        calls = [Call(name, "read_file", {"path": f"{name}.py"}) for name in ids]
        self.history.append(Message("assistant", (Text(f"Step {self.made}."), *calls)))
        results = (Result(name, (words(self.made, size),)) for name in ids)
        self.history.append(Message("user", tuple(results)))

    def talk(self, size: int, _: int) -> None:
        self.made += 1
        self.history.append(Message("assistant", (words(self.made, 1),)))
        self.history.append(Message("user", (words(self.made, size % 5 + 1),)))

    def edit(self, place: int, _: int) -> None:
        self.made += 1
        at = place % len(self.history)
        message = self.history[at]
        texts = [block for block in message.blocks if isinstance(block, Text)]
        others = tuple(block for block in message.blocks if block not in texts)
        if texts:
            self.history[at] = replace(message, blocks=(words(self.made, 1), *others))

    def rewind(self, back: int, _: int) -> None:
        del self.history[max(1, len(self.history) - back % 12) :]
        if self.history[-1].role == "assistant":
            self.history.pop()

    def insert(self, place: int, _: int) -> None:
        self.made += 1
        self.history.insert(place % len(self.history), Message("user", (words(self.made, 1),)))

    def interrupt(self, _: int, parallel: int) -> None:
        """Of parallel calls all but one are answered before the user goes on."""
        self.grow(2, parallel)
        *answered, _open = self.history.pop().blocks
        self.history.append(Message("user", (*answered, words(self.made, 1))))

    def answer_late(self, _: int, __: int) -> None:
        blocks = [block for message in self.history for block in message.blocks]
        answered = {block.id for block in blocks if isinstance(block, Result)}
        open_calls = [b for b in blocks if isinstance(b, Call) and b.id not in answered]
        if open_calls:
            late = Result(open_calls[-1].id, (words(self.made, 2),))
            self.history.append(Message("user", (late,)))


ACTIONS = st.tuples(
    st.sampled_from(
        ("grow",) * 6 + ("talk", "edit", "rewind", "insert", "interrupt", "answer_late")
    ),
    st.sampled_from((1, 3, 8, 20, 60)),
    st.integers(1, 3),
)


def engine(**more: Any) -> ullage.ContextManager:
    return ullage.ContextManager(POLICY, **more)


def asked(view: ullage.View, history: list[Any], budget: int | None = None) -> Any:
    """The request, or the error that a budget is too small for it."""
    try:
        return view.messages(history, budget)
    except ullage.BudgetError as error:
        return str(error)


def limit(budget: int | None) -> int:
    return budget or POLICY.window - POLICY.reserve_output


@pytest.mark.parametrize("format", six_formats.FORMATS)
@given(st.lists(ACTIONS, min_size=4, max_size=24), st.sampled_from(BUDGETS))
def test_a_request_is_valid_within_its_budget_and_goes_on_from_the_one_before(
    format, actions, budget
):
    host, manager = Host(), engine(format=format)
    view = manager.open()
    last: list[Any] = []
    for action, size, parallel in actions:
        getattr(host, action)(size, parallel)
        history = host.written(format)
        before = copy.deepcopy(history)
        reports = view.report
        request = asked(view, history, budget)
        assert history == before, "the host's messages are as they were"
        if isinstance(request, str):
            last = []
            continue
        assert ullage.validate(request, format=format) == []
        assert manager.counter.count_messages(request, format=format) <= limit(budget)
        if action in {"grow", "talk"} and view.report is reports:
            assert without_host_fields(request[: len(last)]) == without_host_fields(last)
        last = request


def without_host_fields(messages: list[Any]) -> list[Any]:
    return [{key: value for key, value in m.items() if key != "x_host"} for m in messages]


@pytest.mark.parametrize("format", six_formats.FORMATS)
@given(st.lists(ACTIONS, min_size=4, max_size=24), st.data())
def test_a_request_does_not_depend_on_how_it_is_asked_for(format, actions, data):
    host = Host()
    plain, beside, busy = (engine(format=format).open() for _ in range(3))
    resumed = engine(format=format).open()
    for action, size, parallel in actions:
        getattr(host, action)(size, parallel)
        history = host.written(format)
        expected = asked(plain, history)

        async def arequest(history: list[Any] = history) -> Any:
            return await beside.amessages(history)

        try:
            assert asyncio.run(arequest()) == expected
        except ullage.BudgetError as error:
            assert str(error) == expected  # noqa: PT017 - both raise, or neither

        for other in data.draw(st.lists(st.sampled_from(BUDGETS[1:]), max_size=2)):
            asked(busy, history, other)
        assert asked(busy, history) == expected

        state = json.loads(json.dumps(resumed.state()))
        resumed = engine(format=format).open(state)
        assert asked(resumed, history) == expected
        assert len(json.dumps(state["view"])) < 16_000


@pytest.mark.parametrize("format", six_formats.FORMATS)
@given(
    st.lists(
        ACTIONS.filter(lambda a: a[0] in {"grow", "talk", "interrupt", "answer_late"}),
        min_size=4,
        max_size=24,
    )
)
def test_a_promise_that_messages_stay_changes_no_request(format, actions):
    host = Host()
    reading, promised = engine(format=format).open(), engine(format=format).open(append_only=True)
    history: list[Any] = host.written(format)
    for action, size, parallel in actions:
        getattr(host, action)(size, parallel)
        history = [*history, *host.written(format)[len(history) :]]
        assert asked(promised, history) == asked(reading, history)


def test_two_branches_share_what_they_begin_with_and_neither_is_lost():
    host, view = Host(), engine().open()
    for _ in range(11):
        host.grow(20, 1)
        view.messages(host.written("anthropic"))
    trunk = copy.deepcopy(host.history)
    at_the_fork = view.messages(host.written("anthropic"))
    for _ in range(3):
        host.grow(2, 1)
        branch = view.messages(host.written("anthropic"))
    assert branch[: len(at_the_fork)] == at_the_fork
    host.history = trunk
    host.talk(2, 1)
    other = view.messages(host.written("anthropic"))
    assert other[: len(at_the_fork)] == at_the_fork
    assert other != branch[: len(other)]


@pytest.mark.parametrize("format", six_formats.FORMATS)
def test_after_a_rewind_the_newest_message_is_shown_and_the_prefix_stays(format):
    host, manager = Host(), engine(format=format)
    for _ in range(6):
        host.grow(16, 1)
        host.talk(3, 1)
    messages = host.history
    for length in range(3, len(messages), 2):
        view = manager.open()
        host.history = messages
        compacted = view.messages(host.written(format))
        host.history = messages[:length]
        rewound = view.messages(host.written(format))
        newest = messages[length - 1].blocks[0]
        newest = newest.items[0] if isinstance(newest, Result) else newest
        assert isinstance(newest, Text)
        assert newest.text.splitlines()[-1] in json.dumps(rewound), "the newest message is shown"
        host.grow(1, 1)
        grown = view.messages(host.written(format))
        if manager.status(rewound, budget=limit(None)).tokens <= POLICY.high * limit(None):
            kept = without_host_fields(grown[: len(rewound)])
            assert kept == without_host_fields(rewound)
        host.history = messages
        assert view.messages(host.written(format)) == compacted, "the other branch is as it was"


@pytest.mark.parametrize("format", six_formats.FORMATS)
@given(st.booleans(), st.lists(ACTIONS, min_size=3, max_size=16), st.data())
def test_the_same_objects_and_copies_of_them_give_the_same_requests(
    format, append_only, actions, data
):
    """Cut anywhere, so that calls wait for their results in some requests."""
    host = Host()
    for action, size, parallel in actions:
        getattr(host, action)(size, parallel)
    history, known = host.written(format), engine(format=format).open(append_only=append_only)
    fresh, end = engine(format=format).open(), 0
    while end < len(history):
        end += data.draw(st.integers(1, 3))
        assert asked(known, history[:end]) == asked(fresh, copy.deepcopy(history[:end]))


@pytest.mark.parametrize("append_only", [False, True])
@pytest.mark.parametrize("window", [1_200, 100_000])
@given(broken_histories(), st.data())
def test_a_broken_history_gives_the_same_requests_however_it_is_recognized(
    append_only, window, history, data
):
    policy = ullage.Policy(window=window, reserve_output=200, keep_recent=2)
    known = ullage.ContextManager(policy).open(append_only=append_only)
    fresh, end = ullage.ContextManager(policy).open(), 0
    while end < len(history):
        end += data.draw(st.integers(1, 3))
        assert asked(known, history[:end]) == asked(fresh, copy.deepcopy(history[:end]))


@pytest.mark.parametrize("format", six_formats.FORMATS)
def test_after_an_interrupted_call_only_new_messages_are_read(format):
    host, view = Host(), ullage.ContextManager(format=format).open()
    host.interrupt(1, 2)
    history = host.written(format)
    view.messages(history)
    for _ in range(2):
        host.talk(1, 1)
        history.extend(host.written(format)[len(history) :])
        request = view.messages(history)
    assert len(request) != len(history) or request != history, "the call got an answer"
    # The native call that reads nothing but new messages returns None where it would have to read all.
    assert view._core.next(history, budget=None, fixed=0) == request


def test_after_an_edit_all_before_it_stays():
    host, view = Host(), engine().open()
    for _ in range(14):
        host.grow(12, 1)
        request = view.messages(host.written("openai"))
    assert view.report is not None
    # Words of the newest answer.
    host.history[-2] = replace(
        host.history[-2], blocks=(Text("Edited."), *host.history[-2].blocks[1:])
    )
    edited = view.messages(host.written("openai"))
    assert edited[:-2] == request[:-2]
    assert edited[-2]["content"] != request[-2]["content"]


def test_a_larger_budget_restores_nothing_before_the_next_compaction_unless_all_fits():
    host, view = Host(), engine().open()
    for _ in range(14):
        host.grow(12, 1)
        small = view.messages(host.written("anthropic"), 1_000)
    history = host.written("anthropic")
    everything = view.messages(history, 1_000_000)
    assert everything == history
    assert view.messages(history, 1_000) == small


def test_what_is_for_one_request_is_sent_and_not_remembered():
    host, view = Host(), engine().open()
    for number in range(14):
        host.grow(12, 1)
        history = host.written("anthropic")
        reminder = {"role": "user", "content": f"It is now {number} o'clock."}
        request = view.messages([*history, reminder], transient=[len(history)])
        assert request[-1]["content"] == reminder["content"] or reminder["content"] in str(
            request[-1]
        )
        assert ullage.validate(request) == []
    assert "o'clock" not in json.dumps(view.state())
    again = view.messages(history)
    assert "o'clock" not in json.dumps(again)


def test_a_call_that_waits_stays_until_its_answer_comes():
    host, view = Host(), engine().open()
    host.interrupt(2, 2)
    waiting = host.history[1].blocks[-1]
    for _ in range(20):
        host.grow(12, 1)
        request = view.messages(host.written("anthropic"))
        assert waiting.id in json.dumps(request)
        assert ullage.validate(request) == []
    assert view.report is not None
    host.answer_late(1, 1)
    request = view.messages(host.written("anthropic"))
    results = [
        b
        for m in request
        for b in m["content"]
        if isinstance(b, dict) and b.get("tool_use_id") == waiting.id
    ]
    assert [WORDS in str(result["content"]) for result in results] == [True]


def test_refusals_make_the_request_smaller_until_nothing_is_left():
    host, manager = Host(), engine()
    view = manager.open()
    for _ in range(6):
        host.grow(12, 1)
    history = host.written("anthropic")
    sizes = [manager.counter.count_messages(view.messages(history))]
    with pytest.raises(ullage.BudgetError):
        sizes.extend(manager.counter.count_messages(view.refused()) for _ in range(10))
    assert 1 < len(sizes) < 10
    assert all(after <= before * 0.71 for before, after in itertools.pairwise(sizes))
    assert view.ceiling is not None


def test_a_longer_history_ends_a_row_of_refusals():
    host, manager = Host(), engine()
    view = manager.open()
    for _ in range(6):
        host.grow(12, 1)
    view.messages(host.written("anthropic"))
    view.refused()
    host.grow(12, 1)
    view.messages(host.written("anthropic"))
    before = view.tokens
    view.refused()
    assert view.ceiling is not None
    assert 0.6 * before < view.ceiling <= 0.7 * before, "as after a first refusal"


def test_the_ceiling_goes_with_the_state_and_holds():
    host, manager = Host(), engine()
    view = manager.open()
    for _ in range(6):
        host.grow(12, 1)
    view.messages(host.written("anthropic"))
    refused = view.tokens
    asyncio.run(view.arefused())
    assert view.tokens <= 0.7 * refused
    view.observe(view.tokens)
    resumed = engine().open(json.loads(json.dumps(view.state())))
    assert resumed.ceiling == view.ceiling
    for _ in range(12):
        host.grow(3, 1)
        assert (
            manager.counter.count_messages(resumed.messages(host.written("anthropic")))
            <= 0.7 * refused
        )


def test_a_state_of_another_history_is_rejected():
    host, view = Host(), engine().open()
    for _ in range(14):
        host.grow(12, 1)
        view.messages(host.written("anthropic"))
    state = view.state()
    other = Host()
    other.history[0] = Message("user", (Text("Something else altogether."),))
    other.made = 100
    other.grow(3, 1)
    restored = engine().open(state)
    with pytest.raises(ullage.MessageError, match="another history"):
        restored.messages(other.written("anthropic"))
    restored.messages(host.written("anthropic"))


@pytest.mark.parametrize(
    "replaced",
    [
        lambda history: [{"role": "user", "content": "Something else."}],
        lambda history: [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "Something else."},
        ],
        lambda history: history[-3:],
        lambda history: [{"role": "user", "content": "Much was said."}, *history[-4:]],
        lambda history: [history[0], *({**m, "content": "Edited."} for m in history[1:7])],
    ],
    ids=["cleared", "cleared with a prompt", "cut off", "summarized", "edited"],
)
def test_a_view_goes_on_with_a_history_that_was_replaced_resumed_or_not(replaced):
    view = engine(format="openai").open()
    for end in range(1, 240, 4):
        history = long_history(end)
        view.messages(history)
    state = json.loads(json.dumps(view.state()))
    new = replaced(history)
    resumed = engine(format="openai").open(state)
    assert resumed.messages(new) == view.messages(new)
    assert resumed.messages(history) == view.messages(history)


@pytest.mark.parametrize(
    "state",
    [
        {},
        [],
        "no JSON",
        {"view": {}, "messages": []},
        {"view": {"version": 2, "landmarks": [], "ceiling": None, "budgets": []}, "messages": []},
        {
            "view": {
                "version": 1,
                "landmarks": ["0" * 32],
                "ceiling": None,
                "budgets": [
                    {
                        "budget": None,
                        "compactions": [
                            [{"for": [0, 1], "shows": [{"message": 3}], "prefix": "0" * 32}]
                        ],
                    }
                ],
            },
            "messages": [],
        },
    ],
)
def test_what_no_view_wrote_is_no_state(state):
    with pytest.raises(ullage.MessageError, match="state of a view"):
        engine().open(state)


@pytest.mark.parametrize(
    "history", [None, 5, "words", {"role": "user"}, [None], [{"role": "user"}]]
)
@pytest.mark.parametrize("append_only", [False, True])
def test_what_is_no_history_is_refused(history, append_only):
    with pytest.raises(ullage.MessageError):
        engine().open(append_only=append_only).messages(history)


@pytest.mark.parametrize("places", [{"pins": [99]}, {"transient": [99]}, {"pins": [-1]}])
def test_a_place_that_is_not_in_the_history_is_refused(places):
    with pytest.raises(ullage.MessageError, match="names no message"):
        engine().open().messages(Host().written("anthropic"), **places)


def test_threads_that_share_a_view_get_what_one_gets_alone():
    host = Host()
    for _ in range(20):
        host.grow(12, 1)
    history, alone, shared = host.written("anthropic"), engine().open(), engine().open()
    lengths = range(1, len(history) + 1, 2)
    expected = [alone.messages(history[:length]) for length in lengths]
    wrong: list[int] = []

    def ask() -> None:
        for length in lengths:
            request = shared.messages(history[:length])
            if ullage.validate(request) or len(request) > len(history):
                wrong.append(length)

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
    assert shared.messages(history)[-1] == expected[-1][-1]


def test_a_request_that_is_cancelled_leaves_the_view_in_order():
    async def summarize(_: ullage.SummaryRequest) -> str:
        began.set()
        await asyncio.sleep(3_600)
        return "never"

    async def cancelled() -> None:
        view = ullage.ContextManager(policy, summarizer=summarize).open()
        task = asyncio.create_task(view.amessages(history))
        await began.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert view.report is None
        assert view.messages(history[:3]) == history[:3]

    began, host = asyncio.Event(), Host()
    policy = POLICY.replace(stages=["window", "summarize"])
    for _ in range(14):
        host.grow(12, 1)
    history = host.written("anthropic")
    asyncio.run(cancelled())


def test_a_system_message_in_the_list_stays_where_it_is():
    """Some hosts keep it there, and put it where the provider wants it when they send it."""
    host, view = Host(), engine(format="anthropic").open()
    system = {"role": "system", "content": "You are careful."}
    for _ in range(14):
        host.grow(12, 1)
        request = view.messages([system, *host.written("anthropic")])
    assert view.report is not None
    assert request[0] is system


def test_untouched_messages_are_the_hosts_own():
    host, view = Host(), engine().open()
    for _ in range(16):
        host.grow(12, 1)
        history = host.written("anthropic")
        request = view.messages(history)
    assert view.report is not None
    assert [a is b for a, b in zip(request[-3:], history[-3:], strict=True)] == [True] * 3


def test_a_summary_is_asked_for_once_for_each_compaction():
    requests = []

    def summarize(request: ullage.SummaryRequest) -> str:
        requests.append(request)
        return "All was read."

    host = Host()
    reports: list[ullage.Report] = []
    policy = POLICY.replace(stages=["window", "summarize"])
    manager = ullage.ContextManager(policy, summarizer=summarize, on_compaction=reports.append)
    view = manager.open()
    for _ in range(14):
        host.grow(12, 1)
        request = view.messages(host.written("anthropic"))
        asyncio.run(view.amessages(host.written("anthropic")))
    assert len(requests) == len(reports) > 0
    assert "All was read." in json.dumps(request)


def test_what_leaves_a_view_can_be_retrieved():
    store = ullage.MemoryStore()
    host, view = Host(), engine(store=store).open()
    for _ in range(14):
        host.grow(12, 1)
        view.messages(host.written("anthropic"))
    assert view.report is not None
    found = "".join(ullage.retrieve(store, reference) for reference in view.report.references)
    assert WORDS in found


@given(st.lists(ACTIONS, min_size=4, max_size=16), st.sampled_from(six_formats.FORMATS))
def test_an_outlook_is_the_next_request_and_changes_nothing(actions, format):
    host, manager = Host(), engine(format=format)
    looked, plain = manager.open(), manager.open()
    for action, size, parallel in actions:
        getattr(host, action)(size, parallel)
        history = host.written(format)
        outlook = looked.outlook(history)
        compacted = looked.report
        request = asked(looked, history)
        assert request == asked(plain, history)
        if not outlook.is_due:
            assert outlook.messages == request
            assert outlook.tokens == looked.tokens
            assert looked.report is compacted


def long_history(count: int) -> list[dict[str, Any]]:
    return [
        {"role": ("user", "assistant")[number % 2], "content": f"{number}: {WORDS} " * 10}
        for number in range(count)
    ]


@pytest.mark.parametrize("is_async", [False, True])
@pytest.mark.parametrize("keep", [1, 2, 5])
def test_a_compaction_of_somebody_elses_is_repaired_fits_and_is_remembered(keep, is_async):
    calls = []

    def ends(messages, limit, pins):
        calls.append((len(messages), limit, pins))
        messages[1:-keep] = [{"role": "user", "content": "Much was said here."}]

    async def later(messages, limit, pins):
        await asyncio.sleep(0)
        ends(messages, limit, pins)

    view = engine().open(compaction=later if is_async else ends)
    history = long_history(80)
    request = view.messages(history)
    assert ullage.validate(request) == []
    assert view.tokens <= 2_500
    assert request[0]["content"].startswith(history[0]["content"])
    assert request[-1] is history[-1]
    assert calls[0][:2] == (80, 2_500)
    history += [{"role": "user", "content": "And now?"}]
    assert view.messages(history)[: len(request)] == request
    assert asyncio.run(view.amessages(history)) == view.messages(history)
    resumed = engine().open(json.loads(json.dumps(view.state())))
    assert resumed.messages(history) == view.messages(history)
    assert len(calls) == 1


def test_a_compaction_of_somebody_elses_hears_which_messages_must_stay():
    def unpinned(messages, limit, pins):
        heard.append([messages[place]["content"] for place in pins])
        messages[:] = [message for place, message in enumerate(messages) if place in {0, *pins}]

    heard: list[list[str]] = []
    history = long_history(80)
    request = engine().open(compaction=unpinned).messages(history, pins=[4, 71])
    assert heard == [[history[4]["content"], history[71]["content"]]]
    assert str(history[71]["content"]) in str(request)


def test_what_a_compaction_of_somebody_elses_raises_changes_nothing():
    def broken(messages, limit, pins):
        messages.clear()
        raise LookupError("no such thing")

    view = engine().open(compaction=broken)
    history = long_history(80)
    with pytest.raises(LookupError, match="no such thing"):
        view.messages(history)
    assert view.state() == engine().open().state()
    assert len(history) == 80


def test_an_error_names_messages_by_their_places_in_the_history():
    view = engine().open()
    history = long_history(80)
    view.messages(history)
    history += [{"role": "assistant", "content": "Yes."}, {"role": "user", "content": WORDS * 900}]
    with pytest.raises(ullage.BudgetError) as raised:
        view.messages(history, pins=[81])
    assert raised.value.messages[0] == 81
    assert "message 81 (" in str(raised.value)


def test_an_error_names_places_in_the_history_after_a_repair_and_beside_what_is_transient():
    lost = {"role": "tool", "tool_call_id": "nobody's", "content": "A result without a call."}
    note = {"role": "user", "content": "A reminder for this request."}
    large = {"role": "assistant", "content": WORDS * 900}
    history = [*long_history(8), lost, lost, note, large, {"role": "user", "content": "Go on."}]
    with pytest.raises(ullage.BudgetError) as raised:
        engine().open().messages(history, transient=[10], pins=[11])
    assert raised.value.messages[0] == 11
    assert "(message 11 is pinned" in str(raised.value)
    for ask in (engine().plan, engine().compact):
        with pytest.raises(ullage.BudgetError) as raised:
            ask(list(history), pins=[11])
        assert raised.value.messages[0] == 11
        assert "(message 11 is pinned" in str(raised.value)
    history[10] = {"role": "user", "content": WORDS * 900}
    with pytest.raises(ullage.BudgetError) as raised:
        engine().open().messages(history, transient=[10])
    assert raised.value.messages[0] == 10


def test_a_compaction_that_stays_above_the_high_mark_waits_for_growth():
    """Else the whole prompt would change with each message."""
    policy = ullage.Policy(window=3_000, reserve_output=0, high=0.5, low=0.2, escalate=0.5)
    view = ullage.ContextManager(policy).open()
    history = long_history(6)
    history[0]["content"] = f"{WORDS} " * 130
    reports = []
    for number in range(40):
        history.append({"role": ("user", "assistant")[number % 2], "content": f"{number}: go on"})
        view.messages(history, pins=[0])
        reports += [view.report] if view.report not in reports else []
    assert view.tokens > 1_500
    assert len(reports) <= 8


def test_close_budgets_share_compactions():
    view = engine().open()
    history = long_history(80)
    compactions = []
    for step in range(60):
        history.append({"role": ("user", "assistant")[step % 2], "content": f"{step}: go on"})
        view.messages(history, 2_400 - step)
        assert view.tokens <= 2_400 - step
        compactions += [view.report] if view.report not in compactions else []
    assert len(compactions) <= 3


def test_hard_compacts_below_the_high_mark():
    view = engine().open()
    history = long_history(12)
    assert view.messages(history) == history
    assert view.report is None
    request = view.messages(history, hard=True)
    assert len(request) < len(history)
    assert view.messages([*history, {"role": "user", "content": "Go on."}])[:-1] == request


def places(value: Any) -> list[tuple[Any, Any]]:
    """Every container in a value with every key or index of it."""
    if not isinstance(value, dict | list):
        return []
    keys = list(value) if isinstance(value, dict) else list(range(len(value)))
    return [(value, key) for key in keys] + [place for key in keys for place in places(value[key])]


@pytest.mark.parametrize("append", [True, False])
@given(
    st.sampled_from(six_formats.FORMATS),
    st.lists(
        st.tuples(st.integers(0, 400), st.sampled_from(("text", "drop", "twice"))), max_size=6
    ),
)
def test_a_message_that_is_changed_in_place_is_noticed(append, format, edits):
    host = Host()
    for _ in range(4):
        host.grow(3, 2)
        host.talk(2, 0)
    history = host.written(format)
    view = engine(format=format).open()
    assert view.messages(history) == view.messages(history)
    for place, kind in edits:
        before = copy.deepcopy(history)
        strings = [(at, key) for at, key in places(history) if isinstance(at[key], str)]
        lists = [(at, key) for at, key in places(history) if isinstance(at[key], list) and at[key]]
        at, key = (strings if kind == "text" else lists)[
            place % len(strings if kind == "text" else lists)
        ]
        if kind == "text":
            at[key] = at[key] + " changed"
        elif kind == "drop":
            at[key].pop()
        else:
            at[key].append(copy.deepcopy(at[key][0]))
        if append:
            history.append(copy.deepcopy(history[0]))
        try:
            fresh = engine(format=format).open()
            expected = fresh.messages(copy.deepcopy(history))
        except ullage.MessageError:
            history[:] = before
            continue
        assert view.messages(history) == expected
        assert view.tokens == fresh.tokens


def test_new_messages_of_a_compaction_in_a_row_are_not_shown_of_another_history():
    def account(messages: list[Any], limit: int, pins: list[int]) -> None:
        messages[1:-1] = [{"role": "user", "content": f"account {n}"} for n in range(3)]

    view = ullage.ContextManager(ullage.Policy(window=2_000, reserve_output=0)).open(
        compaction=account
    )
    history = [{"role": "user", "content": f"message {n} " * 100} for n in range(20)]
    assert "account 2" in str(view.messages(history))
    # The histories share the beginning alone.
    other = [history[0], {"role": "user", "content": "Something else"}]
    assert view.messages(other) == other


def test_a_refusal_brings_a_request_as_far_down_as_it_goes():
    view = engine().open()
    history = long_history(10)
    view.messages(history, pins=range(7))
    before = view.tokens
    request = view.refused()
    assert 0.7 * before < view.tokens < before
    assert str(history[6]["content"]) in str(request)
    assert view.messages(history, pins=range(7)) == request
    with pytest.raises(ullage.BudgetError):
        view.refused()
    assert view.messages(history, pins=range(7)) == request


@pytest.mark.parametrize("format", six_formats.FORMATS)
@given(st.lists(st.tuples(st.integers(0, 2), ACTIONS), min_size=4, max_size=30))
def test_a_conversation_among_many_is_found_by_its_history(format, actions):
    """Three conversations that begin alike take turns; each gets what it gets from a view of its own."""
    manager = engine(format=format)
    hosts = [Host() for _ in range(3)]
    views = [engine(format=format).open() for _ in hosts]
    for which, (action, size, parallel) in actions:
        host = hosts[which]
        if action in {"edit", "rewind", "insert"}:
            continue
        # The conversations differ from their second message on.
        host.made = max(host.made, 100 * which)
        getattr(host, action)(size, parallel)
        history = host.written(format)
        assert asked(manager.view_of(history), history) == asked(views[which], history)


def test_the_views_of_many_conversations_stay_within_their_bytes():
    manager = ullage.ContextManager(POLICY, view_bytes=200)
    histories = [[{"role": "user", "content": f"{number} " + "word " * 400}] for number in range(9)]
    views = [manager.view_of(history) for history in histories]
    assert manager.view_of(histories[-1]) is views[-1]
    assert manager.view_of(histories[0]) is not views[0], "it was dropped"
    with pytest.raises(ullage.MessageError):
        views[0].refused()
    bad: Any
    for bad in (-1, 1.5, None):
        with pytest.raises(ullage.PolicyError, match="view_bytes"):
            ullage.ContextManager(POLICY, view_bytes=bad)
    ullage.ContextManager(POLICY, view_bytes=2**70).view_of(histories[0])


@pytest.mark.parametrize("format", six_formats.FORMATS)
@given(st.lists(ACTIONS.filter(lambda a: a[0] in {"grow", "talk"}), min_size=4, max_size=24))
def test_a_history_that_is_replayed_gives_the_bytes_of_the_first_time(format, actions):
    host, first = Host(), engine(format=format).open()
    requests = [first.messages(host.written(format))]
    for action, size, parallel in actions:
        getattr(host, action)(size, parallel)
        requests.append(first.messages(host.written(format)))
    history = host.written(format)
    assert engine(format=format).open(replay=True).messages(history) == requests[-1]
    replayed = asyncio.run(engine(format=format).open(replay=True).amessages(history))
    assert replayed == requests[-1]


def test_what_must_stay_outweighs_what_a_refusal_taught():
    view = engine().open()
    history = long_history(10)
    view.messages(history)
    view.refused()
    history.append({"role": "user", "content": "word " * (view.ceiling or 0)})
    assert history[-1] in view.messages(history, pins=[len(history) - 1])
    with pytest.raises(ullage.BudgetError):
        view.messages(history, budget=10, pins=[len(history) - 1])
