"""`ullage.sessions` reads what hosts save: databases as they wrote them, and trajectories."""

import contextlib
import json
import re
import sqlite3
import struct
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import ullage
from ullage.sessions import (
    UnreadableSessionError,
    iter_sessions,
    msgpack,
    read_session_file,
    session_file_of,
)

from .commands import run

DATABASES = Path(__file__).parent / "databases"
TURN = [
    {"role": "user", "content": "Why is it slow?"},
    {
        "role": "assistant",
        "content": [{"type": "text", "text": "I look."}],
        "tool_calls": [
            {
                "id": "c1",
                "type": "function",
                "function": {"name": "read_log", "arguments": '{"part": 1}'},
            }
        ],
    },
    {"role": "tool", "tool_call_id": "c1", "content": "query took 84 ms"},
    {"role": "assistant", "content": "It is slow: é."},
]


@pytest.fixture
def database(tmp_path):
    """Makes a database of SQL."""

    def made(sql):
        file = tmp_path / "saved.db"
        with sqlite3.connect(file) as connection:
            connection.executescript(sql)
        connection.close()
        return file

    return made


@pytest.fixture
def saved(database):
    """Makes one that a host has written."""
    return lambda host: database((DATABASES / f"{host}.sql").read_text(encoding="utf-8"))


def test_a_checkpoint_of_langgraph_is_a_session(saved):
    file = saved("langgraph")
    (session,) = read_session_file(file).sessions
    assert (session.name, session.messages) == (str(file), TURN)


def test_a_session_of_the_agents_sdk_is_one(saved):
    (session,) = read_session_file(saved("openai_agents")).sessions
    assert ullage.detect_format(session.messages) == "openai-responses"
    assert session.messages[2]["output"] == "query took 84 ms"


def test_a_folder_is_searched_for_databases(saved):
    folder = saved("langgraph").parent
    for (session,) in (read_session_file(folder).sessions, iter_sessions(folder)):
        assert session.messages == TURN


def test_a_trajectory_is_a_session():
    call = {"tool_call_id": "c1", "function_name": "bash", "arguments": {"command": "ls"}}
    image = {"type": "image", "source": {"media_type": "image/png", "path": "images/1.png"}}
    steps = [
        {"step_id": 1, "source": "system", "message": "Be brief."},
        {"step_id": 2, "source": "user", "message": [{"type": "text", "text": "List."}, image]},
        {
            "step_id": 3,
            "source": "agent",
            "message": "I look.",
            "reasoning_content": "Hm.",
            "tool_calls": [call, {**call, "tool_call_id": "c2"}],
            "observation": {
                "results": [
                    {"source_call_id": "c2", "content": "b"},
                    {"content": [{"type": "text", "text": "a"}]},
                    {"content": "The disk is full."},
                    {"source_call_id": "c2", "content": None},
                ]
            },
            "metrics": {"prompt_tokens": 9, "cached_tokens": 0},
        },
        {"step_id": 4, "source": "agent", "message": "Done."},
    ]
    trajectory = {"schema_version": "ATIF-v1.7", "agent": {"name": "a"}, "steps": steps}
    found = session_file_of("trajectory.json", json.dumps(trajectory).encode())
    assert found.kind == "an ATIF trajectory"
    assert found.put is None
    (session,) = found.sessions
    assert [m["role"] for m in session.messages] == [
        "system",
        "user",
        "assistant",
        "tool",
        "tool",
        "user",
        "assistant",
    ]
    assert session.messages[1]["content"] == "List.\n[image: images/1.png]"
    assert [m["content"] for m in session.messages[3:6]] == ["a", "b\n", "The disk is full."]
    assert ullage.validate(session.messages) == []
    trajectory["steps"] = [{"source": "tool"}]
    with pytest.raises(UnreadableSessionError, match="step 1"):
        session_file_of("trajectory.json", json.dumps(trajectory).encode())


@pytest.mark.parametrize("host", ["langgraph", "openai_agents"])
def test_each_is_reported_in_one_command(saved, host, tmp_path):
    page = tmp_path / "report.html"
    code, _, errors = run("report", saved(host), "-o", page)
    assert code == 0, errors
    assert page.exists()


