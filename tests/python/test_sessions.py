"""Recorded sessions: every kind of file that is read, and what is made of bad ones."""

import gzip
import json
import lzma
from typing import Any

import pytest

import ullage
from ullage.sessions import (
    UnreadableSessionError,
    read_session_file,
    read_sessions,
    session_file_of,
)

from .conversations import long_conversation, render

MESSAGES = render(long_conversation(2), "anthropic")


def only(path):
    (session,) = read_sessions(path)
    return session.messages


def said(uuid, parent, role, content, **more):
    message = {"role": role, "content": content}
    if role == "assistant":
        message["id"] = more.pop("id")
    return {"type": role, "uuid": uuid, "parentUuid": parent, "message": message, **more}


def use(id):
    return [{"type": "tool_use", "id": id, "name": "Read", "input": {}}]


def got(id):
    return [{"type": "tool_result", "tool_use_id": id, "content": "ok"}]


@pytest.mark.parametrize("format", ["bedrock", "anthropic", "openai"])
def test_lists_requests_and_lines_are_read_packed_or_not(format, tmp_path):
    messages = render(long_conversation(2), format)
    texts = {
        "list.json": json.dumps(messages),
        "request.json": json.dumps({"model": "x", "messages": messages}),
        "lines.jsonl": "\n".join(map(json.dumps, messages)) + "\n",
    }
    for name, text in texts.items():
        content = text.encode()
        packed = {"": content, ".xz": lzma.compress(content), ".gz": gzip.compress(content)}
        for ending, data in packed.items():
            file = tmp_path / (name + ending)
            file.write_bytes(data)
            assert only(file) == messages, file.name


def test_several_conversations_in_a_file_are_several_sessions(tmp_path):
    file = tmp_path / "many.jsonl"
    file.write_text("\n".join(json.dumps({"id": n, "messages": MESSAGES[:n]}) for n in (2, 4)))
    sessions = read_sessions(file)
    assert [session.messages for session in sessions] == [MESSAGES[:2], MESSAGES[:4]]
    assert [session.name for session in sessions] == [f"{file}:1", f"{file}:2"]


def test_a_folder_is_searched(tmp_path):
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "b.json").write_text(json.dumps(MESSAGES))
    (tmp_path / "a.jsonl.gz").write_bytes(gzip.compress(json.dumps(MESSAGES).encode()))
    (tmp_path / "readme.txt").write_text("no session")
    assert [session.messages for session in read_sessions(tmp_path)] == [MESSAGES, MESSAGES]


def test_a_session_of_strands_is_one_for_each_agent(tmp_path):
    messages = render(long_conversation(5), "bedrock")
    for agent in ("one", "two"):
        folder = tmp_path / "session_s" / "agents" / f"agent_{agent}" / "messages"
        folder.mkdir(parents=True)
        for number, message in enumerate(messages):
            stored = {"message": message, "message_id": number, "redact_message": None}
            (folder / f"message_{number}.json").write_text(json.dumps(stored))
    (tmp_path / "session_s" / "session.json").write_text('{"session_id": "s"}')
    sessions = read_sessions(tmp_path / "session_s")
    assert len(messages) > 10  # so that the tenth would stand before the second, by name
    assert [session.messages for session in sessions] == [messages, messages]
    assert sessions[0].name.endswith("agents/agent_one")
    assert only(tmp_path / "session_s" / "agents" / "agent_two") == messages


def test_strands_itself_writes_what_is_read(tmp_path):
    pytest.importorskip("strands")
    from strands.session.file_session_manager import FileSessionManager
    from strands.types.session import Session, SessionAgent, SessionMessage, SessionType

    manager = FileSessionManager(session_id="s", storage_dir=str(tmp_path))
    agent = SessionAgent(agent_id="a", state={}, conversation_manager_state={})
    if manager.read_session("s") is None:
        manager.create_session(Session(session_id="s", session_type=SessionType.AGENT))
    manager.create_agent("s", agent)
    messages = render(long_conversation(2), "bedrock")
    for number, message in enumerate(messages):
        manager.create_message("s", "a", SessionMessage.from_message(message, number))
    assert only(tmp_path) == messages


