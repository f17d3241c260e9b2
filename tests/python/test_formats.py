"""One conversation in every format: the same counts and decisions, judged and mended alike."""

import copy
import json

import pytest

import ullage

WORDS = "the quick brown fox jumps over the lazy dog and runs away from it; "
STEPS = 12


def output(step):
    return f"{step}: " + WORDS * (20 + step)


def bedrock():
    yield {"role": "user", "content": [{"text": "Look into every part."}]}
    for step in range(STEPS):
        use = {"toolUseId": f"c{step}", "name": "read_file", "input": {"path": f"é/{step}"}}
        result = {
            "toolUseId": f"c{step}",
            "status": "success",
            "content": [{"text": output(step)}],
        }
        yield {"role": "assistant", "content": [{"text": "Reading."}, {"toolUse": use}]}
        yield {"role": "user", "content": [{"toolResult": result}]}
    yield {"role": "assistant", "content": [{"text": "All is well."}]}


def anthropic():
    yield {"role": "user", "content": "Look into every part."}
    for step in range(STEPS):
        use = {
            "type": "tool_use",
            "id": f"c{step}",
            "name": "read_file",
            "input": {"path": f"é/{step}"},
        }
        result = {"type": "tool_result", "tool_use_id": f"c{step}", "content": output(step)}
        yield {"role": "assistant", "content": [{"type": "text", "text": "Reading."}, use]}
        yield {"role": "user", "content": [result]}
    yield {"role": "assistant", "content": "All is well."}


def openai():
    yield {"role": "user", "content": "Look into every part."}
    for step in range(STEPS):
        # As Python writes it: with spaces, and escapes for what is not ASCII.
        arguments = json.dumps({"path": f"é/{step}"})
        call = {
            "id": f"c{step}",
            "type": "function",
            "function": {"name": "read_file", "arguments": arguments},
        }
        yield {"role": "assistant", "content": "Reading.", "tool_calls": [call]}
        yield {"role": "tool", "tool_call_id": f"c{step}", "content": output(step)}
    yield {"role": "assistant", "content": "All is well."}


def openai_responses():
    yield {"role": "user", "content": "Look into every part."}
    for step in range(STEPS):
        said = {"type": "output_text", "text": "Reading.", "annotations": []}
        arguments = json.dumps({"path": f"é/{step}"})
        yield {"type": "message", "role": "assistant", "content": [said]}
        yield {
            "type": "function_call",
            "call_id": f"c{step}",
            "name": "read_file",
            "arguments": arguments,
        }
        yield {"type": "function_call_output", "call_id": f"c{step}", "output": output(step)}
    yield {"role": "assistant", "content": "All is well."}


def gemini():
    yield {"role": "user", "parts": [{"text": "Look into every part."}]}
    for step in range(STEPS):
        call = {"id": f"c{step}", "name": "read_file", "args": {"path": f"é/{step}"}}
        response = {"id": f"c{step}", "name": "read_file", "response": {"result": output(step)}}
        yield {"role": "model", "parts": [{"text": "Reading."}, {"functionCall": call}]}
        yield {"role": "user", "parts": [{"functionResponse": response}]}
    yield {"role": "model", "parts": [{"text": "All is well."}]}


def ai_sdk():
    yield {"role": "user", "content": "Look into every part."}
    for step in range(STEPS):
        call = {
            "type": "tool-call",
            "toolCallId": f"c{step}",
            "toolName": "read_file",
            "input": {"path": f"é/{step}"},
        }
        result = {
            "type": "tool-result",
            "toolCallId": f"c{step}",
            "toolName": "read_file",
            "output": {"type": "text", "value": output(step)},
        }
        yield {"role": "assistant", "content": [{"type": "text", "text": "Reading."}, call]}
        yield {"role": "tool", "content": [result]}
    yield {"role": "assistant", "content": "All is well."}


CONVERSATIONS = {
    "bedrock": bedrock,
    "anthropic": anthropic,
    "openai": openai,
    "openai-responses": openai_responses,
    "gemini": gemini,
    "ai-sdk": ai_sdk,
}
FORMATS = sorted(CONVERSATIONS)


@pytest.fixture(params=FORMATS)
def wire(request):
    return request.param


@pytest.fixture
def messages(wire):
    return list(CONVERSATIONS[wire]())


def without_places(plan):
    """The edits but for where they stand, which is in the caller's list, and what was stored."""
    places = ("place", "messages", "note_in", "reference")
    return [{key: value for key, value in edit.items() if key not in places} for edit in plan.edits]


def test_the_format_is_detected(wire, messages):
    assert ullage.detect_format(messages) == wire


