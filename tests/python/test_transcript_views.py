"""Views of a transcript: what stands for what, and what is written of it."""

# mypy: disable-error-code="no-untyped-def"

import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

import ullage


def said(number):
    return {"role": "user" if number % 2 == 0 else "assistant", "content": f"word {number}"}


def words(messages):
    return [message["content"] for message in messages]


def short(*numbers):
    return {"role": "user", "content": "short " + " ".join(map(str, numbers))}


@pytest.fixture
def path(tmp_path):
    return tmp_path / "log.jsonl"


@pytest.mark.parametrize("hidden", range(6))
def test_each_of_several_copies_in_a_row_stands_for_its_own_message(path, hidden):
    with ullage.Transcript(path) as transcript:
        transcript.extend(said(number) for number in range(6))
        view = transcript.view()
        view[1:4] = [short(1), short(2), short(3)]
        transcript.set_view(view)
        # Once more: a copy stands for what it stood for.
        transcript.set_view(transcript.view())
        transcript.hide(hidden, hidden + 1)
        del view[hidden]
        assert transcript.view() == view
    with ullage.Transcript(path) as again:
        assert again.view() == view


def test_copies_that_cannot_be_told_apart_stand_for_all_that_is_missing(path):
    for hidden in range(1, 5):
        path.unlink(missing_ok=True)
        with ullage.Transcript(path) as transcript:
            transcript.extend(said(number) for number in range(6))
            both = [short(1, 2), short(3, 4)]
            transcript.set_view([transcript.view()[0], *both, transcript.view()[5]])
        with ullage.Transcript(path) as again:
            again.hide(hidden, hidden + 1)
            assert again.view() == [said(0), said(5)]


def test_a_note_goes_with_any_message_that_it_stands_for(path):
    with ullage.Transcript(path) as transcript:
        transcript.extend(said(number) for number in range(8))
        transcript.hide(1, 6, short(1, 5))
        transcript.hide(5, 7, short(1, 6))
        assert words(transcript.view()) == ["word 0", "short 1 6", "word 7"]
    with ullage.Transcript(path) as again:
        again.hide(3, 4)
        assert words(again.view()) == ["word 0", "word 7"]


def test_what_stands_between_two_messages_goes_with_both(path):
    with ullage.Transcript(path) as transcript:
        transcript.extend(said(number) for number in range(4))
        view = transcript.view()
        view.insert(2, {"content": "between"})
        transcript.set_view(view)
        transcript.hide(0, 1)
        assert words(transcript.view()) == ["word 1", "between", "word 2", "word 3"]
        transcript.hide(1, 3)
        assert words(transcript.view()) == ["word 3"]


@given(data=st.data())
def test_what_is_hidden_is_stood_for_by_nothing(tmp_path_factory, data):
    path = tmp_path_factory.mktemp("t") / "log"
    with ullage.Transcript(path) as transcript:
        transcript.extend({"from": number, "to": number + 1} for number in range(12))
        for _ in range(data.draw(st.integers(1, 3))):
            view = transcript.view()
            start = data.draw(st.integers(0, len(view) - 1))
            end = data.draw(st.integers(start + 1, len(view)))
            # One for each, so that it is known which, or one for all.
            parts = (
                [view[start:end]] if data.draw(st.booleans()) else [[m] for m in view[start:end]]
            )
            view[start:end] = [{"from": part[0]["from"], "to": part[-1]["to"]} for part in parts]
            transcript.set_view(view)
        first = data.draw(st.integers(0, 11))
        last = data.draw(st.integers(first + 1, 12))
        before = transcript.view()
    # Each stands for a range of its own here, so nobody need guess.
    with ullage.Transcript(path) as again:
        assert again.view() == before
        again.hide(first, last)
        kept = [m for m in before if m["to"] <= first or m["from"] >= last]
        assert [m for m in again.view() if m in kept] == again.view()


def test_a_view_that_has_not_changed_is_not_written(path):
    with ullage.Transcript(path) as transcript:
        transcript.extend(said(number) for number in range(6))
        size = path.stat().st_size
        transcript.set_view(transcript.view())
        assert path.stat().st_size == size
        view = transcript.view()
        view[2] = short(2)
        transcript.set_view(view)
        size = path.stat().st_size
        transcript.set_view([dict(message) if message is view[2] else message for message in view])
        assert path.stat().st_size == size
    with ullage.Transcript(path) as again:
        again.set_view(again.view())
        assert path.stat().st_size == size


def test_a_copy_is_written_once(path):
    long = {"content": "long " * 1_000}
    with ullage.Transcript(path) as transcript:
        transcript.extend(said(number) for number in range(6))
        transcript.set_view([long, *transcript.view()[3:]])
        transcript.append(said(6))
        transcript.hide(3, 4)
    with ullage.Transcript(path) as again:
        again.hide(4, 5)
        again.set_view([*again.view(), dict(long)])
        expected = [long, said(5), said(6), long]
        assert again.view() == expected
    assert path.read_text().count("long " * 1_000) == 1
    with ullage.Transcript(path) as again:
        assert again.view() == expected


def test_what_was_appended_since_the_view_was_taken_stays_behind_it(path):
    with ullage.Transcript(path) as transcript:
        transcript.extend(said(number) for number in range(4))
        before = transcript.view()
        other = threading.Thread(target=transcript.append, args=(said(4),))
        other.start()
        other.join()
        transcript.set_view([short(0, 1), *before[2:3], short(3)], since=before)
        assert words(transcript.view()) == ["short 0 1", "word 2", "short 3", "word 4"]
        transcript.hide(4, 5)
        assert words(transcript.view()) == ["short 0 1", "word 2", "short 3"]
        transcript.set_view(transcript.view()[1:], since=before)
        assert words(transcript.view()) == ["word 2", "short 3"]


def test_threads_that_append_during_compactions_lose_nothing_of_the_view(path):
    with ullage.Transcript(path) as transcript:
        transcript.append(said(0))

        def write():
            for number in range(1, 60):
                transcript.append(said(number))

        other = threading.Thread(target=write)
        other.start()
        while other.is_alive():
            before = transcript.view()
            transcript.set_view(list(before), since=before)
        other.join()
        assert transcript.view() == list(map(said, range(60)))


def test_a_message_that_was_changed_in_place_comes_back_as_it_was_seen(path):
    message = said(0)
    with ullage.Transcript(path) as transcript:
        transcript.append(message)
        transcript.append(said(1))
        message["content"] = "changed"
        transcript.set_view(transcript.view())
    with ullage.Transcript(path) as again:
        assert words(again.view()) == ["changed", "word 1"]
        assert again.messages() == [said(0), said(1)]
        again.hide(0, 1)
        assert again.view() == [said(1)]


def test_the_same_object_may_be_appended_twice(path):
    same = said(0)
    with ullage.Transcript(path) as transcript:
        transcript.extend([same, said(1), same])
        transcript.set_view(transcript.view())
        transcript.hide(0, 1)
        assert transcript.view() == [said(1), same]
        transcript.set_view(transcript.view())
        transcript.hide(2, 3)
        assert transcript.view() == [said(1)]
