"""Conversations of the Gemini SDK's own objects, as Google ADK keeps them, and as dicts."""

# mypy: disable-error-code="arg-type,index,no-any-return,union-attr"

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from google.genai import types

import ullage

from .conversations import (
    PNG,
    Call,
    Conversation,
    Image,
    Json,
    Message,
    Result,
    Text,
    Thinking,
    render,
)
from .judges import NOTE

POLICY = ullage.Policy(window=6_000, reserve_output=1_000, low=0.5)
# Each output is cut by itself, before whole messages are removed.
PLAIN = ullage.Policy(
    window=6_000, reserve_output=1_000, low=0.5, stages=["offload", "compress", "window"]
)
SIGNATURE = b"\xff\x00signed"
# Of some hundred thousand tokens: what leaves little, what shortens and removes, and what only shortens.
TIGHT, HALFWAY, ROOMY = 2_000, 30_000, 60_000


def long_talk(rounds: int = 30, words: int = 500) -> Conversation:
    """A task with a picture, rounds of parallel calls with thinking, and a word of the user in the middle."""
    messages = [
        Message("user", (Text("The first task: audit everything."), Image())),
        Message("assistant", (Text("Here is my plan."),)),
        Message("user", (Text("Go on."),)),
    ]
    for i in range(rounds):
        ids = [f"call-{i}-{k}" for k in range(3)]
        tools = ("read_file", "list_files", "read_file")
        calls = [Call(n, tool, {"path": f"{n}.txt"}) for n, tool in zip(ids, tools, strict=True)]
        listing = {"rows": [{"name": f"file-{k}", "size": k} for k in range(120)], "round": i}
        results = (
            Result(ids[0], (Text(" ".join(f"{i}w{k}" for k in range(words))),)),
            Result(ids[1], (Json(listing),)),
            Result(ids[2], (Text(f"short {i}"), Image())),
        )
        messages.append(Message("assistant", (Thinking(f"Thought {i}."), Text(f"{i}."), *calls)))
        messages.append(Message("user", results))
    return (*messages, Message("assistant", (Text("Done."),)), Message("user", (Text("And now?"),)))


def contents(conversation: Conversation, *, ids: bool = True) -> list[types.Content]:
    """The conversation in objects of the SDK."""
    tools = {b.id: b.name for m in conversation for b in m.blocks if isinstance(b, Call)}

    def part(block: Any) -> types.Part:
        match block:
            case Text(text):
                return types.Part(text=text)
            case Thinking(text):
                return types.Part(text=text, thought=True, thought_signature=SIGNATURE)
            case Image():
                return types.Part(inline_data=types.Blob(mime_type="image/png", data=PNG))
            case Call(id, name, arguments):
                call = types.FunctionCall(id=id if ids else None, name=name, args=arguments)
                return types.Part(function_call=call, thought_signature=SIGNATURE)
            case Result(id, (first, *rest)):
                picture = types.FunctionResponseBlob(mime_type="image/png", data=PNG)
                response = types.FunctionResponse(
                    id=id if ids else None,
                    name=tools[id],
                    response={"result": first.text} if isinstance(first, Text) else first.value,
                    parts=[types.FunctionResponsePart(inline_data=picture) for _ in rest] or None,
                )
                return types.Part(function_response=response)
        raise AssertionError(block)

    role = {"user": "user", "assistant": "model"}
    return [
        types.Content(role=role[m.role], parts=[part(b) for b in m.blocks]) for m in conversation
    ]


def snake(objects: list[types.Content]) -> list[Any]:
    return [content.model_dump(exclude_none=True) for content in objects]


def camel(objects: list[types.Content]) -> list[Any]:
    return [content.model_dump(exclude_none=True, by_alias=True) for content in objects]


def parts(content: types.Content) -> list[types.Part]:
    return content.parts or []


def faults(objects: list[types.Content]) -> list[str]:
    """Violations for the API: calls that the next content does not answer, one for one and in order."""
    found: list[str] = []
    asked: list[tuple[str | None, str | None]] = []
    for index, content in enumerate(objects):
        calls = [p.function_call for p in parts(content) if p.function_call]
        answers = [p.function_response for p in parts(content) if p.function_response]
        answered = [(r.name, r.id) for r in answers]
        if answered != asked:
            found.append(f"content {index} answers {answered}, asked were {asked}")
        if not parts(content):
            found.append(f"content {index} is empty")
        asked = [(c.name, c.id) for c in calls]
    if objects[0].role != "user":
        found.append("the first content is not the user's")
    return found


@pytest.fixture(params=[True, False], ids=["ids", "no-ids"])
def objects(request) -> list[types.Content]:
    return contents(long_talk(), ids=request.param)


@pytest.fixture
def engine() -> ullage.ContextManager:
    return ullage.ContextManager(POLICY, store=ullage.MemoryStore())


