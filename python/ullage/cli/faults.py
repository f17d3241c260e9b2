"""Finds the line of each problem in a policy file."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

from ullage import Policy, PolicyError
from ullage._engine.policy_file import PolicyFileError, is_policy_file, parse, text_of
from ullage.cli.lines import line_of
from ullage.cli.policies import of_agent

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from ullage.cli.lines import Place

# The steps of a path, such as those of `levels[2].recent`.
_STEP = re.compile(r"\[(\d+)\]|\w+")


class Fault(NamedTuple):
    """A problem in a policy file.

    Attributes:
        line: The line, counted from 1; None if the problem is about the whole file.
        setting: The setting, or None.
        problem: A description of the problem.
    """

    line: int | None
    setting: str | None
    problem: str


def faults(path: Path) -> list[Fault]:
    """Returns the problems of a file, in the order of its lines.

    Raises:
        PolicyFileError: If the file cannot be read.
    """
    if not is_policy_file(path):
        raise PolicyFileError(
            f"{path}: the name of a policy file must end in .toml, .yaml or .json"
        )
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
        Fault(line_of(path, text, place), str(place[0]), f"{at}: {problem}")
        for place, at, problem in _wrong(settings)
    ]
    return sorted(found, key=lambda fault: fault.line or 0)


def _wrong(settings: dict[str, Any]) -> Iterator[tuple[Place, str, str]]:
    """Yields the place and the path of each wrong setting, and its problem."""
    for at, problem in _problems(settings):
        place = _place(at, settings)
        if place[0] not in settings:
            # A default contradicts a given setting. Removing that setting solves the problem.
            place = next(
                (name,)
                for name in settings
                if at not in dict(_problems({k: v for k, v in settings.items() if k != name}))
            )
        yield place, at, problem


def _place(path: str, settings: dict[str, Any]) -> Place:
    """Returns the place that a path names. A wrong stage has the place of its list."""
    for name in settings:
        if str(name) == path:
            return (name,)
    steps = [int(step[1]) if step[1] else step[0] for step in _STEP.finditer(path)]
    return tuple(steps[: steps.index("stages") + 1] if "stages" in steps else steps)


def _problems(settings: dict[str, Any]) -> tuple[tuple[str, str], ...]:
    """Returns the problems of these values as settings of a policy."""
    try:
        Policy.from_dict(settings)
    except PolicyError as error:
        return error.problems
    return ()
