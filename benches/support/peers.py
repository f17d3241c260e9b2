"""headroom, which the benches compare with where it is installed: `pip install headroom-ai`."""

from __future__ import annotations

import importlib.util
import os
from importlib.metadata import version
from typing import Any

INSTALLED = importlib.util.find_spec("headroom") is not None


def named(*others: str) -> str:
    """Names and versions of distributions, and of headroom where it is installed."""
    names = [*others, *(["headroom-ai"] if INSTALLED else [])]
    return ", ".join(f"{name} {version(name)}" for name in names)


def compressed(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Returns what headroom makes of a history in OpenAI's format."""
    # It then asks for no network, and estimates tokens.
    os.environ.setdefault("HEADROOM_OFFLINE", "1")
    import headroom

    shorter: list[dict[str, Any]] = headroom.compress(messages, model="gpt-4o").messages
    return shorter
