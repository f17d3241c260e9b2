"""Conversations from files: a JSON list, an object that holds one, or a message on each line."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

# The fields of a request or a session that hold its messages, in the order in which they are tried.
FIELDS = ("messages", "contents", "input")
# Every message has one of these: JSON lines of a single line are no request.
FIELDS_OF_A_MESSAGE = ("role", "parts", "type")
STANDARD_INPUT = "-"


class UnreadableFileError(Exception):
    """A file that holds no conversation; its text says why."""


def read(path: str) -> list[Any]:
    """The messages in a file, or in standard input for "-".

    Raises:
        UnreadableFileError: If it cannot be read, is no JSON, or holds no list of messages.
    """
    try:
        # Editors and shells of Windows put a mark before UTF-8.
        text = _bytes(path).decode("utf-8-sig")
    except (OSError, ValueError) as error:
        raise UnreadableFileError(f"{path}: {error}") from error
    try:
        value = _value(text)
    except ValueError as error:
        raise UnreadableFileError(f"{path} is no JSON: {error}") from error
    except RecursionError as error:
        raise UnreadableFileError(f"{path} is nested too deep to be read") from error
    if isinstance(value, dict):
        fields = (value.get(field) for field in FIELDS)
        alone = [value] if any(field in value for field in FIELDS_OF_A_MESSAGE) else None
        value = next((found for found in fields if isinstance(found, list)), alone)
    if not isinstance(value, list):
        names = ", ".join(f"`{field}`" for field in FIELDS)
        raise UnreadableFileError(f"{path} holds no list of messages, nor an object with {names}")
    return value


def _bytes(path: str) -> bytes:
    if path != STANDARD_INPUT:
        return Path(path).read_bytes()
    if sys.stdin is None:
        raise OSError("standard input is closed")
    return sys.stdin.buffer.read()


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        # JSON lines. Strings may hold every other character that Python ends a line at.
        lines = [line for line in text.split("\n") if line.strip()]
        try:
            values = [json.loads(line) for line in lines]
        except ValueError:
            values = []
        if not values:
            raise  # What is wrong with the whole says more than what is wrong with its first line.
        return values
