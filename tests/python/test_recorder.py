"""`ullage.Recorder`: what it says of a session, and what its file survives."""

import itertools
import json
import threading
from pathlib import Path

import pytest

import ullage
from ullage.report.recorded import MOST_CHANGES, Arrived, Changes, Failure, SentRequest
from ullage.report.recording import RecordingFile, is_recording
from ullage.report.timeline import Timeline

from .recorded_sessions import BESIDE, WINDOW, ask, call, record, result

PRICES = ullage.Economics()


@pytest.fixture(scope="module")
def session():
    recorder = ullage.Recorder(name="all")
    store = ullage.MemoryStore()
    return recorder, store, record(recorder, store)


def kinds(recorder, kind):
    return [entry for entry in recorder.entries if isinstance(entry, kind)]


def test_every_request_compaction_and_arrival_is_recorded(session):
    recorder, store, _ = session
    assert recorder.window == WINDOW
    assert len(kinds(recorder, SentRequest)) == 40
    assert len(kinds(recorder, Arrived)) == 1
    assert all(report.stages for report in kinds(recorder, ullage.Report))
    named = {
        reference
        for entry in kinds(recorder, (ullage.Report, Arrived))
        for reference in entry.references
    }
    assert named == set(store.list())


def test_reads_and_writes_are_the_whole_prompt(session):
    sent = kinds(session[0], SentRequest)
    assert all(one.read + one.written == one.prompt for one in sent)
    assert all(one.prompt - one.tokens == BESIDE for one in sent)
    assert sent[0].read == 0
    assert all(one.read >= BESIDE for one in sent[1:])


def test_until_something_is_changed_all_of_the_request_before_is_read(session):
    entries = session[0].entries
    pairs = [
        (one, other)
        for one, other in itertools.pairwise(entries)
        if isinstance(one, SentRequest) and isinstance(other, SentRequest)
    ]
    assert len(pairs) > 10
    assert all(other.read == one.prompt for one, other in pairs)


def test_what_the_provider_says_of_its_cache_stands():
    recorder = ullage.Recorder()
    recorder.request([ask("a")], 1_000, 256)
    recorder.request([ask("a")], 1_000, 5_000)
    assert [(one.read, one.written, one.reported) for one in kinds(recorder, SentRequest)] == [
        (256, 744, True),
        (1_000, 0, True),
    ]


def test_a_report_that_cannot_be_the_size_of_a_request_is_not_drawn():
    recorder = ullage.Recorder()
    engine = ullage.ContextManager(recorder=recorder)
    assert engine.observe([ask("word " * 500)], 3) is False
    assert [(one.prompt, one.tokens) for one in kinds(recorder, SentRequest)] == [(509, 509)]


def test_a_view_records_the_requests_that_are_reported_to_it():
    recorder = ullage.Recorder()
    view = ullage.ContextManager(recorder=recorder).open()
    tokens = ullage.TokenCounter().count_messages(view.messages([ask("word " * 500)]))
    view.observe(tokens + 20, 10)
    [request] = kinds(recorder, SentRequest)
    assert (request.tokens, request.prompt, request.read) == (tokens, tokens + 20, 10)


def test_without_ullage_a_session_is_as_long_as_everything_in_it():
    recorder, plain = ullage.Recorder(), ullage.Recorder()
    record(recorder, ullage.MemoryStore(), text="plain words")
    record(plain, ullage.MemoryStore(), text="plain words", window=1_000_000, large_at=None)
    steps = Timeline.of(recorder.entries, PRICES).steps
    full = Timeline.of(plain.entries, PRICES).steps
    assert [step.without for step in full] == [step.prompt for step in full]
    assert all(step.prompt <= step.without for step in steps)
    # All but the large result, which only one of them has.
    assert [step.without for step in steps[:21]] == [step.prompt for step in full[:21]]


def test_a_host_that_compacts_a_view_of_all_each_time_saves_it_once():
    recorder = ullage.Recorder()
    engine = ullage.ContextManager(
        ullage.Policy(window=2_000, reserve_output=200),
        store=ullage.MemoryStore(),
        recorder=recorder,
    )
    counter, history = ullage.TokenCounter(), [ask("Look.")]
    full = []
    for number in range(40):
        shown = list(history)
        engine.compact(shown)
        recorder.request(shown)
        full.append(counter.count_messages(history))
        history += [call(number), result(number, f"{number} words " * 60)]
    assert [step.without for step in Timeline.of(recorder.entries, PRICES).steps] == full