def test_it_counts_as_in_any_other_format(messages):
    counter = ullage.TokenCounter()
    assert counter.count_messages(messages) == counter.count_messages(list(bedrock()))


@pytest.mark.parametrize("budget", [3_000, 1_500, 900])
def test_it_is_planned_as_in_any_other_format(messages, budget):
    def plan(conversation):
        return ullage.ContextManager(ullage.Policy(keep_recent=4)).plan(conversation, budget=budget)

    ours, theirs = plan(messages), plan(list(bedrock()))
    assert theirs.edits
    assert without_places(ours) == without_places(theirs)
    assert (ours.tokens_before, ours.tokens_after) == (theirs.tokens_before, theirs.tokens_after)


def test_what_is_left_is_valid_and_untouched_where_it_stayed(wire, messages):
    before, objects = copy.deepcopy(messages), {id(message) for message in messages}
    engine = ullage.ContextManager(ullage.Policy(keep_recent=4), store=ullage.MemoryStore())
    view = engine.view(messages, budget=1_500)
    assert messages == before
    assert len(view) < len(messages)
    assert any(id(message) in objects for message in view)
    assert ullage.validate(view, wire) == []
    assert engine.counter.count_messages(view, wire) <= 1_500


def test_the_places_of_a_plan_are_those_of_the_list(messages):
    policy = ullage.Policy(
        low=0.5,
        keep_recent=4,
        offload_above=150,
        offload_preview=40,
        stages=["offload", "compress", "window"],
    )
    plan = ullage.ContextManager(policy, store=ullage.MemoryStore()).plan(messages, budget=4_500)
    shortened = [edit for edit in plan.edits if edit["action"] == "shorten"]
    assert shortened
    for edit in shortened:
        assert WORDS in json.dumps(messages[edit["place"]["message"]])
    for edit in plan.edits:
        if edit["action"] == "remove":
            first, end = edit["messages"]
            assert 0 < first < end <= len(messages)


def test_a_pin_is_an_index_into_the_list(messages):
    at = next(i for i, message in enumerate(messages) if output(3)[:20] in json.dumps(message))
    engine = ullage.ContextManager(ullage.Policy(keep_recent=2))
    assert messages[at] in engine.view(messages, budget=2_000, pins=[at])


@pytest.mark.parametrize("append_only", [False, True])
def test_every_entry_may_be_appended_by_itself(messages, append_only):
    counter, grown = ullage.TokenCounter(), []
    for message in messages:
        grown.append(message)
        counted = counter.count_messages(grown, append_only=append_only)
        assert counted == ullage.TokenCounter().count_messages(grown), len(grown)


def test_entries_that_come_one_by_one_are_learned_from_as_those_that_come_together(messages):
    at_once, one_by_one = (ullage.TokenCounter.for_model("claude-sonnet-4-5") for _ in range(2))
    plain, grown = ullage.TokenCounter(), []
    for place, message in enumerate(messages):
        grown.append(message)
        one_by_one.count_messages(grown, append_only=True)
        if place % 4 == 3:
            reported = int(plain.count_messages(grown) * 1.3) + 15_000
            assert at_once.observe(grown, reported)
            assert one_by_one.observe(grown, reported, append_only=True)
    assert one_by_one.scale == at_once.scale != 1.0
    assert one_by_one.count_messages(grown, append_only=True) == at_once.count_messages(grown)


def test_a_valid_conversation_is_left_as_it_is(messages):
    repaired = ullage.repair(messages)
    assert repaired.repairs == []
    assert all(one is other for one, other in zip(repaired, messages, strict=True))


def test_any_cut_is_mended(wire, messages):
    before = copy.deepcopy(messages)
    for end in range(len(messages) + 1):
        for cut in (messages[:end], messages[end:]):
            repaired = ullage.repair(cut, wire)
            assert ullage.validate(repaired, wire) == []
            assert bool(repaired.repairs) == bool(ullage.validate(cut, wire))
    assert messages == before


def test_a_violation_says_what_where_and_why(wire, messages):
    at = next(i for i, message in enumerate(messages) if output(3)[:20] in json.dumps(message))
    del messages[at]
    (violation,) = (v for v in ullage.validate(messages) if v.rule != "roles-alternate")
    assert violation.rule == "call-has-result"
    assert "read_file" in str(messages[violation.message])
    assert "c3" in violation.problem
    assert violation.provider_says
    assert str(violation).startswith(f"message {violation.message}")


