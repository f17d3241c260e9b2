"""The public API as lines of text: each name with its signature, and each command with its options.

``make api`` writes them to ``public_api.txt``, and a test compares the two.
"""

from __future__ import annotations

import argparse
import ast
import importlib
import inspect
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ullage.cli.program import parser_of_commands

from .public import MODULES, Function, decorated, definitions, source_of

if TYPE_CHECKING:
    from collections.abc import Iterator

SNAPSHOT = Path(__file__).with_suffix(".txt")
# `ullage.page` and `ullage.sessions` have reference pages too; their docstrings follow looser rules.
EVERY_MODULE = (*MODULES, "ullage.page", "ullage.sessions")


def _signature(node: Any) -> str:
    returns = f" -> {ast.unparse(node.returns)}" if node.returns else ""
    kind = "async " if isinstance(node, ast.AsyncFunctionDef) else ""
    return f"{kind}({ast.unparse(node.args)}){returns}"


def _is_public(name: str) -> bool:
    return not name.startswith("_") or name in {"__init__", "__new__"}


def _members(node: ast.ClassDef) -> Iterator[tuple[str, str]]:
    for member in node.body:
        if isinstance(member, Function) and _is_public(member.name):
            setter = ".setter" if decorated(member, ".setter") else ""
            kind = ": property " if decorated(member, "property") or setter else ""
            for decorator in ("classmethod", "staticmethod"):
                kind = f": {decorator} " if decorated(member, decorator) else kind
            yield member.name + setter, kind + _signature(member)
        elif isinstance(member, ast.AnnAssign) and _is_public(name := ast.unparse(member.target)):
            default = f" = {ast.unparse(member.value)}" if member.value else ""
            yield name, f": {ast.unparse(member.annotation)}{default}"


def _of_class(name: str, live: type) -> Iterator[str]:
    bases = ", ".join(base.__name__ for base in live.__bases__ if base is not object)
    yield f"class {name}({bases})"
    members: dict[str, str] = {}
    for owner in reversed(live.__mro__):
        if owner.__module__.startswith("ullage"):
            node = definitions(source_of(owner)).get(owner.__name__)
            if isinstance(node, ast.ClassDef):
                members.update(_members(node))
    yield from (f"{name}.{member}{members[member]}" for member in sorted(members))


def _of_module(module: str) -> Iterator[str]:
    names = importlib.import_module(module)
    for name in sorted(names.__all__):
        live = getattr(names, name)
        full = f"{module}.{name}"
        if inspect.isclass(live):
            yield from _of_class(full, live)
        elif inspect.isroutine(live):
            yield full + _signature(definitions(source_of(live))[live.__name__])
        else:
            yield full


def _of_command(name: str, parser: argparse.ArgumentParser) -> Iterator[str]:
    words = []
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for command, inner in sorted(action.choices.items()):
                yield from _of_command(f"{name} {command}", inner)
        elif not isinstance(action, argparse._HelpAction):
            words.append("/".join(action.option_strings) or str(action.metavar or action.dest))
    yield " ".join(["$", name, *sorted(words)])


def lines() -> Iterator[str]:
    """Returns the whole snapshot."""
    for module in EVERY_MODULE:
        yield from _of_module(module)
    yield from _of_command("ullage", parser_of_commands())


if __name__ == "__main__":
    sys.stdout.write("".join(f"{line}\n" for line in lines()))
