"""Marks the cells of a test that only `make test-all` runs.

A rule keeps its shortest case in `make test`. Longer runs, more seeds, and the cells of a matrix
that repeat what another cell shows are marked `long`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterable


def long(*values: Any, id: str | None = None) -> Any:
    """A cell that only `make test-all` runs."""
    return pytest.param(*values, id=id, marks=pytest.mark.long)


def first(count: int, values: Iterable[Any]) -> list[Any]:
    """The values, all but the first ``count`` of them marked long."""
    return [value if at < count else long(value) for at, value in enumerate(values)]