def test_a_session_of_adk_is_what_its_events_said(tmp_path):
    asked = {"function_call": {"id": "c", "name": "read", "args": {}}}
    answered = {"function_response": {"id": "c", "name": "read", "response": {"result": "ok"}}}
    contents = [
        {"role": "user", "parts": [{"text": "Do it."}]},
        {"role": "model", "parts": [asked]},
        {"role": "user", "parts": [answered]},
    ]
    events: list[Any] = [{"author": "agent", "content": content} for content in contents]
    events.append({"author": "user", "content": {"parts": [{"text": "And?"}]}})
    events.insert(1, {"author": "agent", "partial": True, "content": contents[1]})
    events.insert(1, {"author": "agent", "actions": {"stateDelta": {}}})
    events.append({"author": "agent", "content": {"parts": [{"text": "Bye."}]}})
    file = tmp_path / "session.json"
    file.write_text(json.dumps({"id": "s", "appName": "x", "events": events}))
    assert only(file) == [
        *contents,
        {"parts": [{"text": "And?"}], "role": "user"},
        {"parts": [{"text": "Bye."}], "role": "model"},
    ]
    assert ullage.validate(only(file)) == []


def test_a_transcript_of_claude_code_is_its_main_chain(tmp_path):
    lines = [
        {"type": "summary", "summary": "…", "leafUuid": "x"},
        said("1", None, "user", "Do it."),
        # Two calls of one answer, each with its own line and result; the results stand beside.
        said("2", "1", "assistant", [{"type": "text", "text": "Reading."}], id="m1"),
        said("3", "2", "assistant", use("a"), id="m1"),
        said("4", "3", "user", got("a")),
        said("5", "3", "assistant", use("b"), id="m1"),
        said("6", "5", "user", got("b"), toolUseResult={"big": "copy"}),
        # A message that the user took back, a subagent, and remarks.
        said("7", "6", "assistant", [{"type": "text", "text": "Wrong."}], id="m2"),
        said("8", "7", "user", "No."),
        said("s", None, "user", "A part.", isSidechain=True),
        said("9", "6", "assistant", [{"type": "text", "text": "Right."}], id="m3"),
        {"type": "system", "uuid": "10", "parentUuid": "9", "content": "hook"},
        said("11", "10", "user", "Caveat.", isMeta=True),
        said("12", "11", "user", "Thanks."),
        said(
            "13",
            "12",
            "assistant",
            [{"type": "text", "text": "529"}],
            id="e",
            isApiErrorMessage=True,
        ),
    ]
    file = tmp_path / "transcript.jsonl"
    file.write_text("\n".join(map(json.dumps, lines)))
    messages = only(file)
    assert messages == [
        {"role": "user", "content": [{"type": "text", "text": "Do it."}]},
        {
            "role": "assistant",
            "content": [{"type": "text", "text": "Reading."}, *use("a"), *use("b")],
        },
        {"role": "user", "content": [*got("a"), *got("b")]},
        {"role": "assistant", "content": [{"type": "text", "text": "Right."}]},
        {"role": "user", "content": [{"type": "text", "text": "Thanks."}]},
    ]
    assert ullage.validate(messages) == []


def test_what_came_before_a_compaction_of_claude_code_is_read_too(tmp_path):
    lines = [
        said("1", None, "user", "Do it."),
        said("2", "1", "assistant", [{"type": "text", "text": "Done."}], id="m1"),
        {"type": "system", "uuid": "3", "parentUuid": None, "logicalParentUuid": "2"},
        said("4", "3", "user", "This session goes on from…"),
    ]
    file = tmp_path / "transcript.jsonl"
    file.write_text("\n".join(map(json.dumps, lines)))
    assert [message["role"] for message in only(file)] == ["user", "assistant", "user"]


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("a.json", b"{", "line 1"),
        ("a.json", b"", "it is empty"),
        ("a.jsonl", b'{"role": "user", "content": "x"}\n{', "jsonl:2: it is not valid JSON"),
        ("a.json", b'"text"', "a str"),
        ("a.json", b'{"model": "x"}', "no list of messages"),
        ("a.json", b'[{"model": "x"}]', "no list of messages"),
        ("a.json", b"\xe9", "utf-8"),
        ("a.json", b"[" * 200_000, "a.json"),
        ("a.json.xz", b"no archive", "a.json.xz"),
        ("a.json.xz", lzma.compress(b"[]")[:-4], "a.json.xz"),
        ("a.json.gz", gzip.compress(b"[]", mtime=0)[:-4], "a.json.gz"),
        ("a.json.gz", b"no archive", "a.json.gz"),
    ],
)
def test_what_holds_no_session_is_refused_by_name(name, content, says, tmp_path):
    file = tmp_path / name
    file.write_bytes(content)
    with pytest.raises(UnreadableSessionError, match=says) as refused:
        read_sessions(file)
    assert isinstance(refused.value, ullage.UllageError)
    assert str(file) in str(refused.value)


