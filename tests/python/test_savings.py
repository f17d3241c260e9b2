"""A session never costs much more than doing nothing, and every report says what it saved."""

import itertools
import json
import random
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import ullage
from ullage._engine.compactor import Compactor
from ullage._hosts.conversations import HostConversation

from .recorded_sessions import call, record, result

WINDOW = 6_000
ROOM = WINDOW - 1_000
# The largest loss of a session, as a share of the cost of doing nothing.
AT_RISK = 0.05
# A model for each rule of prices: writing and reading cost 1.25 and 0.1, 1 and 0.1, 1 and 0.5.
MODELS = ("claude-sonnet-4-5", "gpt-5", "gpt-4o")
COUNTER = ullage.TokenCounter()


@dataclass
class Provider:
    """A provider that caches prompts, and an account of its own: with and without compactions."""

    economics: ullage.Economics
    last: list[Any] = field(default_factory=list)
    known_without: int = 0
    paid: float = 0.0
    without: float = 0.0
    new: int = 0
    new_without: int = 0
    cached: int = 0
    cached_without: int = 0

    def answer(self, sent: list[Any], grown: int, *, is_warm: bool = True) -> tuple[int, int]:
        """Returns the tokens of the prompt, and those read from the cache."""
        same = next(
            (at for at, (old, new) in enumerate(zip(self.last, sent, strict=False)) if old != new),
            min(len(self.last), len(sent)),
        )
        prompt = COUNTER.count_messages(sent)
        cached = COUNTER.count_messages(sent[:same]) if is_warm else 0
        if self.known_without + grown > ROOM:
            self.add(prompt, cached, prompt, cached)
            self.known_without = prompt
        else:
            before, self.known_without = self.known_without, self.known_without + grown
            self.add(prompt, cached, self.known_without, before if is_warm else 0)
        self.last = sent
        return prompt, cached

    def add(self, prompt: int, cached: int, whole: int, cached_without: int) -> None:
        self.new, self.cached = self.new + prompt - cached, self.cached + cached
        self.new_without += whole - cached_without
        self.cached_without += cached_without
        read, write = self.economics.cache_read, self.economics.cache_write
        self.paid += cached * read + (prompt - cached) * write
        self.without += cached_without * read + (whole - cached_without) * write


def opened(model: str, state: Any = None, **settings: Any) -> tuple[ullage.View, Provider]:
    policy = ullage.Policy(window=WINDOW, reserve_output=WINDOW - ROOM, **settings)
    engine = ullage.ContextManager(
        policy, counter=ullage.TokenCounter(), model=model, store=ullage.MemoryStore()
    )
    return engine.open(state, append_only=True), Provider(ullage.Economics.for_model(model))


def steps_of(lengths: list[int]) -> list[list[Any]]:
    """The messages before each request."""
    steps: list[list[Any]] = [[{"role": "user", "content": "Find the fault."}]]
    for number, words in enumerate(lengths):
        text = " ".join(f"w{number}x{word}" for word in range(words))
        steps.append([call(number), result(number, text)])
    return steps


def played(view: ullage.View, provider: Provider, steps: list[list[Any]]) -> list[float]:
    """Plays a session, and returns what it cost at each request beside doing nothing."""
    history, costs = list[Any](), list[float]()
    for step in steps:
        history += step
        prompt, cached = provider.answer(view.messages(history), COUNTER.count_messages(step))
        view.observe(prompt, cached)
        costs.append(provider.paid / provider.without)
    return costs


LENGTHS = st.lists(st.integers(0, 250), min_size=1, max_size=60)
MARKS = st.sampled_from([0.3, 0.5, 0.7, 0.85])


@given(LENGTHS, MARKS, st.sampled_from(MODELS))
def test_no_session_costs_much_more_than_doing_nothing_wherever_it_ends(lengths, high, model):
    view, provider = opened(model, high=high, low=0.15)
    costs = played(view, provider, steps_of(lengths))
    assert max(costs) <= 1 + AT_RISK + 1e-9


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("high", [0.5, 0.85])
def test_a_recorded_session_never_costs_more_than_doing_nothing(model, high):
    messages = record(ullage.Recorder(), ullage.MemoryStore(), text="GET /cart 200 " * 8)
    steps = [messages[:1], *(messages[at : at + 2] for at in range(1, len(messages), 2))]
    for end in range(1, len(steps) + 1):
        view, provider = opened(model, high=high)
        costs = played(view, provider, steps[:end])
        assert costs[-1] <= 1 + 1e-9


