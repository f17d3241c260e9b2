"""A view shortens the request, and nothing else."""

# mypy: disable-error-code="arg-type,assignment,attr-defined,override,union-attr"

import copy
import json
import re
from itertools import pairwise

import pytest
from strands import Agent
from strands.agent.conversation_manager import NullConversationManager
from strands.session.file_session_manager import FileSessionManager

from demo.rules import check_history
from tests.python.players import TASK, Player, fetch, size_of
from tests.python.test_strands_engines import WINDOW, engine_of, results_of
from ullage.strands import ContextView

# Older versions of Strands do not have the seam.
InvokeModelStage = pytest.importorskip("strands.middleware").InvokeModelStage

_IDS = re.compile(r"call-\d+-\d+-\d+")


def agent_of(model, view, **more):
    return Agent(
        model=model, tools=[fetch], plugins=[view] if view else [], callback_handler=None, **more
    )


def contents(messages):
    """Returns the messages without the ids that differ from run to run."""
    text = json.dumps([message["content"] for message in messages], default=str)
    for number, identity in enumerate(dict.fromkeys(_IDS.findall(text))):
        text = text.replace(identity, f"call-{number}")
    return text


def test_the_history_is_what_it_is_without_the_view():
    plain = agent_of(Player(40, words=500), None, conversation_manager=NullConversationManager())
    plain(TASK)
    model = Player(40, words=500, window=WINDOW, usage=True)
    agent = agent_of(model, ContextView(engine_of(), retrieval=False))
    assert agent(TASK).stop_reason == "end_turn"
    assert model.refused == []
    assert contents(agent.messages) == contents(plain.messages)
    assert size_of(agent.messages) > 3 * WINDOW
    check_history(model.seen)


def test_the_session_has_every_message_as_it_arrived(tmp_path):
    def begin(calls):
        session = FileSessionManager("s", storage_dir=str(tmp_path))
        view = ContextView(engine_of())
        model = Player(calls, words=500, window=WINDOW)
        return agent_of(model, view, session_manager=session, agent_id="a")

    agent = begin(30)
    agent(TASK)
    twin = begin(4)
    assert twin.messages == agent.messages
    assert twin.conversation_manager.get_state()["head"] == []
    twin("more")
    assert twin.model.refused == []


def test_requests_begin_alike_until_the_view_is_compacted_again():
    requests = []

    def note(context):
        requests.append(copy.deepcopy(context.messages))
        return context

    model = Player(60, words=300, window=WINDOW)
    agent = agent_of(model, ContextView(engine := engine_of()))
    agent.add_middleware(InvokeModelStage.Input, note)
    agent(TASK)
    again = [now[: len(before)] != before for before, now in pairwise(requests)]
    assert len(requests) == 61
    assert sum(again) == engine.stats.compactions
    assert sum(again) <= 12, "rarely and deeply"


def test_a_refused_view_is_made_smaller_and_the_history_is_not():
    model = Player(12, words=600)
    model.refuses = lambda number: number in {8, 9}
    agent = agent_of(model, ContextView(engine_of(10**6), retrieval=False))
    assert agent(TASK).stop_reason == "end_turn"
    assert len(model.refused) == 2
    assert len(agent.messages) == 26
    assert all("ullage" not in str(result) for result in results_of(agent))


def test_an_older_message_that_changes_is_seen():
    model = Player(20, words=400, window=WINDOW)
    agent = agent_of(model, ContextView(engine_of()))
    agent(TASK)
    agent.messages[0] = {"role": "user", "content": [{"text": f"{TASK} Changed."}]}
    agent("more")
    assert "Changed." in json.dumps(model.seen)
    agent.messages[1:] = [{"role": "assistant", "content": [{"text": "short"}]}]
    agent("more")
    assert len(model.seen) == 3


def test_what_other_middleware_writes_into_a_request_stays_in_it():
    def note(context):
        context.messages[-1]["content"].append({"text": "for this request"})
        return context

    model = Player(20, words=400, window=WINDOW)
    agent = Agent(model=model, tools=[fetch], callback_handler=None)
    agent.conversation_manager = NullConversationManager()
    agent.add_middleware(InvokeModelStage.Input, note)
    agent._plugin_registry.add_and_init(ContextView(engine_of()))
    agent(TASK)
    assert "for this request" not in json.dumps(agent.messages)
    assert json.dumps(model.seen).count("for this request") == 1


def test_messages_that_other_middleware_adds_are_compacted_too():
    def add(context):
        note = {"role": "assistant", "content": [{"text": "noted"}]}
        return context.replace(messages=[context.messages[0], note, *context.messages])

    model = Player(20, words=400, window=WINDOW)
    agent = Agent(model=model, tools=[fetch], callback_handler=None)
    agent.conversation_manager = NullConversationManager()
    agent.add_middleware(InvokeModelStage.Input, add)
    agent._plugin_registry.add_and_init(ContextView(engine_of()))
    agent(TASK)
    assert model.refused == []
