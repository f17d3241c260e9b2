"""Reads settings, such as those of a policy, from a file: TOML, JSON or YAML."""

from __future__ import annotations

import json
import re
from contextlib import suppress
from importlib import import_module
from typing import TYPE_CHECKING, Any

from ullage._core import PolicyError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

# The place in an error of the TOML reader.
_AT_LINE = re.compile(r"\(at line (\d+)")


class PolicyFileError(PolicyError):
    """A file of settings cannot be read.

    Attributes:
        line: The wrong line, counted from 1; None if the error is about the whole file.
    """

    def __init__(self, problem: str, line: int | None = None) -> None:
        super().__init__(problem)
        self.line = line


def is_policy_file(path: Path) -> bool:
    """True if this is the name of a file of settings."""
    return path.suffix.lower() in _READERS


def load(path: Path) -> dict[str, Any]:
    """Returns the settings in a file. YAML needs the extra ``yaml``.

    Raises:
        PolicyFileError: If it cannot be read, or has no settings.
    """
    return parse(path, text_of(path))


def text_of(path: Path) -> str:
    """Returns the text of such a file.

    Raises:
        PolicyFileError: If it cannot be read.
    """
    try:
        return path.read_text(encoding="utf-8-sig")
    except (OSError, ValueError) as error:
        raise PolicyFileError(f"{path}: {getattr(error, 'strerror', None) or error}") from error


def parse(path: Path, text: str, ending: str | None = None) -> dict[str, Any]:
    """Returns the settings in the text of a file.

    Args:
        path: The file.
        text: Its content.
        ending: The form of the text, such as ``.yaml``; by default the suffix of the file.

    Raises:
        PolicyFileError: If the text is not of this form, or has no settings.
    """
    try:
        settings = _READERS[ending or path.suffix.lower()](text)
    except PolicyFileError as error:
        raise PolicyFileError(f"{path}: {error}", error.line) from error
    except (ValueError, RecursionError) as error:
        raise PolicyFileError(f"{path}: {error}") from error
    # An empty file of YAML: every setting has its default.
    settings = {} if settings is None else settings
    if not isinstance(settings, dict):
        raise PolicyFileError(f"{path}: it holds a {type(settings).__name__}, not settings")
    return settings


def toml() -> Any:
    """Imports the reader of TOML.

    Raises:
        PolicyFileError: If no reader is installed.
    """
    with suppress(ImportError):
        return import_module("tomllib")
    with suppress(ImportError):
        return import_module("tomli")  # Python 3.10 has no `tomllib`.
    raise PolicyFileError(
        "TOML needs Python 3.11 or newer, or pip install 'ullage[cli]'; or write it as JSON"
    )


def yaml() -> Any:
    """Imports the reader and writer of YAML.

    Raises:
        PolicyFileError: If it is not installed.
    """
    try:
        return import_module("yaml")
    except ImportError:
        raise PolicyFileError(
            "YAML needs PyYAML: pip install 'ullage[yaml]', or use JSON"
        ) from None


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise PolicyFileError(f"not valid JSON: {error}", error.lineno) from error


def _toml(text: str) -> Any:
    reader = toml()
    try:
        return reader.loads(text)
    except reader.TOMLDecodeError as error:
        at = _AT_LINE.search(str(error))
        line = None if at is None else int(at[1])
        raise PolicyFileError(f"not valid TOML: {error}", line) from error


def _yaml(text: str) -> Any:
    reader = yaml()
    try:
        return reader.safe_load(text)
    except reader.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        problem = getattr(error, "problem", None) or error
        where = "" if mark is None else f" (at line {mark.line + 1}, column {mark.column + 1})"
        line = None if mark is None else mark.line + 1
        raise PolicyFileError(f"not valid YAML: {problem}{where}", line) from error


_READERS: dict[str, Callable[[str], Any]] = {
    ".json": _json,
    ".toml": _toml,
    ".yaml": _yaml,
    ".yml": _yaml,
}