THREADS = (
    "CREATE TABLE checkpoints (thread_id, checkpoint_ns, checkpoint_id, type, checkpoint, metadata)"
)


def test_nothing_in_a_checkpoint_is_imported_or_called(database, tmp_path):
    made = tmp_path / "made"
    called = packed("os", "mkdir", str(made))
    message = ext(
        5, packed("os", "mkdir", {"type": "human", "content": "Hi.", "n": ext(0, called)})
    )
    checkpoint = packed_map({"channel_values": {"messages": [message]}})
    file = database(
        f"{THREADS}; INSERT INTO checkpoints VALUES ('t','','1','msgpack',"
        f"X'{checkpoint.hex()}','');"
    )
    (session,) = read_session_file(file).sessions
    assert session.messages == [{"role": "user", "content": "Hi."}]
    assert not made.exists()


@pytest.mark.parametrize("kind", ["pickle", "msgpack+aes", None])
def test_another_serializer_is_named_and_the_rest_is_read(database, kind):
    value = "NULL" if kind is None else f"'{kind}'"
    good = packed_map(
        {"channel_values": {"messages": [ext(5, packed("m", "n", {"type": "ai", "content": "x"}))]}}
    )
    file = database(
        f"{THREADS}; INSERT INTO checkpoints VALUES ('bad','','1',{value},X'80','');"
        f"INSERT INTO checkpoints VALUES ('good','','1','msgpack',X'{good.hex()}','');"
    )
    with pytest.raises(UnreadableSessionError, match=f"bad: .*{re.escape(str(kind))}"):
        read_session_file(file)
    problems: list[UnreadableSessionError] = []
    (session,) = read_session_file(file, problems.append).sessions
    assert session.messages == [{"role": "assistant", "content": "x"}]
    assert len(problems) == 1


ENDLESS = (
    "CREATE VIEW agent_messages AS WITH RECURSIVE n (id) AS (SELECT 1 UNION ALL SELECT id FROM n)"
    " SELECT id, id AS session_id, id AS message_data FROM n"
)


@pytest.mark.parametrize(
    "sql",
    [
        "CREATE TABLE other (a)",
        ENDLESS,
    ],
)
def test_other_databases_and_views_are_refused(database, sql):
    with pytest.raises(UnreadableSessionError, match="no table of this database"):
        read_session_file(database(sql))


def test_a_damaged_database_is_refused(saved):
    file = saved("langgraph")
    file.write_bytes(file.read_bytes()[:5_000])
    with pytest.raises(UnreadableSessionError):
        read_session_file(file)
    with pytest.raises(UnreadableSessionError, match="SQLite"):
        session_file_of("-", file.read_bytes())


@given(st.binary(max_size=200))
def test_any_bytes_are_a_value_or_an_error(data):
    with contextlib.suppress(ValueError):
        msgpack.decode(data)


@pytest.mark.parametrize("opening", [b"\x91", b"\x81\x01", b"\xdd\x00\x00\x00\x01"])
def test_deep_values_are_an_error(opening):
    with pytest.raises(ValueError, match="deep"):
        msgpack.decode(opening * 100_000)
    nested = b"\xc0"
    for _ in range(300):
        nested = ext(7, nested).data
    with pytest.raises(ValueError, match="deep"):
        msgpack.decode(nested)


def test_a_length_beyond_the_end_is_an_error():
    for head in (b"\xdd", b"\xdf", b"\xdb", b"\xc6", b"\xc9"):
        with pytest.raises(ValueError, match="middle"):
            msgpack.decode(head + b"\xff\xff\xff\xff")


class Ext:
    """An extension, packed."""

    def __init__(self, data):
        self.data = data


def ext(code, data):
    return Ext(b"\xc9" + struct.pack(">Ib", len(data), code) + data)


def packed(*values):
    return one(list(values))


def packed_map(value):
    return one(value)


def one(value):
    if isinstance(value, Ext):
        return value.data
    if isinstance(value, str):
        text = value.encode()
        return b"\xdb" + struct.pack(">I", len(text)) + text
    if isinstance(value, list):
        return b"\xdd" + struct.pack(">I", len(value)) + b"".join(map(one, value))
    pairs = b"".join(one(key) + one(entry) for key, entry in value.items())
    return b"\xdf" + struct.pack(">I", len(value)) + pairs
