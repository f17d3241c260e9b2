"""Stores: byte for byte, whole or not at all, and reading back a piece at a time."""

# mypy: disable-error-code="type-arg"

import os
import random
import signal
import subprocess
import sys
import threading
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

import ullage

REFERENCE = "read_file-0123456789abcdef"
BYTES = [
    pytest.param(b"", id="empty"),
    pytest.param(b"text\n", id="text"),
    pytest.param(b"\r\n\r\n \t", id="line-ends"),
    pytest.param(bytes(range(256)), id="every-byte"),
    pytest.param(b"\xff\xfe\x00", id="not-utf-8"),
    pytest.param("中😀\0".encode() * 50_000, id="large"),
]


@pytest.fixture(params=["memory", "file"])
def store(request, tmp_path):
    return (
        ullage.MemoryStore()
        if request.param == "memory"
        else ullage.FileStore(tmp_path / "a" / "b")
    )


@pytest.mark.parametrize("content", BYTES)
def test_content_comes_back_byte_for_byte(store, content):
    assert store.put(content, reference=REFERENCE, tool="read_file") == REFERENCE
    assert store.put(content, reference=REFERENCE) == REFERENCE, "twice is no mistake"
    assert store.get(REFERENCE) == content
    assert store.list() == [REFERENCE]
    assert isinstance(store, ullage.Store)


def test_other_content_under_a_known_reference_is_refused(store):
    store.put(b"one", reference=REFERENCE)
    with pytest.raises(ullage.StoreError, match=REFERENCE):
        store.put(b"two", reference=REFERENCE)
    assert store.get(REFERENCE) == b"one"


def test_what_is_deleted_is_gone(store):
    store.put(b"one", reference=REFERENCE)
    assert store.delete(REFERENCE) is True
    assert store.delete(REFERENCE) is False
    assert store.list() == []
    with pytest.raises(ullage.StoreError, match="nothing is stored"):
        store.get(REFERENCE)


@pytest.mark.parametrize(
    "reference",
    [
        "",
        "-",
        "x",
        "../../etc/passwd",
        "/etc/passwd",
        "a/b-0123456789abcdef",
        "../a-0123456789abcdef",
        "a-0123456789ABCDEF",
        "a-0123456789abcde",
        "a-0123456789abcdef0",
        "a-0123456789abcdef\n",
        "a-0123456789abcdef\0",
        "a.b-0123456789abcdef",
        "A-0123456789abcdef",
        "é-0123456789abcdef",
        f"{'a' * 33}-0123456789abcdef",
        "\ud800-0123456789abcdef",
    ],
    ids=ascii,
)
def test_a_reference_can_never_name_a_path(store, reference, tmp_path):
    for use in (
        lambda: store.get(reference),
        lambda: store.put(b"x", reference=reference),
        lambda: store.delete(reference),
        lambda: ullage.retrieve(store, reference),
    ):
        with pytest.raises(ullage.StoreError, match="is not a reference"):
            use()
    assert list(tmp_path.rglob("*")) == []


def test_a_file_store_touches_nothing_before_the_first_write(tmp_path):
    store = ullage.FileStore(str(tmp_path / "new"))
    assert store.folder == tmp_path / "new"
    assert store.list() == []
    with pytest.raises(ullage.StoreError, match="nothing is stored"):
        store.get(REFERENCE)
    assert not store.folder.exists()


def test_a_file_store_shows_only_what_is_its_own(tmp_path):
    store = ullage.FileStore(tmp_path)
    store.put(b"one", reference=REFERENCE)
    for name in (
        ".77-0.tmp",
        "notes.txt",
        "README.log",
        f".{REFERENCE}.log",
        "x-0123456789abcdef.LOG",
    ):
        (tmp_path / name).write_bytes(b"not ours")
    assert store.list() == [REFERENCE]
    assert ullage.FileStore(tmp_path).get(REFERENCE) == b"one", "another process finds it"


