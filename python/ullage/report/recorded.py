"""The entries of a recording, as values and as records of a file."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from ullage._core import StoreError
from ullage.report.reports import Report

if TYPE_CHECKING:
    from collections.abc import Callable

    from ullage._core import Plan

# Larger than any count of tokens, and exact as a float.
_MOST = 2**53
# The most changes that are recorded for a compaction: a line of about 40 KB.
MOST_CHANGES = 200
# Characters of a recorded text. Notes are shorter, and a phone shows this many at once.
MOST_OF_A_TEXT = 20_000


@dataclass(frozen=True)
class Session:
    """The session of the requests that follow.

    Attributes:
        name: The name of the session.
        window: Context window of the model.
        model: The id of the model, or None.
    """

    name: str
    window: int
    model: str | None


@dataclass(frozen=True)
class SentRequest:
    """One request to the model.

    Attributes:
        tokens: Tokens of its messages, as the engine counts.
        prompt: Tokens of its whole prompt, as the provider reported. Without a report, those of the
            messages.
        read: Tokens of the prompt that were read from the provider's cache.
        written: The other tokens of the prompt.
        reported: True if the provider reported ``read``. Otherwise ``read`` is the tokens before
            the first change since the previous request.
    """

    tokens: int
    prompt: int
    read: int
    written: int
    reported: bool


@dataclass(frozen=True)
class Arrived:
    """A result that was shortened as it arrived.

    Attributes:
        tool: The name of the tool.
        saved: Tokens saved.
        references: The references of the stored original.
        instead: The text that the model sees, where texts are recorded.
    """

    tool: str
    saved: int
    references: list[str]
    instead: str | None = None


@dataclass(frozen=True)
class Change:
    """The change of one piece in a compaction.

    Attributes:
        stage: The stage that proposed it.
        action: "shorten", "rewrite", "drop" or "remove".
        why: The stage's reason.
        start: Index of the first changed message.
        end: Index after the last changed message.
        tokens_before: Tokens of the piece before.
        tokens_after: Tokens of the text in its place.
        reference: The reference of the stored original, or None.
        instead: The text that the model sees, where texts are recorded.
    """

    stage: str
    action: str
    why: str
    start: int
    end: int
    tokens_before: int
    tokens_after: int
    reference: str | None
    instead: str | None = None


@dataclass(frozen=True)
class Changes:
    """The changes of single pieces in the compaction that is recorded next.

    Attributes:
        changes: The changes in the order of the conversation; at most the 200 that saved most.
        others: Number of the changes left out.
    """

    changes: list[Change]
    others: int


@dataclass(frozen=True)
class Failure:
    """A compaction that failed.

    Attributes:
        why: The error of the engine.
    """

    why: str


Entry: TypeAlias = SentRequest | Arrived | Changes | Report | Failure
Recorded: TypeAlias = Session | Entry

_KINDS: dict[str, type[Recorded]] = {
    "session": Session,
    "request": SentRequest,
    "arrival": Arrived,
    "changes": Changes,
    "compaction": Report,
    "failure": Failure,
}
KINDS = frozenset(_KINDS)
_NAMES = {kind: name for name, kind in _KINDS.items()}


def record_of(entry: Recorded) -> dict[str, Any]:
    """Returns the record of an entry: an object with its kind, for ``entry_of``."""
    return {_NAMES[type(entry)]: asdict(entry, dict_factory=_without_texts)}


def _without_texts(fields: list[tuple[str, Any]]) -> dict[str, Any]:
    """Returns the fields of an entry, without a text that was not recorded."""
    return {name: value for name, value in fields if (name, value) != ("instead", None)}


def entry_of(record: dict[str, Any]) -> Recorded:
    """Returns the entry of a record, with checked values.

    Raises:
        StoreError: If a value is invalid, or a field is unknown.
    """
    ((name, values),) = record.items()
    try:
        entry = _MADE.get(name, _KINDS[name])(**values)
        wrong = [field for field, value in vars(entry).items() if not _is_sound(field, value)]
    except (KeyError, TypeError, AttributeError) as error:
        raise StoreError(
            f"a {name} is not in the form of this version of ullage: {error}"
        ) from error
    if wrong:
        raise StoreError(f"a {name} has invalid values: {', '.join(wrong)}")
    return entry


def changes_of(plan: Plan, *, texts: bool = False) -> Changes:
    """Returns the changes of single pieces in a plan. O(edits).

    Args:
        plan: The plan.
        texts: True to include the text that the model sees instead.
    """
    edits = plan.edits
    kept = sorted(range(len(edits)), key=lambda at: _savings(edits[at]), reverse=True)[
        :MOST_CHANGES
    ]
    changes = [_change(edits[at], texts=texts) for at in sorted(kept)]
    return Changes(changes, len(edits) - len(kept))


def _savings(edit: dict[str, Any]) -> int:
    saved: int = edit["tokens_before"] - edit["tokens_after"]
    return saved


def _change(edit: dict[str, Any], *, texts: bool) -> Change:
    if "messages" in edit:
        start, end = edit["messages"]
    else:
        start = edit["place"]["message"]
        end = start + 1
    # The key depends on the action. A dropped part leaves no text.
    text = edit.get("text", edit.get("note", ""))
    text = "\n".join(changed["text"] for changed in edit["texts"]) if "texts" in edit else text
    return Change(
        edit["stage"],
        edit["action"],
        edit["why"],
        start,
        end,
        edit["tokens_before"],
        edit["tokens_after"],
        edit["reference"],
        instead=text[:MOST_OF_A_TEXT] if texts else None,
    )


def _report(elapsed: float, **values: Any) -> Report:
    return Report._of(values, elapsed)  # noqa: SLF001


def _changes(changes: list[dict[str, Any]], others: int) -> Changes:
    return Changes([Change(**change) for change in changes], others)


# Entries that hold others.
_MADE: dict[str, Callable[..., Recorded]] = {"compaction": _report, "changes": _changes}


def _is_sound(field: str, value: Any) -> bool:
    return _CHECKS.get(field, _is_count)(value)


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < _MOST


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _are_texts(value: Any) -> bool:
    return isinstance(value, list) and all(map(_is_text, value))


def _is_time(value: Any) -> bool:
    return isinstance(value, (int, float)) and 0 <= value < _MOST


def _are_stages(stages: Any) -> bool:
    # A stage may cost tokens.
    return all(_is_count(stage.edits) and _is_count(abs(stage.saved)) for stage in stages.values())


def _are_changes(changes: Any) -> bool:
    return all(
        _is_sound(field, value) for change in changes for field, value in vars(change).items()
    )


def _is_summary(summary: Any) -> bool:
    return _is_text(summary.by) and _is_count(summary.tokens) and _is_count(summary.lines)


def _is_savings(savings: Any) -> bool:
    sums = {name: value for name, value in vars(savings).items() if name != "money"}
    money = savings.money
    return all(map(_is_count, sums.values())) and (money is None or _is_time(abs(money)))


def _or_none(check: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: value is None or check(value)


# The checks of fields that are not counts.
_CHECKS: dict[str, Callable[[Any], bool]] = {
    "name": _is_text,
    "tool": _is_text,
    "why": _is_text,
    "stage": _is_text,
    "action": _is_text,
    "reference": _or_none(_is_text),
    "instead": _or_none(_is_text),
    "changes": _are_changes,
    "model": _or_none(_is_text),
    "references": _are_texts,
    "warnings": _are_texts,
    "repairs": _are_texts,
    "reported": lambda value: isinstance(value, bool),
    "elapsed": _is_time,
    "stages": _are_stages,
    "summary": _or_none(_is_summary),
    "savings": _or_none(_is_savings),
    "first_changed": _or_none(_is_count),
}
