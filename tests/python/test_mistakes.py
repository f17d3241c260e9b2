"""Mistakes of a first day: the error says what was given and what to write in its place."""

# mypy: disable-error-code="arg-type,call-arg"

import asyncio
import re

import pytest

import ullage

from .conversations import long_conversation, render

BEDROCK = render(long_conversation(2), "bedrock")
ANTHROPIC = render(long_conversation(2), "anthropic")


class Summarizer:
    def __call__(self, request):
        return str(request)


@pytest.mark.parametrize(
    ("call", "remedy"),
    [
        pytest.param(
            lambda: ullage.ContextManager("supyagent"),
            r"Policy\.preset\('supyagent'\)",
            id="preset",
        ),
        pytest.param(
            lambda: ullage.ContextManager("gpt-4o"), "use model='gpt-4o'", id="model-as-policy"
        ),
        pytest.param(
            lambda: ullage.ContextManager({"window": 9_000}), r"Policy\.from_dict", id="settings"
        ),
        pytest.param(lambda: ullage.ContextManager(BEDROCK), "`compact`", id="messages-as-policy"),
        pytest.param(
            lambda: ullage.ContextManager(store="/tmp/outputs"),
            r"FileStore\('/tmp/outputs'\)",
            id="path-as-store",
        ),
        pytest.param(
            lambda: ullage.ContextManager(counter="gpt-4o"), r"for_model\('gpt-4o'\)", id="counter"
        ),
        pytest.param(
            lambda: ullage.ContextManager(summarizer=Summarizer),
            r"Summarizer\(\.\.\.\)",
            id="class",
        ),
        pytest.param(
            lambda: ullage.ContextManager(store=ullage.MemoryStore),
            r"MemoryStore\(\.\.\.\)",
            id="class-of-a-store",
        ),
        pytest.param(
            lambda: ullage.ContextManager(summarizer=3), "an int; give a func", id="number"
        ),
    ],
)
def test_an_argument_of_an_engine_that_is_something_else(call, remedy):
    with pytest.raises(ullage.PolicyError, match=remedy):
        call()


@pytest.mark.parametrize(
    ("messages", "remedy"),
    [
        pytest.param({"messages": BEDROCK}, "list in its 'messages'", id="request"),
        pytest.param(BEDROCK[0], "put a single message into a list", id="one-message"),
        pytest.param(4_000, "an int, .* messages first, then the budget", id="swapped"),
        pytest.param("session.json", "read_sessions", id="file"),
        pytest.param(BEDROCK + ANTHROPIC, "give all messages in one format", id="mixed-formats"),
        pytest.param([{"type": "human", "content": "Hi"}], "LangChain", id="langchain"),
        pytest.param(
            [{"session": {"name": "a"}}, {"request": {"tokens": 3}}], "`ullage report`", id="record"
        ),
        pytest.param(["Hi"], "a dict with `role`", id="texts"),
    ],
)
def test_something_else_in_place_of_a_conversation(messages, remedy):
    with pytest.raises(ullage.MessageError, match=remedy):
        ullage.compact(messages, model="gpt-4o")
    with pytest.raises(ullage.MessageError, match=remedy):
        ullage.ContextManager().compact(messages)


@pytest.mark.parametrize("asked", ["retrieve", "search", "aretrieve", "asearch"])
def test_a_store_in_the_wrong_place(asked):
    def call(*arguments):
        returned = getattr(ullage, asked)(*arguments)
        return asyncio.run(returned) if asked.startswith("a") else returned

    with pytest.raises(ullage.StoreError, match=r"a str, .*give the store first"):
        call("read_file-3f9a0b12c4d5e6f7", ullage.MemoryStore())
    with pytest.raises(ullage.StoreError, match=r"MemoryStore\(\.\.\.\)"):
        call(ullage.MemoryStore, "read_file-3f9a0b12c4d5e6f7")


def test_a_text_in_the_wrong_place():
    with pytest.raises(TypeError, match="give the text first, then the budget"):
        ullage.compress(100, "a log")
    with pytest.raises(TypeError, match=r"got list; .*count_messages"):
        ullage.count_tokens(BEDROCK)


