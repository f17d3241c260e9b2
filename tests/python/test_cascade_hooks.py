"""When the manager of the cascade acts: nothing holds up the loop, nothing is tried twice."""

# mypy: disable-error-code="arg-type,attr-defined,list-item,override"

import pytest
from strands import Agent
from strands.hooks import MessageAddedEvent
from strands.session.file_session_manager import FileSessionManager
from strands.types.exceptions import ContextWindowOverflowException

import ullage
from tests.python.loop_probe import LoopProbe
from tests.python.players import TASK, Player, fetch
from ullage.strands import MappingConversationManager


class SlowStore:
    """Writes slowly, as disks that are full of other work do."""

    def __init__(self, probe):
        self.probe = probe
        self.content: dict[str, bytes] = {}

    def put(self, content, *, reference, tool=None, **_):
        self.probe.work()
        self.content[reference] = content
        return reference

    def get(self, reference):
        return self.content[reference]


def talk(turns, words=40):
    return [
        {"role": role, "content": [{"text": f"{role} {turn} " + "word " * words}]}
        for turn in range(turns)
        for role in ("user", "assistant")
    ]


def agent_of(manager, model=None, **more):
    return Agent(
        model=model or Player(),
        tools=[fetch],
        conversation_manager=manager,
        callback_handler=None,
        **more,
    )


def layered(probe):
    return MappingConversationManager(window_size=10, store=SlowStore(probe))


def stored(probe):
    policy = ullage.Policy(window=3_000, reserve_output=500)
    engine = ullage.ContextManager(policy, store=SlowStore(probe), format="bedrock")
    return MappingConversationManager(engine=engine)


def summarized(probe):
    async def slow_summary(_request):
        await probe.work_async()
        return "So far nothing happened."

    policy = ullage.Policy(window=3_000, reserve_output=500)
    engine = ullage.ContextManager(policy, summarizer=slow_summary, format="bedrock")
    return MappingConversationManager(engine=engine)


@pytest.mark.parametrize("manager", [layered, stored, summarized])
def test_what_an_invocation_leaves_to_be_done_does_not_hold_up_the_loop(manager):
    probe = LoopProbe()
    agent = agent_of(manager(probe), messages=talk(1))

    def lengthen(event):
        # After the last check before a model call, so that it is left for the end.
        if event.message["role"] == "assistant":
            agent.messages[2:2] = talk(40)

    agent.add_hook(lengthen, MessageAddedEvent)
    probe.run(agent.invoke_async("Go on."))
    assert set(probe.was_free) == {True}
    assert len(agent.messages) < 60, "it was done"


def test_without_a_loop_it_is_done_at_once():
    agent = agent_of(MappingConversationManager(window_size=10), messages=talk(20))
    agent.conversation_manager.apply_management(agent)
    assert len(agent.messages) <= 10


def test_a_refusal_that_nothing_helps_against_is_not_tried_again_in_the_loop():
    tried = []

    class Counting(MappingConversationManager):
        def _reduce(self, agent, error, escalation):
            tried.append(error)
            return super()._reduce(agent, error, escalation)

    model = Player(window=1)
    with pytest.raises(ContextWindowOverflowException):
        agent_of(Counting(), model)(TASK)
    assert len([error for error in tried if error is not None]) == len(model.refused)


def test_attributes_may_change_while_an_agent_lives():
    manager = MappingConversationManager()
    agent = agent_of(manager, Player(limit=60_000), messages=talk(2))
    agent("First.")
    store = manager.store = ullage.MemoryStore()
    helper = agent_of(None, Player())
    manager.summarization_agent = helper
    agent.messages[2:2] = talk(300, words=300)
    agent("And now?")
    assert len(helper.model.requests) == 1
    assert len(list(store.list())) > 0


@pytest.mark.parametrize("manager", [layered, stored])
def test_what_was_put_off_is_in_the_session(manager, tmp_path):
    def begun(**more):
        sessions = FileSessionManager("s", storage_dir=str(tmp_path))
        return agent_of(manager(probe), agent_id="a", session_manager=sessions, **more)

    probe = LoopProbe()
    agent = begun(messages=talk(1))

    def lengthen(event):
        if event.message["role"] == "assistant":
            agent.messages[2:2] = talk(40)

    agent.add_hook(lengthen, MessageAddedEvent)
    probe.run(agent.invoke_async("Go on."))
    assert len(agent.messages) < 60
    assert [m["content"] for m in begun().messages] == [m["content"] for m in agent.messages]