def test_objects_and_dicts_of_either_spelling_give_one_plan(objects):
    talks = [objects, snake(objects), camel(objects)]
    assert "functionCall" in talks[2][3]["parts"][2]
    assert [ullage.detect_format(talk) for talk in talks] == ["gemini"] * 3
    counter = ullage.TokenCounter("o200k_base")
    first, *others = [counter.count_messages(talk) for talk in talks]
    assert others == [first, first]
    for budget, actions in (
        (TIGHT, {"remove"}),
        (HALFWAY, {"shorten", "remove"}),
        (ROOMY, {"shorten"}),
    ):
        store = ullage.MemoryStore()
        for policy in (PLAIN, POLICY):
            engine = ullage.ContextManager(policy, store=store)
            plans = [engine.plan(talk, budget).to_dict() for talk in talks]
            found = {edit["action"] for edit in plans[0]["edits"]}
            assert found == actions if policy is PLAIN else found
            assert plans[0] == plans[1] == plans[2]


def test_the_plan_is_that_of_the_same_conversation_in_another_format():
    conversation = long_talk()
    for budget in (TIGHT, 4_000, HALFWAY, ROOMY):
        of_gemini = ullage.ContextManager(POLICY).plan(contents(conversation), budget).to_dict()
        of_bedrock = ullage.ContextManager(POLICY).plan(render(conversation, "bedrock"), budget)
        same = of_bedrock.to_dict() | {"format": "gemini"}
        same["replay"]["format"] = "gemini"
        assert of_gemini == same


def test_ids_change_only_what_they_count():
    engine = ullage.ContextManager(PLAIN, store=ullage.MemoryStore())
    with_ids, without = (contents(long_talk(), ids=ids) for ids in (True, False))
    tokens = [ullage.TokenCounter("o200k_base").count_messages(t) for t in (with_ids, without)]
    assert tokens[0] > tokens[1]
    many, few = ([e["place"] for e in engine.plan(t, ROOMY).edits] for t in (with_ids, without))
    assert few
    assert few == many[: len(few)]


def test_what_is_stored_in_a_session_is_never_written_to(engine, objects):
    before, copies = list(objects), copy.deepcopy(objects)
    inner = [part for content in before for part in parts(content)]
    for budget in (TIGHT, HALFWAY, ROOMY):
        engine.view(objects, budget)
    report = engine.compact(objects)
    assert report.removed_messages > 0
    assert before == copies
    assert [part for content in before for part in parts(content)] == inner
    assert all(
        now is then for now, then in zip((p for c in before for p in parts(c)), inner, strict=True)
    )


def test_untouched_contents_are_the_same_objects_and_changed_ones_of_the_same_classes(
    engine, objects
):
    before = list(objects)
    engine.compact(objects, budget=HALFWAY)
    assert faults(objects) == []
    changed = [c for c in objects if not any(c is old for old in before)]
    assert 0 < len(changed) < len(objects)
    assert objects[-1] is before[-1]
    for content in changed:
        assert type(content) is types.Content
        assert all(type(part) is types.Part for part in parts(content))
        # The SDK takes it as it takes its own: nothing in it is of a wrong kind.
        assert types.Content.model_validate(content.model_dump()) == content
        own = [part for part in parts(content) if part.function_response]
        for part in own:
            assert type(part.function_response) is types.FunctionResponse


def test_long_results_are_shortened_inside_their_wrapper(engine, objects):
    before = list(objects)
    view = engine.view(objects, ROOMY)
    assert objects == before
    answers = [p.function_response for c in view for p in parts(c) if p.function_response]
    short = [r for r in answers if str(r.response.get("result")).startswith(NOTE)]
    assert {r.name for r in short} == {"read_file", "list_files"}
    assert all(list(r.response) == ["result"] for r in short)
    # A picture beside the text of a result stays.
    pictured = [r for r in answers if r.parts]
    assert pictured
    assert all(r.parts[0].inline_data.data == PNG for r in pictured)


def test_a_shortened_result_can_be_retrieved_byte_for_byte(engine, objects):
    plan = engine.plan(objects, ROOMY)
    stored = {reference: content for reference, _, content in plan.artifacts(objects)}
    edits = [e for e in plan.edits if e["action"] == "shorten" and e["reference"] in stored]
    assert edits
    for edit in edits:
        place = edit["place"]
        response = objects[place["message"]].parts[place["part"]].function_response.response
        text = response.get("result", json.dumps(response, separators=(",", ":")))
        assert stored[edit["reference"]].decode() == text


@pytest.mark.parametrize(
    ("keep_first", "own"),
    [pytest.param(2, True, id="own"), pytest.param(1, False, id="in-the-task")],
)
def test_a_removed_range_leaves_a_note_of_the_user(objects, keep_first, own):
    policy = ullage.Policy(window=6_000, reserve_output=1_000, keep_first=keep_first)
    before = list(objects)
    ullage.ContextManager(policy).compact(objects)
    assert faults(objects) == []
    noted = [c for c in objects if any((p.text or "").startswith(NOTE) for p in parts(c))]
    assert len(noted) == 1
    note = noted[0]
    assert type(note) is types.Content
    assert note.role == "user"
    assert all(type(part) is types.Part for part in parts(note))
    assert (len(parts(note)) == 1) == own
    assert objects.index(note) == (2 if own else 0)
    if not own:
        kept, added = parts(note)[:-1], parts(note)[-1]
        assert all(now is then for now, then in zip(kept, before[0].parts, strict=True))
        assert added.text.startswith(NOTE)


