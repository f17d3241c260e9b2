"""Finds the line of a setting in a file."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from ullage._engine.policy_file import toml, yaml

if TYPE_CHECKING:
    from pathlib import Path

# The keys and the indices that lead to a setting.
Place = tuple["str | int", ...]

_BLANK = re.compile(r"\s*")


def line_of(path: Path, text: str, place: Place) -> int | None:
    """Returns the line of a setting in a valid text, counted from 1.

    Args:
        path: The file; its suffix names the form of the text.
        text: The text of the file.
        place: The keys and indices that lead to the setting.
    """
    kind = path.suffix.lower()
    if kind == ".toml":
        return _in_toml(text, place)
    at = _in_json(text, 0, place) if kind == ".json" else _in_yaml(text, place)
    return None if at is None else text.count("\n", 0, at) + 1


def _in_json(text: str, at: int, place: Place) -> int | None:
    """Returns the start of a key or an element in JSON text."""
    decoder = json.JSONDecoder()
    at = _skip(text, at)
    opening, at, number = text[at], _skip(text, at + 1), 0
    while opening in "{[" and text[at] not in "}]":
        start, key = at, number
        if opening == "{":
            key, at = decoder.raw_decode(text, at)
            at = _skip(text, _skip(text, at) + 1)
        if key == place[0]:
            return start if len(place) == 1 else _in_json(text, at, place[1:])
        at = _skip(text, decoder.raw_decode(text, at)[1])
        at = _skip(text, at + 1) if text[at] == "," else at
        number += 1
    return None


def _skip(text: str, at: int) -> int:
    blank = _BLANK.match(text, at)
    return at if blank is None else blank.end()


def _in_yaml(text: str, place: Place) -> int | None:
    node = yaml().compose(text)
    at = None
    for step in place:
        if node.id == "mapping":
            inner = {key.value: (key, value) for key, value in node.value}
            if step not in inner:
                return at
            key, node = inner[step]
            at = key.start_mark.index
        elif node.id == "sequence" and isinstance(step, int):
            node = node.value[step]
            at = node.start_mark.index
        else:
            return at
    return at


def _in_toml(text: str, place: Place) -> int | None:
    """Returns the line of a setting: where the shortest beginning of the text with it ends."""
    reader = toml()
    lines = text.split("\n")
    behind = 0
    for number in range(1, len(lines) + 1):
        try:
            value = reader.loads("\n".join(lines[:number]))
        except reader.TOMLDecodeError:
            continue  # Inside a value of several lines.
        if _has(value, place):
            return 1 + next(
                line
                for line in range(behind, number)
                if lines[line].strip() and not lines[line].lstrip().startswith("#")
            )
        behind = number
    return None


def _has(value: Any, place: Place) -> bool:
    try:
        for step in place:
            value = value[step]
    except (LookupError, TypeError):
        return False
    return True
