"""Conversations from files: a JSON list, an object that holds one, or a message on each line."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

# The fields of a request or a session that hold its messages, in the order in which they are tried.
FIELDS = ("messages", "contents", "input")
STANDARD_INPUT = "-"


class UnreadableFileError(Exception):
    """A file that holds no conversation; its text says why."""


def read(path: str) -> list[Any]:
    """The messages in a file, or in standard input for "-".

    Raises:
        UnreadableFileError: If it cannot be read, is no JSON, or holds no list of messages.
    """
    try:
        text = sys.stdin.read() if path == STANDARD_INPUT else Path(path).read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UnreadableFileError(f"{path}: {error}") from error
    try:
        value = json.loads(text)
    except ValueError as error:
        value = _lines(text)
        if not value:
            raise UnreadableFileError(f"{path} is no JSON: {error}") from error
    if isinstance(value, dict):
        value = next((value[field] for field in FIELDS if field in value), value)
    if not isinstance(value, list):
        fields = ", ".join(f"`{field}`" for field in FIELDS)
        raise UnreadableFileError(f"{path} holds no list of messages, nor an object with {fields}")
    return value


def _lines(text: str) -> list[Any] | None:
    """A message on each line; None if one of them is no JSON either."""
    try:
        return [json.loads(line) for line in text.splitlines() if line.strip()]
    except ValueError:
        return None