def usage_of(seed: int) -> list[int]:
    """The words added before each request of a made-up session: mostly few, and sometimes many."""
    draw = random.Random(seed)
    return [int(min(draw.lognormvariate(3.6, 1.1), 400)) for _ in range(draw.randint(30, 220))]


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("seed", range(8))
def test_a_session_at_the_default_mark_does_not_lose(model, seed):
    view, provider = opened(model)
    costs = played(view, provider, steps_of(usage_of(seed)))
    assert view.report is not None
    assert costs[-1] <= 1 + 1e-9


@given(LENGTHS, MARKS, st.sampled_from(MODELS))
def test_the_savings_of_a_view_are_those_of_its_provider(lengths, high, model):
    view, provider = opened(model, high=high)
    played(view, provider, steps_of(lengths))
    savings = view.savings
    assert (savings.new, savings.cached) == (provider.new, provider.cached)
    assert (savings.new_without, savings.cached_without) == (
        provider.new_without,
        provider.cached_without,
    )
    saved = (provider.without - provider.paid) * provider.economics.input / 1_000_000
    assert savings.money == pytest.approx(saved, abs=1e-9)


@given(LENGTHS, st.lists(st.sampled_from([None, 0, 0.3, 1]), min_size=60, max_size=60))
def test_any_report_leaves_requests_inside_the_window(lengths, shares):
    view, _ = opened(MODELS[0])
    history, prompts = list[Any](), 0
    for step, share in zip(steps_of(lengths), shares, strict=False):
        history += step
        prompt = COUNTER.count_messages(view.messages(history))
        assert prompt <= ROOM
        prompts += prompt
        view.observe(prompt, None if share is None else int(prompt * share))
    assert view.savings.new + view.savings.cached == prompts


@given(LENGTHS, MARKS)
def test_without_cached_tokens_a_report_changes_no_request(lengths, high):
    (observed, _), (silent, _) = (opened(MODELS[0], high=high) for _ in range(2))
    history: list[Any] = []
    for step in steps_of(lengths):
        history += step
        sent = observed.messages(history)
        assert sent == silent.messages(history)
        observed.observe(COUNTER.count_messages(sent))


def test_an_engine_that_compacts_in_place_has_the_same_savings():
    steps = steps_of([60] * 90)
    view, provider = opened(MODELS[0], high=0.4, low=0.15)
    played(view, provider, steps)
    policy = ullage.Policy(window=WINDOW, reserve_output=WINDOW - ROOM, high=0.4, low=0.15)
    engine = ullage.ContextManager(
        policy, counter=ullage.TokenCounter(), model=MODELS[0], store=ullage.MemoryStore()
    )
    messages, other = list[Any](), Provider(provider.economics)
    for step in steps:
        messages += step
        engine.compact(messages)
        engine.observe(messages, *other.answer(list(messages), COUNTER.count_messages(step)))
    assert engine.stats.compactions > 1
    assert engine.stats.savings == view.savings
    assert (engine.stats.savings.money or 0) > 0


def test_conversations_with_one_system_prompt_have_accounts_of_their_own():
    def engine() -> ullage.ContextManager:
        policy = ullage.Policy(window=WINDOW, reserve_output=WINDOW - ROOM, high=0.4, low=0.15)
        return ullage.ContextManager(
            policy, counter=ullage.TokenCounter(), model=MODELS[0], store=ullage.MemoryStore()
        )

    def conversation(number: int) -> tuple[list[Any], Provider, list[list[Any]]]:
        steps = steps_of([55 + 5 * number] * 90)
        system = {"role": "system", "content": "You look for faults."}
        steps[0] = [system, {"role": "user", "content": f"Find fault {number}."}]
        return [], Provider(ullage.Economics.for_model(MODELS[0])), steps

    def play(engine: ullage.ContextManager, *conversations: Any) -> ullage.Savings:
        for at in range(91):
            for messages, provider, steps in conversations:
                messages.extend(steps[at])
                engine.compact(messages)
                answer = provider.answer(list(messages), COUNTER.count_messages(steps[at]))
                engine.observe(messages, *answer)
        return engine.stats.savings

    one, other = (play(engine(), conversation(number)) for number in range(2))
    both = play(engine(), conversation(0), conversation(1))
    assert one.saved_cached > 0
    assert both.saved_cached == one.saved_cached + other.saved_cached
    assert both.saved_new == one.saved_new + other.saved_new


