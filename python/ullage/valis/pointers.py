"""What calls wrote into files gives way to a pointer to the file, and to what was written."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any, TypeAlias

# Keeps a text, and says under which path: the tool, the id of the call, the text.
Keep: TypeAlias = Callable[[str, str, str], str]

FILE_TOOLS = frozenset({"write_file", "edit_file"})
# Characters of a text that are shown.
_PREVIEW = 100
# A result of more characters gives way too: the outcome of a write is a word, or a diff.
_LONG_RESULT = 500
_WRITTEN = "[Content written to "
_SEE = "[See "
_DONE = "[File operation completed successfully. Use read_file() to view current content."
# What an outcome begins with that is no success.
_FAILURE = re.compile(
    r"\W*(error|failed|failure|exception|traceback|fatal|cannot|could not)\b", re.IGNORECASE
)
_ARGUMENTS = ("content", "new_text", "old_text", "new_string", "old_string")


def compacted(messages: list[Any], keep: Keep) -> list[Any]:
    """The messages with pointers; those without such calls are the same objects.

    Whatever is replaced was kept first; where a pointer would be longer, nothing is. Done twice it
    changes nothing more.
    """
    tools = _tools_by_call(messages)
    # What failed was not written, and says why.
    for identifier in _failed(messages):
        tools.pop(identifier, None)
    return [_message(message, tools, keep) for message in messages]


def _failed(messages: list[Any]) -> set[str]:
    """The ids of calls whose result says that they failed."""
    found = set()
    for message in messages:
        if not isinstance(message, dict):
            continue
        content = message.get("content")
        parts = content if isinstance(content, list) else []
        for result in (message, *parts):
            if isinstance(result, dict) and _says_failure(result):
                found.add(_id_of(result))
    return found


def _says_failure(result: dict[str, Any]) -> bool:
    if result.get("isError") is True or result.get("is_error") is True:
        return True
    is_result = result.get("role") == "tool" or result.get("type") in ("tool-result", "tool_result")
    said = result.get("result", result.get("content", result.get("output")))
    said = said.get("value") if isinstance(said, dict) else said
    return is_result and isinstance(said, str) and bool(_FAILURE.match(said))


def _tools_by_call(messages: list[Any]) -> dict[str, str]:
    """The tool of each call, by its id."""
    calls = (call for message in messages for call in _calls(message))
    return {identifier: tool for identifier, tool in calls if isinstance(identifier, str)}


def _calls(message: Any) -> list[tuple[Any, Any]]:
    if not isinstance(message, dict):
        return []
    content, calls = message.get("content"), message.get("tool_calls")
    found = [
        (part.get("toolCallId", part.get("id")), part.get("toolName", part.get("name")))
        for part in (content if isinstance(content, list) else ())
        if isinstance(part, dict) and part.get("type") in ("tool-call", "tool_use")
    ]
    listed = calls if isinstance(calls, list) else []
    functions = ((call, call.get("function")) for call in listed if isinstance(call, dict))
    named = (
        (call.get("id"), told.get("name")) for call, told in functions if isinstance(told, dict)
    )
    return [*found, *named]


def _message(message: Any, tools: dict[str, str], keep: Keep) -> Any:
    if not isinstance(message, dict):
        return message
    changes: dict[str, Any] = {}
    content, calls = message.get("content"), message.get("tool_calls")
    if isinstance(content, list):
        parts = [_part(part, tools, keep) for part in content]
        if any(new is not old for new, old in zip(parts, content, strict=True)):
            changes["content"] = parts
    elif _is_written(message, tools):
        short = _result(content, _tool_of(message, tools), _id_of(message), keep)
        if short is not content:
            changes["content"] = short
    if isinstance(calls, list):
        short_calls = [_openai_call(call, tools, keep) for call in calls]
        if any(new is not old for new, old in zip(short_calls, calls, strict=True)):
            changes["tool_calls"] = short_calls
    return {**message, **changes} if changes else message


def _part(part: Any, tools: dict[str, str], keep: Keep) -> Any:
    if not isinstance(part, dict):
        return part
    kind, identifier = part.get("type"), _id_of(part)
    if kind in ("tool-call", "tool_use"):
        tool = part.get("toolName", part.get("name"))
        field = next((key for key in ("args", "input") if key in part), None)
        if tool not in FILE_TOOLS or field is None or identifier not in tools:
            return part
        arguments = _arguments(part[field], tool, identifier, keep)
        return part if arguments is part[field] else {**part, field: arguments}
    if kind in ("tool-result", "tool_result") and _is_written(part, tools):
        return _result_part(part, _tool_of(part, tools), identifier, keep)
    return part


def _is_written(result: dict[str, Any], tools: dict[str, str]) -> bool:
    """Whether it is the outcome of a write that went well."""
    is_result = result.get("role", "tool") == "tool"
    return is_result and _tool_of(result, tools) in FILE_TOOLS and not _says_failure(result)


def _result_part(part: dict[str, Any], tool: str, identifier: str, keep: Keep) -> dict[str, Any]:
    for field in ("result", "content"):
        short = _result(part.get(field), tool, identifier, keep)
        if short is not part.get(field):
            return {**part, field: short}
    output = part.get("output")
    if isinstance(output, dict) and output.get("type") == "text":
        short = _result(output.get("value"), tool, identifier, keep)
        if short is not output.get("value"):
            return {**part, "output": {**output, "value": short}}
    return part


def _openai_call(call: Any, tools: dict[str, str], keep: Keep) -> Any:
    known = isinstance(call, dict) and _id_of(call) in tools
    function = call.get("function") if known else None
    if not isinstance(function, dict) or function.get("name") not in FILE_TOOLS:
        return call
    try:
        arguments = json.loads(function["arguments"])
    except (KeyError, TypeError, ValueError, RecursionError):
        return call
    short = _arguments(arguments, function["name"], _id_of(call), keep)
    if short is arguments:
        return call
    written = json.dumps(short, ensure_ascii=False)
    return {**call, "function": {**function, "arguments": written}}


def _arguments(arguments: Any, tool: str, identifier: str, keep: Keep) -> Any:
    if not isinstance(arguments, dict):
        return arguments
    path = str(arguments.get("path", arguments.get("file_path", "unknown")))
    changed = {}
    for name in _ARGUMENTS:
        text = arguments.get(name)
        # A pointer takes at least its words, the path twice and the preview.
        if not isinstance(text, str) or text.startswith((_WRITTEN, _SEE)):
            continue
        pointer = _pointer(name, path, "", text)
        if len(pointer) + _longest_path(tool) < len(text):
            changed[name] = _pointer(name, path, keep(tool, identifier, text), text)
    return {**arguments, **changed} if changed else arguments


def _pointer(name: str, path: str, kept: str, text: str) -> str:
    if name == "content":
        preview = text[:_PREVIEW]
        return f"{_WRITTEN}{path}] Preview: {preview}... [As written: {kept}]"
    return f"{_SEE}{path} for content] [As it was: {kept}]"


def _longest_path(tool: str) -> int:
    """The characters of a path under which a text is kept, at the most."""
    return len("/tool_inputs/") + len(tool) + len("_20250101_000000_12345678_0123456789abcdef.txt")


def _result(content: Any, tool: str, identifier: str, keep: Keep) -> Any:
    if not isinstance(content, str) or len(content) <= _LONG_RESULT or content.startswith(_DONE):
        return content
    return f"{_DONE} Full result: {keep(tool, identifier, content)}]"


def _id_of(value: dict[str, Any]) -> str:
    for key in ("toolCallId", "tool_call_id", "tool_use_id", "id"):
        if isinstance(value.get(key), str):
            return str(value[key])
    return ""


def _tool_of(value: dict[str, Any], tools: dict[str, str]) -> str:
    """The tool that a result is of: by what it says, or by its call."""
    metadata = value.get("metadata")
    named = [value.get("toolName"), value.get("name"), tools.get(_id_of(value))]
    if isinstance(metadata, dict):
        named.insert(0, metadata.get("tool_name"))
    return next((name for name in named if isinstance(name, str)), "")
