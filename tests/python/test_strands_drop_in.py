"""Both managers that take the place of those of Strands: what is the same as there."""

# mypy: disable-error-code="arg-type,assignment,attr-defined,override,union-attr"

import inspect
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from strands.agent import conversation_manager as strands_managers
from strands.session.file_session_manager import FileSessionManager
from strands.types.exceptions import ContextWindowOverflowException

import ullage.strands
from tests.python.players import TASK
from tests.python.test_strands_sliding import OVERFLOW
from tests.python.test_strands_summarizing import Summarizer, agent_of, contents

SLIDING, SUMMARIZING = "SlidingWindowConversationManager", "SummarizingConversationManager"


def pair(name):
    return getattr(ullage.strands, name), getattr(strands_managers, name)


@pytest.mark.parametrize("name", [SLIDING, SUMMARIZING])
def test_the_signature_is_that_of_strands(name):
    ours, theirs = pair(name)
    one, other = (inspect.signature(kind).parameters.values() for kind in (ours, theirs))
    assert [(p.name, p.default, p.kind) for p in one] == [
        (p.name, p.default, p.kind) for p in other
    ]
    assert issubclass(ours, theirs)


@pytest.mark.parametrize(
    ("name", "given"),
    [
        *((SLIDING, {"window_size": 7, "per_turn": 2, "pin_first": n}) for n in (None, -2, 0, 3)),
        (SLIDING, {"proactive_compression": True}),
        (SUMMARIZING, {}),
        (SUMMARIZING, {"summary_ratio": 0.95, "pin_first": -1}),
        (SUMMARIZING, {"proactive_compression": True}),
    ],
)
def test_attributes_are_those_of_strands(name, given):
    ours, theirs = (vars(kind(**given)) for kind in pair(name))
    # The messages that a session has are counted in another way.
    same = {key: value for key, value in theirs.items() if key in ours}
    assert {"pin_first", "_compression_threshold"} <= set(same)
    assert {key: ours[key] for key in same} == same


@pytest.mark.parametrize(
    ("name", "given"),
    [
        (SLIDING, {"window_size": -1}),
        (SLIDING, {"per_turn": 0}),
        (SLIDING, {"per_turn": -3}),
        (SLIDING, {"proactive_compression": {"compression_threshold": 0}}),
        (SLIDING, {"proactive_compression": {"compression_threshold": 1.1}}),
        (SUMMARIZING, {"summarization_agent": 1, "summarization_system_prompt": "x"}),
    ],
)
def test_what_strands_refuses_is_refused_in_the_same_words(name, given):
    words = []
    for kind in pair(name):
        with pytest.raises(ValueError) as refused:  # noqa: PT011 - the words are compared below
            kind(**given)
        words.append(str(refused.value))
    assert words[0] == words[1]


@pytest.mark.parametrize("name", [SLIDING, SUMMARIZING])
def test_a_model_that_always_refuses_is_not_called_for_ever(name):
    """harness-sdk 3338: with Strands' own it is, until Python's recursion ends."""
    model = Summarizer(30, words=600, most=100, strict=False)
    model.refuses = lambda number: number > 20
    agent = agent_of(model, pair(name)[0]())
    with pytest.raises(ContextWindowOverflowException):
        agent(TASK)
    assert len(model.refused) <= 11
    assert len(model.asked) <= 11
    model.refuses = lambda number: False
    assert agent("Go on.").stop_reason == "end_turn"