def test_stores_may_be_subclassed(tmp_path):
    class Counting(ullage.FileStore):
        puts = 0

        def put(self, content, *, reference, tool=None, **_):
            self.puts += 1
            return super().put(content, reference=reference, tool=tool)

    store = Counting(tmp_path)
    engine = ullage.ContextManager(store=store)
    engine.shrink("read", "line\n" * 20_000)
    assert store.puts == len(store.list()) == 1


def test_any_class_with_put_and_get_is_a_store():
    class Own(dict):
        def put(self, content, *, reference, tool=None, **_):
            self[reference] = (tool, content)
            return reference

        def get(self, reference):  # type: ignore[override]
            return self[reference][1]

    own = Own()
    assert isinstance(own, ullage.Store)
    short = ullage.ContextManager(store=own).shrink("Read File!", "line\n" * 20_000)
    ((reference, (tool, content)),) = own.items()
    assert (tool, content) == ("Read File!", b"line\n" * 20_000)
    assert reference in short
    assert ullage.retrieve(own, reference).endswith("characters more; ask for lines or a pattern]")


TEXT = "".join(f"line {i}{' ERROR' if i % 10 == 0 else ''}\n" for i in range(1, 101))


@pytest.fixture
def kept():
    store = ullage.MemoryStore()
    store.put(TEXT.encode(), reference=REFERENCE)
    return store


@pytest.mark.parametrize(
    ("how", "lines"),
    [
        pytest.param(
            {"pattern": "ERROR$", "lines": (1, 25)},
            ["10: line 10 ERROR", "20: line 20 ERROR"],
            id="pattern-within-lines",
        ),
        pytest.param({"lines": (3, 4)}, ["3: line 3", "4: line 4"], id="lines"),
        pytest.param({"lines": (100, 10**9)}, ["100: line 100 ERROR"], id="lines-beyond-the-end"),
        pytest.param({"lines": (500, 600)}, [], id="lines-that-are-not-there"),
        pytest.param(
            {"pattern": "line 50", "context": 1},
            ["49: line 49", "50: line 50 ERROR", "51: line 51"],
            id="context",
        ),
        pytest.param(
            {"pattern": "line 1 ?$", "context": 2},
            ["1: line 1", "2: line 2", "3: line 3"],
            id="context-at-the-start",
        ),
        pytest.param(
            {"pattern": "(?i)error", "lines": (95, 100)}, ["100: line 100 ERROR"], id="flags"
        ),
        pytest.param({"pattern": "nowhere"}, [], id="no-match"),
    ],
)
def test_a_piece_is_retrieved(kept, how, lines):
    first, *rest = ullage.retrieve(kept, REFERENCE, **how).splitlines()
    assert first.startswith(f"[ullage: retrieved from {REFERENCE}, 100 lines in all")
    assert rest == lines


def test_all_of_it_is_retrieved_without_line_numbers(kept):
    assert ullage.retrieve(kept, REFERENCE).split("\n", 1)[1] == TEXT


