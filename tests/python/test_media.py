"""Pictures and files count by their size, whatever object of Python holds them."""

from __future__ import annotations

import base64
import struct
from types import SimpleNamespace
from typing import Any

import pytest

import ullage

from .conversations import PNG

# A picture of 1,024 pixels squared: four tiles after scaling to 768 (OpenAI's own example).
TOKENS = 85 + 4 * 170
FRAME = 8


def sized_png(width: int, height: int) -> bytes:
    return PNG[:16] + struct.pack(">II", width, height) + PNG[24:]


JPEG = (
    b"\xff\xd8"
    b"\xff\xe1\xff\xff" + b"E" * 65_533  # EXIF, as long as a segment may be.
    + b"\xff\xc0\x00\x11\x08" + struct.pack(">HH", 1024, 1024) + b"\x03" + b"\x01\x22\x00" * 3
    + b"\xff\xd9"
)  # fmt: skip
GIF = b"GIF89a" + struct.pack("<HH", 1024, 1024) + b"\x80\x00\x00" + b"\0" * 6 + b";"
WEBP = b"RIFF\x1a\0\0\0WEBPVP8L\x0d\0\0\0\x2f" + struct.pack("<I", 1023 | 1023 << 14) + b"\0" * 8
PICTURES = [
    pytest.param(sized_png(1024, 1024), id="png"),
    pytest.param(JPEG, id="jpeg"),
    pytest.param(GIF, id="gif"),
    pytest.param(WEBP, id="webp"),
]


class Dump(bytes):
    """Bytes of the host's own kind."""


def holders(kind: str, data: bytes) -> dict[str, dict[str, Any]]:
    text = base64.b64encode(data).decode()
    url = f"data:application/octet-stream;base64,{text}"
    bedrock: dict[str, Any] = {
        "bytes": data,
        "bytearray": bytearray(data),
        "own-bytes": Dump(data),
        "stored": {"__bytes_encoded__": True, "data": text},
        "base64": text,
    }
    anthropic: dict[str, Any] = {
        "anthropic": {"type": "base64", "media_type": "x/y", "data": text},
        "anthropic-url": {"type": "url", "url": url},
        "anthropic-bytes": {"type": "base64", "media_type": "x/y", "data": data},
    }
    return {name: {kind: {"source": {"bytes": held}}} for name, held in bedrock.items()} | {
        name: {"type": kind, "source": source} for name, source in anthropic.items()
    }


def count(block: Any, counter: ullage.TokenCounter | None = None) -> int:
    counter = counter or ullage.TokenCounter()
    return counter.count_messages([{"role": "user", "content": [block]}])


@pytest.mark.parametrize("holder", holders("image", b""))
@pytest.mark.parametrize("data", PICTURES)
def test_a_picture_counts_by_its_dimensions_whoever_holds_it(data: bytes, holder: str) -> None:
    assert count(holders("image", data)[holder]) == TOKENS + FRAME


def test_a_picture_in_a_tool_result_counts_the_same() -> None:
    for name, item in holders("image", JPEG).items():
        block: dict[str, Any] = (
            {"type": "tool_result", "tool_use_id": "a", "content": [item]}
            if name.startswith("anthropic")
            else {"toolResult": {"toolUseId": "a", "content": [item]}}
        )
        assert count(block) == ullage.count_tokens("a") + TOKENS + FRAME, name


def test_a_picture_held_by_an_object_counts_the_same() -> None:
    source = SimpleNamespace(
        type="base64", media_type="image/gif", data=base64.b64encode(GIF).decode()
    )
    assert count(SimpleNamespace(type="image", source=source)) == TOKENS + FRAME


@pytest.mark.parametrize(
    ("model", "tokens"),
    [
        pytest.param("claude-sonnet-4-5", 37 * 37, id="claude"),
        pytest.param("claude-opus-4-7", 37 * 37, id="claude-that-sees-more"),
        pytest.param("gpt-4o", TOKENS, id="tiles"),
        pytest.param("gemini-2.5-pro", 4 * 258, id="crops"),
        pytest.param("some-model", 37 * 37, id="unknown"),
    ],
)
def test_the_rule_is_that_of_the_model(model: str, tokens: int) -> None:
    counter = ullage.TokenCounter.for_model(model)
    elsewhere = {"type": "image", "source": {"type": "url", "url": "https://example.org/"}}
    frame = count(elsewhere, counter) - 1600
    assert count(holders("image", GIF)["bytes"], counter) == tokens + frame


def test_a_picture_that_changes_in_place_is_counted_anew() -> None:
    counter = ullage.TokenCounter()
    held = bytearray(sized_png(100, 100))
    messages = [{"role": "user", "content": [{"image": {"source": {"bytes": held}}}]}]
    assert counter.count_messages(messages) == 255 + FRAME
    held[16:24] = struct.pack(">II", 1024, 1024)
    assert counter.count_messages(messages) == TOKENS + FRAME
    held.clear()
    assert counter.count_messages(messages) == 1600 + FRAME


@pytest.mark.parametrize("holder", holders("document", b""))
def test_the_words_of_a_file_count_as_words(holder: str) -> None:
    words = "größe,weight\n1,2\n" * 50
    block = holders("document", words.encode())[holder]
    assert count(block) == ullage.count_tokens(words) + FRAME


def test_what_is_said_about_a_file_counts_too() -> None:
    source = {"type": "text", "media_type": "text/plain", "data": "some words"}
    block = {"type": "document", "title": "a title", "context": "its context", "source": source}
    texts = ("some words", "a title", "its context")
    assert count(block) == sum(map(ullage.count_tokens, texts)) + FRAME


@pytest.mark.parametrize("holder", holders("document", b""))
def test_a_pdf_counts_by_its_pages(holder: str) -> None:
    drawn = b"9 0 obj<</Length 9>>stream\n(a page)'\nendstream endobj\n" * 12
    pdf = b"%PDF-1.4\n1 0 obj<</Linearized 1/L 9/O 3/N 12/T 5>>endobj\n" + drawn + b"%%EOF"
    assert count(holders("document", pdf)[holder]) == 12 * 3000 + FRAME


def test_a_conversation_full_of_pictures_fits_by_their_size() -> None:
    """At 1,600 tokens each the same pictures would have been over the budget."""
    picture = {"image": {"format": "png", "source": {"bytes": sized_png(64, 64)}}}
    messages = [
        {
            "role": role,
            "content": [{"text": "look"}, picture] if role == "user" else [{"text": "ok"}],
        }
        for _ in range(40)
        for role in ("user", "assistant")
    ]
    manager = ullage.ContextManager(ullage.Policy(window=32_000))
    before = list(messages)
    manager.compact(messages)
    assert messages == before
