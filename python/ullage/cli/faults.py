"""What is wrong in the file of a policy, and on which line."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

from ullage import Policy, PolicyError
from ullage._core import nearest
from ullage.cli.lines import line_of
from ullage.cli.policies import of_agent
from ullage.policy_file import PolicyFileError, is_policy_file, parse, text_of

if TYPE_CHECKING:
    from pathlib import Path

    from ullage.cli.lines import Place

_LEVELS = "levels"
# How an error names a setting of a level.
_LEVEL = re.compile(r"levels\[(\d+)\](?:\.(\w+))?")


class Fault(NamedTuple):
    """Something that is wrong.

    Attributes:
        line: The line, counted from 1; None where it is about the whole file.
        setting: The setting, or None.
        problem: What is wrong.
    """

    line: int | None
    setting: str | None
    problem: str


def faults(path: Path) -> list[Fault]:
    """All that is wrong in a file, in the order of its lines.

    Raises:
        PolicyFileError: If the file cannot be read.
    """
    if not is_policy_file(path):
        raise PolicyFileError(f"{path}: the name of a policy's file ends in .toml, .yaml or .json")
    text = text_of(path)
    try:
        settings = parse(path, text)
    except PolicyFileError as error:
        if error.line is None:
            raise
        return [Fault(error.line, None, str(error).removeprefix(f"{path}: "))]
    try:
        if of_agent(settings) is not None:
            return []
    except PolicyError as error:
        return [Fault(None, None, str(error))]
    found = [
        Fault(line_of(path, text, place), str(place[0]), problem)
        for place, problem in _wrong(settings)
    ]
    return sorted(found, key=lambda fault: fault.line or 0)


def _wrong(settings: dict[str, Any]) -> list[tuple[Place, str]]:
    """The places of settings that are wrong, and what is."""
    known = list(Policy().to_dict())
    found: list[tuple[Place, str]] = []
    for name in [name for name in settings if name not in known]:
        near = ", ".join(nearest(str(name), known))
        found.append(((name,), f"{name}: there is no such setting; the nearest: {near}"))
    left = {name: value for name, value in settings.items() if name in known}
    # What is wrong is left out, until nothing is: each time the first is named.
    while (error := _refused(left)) is not None:
        setting = error.partition(":")[0]
        if setting not in left:
            # A default that contradicts one that is given: the one without which it would not.
            setting = next(name for name in left if _refused(_without(left, (name,))) != error)
        place = _place(setting, left[setting], error)
        found.append((place, error))
        left = _without(left, place)
    return found


def _without(value: Any, place: Place) -> Any:
    """The same without what is at that place; a level leaves an empty one, so that others stay."""
    at, *inner = place
    if isinstance(value, list) and isinstance(at, int):
        left = _without(value[at], tuple(inner)) if inner else {}
        return [left if number == at else other for number, other in enumerate(value)]
    if inner:
        return {**value, at: _without(value[at], tuple(inner))}
    return {name: other for name, other in value.items() if name != at}


def _place(setting: str, value: Any, error: str) -> Place:
    if setting != _LEVELS or not isinstance(value, list):
        return (setting,)
    if (named := _LEVEL.search(error)) is not None:
        level = int(named[1])
        return (setting, level, named[2]) if named[2] else (setting, level)
    # It names no level, so each is tried alone, and then each of its settings.
    for number, level in enumerate(value):
        if _refused({_LEVELS: [level]}) != error:
            continue
        names = level if isinstance(level, dict) else ()
        for name in names:
            if _refused({_LEVELS: [{name: level[name]}]}) == error:
                return setting, number, name
        return setting, number
    return (setting,)


def _refused(settings: dict[str, Any]) -> str | None:
    """Why these are no settings of a policy; None if they are."""
    try:
        Policy.from_dict(settings)
    except PolicyError as error:
        return str(error)
    return None
