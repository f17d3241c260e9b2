"""The conversation as it was, for people and programs, before a summary takes its place.

What stands in a conversation says where the rest is: a pointer names the file of what it stands
for, a summary the history of all before it. So a history is whole also in another process, and
however many conversations there were in between. What cannot be read back stays as it stands there,
and names its file.
"""

from __future__ import annotations

import json
from collections import Counter
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any

from ullage._engine.roles import readable, role_of
from ullage.valis import notes, pointers
from ullage.valis.calls import (
    Filed,
    calls_in,
    results_in,
    text_of,
    with_arguments,
    with_filed,
    with_outcomes,
)
from ullage.valis.files import digest_of
from ullage.valis.messages import plain, text_parts, with_text, written
from ullage.valis.offload import shortened_by

if TYPE_CHECKING:
    from collections.abc import Mapping


def paths_in(messages: list[Any]) -> list[str]:
    """The files that are needed for the whole of these messages."""
    paths = []
    for message in messages:
        noted = notes.summary_note(message)
        if noted is not None and noted.saved is not None:
            paths.append(noted.saved.path)
        paths += pointers.paths_in(message)
        told = [*text_parts(message), *(text_of(result.outcome) for result in results_in(message))]
        found = (_path_in(text) for text in told if text is not None)
        paths += [path for path in found if path is not None]
    return paths


def whole(messages: list[Any], files: Mapping[str, str]) -> list[Any]:
    """The messages as they were, by what is in the files.

    A message behind a summary that is in its history too is not there twice; one that the host
    changed or put there is.
    """
    out: list[Any] = []
    before = 0
    for index, message in enumerate(messages):
        noted = notes.summary_note(message)
        saved = _saved(noted, files)
        if noted is None or noted.saved is None or saved is None:
            continue
        # The messages in front of it, such as the system messages, and the newest of that time.
        end = index + 1 + noted.saved.behind
        doubtful = [
            _restored(doubted, files)
            for doubted in (*messages[before:index], *messages[index + 1 : end])
        ]
        out = [*saved, *_missing([*out, *doubtful], saved)]
        before = end
    return [*out, *(_restored(message, files) for message in messages[before:])]


def as_json(messages: list[Any]) -> str:
    """The messages as JSON; what is none is written as text."""
    told = plain(messages)
    text = json.dumps(told, indent=2, ensure_ascii=False)
    # Half a character, which only an escape can hold.
    return text if _is_unicode(text) else json.dumps(told, indent=2)


def as_markdown(messages: list[Any]) -> str:
    """The messages for people, every word of them."""
    lines = ["# Conversation History\n"]
    for number, message in enumerate(messages, 1):
        lines += [f"## Message {number} ({role_of(message) or 'unknown'})\n", said(message), "\n"]
    text = "\n".join(lines)
    return text if _is_unicode(text) else text.encode("utf-8", "backslashreplace").decode()


def said(message: Any) -> str:
    """All that a message says."""
    if not isinstance(message, dict):
        return str(message)
    content = message.get("content")
    parts = content if isinstance(content, list) else [content]
    calls = message.get("tool_calls")
    told = [*parts, *(calls if isinstance(calls, list) else [])]
    return "\n".join(_text(part) for part in told if part is not None)


def _text(part: Any) -> str:
    texts = text_parts({"content": [part]})
    if texts:
        return texts[0]
    return json.dumps(plain(part), indent=2, ensure_ascii=False)


def _saved(noted: notes.SummaryNote | None, files: Mapping[str, str]) -> list[Any] | None:
    text = None if noted is None or noted.saved is None else files.get(noted.saved.path)
    if text is None:
        return None
    try:
        saved = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return saved if isinstance(saved, list) else None


def _missing(messages: list[Any], saved: list[Any]) -> list[Any]:
    """Those of the messages that are not among the saved ones, as often as they are there."""
    known = Counter(map(_key, saved))
    missing = []
    for message in messages:
        key = _key(message)
        if known[key]:
            known[key] -= 1
        else:
            missing.append(message)
    return missing


def _restored(message: Any, files: Mapping[str, str]) -> Any:
    """The message as it was before; itself where nothing of it became a file that can be read."""

    def whole(text: str) -> Filed | None:
        path = _path_in(text)
        return (
            None
            if path is None or path not in files
            else Filed(files[path], PurePosixPath(path).suffix)
        )

    message = with_filed(pointers.restored(message, files.get), whole)
    texts = text_parts(message) if role_of(message) == "user" else []
    request = whole(texts[0]) if len(texts) == 1 else None
    return message if request is None else with_text(message, request.text)


def _path_in(text: str) -> str | None:
    """The file of what a text stands for in a conversation, if it is not as it came there."""
    return pointers.kept_under(text) or shortened_by(text)


def _key(message: Any) -> str:
    """Returns the part of a message that is the same after it was put back.

    Arguments that are a text may be spaced otherwise, and several texts are one then.
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
