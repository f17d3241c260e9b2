"""``compress``: shortens the output of a tool."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from ullage import _core
from ullage._engine.arguments import require_budget


@dataclass(frozen=True)
class LeftOut:
    """The missing text at one place of a shortened text.

    Args:
        count: Number of missing units.
        unit: The unit: "lines", "characters", "records" and the like.
        lines: The first and the last line, counted from 1, as for ``ullage.retrieve``; None if the
            text has no lines, or less than a line is missing.
        errors: Number of missing units that report a failure.
    """

    count: int
    unit: str
    lines: tuple[int, int] | None = None
    errors: int = 0


@dataclass(frozen=True)
class CompressionMetadata:
    """The figures of a compression. Sizes are characters.

    Args:
        compressed: True if anything is left out.
        original_size: Characters before.
        compressed_size: Characters after.
        original_token_estimate: Tokens before, as the counter counts them.
        compressed_token_estimate: Tokens after.
        compression_ratio: Characters after for each character before; 1.0 if nothing changed.
        content_type: "json" or "text".
        n_original_keys: Keys of a JSON object, or elements of a list; None for other text.
        sample_data: The first three keys or elements, each cut to 100 characters.
    """

    compressed: bool = False
    original_size: int = 0
    compressed_size: int = 0
    original_token_estimate: int = 0
    compressed_token_estimate: int = 0
    compression_ratio: float = 0.0
    content_type: str = "unknown"
    n_original_keys: int | None = None
    sample_data: dict[str, Any] | list[Any] | None = None

    def to_indicator_json(self) -> dict[str, Any]:
        """Returns the numbers as keys for sampled JSON."""
        indicator: dict[str, Any] = {
            "_compressed": self.compressed,
            "_original_size": self.original_size,
            "_compressed_size": self.compressed_size,
            "_compression_ratio": round(self.compression_ratio, 3),
            "_type": self.content_type,
        }
        if self.n_original_keys is not None:
            indicator[f"_n_original_{self._members}"] = self.n_original_keys
        return indicator

    def to_indicator_text(self) -> str:
        """Returns the numbers as a line."""
        keys = "" if self.n_original_keys is None else f", {self.n_original_keys} {self._members}"
        return (
            f"[Compressed: {self.original_size} → {self.compressed_size} chars"
            f" ({self.compression_ratio:.1%}){keys}, type: {self.content_type}]"
        )

    @property
    def _members(self) -> str:
        return "items" if isinstance(self.sample_data, list) else "keys"


@dataclass(frozen=True)
class Compressed:
    """A text, shortened.

    Args:
        text: The kept text, with a line in each gap; the whole text if nothing is left out.
        kind: The content type: "log", "search results", "text" and the like.
        left_out: The gaps, in the order of the text.
        metadata: The same in numbers.
    """

    text: str
    kind: str
    left_out: tuple[LeftOut, ...] = ()
    metadata: CompressionMetadata = field(default_factory=CompressionMetadata)


def compress(
    text: str,
    budget: int | None = None,
    *,
    tool: str = "",
    counter: _core.TokenCounter | None = None,
    compressor: str = "content",
    lines: tuple[int, int] | None = None,
    pattern: str | None = None,
) -> Compressed:
    """Shortens tool output by content type: a log, a test run, JSON, a listing, code.

    The result is never longer. A larger budget never keeps less. Every line that reports a failure
    is kept, or counted in its gap. The same text gives the same result on every machine. O(length),
    at some hundred megabytes a second; the GIL is released.

    ``ContextManager.shrink`` does the same to a result, and adds the reference and the store.

    Args:
        text: Any text. Terminal escapes are removed, and long encoded data is described.
        budget: Tokens that may be left. None keeps the lines that a reader needs to know the
            content. Below about 50, the line about the gap may not fit.
        tool: The tool's name, a hint if the text alone is not clear.
        counter: Counts the tokens; ``TokenCounter("o200k_base")`` if none is given.
        compressor: "content", or the method of another system with its own thresholds in
            characters, which accepts no budget: "cyber-autoagent", "amplifier", "supyagent",
            "sre-agent", "sre-agent-payload", "valis".
        lines: The first and the last line of a range that comes before all others, by the numbers
            in front of the lines if the text has such numbers.
        pattern: A regular expression (Rust syntax: no look-around) for lines that come before all
            others; ignored if ``lines`` are given.

    Raises:
        PolicyError: If the compressor is unknown, or the pattern cannot be used.
        TypeError: If the text is not a string, or the budget is not a whole number.
    """
    if not isinstance(text, str):
        order = "; give the text first, then the budget" if isinstance(budget, str) else ""
        raise TypeError(f"text must be a str; got {type(text).__name__}{order}")
    require_budget(budget)
    shortened, kind, left_out, before, after = _core.compress(
        text,
        tool,
        budget,
        counter or _default_counter(),
        compressor,
        lines=lines,
        pattern=pattern,
    )
    short = text if shortened is None else shortened
    sample = _core.sample_json(text)
    metadata = CompressionMetadata(
        compressed=after < before,
        original_size=len(text),
        compressed_size=len(short),
        original_token_estimate=before,
        compressed_token_estimate=after,
        compression_ratio=len(short) / len(text) if text else 1.0,
        content_type="text" if sample is None else "json",
        n_original_keys=None if sample is None else sample[0],
        sample_data=None if sample is None else json.loads(sample[1]),
    )
    missing = tuple(LeftOut(count, unit, lines, errors) for lines, count, unit, errors in left_out)
    return Compressed(short, kind, missing, metadata)


@cache
def _default_counter() -> _core.TokenCounter:
    return _core.TokenCounter("o200k_base")
