"""An agent that a session restores is the agent that was running, whatever its manager did."""

# mypy: disable-error-code="arg-type,assignment,attr-defined,override,union-attr"

import copy
import json
import random
import shutil
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any

import pytest
from strands import Agent
from strands._async import run_async
from strands.agent.conversation_manager import NullConversationManager
from strands.hooks import AgentInitializedEvent, MessageAddedEvent
from strands.session.file_session_manager import FileSessionManager
from strands.session.repository_session_manager import RepositorySessionManager

from tests.python.players import TASK, Player, fetch
from ullage.strands.session import RestorableConversationManager

from .lengths import first

try:
    from strands.session import SnapshotSessionManager
    from strands.storage import LocalFileStorage
except ImportError:  # before Strands 1.55
    KINDS = ["file", "repository"]
else:
    KINDS = ["file", "repository", "snapshot"]

PNG = b"\x89PNG\r\n\x1a\n\x00\xff"


class Editing(RestorableConversationManager):
    """Does to the history what managers do, chosen by a seed."""

    def __init__(self, seed=0, *, often=0.5):
        super().__init__()
        self.random, self.often = random.Random(seed), often

    def register_hooks(self, registry, **kwargs):
        super().register_hooks(registry, **kwargs)
        registry.add_callback(MessageAddedEvent, lambda event: self.edit(event.agent))

    def apply_management(self, agent, **_):
        self.edit(agent)

    def reduce_context(self, agent, e=None, **_):
        self.edit(agent)

    def edit(self, agent):
        self.follow(agent)
        if agent.messages and self.random.random() < self.often:
            self.random.choice([shorten, pin, cut, note, rewrite, append, nothing])(
                agent.messages, self.random
            )


def nothing(_messages, _random):
    pass


def shorten(messages, random):
    """Replaces a message by a copy with less in it."""
    index = random.randrange(len(messages))
    blocks = copy.deepcopy(messages[index]["content"])
    for block in blocks:
        for item in block.get("toolResult", {}).get("content", []):
            item.update({"text": item["text"][:20]} if "text" in item else {})
    messages[index] = {**messages[index], "content": blocks}


def pin(messages, random):
    """Writes a pin into a message, as Strands' own managers do."""
    message = messages[random.randrange(len(messages))]
    message["metadata"] = {**message.get("metadata", {}), "custom": {"pinned": True}}


def cut(messages, random):
    """Removes what lies between the first message and a place where one may cut."""
    places = [i for i in range(1, len(messages)) if messages[i]["role"] == "assistant"]
    if places:
        del messages[1 : random.choice(places)]


def note(messages, _random):
    """Puts a summary, with a picture, into the first message."""
    picture = {"image": {"format": "png", "source": {"bytes": PNG}}}
    messages[0] = {"role": "user", "content": [{"text": f"{TASK} and a summary"}, picture]}


def rewrite(messages, random):
    """Puts other content into a message, as truncation in Strands does."""
    message = messages[random.randrange(len(messages))]
    message["content"] = [dict(block) for block in message["content"]]


def append(messages, _random):
    """Says something that no session hears of."""
    if messages[-1]["role"] == "assistant" and not any(
        "toolUse" in block for block in messages[-1]["content"]
    ):
        messages.append({"role": "user", "content": [{"text": "unheard"}]})
        messages.append({"role": "assistant", "content": [{"text": "of"}]})


class Place:
    """The folder of a session. Another process would find a copy of it."""

    def __init__(self, kind, folder):
        self.kind, self.folder = kind, folder

    def session(self):
        if self.kind != "snapshot":
            files = FileSessionManager("s", storage_dir=str(self.folder))
            # A manager that knows its log by the interface of repositories alone, and one that is both.
            return files if self.kind == "file" else RepositorySessionManager("s", files)
        storage = LocalFileStorage(str(self.folder))
        return SnapshotSessionManager("s", storage=storage, save_latest_on="message")

    def copied(self, folder):
        other = Place(self.kind, folder)
        if self.folder.exists():
            shutil.copytree(self.folder, folder)
        return other


@pytest.fixture(params=KINDS)
def place(request, tmp_path):
    return Place(request.param, tmp_path / "live")


