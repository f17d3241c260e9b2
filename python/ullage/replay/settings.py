"""Reads the policies to try: by name or from files, and grids over their settings."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ullage._core import Policy, PolicyError
from ullage._engine.policy_file import is_policy_file, load

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


@dataclass(frozen=True)
class Setting:
    """A policy to try.

    Attributes:
        name: Its name in the results.
        policy: The policy.
    """

    name: str
    policy: Policy


def read_policy(source: str) -> Setting:
    """Returns a preset by its name, or the policy in a file of TOML, JSON or YAML.

    Raises:
        PolicyError: If there is no such preset or file, or a setting is unknown or out of range.
    """
    path = Path(source)
    if not is_policy_file(path):
        return Setting(source, Policy.preset(source))
    return Setting(path.stem, Policy.from_dict(load(path)))


def grid(settings: Sequence[Setting], values: Mapping[str, Sequence[Any]]) -> list[Setting]:
    """Returns each setting with each combination of values, named by them.

    Invalid combinations, such as a low mark above the high mark, are left out.

    Raises:
        PolicyError: If no combination is left. The error names the problem of the last one.
    """
    if not values:
        return list(settings)
    found, wrong = [], None
    for setting, combination in product(settings, product(*values.values())):
        changes = dict(zip(values, combination, strict=True))
        try:
            policy = setting.policy.replace(**changes)
        except PolicyError as error:
            wrong = error
            continue
        words = " ".join(f"{name}={value}" for name, value in changes.items())
        found.append(Setting(f"{setting.name} {words}", policy))
    if not found and wrong is not None:
        raise wrong
    return found
