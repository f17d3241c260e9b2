"""``Conversation``: what a host asks about its own messages has one answer in every format."""

# mypy: disable-error-code="union-attr"

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

import ullage

from .conversations import FORMATS, conversations, render
from .test_formats import CONVERSATIONS, STEPS, output


@pytest.fixture(params=sorted(CONVERSATIONS))
def wire(request):
    return request.param


@pytest.fixture
def messages(wire):
    return list(CONVERSATIONS[wire]())


def call(id, tool="bash"):
    return {"id": id, "type": "function", "function": {"name": tool, "arguments": "{}"}}


def calling(*names):
    return {"role": "assistant", "content": None, "tool_calls": [call(name) for name in names]}


def answer(id, text="ok"):
    return {"role": "tool", "tool_call_id": id, "content": text}


def user(text="Go on."):
    return {"role": "user", "content": text}


SYSTEM = {"role": "system", "content": "Be brief."}


@given(conversations(), st.sampled_from(FORMATS))
def test_no_cut_parts_a_call_from_its_result(conversation, wire):
    messages = render(conversation, wire)
    read = ullage.Conversation(messages, wire)
    assert read.cut_points[0] == 0
    for cut in read.cut_points:
        before = ullage.Conversation(messages[:cut], wire)
        after = ullage.Conversation(messages[cut:], wire)
        assert len(before.results) + len(after.results) == len(read.results)
        assert len(before.open_calls) + len(after.open_calls) == len(read.open_calls)
        assert not [result for result in after.results if result.call is None]


@given(conversations(), st.sampled_from(FORMATS))
def test_calls_and_results_name_each_other(conversation, wire):
    read = ullage.Conversation(render(conversation, wire), wire)
    for made in read.calls:
        result = made.result
        if result is None:
            assert (made.message, made.number) in [(c.message, c.number) for c in read.open_calls]
        else:
            assert (result.call.message, result.call.number) == (made.message, made.number)
            assert (result.id, result.tool) == (made.id, made.tool)
            assert result.message > made.message


def test_it_says_the_same_in_every_format(wire, messages):
    read = ullage.Conversation(messages)
    assert read.format == wire
    assert len(read) == len(messages)
    assert [made.id for made in read.calls] == [f"c{step}" for step in range(STEPS)]
    assert {made.tool for made in read.calls} == {"read_file"}
    assert [json.loads(made.arguments)["path"] for made in read.calls][:2] == ["é/0", "é/1"]
    assert all(
        output(step) in made.result.text
        for step, made in zip(range(STEPS), read.calls, strict=True)
    )
    assert read.open_calls == []
    assert read.requests == [0]
    assert [text for text in read.texts if text] == [
        "Look into every part.",
        *["Reading."] * STEPS,
        "All is well.",
    ]


def test_every_place_is_one_of_the_list(messages):
    read = ullage.Conversation(messages)
    for made in read.calls:
        assert read.roles[made.message] == "assistant"
        assert made.id in json.dumps(messages[made.message])
        assert read.roles[made.result.message] == "tool"
        assert made.id in json.dumps(messages[made.result.message])
    assert read.cut_points[-1] == len(messages)
    assert not {made.result.message for made in read.calls} & set(read.cut_points)


def test_calls_of_one_message_are_numbered():
    messages = [user(), calling("a", "b"), answer("b", "2"), answer("a", "1")]
    read = ullage.Conversation(messages, "openai")
    assert [(made.message, made.number, made.result.text) for made in read.calls] == [
        (1, 0, "1"),
        (1, 1, "2"),
    ]
    assert [(result.message, result.number) for result in read.results] == [(2, 0), (3, 0)]
    assert read.cut_points == [0, 1, 4]


def test_a_reminder_among_results_belongs_to_their_call():
    messages = [user(), calling("a", "b"), answer("a"), SYSTEM, answer("b"), user()]
    assert ullage.Conversation(messages, "openai").cut_points == [0, 1, 5, 6]


def test_words_after_a_result_may_be_parted_from_it():
    messages = [user(), calling("a"), answer("a"), user("Stop."), calling("b"), answer("b")]
    assert ullage.Conversation(messages, "openai").cut_points == [0, 1, 3, 4, 6]


def test_a_call_may_be_parted_from_the_words_before_it():
    words = {"role": "assistant", "content": "It is read."}
    messages = [user(), words, calling("a"), answer("a")]
    assert ullage.Conversation(messages, "openai").cut_points == [0, 1, 2, 4]


@pytest.mark.parametrize(
    ("messages", "waiting", "cuts"),
    [
        pytest.param([user(), calling("a")], ["a"], [0, 1], id="the call is last"),
        pytest.param([calling("a", "b"), answer("a")], ["b"], [0], id="half of the results"),
        pytest.param([calling("a"), SYSTEM], ["a"], [0], id="a reminder after the call"),
        pytest.param([calling("a"), user()], [], [0, 1, 2], id="the conversation went on"),
        pytest.param([calling("a"), user(), calling("b")], ["b"], [0, 1, 2], id="of two the last"),
    ],
)
def test_only_a_call_whose_result_may_still_come_waits(messages, waiting, cuts):
    read = ullage.Conversation(messages, "openai")
    assert [made.id for made in read.open_calls if made.waits] == waiting
    assert read.cut_points == cuts


def test_a_result_without_a_call_has_none():
    messages = [calling("a"), answer("a"), answer("a", "again"), answer("b")]
    results = ullage.Conversation(messages, "openai").results
    assert [result.call is None for result in results] == [False, True, True]
    assert [result.tool for result in results] == ["bash", "", ""]


def test_requests_are_words_of_the_user():
    messages = [SYSTEM, user("Fix it."), calling("a"), answer("a"), user("And now?")]
    read = ullage.Conversation(messages, "openai")
    assert read.requests == [1, 4]
    assert read.roles == ["system", "user", "assistant", "tool", "user"]
    assert [read.texts[place] for place in read.requests] == ["Fix it.", "And now?"]


def test_pins_are_those_that_the_host_marked():
    pinned = {"role": "user", "content": "Never push.", "metadata": {"custom": {"pinned": True}}}
    assert ullage.Conversation([user(), pinned], "openai").pins == [1]


def test_it_keeps_what_was_there_when_it_was_made():
    messages = [user("Before.")]
    read = ullage.Conversation(messages, "openai")
    messages[0]["content"] = "After."
    messages.append(user())
    assert read.texts == ["Before."]
    assert len(read) == 1


def test_what_cannot_be_read_is_an_error():
    with pytest.raises(ullage.MessageError):
        ullage.Conversation([{"role": "nobody", "content": 5}], "openai")
    with pytest.raises(ullage.PolicyError):
        ullage.Conversation([], "telegram")


def test_an_empty_list_has_one_cut_point():
    read = ullage.Conversation([], "openai")
    assert (read.cut_points, read.roles, read.calls) == ([0], [], [])