def test_a_misspelled_name_of_the_package_can_be_suggested():
    with pytest.raises(AttributeError) as raised:
        ullage.ContextManger  # noqa: B018 - the name is what is tried
    assert (raised.value.name, raised.value.obj) == ("ContextManger", ullage)


@pytest.mark.parametrize(
    ("call", "near"),
    [
        pytest.param(lambda: ullage.ContextManager(modle="gpt-4o"), "model", id="engine"),
        pytest.param(lambda: ullage.compact(BEDROCK, modle="gpt-4o"), "model", id="compact"),
        pytest.param(
            lambda: ullage.RetrievalTool(ullage.MemoryStore(), nmae="read"), "name", id="tool"
        ),
    ],
)
def test_a_misspelled_argument_is_answered_with_the_nearest(call, near):
    with pytest.raises(TypeError, match=rf"unexpected keyword argument.*Did you mean '{near}'\?"):
        call()


def test_an_argument_like_no_other_is_answered_without_a_guess():
    with pytest.raises(TypeError, match=r"unexpected keyword argument 'zzz'$"):
        ullage.ContextManager(zzz=1)


@pytest.mark.parametrize("store", [ullage.MemoryStore, ullage.ContextManager(), "outputs"])
def test_a_retrieval_tool_refuses_what_is_not_a_store(store):
    with pytest.raises(ullage.PolicyError, match=r"store: it is .*"):
        ullage.RetrievalTool(store)


def test_a_retrieval_tool_reads_a_store_that_cannot_be_written():
    class ReadOnly:
        def get(self, reference: str) -> bytes:
            return b"the card was refused"

    answer = ullage.RetrievalTool(ReadOnly()).call({"reference": "log-3f9a0b12c4d5e6f7"})
    assert "the card was refused" in answer


def test_a_result_in_place_of_the_name_of_its_tool_is_a_warning():
    engine = ullage.ContextManager()
    with pytest.warns(ullage.UllageWarning, match=r"give the name first: shrink\(name, result\)"):
        assert engine.shrink("a line of a log\n" * 100, "read_log") == "read_log"


@pytest.mark.parametrize("name", ["window", "windw"])
def test_a_setting_of_a_policy_given_to_an_engine_is_answered_with_the_policy(name):
    remedy = re.escape("pass policy=ullage.Policy(window=...)")
    with pytest.raises(TypeError, match=remedy):
        ullage.ContextManager(**{name: 8_000})


def test_a_policy_that_is_changed_names_the_way_to_a_new_one():
    policy = ullage.Policy()
    with pytest.raises(AttributeError, match=r"policy\.replace\(window=\.\.\.\)"):
        policy.window = 8_000
    with pytest.raises(AttributeError, match="cannot be changed"):
        del policy.window


@pytest.mark.parametrize("budget", [1.5, "100", True])
def test_a_budget_that_is_not_a_whole_number_is_named(budget):
    engine = ullage.ContextManager()
    for call in (engine.plan, engine.open().messages):
        with pytest.raises(
            TypeError, match=r"budget must be a whole number.*; got " + repr(budget)
        ):
            call(BEDROCK, budget=budget)
    with pytest.raises(TypeError, match=f"budget must be a whole number.*; got {budget!r}"):
        ullage.compress("a log", budget)


@pytest.mark.parametrize(
    ("pins", "remedy"), [(3, r"use \[3\]"), (["a"], "got 'a'"), ([1.5], "got 1.5")]
)
def test_pins_that_are_not_indices_are_named(pins, remedy):
    with pytest.raises(TypeError, match=rf"pins must be .*{remedy}"):
        ullage.ContextManager().plan(BEDROCK, pins=pins)


def test_a_model_given_as_an_encoding_is_answered_with_the_counter_for_it():
    with pytest.raises(ullage.PolicyError, match=r"`TokenCounter\.for_model`"):
        ullage.TokenCounter("gpt-4o")


def test_a_role_of_another_format_is_answered_with_one_format():
    mixed = [*ANTHROPIC, {"role": "tool", "tool_call_id": "a", "content": "x"}]
    with pytest.raises(ullage.MessageError, match="give all messages in one format"):
        ullage.ContextManager(format="anthropic").plan(mixed)
