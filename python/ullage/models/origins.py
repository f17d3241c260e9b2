"""Sources of tables of model limits: the caller, a file, or an installed litellm."""

from __future__ import annotations

import importlib.util
import json
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

# Seconds before a table that could not be read is tried again, unless it changes.
RETRY_SECONDS = 30.0

# The table in litellm's package.
_LITELLM_TABLE = "model_prices_and_context_window_backup.json"


class Origin(Protocol):
    """The source of a table."""

    def version(self) -> object:
        """Returns a value that changes with the table; None if there is no table."""

    def read(self) -> Any:
        """Returns the table in its own form."""


@dataclass(frozen=True)
class Given:
    """A table that the caller has parsed. It is read once."""

    content: Mapping[str, Any]

    def version(self) -> object:
        """Returns a constant."""
        return "given"

    def read(self) -> Any:
        """Returns the given table."""
        return self.content


@dataclass(frozen=True)
class File:
    """A JSON file."""

    path: Path

    def version(self) -> object:
        """Returns the state of the file, without reading it."""
        state = self.path.stat()
        return state.st_mtime_ns, state.st_size, state.st_ino

    def read(self) -> Any:
        """Returns the content of the file."""
        return json.loads(self.path.read_bytes())


@dataclass
class Litellm:
    """The table of an installed litellm: the live one if the host has imported it.

    litellm is never imported, because that loads much and uses the network. Its package is found on
    the disk, and the table in it is read.
    """

    _file: File | None = None
    _look_again_at: float = 0.0

    def version(self) -> object:
        """Returns a copy of the live table, or the state of the file; None without litellm."""
        live = self._live()
        if live is not None:
            # Others replace entries and change them in place. For 2,600 of them this takes 0.7 ms.
            return [
                (name, about.get("max_input_tokens"), about.get("max_output_tokens"))
                for name, about in dict(live).items()
                if isinstance(about, Mapping)
            ]
        file = self._installed_file()
        return None if file is None else file.version()

    def read(self) -> Any:
        """Returns the content of the live table, or of the file."""
        live = self._live()
        if live is not None:
            # A copy, because other threads may add to it meanwhile.
            return dict(live)
        file = self._installed_file()
        return {} if file is None else file.read()

    def _live(self) -> Mapping[str, Any] | None:
        table = getattr(sys.modules.get("litellm"), "model_cost", None)
        return table if isinstance(table, Mapping) and table else None

    def _installed_file(self) -> File | None:
        now = time.monotonic()
        if self._file is None and now >= self._look_again_at:
            self._look_again_at = now + RETRY_SECONDS
            spec = importlib.util.find_spec("litellm")
            folders = spec.submodule_search_locations if spec is not None else None
            self._file = File(Path(next(iter(folders))) / _LITELLM_TABLE) if folders else None
        return self._file
