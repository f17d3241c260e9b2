"""What a summary is to stand for, and what stays behind it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import ullage
from ullage.valis.files import FilesystemBackend, write
from ullage.valis.summarizing import format_of, said_in

if TYPE_CHECKING:
    from collections.abc import Callable

_RESULTS = frozenset({"tool-result", "tool_result"})


@dataclass(frozen=True)
class Cut:
    """A conversation in parts.

    Attributes:
        system: The system messages that it begins with.
        going: What a summary is to stand for; the first request too, so that it is in it.
        staying: The newest messages.
        task: The first request, where it is among those that go.
    """

    system: list[Any]
    going: list[Any]
    staying: list[Any]
    task: Any


def cut(messages: list[Any], recent: int, count: Callable[[Any], int]) -> Cut:
    """The conversation in parts: what is newest takes about ``recent`` tokens.

    At least the newest message stays, with the call that it answers and the results beside it. A
    summary at the beginning is no system message: the next goes on from it.
    """
    begin = 0
    while begin < len(messages) and _is_system(messages[begin]):
        begin += 1
    end, room = len(messages), recent
    while end > begin:
        room -= count(messages[end - 1])
        if room < 0:
            break
        end -= 1
    end = min(max(end, begin), max(begin, len(messages) - 1))
    forward = end
    while forward < len(messages) and _answers(messages[forward]):
        forward += 1
    # Behind the results, if something is left there; else in front of their call.
    while forward == len(messages) and end > begin and _answers(messages[end]):
        end -= 1
    end = forward if forward < len(messages) else end
    going = messages[begin:end]
    task = next((m for m in going if _role(m) == "user" and not _answers(m)), None)
    return Cut(messages[:begin], going, messages[end:], task)


class _Files:
    """A store of the engine over a backend that only writes."""

    def __init__(self, backend: FilesystemBackend) -> None:
        self._backend = backend
        self._kept: dict[str, bytes] = {}

    def put(self, content: bytes, *, reference: str, tool: str | None = None) -> str:  # noqa: ARG002
        text = content.decode("utf-8", "replace")
        write(self._backend, f"/tool_outputs/{reference}.txt", text)
        self._kept[reference] = content
        return reference

    def get(self, reference: str) -> bytes:
        try:
            return self._kept[reference]
        except KeyError:
            raise ullage.StoreError(f"{reference} was not written here") from None


def fitted(
    messages: list[Any], most: int, counter: ullage.TokenCounter, backend: FilesystemBackend
) -> list[Any]:
    """The messages, their results shortened by the engine where even the newest are too long."""
    settings = ullage.Policy.preset("valis").to_dict()
    settings |= {"low": 1.0, "high": 1.0, "escalate": 1.0, "marks": "ullage"}
    settings["stages"] = ["offload", "prune", "window"]
    policy = ullage.Policy.from_dict(settings)
    engine = ullage.ContextManager(
        policy, counter=counter, store=_Files(backend), format=format_of(messages)
    )
    return engine.view(messages, budget=most)


def _role(message: Any) -> Any:
    return message.get("role") if isinstance(message, dict) else None


def _is_system(message: Any) -> bool:
    return _role(message) == "system" and said_in(message) is None


def _answers(message: Any) -> bool:
    """Whether a message holds results, which belong to the call before it."""
    if _role(message) == "tool":
        return True
    content = message.get("content") if isinstance(message, dict) else None
    parts = content if isinstance(content, list) else []
    answers = any(isinstance(part, dict) and part.get("type") in _RESULTS for part in parts)
    return answers and _role(message) == "user"