def test_what_is_not_there_is_refused(tmp_path):
    with pytest.raises(UnreadableSessionError):
        read_sessions(tmp_path / "nothing.json")
    with pytest.raises(UnreadableSessionError, match="no session of Strands, no JSON"):
        read_sessions(tmp_path)
    broken = tmp_path / "agents" / "agent_a" / "messages"
    broken.mkdir(parents=True)
    (broken / "message_0.json").write_text('{"message": null}')
    with pytest.raises(UnreadableSessionError, match="holds no message"):
        read_sessions(tmp_path)


def test_an_empty_conversation_is_one():
    for data in (b"[]", b'{"messages": []}'):
        assert [session.messages for session in session_file_of("a", data).sessions] == [[]]


def test_what_shells_of_windows_write_is_read():
    for encoding in ("utf-16", "utf-8-sig"):
        assert session_file_of("a", json.dumps(MESSAGES).encode(encoding)).sessions[0].messages == (
            MESSAGES
        )


def test_blank_lines_count_when_a_line_is_named():
    with pytest.raises(UnreadableSessionError, match="a:4: it is not valid JSON"):
        session_file_of("a", b'{"role": "user"}\n\n\n{\n')


def test_the_view_of_a_transcript_is_read_while_another_writes_it(tmp_path):
    file = tmp_path / "transcript.jsonl"
    with ullage.Transcript(file) as transcript:
        transcript.extend([*MESSAGES, {"role": "user", "content": b"\x00"}])
        transcript.hide(0, 2, {"role": "user", "content": "a note"})
        before = file.read_bytes()
        source = read_session_file(file)
        assert source.kind == "a transcript of ullage"
        assert source.sessions[0].messages == transcript.view()
        # A crash left half a line.
        assert only_of(before + b'{"role": "us') == transcript.view()
    assert file.read_bytes() == before


def only_of(data):
    (session,) = session_file_of("a", data).sessions
    return session.messages


OTHERS = [{"role": "user", "content": "é\ud800"}]
SHAPES = {
    "list": json.dumps(MESSAGES),
    "request": json.dumps({"beside": "x", "input": None, "contents": MESSAGES}),
    "lines": "\n".join(map(json.dumps, MESSAGES)),
    "one line": json.dumps(MESSAGES[0]),
    "records": json.dumps([{"beside": 1, "messages": MESSAGES}, {"beside": 2, "input": []}]),
    "lines of records": '{"beside": 1, "messages": []}\n{"beside": 2, "messages": []}\n',
    "for people": json.dumps({"messages": MESSAGES}, indent=4),
}


@pytest.mark.parametrize("text", SHAPES.values(), ids=SHAPES)
def test_other_messages_are_put_in_the_place_of_these(text):
    source = session_file_of("a", text.encode())
    same = source.dumped([session.messages for session in source.sessions])
    if not text.startswith('{"role"'):
        assert same.rstrip("\n") == text.rstrip("\n")
    outcome = session_file_of("b", source.dumped([OTHERS for _ in source.sessions]).encode())
    assert [session.messages for session in outcome.sessions] == [OTHERS] * len(source.sessions)
    emptied = outcome.dumped([[]] * len(outcome.sessions))
    assert emptied.count("beside") == text.count("beside")


def test_what_only_its_own_program_can_write_becomes_messages():
    event = {"author": "user", "content": {"parts": [{"text": "Hi"}]}}
    adk = json.dumps({"events": [event]})
    one, two = (session_file_of("s", text.encode()) for text in (adk, f"{adk}\n{adk}"))
    assert one.put is None
    assert session_file_of("b", one.dumped([OTHERS]).encode()).sessions[0].messages == OTHERS
    again = session_file_of("b", two.dumped([OTHERS, MESSAGES]).encode())
    assert [session.messages for session in again.sessions] == [OTHERS, MESSAGES]
    assert [json.loads(line)["session"] for line in two.dumped([[], []]).splitlines()] == [
        "s:1",
        "s:2",
    ]