@pytest.mark.parametrize(
    ("name", "given", "words"), [(SLIDING, (8,), 900), (SUMMARIZING, (0.5, 4), 400)]
)
def test_pins_edits_and_summaries_come_back_from_a_session(name, given, words, tmp_path):
    """harness-sdk 4027: with Strands' own, other messages come back."""

    def begin(calls):
        session = FileSessionManager("s", storage_dir=str(tmp_path))
        model = Summarizer(calls, words=words, window=6_000)
        manager = pair(name)[0](*given, pin_first=1)
        return agent_of(model, manager, session_manager=session, agent_id="a")

    agent = begin(16)
    agent(TASK)
    assert agent.model.refused
    assert bool(agent.model.asked) is (name == SUMMARIZING)
    for _ in range(4):
        twin = begin(6)
        assert contents(twin.messages) == contents(agent.messages)
        assert twin.conversation_manager.get_state() == agent.conversation_manager.get_state()
        assert TASK in str(twin.messages[0])
        twin("more")
        agent = twin


@pytest.mark.parametrize(
    ("name", "given"), [(SLIDING, {"window_size": 6, "per_turn": 2}), (SUMMARIZING, {})]
)
def test_a_session_of_strands_own_class_is_taken_over(name, given, tmp_path):
    ours, theirs = pair(name)

    def begin(kind):
        session = FileSessionManager("s", storage_dir=str(tmp_path))
        given_or_few = given or {"summary_ratio": 0.5, "preserve_recent_messages": 2}
        model = Summarizer(strict=False)
        return agent_of(model, kind(**given_or_few), session_manager=session, agent_id="a")

    agent = begin(theirs)
    for turn in range(6):
        agent(f"request {turn}")
    if name == SUMMARIZING:
        agent.conversation_manager.reduce_context(agent, OVERFLOW)
        agent("more")
    twin = begin(ours)
    assert contents(twin.messages) == contents(agent.messages)
    assert twin.conversation_manager.get_state().get("model_call_count", 6) == 6
    twin("still more")
    assert contents(begin(ours).messages) == contents(twin.messages)
    if name == SLIDING:
        assert begin(theirs).messages == twin.messages, "and back, as long as nothing was edited"


@pytest.mark.parametrize("name", [SLIDING, SUMMARIZING])
def test_agents_that_share_a_manager_have_pins_counts_and_summaries_of_their_own(name):
    given: Any = {"window_size": 6, "per_turn": True}
    if name == SUMMARIZING:
        given = {"summary_ratio": 0.5, "preserve_recent_messages": 4}
    manager = pair(name)[0](pin_first=1, **given)
    window = 10**9 if name == SLIDING else 7_000
    models = [Summarizer(20, words=300 + 50 * number, window=window) for number in range(4)]
    agents = [agent_of(model, manager) for model in models]
    with ThreadPoolExecutor(len(agents)) as pool:
        list(pool.map(lambda number: agents[number](f"{TASK} {number}"), range(len(agents))))
    for number, agent in enumerate(agents):
        assert agent.messages[0]["content"][0] == {"text": f"{TASK} {number}"}
        assert len(agent.model.requests) - len(agent.model.refused) == 21
        state = agent.conversation_manager.get_state()
        if name == SLIDING:
            assert len(agent.messages) <= 7
            assert state["model_call_count"] == 21
        else:
            text = f"Summary {len(agent.model.asked)}: {TASK}"
            assert state["summary_message"]["content"] == [{"text": text}]


@pytest.mark.parametrize(
    ("name", "given"), [(SLIDING, {"window_size": 4}), (SUMMARIZING, {"summary_ratio": 0.5})]
)
def test_subclasses_and_attributes_work_as_with_strands(name, given):
    class Noting(pair(name)[0]):  # type: ignore[misc]
        calls = 0

        def reduce_context(self, agent, e=None, **kwargs):
            self.calls += 1
            super().reduce_context(agent, e, **kwargs)

    model = Summarizer(14, words=500, window=8_000)
    manager = Noting(**given)
    agent = agent_of(model, manager)
    own = agent.messages
    if name == SLIDING:
        manager.window_size = 6
    else:
        manager.preserve_recent_messages = 4
    assert agent(TASK).stop_reason == "end_turn"
    assert manager.calls >= max(1, len(model.refused))
    assert agent.messages is own
    assert name == SUMMARIZING or 4 < len(agent.messages) <= 6
