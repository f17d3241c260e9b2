"""Tables of model limits: that of models.dev, and litellm's.

A table is read when it is first needed, and again when it has changed. A table that cannot be read
is reported once and tried again. Until then its last content is used.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

from ullage._engine.logger import Logger
from ullage.models import origins

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ullage.models.origins import Origin

logger = Logger(__name__)

T = TypeVar("T")

# A larger value is a mistake: the largest windows are a hundredth of it.
_MOST_TOKENS = 1_000_000_000

# Makers that serve their own models in models.dev's table. Others may serve the same id with lower
# limits.
MAKERS = frozenset(
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
    """The token limits of a model."""

    window: int
    max_input: int
    max_output: int | None

    @classmethod
    def of(cls, window: Any, max_input: Any, max_output: Any) -> Figures | None:
        """Returns the figures; None without a window. Values that are not counts are skipped."""
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
    """Returns a number of tokens from 1 to a billion; None for any other value."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    # Infinity is above the largest value, and NaN is within no bounds.
    if not 1 <= value <= _MOST_TOKENS or value != int(value):
        return None
    return int(value)


@dataclass
class Table(Generic[T]):
    """A table of entries by id. Not thread-safe: the catalog holds its lock."""

    name: str
    origin: Origin
    index: Callable[[Any], dict[str, T]]
    reads: int = 0
    _entries: dict[str, T] = field(default_factory=dict)
    _version: object = None
    _failed_version: object = None
    _retry_at: float = 0.0
    _reported: set[str] = field(default_factory=set)

    def refresh(self) -> int:
        """Reads the table if it has changed; returns how often it was read so far."""
        try:
            version = self.origin.version()
        except Exception as error:  # noqa: BLE001 - after any error the next source answers
            self._report(error)
            return self.reads
        if version in (None, self._version):
            return self.reads
        if version == self._failed_version and time.monotonic() < self._retry_at:
            return self.reads
        try:
            entries = self.index(self.origin.read())
        except Exception as error:  # noqa: BLE001 - as above
            self._failed_version, self._retry_at = version, time.monotonic() + origins.RETRY_SECONDS
            self._report(error)
            return self.reads
        self._entries, self._version, self._failed_version = entries, version, None
        self.reads += 1
        return self.reads

    def get(self, model: str) -> T | None:
        """Returns the entry of a model, with or without a gateway's prefix in its id."""
        found = (self._entries.get(name) for name in _names(model.lower()))
        return next((entry for entry in found if entry is not None), None)

    def _report(self, error: Exception) -> None:
        kind = type(error).__name__
        level = logging.DEBUG if kind in self._reported else logging.WARNING
        self._reported.add(kind)
        logger.log(
            level,
            "table=<%s>, error=<%s: %s> | the table could not be read",
            self.name,
            kind,
            error,
        )


def models_dev(content: Any) -> dict[str, Figures]:
    """Returns the figures of models.dev's ``api.json`` by id, with and without the provider.

    An id without a provider has the figures of its maker. If no provider is its maker, it has the
    smallest figures.

    Raises:
        ValueError: If ``data`` is not such a table.
    """
    qualified: dict[str, Figures] = {}
    plain: dict[str, tuple[bool, Figures]] = {}
    for provider, entry in entries_of(content):
        for model, about in entries_of(entry.get("models")):
            limit = about.get("limit")
            if not isinstance(limit, Mapping):
                continue
            figures = Figures.of(limit.get("context"), limit.get("input"), limit.get("output"))
            if figures is None:
                continue
            qualified[f"{provider}/{model}".lower()] = figures
            rank = (provider not in MAKERS, figures)
            name = model.lower()
            plain[name] = min(plain.get(name, rank), rank, key=lambda rank: (rank[0], rank[1][:2]))
    if not qualified:
        raise ValueError("no provider in it has a model with a limit")
    return {name: figures for name, (_, figures) in plain.items()} | qualified


def litellm(content: Any) -> dict[str, Figures]:
    """Returns the figures in litellm's table by id.

    The table has a model's largest input, which is used as its window too.

    Raises:
        ValueError: If ``content`` is not such a table.
    """
    found = {}
    for model, about in entries_of(content):
        most_input = about.get("max_input_tokens")
        figures = Figures.of(most_input, most_input, about.get("max_output_tokens"))
        if figures is not None:
            found[model.lower()] = figures
    if not found:
        raise ValueError("no model in it has `max_input_tokens`")
    return found


def entries_of(content: Any) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yields the objects by their names; anything else is skipped."""
    if isinstance(content, Mapping):
        for name, value in content.items():
            if isinstance(name, str) and isinstance(value, Mapping):
                yield name, value


def _names(model: str) -> Iterator[str]:
    """Yields the id, its ends after each slash, and then its ends after each dot or colon."""
    yield model
    for at, character in enumerate(model):
        if character == "/":
            yield model[at + 1 :]
    last = model.rpartition("/")[2]
    for at, character in enumerate(last):
        if character in ".:":
            yield last[at + 1 :]
