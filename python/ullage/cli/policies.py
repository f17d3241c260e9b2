"""Finds the policy that a command names: a preset, a file, or the file of a Supyagent agent."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import ullage
from ullage._engine import policy_file

if TYPE_CHECKING:
    from ullage.supyagent import ContextSettings

# The sections that only an agent's file has.
_SECTIONS_OF_AN_AGENT = {"context", "name"}


def choose_policy(source: str | None, model: str | None) -> tuple[ullage.Policy | None, str | None]:
    """Returns the named policy, or None, and the model. The file of an agent may name the model.

    Raises:
        PolicyError: If the preset is unknown, or the file cannot be read or is wrong.
    """
    if source is None:
        return None, model
    path = Path(source)
    if not policy_file.is_policy_file(path):
        if path.is_file():
            raise ullage.PolicyError(
                f"{source}: the name of a policy file must end in .toml, .yaml or .json"
            )
        return ullage.Policy.preset(source), model
    settings = policy_file.load(path)
    try:
        if (agent := of_agent(settings)) is not None:
            return agent.policy(model), model or agent.model
        return ullage.Policy.from_dict(settings), model
    except ullage.PolicyError as error:
        raise ullage.PolicyError(f"{source}: {error}") from error


def change_policy(
    policy: ullage.Policy | None, model: str | None, changes: dict[str, Any]
) -> ullage.Policy:
    """Returns the policy with some settings changed; of the model if the policy is None.

    Raises:
        PolicyError: If a setting is unknown or out of range.
    """
    if policy is not None:
        return policy.replace(**changes)
    return ullage.model_limits(model).policy(**changes) if model else ullage.Policy(**changes)


def of_agent(settings: dict[str, Any]) -> ContextSettings | None:
    """Returns the settings of an agent, or None for those of a policy.

    Raises:
        PolicyError: If a setting is unknown or invalid.
    """
    # The import is slow, and few commands need it.
    from ullage.supyagent import ContextSettings

    known = _SECTIONS_OF_AN_AGENT | {field.name for field in fields(ContextSettings)}
    return ContextSettings.from_dict(settings) if known.intersection(settings) else None