@pytest.mark.parametrize(
    "how", [{}, {"lines": (1, 100)}, {"pattern": "."}], ids=["whole", "lines", "pattern"]
)
@pytest.mark.parametrize("limit", [0, 1, 50, 500])
def test_a_limit_bounds_what_is_retrieved(kept, how, limit):
    text = ullage.retrieve(kept, REFERENCE, **how, limit=limit).split("\n", 1)[1]
    assert "more; ask for" in text
    assert len(text) <= limit + 7 * (limit // 4 + 2) + 80


@pytest.mark.parametrize("how", [{"lines": (1, 10**6)}, {"pattern": ""}], ids=["lines", "pattern"])
def test_a_limit_also_bounds_many_empty_lines(how):
    store = ullage.MemoryStore()
    store.put(b"\n" * 200_000, reference=REFERENCE)
    assert len(ullage.retrieve(store, REFERENCE, **how, limit=1_000)) < 2_000


@pytest.mark.parametrize(
    ("how", "says"),
    [
        pytest.param({"pattern": "("}, "pattern", id="no-regular-expression"),
        pytest.param({"pattern": r"(?=x)"}, "look-around", id="look-around"),
        pytest.param({"pattern": "(a{1000}){1000}"}, "pattern", id="too-large"),
        pytest.param({"lines": (0, 5)}, "count lines from 1", id="line-zero"),
        pytest.param({"lines": (5, 4)}, "count lines from 1", id="lines-backwards"),
        pytest.param({"lines": (-5, 4)}, "count lines from 1", id="lines-negative"),
    ],
)
def test_a_request_that_makes_no_sense_is_refused(kept, how, says):
    with pytest.raises(ullage.StoreError, match=says):
        ullage.retrieve(kept, REFERENCE, **how)


def test_a_hostile_pattern_takes_no_longer_than_the_text():
    store = ullage.MemoryStore()
    # Quadratic steps would take hours here, and pytest-timeout would end the test.
    store.put(b"a" * 5_000_000, reference=REFERENCE)
    ullage.retrieve(store, REFERENCE, pattern="(a+)+$|(a|a)*b")


@given(
    st.binary(max_size=300),
    st.one_of(st.none(), st.sampled_from((".", "a", "^$", "\\d+"))),
    st.integers(0, 3),
    st.integers(0, 400),
)
def test_anything_may_be_retrieved(content, pattern, context, limit):
    store = ullage.MemoryStore()
    store.put(content, reference=REFERENCE)
    text = ullage.retrieve(store, REFERENCE, pattern=pattern, context=context, limit=limit)
    assert text.startswith(f"[ullage: retrieved from {REFERENCE}, ")
    assert store.get(REFERENCE) == content


# A writer in another process: the same content under the same references, again and again.
WRITER = """
import sys, ullage
store, name, rounds = ullage.FileStore(sys.argv[1]), sys.argv[2], int(sys.argv[3])
for i in range(rounds):
    for owner in ("both", name):
        reference = f"{owner}-{i:016x}"
        store.put(reference.encode() * 5_000, reference=reference)
    print("written", flush=True)
"""


def writer(folder, name, rounds):
    return subprocess.Popen(
        [sys.executable, "-c", WRITER, str(folder), name, str(rounds)],
        stdout=subprocess.PIPE,
        text=True,
    )


def assert_whole(store):
    for reference in store.list():
        assert store.get(reference) == reference.encode() * 5_000


def test_two_processes_write_the_same_folder(tmp_path):
    processes = [writer(tmp_path, name, 40) for name in ("one", "two")]
    assert [process.communicate(timeout=30) and process.returncode for process in processes] == [
        0,
        0,
    ]
    store = ullage.FileStore(tmp_path)
    assert len(store.list()) == 3 * 40
    assert_whole(store)
    assert [p.name for p in tmp_path.iterdir() if p.suffix == ".tmp"] == []


def test_a_kill_at_any_moment_leaves_only_whole_files(tmp_path):
    wait, store = random.Random(1), ullage.FileStore(tmp_path)
    for kill in range(20):
        with writer(tmp_path, f"k{kill}", 10**6) as process:
            assert process.stdout is not None
            process.stdout.readline()
            time.sleep(wait.random() * 0.03)
            os.kill(process.pid, signal.SIGKILL)
        assert_whole(store)
    assert store.list()
    store.put(b"after", reference=REFERENCE)
    assert store.get(REFERENCE) == b"after"


def test_two_stores_of_one_process_write_the_same_folder(tmp_path):
    stores = [ullage.FileStore(tmp_path) for _ in range(4)]
    errors: list[Exception] = []

    def write(store, name):
        try:
            for i in range(25):
                reference = f"{name}-{i:016x}"
                store.put(reference.encode() * 5_000, reference=reference)
        except ullage.StoreError as error:
            errors.append(error)

    threads = [threading.Thread(target=write, args=(s, f"t{n}")) for n, s in enumerate(stores)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    assert len(stores[0].list()) == 100
    assert_whole(stores[0])
