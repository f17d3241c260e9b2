"""A session keeps a conversation that a manager has changed: small, whole, and in step."""

# mypy: disable-error-code="arg-type,attr-defined,union-attr,override"

import copy
import json
import random

import pytest
from strands import Agent, tool
from strands.session.file_session_manager import FileSessionManager

from tests.python.players import TASK, Player
from ullage.strands import MappingConversationManager, SlidingWindowConversationManager
from ullage.strands.session import RestorableConversationManager
from ullage.strands.snapshot import MessageSnapshot


@tool(name="fetch")
def log(words: int = 0, number: int = 0) -> str:
    """Log lines as servers write them."""
    chance = random.Random(number)
    return "\n".join(
        f"2026-11-21T09:{n % 60:02}:17 INFO worker-{number} handled request"
        f" id={chance.randrange(16**8):08x} status={chance.choice([200, 204, 404])}"
        f" in {chance.randrange(900)} ms"
        for n in range(words // 6)
    )


class Untouching(RestorableConversationManager):
    """Changes nothing by itself."""

    def apply_management(self, agent, **_):
        self.follow(agent)

    def reduce_context(self, agent, e=None, **_):
        self.follow(agent)


def agent_of(folder, manager, calls=0, **more):
    return Agent(
        model=Player(calls, words=750, strict=False, limit=400_000),
        tools=[log],
        agent_id="a",
        conversation_manager=manager,
        callback_handler=None,
        **{"session_manager": FileSessionManager("s", storage_dir=str(folder)), **more},
    )


def said(messages):
    return [{key: m[key] for key in m if key != "tracking_id"} for m in messages]


def test_the_state_of_compressed_results_is_packed_and_comes_back(tmp_path):
    agent = agent_of(tmp_path, MappingConversationManager(), calls=45)
    agent(TASK)
    assert str(agent.messages).count("compressed tool result") > 20
    state = agent.conversation_manager.get_state()
    plain = len(json.dumps(agent.messages[: -agent.conversation_manager.preserve_last]))
    assert plain > 200_000
    assert len(json.dumps(state)) < plain / 3
    assert agent.conversation_manager.get_state()["head"] is state["head"], "packed once"
    twin = agent_of(tmp_path, MappingConversationManager())
    assert said(twin.messages) == said(agent.messages)
    assert twin.conversation_manager.get_state() == state


def test_a_short_head_can_be_read(tmp_path):
    agent = agent_of(tmp_path, Untouching())
    for turn in range(3):
        agent(f"Turn {turn}.")
    agent.messages[0] = {**agent.messages[0], "content": [{"text": "edited"}]}
    (head,) = agent.conversation_manager.get_state()["head"]
    assert head["content"] == [{"text": "edited"}]


@pytest.mark.parametrize("head", ["AAAA", "no base64!", "", "eJwDAAAAAAE="])
def test_a_head_that_is_damaged_is_refused(head):
    state = {"__name__": "Untouching", "removed_message_count": 3, "head": head}
    with pytest.raises(ValueError, match=r"Invalid conversation manager state\."):
        Untouching().restore_from_session(state)


def user(*content):
    return {"role": "user", "content": [*content]}


def asked(number):
    use = {"toolUseId": f"t{number}", "name": "fetch", "input": {}}
    return {"role": "assistant", "content": [{"toolUse": use}]}


def given(*numbers):
    results = [
        {"toolUseId": f"t{n}", "status": "success", "content": [{"text": f"given {n}"}]}
        for n in numbers
    ]
    return user(*[{"toolResult": one} for one in results])


ANSWER = {"role": "assistant", "content": [{"text": "so it is"}]}
# As Strands before 1.15 wrote them; it mends them whenever it restores the agent.
LOGS = {
    "no-result": [user({"text": "one"}), asked(1), user({"text": "two"}), ANSWER],
    "no-call": [user({"text": "one"}), ANSWER, given(7), user({"text": "two"}), ANSWER],
    "both": [user({"text": "one"}), asked(1), user({"text": "two"}), ANSWER, given(7), ANSWER],
}


@pytest.mark.parametrize("name", LOGS)
@pytest.mark.parametrize("cut", [0, 1, 2])
def test_a_log_that_strands_mends_stays_in_step(name, cut, tmp_path):
    agent_of(tmp_path, Untouching(), messages=copy.deepcopy(LOGS[name]))
    for turn in range(3):
        agent = agent_of(tmp_path, Untouching())
        agent(f"{TASK} {turn}")
        begins = [i for i, m in enumerate(agent.messages) if "text" in m["content"][0]]
        begins = [i for i in begins if agent.messages[i]["role"] == "user"]
        del agent.messages[: begins[min(cut, len(begins) - 1)]]
        agent(f"And then? {turn}")
        twin = agent_of(tmp_path, Untouching())
        assert said(twin.messages) == said(agent.messages)


class Unreadable(FileSessionManager):
    """Lists the messages of a log once, and then the disk is gone."""

    listed = 0

    def list_messages(self, *given, **more):
        self.listed += 1
        if self.listed > 1:
            raise OSError(5, "Input/output error")
        return super().list_messages(*given, **more)


def test_a_mended_log_that_cannot_be_read_again_is_stored_once_more(tmp_path, caplog):
    agent_of(tmp_path, Untouching(), messages=copy.deepcopy(LOGS["no-result"]))
    sessions = Unreadable("s", storage_dir=str(tmp_path))
    agent = agent_of(tmp_path, Untouching(), session_manager=sessions)
    assert "could not be read again" in caplog.text
    agent("Go on.")
    # Strands' result and the request after it are repaired to one message.
    assert len(agent.conversation_manager.get_state()["head"]) == 4
    twin = agent_of(tmp_path, Untouching())
    assert said(twin.messages) == said(agent.messages)


@pytest.mark.parametrize("name", LOGS)
def test_a_window_over_a_log_that_strands_mends_stays_in_step(name, tmp_path):
    agent_of(tmp_path, Untouching(), messages=copy.deepcopy(LOGS[name]))
    path = next(tmp_path.glob("**/agent.json"))
    stored = json.loads(path.read_text())
    stored["conversation_manager_state"]["__name__"] = "SlidingWindowConversationManager"
    path.write_text(json.dumps(stored))
    for turn in range(5):
        agent = agent_of(tmp_path, SlidingWindowConversationManager(5))
        agent(f"{TASK} {turn}")
        twin = agent_of(tmp_path, SlidingWindowConversationManager(5))
        assert said(twin.messages) == said(agent.messages)
        assert len(twin.messages) <= 6


def test_what_replaces_a_message_its_content_a_block_or_its_pin_is_seen():
    def row():
        return [user({"text": "one"}, {"text": "two"}), copy.deepcopy(ANSWER), given(1)]

    def message(messages):
        messages[1] = {**messages[1], "role": "user"}

    def content(messages):
        messages[1]["content"] = [{"text": "else"}]

    def block(messages):
        messages[0]["content"][1] = {"text": "three"}

    def more(messages):
        messages[0]["content"].append({"text": "three"})

    def pin(messages):
        messages[2]["metadata"] = {"custom": {"pinned": True}}

    def unpin(messages):
        messages[2]["metadata"]["custom"] = {}

    for change, kept in ((message, 1), (content, 1), (block, 2), (more, 2), (pin, 0)):
        messages = row()
        remembered = MessageSnapshot(messages)
        assert remembered.is_prefix_of([*messages, ANSWER])
        assert remembered.count_at_end(messages) == 3
        change(messages)
        assert not remembered.is_prefix_of(messages)
        assert remembered.count_at_end(messages) == kept
    remembered = MessageSnapshot(messages)
    remembered.forget(2)
    unpin(messages)
    assert remembered.count_at_end(messages) == 0


def test_what_is_nested_beyond_comparing_counts_as_changed():
    def deep():
        value: list[object] = []
        for _ in range(100_000):
            value = [value]
        return value

    messages = [user({"text": "one", "extra": deep()})]
    remembered = MessageSnapshot(messages)
    assert remembered.is_prefix_of(messages)
    messages[0]["content"][0] = {"text": "one", "extra": deep()}
    assert not remembered.is_prefix_of(messages)
