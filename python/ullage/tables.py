"""Tables of model limits that others keep: that of models.dev, and litellm's.

A table is read when it is first asked, and again when it has changed. One that cannot be read is
reported once and tried again; until then it stays as it was when it could.
"""

from __future__ import annotations

import importlib.util
import json
import logging
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

logger = logging.getLogger(__name__)

# How long a table that could not be read is left alone, unless it changes.
RETRY_SECONDS = 30.0

# Beyond this it is a mistake: the largest windows are a hundredth of it.
_MOST_TOKENS = 1_000_000_000

# Where litellm keeps its table in its package.
_LITELLM_TABLE = "model_prices_and_context_window_backup.json"

# Who serves their own models in models.dev's table. Others may serve the same id with less.
_MAKERS = frozenset(
    {
        "alibaba",
        "amazon-bedrock",
        "anthropic",
        "cohere",
        "deepseek",
        "google",
        "llama",
        "minimax",
        "mistral",
        "moonshotai",
        "openai",
        "xai",
        "zai",
    }
)


class Figures(NamedTuple):
    """What a model takes and gives, in tokens."""

    window: int
    max_input: int
    max_output: int | None

    @classmethod
    def of(cls, window: Any, max_input: Any, max_output: Any) -> Figures | None:
        """The figures, or None without a window. What is no number of tokens is not given."""
        whole = tokens(window)
        if whole is None:
            return None
        most_input, most_output = tokens(max_input), tokens(max_output)
        return cls(
            whole,
            whole if most_input is None else min(most_input, whole),
            None if most_output is None else min(most_output, whole),
        )


