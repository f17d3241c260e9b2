"""``ContextSettings`` reads the section ``context`` of an agent's YAML file."""

from __future__ import annotations

from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import ullage
from ullage._engine.arguments import require_bool, require_number
from ullage._engine.fixed_tokens import reserve_in
from ullage._engine.policy_file import parse, text_of
from ullage.supyagent.manager import NUMBERS, ContextManager
from ullage.supyagent.status import LEAST_TO_SUMMARIZE
from ullage.supyagent.tokens import DEFAULT_MODEL, get_context_limit

if TYPE_CHECKING:
    from os import PathLike

    from ullage._engine.listener import OnCompaction

# The two sections of an agent's file that are read, and the key in the section ``model``.
_CONTEXT, _MODEL, _PROVIDER = "context", "model", "provider"
# The engine keeps two more messages than the recent ones: the task, and its note.
_STAY = 2
# The low mark as a share of the high mark. A request of the manager keeps more messages, but its
# summary keeps only the recent ones. This value stands for both.
_DOWN_TO = 5 / 9


@dataclass(frozen=True)
class ContextSettings:
    """The settings for summaries in an agent's file.

    Args:
        auto_summarize: True if a summary is made when it is due.
        max_messages_before_summary: A summary is due after this many messages since the last one.
        max_tokens_before_summary: A summary is due after this many tokens since the last one.
        min_recent_messages: The number of messages at the end that are never summarized.
        response_reserve: The tokens kept free for the answer.
        model: The id of the model, or None if the file names no model.

    Raises:
        PolicyError: If a setting is not valid.
    """

    auto_summarize: bool = True
    max_messages_before_summary: int = 30
    max_tokens_before_summary: int = 128_000
    min_recent_messages: int = 6
    response_reserve: int = 4096
    model: str | None = None

    def __post_init__(self) -> None:
        require_bool("auto_summarize", self.auto_summarize)
        for name in NUMBERS:
            require_number(name, getattr(self, name), least=0 if name == "response_reserve" else 1)
        if not isinstance(self.model, (str, type(None))):
            raise ullage.PolicyError(
                f"model: it must be the id of a model, such as 'gpt-4o'; got {self.model!r}"
            )

    @classmethod
    def from_dict(cls, settings: dict[str, Any]) -> ContextSettings:
        """Returns the settings from an agent's file, or from its section ``context`` alone.

        Raises:
            PolicyError: If a setting of the section is unknown, or not valid.
        """
        if not isinstance(settings, dict):
            raise ullage.PolicyError(
                f"context: the settings must be a mapping; got a {type(settings).__name__}"
            )
        model: Any = settings.get(_MODEL)
        if isinstance(model, dict):
            model = model.get(_PROVIDER)
        names = {field.name for field in fields(cls)}
        # An agent's file has other keys too. The section alone has only settings, or a model.
        whole = _CONTEXT in settings or not names.intersection(settings) - {_MODEL}
        section = (settings.get(_CONTEXT) or {}) if whole else settings
        if not isinstance(section, dict):
            raise ullage.PolicyError(
                f"context: the section must be a mapping; got a {type(section).__name__}"
            )
        if unknown := sorted(set(map(str, section)) - names):
            listed = ", ".join(sorted(names))
            raise ullage.PolicyError(
                f"context: unknown setting {unknown[0]!r}; the settings are {listed}"
            )
        return cls(**{**section, _MODEL: model})

    @classmethod
    def load(cls, path: str | PathLike[str]) -> ContextSettings:
        """Returns the settings in a YAML or JSON file. YAML needs the extra ``yaml``.

        Raises:
            PolicyError: If the file cannot be read, or a setting is unknown or not valid.
        """
        path = Path(path)
        # Supyagent's files are YAML, whatever their names are.
        ending = ".json" if path.suffix.lower() == ".json" else ".yaml"
        return cls.from_dict(parse(path, text_of(path), ending))

    def policy(self, model: str | None = None) -> ullage.Policy:
        """Returns the same settings as a policy, based on ``Policy.preset("supyagent")``.

        Args:
            model: The id of the model. The default is the model in the file.

        The engine counts the whole conversation, with the note about removed messages. It removes
        enough messages that the next compaction is not due at once.
        """
        model = model or self.model
        window = get_context_limit(model or DEFAULT_MODEL)
        reserve = reserve_in(window, self.response_reserve)
        preset = ullage.Policy.preset("supyagent")
        changes: dict[str, Any]
        if self.auto_summarize:
            least = _STAY + self.min_recent_messages + LEAST_TO_SUMMARIZE
            most = max(self.max_messages_before_summary, least)
            high = min(preset.high, self.max_tokens_before_summary / (window - reserve))
            changes = {
                "high": high,
                "low": high * _DOWN_TO,
                "max_messages": most,
                "low_messages": self.min_recent_messages / most,
            }
        else:
            stages = [name for name in preset.stages if name != "summarize"]
            changes = {"max_messages": None, "stages": stages}
        return preset.replace(
            window=window, reserve_output=reserve, keep_recent=self.min_recent_messages, **changes
        )

    def manager(
        self,
        llm: Any = None,
        summary_storage_path: str | PathLike[str] | None = None,
        *,
        model: str | None = None,
        on_compaction: OnCompaction | None = None,
        recorder: ullage.Recorder | None = None,
    ) -> ContextManager:
        """Returns a context manager with these settings.

        Raises:
            PolicyError: If neither the settings nor ``model`` name a model.
        """
        model = model or self.model
        if not model:
            raise ullage.PolicyError(
                "model: the settings do not name a model; pass model='...' with its id"
            )
        numbers = {name: getattr(self, name) for name in NUMBERS}
        manager = ContextManager(
            model,
            llm,
            summary_storage_path,
            on_compaction=on_compaction,
            recorder=recorder,
            **numbers,
        )
        manager.auto_summarize = self.auto_summarize
        return manager
