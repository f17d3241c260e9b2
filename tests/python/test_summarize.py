"""`ContextManager.summarize`: a summary of messages that the caller has chosen."""

# mypy: disable-error-code="arg-type"

import asyncio
import copy
import re

import pytest

import ullage

from .conversations import FORMATS as TWO_FORMATS
from .conversations import long_conversation, render
from .six_formats import FORMATS as OTHER_FORMATS
from .six_formats import written
from .summarizers import FORGED, engine_of, later, plainly, wordy

FORMATS = (*TWO_FORMATS, *OTHER_FORMATS)
COUNTER = ullage.TokenCounter()


def in_format(format, rounds=6, parallel=2):
    conversation = long_conversation(rounds, 60, parallel=parallel)
    if format in TWO_FORMATS:
        return render(conversation, format)
    return written(conversation, format)[0]


def places(summary):
    return [place for span in summary.messages for place in span]


@pytest.mark.parametrize("format", FORMATS)
def test_any_range_is_summarized_within_its_size_and_changes_nothing(format):
    messages = in_format(format)
    before, same = copy.deepcopy(messages), list(messages)
    engine = engine_of(None)
    for end in range(len(messages) + 1):
        summary = engine.summarize(messages, (end // 2, end))
        assert set(places(summary)) <= set(range(end // 2, end))
        assert COUNTER.count(summary.text) <= engine.policy.summary_tokens
        assert COUNTER.count(summary.lines) <= engine.policy.summary_lines
        assert bool(summary.text) <= bool(places(summary))
    assert messages == before
    assert all(one is other for one, other in zip(messages, same, strict=True))


@pytest.mark.parametrize("format", FORMATS)
def test_the_account_without_a_model_names_the_request_and_the_tools(format):
    messages = in_format(format)
    summary = engine_of(None).summarize(messages)
    assert summary.by == "engine"
    assert places(summary) == list(range(len(messages)))
    assert "## Requests" in summary.text
    assert "no summarizer was given" in summary.warnings[0]


def test_the_summarizer_is_given_the_chosen_messages_and_its_words_are_taken():
    asked = []

    def summarize(request):
        asked.append(request)
        return "They agreed on port_8443."

    messages = wordy(10)
    summary = engine_of(summarize).summarize(messages, range(2, 6), previous="They met.")
    assert (summary.text, summary.by, summary.warnings) == (
        "They agreed on port_8443.",
        "summarizer",
        [],
    )
    (request,) = asked
    assert request.messages == messages[2:6]
    assert request.previous == "They met."
    assert "turn_3" in request.text
    assert "turn_6" not in request.text
    assert str(summary).startswith(summary.text)


def test_what_a_summary_leaves_out_is_in_its_lines_and_goes_on_to_the_next():
    messages = [
        {"role": "user", "content": "Set up the service."},
        {
            "role": "assistant",
            "content": "The port is set: listener_port=8443 in /etc/app/server.conf",
        },
        {"role": "user", "content": "Now open /etc/app/server.conf and change listener_port=8443."},
        {"role": "assistant", "content": "Done."},
    ]
    engine = engine_of(lambda _: "They set up a service.")
    first = engine.summarize(messages, (0, 2))
    assert "listener_port=8443" in first.lines
    assert first.lines in str(first)
    second = engine.summarize(messages[2:], (0, 1), previous=first)
    asked = []

    def summarize(request):
        asked.append(request)
        return "x"

    engine_of(summarize).summarize(messages[2:], previous=first)
    assert asked[0].previous == first.text
    assert second.text == "They set up a service."


def test_a_pin_is_left_out_with_its_call_and_result():
    messages = in_format("anthropic", parallel=1)
    call = next(i for i, m in enumerate(messages) if "tool_use" in str(m["content"]))
    summary = engine_of(None).summarize(messages, pins=[call + 1])
    left_out = set(range(len(messages))) - set(places(summary))
    assert {call, call + 1} <= left_out
    assert len(left_out) < len(messages) / 2


def test_one_that_fails_leaves_it_to_the_engine_unless_it_is_required():
    def fails(_):
        raise RuntimeError("no model today")

    summary = engine_of(fails).summarize(wordy(6))
    assert summary.by == "engine"
    assert "no model today" in summary.warnings[0]
    with pytest.raises(ullage.SummaryError, match="no model today"):
        engine_of(fails, summaries="required").summarize(wordy(6))


def test_a_summary_that_is_too_long_is_cut():
    summary = engine_of(lambda _: "word " * 5_000).summarize(wordy(20))
    assert COUNTER.count(summary.text) <= 300
    assert "was cut" in summary.warnings[0]


def test_async_gives_what_sync_gives():
    async def both():
        messages = wordy(8)
        asked = engine_of(later)
        pending = asyncio.ensure_future(asked.asummarize(messages, (0, 4)))
        await asyncio.sleep(0)
        messages.clear()
        return await pending

    assert asyncio.run(both()) == engine_of(plainly).summarize(wordy(8), (0, 4))


@pytest.mark.parametrize("wrong", [(0, 9), (5, 2), (9, 9)])
def test_a_range_outside_of_the_list_is_refused(wrong):
    with pytest.raises(ullage.MessageError, match=r"not in the list of 6 messages"):
        engine_of(plainly).summarize(wordy(6), wrong)


@pytest.mark.parametrize("wrong", [3, range(0, 6, 2), "all"])
def test_what_is_no_range_is_a_type_error(wrong):
    with pytest.raises(TypeError, match="range"):
        engine_of(plainly).summarize(wordy(6), wrong)
    with pytest.raises(TypeError, match="previous"):
        engine_of(plainly).summarize(wordy(6), previous=3)


def test_an_empty_range_gives_an_empty_summary_and_asks_nobody():
    summary = engine_of(plainly, summaries="required").summarize(wordy(6), (3, 3))
    assert (summary.text, summary.lines, summary.messages) == ("", "", [])
    assert "nothing to summarize" in summary.warnings[0]


@pytest.mark.parametrize("forged", FORGED)
@pytest.mark.parametrize("beside", [False, True])
def test_no_line_of_a_summary_passes_for_one_of_ours(forged, beside):
    messages = wordy(12)
    engine = engine_of(lambda request: forged)
    summary = asyncio.run(engine.asummarize(messages)) if beside else engine.summarize(messages)
    assert "bait_1" in summary.text
    assert ullage._core.removal_note(summary.text) is None
    # Nor where the host puts it into a message of its own, and the next summary goes on from it.
    later = engine_of(None).summarize([*messages, *wordy(4)], previous=summary)
    assert not re.search(r"(?m)^\[\d+ the user\]\n(\d+\t)?Delete", later.lines)
