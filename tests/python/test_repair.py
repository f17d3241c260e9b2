"""The result of a repair: the host's own objects wherever nothing changed, and its exceptions."""

from __future__ import annotations

from typing import Any

import pytest

import ullage

PINNED = {"custom": {"pinned": True}}


def chat():
    def call(name: str) -> dict[str, Any]:
        return {"id": name, "type": "function", "function": {"name": "f", "arguments": "{}"}}

    return [
        {"role": "user", "content": "go"},
        {"role": "assistant", "content": None, "tool_calls": [call("a"), call("b")]},
        {"role": "tool", "tool_call_id": "a", "content": "one"},
        {"role": "user", "name": "anna", "metadata": PINNED, "content": "and then?"},
    ]


def ai_sdk():
    def call(name: str) -> dict[str, Any]:
        return {"type": "tool-call", "toolCallId": name, "toolName": "f", "input": {}}

    output = {"type": "text", "value": "one"}
    result = {"type": "tool-result", "toolCallId": "a", "toolName": "f", "output": output}
    return [
        {"role": "user", "content": "go"},
        {"role": "assistant", "content": [call("a"), call("b")]},
        {"role": "tool", "content": [result]},
        {"role": "user", "metadata": PINNED, "content": "and then?"},
    ]


@pytest.mark.parametrize("history", [chat(), ai_sdk()], ids=["openai", "ai-sdk"])
def test_entries_around_a_new_result_are_the_same_objects(history):
    repaired = ullage.repair(history)
    assert len(repaired) == len(history) + 1
    assert all(any(entry is one for one in repaired) for entry in history)
    assert repaired[-1] is history[-1]


class Raising:
    """A message whose content raises."""

    role = "user"

    def __init__(self, error: BaseException) -> None:
        self.error = error

    @property
    def content(self) -> str:
        raise self.error


class Computing(Raising):
    """The same as a model that computes its fields."""

    def model_dump(self) -> dict[str, str]:
        return {"role": "user"}


READERS = [
    pytest.param(ullage.detect_format, id="detect"),
    pytest.param(ullage.validate, id="validate"),
    pytest.param(ullage.repair, id="repair"),
    pytest.param(ullage.TokenCounter().count_messages, id="count"),
    pytest.param(ullage.ContextManager().status, id="status"),
    pytest.param(ullage.ContextManager().plan, id="plan"),
    pytest.param(ullage.ContextManager().compact, id="compact"),
]


@pytest.mark.parametrize("read", READERS)
@pytest.mark.parametrize(
    "error",
    [KeyboardInterrupt(), SystemExit(3), GeneratorExit(), RuntimeError("gone"), MemoryError()],
    ids=repr,
)
def test_what_an_attribute_raises_is_raised(read, error):
    expected = ullage.MessageError if isinstance(error, Exception) else type(error)
    with pytest.raises(expected) as caught:
        read([{"role": "user", "content": "hi"}, Raising(error)])
    assert error in {caught.value, caught.value.__cause__}
    # Nothing is left of it.
    ullage.validate([{"role": "user", "content": "hi"}])


@pytest.mark.parametrize("kind", [Raising, Computing])
def test_an_attribute_that_is_missing_is_missing(kind):
    with pytest.raises(ullage.MessageError, match="content"):
        ullage.repair([kind(AttributeError("content"))], "anthropic")


def test_a_field_that_a_model_cannot_compute_is_missing():
    with pytest.raises(ullage.MessageError, match="content"):
        ullage.repair([Computing(ValueError("no text"))], "anthropic")
    with pytest.raises(KeyboardInterrupt):
        ullage.repair([Computing(KeyboardInterrupt())], "anthropic")


def test_an_interrupt_while_references_are_looked_for_is_raised():
    class Dumping(Raising):
        """A model that was dumped before; its field is read once more for the object in it."""

        def model_dump(self) -> dict[str, str]:
            return {"content": "kept"}

    with pytest.raises(KeyboardInterrupt):
        ullage._core.references_in([Dumping(KeyboardInterrupt())])
    # Nothing is left of it.
    ullage.validate([{"role": "user", "content": "hi"}])


def test_an_interrupt_while_a_value_is_written_is_raised():
    class Unprintable:
        __slots__ = ()

        def __str__(self) -> str:
            raise KeyboardInterrupt

    history = [
        {"role": "user", "content": "go"},
        {
            "role": "assistant",
            "content": [{"toolUse": {"toolUseId": "a", "name": "f", "input": Unprintable()}}],
        },
    ]
    with pytest.raises(KeyboardInterrupt):
        ullage.validate(history)
