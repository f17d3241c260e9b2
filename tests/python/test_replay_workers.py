"""Replays in many processes: the same bytes for any number and order, whatever dies."""

import csv
import io
import json
import multiprocessing
import os
import random
import signal
import subprocess
import sys
import time
import uuid
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import ullage
from tests.python import servers
from tests.python.commands import inside
from tests.python.test_replay import long_session
from ullage import replay
from ullage.replay import workers
from ullage.sessions import parts, session_files

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
    steps: list[tuple[int, int]] = []
    found = replay.replay_files(
        files_in(folder),
        SWEEP,
        workers=count,
        on_unreadable=unread.append,
        progress=lambda *counts: steps.append(counts),
    )
    assert without_times(found) == expected
    assert replay.table(found) == replay.table(expected)
    assert len(expected.cuts) > 20
    assert [error.file for error in unread] == [str(folder / "broken.json")]
    assert len(steps) == 7
    size = sum((folder / name).stat().st_size for name in session_files(folder))
    assert steps[-1] == (size, size)


def test_the_order_in_which_files_are_done_does_not_matter(folder, expected, monkeypatch):
    def shuffled(parts, sweep, count):
        found = [(number, workers.measure_part(part, sweep)) for number, part in enumerate(parts)]
        random.Random(7).shuffle(found)
        return iter(found)

    monkeypatch.setattr(workers, "_in_processes", shuffled)
    assert without_times(replay.replay_files(files_in(folder), SWEEP)) == expected


def measured_or_killed(file, deaths, times, part, sweep):
    """Measures a part in a worker, which dies of a file so many times. A byte stands for a death."""
    if part.file == file and deaths.stat().st_size < times:
        with deaths.open("ab") as written:
            written.write(b"x")
        os.kill(os.getpid(), signal.SIGKILL)
    return workers.measure_part(part, sweep)


@pytest.fixture
def kill(tmp_path_factory, monkeypatch):
    """Kills the workers that measure a file, so many times; gives the file of the deaths."""
    deaths = tmp_path_factory.mktemp("deaths") / "deaths"
    deaths.touch()

    def kill(file, times):
        measure = partial(measured_or_killed, str(file), deaths, times)
        monkeypatch.setattr(workers, "measure_part", measure)
        return deaths

    return kill


def test_a_worker_that_dies_is_replaced(folder, expected, kill):
    deaths = kill(folder / "session-2.jsonl", times=2)
    found = replay.replay_files(files_in(folder), SWEEP, workers=2)
    assert deaths.read_bytes() == b"xx"
    assert without_times(found) == expected
    assert not multiprocessing.active_children()


def test_a_file_that_ends_every_worker_is_left_out_and_named(folder, expected, kill):
    file = str(folder / "session-2.jsonl")
    kill(file, times=100)
    unread: list[Any] = []
    found = replay.replay_files(files_in(folder), SWEEP, workers=2, on_unreadable=unread.append)
    assert {cut.session for cut in expected.cuts} - {cut.session for cut in found.cuts} == {file}
    (said,) = [error for error in unread if error.file == file]
    assert "3 workers died" in said.problem


SCRIPT = """
import sys
from ullage import replay
sweep = replay.Sweep([replay.read_policy("default")], contexts=[4_000], shares=[0.5])
show = lambda *done: print(*done, flush=True)
replay.replay_files([sys.argv[1]], sweep, workers=2, progress=show)
"""


def children_of(process):
    children = Path(f"/proc/{process}/task/{process}/children")
    return [int(child) for child in children.read_text().split()] if children.exists() else []


def is_alive(process):
    stat = Path(f"/proc/{process}/stat")
    return stat.exists() and stat.read_text().rpartition(")")[2].split()[0] != "Z"


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="needs the processes of Linux")
def test_workers_end_with_the_process_that_started_them(folder):
    command = [sys.executable, "-c", SCRIPT, folder]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as parent:
        assert parent.stdout is not None
        parent.stdout.readline()
        parent.stdout.readline()  # A part is done, so there are workers.
        children = children_of(parent.pid)
        assert len(children) >= 2
        parent.kill()
    until = time.monotonic() + 20
    while any(map(is_alive, children)) and time.monotonic() < until:
        time.sleep(0.05)
    assert not any(map(is_alive, children))


def test_a_script_without_a_guard_is_told_what_to_write(folder, tmp_path):
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    command = [sys.executable, script, folder]
    found = subprocess.run(command, capture_output=True, text=True, check=False)
    assert "RuntimeError: 3 workers could not start" in found.stderr
    assert "call replay_files below `if __name__ == '__main__':`" in found.stderr


