"""The hosts that do not fit into one environment."""

from __future__ import annotations

import importlib.util

import pytest

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
