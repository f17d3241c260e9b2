"""Layer 1 of the cascade: large tool results and inputs, compressed one message at a time."""

from __future__ import annotations

import json
import re
from itertools import accumulate, islice
from typing import Any

from ullage.compression import CompressionMetadata
from ullage.strands.history import map_items
from ullage.strands.settings import (
    DEFAULT_CHAR_TO_TOKEN_RATIO,
    TOOL_COMPRESS_SAMPLE_CHARS,
    TOOL_COMPRESS_SAMPLES,
    TOOL_COMPRESS_THRESHOLD,
    CascadeSettings,
)

# The words of Cyber-AutoAgent, its dash and its arrow included.
_NOTE_FORM = "[compressed tool result \u2013 {size} chars \u2192 threshold {threshold}]"
_NOTE = re.compile(r"\[compressed tool result \u2013 \d+ chars \u2192 threshold \d+\]")
_ENDING = re.compile(r"\A\.\.\. \[truncated from \d+ chars\]\Z")


class LargeToolResultMapper:
    """Compresses the large tool results and tool inputs of a message.

    A text keeps its head. A JSON object keeps its first keys, a JSON list its first elements, each
    with its size in front of it. A text that is JSON, as Strands writes what a tool returns, is
    sampled like JSON and stays text. A tool's input keeps its shape: only strings in it are cut, so
    that it still fits the schema of the tool.

    A compressed message is a copy. A message with nothing to compress is the same object, also if
    it was compressed before. The mapper keeps no state, so it may serve many threads.

    Args:
        max_tool_chars: A result or an input of more characters is compressed.
        truncate_at: Characters that stay of its content; ``CYBER_TOOL_COMPRESS_TRUNCATE`` or 8,000
            if not given.
        sample_limit: Keys or elements that stay of JSON.
    """

    def __init__(
        self,
        max_tool_chars: int = TOOL_COMPRESS_THRESHOLD,
        truncate_at: int | None = None,
        sample_limit: int = TOOL_COMPRESS_SAMPLES,
    ) -> None:
        if truncate_at is None:
            truncate_at = CascadeSettings.from_env().tool_compress_truncate
        self.max_tool_chars = max(0, max_tool_chars)
        self.truncate_at = max(0, truncate_at)
        self.sample_limit = max(0, sample_limit)

    def __call__(self, message: Any, index: int, messages: Any) -> Any:  # noqa: ARG002 - Strands' protocol
        """Returns the message with its large results and inputs compressed.

        Args:
            message: A message of Strands.
            index: Its place.
            messages: All of them.

        Returns:
            The same object where nothing is too large.
        """
        content = message.get("content") if isinstance(message, dict) else None
        if not isinstance(content, list):
            return message
        new = map_items(self._map_block, content)
        return message if new is content else {**message, "content": new}

    @property
    def settings(self) -> tuple[int, int, int]:
        """The values of its arguments, which alone decide how a message is compressed."""
        return self.max_tool_chars, self.truncate_at, self.sample_limit

    def is_large(self, message: Any) -> bool:
        """Returns True if a message has a result or an input that it would compress."""
        return self(message, 0, (message,)) is not message

    def _map_block(self, block: Any) -> Any:
        if isinstance(block, dict):
            for name, compress in (("toolResult", self._result), ("toolUse", self._call)):
                if isinstance(value := block.get(name), dict):
                    new = compress(value)
                    return block if new is value else {**block, name: new}
        return block

    def _result(self, result: dict[str, Any]) -> dict[str, Any]:
        content = result.get("content")
        if not isinstance(content, list):
            return result
        sizes = [_size(item) for item in content]
        total = sum(sizes)
        if total <= self.max_tool_chars or _is_note(content[0]):
            return result
        note = {"text": _NOTE_FORM.format(size=total, threshold=self.max_tool_chars)}
        items = zip(content, sizes, self._shares(sizes), strict=True)
        new = [note, *(new for item in items for new in self._item(*item))]
        if sum(map(_size, new)) >= total:
            # Many short items: what says of each that it was cut takes more than the cut gives.
            new = [note, *self._first(content, sizes), {"text": _ending(total)}]
        return {**result, "content": new} if sum(map(_size, new)) < total else result

    def _first(self, content: list[Any], sizes: list[int]) -> list[Any]:
        """Returns the first items that fit, and all media."""
        sums = accumulate(sizes)
        items = zip(content, sizes, sums, strict=True)
        return [item for item, size, end in items if end <= self.truncate_at or size == 0]

    def _shares(self, sizes: list[int]) -> list[int]:
        """Returns the characters that each item keeps within the limit; small items stay whole."""
        shares = [0] * len(sizes)
        left = self.truncate_at
        smallest_first = sorted(range(len(sizes)), key=sizes.__getitem__)
        for done, place in enumerate(smallest_first):
            shares[place] = min(sizes[place], left // (len(sizes) - done))
            left -= shares[place]
        return shares

    def _item(self, item: Any, size: int, share: int) -> list[Any]:
        """Returns the compressed item of a result, as one block or two."""
        if size <= share:
            return [item]
        text = item.get("text")
        if not isinstance(text, str):
            note, sample = self._sample(item["json"], size, share)
            return [note, {**item, "json": sample}]
        if (value := _parse_json(text)) is None:
            return [{**item, "text": _cut(text, share)}]
        note, sample = self._sample(value, size, share)
        return [note, {**item, "text": json.dumps(sample, ensure_ascii=False)}]

    def _sample(self, value: Any, size: int, share: int) -> tuple[Any, dict[str, Any]]:
        """Returns a block that tells how JSON was compressed, and a sample of the JSON."""
        sample: dict[str, Any] | list[Any]
        if isinstance(value, dict):
            shown = islice(value.items(), self.sample_limit)
            sample = {str(key): _clip(each, TOOL_COMPRESS_SAMPLE_CHARS) for key, each in shown}
        elif isinstance(value, list):
            longest = max(TOOL_COMPRESS_SAMPLE_CHARS, share // max(1, self.sample_limit))
            sample = [_clip(each, longest) for each in value[: self.sample_limit]]
        else:
            sample = [_clip(value, share)]
        new_size = len(_text_of(sample))
        metadata = CompressionMetadata(
            compressed=True,
            original_size=size,
            compressed_size=new_size,
            original_token_estimate=int(size / DEFAULT_CHAR_TO_TOKEN_RATIO),
            compressed_token_estimate=int(new_size / DEFAULT_CHAR_TO_TOKEN_RATIO),
            compression_ratio=new_size / size,
            content_type="json",
            n_original_keys=len(value) if isinstance(value, (dict, list)) else None,
            sample_data=sample,
        )
        kept = sample if isinstance(sample, dict) else {"_items": sample}
        return {"text": metadata.to_indicator_text()}, {**kept, **metadata.to_indicator_json()}

    def _call(self, call: dict[str, Any]) -> dict[str, Any]:
        given = call.get("input")
        size = len(str(call.get("name"))) + len(str(call.get("toolUseId"))) + len(_text_of(given))
        if size <= self.max_tool_chars or not isinstance(given, (dict, list)):
            return call
        new = self._shorten(given)
        return call if new is given else {**call, "input": new}

    def _shorten(self, value: Any) -> Any:
        """Returns the value, or a copy of the same shape if a string in it is too long."""
        if isinstance(value, str):
            was_cut = _ENDING.search(value[self.truncate_at :])
            return value if was_cut else _cut(value, self.truncate_at)
        if isinstance(value, dict):
            values = {key: self._shorten(each) for key, each in value.items()}
            return value if all(values[key] is value[key] for key in value) else values
        if isinstance(value, list):
            return map_items(self._shorten, value)
        return value


def _parse_json(text: str) -> Any:
    """Returns the object or list of a JSON text, or None if the text is not JSON."""
    if not text.lstrip().startswith(("{", "[")):
        return None
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _is_note(item: Any) -> bool:
    text = item.get("text") if isinstance(item, dict) else None
    return isinstance(text, str) and _NOTE.fullmatch(text) is not None


def _size(item: Any) -> int:
    """Returns the characters of an item of a result; media have none."""
    if not isinstance(item, dict):
        return 0
    if isinstance(text := item.get("text"), str):
        return len(text)
    return len(_text_of(item["json"])) if "json" in item else 0


def _text_of(value: Any) -> str:
    try:
        return value if isinstance(value, str) else str(value)
    except RecursionError:
        # Nested so deeply that nobody can print it: it is large, whatever it says.
        return "(nested too deeply) " * TOOL_COMPRESS_THRESHOLD


def _clip(value: Any, most: int) -> Any:
    printed = _text_of(value)
    return value if len(printed) <= most else printed[:most] + "..."


def _cut(text: str, most: int) -> str:
    ending = _ending(len(text))
    return text if len(text) <= most + len(ending) else text[:most] + ending


def _ending(size: int) -> str:
    return f"... [truncated from {size} chars]"
