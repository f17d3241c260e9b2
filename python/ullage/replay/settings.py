"""What is tried: policies by name or from files, and grids over their settings."""

from __future__ import annotations

import json
from dataclasses import dataclass
from importlib import import_module
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ullage._core import Policy, PolicyError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


@dataclass(frozen=True)
class Setting:
    """A policy that is tried.

    Attributes:
        name: What it is called in the results.
        policy: The policy.
    """

    name: str
    policy: Policy


def read_policy(source: str) -> Setting:
    """A preset by its name, or the policy in a TOML or JSON file.

    Raises:
        PolicyError: If it is neither, or a setting is unknown or out of range.
    """
    path = Path(source)
    kind = path.suffix.lower()
    if kind not in {".toml", ".json"}:
        return Setting(source, Policy.preset(source))
    try:
        text = path.read_text(encoding="utf-8-sig")
        settings = json.loads(text) if kind == ".json" else _toml(text)
    except (OSError, ValueError) as error:
        raise PolicyError(f"{source}: {error}") from error
    if not isinstance(settings, dict):
        raise PolicyError(f"{source}: it holds no settings")
    return Setting(path.stem, Policy.from_dict(settings))


def _toml(text: str) -> dict[str, Any]:
    try:
        # Not in Python 3.10, the oldest that is served.
        toml = import_module("tomllib")
    except ImportError:
        raise PolicyError("a policy in TOML needs Python 3.11 or newer; write it as JSON") from None
    settings: dict[str, Any] = toml.loads(text)
    return settings


def grid(settings: Sequence[Setting], values: Mapping[str, Sequence[Any]]) -> list[Setting]:
    """Each setting with each combination of values, named by them.

    Combinations that no policy can have, such as a low mark above the high one, are left out.

    Raises:
        PolicyError: If no combination is left, with what is wrong with the last.
    """
    if not values:
        return list(settings)
    found, wrong = [], None
    for setting, combination in product(settings, product(*values.values())):
        changes = dict(zip(values, combination, strict=True))
        try:
            policy = Policy.from_dict({**setting.policy.to_dict(), **changes})
        except PolicyError as error:
            wrong = error
            continue
        words = " ".join(f"{name}={value}" for name, value in changes.items())
        found.append(Setting(f"{setting.name} {words}", policy))
    if not found and wrong is not None:
        raise wrong
    return found