def test_a_change_is_paid_for_by_writing_again():
    recorder = ullage.Recorder()
    first = [ask("word " * 500), ask("b " * 10)]
    recorder.request(first)
    recorder.request([*first, ask("c " * 20)])
    recorder.request([ask("other " * 400), *first[1:]])
    steps = Timeline.of(recorder.entries, ullage.Economics(1e6, 1e6, 1.25, 0.1)).steps
    assert [step.rewritten > 0 for step in steps] == [False, False, True]
    assert all(step.read + step.new + step.rewritten == step.prompt for step in steps)
    assert steps[1].cost == pytest.approx(0.1 * steps[1].read + 1.25 * steps[1].new)
    assert steps[0].cost == steps[0].cost_without


def test_a_recording_holds_no_text_of_a_message(tmp_path):
    recorder = ullage.Recorder(tmp_path / "run.jsonl")
    record(recorder, ullage.MemoryStore(), text="secret-4711 and more of it")
    assert "4711" not in (tmp_path / "run.jsonl").read_text()


def test_a_file_gives_the_same_session_and_goes_on(tmp_path):
    file = tmp_path / "run.jsonl"
    recorder = ullage.Recorder(file, name="mine")
    record(recorder, ullage.MemoryStore())
    recorder.failure(ullage.BudgetError("too much"))
    again = ullage.Recorder(file)
    assert again.entries == recorder.entries
    assert (again.name, again.window, again.model) == ("mine", WINDOW, None)
    assert is_recording(file)
    again.request([ask("a")])
    assert len(ullage.Recorder(file).entries) == len(recorder.entries) + 1


def test_a_file_that_is_cut_anywhere_keeps_what_is_whole(tmp_path):
    file = tmp_path / "run.jsonl"
    recorder = ullage.Recorder(file)
    record(recorder, ullage.MemoryStore(), requests=5)
    whole = file.read_bytes()
    cut = tmp_path / "cut.jsonl"
    for end in range(0, len(whole), 7):
        cut.write_bytes(whole[:end])
        found = ullage.Recorder(cut)
        assert found.entries == recorder.entries[: len(found.entries)]
        before = len(found.entries)
        found.request([ask("a")])
        assert len(ullage.Recorder(cut).entries) == before + 1


@pytest.mark.parametrize(
    "content",
    [
        '{"role": "user", "content": "a"}\n',
        "no json\n",
        '{"request": {"tokens": 1}}\n',
        '{"request": {}, "session": {}}\n',
        '{"compaction": {"elapsed": 1}}\n',
        '{"compaction": []}\n',
        '{"changes": {"changes": [{"stage": "a"}], "others": 0}}\n',
        '{"changes": {"changes": 5, "others": 0}}\n',
        '{"arrival": {"tool": "a", "saved": "<b>", "references": []}}\n',
        '{"arrival": {"tool": "a", "saved": 1, "references": [1]}}\n',
        '{"request": {"tokens":1,"prompt":-1,"read":0,"written":1,"reported":false}}\n',
        '{"request": {"tokens":1,"prompt":1e400,"read":0,"written":1,"reported":false}}\n',
        '{"session": {"name": "a", "window": null, "model": null}}\n',
        "\x00\n\n",
    ],
)
def test_what_is_no_recording_is_refused(tmp_path, content):
    file = tmp_path / "other.jsonl"
    file.write_text(content)
    with pytest.raises(ullage.StoreError):
        ullage.Recorder(file)
    with pytest.raises(ullage.StoreError):
        ullage.Recorder(tmp_path)
    assert not is_recording(tmp_path)
    with pytest.raises(ullage.StoreError):
        ullage.Recorder("a\x00b")
    assert not is_recording("a\x00b")


def test_a_file_that_cannot_be_written_does_not_stop_the_session(tmp_path, caplog):
    recorder = ullage.Recorder(tmp_path / "no" / "folder" / "run.jsonl")
    record(recorder, ullage.MemoryStore(), requests=3)
    assert len(kinds(recorder, SentRequest)) == 3
    assert caplog.text.count("the recording stopped") == 1


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a disk that is always full")
def test_a_full_disk_does_not_stop_the_session(caplog):
    recorder = ullage.Recorder()
    recorder._file = RecordingFile("/dev/full")
    record(recorder, ullage.MemoryStore(), requests=3)
    assert len(kinds(recorder, SentRequest)) == 3
    assert caplog.text.count("the recording stopped") == 1