def test_a_report_has_the_savings_before_its_compaction():
    view, provider = opened(MODELS[0], high=0.4, low=0.15)
    played(view, provider, steps_of([60] * 90))
    report = view.report
    assert report is not None
    assert report.savings is not None
    assert 0 < report.savings.requests < view.savings.requests
    assert json.loads(json.dumps(report.to_dict()))["savings"] == report.savings.to_dict()
    assert "savings so far" in report._repr_html_()


def test_a_view_in_another_process_goes_on_with_its_savings():
    steps = steps_of([60] * 90)
    view, provider = opened(MODELS[0], high=0.4, low=0.15)
    played(view, provider, steps[:60])
    state = json.loads(json.dumps(view.state()))
    policy = ullage.Policy(window=WINDOW, reserve_output=WINDOW - ROOM, high=0.4, low=0.15)
    resumed = ullage.ContextManager(
        policy, counter=ullage.TokenCounter(), model=MODELS[0], store=ullage.MemoryStore()
    ).open(state)
    assert resumed.savings == view.savings
    history = [message for step in steps[:61] for message in step]
    for each in (view, resumed):
        tokens = COUNTER.count_messages(each.messages(history))
        each.observe(tokens, tokens - 100)
    assert resumed.savings == view.savings


@given(LENGTHS, MARKS, st.sampled_from(MODELS), st.sets(st.integers(1, 60), max_size=8))
def test_a_restart_changes_no_request(lengths, high, model, restarts):
    def conversation(saved: Any = None) -> HostConversation:
        state, mark = (None, None) if saved is None else (saved["state"], saved["mark"])
        policy = ullage.Policy(window=WINDOW, reserve_output=WINDOW - ROOM, high=high, low=0.15)
        engine = ullage.ContextManager(
            policy, counter=ullage.TokenCounter(), model=model, store=ullage.MemoryStore()
        )
        return HostConversation(engine, engine.open(state), mark)

    both, saved = [conversation(), conversation()], None
    providers = [Provider(ullage.Economics.for_model(model)) for _ in both]
    history: list[Any] = []
    for number, step in enumerate(steps_of(lengths)):
        history += step
        if number in restarts:
            # The host has the state of the last change, and nothing else.
            both[1] = conversation(saved)
        grown, sent = COUNTER.count_messages(step), []
        # A pause, after which nothing is cached.
        is_warm = number % 7 != 5
        for each, provider in zip(both, providers, strict=True):
            sent.append(each._view.messages(history))
            each.observe(*provider.answer(sent[-1], grown, is_warm=is_warm))
        assert sent[0] == sent[1]
        if (state := both[1].saved(saved)) is not None:
            saved = json.loads(json.dumps(state))


def test_the_state_is_written_for_decisions_and_the_first_cached_answer():
    view, provider = opened(MODELS[0], high=0.4, low=0.15)
    conversation = HostConversation(ullage.ContextManager(), view)
    history, saved, writes = list[Any](), None, 0
    for step in steps_of([60] * 90):
        history += step
        sent = view.messages(history)
        conversation.observe(*provider.answer(sent, COUNTER.count_messages(step)))
        if (state := conversation.saved(saved)) is not None:
            saved, writes = state, writes + 1
    assert view.savings.requests == 91
    assert view._compactions < writes <= view._compactions + 3 < 30


def test_a_compaction_that_waits_is_not_planned_at_each_request(monkeypatch):
    view, provider = opened(MODELS[0], high=0.3, low=0.25)
    steps, planned = steps_of([60] * 12 + [2] * 60), []
    plan = Compactor.prepare

    def counted(*args: Any, **more: Any) -> Any:
        planned.append(view.tokens)
        return plan(*args, **more)

    monkeypatch.setattr(Compactor, "prepare", counted)
    played(view, provider, steps)
    assert view.report is None
    assert 1 < len(planned) < 8
    assert all(after > before * 1.12 for before, after in itertools.pairwise(planned))


def test_a_request_that_is_made_again_is_no_sign_of_a_cold_cache():
    view, provider = opened(MODELS[0])
    steps = steps_of([30] * 6)
    played(view, provider, steps)
    assert view._core.cache == "used"
    history = [message for step in steps for message in step]
    history += (large := [call(90), result(90, " ".join(f"w{word}" for word in range(800)))])
    assert view.messages(history) == view.messages(history)
    prompt, cached = provider.answer(history, COUNTER.count_messages(large))
    assert cached < prompt / 2
    view.observe(prompt, cached)
    assert view._core.cache == "used"


