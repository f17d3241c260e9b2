"""Removed content comes back as it was, also if it is not text or is one long line."""

import contextlib
import enum
import json
import os
import threading

import pytest

import ullage
from tests.python.conversations import long_conversation, render
from tests.python.judges import faults

POLICY = ullage.Policy(window=20_000, reserve_output=1_000, keep_recent=2)


def test_bytes_that_were_no_text_come_back_as_they_were():
    listing = b"caf\xe9.txt\n" * 4_000
    text = os.fsdecode(listing)
    for way, stages in (("shrink", ["offload"]), ("cut", ["offload"]), ("remove", ["window"])):
        store = ullage.MemoryStore()
        policy = POLICY.replace(stages=stages)
        engine = ullage.ContextManager(policy, store=store)
        if way == "shrink":
            engine.shrink(
                "ls", {"toolUseId": "1", "status": "success", "content": [{"text": text}]}
            )
        else:
            messages = render(long_conversation(8, 30), "bedrock")
            messages[2]["content"][0]["toolResult"]["content"] = [{"text": text}]
            engine.compact(messages, 9_000, hard=True)
        stored = [store.get(reference) for reference in store.list()]
        if way == "remove":
            lines = [json.loads(line) for content in stored for line in content.splitlines()]
            results = [block.get("toolResult") for line in lines for block in line["content"]]
            stored = [os.fsencode(result["content"][0]["text"]) for result in results if result]
        assert listing in stored, way


def test_a_number_that_is_an_enum_is_stored_as_its_number():
    class Color(enum.IntEnum):
        RED = 7

    class Plain(int, enum.Enum):
        BLUE = 8

    store = ullage.MemoryStore()
    engine = ullage.ContextManager(POLICY, store=store)
    value = {"one": Color.RED, "two": Plain.BLUE, "rows": ["a row of some length"] * 3_000}
    engine.shrink("query", value)
    (reference,) = store.list()
    assert json.loads(store.get(reference))["one"] == 7
    assert json.loads(store.get(reference))["two"] == 8


@pytest.mark.parametrize("place", [0, 2_500, 4_999])
def test_a_match_anywhere_in_a_long_line_is_shown(place):
    store = ullage.MemoryStore()
    engine = ullage.ContextManager(POLICY, store=store)
    engine.shrink("query", json.dumps([{"row": i, "value": f"value-{i}-"} for i in range(5_000)]))
    (reference,) = store.list()
    found = ullage.retrieve(store, reference, pattern=f"value-{place}-")
    assert f'"row": {place}, "value": "value-{place}-"' in found
    assert len(found) < 1_000
    assert len(ullage.retrieve(store, reference, pattern="value", limit=3_000)) < 4_000


def test_a_folder_stays_where_it_is_when_the_program_moves(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    store = ullage.FileStore("outputs")
    engine = ullage.ContextManager(POLICY, store=store)
    engine.shrink("ls", "a line of a listing\n" * 3_000)
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert len(store.list()) == 1
    with pytest.raises(ullage.StoreError, match="folder"):
        ullage.FileStore("")


def test_threads_that_compact_one_growing_list_lose_no_message():
    store = ullage.MemoryStore()
    engine = ullage.ContextManager(ullage.Policy(window=6_000, reserve_output=500), store=store)
    messages = render(long_conversation(8), "bedrock")
    said = []
    stop = threading.Event()

    def compact():
        while not stop.is_set():
            with contextlib.suppress(ullage.MessagesChangedError):
                engine.compact(messages, hard=True)

    threads = [threading.Thread(target=compact) for _ in range(4)]
    for thread in threads:
        thread.start()
    for number in range(400):
        words = f"word number {number:04} and some more of it"
        said.append(words)
        messages.extend([{"role": r, "content": [{"text": words}]} for r in ("assistant", "user")])
    stop.set()
    for thread in threads:
        thread.join()
    everything = json.dumps(messages) + "".join(
        store.get(reference).decode() for reference in store.list()
    )
    assert [words for words in said if words not in everything] == []


def test_a_system_message_inside_a_tool_loop_does_not_end_it():
    thinking = {"type": "thinking", "thinking": "I look at both.", "signature": "s"}

    def call(n):
        return {"type": "tool_use", "id": f"c{n}", "name": "look", "input": {}}

    def result(n):
        return {
            "role": "user",
            "content": [{"type": "tool_result", "tool_use_id": f"c{n}", "content": "x\n" * 900}],
        }

    messages = [
        {"role": "user", "content": "look"},
        {"role": "assistant", "content": [thinking, call(1)]},
        result(1),
        {"role": "system", "content": "be brief"},
        {"role": "assistant", "content": [call(2)]},
        result(2),
        {"role": "assistant", "content": [call(3)]},
        result(3),
    ]
    engine = ullage.ContextManager(
        ullage.Policy(keep_recent=0, stages=["window"]), store=ullage.MemoryStore()
    )
    with pytest.raises(ullage.BudgetError):
        engine.compact(messages, 1_500)
    engine.compact(messages, 20_000, hard=True)
    kept = json.dumps(messages)
    assert ("I look at both." in kept) == ('"c3"' in kept)
    assert faults(messages) == []
