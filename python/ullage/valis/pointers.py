"""Replaces the content that calls wrote to files with pointers.

A pointer says that the content was written. So a call gets a pointer only if its result shows that
it succeeded. If the result is missing, unclear or reports a failure, the call is not changed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeAlias

import ullage
from ullage._engine.logger import Logger
from ullage._engine.roles import readable
from ullage.valis.calls import as_file, calls_in, results_in, with_arguments, with_outcomes
from ullage.valis.files import INPUTS, is_path_in
from ullage.valis.notes import format_of
from ullage.valis.offload import file_of

if TYPE_CHECKING:
    from ullage.valis.calls import CallPart, ResultPart

logger = Logger(__name__)

# Keeps a text and returns its path. Takes the tool, the call's id, the text and the file's suffix.
Keep: TypeAlias = Callable[[str, str, str, str], str]

FILE_TOOLS = frozenset({"write_file", "edit_file"})
# The characters of a text in a pointer.
_PREVIEW = 100
# A longer result is replaced too. The result of a write is usually one word or a diff.
_LONG_RESULT = 500
_WRITTEN = "[Content written to "
_SEE = "[See "
_DONE = "[File operation completed successfully. Use read_file() to view current content."
# The words before the path at the end of a pointer.
_KEPT, _FULL = ("[As written", "[As it was"), (" Full result",)
# The greatest length of these words and the path.
_LONGEST_END = 200
_TEXTS = ("content", "new_text", "old_text", "new_string", "old_string")


def with_pointers(messages: list[Any], keep: Keep) -> list[Any]:
    """Returns the messages with pointers. Messages that do not change are the same objects.

    Only content of successful writes is replaced. The content is passed to ``keep`` first. A text
    stays if its pointer would be longer. A second call with the result changes nothing.
    """
    calls, results = successful_writes(messages)

    def short(result: ResultPart) -> str | None:
        tool = results.get(id(result.holder))
        return None if tool is None else _short_result(result, tool, keep)

    compacted = []
    for index, message in enumerate(messages):
        written = calls.get(index, {})
        arguments = {number: _short_arguments(call, keep) for number, call in written.items()}
        changed = {number: new for number, new in arguments.items() if new is not None}
        compacted.append(with_outcomes(with_arguments(message, changed), short))
    return compacted


def successful_writes(messages: list[Any]) -> tuple[dict[int, dict[int, CallPart]], dict[int, str]]:
    """Finds the calls that wrote files and succeeded, and their results.

    Returns:
        The calls, by the index of their message and their number in it. The tools of the results,
        by the identity of the part or message that the result was read from.
    """
    listed = [readable(message) for message in messages]
    try:
        conversation = ullage.Conversation(listed, format_of(listed))
    except ullage.MessageError as error:
        logger.debug("error=<%s> | the outcomes of calls cannot be read", error)
        return {}, {}
    # A call may have two results, and one of them may report a failure.
    doubtful = {
        result.id
        for result in conversation.results
        if result.call is None and result.outcome != "succeeded"
    }
    calls: dict[int, dict[int, CallPart]] = {}
    results: dict[int, str] = {}
    for call in conversation.calls:
        result = call.result
        if result is None or result.outcome != "succeeded" or (call.id and call.id in doubtful):
            continue
        if call.tool in FILE_TOOLS:
            own = calls_in(messages[call.message])[call.number]
            calls.setdefault(call.message, {})[call.number] = own
            results[id(results_in(messages[result.message])[result.number].holder)] = call.tool
    return calls, results


def pointer_path(text: str) -> str | None:
    """Returns the path of the content that a pointer replaces, or None for another text."""
    if not text.startswith((_WRITTEN, _SEE, _DONE)) or not text.endswith("]"):
        return None
    label, _, path = text[-_LONGEST_END:-1].rpartition(": ")
    is_kept = label.endswith(_FULL if text.startswith(_DONE) else _KEPT)
    return path if is_kept and is_path_in(INPUTS, path) else None


def _short_arguments(call: CallPart, keep: Keep) -> dict[str, Any] | None:
    arguments = call.arguments or {}
    path = str(arguments.get("path", arguments.get("file_path", "unknown")))
    changed = {}
    for name in _TEXTS:
        text = arguments.get(name)
        if not isinstance(text, str) or pointer_path(text) is not None:
            continue
        # Without the kept path, which is added in the comparison.
        pointer = _pointer(name, path, "", text)
        if len(pointer) + _longest_path(call.tool) < len(text):
            changed[name] = _pointer(name, path, keep(call.tool, call.id, text, ".txt"), text)
    return {**arguments, **changed} if changed else None


def _pointer(name: str, path: str, kept: str, text: str) -> str:
    if name == "content":
        preview = text[:_PREVIEW]
        return f"{_WRITTEN}{path}] Preview: {preview}... [As written: {kept}]"
    return f"{_SEE}{path} for content] [As it was: {kept}]"


def _longest_path(tool: str) -> int:
    """Returns the greatest length of a path for a kept text."""
    return len("/tool_inputs/") + len(tool) + len("_20250101_000000_12345678_0123456789abcdef.txt")


def _short_result(result: ResultPart, tool: str, keep: Keep) -> str | None:
    whole = as_file(result.outcome)
    if whole is None or len(whole.text) <= _LONG_RESULT:
        return None
    if pointer_path(whole.text) is not None or file_of(whole.text) is not None:
        return None
    return f"{_DONE} Full result: {keep(tool, result.id, whole.text, whole.suffix)}]"
