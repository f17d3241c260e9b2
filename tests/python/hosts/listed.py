"""The hosts that do not fit into one environment."""

from __future__ import annotations

import importlib.util
import sys
from typing import TYPE_CHECKING

import pytest

from tests.python.blocks import ROOT

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

if TYPE_CHECKING:
    from pathlib import Path

# The guide of each host, by the module that must be installed.
GUIDES = {
    "langchain": "docs/langchain.md",
    "agents": "docs/openai-agents.md",
    "pydantic_ai": "docs/pydantic-ai.md",
    "agent_framework": "docs/agent-framework.md",
    "haystack": "docs/haystack.md",
    "crewai": "docs/crewai.md",
    "litellm": "docs/litellm.md",
    "run_agent": "docs/hermes.md",
}


def require(module: str) -> None:
    """Skips the test where a host is not installed."""
    if importlib.util.find_spec(module) is None:
        pytest.skip(f"{module} is not installed: run make test-hosts")


def write_entry_points(site: Path) -> None:
    """Writes what pip notes of the entry points of ullage, which is used where it lies."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    lines = []
    for group, points in project["entry-points"].items():
        lines += [f"[{group}]", *(f"{name} = {place}" for name, place in points.items())]
    known = site / "ullage_entry_points-0.dist-info"
    known.mkdir(parents=True)
    metadata = "Metadata-Version: 2.1\nName: ullage-entry-points\nVersion: 0\n"
    (known / "METADATA").write_text(metadata, encoding="utf-8")
    (known / "entry_points.txt").write_text("\n".join(lines), encoding="utf-8")
