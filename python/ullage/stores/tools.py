"""Retrieval as a tool that a model calls.

For your own host::

    tool = ullage.RetrievalTool(store)
    request = {"tools": [tool.definition("anthropic")], ...}
    answer = tool.call(block["input"])

``ullage.strands.retrieval_tool`` and ``ullage.adk.retrieval_tool`` are the same for those hosts.
"""

from __future__ import annotations

import json
import re
import reprlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ullage import _core
from ullage._core import PolicyError
from ullage._engine.arguments import require_store
from ullage._engine.reasons import error_line
from ullage._engine.steps import arun, run
from ullage._engine.suggestions import suggesting
from ullage.stores.retrieval import DEFAULT_LIMIT, retrieval, search_steps

if TYPE_CHECKING:
    from ullage._engine.steps import Steps
    from ullage.stores.protocol import Store

DESCRIPTION = (
    "Read back output that was moved out of this conversation. A line beginning with '[ullage:'"
    " names the reference it is stored as. Give the reference and, where the output is long, what"
    " part of it you need: lines, a pattern, a JSON pointer, its head or tail. Without a reference,"
    " a pattern is searched for in everything that is stored."
)

PROPERTIES: dict[str, dict[str, Any]] = {
    "reference": {
        "type": "string",
        "description": "The reference, such as read_file-3f9a0b12c4d5e6f7. Leave it out to search"
        " all stored outputs for the pattern.",
    },
    "pattern": {
        "type": "string",
        "description": "Only lines that match this regular expression (no look-around).",
    },
    "lines": {
        "type": "string",
        "description": "Only these lines, such as 120-180; counted from 1.",
    },
    "pointer": {
        "type": "string",
        "description": "Only the value in stored JSON that this JSON pointer leads to, such as"
        " /items/0/name.",
    },
    "context": {
        "type": "integer",
        "minimum": 0,
        "description": "With a pattern: the number of lines before and after each match.",
    },
    "head": {
        "type": "integer",
        "minimum": 1,
        "description": "The number of first lines to return.",
    },
    "tail": {"type": "integer", "minimum": 1, "description": "The number of last lines to return."},
}

_NUMBERS = ("context", "head", "tail")


@dataclass(frozen=True)
class Answer:
    """The tool's answer, and True if it is the requested piece."""

    text: str
    ok: bool


class _MistakeError(Exception):
    """An invalid argument, in words for the model."""


class RetrievalTool:
    """Reads stored outputs back for a model.

    Args:
        store: The store of the outputs.
        name: The name of the tool for the model.
        limit: The most characters of an answer. The default is about 5,000 tokens.

    Raises:
        PolicyError: If the store is not one.
    """

    @suggesting
    def __init__(self, store: Store, *, name: str = "retrieve", limit: int = DEFAULT_LIMIT) -> None:
        require_store(store, "get")
        self.store = store
        self.name = name
        self.limit = limit

    def __repr__(self) -> str:
        return f"RetrievalTool({self.store!r}, name={self.name!r})"

    @property
    def description(self) -> str:
        """The description that the model reads."""
        return DESCRIPTION

    @property
    def parameters(self) -> dict[str, Any]:
        """The JSON schema of the arguments. None is required: see ``reference``."""
        properties = {name: dict(schema) for name, schema in PROPERTIES.items()}
        return {"type": "object", "properties": properties, "additionalProperties": False}

    def definition(self, format: str) -> dict[str, Any]:
        """Returns the definition of the tool for a provider.

        Args:
            format: "openai" (Chat), "openai-responses", "anthropic", "bedrock" or "gemini".

        Raises:
            PolicyError: If the format is unknown.
        """
        known = {"name": self.name, "description": self.description}
        schema = self.parameters
        if format == "openai":
            return {"type": "function", "function": {**known, "parameters": schema}}
        if format == "openai-responses":
            return {"type": "function", **known, "parameters": schema, "strict": False}
        if format == "anthropic":
            return {**known, "input_schema": schema}
        if format == "bedrock":
            return {"toolSpec": {**known, "inputSchema": {"json": schema}}}
        if format == "gemini":
            return {"function_declarations": [{**known, "parameters_json_schema": schema}]}
        raise PolicyError(
            f"format: unknown format {format!r}; use openai, openai-responses, anthropic, bedrock"
            " or gemini"
        )

    def call(self, arguments: Any) -> str:
        """Answers a call of the model. Never raises; the answer explains any mistake.

        Args:
            arguments: The model's arguments: a dict, or JSON text.
        """
        return self.answer(arguments).text

    async def acall(self, arguments: Any) -> str:
        """:meth:`call` without blocking the event loop, for any store."""
        return (await self.aanswer(arguments)).text

    def answer(self, arguments: Any) -> Answer:
        """:meth:`call`, with True if it succeeded."""
        return run(self._answer_steps(arguments))

    async def aanswer(self, arguments: Any) -> Answer:
        """:meth:`acall`, with True if it succeeded."""
        return await arun(self._answer_steps(arguments))

    def _answer_steps(self, arguments: Any) -> Steps[Answer]:
        try:
            asked = _read(arguments)
            reference = asked.pop("reference", None)
            if reference is None:
                found = yield from search_steps(self.store, **_for_search(asked), limit=self.limit)
            else:
                found = yield from retrieval(self.store, reference, **asked, limit=self.limit)
            return Answer(found, ok=True)
        except Exception as error:  # noqa: BLE001 - the model hears of it, whatever it is
            return _failure(error)