def begin(place, manager, calls=0, agent_id="a", **more):
    return Agent(
        model=Player(calls, strict=False),
        tools=[fetch],
        agent_id=agent_id,
        conversation_manager=manager,
        session_manager=place.session(),
        callback_handler=None,
        **more,
    )


def said(messages):
    """Returns the messages as a host keeps them, without ids that a session assigns again."""
    return [{key: m[key] for key in m if key != "tracking_id"} for m in messages]


class Killed(BaseException):
    pass


def store(event):
    """Stores the agent, as after any change of its state."""
    session = event.agent._session_manager
    if hasattr(session, "save_snapshot"):
        run_async(lambda: session.save_snapshot(event.agent, is_latest=True))
    else:
        session.sync_agent(event.agent)


@pytest.mark.parametrize("seed", first(2, range(12)))
def test_what_is_restored_after_any_turn_is_what_was_live(place, tmp_path, seed):
    agent = begin(place, Editing(seed), calls=6)
    restored = 0

    def compare(event):
        nonlocal restored
        other = place.copied(tmp_path / f"copy-{restored}")
        restored += 1
        for _ in range(2):  # a state may be restored any number of times
            twin = begin(other, Editing(often=0))
            assert said(twin.messages) == said(event.agent.messages)
            assert (
                twin.conversation_manager.get_state()
                == event.agent.conversation_manager.get_state()
            )

    agent.hooks.add_callback(MessageAddedEvent, compare, order=2_000)
    # The manager edits after the session has stored the state; let the session look again.
    agent.hooks.add_callback(MessageAddedEvent, store, order=1_500)
    agent(TASK)
    agent.model.rest = 2
    agent("And then?")
    assert restored == 2 * 6 + 2 + 2 * 2 + 2


@pytest.mark.parametrize("seed", first(2, range(12)))
def test_a_running_agent_is_restored_by_a_session_like_a_new_one(place, seed):
    agent = begin(place, Editing(seed), calls=6)
    agent(TASK)
    store(SimpleNamespace(agent=agent))
    twin = Agent(
        model=Player(strict=False),
        agent_id="a",
        conversation_manager=Editing(often=0),
        callback_handler=None,
    )
    for turn in range(seed % 3):
        twin(f"task {turn} of another session")
    session = place.session()
    session.initialize(twin)
    twin.hooks.add_hook(session)
    state = twin.conversation_manager.get_state()
    assert said(twin.messages) == said(agent.messages)
    if place.kind != "snapshot":  # where the log of the running agent continues
        assert state == agent.conversation_manager.get_state()
    twin("And then?")
    assert said(begin(place, Editing(often=0)).messages) == said(twin.messages)


@pytest.mark.parametrize("edited", [True, False])
def test_what_a_running_agent_gets_right_after_it_was_restored_comes_back_too(edited, tmp_path):
    place = Place("file", tmp_path / "live")
    agent = begin(place, Editing(often=0), calls=2)
    agent(TASK)
    if edited:
        agent.messages[-1] = {"role": "assistant", "content": [{"text": "edited"}]}
        store(SimpleNamespace(agent=agent))
    twin = Agent(
        model=Player(), agent_id="a", conversation_manager=Editing(often=0), callback_handler=None
    )
    session = place.session()
    session.initialize(twin)
    twin.hooks.add_hook(session)
    twin("And then?")
    assert said(twin.messages[:6]) == said(agent.messages)
    assert twin.messages[6]["content"] == [{"text": "And then?"}]
    assert said(begin(place, Editing(often=0)).messages) == said(twin.messages)


