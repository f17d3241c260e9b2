"""The entries of a recording, as values and as records of a file."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from ullage._core import StoreError
from ullage.report.reports import Report

if TYPE_CHECKING:
    from collections.abc import Callable

    from ullage._core import Plan

# No count of tokens comes near it, and a float still holds it exactly.
_MOST = 2**53
# Of a compaction at most so many changes are recorded one by one: a line of some 40 KB.
MOST_CHANGES = 200
# Characters of a text that is recorded: more than a note has, and less than a phone shows at once.
MOST_OF_A_TEXT = 20_000


@dataclass(frozen=True)
class Session:
    """The session that the next requests belong to.

    Attributes:
        name: What the session is called.
        window: Context window of the model.
        model: The id of the model, where it is known.
    """

    name: str
    window: int
    model: str | None


@dataclass(frozen=True)
class SentRequest:
    """One request to the model.

    Attributes:
        tokens: Tokens of its messages, as the engine counts.
        prompt: Tokens of its whole prompt, as the provider reported; those of the messages where
            nobody did.
        read: What of the prompt was read from the provider's cache.
        written: The rest.
        reported: True if the provider said what was read; otherwise it is what of the messages was
            there, unchanged, in the request before.
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
        tool: The tool that it came from.
        saved: Tokens that it lost.
        references: Where the whole is stored.
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
        start: Index of the first message that it is about.
        end: The one after the last.
        tokens_before: Tokens of it before.
        tokens_after: Tokens of what stands there now.
        reference: Where the whole is stored, or None.
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
        changes: In the order of the conversation; of very many those that saved most.
        others: Number of the others.
    """

    changes: list[Change]
    others: int


@dataclass(frozen=True)
class Failure:
    """A compaction that could not be made.

    Attributes:
        why: What the engine said.
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
    """The record of an entry: an object with its kind, which ``entry_of`` takes."""
    return {_NAMES[type(entry)]: asdict(entry, dict_factory=_without_texts)}


def _without_texts(fields: list[tuple[str, Any]]) -> dict[str, Any]:
    """The fields of an entry, without a text that was not recorded."""
    return {name: value for name, value in fields if (name, value) != ("instead", None)}


def entry_of(record: dict[str, Any]) -> Recorded:
    """The entry of a record, in which every value is what it has to be.

    Raises:
        StoreError: If one is not, or there are others.
    """
    ((name, values),) = record.items()
    try:
        entry = _MADE.get(name, _KINDS[name])(**values)
        wrong = [field for field, value in vars(entry).items() if not _is_sound(field, value)]
    except (KeyError, TypeError, AttributeError) as error:
        raise StoreError(f"a {name} is not as this version of ullage writes it: {error}") from error
    if wrong:
        raise StoreError(f"a {name} is not as ullage writes it: {', '.join(wrong)} cannot be")
    return entry


def changes_of(plan: Plan, *, texts: bool = False) -> Changes:
    """Returns the changes of single pieces in a plan. O(edits).

    Args:
        plan: The plan.
        texts: True for what the model sees instead, too.
    """
    edits = plan.edits
    kept = sorted(range(len(edits)), key=lambda at: _saved(edits[at]), reverse=True)[:MOST_CHANGES]
    changes = [_change(edits[at], texts=texts) for at in sorted(kept)]
    return Changes(changes, len(edits) - len(kept))


def _saved(edit: dict[str, Any]) -> int:
    saved: int = edit["tokens_before"] - edit["tokens_after"]
    return saved


def _change(edit: dict[str, Any], *, texts: bool) -> Change:
    if "messages" in edit:
        start, end = edit["messages"]
    else:
        start = edit["place"]["message"]
        end = start + 1
    # What there is depends on the action; a part that goes away leaves nothing.
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
    "first_changed": _or_none(_is_count),
}
