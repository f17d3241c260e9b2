"""What results say, and results with another text in their place."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple

from ullage.valis.calls import results_in
from ullage.valis.messages import is_text

if TYPE_CHECKING:
    from collections.abc import Callable

    from ullage.valis.calls import Result


class Filed(NamedTuple):
    """An outcome as a file.

    Attributes:
        text: What is in the file.
        suffix: How its name ends.
    """

    text: str
    suffix: str


def with_results(message: Any, change: Callable[[Result], dict[str, Any] | None]) -> Any:
    """The message with other results; itself where ``change`` gives None for all."""
    results = {id(result.holder): result for result in results_in(message)}
    changed = {key: new for key, result in results.items() if (new := change(result)) is not None}
    if not changed:
        return message
    if id(message) in changed:
        return changed[id(message)]
    return {**message, "content": [changed.get(id(part), part) for part in message["content"]]}


def with_outcomes(message: Any, short: Callable[[Result], str | None]) -> Any:
    """The message with other texts for its results; itself where ``short`` gives None for all."""

    def change(result: Result) -> dict[str, Any] | None:
        text = short(result)
        return None if text is None else _with_text(result, text)

    return with_results(message, change)


def with_filed(message: Any, filed: Callable[[str], Filed | None]) -> Any:
    """The message with the outcomes that were filed, by the text that stands for them."""

    def change(result: Result) -> dict[str, Any] | None:
        text = text_of(result.outcome)
        whole = None if text is None else filed(text)
        if whole is None:
            return None
        if whole.suffix == ".txt":
            return _with_text(result, whole.text)
        try:
            return {**result.holder, result.field: json.loads(whole.text)}
        except ValueError:
            return None

    return with_results(message, change)


def filed(outcome: Any) -> Filed | None:
    """An outcome as a file; None where it cannot be told in one, or is no text for a model.

    A text is a text; what has more to it is JSON, so that it can be put back as it was.
    """
    text = text_of(outcome)
    if text is None or _is_plain(outcome):
        return None if text is None else Filed(text, ".txt")
    try:
        return Filed(json.dumps(outcome, ensure_ascii=False), ".json")
    except (TypeError, ValueError, RecursionError):
        return None


def text_of(outcome: Any) -> str | None:
    """The text of an outcome; None where it holds anything else, such as a picture."""
    value = outcome["value"] if _has_value(outcome) else outcome
    if isinstance(value, str) or value is None:
        return value
    if _is_blocks(value):
        texts = [part["text"] if is_text(part) else part for part in value]
        known = [text for text in texts if isinstance(text, str)]
        return "\n".join(known) if len(known) == len(texts) else None
    try:
        return json.dumps(value, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError):
        return None


def _with_text(result: Result, text: str) -> dict[str, Any]:
    outcome = result.outcome
    if _has_value(outcome):
        is_error = str(outcome.get("type")).startswith("error")
        kind = "error-text" if is_error else "text"
        return {**result.holder, result.field: {"type": kind, "value": text}}
    if _is_blocks(outcome):
        return {**result.holder, result.field: [{"type": "text", "text": text}]}
    return {**result.holder, result.field: text}


def _is_plain(outcome: Any) -> bool:
    """Whether it is a text and nothing else, so that another text may take its place."""
    if _has_value(outcome):
        value = outcome["value"]
        return outcome in ({"type": kind, "value": value} for kind in ("text", "error-text"))
    if _is_blocks(outcome):
        return len(outcome) == 1 and outcome[0] == {"type": "text", "text": outcome[0].get("text")}
    return isinstance(outcome, str)


def _has_value(outcome: Any) -> bool:
    """Whether it is an outcome in the AI SDK's newer form."""
    return isinstance(outcome, dict) and "value" in outcome


def _is_blocks(outcome: Any) -> bool:
    """Whether it is a list of parts, as in a message."""
    if not isinstance(outcome, list):
        return False
    return any(isinstance(part, dict) and isinstance(part.get("type"), str) for part in outcome)