def _failure(error: Exception) -> Answer:
    if isinstance(error, (_MistakeError, _core.UllageError)):
        return Answer(f"Error: {error}", ok=False)
    return Answer(f"Error: {error_line(error)}", ok=False)


def _for_search(asked: dict[str, Any]) -> dict[str, Any]:
    if "pattern" not in asked:
        raise _MistakeError("give a reference, or a pattern to search all stored outputs for")
    if narrower := sorted(asked.keys() - {"pattern", "context"}):
        raise _MistakeError(f"{', '.join(narrower)}: only together with a reference")
    return asked


def _read(arguments: Any) -> dict[str, Any]:
    """Returns the given arguments, converted, because models write numbers as text."""
    if isinstance(arguments, (str, bytes)):
        try:
            arguments = json.loads(arguments or "{}")
        except ValueError as error:
            raise _MistakeError(f"the arguments are not JSON: {error}") from error
        except RecursionError as error:
            raise _MistakeError("the arguments are nested too deeply: give an object") from error
    if arguments is None:
        arguments = {}
    if not isinstance(arguments, Mapping):
        raise _MistakeError(f"the arguments are a {type(arguments).__name__}, not an object")
    asked: dict[str, Any] = {}
    for name, value in arguments.items():
        if name not in PROPERTIES:
            near = ", ".join(_core.nearest(str(name), list(PROPERTIES)))
            raise _MistakeError(f"unknown argument {str(name)[:80]!r}; the nearest: {near}")
        # An empty pointer is the whole content, like no pointer.
        if value is None or value == "":
            continue
        asked[name] = _value(name, value)
    return asked


def _value(name: str, value: Any) -> Any:
    if name in _NUMBERS:
        return _number(name, value)
    if name == "lines":
        return _lines(value)
    if not isinstance(value, str):
        raise _MistakeError(f"{name}: it is a {type(value).__name__}, not a text")
    if name == "reference":
        # Models also pass the whole line that names the reference.
        found = _core.references_in(value)
        return found[0] if len(found) == 1 else value
    return value


def _number(name: str, value: Any) -> int:
    try:
        number = int(value)
    except (TypeError, ValueError, OverflowError):
        raise _MistakeError(f"{name}: {reprlib.repr(value)} is not a whole number") from None
    if number < 0:
        raise _MistakeError(f"{name}: the number is below zero")
    return number


def _lines(value: Any) -> tuple[int, int]:
    if isinstance(value, str):
        value = re.findall(r"\d+", value) if re.fullmatch(r"[\s\d\-–:,.\[\]()]+", value) else None  # noqa: RUF001 - models write it
    elif isinstance(value, int):
        value = [value]
    if not isinstance(value, (list, tuple)) or len(value) not in {1, 2}:
        raise _MistakeError("lines: give the first and the last, such as 120-180")
    first, last = _number("lines", value[0]), _number("lines", value[-1])
    return first, last