def tokens(value: Any) -> int | None:
    """The value as a number of tokens, from 1 to a milliard; None if it is none."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    # Infinity is above the most, and not-a-number not within any bounds.
    if not 1 <= value <= _MOST_TOKENS or value != int(value):
        return None
    return int(value)


class Origin(Protocol):
    """Where a table comes from."""

    def version(self) -> object:
        """Something that changes when the table does; None if there is no table."""

    def read(self) -> Any:
        """The table as its keeper writes it."""


@dataclass(frozen=True)
class Given:
    """A table that the caller has parsed. It is read once."""

    content: Mapping[str, Any]

    def version(self) -> object:
        """Always the same."""
        return "given"

    def read(self) -> Any:
        """What was given."""
        return self.content


@dataclass(frozen=True)
class File:
    """A JSON file."""

    path: Path

    def version(self) -> object:
        """The state of the file, without reading it."""
        state = self.path.stat()
        return state.st_mtime_ns, state.st_size, state.st_ino

    def read(self) -> Any:
        """Its content."""
        return json.loads(self.path.read_bytes())


@dataclass
class Litellm:
    """litellm's table, where litellm is installed: the live one if the host has imported it.

    Never imports it, which would load much and fetch from the network: its package is found, and
    the table in it read.
    """

    _file: File | None = None
    _look_again_at: float = 0.0

    def version(self) -> object:
        """The state of the live table, or of the file; None where litellm is not installed."""
        live = self._live()
        if live is not None:
            return "live", id(live), len(live)
        file = self._installed()
        return None if file is None else file.version()

    def read(self) -> Any:
        """The live table, or the file."""
        live = self._live()
        if live is not None:
            # A copy, because others may add to it meanwhile.
            return dict(live)
        file = self._installed()
        return {} if file is None else file.read()

    def _live(self) -> Mapping[str, Any] | None:
        table = getattr(sys.modules.get("litellm"), "model_cost", None)
        return table if isinstance(table, Mapping) and table else None

    def _installed(self) -> File | None:
        now = time.monotonic()
        if self._file is None and now >= self._look_again_at:
            self._look_again_at = now + RETRY_SECONDS
            spec = importlib.util.find_spec("litellm")
            folders = spec.submodule_search_locations if spec is not None else None
            self._file = File(Path(next(iter(folders))) / _LITELLM_TABLE) if folders else None
        return self._file


@dataclass
class Table:
    """The figures of a table by id. Not for several threads at once: the catalog holds its lock."""

    name: str
    origin: Origin
    index: Callable[[Any], dict[str, Figures]]
    reads: int = 0
    _entries: dict[str, Figures] = field(default_factory=dict)
    _version: object = None
    _failed_version: object = None
    _retry_at: float = 0.0
    _reported: set[str] = field(default_factory=set)

    def refresh(self) -> int:
        """Reads the table if it has changed; returns how often it was read so far."""
        try:
            version = self.origin.version()
        except Exception as error:  # noqa: BLE001 - whatever it is, the next source answers
            self._report(error)
            return self.reads
        if version in (None, self._version):
            return self.reads
        if version == self._failed_version and time.monotonic() < self._retry_at:
            return self.reads
        try:
            entries = self.index(self.origin.read())
        except Exception as error:  # noqa: BLE001 - as above
            self._failed_version, self._retry_at = version, time.monotonic() + RETRY_SECONDS
            self._report(error)
            return self.reads
        self._entries, self._version, self._failed_version = entries, version, None
        self.reads += 1
        return self.reads

    def figures(self, model: str) -> Figures | None:
        """The figures of a model, with or without what gateways write before its id."""
        found = (self._entries.get(name) for name in _names(model.lower()))
        return next((figures for figures in found if figures is not None), None)

    def _report(self, error: Exception) -> None:
        kind = type(error).__name__
        level = logging.DEBUG if kind in self._reported else logging.WARNING
        self._reported.add(kind)
        logger.log(level, "table=<%s>, error=<%s: %s> | not read", self.name, kind, error)


def models_dev(content: Any) -> dict[str, Figures]:
    """The figures in models.dev's ``api.json`` by id, with and without the provider before it.

    An id without provider is its maker's; where several serve it and none made it, the smallest.

    Raises:
        ValueError: If that is no such table.
    """
    qualified: dict[str, Figures] = {}
    plain: dict[str, tuple[bool, Figures]] = {}
    for provider, entry in _entries(content):
        for model, about in _entries(entry.get("models")):
            limit = about.get("limit")
            if not isinstance(limit, Mapping):
                continue
            figures = Figures.of(limit.get("context"), limit.get("input"), limit.get("output"))
            if figures is None:
                continue
            qualified[f"{provider}/{model}".lower()] = figures
            rank = (provider not in _MAKERS, figures)
            name = model.lower()
            plain[name] = min(plain.get(name, rank), rank, key=lambda rank: (rank[0], rank[1][:2]))
    if not qualified:
        raise ValueError("no provider in it has a model with a limit")
    return {name: figures for name, (_, figures) in plain.items()} | qualified


def litellm(content: Any) -> dict[str, Figures]:
    """The figures in litellm's table by id.

    It gives the most that a model takes as input, which stands for the window too.

    Raises:
        ValueError: If that is no such table.
    """
    found = {}
    for model, about in _entries(content):
        most_input = about.get("max_input_tokens")
        figures = Figures.of(most_input, most_input, about.get("max_output_tokens"))
        if figures is not None:
            found[model.lower()] = figures
    if not found:
        raise ValueError("no model in it has `max_input_tokens`")
    return found


def _entries(content: Any) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """What is an object by its name; anything else is skipped."""
    if isinstance(content, Mapping):
        for name, value in content.items():
            if isinstance(name, str) and isinstance(value, Mapping):
                yield name, value


def _names(model: str) -> Iterator[str]:
    """The id, then what is left of it behind each slash, then behind each dot or colon."""
    yield model
    for at, character in enumerate(model):
        if character == "/":
            yield model[at + 1 :]
    last = model.rpartition("/")[2]
    for at, character in enumerate(last):
        if character in ".:":
            yield last[at + 1 :]
