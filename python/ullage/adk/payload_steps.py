"""The ways to say what is in a large result, in the order in which they are tried."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from ullage._core import TokenCounter
from ullage.adk.analysis import as_json
from ullage.adk.sandbox import SandboxError
from ullage.compression import compress

if TYPE_CHECKING:
    from google.adk.tools.tool_context import ToolContext

    from ullage._core import Payload
    from ullage.adk.payload_storage import Stored
    from ullage.adk.sandbox import Sandbox

# Characters that are left of a text: as many as of one item that is shown as a sample.
_TEXT = 2_000
_CHARACTERS = TokenCounter.with_ratio(1)

# Tokens that are left of statistics that are longer: 2 % of a window of 200,000.
_STATISTICS_TOKENS = 4_000

# Characters of statistics that need no shortening; four thousand tokens, as JSON of numbers counts.
_STATISTICS = 12_000


# What a sandbox runs: the same survey, with samples where the kind of data is unknown.
_PROGRAM = """
import json
import ullage
from ullage._core import Payload
kind, payload = {kind!r}, Payload(data)
said = json.loads(payload.survey(kind))
text = payload.text
if text is not None:
    excerpt = ullage.compress(text, {length}, counter=ullage.TokenCounter.with_ratio(1))
    said.update(total_count=text.count("\\n") + 1, excerpt=excerpt.text)
elif kind is None:
    said.update(json.loads(payload.sample()))
print(json.dumps(said))
"""

# What Python says where the sandbox does not have ullage.
NO_ULLAGE = "No module named 'ullage"


@dataclass(frozen=True)
class Handled:
    """What stands for a result.

    Args:
        mode: How it was made.
        result: What it is.
        template: The kind of data that it was made for.
    """

    mode: str
    result: Any
    template: str | None = None


@dataclass(frozen=True)
class Step:
    """What a step works with.

    Args:
        tool: The tool.
        payload: What it returned.
        kind: What the tool is known to return.
        stored: Where it is.
        sandbox: What runs code.
        tool_context: The context of the call.
        retrieval: What the retrieval tool is called.
        analysis: What the analysis tool is called, where there is one.
        is_surveyed_here: Whether the sandbox is known to have no ullage.
    """

    tool: str
    payload: Payload
    kind: str | None
    stored: Stored
    sandbox: Sandbox | None
    tool_context: ToolContext
    retrieval: str
    analysis: str | None
    is_surveyed_here: bool

    @property
    def shape(self) -> str | None:
        """What the data is, where that is known: by its rows, and else by the tool."""
        if self.payload.text is not None:
            return None
        own = self.payload.kind
        return self.kind if own == "other" else own


Way: TypeAlias = Callable[[Step], Awaitable[Handled]]


def steps(step: Step) -> list[Way]:
    """The ways to try, the best first."""
    known = step.shape is not None
    ways: list[Way] = []
    if step.sandbox is not None and not step.is_surveyed_here:
        ways.append(_in_sandbox)
    if known:
        ways.append(_statistics)
    ways.append(_code_generation)
    return ways


async def _in_sandbox(step: Step) -> Handled:
    """The core's survey, made where the user lets code run. It has to have ullage."""
    template = None if step.shape == "several" else step.shape
    if step.sandbox is None:
        raise SandboxError("there is none")
    data, _ = step.payload.stored()
    code = _PROGRAM.format(kind=template, length=_TEXT)
    printed = await step.sandbox.run(code, as_json(data), step.tool_context)
    said = _bounded(json.loads(printed))
    if template is None:
        return Handled("generic_sandbox", said)
    return Handled("template_sandbox", said, template)


async def _statistics(step: Step) -> Handled:
    """Statistics by the core, for known kinds of data."""
    # The core lets other threads go on meanwhile; so does the event loop.
    said = json.loads(await asyncio.to_thread(step.payload.survey, step.kind))
    kinds = {part["kind"] for part in said.get("parts", {"": said}).values()}
    if kinds == {"other"}:
        raise ValueError(f"no rows of {step.kind}")
    return Handled("template_core", _bounded(said), said["kind"])


async def _code_generation(step: Step) -> Handled:
    """A sample, a schema and how the fields are distributed, and how to ask for more."""
    text = step.payload.text
    if text is not None:
        lines = text.count("\n") + 1
        excerpt = await asyncio.to_thread(compress, text, _TEXT, counter=_CHARACTERS)
        said: dict[str, Any] = {
            "total_count": lines,
            "schema_hint": f"text of {lines:,} lines",
            "excerpt": excerpt.text,
        }
    else:
        said = json.loads(step.payload.sample())
        survey = json.loads(await asyncio.to_thread(step.payload.survey))
        said["shape"] = shape = survey.pop("shape")
        if not said["schema_hint"]:
            # Rows without fields, such as the numbers of a dict by name.
            said["schema_hint"] = f"{shape['type']} of {shape['length']:,} values: {shape['of']}"
        said["field_distribution"] = _bounded(survey.pop("fields", survey))
    said["code_generation_prompt"] = _prompt(step, text)
    return Handled("code_generation_prompt", said)


def _bounded(said: Any) -> Any:
    """Statistics, shorter where there are too many."""
    written = json.dumps(said, ensure_ascii=False)
    if len(written) <= _STATISTICS:
        return said
    return compress(written, _STATISTICS_TOKENS).text


def _prompt(step: Step, text: str | None) -> str:
    """How to get at the whole, in words for the model."""
    size = f"{step.payload.items:,} items, {step.payload.chars:,} characters"
    opening = f"The full result of {step.tool} ({size}) is too large for the context; above is a"
    lines = [f"{opening} sample. Nothing is lost: it is stored."]
    reference = step.stored.reference
    if step.analysis is not None and reference is not None:
        data = "the text as a str" if text is not None else "the parsed JSON"
        lines.append(
            f"To analyze all of it, write Python code that finds `data` ({data}), computes what you"
            f" need (counts, groups, percentiles, outliers) and prints it, and call"
            f" {step.analysis}(reference={reference!r}, analysis_code=...)."
        )
    if reference is not None:
        by_row = "line by line" if text is not None else "a line for each row, or by JSON pointer"
        lines.append(
            f"To read parts of it, call {step.retrieval}(reference={reference!r}, ...) with a"
            f" pattern, lines, head or tail: {by_row}."
        )
    elif step.stored.artifact is not None:
        lines.append(f"It is saved as the artifact {step.stored.artifact[0]!r} of this session.")
    return "\n".join(lines)
