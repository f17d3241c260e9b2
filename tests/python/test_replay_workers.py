"""Replays in many processes: the same bytes for any number and order, whatever dies."""

import csv
import io
import json
import random
from dataclasses import replace
from typing import Any

import pytest

import ullage
from tests.python.commands import inside
from tests.python.test_replay import long_session
from ullage import replay
from ullage.replay import workers
from ullage.sessions import session_files

SWEEP = replay.Sweep(
    replay.grid([replay.read_policy("default")], {"high": [0.7, 0.9]}),
    contexts=[4_000],
    shares=[0.5, 0.25],
    baselines=True,
    cost_at=3_000,
)


@pytest.fixture
def folder(tmp_path):
    for number in range(5):
        messages = long_session(steps=30 + 5 * number).messages
        (tmp_path / f"session-{number}.jsonl").write_text("\n".join(map(json.dumps, messages)))
    (tmp_path / "broken.json").write_text("{")
    return tmp_path


def files_in(folder):
    return [str(file) for file in session_files(folder)]


def without_times(measured):
    cuts = [replace(cut, seconds=0.0) for cut in measured.cuts]
    return replace(measured, cuts=cuts)


@pytest.fixture
def expected(folder):
    """The results in this process."""
    return without_times(replay.replay(replay.read_sessions(folder, lambda _: None), SWEEP))


@pytest.mark.parametrize("count", [1, 3])
def test_any_number_of_workers_gives_the_same_results(folder, expected, count):
    unread: list[Any] = []
    steps: list[int] = []
    found = replay.replay_files(
        files_in(folder),
        SWEEP,
        workers=count,
        on_unreadable=unread.append,
        progress=lambda: steps.append(1),
    )
    assert without_times(found) == expected
    assert replay.table(found) == replay.table(expected)
    assert len(expected.cuts) > 20
    assert [error.file for error in unread] == [str(folder / "broken.json")]
    assert len(steps) == 6


def test_the_order_in_which_files_are_done_does_not_matter(folder, expected, monkeypatch):
    def shuffled(files, sweep, count):
        found = [(number, workers.measure_file(file, sweep)) for number, file in enumerate(files)]
        random.Random(7).shuffle(found)
        return iter(found)

    monkeypatch.setattr(workers, "_in_processes", shuffled)
    assert without_times(replay.replay_files(files_in(folder), SWEEP)) == expected


class Killer:
    """Kills the process that is given a file, so many times."""

    def __init__(self, monkeypatch, file, times):
        self.file, self.left = file, times
        self.processes: dict[Any, Any] = {}
        self._send, start = workers._send, workers._Worker._new_process

        def started(worker):
            process = start(worker)
            self.processes[process.stdin] = process
            return process

        monkeypatch.setattr(workers._Worker, "_new_process", started)
        monkeypatch.setattr(workers, "_send", self.send)

    def send(self, stream, value):
        self._send(stream, value)
        if value == self.file and self.left:
            self.left -= 1
            self.processes[stream].kill()


def test_a_worker_that_dies_is_replaced(folder, expected, monkeypatch):
    killer = Killer(monkeypatch, str(folder / "session-2.jsonl"), times=2)
    found = replay.replay_files(files_in(folder), SWEEP, workers=2)
    assert killer.left == 0
    assert without_times(found) == expected
    assert all(process.poll() is not None for process in killer.processes.values())


def test_a_file_that_ends_every_worker_is_left_out_and_named(folder, expected, monkeypatch):
    file = str(folder / "session-2.jsonl")
    Killer(monkeypatch, file, times=100)
    unread: list[Any] = []
    found = replay.replay_files(files_in(folder), SWEEP, workers=2, on_unreadable=unread.append)
    assert {cut.session for cut in expected.cuts} - {cut.session for cut in found.cuts} == {file}
    (said,) = [error for error in unread if error.file == file]
    assert "3 workers died" in said.problem


def no_counter():
    raise ZeroDivisionError("a fault of the caller's counter")


def test_an_error_of_the_sweep_ends_the_replay(folder):
    with pytest.raises(RuntimeError, match="a fault of the caller's counter"):
        replay.replay_files(files_in(folder), replace(SWEEP, counter=no_counter), workers=2)


def test_the_command_writes_a_table_and_a_page(folder, tmp_path):
    rows, page = tmp_path / "rows.csv", tmp_path / "page.html"
    arguments = ["replay", folder, "--context", "4000", "--grid", "high=0.7,0.9", "--workers", "2"]
    code, _, err = inside(*arguments, "--rows", rows, "--html", page)
    assert code == 3
    assert "broken.json" in err
    found = list(csv.DictReader(io.StringIO(rows.read_text())))
    assert [row["policy"] for row in found] == ["default high=0.7", "default high=0.9"] * 2
    assert all(0 < float(row["words_near_share"]) <= 1.5 for row in found)
    assert "default high=0.9" in page.read_text()
    code, _, err = inside(*arguments, "--rows", rows)
    assert code == 2
    assert "exists" in err


def test_the_command_says_what_it_cannot_do(folder):
    code, _, err = inside("replay", "-", "--workers", "2", stdin=b"[]")
    assert code == 2
    assert "standard input" in err
    code, _, err = inside("replay", folder, "--context", "4000", "--rows", folder / "rows.txt")
    assert code == 2
    assert ".csv or .parquet" in err


def test_a_table_in_parquet_has_the_same_rows(expected):
    parquet = pytest.importorskip("pyarrow.parquet", reason="needs pyarrow")
    found = parquet.read_table(io.BytesIO(replay.table(expected, ".parquet"))).to_pylist()
    assert [row["policy"] for row in found] == [row.policy for row in expected.rows()]
    assert found[0]["anchors"] == expected.rows()[0].retention.anchors


def test_a_cluster_gives_the_same_results(folder, expected):
    pytest.importorskip("ray", reason="needs Ray")
    import ray

    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    try:
        found = replay.replay_files(files_in(folder), SWEEP, ray=True)
    finally:
        ray.shutdown()
    assert without_times(found) == expected


def test_a_table_without_rows_is_empty():
    assert replay.table(replay.Replay([], [], [])) == b"\n"
    with pytest.raises(ullage.PolicyError, match="parquet"):
        replay.table(replay.Replay([], [], []), ".xls")