def test_a_note_behind_results_is_a_content_of_its_own(objects):
    """Vertex AI refuses a text beside results."""
    before = list(objects)
    policy = ullage.Policy(window=6_000, reserve_output=1_000, keep_first=5)
    engine = ullage.ContextManager(policy, store=ullage.MemoryStore())
    for _ in range(3):
        assert engine.compact(objects, budget=HALFWAY).removed_messages > 0
        assert faults(objects) == []
        for content in objects:
            assert len({p.function_response is None for p in parts(content)}) == 1
        (note,) = (c for c in objects if any((p.text or "").startswith(NOTE) for p in parts(c)))
        assert type(note) is types.Content
        assert note.role == "user"
        assert objects.index(note) == 5
        # The conversation goes on, so that there is something to remove again.
        objects.extend(before[3:])


def test_doing_it_twice_changes_nothing(engine, objects):
    engine.compact(objects, budget=HALFWAY)
    before = list(objects)
    assert engine.compact(objects, budget=HALFWAY).removed_messages == 0
    assert all(now is then for now, then in zip(objects, before, strict=True))


def test_every_prefix_stays_valid_without_ids():
    talk = contents(long_talk(8), ids=False)
    for end in range(3, len(talk) + 1, 2):
        for budget in (900, 2_000):
            view = ullage.ContextManager(POLICY).view(talk[:end], budget)
            assert faults(view) == [], (end, budget)


def test_what_is_not_understood_travels_whole_and_counts_only_what_is_set():
    code = types.ExecutableCode(code="print(1)", language=types.Language.PYTHON)
    outcome = types.CodeExecutionResult(outcome=types.Outcome.OUTCOME_OK, output="1\n")
    odd = types.Content(
        role="model",
        parts=[types.Part(executable_code=code), types.Part(code_execution_result=outcome)],
    )
    task = types.Content(role="user", parts=[types.Part(text="go")])
    counter = ullage.TokenCounter("o200k_base")
    talk = [task, odd]
    assert counter.count_messages(talk) == counter.count_messages(snake(talk))
    assert counter.count_messages([odd]) < 60
    policy = ullage.Policy(window=6_000, reserve_output=1_000, keep_first=2)
    view = ullage.ContextManager(policy).view([*talk, *contents(long_talk())[2:]])
    assert view[1] is odd


def test_what_is_removed_is_stored_with_the_empty_fields_of_its_dicts():
    talk = contents(long_talk())
    talk[3].parts[2].function_call.args["limit"] = None
    talk[4].parts[1].function_response.response["next"] = {"page": None}
    store = ullage.MemoryStore()
    ullage.ContextManager(POLICY, store=store).compact(talk, budget=3_000)
    stored = [store.get(r).decode() for r in store.list() if r.startswith("transcript")]
    lines = [json.loads(line) for text in stored for line in text.splitlines()]
    calls = [p["function_call"] for line in lines for p in line["parts"] if "function_call" in p]
    assert calls[0] == {
        "id": "call-0-0",
        "args": {"path": "call-0-0.txt", "limit": None},
        "name": "read_file",
    }
    answers = [
        p["function_response"] for line in lines for p in line["parts"] if "function_response" in p
    ]
    assert answers[1]["response"]["next"] == {"page": None}
    assert set(answers[1]) == {"id", "name", "response"}


def test_an_unanswered_call_without_an_id_is_named_by_its_tool():
    talk = contents(long_talk(2), ids=False)
    del talk[4].parts[0]
    strict = ullage.ContextManager(ullage.Policy(window=6_000, reserve_output=1_000, repair=False))
    with pytest.raises(ullage.MessageError, match="the call of 'read_file' is never answered"):
        strict.compact(talk, budget=1_000)


def test_what_repair_makes_is_of_the_kind_of_what_it_stands_beside():
    call = {"name": "f", "args": {}}
    picture = types.FunctionResponsePart(
        inline_data=types.FunctionResponseBlob(mime_type="image/png", data=PNG)
    )
    lost = types.FunctionResponse(id="x", name="f", response={"result": "y"}, parts=[picture])
    answered = types.FunctionResponse(id="b", name="f", response={"result": "one"})
    talk = [
        types.Content(role="user", parts=[]),
        types.Content(role="user", parts=[types.Part(text="go")]),
        types.Content(
            role="model",
            parts=[
                types.Part(function_call=types.FunctionCall(id="a", **call)),
                types.Part(function_call=types.FunctionCall(id="b", **call)),
            ],
        ),
        types.Content(
            role="user",
            parts=[types.Part(function_response=answered), types.Part(function_response=lost)],
        ),
    ]
    repaired = ullage.repair(talk)
    assert ullage.validate(repaired) == []
    parts = [part for content in repaired for part in content.parts]
    assert {type(content) for content in repaired} == {types.Content}
    assert {type(part) for part in parts} == {types.Part}
    responses = [part.function_response for part in parts if part.function_response]
    assert {response.id for response in responses} == {"a", "b"}
    assert [part.inline_data.data for part in parts if part.inline_data] == [PNG]