def test_threads_may_write_at_once(tmp_path):
    file = tmp_path / "run.jsonl"
    recorder = ullage.Recorder(file)

    def work():
        for number in range(50):
            recorder.request([ask(f"a {number}")])
            recorder.arrival("look", 5, [])

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(recorder.entries) == 400
    assert ullage.Recorder(file).entries == recorder.entries


def test_a_compaction_that_could_not_be_made_is_recorded():
    recorder = ullage.Recorder()
    recorder.failure(ullage.BudgetError("too much"))
    assert kinds(recorder, Failure)[0].why == "BudgetError: too much"
    assert "too much" in recorder.html()


def test_records_are_plain_json(tmp_path):
    file = tmp_path / "run.jsonl"
    record(ullage.Recorder(file), ullage.MemoryStore(), requests=30)
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    assert {kind for line in lines for kind in line} == {
        "session", "request", "arrival", "changes", "compaction",
    }  # fmt: skip


def test_a_view_is_recorded_and_so_is_what_a_listener_is_told_of():
    recorder, told = ullage.Recorder(), []

    def listener(report):
        told.append(report)
        raise RuntimeError("the listener fails")

    policy = ullage.Policy(window=2_000, reserve_output=200)
    engine = ullage.ContextManager(
        policy, store=ullage.MemoryStore(), recorder=recorder, on_compaction=listener
    )
    messages = [ask("Look.")]
    for number in range(20):
        messages += [call(number), result(number, f"{number} words " * 60)]
    engine.view(messages)
    engine.compact(messages)
    assert kinds(recorder, ullage.Report) == told
    assert len(told) == 2
    assert engine.recorder is recorder


def test_an_engine_that_stands_in_for_another_goes_on_with_its_recording(tmp_path):
    recorder = ullage.Recorder(tmp_path / "run.jsonl")
    engine = ullage.ContextManager(
        store=ullage.MemoryStore(), recorder=recorder, model="claude-sonnet-4-5"
    )
    recorder.request([ask("a")])
    ullage.ContextManager(engine.policy, counter=engine.counter, recorder=recorder)
    recorder.request([ask("a")])
    assert recorder.store is engine.store
    assert recorder.model == "claude-sonnet-4-5"
    assert [one.written > 0 for one in kinds(recorder, SentRequest)] == [True, False]
    assert (tmp_path / "run.jsonl").read_text().count('"session"') == 1


def test_what_became_of_each_piece_is_recorded_without_its_text(session):
    recorder, store, _ = session
    for before, report in itertools.pairwise(recorder.entries):
        if not isinstance(report, ullage.Report):
            continue
        assert isinstance(before, Changes)
        assert before.others == 0
        references = {change.reference for change in before.changes} - {None}
        assert references == set(report.references) <= set(store.list())
        edits = sum(stage.edits for stage in report.stages.values())
        assert len(before.changes) == edits
        assert all(change.why for change in before.changes)


def test_of_very_many_changes_those_are_recorded_that_saved_most():
    recorder = ullage.Recorder()
    settings = {**ullage.Policy(window=12_000).to_dict(), "stages": ["offload"], "keep_recent": 1}
    engine = ullage.ContextManager(
        ullage.Policy.from_dict(settings), store=ullage.MemoryStore(), recorder=recorder
    )
    messages = [ask("Look.")]
    for number in range(300):
        messages += [call(number), result(number, f"{number} words " * (300 + number))]
    engine.compact(messages, budget=90_000)
    (changes,) = kinds(recorder, Changes)
    (report,) = kinds(recorder, ullage.Report)
    assert len(changes.changes) == MOST_CHANGES
    assert changes.others == report.stages["offload"].edits - MOST_CHANGES > 0
    places = [change.start for change in changes.changes]
    assert places == sorted(places)
    assert "smaller changes" in recorder.html()


def test_the_savings_of_a_recording_end_where_doing_nothing_would_not_fit(tmp_path):
    recorder = ullage.Recorder(tmp_path / "run.jsonl")
    record(recorder, ullage.MemoryStore(), text="a line of a log " * 8)
    line = Timeline.of(recorder.entries, ullage.Economics())
    savings, endless = line.savings(recorder.window), line.savings(None)
    assert savings.requests == endless.requests == len(line.steps)
    assert savings.new == endless.new
    assert 0 < savings.saved_cached < endless.saved_cached
    assert "saved against doing nothing" in recorder.html()
