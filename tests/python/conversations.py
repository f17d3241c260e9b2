"""One abstract conversation, rendered in every wire format, and strategies that make them.

Nothing here uses ullage: what a test expects must not come from what it tests.
"""

from __future__ import annotations

import base64
import json
import struct
import zlib
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from hypothesis import strategies as st

if TYPE_CHECKING:
    from collections.abc import Iterator

FORMATS = ("bedrock", "anthropic")


def _png() -> bytes:
    """A real picture of one pixel."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        body = kind + data
        return struct.pack(">I", len(data)) + body + struct.pack(">I", zlib.crc32(body))

    header = struct.pack(">IIBBBBB", 1, 1, 8, 0, 0, 0, 0)
    pixels = chunk(b"IDAT", zlib.compress(b"\0\0"))
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + pixels + chunk(b"IEND", b"")


PNG = _png()


@dataclass(frozen=True)
class Text:
    text: str


@dataclass(frozen=True)
class Thinking:
    text: str


@dataclass(frozen=True)
class Image:
    pass


@dataclass(frozen=True)
class Unknown:
    payload: str


@dataclass(frozen=True)
class Json:
    value: Any


@dataclass(frozen=True)
class Call:
    id: str
    name: str
    input: Any


@dataclass(frozen=True)
class Result:
    id: str
    items: tuple[Text | Json | Image, ...]
    plain: bool = False  # its content is a string, where its one item is a text


@dataclass(frozen=True)
class Message:
    role: str
    blocks: tuple[Any, ...]
    pinned: bool = False
    plain: bool = False  # its content is a string, where its one block is a text


Conversation = tuple[Message, ...]


def compact_json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def render(conversation: Conversation, format: str) -> list[Any]:
    block = _bedrock if format == "bedrock" else _anthropic
    messages = []
    for number, message in enumerate(conversation):
        content: Any = [block(part) for part in message.blocks]
        if message.plain and format == "anthropic" and _is_one_text(message.blocks):
            content = message.blocks[0].text
        rendered = {"role": message.role, "content": content, "x_host": {"number": number}}
        if message.pinned:
            rendered["metadata"] = {"custom": {"pinned": True, "by": "the user"}}
        messages.append(rendered)
    return messages


def _is_one_text(blocks: tuple[Any, ...]) -> bool:
    return len(blocks) == 1 and isinstance(blocks[0], Text)


def _bedrock(part: Any) -> Any:  # noqa: PLR0911 - one return for each kind
    match part:
        case Text(text):
            return {"text": text}
        case Thinking(text):
            return {"reasoningContent": {"reasoningText": {"text": text, "signature": "c2lnbmVk"}}}
        case Image():
            return {"image": {"format": "png", "source": {"bytes": PNG}}}
        case Unknown(payload):
            return {"blockOfTheFuture": {"payload": payload}}
        case Json(value):
            return {"json": value}
        case Call():
            return {"toolUse": {"toolUseId": part.id, "name": part.name, "input": part.input}}
        case Result():
            content: Any = [_bedrock(item) for item in part.items]
            return {"toolResult": {"toolUseId": part.id, "status": "success", "content": content}}
    raise AssertionError(part)


def _anthropic(part: Any) -> Any:  # noqa: PLR0911
    match part:
        case Text(text):
            return {"type": "text", "text": text}
        case Thinking(text):
            return {"type": "thinking", "thinking": text, "signature": "c2lnbmVk"}
        case Image():
            data = base64.b64encode(PNG).decode()
            source = {"type": "base64", "media_type": "image/png", "data": data}
            return {"type": "image", "source": source}
        case Unknown(payload):
            return {"type": "block_of_the_future", "payload": payload}
        case Json(value):
            return {"type": "text", "text": compact_json(value)}
        case Call():
            return {"type": "tool_use", "id": part.id, "name": part.name, "input": part.input}
        case Result():
            content: Any = [_anthropic(item) for item in part.items]
            if part.plain and _is_one_text(part.items):
                content = part.items[0].text  # type: ignore[union-attr]
            return {"type": "tool_result", "tool_use_id": part.id, "content": content}
    raise AssertionError(part)


# Strategies.

_WORDS = (
    "alpha",
    "Beta",
    "<|endoftext|>",
    "中文字",
    "\ud800",
    "naïve",
    "{}",
    "a b\tc",
    "x1,234",
    "😀",
)


def texts(words: st.SearchStrategy[int]) -> st.SearchStrategy[str]:
    """A text of about so many words, in lines of ten."""

    def build(word: str, count: int, mark: int) -> str:
        spelled = [f"{word}{mark}{i if i % 3 else ''}" for i in range(count)]
        return "\n".join(" ".join(spelled[i : i + 10]) for i in range(0, count, 10))

    return st.builds(build, st.sampled_from(_WORDS), words, st.integers(0, 99))


_SHORT = texts(st.integers(1, 12))
_OUTPUT = texts(st.sampled_from((0, 1, 5, 60, 300, 1200)))
_VALUES = st.one_of(
    st.builds(
        lambda rows, cell: [{"row": i, "cell": cell} for i in range(rows)],
        st.sampled_from((0, 3, 80)),
        _SHORT,
    ),
    st.dictionaries(
        st.sampled_from(("a", "b", "ключ")),
        st.one_of(st.none(), st.booleans(), st.integers(), _SHORT),
    ),
)
_ITEMS = st.one_of(
    st.builds(Text, _OUTPUT),
    st.builds(Text, _OUTPUT),
    st.builds(Json, _VALUES),
    st.just(Image()),
)


@st.composite
def conversations(
    draw: st.DrawFn,
    turns: int = 3,
    *,
    unknown: bool = True,
    pins: bool = True,
    thinking_answers: bool = False,
    in_a_row: bool = False,
) -> Conversation:
    """Whole conversations, which every provider takes; so is every prefix that ends with the user.

    With ``in_a_row`` there are messages of one role behind each other, which Bedrock refuses.
    """
    messages: list[Message] = []
    calls = 0

    def add(role: str, *blocks: Any) -> None:
        pinned = pins and draw(st.integers(0, 9)) == 0
        messages.append(Message(role, blocks, pinned, plain=draw(st.booleans())))

    for _ in range(draw(st.integers(1, turns))):
        request: list[Any] = [Text(draw(_SHORT))]
        if draw(st.integers(0, 4)) == 0:
            request.append(Image())
        if unknown and draw(st.integers(0, 6)) == 0:
            request.append(Unknown(draw(_SHORT)))
        add("user", *request)
        for round_number in range(draw(st.integers(0, 4))):
            answer: list[Any] = []
            if draw(st.integers(0, 2 if round_number == 0 else 5)) == 0:
                answer.append(Thinking(draw(_SHORT)))
            if draw(st.booleans()):
                answer.append(Text(draw(_SHORT)))
            results: list[Any] = []
            for _ in range(draw(st.integers(1, 3))):
                calls += 1
                arguments = {"path": draw(_SHORT), "n": calls}
                answer.append(
                    Call(f"call-{calls}", draw(st.sampled_from(("read_file", "Grep"))), arguments)
                )
                items = tuple(draw(st.lists(_ITEMS, min_size=0, max_size=2)))
                results.append(Result(f"call-{calls}", items, plain=draw(st.booleans())))
            add("assistant", *answer)
            add("user", *draw(st.permutations(results)))
        thinks = thinking_answers and draw(st.booleans())
        add("assistant", *([Thinking(draw(_SHORT))] if thinks else []), Text(draw(_SHORT)))
    return tuple(_apart(draw, messages) if in_a_row else messages)


def _apart(draw: st.DrawFn, messages: list[Message]) -> Iterator[Message]:
    """The same messages, some of them in two, or with words of the same role behind them."""
    for message in messages:
        before_calls = [b for b in message.blocks if not isinstance(b, Call)]
        # A call of Chat is answered by the very next message, so nothing is parted behind one.
        most = len(message.blocks) - 1 if message.role == "user" else len(before_calls)
        choice = draw(st.integers(0, 9))
        if choice == 0 and 0 < most < len(message.blocks):
            at = draw(st.integers(1, most))
            yield replace(message, blocks=message.blocks[:at])
            yield replace(message, blocks=message.blocks[at:])
            continue
        yield message
        if choice == 1 and len(before_calls) == len(message.blocks):
            yield Message(message.role, (Text(draw(_SHORT)),))


def long_conversation(rounds: int, words: int = 300, *, parallel: int = 1) -> Conversation:
    """A plain example: a task, then rounds of calls whose results are long."""
    messages = [Message("user", (Text("The first task: audit everything."),))]
    for i in range(rounds):
        ids = [f"call-{i}-{k}" for k in range(parallel)]
        calls = [Call(identifier, "read_file", {"path": f"{identifier}.txt"}) for identifier in ids]
        messages.append(Message("assistant", (Text(f"Step {i}."), *calls)))
        messages.append(
            Message(
                "user",
                tuple(Result(n, (Text(" ".join(f"{n}w{k}" for k in range(words))),)) for n in ids),
            )
        )
    return tuple(messages)