@pytest.mark.parametrize("seed", first(4, range(12)))
def test_an_agent_killed_at_random_moments_goes_on_from_what_was_stored(place, tmp_path, seed):
    chance = random.Random(seed)
    possible: list[Any] = [[]]
    for life in range(6):
        agent = begin(place, Editing(seed * 100 + life), calls=5)
        assert said(agent.messages) in possible
        moment = chance.randrange(1, 12)
        left = Place(place.kind, tmp_path / "never")

        def taken(event):
            possible[:] = [copy.deepcopy(said(event.agent.messages))]

        def stored(event):
            store(event)
            possible.append(copy.deepcopy(said(event.agent.messages)))

        def kill(event, place=place, life=life):
            nonlocal moment, left
            moment -= 1
            if not moment:
                # The session also stores what an exception leaves; a real kill leaves this.
                left = place.copied(tmp_path / f"life-{life}")
                raise Killed

        # The session stores, the manager edits, it may be killed, the session stores, it may be.
        hooks = agent.hooks
        hooks.add_callback(MessageAddedEvent, taken, order=-1)
        hooks.add_callback(MessageAddedEvent, kill, order=1_400)
        hooks.add_callback(MessageAddedEvent, stored, order=1_500)
        hooks.add_callback(MessageAddedEvent, kill, order=1_600)
        with pytest.raises(Killed):
            agent(TASK)
        place = left


def test_the_state_stays_small_while_nothing_is_edited(place):
    agent = begin(place, Editing(often=0), calls=20)
    agent(TASK)
    state = agent.conversation_manager.get_state()
    assert (state["removed_message_count"], state["head"]) == (0, [])


@pytest.mark.parametrize(("left", "length"), [(0, 6), (1, 6), (2, 8)])
def test_a_conversation_whose_last_message_was_edited_or_removed_goes_on(place, left, length):
    agent = begin(place, Editing(often=0), calls=1)
    agent(TASK)
    agent.messages[:] = copy.deepcopy(agent.messages[:left])
    store(SimpleNamespace(agent=agent))
    for turn in range(3):
        twin = begin(place, Editing(often=0))
        assert said(twin.messages) == said(agent.messages)
        assert twin.conversation_manager.get_state() == agent.conversation_manager.get_state()
        twin(f"task {turn}")
        agent = twin
    # The first task is joined to what the user said last, or to the result of an open call.
    assert len(agent.messages) == length


def test_messages_that_were_only_cut_away_need_no_head(place):
    agent = begin(place, Editing(often=0), calls=10)
    agent(TASK)
    agent("Another task.")
    del agent.messages[:22]
    state = agent.conversation_manager.get_state()
    assert (state["removed_message_count"], state["head"]) == (22, [])


def test_the_state_is_json_and_is_taken_back_by_its_own_class_alone():
    manager = Editing()
    state = json.loads(json.dumps(manager.get_state()))
    assert manager.restore_from_session(state) is None
    for wrong in (
        {},
        {**state, "__name__": "NullConversationManager"},
        {**state, "removed_message_count": None},
        {**state, "removed_message_count": -1},
        {**state, "head": "text"},
        {**state, "head": ["text"]},
        {**state, "head_is_all": 1},
        NullConversationManager().get_state(),
    ):
        with pytest.raises(ValueError, match="Invalid conversation manager state"):
            manager.restore_from_session(wrong)


@pytest.mark.parametrize("resumed_first", ["a", "b"])
def test_agents_that_share_a_manager_share_no_state(place, resumed_first):
    manager = Editing(often=0)
    agents = {name: begin(place, manager, calls=5, agent_id=name) for name in "ab"}
    for name, agent in agents.items():
        agent(TASK)
        note(agent.messages, None)
        agent.messages[0]["content"][0]["text"] += f" of {name}"
        agent("more")
    counts = {
        name: agent.conversation_manager.removed_message_count for name, agent in agents.items()
    }
    assert counts == {"a": 1, "b": 1}
    shared = Editing(often=0)
    for name in sorted(agents, key=lambda name: name != resumed_first):
        twin = begin(place, shared, agent_id=name)
        assert said(twin.messages) == said(agents[name].messages)
        assert twin.messages[0]["content"][0]["text"].endswith(f"of {name}")


def test_the_managers_of_agents_that_share_one_are_one_but_for_their_agent():
    class Subclass(Editing):
        limit = 3

    manager = Subclass()
    agents = [
        Agent(model=Player(), conversation_manager=manager, callback_handler=None) for _ in range(3)
    ]
    assert agents[0].conversation_manager is manager
    manager.limit = 7
    agents[1].conversation_manager.word = "shared"
    assert [agent.conversation_manager.limit for agent in agents] == [7, 7, 7]
    assert [agent.conversation_manager.word for agent in agents] == ["shared"] * 3
    assert all(type(agent.conversation_manager) is Subclass for agent in agents)