@pytest.fixture
def corpus(folder, tmp_path_factory, monkeypatch):
    """The same sessions as lines of one file, which is read in ranges."""
    file = tmp_path_factory.mktemp("corpus") / "all.jsonl"
    sessions = replay.read_sessions(folder, lambda _: None)
    lines = [json.dumps({"messages": session.messages}) + "\n" for session in sessions]
    file.write_text("".join(lines))
    monkeypatch.setattr(parts, "_RANGE", len(lines[0]))
    assert len(list(parts.session_parts(file))) > 2
    return file


def test_ranges_of_a_large_file_give_the_results_of_its_sessions(corpus, expected):
    found = without_times(replay.replay_files([str(corpus)], SWEEP, workers=2))
    here = replay.replay(parts.iter_sessions(corpus), SWEEP)
    assert found == without_times(here)
    numbers = {
        name: number
        for number, name in enumerate(dict.fromkeys(c.session for c in expected.cuts), 1)
    }
    named = [replace(cut, session=f"{corpus}:{numbers[cut.session]}") for cut in expected.cuts]
    assert found.cuts == named


def test_a_worker_that_dies_of_a_range_leaves_only_that_out(corpus, kill):
    deaths = kill(corpus, times=3)
    unread: list[Any] = []
    found = replay.replay_files([str(corpus)], SWEEP, workers=1, on_unreadable=unread.append)
    assert deaths.read_bytes() == b"xxx"
    assert len({cut.session for cut in found.cuts}) == 4
    assert [(error.file, error.line is not None) for error in unread] == [(str(corpus), True)]


@pytest.fixture
def bucket(folder, monkeypatch):
    """The sessions as objects in a bucket, whose place the environment tells."""
    endpoint = servers.s3_endpoint()
    url = f"{servers.s3_bucket(f'b-{uuid.uuid4().hex}')}/some/sessions"
    for name, value in servers.s3_config(endpoint).items():
        monkeypatch.setenv(f"AWS_{name.upper()}", value)
    monkeypatch.setenv("AWS_ALLOW_HTTP", "true")
    from obstore.store import from_url

    store = from_url(url)
    for file in folder.iterdir():
        store.put(f"of may/{file.name}", file.read_bytes())
    store.put("notes.txt", b"no session")
    return url


def test_sessions_in_a_bucket_give_the_same_results(bucket, folder, expected):
    unread: list[Any] = []
    found = replay.replay_files([bucket], SWEEP, workers=2, on_unreadable=unread.append)
    moved = [cut.session.replace(str(folder), f"{bucket}/of may") for cut in expected.cuts]
    assert [cut.session for cut in found.cuts] == moved
    assert replay.table(found) == replay.table(expected)
    assert [error.file for error in unread] == [f"{bucket}/of may/broken.json"]
    one = f"{bucket}/of may/session-1.jsonl"
    assert [session.name for session in parts.iter_sessions(one)] == [one]


def test_the_command_reads_a_bucket(bucket, folder):
    arguments = ["--context", "4000", "--json"]
    outputs = [
        inside("replay", bucket, *arguments)[1],
        inside("replay", bucket, *arguments, "--workers", "2")[1],
        inside("replay", folder, *arguments)[1],
    ]
    rows = [[{**row, "milliseconds": 0} for row in json.loads(out)["rows"]] for out in outputs]
    assert rows[0] == rows[1] == rows[2]
    assert rows[0]


@pytest.mark.parametrize("name", ["missing", "missing.jsonl"])
def test_a_place_in_a_bucket_without_sessions_is_named(bucket, name):
    code, _, err = inside("replay", f"{bucket}/{name}", "--workers", "2")
    assert code == 2
    assert f"{bucket}/{name}: " in err
    assert "no JSON is below this URL" in err or "no such object" in err


def no_counter():
    raise ZeroDivisionError("a fault of the caller's counter")


def test_an_error_of_the_sweep_ends_the_replay(folder):
    with pytest.raises(ZeroDivisionError, match="a fault of the caller's counter"):
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


@pytest.mark.parametrize(
    ("arguments", "package", "extra"),
    [(["--rows", "rows.parquet"], "pyarrow", "parquet"), (["--ray"], "ray", "ray")],
)
def test_a_missing_package_is_named_before_the_work(folder, monkeypatch, arguments, package, extra):
    monkeypatch.setitem(sys.modules, package, None)
    code, out, err = inside("replay", folder, "--context", "4000", *arguments)
    assert (code, out) == (2, "")
    assert f"pip install 'ullage[{extra}]'" in err
    assert "bug" not in err


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
