"""Sessions that are read one after the other."""

import gzip
import json
import lzma
import tracemalloc

import pytest

from ullage.sessions import UnreadableSessionError, iter_sessions, parts, read_sessions


def conversation(number, size=10):
    return {"id": number, "messages": [{"role": "user", "content": f"{number} " * size}]}


def on_lines(*values):
    return "".join(json.dumps(value) + "\n" for value in values).encode()


CASES = {
    "conversations.jsonl": on_lines(*map(conversation, range(9))),
    "one.jsonl": on_lines(conversation(1)),
    "no-line-feed.json": on_lines(*map(conversation, range(9)))[:-1],
    "empty-lines.jsonl": b"\n \r\n"
    + on_lines(conversation(1))
    + b"\r\n"
    + on_lines(conversation(2)),
    "mark.jsonl": b"\xef\xbb\xbf" + on_lines(conversation(1), conversation(2)),
    "utf-16.jsonl": on_lines(conversation(1), conversation(2)).decode().encode("utf-16"),
    "gzip.jsonl.gz": gzip.compress(on_lines(*map(conversation, range(9)))),
    "xz.jsonl.xz": lzma.compress(on_lines(*map(conversation, range(9)))),
    "messages.jsonl": on_lines(*conversation(1)["messages"], *conversation(2)["messages"]),
    "list.json": json.dumps(conversation(1)["messages"], indent=2).encode(),
    "several.json": json.dumps([conversation(1), conversation(2)]).encode(),
    "two-on-a-line.jsonl": on_lines(conversation(1), conversation(2)).replace(b"\n", b" ")
    + b"\n"
    + on_lines(conversation(3)),
    "damaged.jsonl": on_lines(conversation(1))
    + b'{"messages": [\n[]\n{"id": 4}\n'
    + on_lines(*map(conversation, range(9))),
    "adk.jsonl": on_lines(
        *[{"events": [{"author": "user", "content": {"parts": [{"text": str(n)}]}}]} for n in "ab"]
    ),
}


@pytest.mark.parametrize("size", [100, 2**20])
@pytest.mark.parametrize("name", CASES)
def test_the_sessions_are_those_of_the_whole_file(name, size, tmp_path, monkeypatch):
    monkeypatch.setattr(parts, "_RANGE", size)
    file = tmp_path / name
    file.write_bytes(CASES[name])
    problems: list[str] = []
    expected: list[str] = []
    found = list(iter_sessions(file, lambda error: problems.append(str(error))))
    assert found == read_sessions(file, lambda error: expected.append(str(error)))
    assert sorted(problems) == sorted(expected)
    assert found


def test_a_folder_is_read_file_by_file(tmp_path):
    for name, content in CASES.items():
        (tmp_path / name).write_bytes(content)
    found = list(iter_sessions(tmp_path, lambda _: None))
    assert found == read_sessions(tmp_path, lambda _: None)


@pytest.mark.parametrize("name", ["gzip.jsonl.gz", "xz.jsonl.xz"])
def test_of_a_file_that_is_cut_off_the_rest_is_read(name, tmp_path):
    file = tmp_path / name
    content = on_lines(*(conversation(number, 2_000) for number in range(50)))
    packed = gzip.compress(content) if name.endswith("gz") else lzma.compress(content)
    file.write_bytes(packed[: -len(packed) // 4])
    problems: list[UnreadableSessionError] = []
    assert list(iter_sessions(file, problems.append))
    assert "not a complete" in str(problems[0])
    with pytest.raises(UnreadableSessionError, match="not a complete"):
        list(iter_sessions(file))


def test_one_conversation_of_a_large_file_is_in_memory(tmp_path, monkeypatch):
    monkeypatch.setattr(parts, "_RANGE", 2**20)
    file = tmp_path / "large.jsonl"
    with file.open("wb") as lines:
        for number in range(400):
            lines.write(on_lines(conversation(number, 10_000)))
    assert file.stat().st_size > 12 * 2**20
    tracemalloc.start()
    try:
        assert sum(1 for _ in iter_sessions(file)) == 400
        assert tracemalloc.get_traced_memory()[1] < 4 * 2**20
    finally:
        tracemalloc.stop()


def test_what_is_not_there_is_named(tmp_path):
    with pytest.raises(UnreadableSessionError, match=r"a\.jsonl: No such file"):
        list(iter_sessions(tmp_path / "a.jsonl"))
    with pytest.raises(UnreadableSessionError, match="no JSON"):
        list(iter_sessions(tmp_path))
