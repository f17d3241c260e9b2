"""Whether a write is known to have succeeded.

A pointer says that something was written, so it needs a word for it: a result that is pending, that
says no, or that says nothing to the point, is none. Who leaves a text in the conversation has lost
nothing.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, TypeAlias

from ullage.valis.calls import calls_in, results_in
from ullage.valis.offload import OPENING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from ullage.valis.calls import Call, Result

# Calls that were answered well, by the places of their messages and among their calls.
Succeeded: TypeAlias = dict[tuple[int, int], "Call"]

_YES = re.compile(
    r"\b(ok|okay|success\w*|succeeded|done|completed?|wrote|written|created?|updated|saved|edited"
    r"|modified|replaced|applied|overwritten|inserted|appended|has been changed)\b",
    re.IGNORECASE,
)
_NO = re.compile(
    r"\b(errors?|err|fail(ed|s|ure|ing)?|exception|traceback|fatal|denied|forbidden|refused|rejected"
    r"|declined|cancell?ed|abort(ed)?|interrupted|timed? ?out|timeout|unable|cannot|can ?not|could"
    r"|would|will|pending|queued|skipped|ignored|invalid|illegal|missing|unknown|unchanged|nothing"
    r"|no|not|never|without|instead|except|but|only|partial(ly)?|incomplete|unsuccessful(ly)?"
    r"|dry.run|read.only|conflict|already|e[a-z]*(acces|noent|nospc|perm|exist|rofs|isdir))\b"
    r"|n['’]t\b",  # noqa: RUF001 - as people type it
    re.IGNORECASE,
)
# "0 errors" and "no errors" are no failures.
_NONE_FAILED = re.compile(
    r"\b(no|0|zero|without( any)?) (errors?|failures?|warnings?)\b", re.IGNORECASE
)
# The line that a failure begins with, wherever it stands.
_FAILING_LINE = re.compile(
    r"^[^\w\n]*(error|failed|failure|exception|traceback|fatal|cannot|could not|denied"
    r"|permission)\b",
    re.IGNORECASE | re.MULTILINE,
)
# The first line of a diff, as tools give it back.
_DIFF = re.compile(r"^(@@ |--- |\+\+\+ |diff |Index: |[+-][^\n]*\n[+-])", re.MULTILINE)
_FAILURES = ("error-text", "error-json", "execution-denied")
_GOOD = frozenset({"ok", "success", "successful", "succeeded", "done", "completed", "complete"})
# Where an outcome has another in it, and where it has words for people.
_INNER = ("value", "result", "output", "content", "data", "text")
_WORDS = ("message", "msg", "detail", "details", "status", "stdout", *_INNER)
# What of a text is read for words: a sentence or two; what comes behind is of the file.
_READ = 300
# How deep an outcome in an outcome is looked for.
_DEEPEST = 6


def succeeded(messages: list[Any]) -> tuple[Succeeded, set[int]]:
    """The calls whose results say that they went well, and what those results are, by identity.

    A result answers the last open call of its id; one without an id the oldest open call of its
    tool. Ids that come again are told apart so.
    """
    opened: dict[tuple[int, int], Call] = {}
    good: Succeeded = {}
    holders: set[int] = set()
    for index, message in enumerate(messages):
        for result in results_in(message):
            place = _answered(result, opened)
            if place is None:
                _withdraw(result, good)
                continue
            call = opened.pop(place)
            if _went_well(result, call):
                good[place] = call
                holders.add(id(result.holder))
        opened |= {(index, number): call for number, call in enumerate(calls_in(message))}
    return good, holders


def _answered(result: Result, opened: Mapping[tuple[int, int], Call]) -> tuple[int, int] | None:
    if result.id:
        same = [place for place, call in opened.items() if call.id == result.id]
        return same[-1] if same else None
    same = [place for place, call in opened.items() if call.tool == result.tool]
    return same[0] if same else None


def _withdraw(result: Result, good: Succeeded) -> None:
    """A second result of a call: who says two things of it may mean the worse."""
    if result.id:
        places = [place for place, call in good.items() if call.id == result.id]
        if places and not _went_well(result, good[places[-1]]):
            del good[places[-1]]


def _went_well(result: Result, call: Call) -> bool:
    said = [*_of_fields(result.holder), *_said_of(result.outcome)]
    if False in said:
        return False
    return True in said or _sounds_good(_words_of(result.outcome), call)


def _said_of(outcome: Any, depth: int = 0) -> Iterator[bool]:
    """What the fields of an outcome say: True and False, or nothing."""
    outcome = _told(outcome)
    if depth > _DEEPEST:
        return
    if isinstance(outcome, bool):
        yield outcome
    elif isinstance(outcome, list):
        for part in outcome:
            yield from _said_of(part, depth + 1)
    elif isinstance(outcome, dict):
        if outcome.get("type") in _FAILURES:
            yield False
        yield from _of_fields(outcome)
        for name in _INNER:
            if not isinstance(outcome.get(name), bool):
                yield from _said_of(outcome.get(name), depth + 1)


def _of_fields(fields: Mapping[str, Any]) -> Iterator[bool]:
    for key, value in fields.items():
        name = str(key).lower().replace("_", "")
        if name == "iserror":
            yield not value
        elif name in ("error", "errors", "err", "stderr", "exception"):
            if value:
                yield False
        elif name in ("success", "ok", "succeeded") and value is not None:
            yield value is True
        elif name in ("exitcode", "returncode") and value is not None:
            yield value == 0
        elif name in ("status", "state") and isinstance(value, str):
            if value.lower() in _GOOD:
                yield True
            elif _NO.search(value):
                yield False


def _words_of(outcome: Any, depth: int = 0) -> str:
    """What an outcome says to people."""
    outcome = _told(outcome)
    if isinstance(outcome, str):
        # Of a preview nobody knows what comes behind.
        return "" if outcome.startswith(OPENING) else outcome
    if depth > _DEEPEST:
        return ""
    parts = outcome if isinstance(outcome, list) else []
    if isinstance(outcome, dict):
        parts = [outcome.get(name) for name in _WORDS]
    said = (_words_of(part, depth + 1) for part in parts)
    return "\n".join(text for text in said if text)


def _told(outcome: Any) -> Any:
    """The outcome; what it holds where it is JSON in a text."""
    if isinstance(outcome, str) and outcome.lstrip()[:1] in ("{", "["):
        try:
            return json.loads(outcome)
        except (ValueError, RecursionError):
            pass
    return outcome


def _without(path: str, text: str) -> str:
    """The text less the path, wherever that is no part of a longer word.

    By hand, since an expression takes the square of the time for a long path that nearly matches.
    """
    first, *others = text.split(path)
    pieces, last = [first], first[-1:]
    for piece in others:
        if _is_of_word(last) or _is_of_word(piece[:1]):
            pieces.append(path)
        pieces.append(piece)
        last = piece[-1:] or path[-1]
    return "".join(pieces)


def _is_of_word(character: str) -> bool:
    return character.isalnum() or character == "_"


def _sounds_good(text: str, call: Call) -> bool:
    """Whether the words of a result say that something was written."""
    # The name of the file says nothing of the write.
    for name in ("path", "file_path"):
        path = (call.arguments or {}).get(name)
        if isinstance(path, str) and path:
            text = _without(path, text)
    diff = _DIFF.search(text)
    before = text if diff is None else text[: diff.start()]
    if _FAILING_LINE.search(before):
        return False
    words = _NONE_FAILED.sub("", before[:_READ])
    if _NO.search(words):
        return False
    return diff is not None or bool(_YES.search(words))
