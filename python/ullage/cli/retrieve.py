"""``ullage retrieve``: reads removed content back from a store."""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path
from typing import Any

import ullage
from ullage import _core
from ullage.cli.codes import FINE, FOUND
from ullage.cli.console import progress, say, say_json
from ullage.cli.errors import CommandError
from ullage.cli.options import add_json, at_least, command, set_completion
from ullage.cli.readable import ReadableStore
from ullage.stores.retrieval import DEFAULT_LIMIT

_LINES = re.compile(r"(\d+)(?:-(\d+))?")
# The end of the first line if no content follows it.
_NOTHING = "; 0 characters follow]\n"
_NARROWING = ("lines", "pointer", "head", "tail")


def add_to(commands: Any) -> None:
    """Adds the command to those of a parser."""
    parser = command(
        commands,
        "retrieve",
        "read removed content of a conversation back",
        "Reads an output, or a piece of it, from a store. Options that choose lines read removed"
        " messages as lines of text. Without a reference, the command searches all outputs for the"
        " pattern. Without a pattern too, it lists the outputs.",
        run,
        found="nothing was found",
        reads=False,
    )
    add = parser.add_argument
    add("reference", nargs="?", metavar="REFERENCE", help="the reference, as in the conversation")
    store = add("--store", type=Path, required=True, metavar="FOLDER", help="the folder of a store")
    set_completion(store, "folder")
    add("--session", metavar="NAME", help="the session of the store, if it has one")
    add(
        "--pattern",
        metavar="REGEX",
        help="only lines that match",
    )
    add("--context", type=at_least(0), default=0, metavar="N", help="lines around each match")
    add("--lines", type=_lines, metavar="FROM-TO", help="only these lines, counted from 1")
    add("--pointer", metavar="PATH", help="only the value in JSON that this JSON pointer leads to")
    add("--head", type=at_least(1), metavar="N", help="only the first lines")
    add("--tail", type=at_least(1), metavar="N", help="only the last lines")
    add(
        "--limit",
        type=at_least(1),
        default=DEFAULT_LIMIT,
        metavar="N",
        help=f"print at most N characters ({DEFAULT_LIMIT:,})",
    )
    shown = parser.add_mutually_exclusive_group()
    shown.add_argument("--raw", action="store_true", help="print the whole output, byte for byte")
    add_json(shown, "print a JSON object")


def run(options: argparse.Namespace) -> int:
    """Prints a stored output, a piece of it, or the matches of a search."""
    if not options.store.is_dir():
        raise CommandError(f"--store: folder not found: {options.store}")
    store = ullage.FileStore(options.store, options.session, keep=None, clean_above=None)
    if options.reference is None:
        return _look_through(store, options)
    # The argument may be the whole line that names the reference.
    named = _core.references_in(options.reference)
    reference = named[0] if len(named) == 1 else options.reference
    if options.raw:
        _require_none(options, "--raw prints the whole", "pattern", *_NARROWING)
        content = store.get(reference)
        sys.stdout.flush()
        sys.stdout.buffer.write(content)
        sys.stdout.buffer.flush()
        return FINE
    with progress("outputs"):
        text = ullage.retrieve(
            ReadableStore(store) if _is_for_lines(options) else store,
            reference,
            options.pattern,
            options.lines,
            options.pointer,
            options.context,
            head=options.head,
            tail=options.tail,
            limit=options.limit,
        )
    if options.json:
        say_json({"reference": reference, "text": text})
    else:
        say(text.rstrip("\n"))
    return FOUND if text.endswith(_NOTHING) else FINE


def _look_through(store: ullage.FileStore, options: argparse.Namespace) -> int:
    if options.raw:
        raise CommandError("--raw needs a reference")
    _require_none(options, "without a reference", *_NARROWING)
    references = store.list()
    if options.pattern is None:
        if options.json:
            say_json({"references": references})
        for reference in () if options.json else references:
            say(reference)
        return FINE if references else FOUND
    with progress("outputs"):
        text = ullage.search(
            ReadableStore(store), options.pattern, options.context, limit=options.limit
        )
    if options.json:
        say_json({"pattern": options.pattern, "text": text})
    else:
        say(text.rstrip("\n"))
    return FINE if any(reference in text for reference in references) else FOUND


def _is_for_lines(options: argparse.Namespace) -> bool:
    """True if the options choose lines. A pointer needs the JSON as it is stored."""
    asked = (options.pattern, options.lines, options.head, options.tail)
    return options.pointer is None and any(option is not None for option in asked)


def _require_none(options: argparse.Namespace, why: str, *names: str) -> None:
    given = [f"--{name}" for name in names if getattr(options, name) is not None]
    if given:
        raise CommandError(f"{why}: {', '.join(given)} cannot be used")


def _lines(text: str) -> tuple[int, int]:
    found = _LINES.fullmatch(text)
    if found is None:
        raise argparse.ArgumentTypeError(f"{text!r}: give the first and the last, such as 120-180")
    return int(found[1]), int(found[2] or found[1])
