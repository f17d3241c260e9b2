"""Restores the whole conversation before a summary replaces it, for people and for programs.

Replaced content can be found from the conversation alone. A pointer names the file with the content
that it replaces. A summary names the file with the history before it. So the whole history can be
restored in another process too. If a file cannot be read, the pointer or summary stays in the
history, and names the file.
"""

from __future__ import annotations

import json
from collections import Counter
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any

from ullage._engine.roles import readable, role_of
from ullage.valis.calls import (
    OutcomeFile,
    ResultPart,
    calls_in,
    text_of,
    with_arguments,
    with_outcomes,
)
from ullage.valis.files import HISTORY, digest_of, path_of
from ullage.valis.messages import plain, text_parts, with_text, written
from ullage.valis.notes import SummaryNote, summary_note
from ullage.valis.offload import late_file_of
from ullage.valis.pointers import pointer_path

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


def paths_in(messages: list[Any]) -> list[str]:
    """Returns the paths of all files that are needed to restore these messages."""
    paths: list[str] = []
    for message in messages:
        note = summary_note(message)
        if note is not None and note.path:
            paths.append(note.path)
        _restore(message, paths.append)
    return paths


def histories(messages: list[Any], files: Mapping[str, str]) -> dict[str, str]:
    """Returns the restored messages as JSON and as Markdown, by path. The JSON is first.

    Args:
        messages: The conversation.
        files: The files of :func:`paths_in` that could be read.
    """
    messages = _whole(messages, files)
    values = plain(messages)
    as_json = json.dumps(values, indent=2, ensure_ascii=False)
    if not _is_unicode(as_json):
        # Half of a surrogate pair can only be written as an escape.
        as_json = json.dumps(values, indent=2)
    # The number of messages is in the name, so that the histories of a conversation are sorted.
    path = path_of(HISTORY, f"conversation_{len(messages):06}", "", as_json, ".json")
    return {path: as_json, path.removesuffix("json") + "md": _markdown(messages)}


def _whole(messages: list[Any], files: Mapping[str, str]) -> list[Any]:
    """Returns the messages as they were, restored from the files.

    A message after a summary may also be in the history of the summary. Such a message is returned
    once. A message that the host changed or added is kept.
    """
    out: list[Any] = []
    before = 0
    for index, message in enumerate(messages):
        note = summary_note(message)
        saved = _saved(note, files)
        if note is None or saved is None:
            continue
        # The messages before the summary, and the messages that were the newest at that time.
        end = index + 1 + note.behind
        around = [*messages[before:index], *messages[index + 1 : end]]
        restored = [_restore(other, files.get) for other in around]
        out = [*saved, *_missing([*out, *restored], saved)]
        before = end
    return [*out, *(_restore(message, files.get) for message in messages[before:])]


def _markdown(messages: list[Any]) -> str:
    """Returns the full text of the messages, for people."""
    lines = ["# Conversation History\n"]
    for number, message in enumerate(messages, 1):
        lines += [f"## Message {number} ({role_of(message) or 'unknown'})\n", _text(message), "\n"]
    text = "\n".join(lines)
    return text if _is_unicode(text) else text.encode("utf-8", "backslashreplace").decode()


def _text(message: Any) -> str:
    """Returns the whole content of a message as text."""
    if not isinstance(message, dict):
        return str(message)
    content, calls = message.get("content"), message.get("tool_calls")
    parts = content if isinstance(content, list) else [content]
    parts = [*parts, *(calls if isinstance(calls, list) else [])]
    return "\n".join(_part_text(part) for part in parts if part is not None)


def _part_text(part: Any) -> str:
    texts = text_parts({"content": [part]})
    return texts[0] if texts else json.dumps(plain(part), indent=2, ensure_ascii=False)


def _saved(note: SummaryNote | None, files: Mapping[str, str]) -> list[Any] | None:
    """Returns the history that a summary replaced, or None if it cannot be read."""
    try:
        saved = None if note is None else json.loads(files.get(note.path, ""))
    except (ValueError, RecursionError):
        return None
    return saved if isinstance(saved, list) else None


def _missing(messages: list[Any], saved: list[Any]) -> list[Any]:
    """Returns the messages that are not among the saved ones. Equal messages are counted."""
    count = Counter(map(_key, saved))
    missing = []
    for message in messages:
        key = _key(message)
        if count[key]:
            count[key] -= 1
        else:
            missing.append(message)
    return missing


def _restore(message: Any, read: Callable[[str], str | None]) -> Any:
    """Returns the message with the content of its files.

    Returns the same object if it has no file that can be read.
    """
    arguments: dict[int, dict[str, Any]] = {}
    for number, call in enumerate(calls_in(message)):
        for name, value in (call.arguments or {}).items():
            path = pointer_path(value) if isinstance(value, str) else None
            text = None if path is None else read(path)
            if text is not None:
                arguments.setdefault(number, dict(call.arguments or {}))[name] = text

    def file_of(text: str) -> OutcomeFile | None:
        path = pointer_path(text) or late_file_of(text)
        content = None if path is None else read(path)
        return None if content is None else OutcomeFile(content, PurePosixPath(str(path)).suffix)

    def whole(result: ResultPart) -> OutcomeFile | None:
        text = text_of(result.outcome)
        return None if text is None else file_of(text)

    message = with_outcomes(with_arguments(message, arguments), whole)
    texts = text_parts(message) if role_of(message) == "user" else []
    request = file_of(texts[0]) if len(texts) == 1 else None
    return message if request is None else with_text(message, request.text)


def _key(message: Any) -> str:
    """Returns a key that a message has both before it was saved and after it was restored.

    A restored message may have other spaces in its arguments, and one text instead of several.
    """
    message = readable(message)
    calls = enumerate(calls_in(message))
    message = with_arguments(message, {n: call.arguments for n, call in calls if call.arguments})
    message = with_outcomes(message, lambda result: text_of(result.outcome))
    if role_of(message) == "user" and text_parts(message):
        message = with_text(message, "\n".join(text_parts(message)))
    return digest_of(written(message))


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
