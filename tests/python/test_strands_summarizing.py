"""The summarizing manager beside Strands' own: what is the same, and what differs on purpose."""

# mypy: disable-error-code="arg-type,assignment,attr-defined,override,union-attr"

import asyncio
import copy
import json
import threading
from types import SimpleNamespace
from typing import Any

import pytest
from strands import Agent
from strands.agent import conversation_manager as strands_managers
from strands.hooks import BeforeModelCallEvent
from strands.types.exceptions import ContextWindowOverflowException

import ullage
from tests.python.lengths import first
from tests.python.loop_probe import LoopProbe
from tests.python.players import TASK, Player, fetch
from tests.python.summarizers import FORGED
from tests.python.test_strands_sliding import OVERFLOW, chat, conversation, says, step
from ullage.strands import SummarizingConversationManager as Ours

Theirs = strands_managers.SummarizingConversationManager


class Summarizer(Player):
    """Answers a request for a summary, and plays on with everything else."""

    def __init__(self, *args, fails=0, slow=None, says=None, **more):
        super().__init__(*args, **more)
        self.asked: list[Any] = []
        self.fails, self.slow, self.says = fails, slow, says

    async def stream(self, messages, tool_specs=None, system_prompt=None, **kwargs):
        last = messages[-1]["content"][-1].get("text", "")
        if not last.endswith("Please summarize this conversation."):
            async for event in super().stream(messages, tool_specs, system_prompt, **kwargs):
                yield event
            return
        self.asked.append((copy.deepcopy(messages), tool_specs, system_prompt))
        await (self.slow.work_async() if self.slow else asyncio.sleep(0))
        if len(self.asked) <= self.fails:
            raise RuntimeError("no summary today")
        yield {"messageStart": {"role": "assistant"}}
        yield {"contentBlockStart": {"start": {}}}
        text = self.says or f"Summary {len(self.asked)}: {TASK}"
        yield {"contentBlockDelta": {"delta": {"text": text}}}
        yield {"contentBlockStop": {}}
        yield {"messageStop": {"stopReason": "end_turn"}}


def agent_of(model, manager, **more):
    return Agent(
        model=model, tools=[fetch], conversation_manager=manager, callback_handler=None, **more
    )


def reduced(manager, messages, e=None):
    """Returns the messages that a manager leaves of a copy, or the error that it raises."""
    model = Summarizer()
    agent = SimpleNamespace(messages=copy.deepcopy(messages), model=model, aux_model=model)
    try:
        manager.reduce_context(agent, e)
    except ContextWindowOverflowException as error:
        return error
    return agent.messages


def is_summary(message):
    return message["content"][0].get("text", "").startswith("Summary")


def contents(messages):
    return [(message["role"], message["content"]) for message in messages]


@pytest.mark.parametrize("ratio", [0.1, 0.3, 0.8])
@pytest.mark.parametrize("preserved", [2, 10])
def test_what_is_summarized_is_what_strands_summarizes_give_or_take_one(ratio, preserved):
    same = 0
    for seed in range(60):
        messages = conversation(seed)
        theirs = reduced(Theirs(ratio, preserved), messages, OVERFLOW)
        ours = reduced(Ours(ratio, preserved), messages, OVERFLOW)
        if isinstance(theirs, Exception) or isinstance(ours, Exception):
            continue
        if not is_summary(ours[0]):
            continue  # nothing to summarize but large results
        waiting = ours[:-1] if "toolUse" in ours[-1]["content"][-1] else ours
        assert ullage.validate(waiting, "bedrock") == []
        assert abs(len(ours) - len(theirs)) <= 1
        if ullage.validate(theirs, "bedrock") == []:
            same += 1
            assert contents(ours) == contents(theirs)
    assert same > 5


def test_too_few_messages_are_an_error_after_an_overflow_and_a_warning_before(caplog):
    for manager in (Theirs(), Ours()):
        assert isinstance(reduced(manager, chat(3), OVERFLOW), ContextWindowOverflowException)
        assert reduced(manager, chat(3)) == chat(3)
    assert caplog.text.count("Proactive summarization failed, continuing") == 2


def test_a_single_result_that_overflows_is_truncated():
    """harness-sdk 981: Strands has too few messages to summarize, and gives up."""
    messages = [says("user", TASK), *step(1, 500_000)]
    assert isinstance(reduced(Theirs(), messages, OVERFLOW), ContextWindowOverflowException)
    assert len(json.dumps(reduced(Ours(), messages, OVERFLOW))) < 2_000


def test_the_summarizer_is_asked_with_words():
    """harness-sdk 611: calls and results without tools are refused."""
    model = Summarizer()
    messages = [says("user", TASK), *(m for n in range(10) for m in step(n, 3_000)), *chat(6)]
    agent = agent_of(model, Ours(), messages=messages)
    agent.conversation_manager.reduce_context(agent, OVERFLOW)
    ((request, tools, prompt),) = model.asked
    assert tools is None
    assert "MUST create a structured and concise summary" in prompt
    assert [list(block) for message in request for block in message["content"]] == [["text"]]
    assert TASK in str(request)


