"""Calls of unknown tools as command lines."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Iterator, Mapping
from types import ModuleType
from typing import Any

from strands.tools import PythonAgentTool
from strands.types.tools import AgentTool

# Inputs that hold a command line already, and those that stand alone on one.
_OPTIONS = ("options", "args", "arguments", "flags")
_TARGETS = ("target", "host", "url", "ip")
_OPTION_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*")


def command_line(name: str, given: Any) -> str:
    """The command ``<name> <options> <target|host|url|ip> --key value ...`` of a call.

    Every word is quoted for a POSIX shell, so nothing in it is more than a word: no second command,
    no redirection, no variable. What the words mean to the program is for the program.

    Args:
        name: The tool that the model asked for.
        given: Its input.
    """
    if not isinstance(given, Mapping):
        given = {} if given is None else {"options": given}
    words = [name]
    for key in _OPTIONS:
        words += _split(given.get(key))
    words += [_text(given[key]) for key in _TARGETS if given.get(key) not in (None, "")][:1]
    used = {*_OPTIONS, *[key for key in _TARGETS if given.get(key) not in (None, "")][:1]}
    for key, value in given.items():
        if key not in used:
            words += _option(str(key), value)
    return " ".join(map(shlex.quote, words))


def as_tool(tool: Any) -> AgentTool | None:
    """The tool that runs command lines: an agent tool, or a module of one such as strands_tools'.

    Raises:
        TypeError: If it is neither.
    """
    if tool is None or isinstance(tool, AgentTool):
        return tool
    if isinstance(tool, ModuleType):
        spec: Any = getattr(tool, "TOOL_SPEC", None)
        if spec is not None:
            return PythonAgentTool(spec["name"], spec, getattr(tool, spec["name"]))
        decorated = [each for each in vars(tool).values() if isinstance(each, AgentTool)]
        if len(decorated) == 1:
            return decorated[0]
    raise TypeError(
        f"shell_tool is a {type(tool).__name__}; give a tool of Strands, such as a function with"
        " @tool or strands_tools.shell"
    )


def _split(value: Any) -> Iterator[str]:
    """The words of options that are one line, or a list of words."""
    if value in (None, ""):
        return
    if isinstance(value, str):
        try:
            yield from shlex.split(value)
        except ValueError:
            # An open quote: one word, since nobody knows where the others begin.
            yield value
    elif isinstance(value, Iterable) and not isinstance(value, Mapping):
        yield from map(_text, value)
    elif isinstance(value, Mapping):
        for key, each in value.items():
            yield from _option(str(key), each)
    else:
        yield _text(value)


def _option(key: str, value: Any) -> list[str]:
    if value is None or value is False:
        return []
    name = f"--{key}" if _OPTION_NAME.fullmatch(key) else key
    if value is True:
        return [name]
    if isinstance(value, (list, tuple)):
        return [word for each in value for word in (name, _text(each))]
    return [name, _text(value)]


def _text(value: Any) -> str:
    return value if isinstance(value, str) else str(value)