def test_a_branch_whose_compaction_waited_is_considered_as_after_a_restart(monkeypatch):
    marks = {"high": 0.3, "low": 0.25}
    view, provider = opened(MODELS[0], **marks)
    planned, plan = [], Compactor.prepare

    def counted(*args: Any, **more: Any) -> Any:
        planned.append(view.tokens)
        return plan(*args, **more)

    monkeypatch.setattr(Compactor, "prepare", counted)
    steps, others = steps_of([60] * 13), steps_of([61] * 13)
    for branch in (steps, [list(itertools.chain(*steps[:5])), *others[5:]]):
        planned.clear()
        played(view, provider, branch)
        assert planned
    assert view.report is None
    resumed, _ = opened(MODELS[0], json.loads(json.dumps(view.state())), **marks)
    history = [message for step in (*steps, [call(90), result(90, "w")]) for message in step]
    plans = []
    for each in (view, resumed):
        planned.clear()
        assert each.messages(history) == history
        plans.append(len(planned))
    assert plans == [1, 1]


ABSURD = [
    (0, 0),
    (0, 7),
    (-5, -5),
    (100, 2**64),
    (2**63, 2**63),
    (2**64 - 1, None),
    (10**30, 10**30),
]


@pytest.mark.parametrize(("reported", "cached"), ABSURD)
def test_an_absurd_report_does_no_harm(reported, cached):
    view, _ = opened(MODELS[0])
    assert not view.observe(reported, cached)
    assert view.savings.requests == 0
    engine, history = ullage.ContextManager(counter=ullage.TokenCounter()), steps_of([60] * 3)
    for _ in range(3):
        assert COUNTER.count_messages(view.messages(history[0])) <= ROOM
        view.observe(reported, cached)
        view.observe(reported, cached)
        engine.observe(history[0], reported, cached)
    assert view.savings.requests == engine.stats.savings.requests == 3
    assert 0 <= view.savings.new + view.savings.cached < 1_000


@pytest.mark.parametrize("value", [1.5, float("nan"), "7", True])
def test_a_report_that_is_no_whole_number_is_refused(value):
    view, _ = opened(MODELS[0])
    view.messages(steps_of([])[0])
    for report in ((value, None), (7, value)):
        with pytest.raises(TypeError, match="must be a whole number"):
            view.observe(*report)
    assert view.savings.requests == 0


def with_counts(state: Any, number: Any, *, is_count: bool = False) -> Any:
    """Returns a state with this number in place of each count."""
    names = {"account", "removed", "left", "refusals"}
    if isinstance(state, dict):
        return {
            name: with_counts(value, number, is_count=is_count or name in names)
            for name, value in state.items()
        }
    if isinstance(state, list):
        return [with_counts(value, number) for value in state]
    return number if is_count else state


def state_and_steps() -> tuple[Any, list[list[Any]]]:
    """The state of a view with compactions, and the steps of its session."""
    steps = steps_of([60] * 90)
    view, provider = opened(MODELS[0], high=0.4, low=0.15)
    played(view, provider, steps)
    assert view.report is not None
    return json.loads(json.dumps(view.state())), steps


@pytest.mark.parametrize("number", [0, 2**63, 2**64 - 1])
def test_absurd_counts_in_a_state_do_no_harm(number):
    state, steps = state_and_steps()
    view, _ = opened(MODELS[0], with_counts(state, number), high=0.4, low=0.15)
    history = [message for step in steps for message in step]
    for at in range(100, 140):
        history += [call(at), result(at, "w " * 100)]
        prompt = COUNTER.count_messages(view.messages(history))
        assert prompt <= ROOM
        view.observe(prompt, prompt - 100)
    view.refused()


@pytest.mark.parametrize("number", [-1, 2**64, 1.5, float("nan"), "7", None])
def test_a_state_with_other_values_than_counts_is_refused(number):
    state, _ = state_and_steps()
    with pytest.raises(ullage.MessageError, match="not the state of a view"):
        opened(MODELS[0], with_counts(state, number))


@pytest.mark.parametrize("field", [{"cache": "hot"}, {"account": {"saved": 1}}, {"waits": 1}])
def test_a_state_with_fields_that_no_view_wrote_is_refused(field):
    state, _ = state_and_steps()
    state["view"] |= field
    with pytest.raises(ullage.MessageError, match="not the state of a view"):
        opened(MODELS[0], state)


def test_a_view_without_reports_has_no_savings():
    view, _ = opened(MODELS[0])
    view.messages(steps_of([])[0])
    assert view.savings == ullage.Savings(money=0.0)
    assert "account" not in view.state()["view"]
