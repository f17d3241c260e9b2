"""Checks the settings of a context before the first request is made with them."""

from __future__ import annotations

from os import PathLike
from typing import TYPE_CHECKING, Any

from ullage import PolicyError
from ullage.amplifier.notice import LEVELS
from ullage.amplifier.settings import VERBOSITIES

if TYPE_CHECKING:
    from collections.abc import Mapping

# Numbers from so many on.
_WHOLE = {
    "max_tokens": 1,
    "protected_tool_results": 0,
    "truncate_chars": 1,
    "compaction_notice_token_reserve": 0,
    "compaction_notice_min_level": 0,
    "keep_last": 0,
}
# Shares of a whole. Of the budget something has to be left.
_SHARES = frozenset({"compact_threshold", "target_usage", "protected_recent", "truncate_boundary"})
_ABOVE_ZERO = frozenset({"compact_threshold", "target_usage"})
# In YAML "no" in quotes is a text, and any text would count as true.
_YES_OR_NO = frozenset({"compaction_notice_enabled", "auto_compact", "export_on_compact", "lock"})


def require(settings: Mapping[str, Any]) -> None:
    """Looks at the settings that are given; others are as they are.

    Raises:
        PolicyError: If one is not what it should be; says which.
    """
    for name, value in settings.items():
        if name in _YES_OR_NO and not isinstance(value, bool):
            raise PolicyError(f"{name} is {value!r}; it must be true or false")
        if name in _WHOLE:
            _require_whole(name, value)
        if name in _SHARES:
            _require_share(name, value)
    verbosity = settings.get("compaction_notice_verbosity", VERBOSITIES[0])
    if verbosity not in VERBOSITIES:
        raise PolicyError(
            f"compaction_notice_verbosity is {verbosity!r}; it must be one of"
            f" {', '.join(VERBOSITIES)}"
        )
    if settings.get("compaction_strategy") == "custom" and not settings.get("compaction_function"):
        raise PolicyError("compaction_strategy is 'custom', so give a compaction_function")


def require_places(storage: Any, transcript: Any, session: Any, memory_files: Any) -> None:
    """Looks at what says where the files of a session are.

    Raises:
        PolicyError: If one is not what it should be; says which.
    """
    for name, path in (("storage_path", storage), ("transcript_path", transcript)):
        if path is not None and not isinstance(path, (str, PathLike)):
            raise PolicyError(f"{name} is {path!r}; it must be a path")
    if not isinstance(session, str):
        raise PolicyError(f"session_id is {session!r}; it must be a text")
    files = memory_files or []
    paths = not isinstance(files, str) and all(isinstance(f, (str, PathLike)) for f in files)
    if not paths:
        raise PolicyError(f"memory_files is {files!r}; it must be a list of paths")


def _require_whole(name: str, value: Any) -> None:
    least = _WHOLE[name]
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise PolicyError(f"{name} is {value!r}; it must be a whole number from {least} on")
    if name == "compaction_notice_min_level" and value > LEVELS:
        raise PolicyError(f"{name} is {value!r}; it must be from 0 to {LEVELS}")


def _require_share(name: str, value: Any) -> None:
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if not number or not 0 <= value <= 1 or (value == 0 and name in _ABOVE_ZERO):
        least = "above 0" if name in _ABOVE_ZERO else "from 0"
        raise PolicyError(f"{name} is {value!r}; it must be a share {least} to 1")