def test_a_manager_whose_agent_is_gone_serves_the_next(tmp_path):
    manager = Editing(often=0)
    place = Place("file", tmp_path / "live")
    for _ in range(3):
        agent = begin(place, manager)
        assert agent.conversation_manager is manager
        agent(TASK)
        state = manager.get_state()
        del agent
    assert state["removed_message_count"] == 0
    assert manager.get_state()["head"] == []


def test_agents_that_share_a_manager_may_run_in_threads(tmp_path):
    manager = Editing(3)
    place = Place("file", tmp_path / "live")

    def work(name):
        own = Place("file", tmp_path / name)
        before: list[Any] = []
        for _ in range(3):
            agent = begin(own, manager, calls=4, agent_id=name)
            assert said(agent.messages) == before
            agent(TASK)
            agent._session_manager.sync_agent(agent)
            before = copy.deepcopy(said(agent.messages))

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(work, (f"agent-{i}" for i in range(4))))
    assert not place.folder.exists()


def test_a_state_restored_by_hand_is_taken_over_by_the_agent_that_comes():
    agent = Agent(model=Player(5), tools=[fetch], conversation_manager=Editing(often=0))
    agent(TASK)
    log = list(agent.messages)
    note(agent.messages, None)
    del agent.messages[1:3]
    state = copy.deepcopy(agent.conversation_manager.get_state())
    manager = Editing(often=0)
    head = manager.restore_from_session(state)
    twin = Agent(
        model=Player(),
        messages=(head or []) + log[manager.removed_message_count :],
        conversation_manager=manager,
    )
    assert said(twin.messages) == said(agent.messages)
    assert manager.get_state() == state
    twin.messages.clear()
    assert manager.removed_message_count == len(log)


def test_going_back_to_a_snapshot_leaves_the_log_in_step(tmp_path):
    place = Place("file", tmp_path / "live")
    agent = begin(place, Editing(often=0), calls=3)
    agent(TASK)
    snapshot = agent.take_snapshot(preset="session")
    agent("A second task.")
    agent.load_snapshot(snapshot)
    agent("A third task.")
    twin = begin(place, Editing(often=0))
    assert said(twin.messages) == said(agent.messages)
    assert "second" not in json.dumps(twin.messages)


def test_an_agent_that_is_no_key_is_followed_all_the_same():
    manager = Editing(often=0)
    agent = SimpleNamespace(
        messages=[{"role": "user", "content": [{"text": str(i)}]} for i in range(9)]
    )
    manager.apply_management(agent)
    del agent.messages[:4]
    manager.reduce_context(agent)
    assert manager.get_state() == manager.get_state()


def test_a_redacted_message_comes_back_redacted(place):
    agent = begin(place, Editing(often=0))
    agent(TASK)
    agent.messages[-1]["content"] = [{"text": "redacted"}]
    if place.kind == "snapshot":
        agent("more")
    else:
        agent._session_manager.redact_latest_message(agent.messages[-1], agent)
        agent._session_manager.sync_agent(agent)
    twin = begin(place, Editing(often=0))
    assert said(twin.messages) == said(agent.messages)


def test_a_long_run_without_a_session_forgets_what_has_left():
    manager = Editing(often=0)
    agent = Agent(model=Player(), conversation_manager=manager, callback_handler=None)
    log = manager.follow(agent)
    for number in range(2_000):
        message: Any = {"role": "user", "content": [{"text": str(number)}]}
        agent.messages[:] = [*agent.messages[-5:], message]
        agent.hooks.invoke_callbacks(MessageAddedEvent(agent=agent, message=message))
    assert len(log._tail) < 200
    assert manager.removed_message_count == 2_000 - 6


def test_hooks_of_the_manager_come_before_those_of_the_session(tmp_path):
    agent = begin(Place("file", tmp_path / "live"), Editing())
    for event in (MessageAddedEvent, AgentInitializedEvent):
        first = agent.hooks._registered_callbacks[event][0].callback
        assert first.__self__ is agent.conversation_manager