@pytest.mark.parametrize("forged", FORGED)
def test_a_summary_passes_for_no_note_of_ours(forged):
    messages = [says("user", TASK), *(m for n in range(10) for m in step(n, 3_000)), *chat(6)]
    agent = agent_of(Summarizer(says=forged), Ours(), messages=messages)
    agent.conversation_manager.reduce_context(agent, OVERFLOW)
    texts = [block["text"] for m in agent.messages for block in m["content"] if "text" in block]
    assert any("bait_1" in text for text in texts)
    assert not any(ullage._core.removal_note(text) for text in texts)


def test_the_words_fit_into_half_of_the_window():
    model = Summarizer(limit=4_000)
    messages = [says("user", TASK), *(m for n in range(80) for m in step(n, 8_000)), *chat(6)]
    agent = agent_of(model, Ours(0.8), messages=messages)
    agent.conversation_manager.reduce_context(agent, OVERFLOW)
    assert ullage.count_tokens(model.asked[0][0][0]["content"][0]["text"]) < 2_000


def test_an_overflow_is_answered_with_a_summary():
    model = Summarizer(40, words=300, window=9_000)
    agent = agent_of(model, Ours())
    own = agent.messages
    assert agent(TASK).stop_reason == "end_turn"
    assert len(model.asked) >= 1
    assert agent.messages is own
    assert TASK in str(agent.messages[0])


@pytest.mark.parametrize("pin_first", first(1, [2, 1]))
def test_pinned_messages_stay_and_roles_alternate_around_the_summary(pin_first):
    model = Summarizer(0, window=4_000)
    agent = agent_of(model, Ours(pin_first=pin_first, preserve_recent_messages=4))
    for turn in range(60):
        model.rest = turn % 3
        agent(f"{TASK} {turn} " + "word " * 100)
    assert len(model.asked) > 2
    assert agent.messages[0]["content"][0]["text"].startswith(f"{TASK} 0 ")
    assert len([m for m in agent.messages if "custom" in m.get("metadata", {})]) == pin_first
    assert len(agent.messages[0]["content"]) == 1, "nothing grows at a pin"


def test_the_mass_among_the_newest_messages_is_found():
    model = Summarizer(0, window=9_000, strict=False)
    messages = [*chat(20), says("user", TASK), *step(1, 20_000), *step(2, 90_000)]
    agent = agent_of(model, Ours(), messages=messages)
    assert agent("Go on.").stop_reason == "end_turn"
    assert len(model.refused) <= 3
    assert agent.messages[-1]["content"][0]["text"].startswith("answer")


def test_a_summarizer_that_fails_leaves_truncation_and_then_raises_its_error():
    model = Summarizer(12, words=900, window=9_000, fails=99)
    assert agent_of(model, Ours())(TASK).stop_reason == "end_turn"
    model = Summarizer(fails=99)
    agent = agent_of(model, Ours(), messages=chat(20))
    with pytest.raises(RuntimeError, match="no summary today"):
        agent.conversation_manager.reduce_context(agent, OVERFLOW)
    assert contents(agent.messages) == contents(chat(20))


@pytest.mark.parametrize("proactive", [None, {"compression_threshold": 0.5}])
def test_a_summary_does_not_hold_up_the_event_loop(proactive):
    # Theirs holds up the loop every time, and need not be waited for.
    for kind, probe in ((Theirs, LoopProbe(patience=0.1)), (Ours, LoopProbe())):
        model = Summarizer(
            16, words=300, window=6_000, limit=6_000, slow=probe, usage=True, strict=False
        )
        agent = agent_of(model, kind(0.8, 2, proactive_compression=proactive))
        probe.run(agent.invoke_async(TASK))
        assert set(probe.was_free) == {kind is Ours}


@pytest.mark.parametrize("who", ["another", "itself", "busy"])
def test_who_summarizes(who):
    model, other = Summarizer(14, words=500, window=8_000), Summarizer()
    manager = Ours(0.5, 4)
    agent = agent_of(model, manager)
    by = Agent(model=other, callback_handler=None, messages=chat(1))
    manager.summarization_agent = agent if who == "itself" else by
    done = threading.Event()
    work = threading.Thread(target=by, args=("work",))
    if who == "busy":
        started = threading.Event()

        @by.add_hook
        def wait(_event: BeforeModelCallEvent) -> None:
            started.set()
            done.wait()

        work.start()
        started.wait()
    assert agent(TASK).stop_reason == "end_turn"
    if who == "busy":
        assert contents(by.messages) == [*contents(chat(1)), *contents([says("user", "work")])]
        done.set()
        work.join()
    assert len(model.asked if who == "itself" else other.asked) > 0
    if who == "another":
        assert contents(by.messages) == contents(chat(1))


def test_a_summary_that_overflows_itself_does_not_summarize_in_turn():
    manager = Ours(0.5, 2)
    by_model = Player(most=50)
    by_model.refuses = lambda _: True
    by = Agent(model=by_model, callback_handler=None, conversation_manager=manager)
    manager.summarization_agent = by
    model = Player(14, words=500, window=8_000)
    agent = agent_of(model, manager)
    assert agent(TASK).stop_reason == "end_turn"
    assert len(by_model.refused) < 20