def test_an_open_call_may_be_removed_instead(wire, messages):
    at = next(i for i, message in enumerate(messages) if output(3)[:20] in json.dumps(message))
    del messages[at]
    answered, removed = ullage.repair(messages), ullage.repair(messages, open_calls="remove")
    assert "c3" in json.dumps(answered)
    assert "never answered" in json.dumps(answered)
    assert '"c3"' not in json.dumps(removed)
    assert ullage.validate(removed, wire) == []
    with pytest.raises(ValueError, match="'answer' or 'remove'"):
        ullage.repair(messages, open_calls="ask")  # type: ignore[arg-type]


def test_a_message_that_cannot_be_read_is_a_violation():
    (violation,) = ullage.validate([{"role": "user", "content": "x"}, {"role": "robot"}])
    assert (violation.rule, violation.message) == ("readable-message", 1)
    with pytest.raises(ullage.MessageError):
        ullage.validate(None)  # type: ignore[arg-type]
    with pytest.raises(ullage.PolicyError, match="morse"):
        ullage.validate([], "morse")


def test_what_may_be_of_any_format_is_judged_by_what_all_demand():
    plain = [
        {"role": "system", "content": "You are a bot."},
        {"role": "user", "content": "hi"},
        {"role": "assistant", "content": "yes"},
    ]
    assert ullage.validate(plain) == []
    assert ullage.repair(plain) == plain
    rules = {violation.rule for violation in ullage.validate(plain, "anthropic")}
    assert rules == {"system-not-in-messages"}
    orphan = [*plain[:2], {"role": "tool", "tool_call_id": "x", "content": "late"}]
    assert ullage.validate(ullage.repair(orphan)) == []


def test_a_response_without_an_id_answers_a_call_that_has_one():
    # As google-genai's own function calling writes it.
    call = {"functionCall": {"id": "abc", "name": "f", "args": {}}}
    response = {"functionResponse": {"name": "f", "response": {"result": "42"}}}
    history = [
        {"role": "user", "parts": [{"text": "hi"}]},
        {"role": "model", "parts": [call]},
        {"role": "user", "parts": [response]},
    ]
    assert ullage.validate(history) == []
    assert ullage.repair(history) == history


def test_results_in_two_messages_of_anthropic_are_one_turn():
    def use(name):
        return {"type": "tool_use", "id": name, "name": "f", "input": {}}

    def result(name):
        return {"type": "tool_result", "tool_use_id": name, "content": "x"}

    history = [
        {"role": "user", "content": "go"},
        {"role": "assistant", "content": [use("a"), use("b")]},
        {"role": "user", "content": [result("a")]},
        {"role": "user", "content": [result("b")]},
        {"role": "assistant", "content": "done"},
    ]
    assert ullage.validate(history) == []


@pytest.mark.parametrize(
    ("wire", "empty"),
    [
        ("openai", {"role": "user", "content": []}),
        ("openai-responses", {"role": "user", "content": []}),
        ("gemini", {"role": "model", "parts": []}),
        ("anthropic", {"role": "user", "content": []}),
        ("bedrock", {"role": "user", "content": []}),
    ],
)
def test_an_empty_message_is_found_and_removed(wire, empty):
    history = [*CONVERSATIONS[wire](), empty]
    assert "no-empty-message" in {v.rule for v in ullage.validate(history, wire)}
    assert ullage.repair(history, wire) == history[:-1]


def test_the_words_of_a_document_in_a_lost_result_stay():
    document = {"document": {"name": "n", "format": "txt", "source": {"text": "the words"}}}
    result = {"toolResult": {"toolUseId": "x", "status": "success", "content": [document]}}
    history = [{"role": "user", "content": [result]}]
    assert "the words" in json.dumps(ullage.repair(history))


def test_notes_behind_one_result_are_one_message_of_chat():
    def step(number, lines):
        function = {"name": "f", "arguments": "{}"}
        call = {"id": f"c{number}", "type": "function", "function": function}
        return [
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": f"c{number}", "content": "a line " * lines},
        ]

    hint = {"role": "system", "content": "Hint."}
    begin = [{"role": "user", "content": "Do it."}, *step(0, 3), hint]
    end = [{"role": "assistant", "content": "Well " * 60}, {"role": "user", "content": "Go on."}]
    messages = [*begin, *step(1, 80), hint, *step(2, 80), *end]
    budget = ullage.TokenCounter().count_messages(messages) * 6 // 10
    policy = ullage.Policy(window=100_000, reserve_output=0, stages=["window"])
    report = ullage.ContextManager(policy).compact(messages, budget, hard=True)
    notes = [message for message in messages if "removed to fit" in str(message["content"])]
    assert [len(note["content"]) for note in notes] == [2]
    assert report.tokens_after == ullage.TokenCounter().count_messages(messages)
    assert not ullage.validate(messages)
