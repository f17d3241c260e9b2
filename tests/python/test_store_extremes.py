"""Stores under attack: odd names, wrong clocks, full disks and broken files."""

import contextlib
import os
import subprocess
import time
from pathlib import Path

import pytest

import ullage
from tests.python.store_places import CELLS, EVERY, EXPIRING, SHARED
from tests.python.test_stores import REFERENCE, conversation, engine_of, numbered
from ullage.stores import SQLiteStore

# Seconds after which unused content goes: longer than a test.
KEEP = 600.0
DAY = 86_400.0


@pytest.fixture(params=SHARED)
def shared(request, tmp_path):
    return EVERY[request.param](tmp_path)


@pytest.fixture(params=EXPIRING)
def expiring(request, tmp_path):
    return EVERY[request.param](tmp_path)


@pytest.fixture(params=CELLS)
def cells(request, tmp_path):
    return EVERY[request.param](tmp_path)


NAMES = ["", " ", "a/../b", "\0", "\ud800", "}:x", "中😀", "%", "a" * 100_000, "a" * 99_999 + "b"]


def test_any_text_names_a_session(shared):
    stores = [shared.open(session=name) for name in [None, *NAMES]]
    for number, store in enumerate(stores):
        store.put(b"content", reference=numbered(number))
    for number, store in enumerate(stores):
        assert store.list() == [numbered(number)]
        assert store.get(numbered(number)) == b"content"


def test_any_text_names_a_cell(cells):
    store = cells.open(session="s")
    versions = [store.write_cell(name, name.encode("utf-8", "replace"), None) for name in NAMES]
    assert None not in versions
    for name in NAMES:
        assert store.read_cell(name).content == name.encode("utf-8", "replace")


@pytest.mark.parametrize("ahead", [-DAY, DAY], ids=["behind", "ahead"])
@pytest.mark.parametrize("kind", [kind for kind in EXPIRING if kind != "sqlite"])
def test_a_worker_with_a_wrong_clock_removes_nothing(kind, ahead, tmp_path, monkeypatch):
    place = EVERY[kind](tmp_path)
    store = place.open(keep_for=KEEP)
    store.put(b"content", reference=REFERENCE)
    now = time.time
    monkeypatch.setattr(time, "time", lambda: now() + ahead)
    wrong = place.open(keep_for=KEEP)
    wrong.put(b"other", reference=numbered(1))
    assert wrong.clean([]) == []
    assert wrong.list() == sorted([REFERENCE, numbered(1)])
    monkeypatch.undo()
    assert store.clean([]) == []
    assert store.list() == sorted([REFERENCE, numbered(1)])
    assert "1 line matches" in store.search("content")


def test_a_clock_that_is_set_back_keeps_what_is_in_use(expiring, monkeypatch):
    store = expiring.open(keep_for=KEEP)
    store.put(b"content", reference=REFERENCE)
    now = time.time
    monkeypatch.setattr(time, "time", lambda: now() - DAY)
    assert store.clean([REFERENCE]) == []
    store.put(b"content", reference=REFERENCE)
    monkeypatch.undo()
    assert expiring.open(keep_for=DAY).list() == [REFERENCE]


def test_a_state_that_a_clock_far_ahead_wrote_stays_alive(tmp_path, monkeypatch):
    place = EVERY["sqlite"](tmp_path)
    now, history = time.time, [{"role": "user", "content": "Hello."}]
    monkeypatch.setattr(time, "time", lambda: now() + DAY)
    engine_of(place.open(keep_for=KEEP)).open(session="s").messages(history)
    monkeypatch.undo()
    first = place.open().read_cell("view/s")
    engine_of(place.open(keep_for=KEEP)).open(session="s").messages(history)
    assert place.open().read_cell("view/s").version != first.version


@pytest.fixture
def small_disk(tmp_path):
    """A disk of 4 MB."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", str(folder)]
    if os.name != "posix" or os.geteuid() != 0 or subprocess.run(mount, check=False).returncode:
        pytest.skip("may not mount a disk")
    yield folder
    subprocess.run(["umount", "--lazy", str(folder)], check=True)


@pytest.mark.parametrize("kind", ["file", "sqlite", "objects"])
def test_a_full_disk_is_an_error_and_loses_nothing(kind, small_disk):
    store = EVERY[kind](small_disk).open()
    large = os.urandom(1_000_000)
    store.put(large, reference=REFERENCE)
    filler = small_disk / "filler"
    with filler.open("wb", buffering=0) as file, contextlib.suppress(OSError):
        while file.write(bytes(4_096)):
            pass
    messages = conversation()
    for _ in range(2):
        with pytest.raises(ullage.StoreError, match=r"could not|cannot"):
            store.put(os.urandom(1_000_000), reference=numbered(1))
        with pytest.raises(ullage.StoreError):
            engine_of(store).compact(messages)
    assert messages == conversation()
    other = EVERY[kind](small_disk).open()
    assert other.list() == store.list() == [REFERENCE]
    assert other.get(REFERENCE) == large
    filler.unlink()
    engine_of(store).compact(messages)
    assert len(str(messages)) < len(str(conversation()))
    # Nothing half-written takes the space.
    store.put(os.urandom(1_000_000), reference=numbered(1))


@pytest.mark.parametrize("content", [b"not a database, and long enough" * 40, b"SQLite format 3\0"])
def test_a_file_that_is_no_database_is_an_error(content, tmp_path):
    file = tmp_path / "outputs.db"
    file.write_bytes(content)
    for _ in range(2):
        with pytest.raises(ullage.StoreError, match=r"outputs\.db could not"):
            SQLiteStore(file).put(b"content", reference=REFERENCE)
    assert file.read_bytes() == content


def test_a_database_that_is_removed_is_made_again(tmp_path):
    store = SQLiteStore(tmp_path / "a.db")
    store.put(b"content", reference=REFERENCE)
    store.close()
    for file in Path(tmp_path).iterdir():
        file.unlink()
    assert store.list() == []
    store.put(b"content", reference=REFERENCE)
    assert SQLiteStore(tmp_path / "a.db").get(REFERENCE) == b"content"
