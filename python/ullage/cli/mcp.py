"""``ullage mcp``: serves a store to clients of the Model Context Protocol."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import TYPE_CHECKING, Any

import ullage
from ullage.cli.codes import FINE
from ullage.cli.errors import CommandError
from ullage.cli.options import command, set_completion

if TYPE_CHECKING:
    import argparse


def add_to(commands: Any) -> None:
    """Adds the command to those of a parser."""
    parser = command(
        commands,
        "mcp",
        "serve a store to an MCP client over stdin and stdout",
        "Serves the tools retrieve, search, compress and stats over stdin and stdout. Needs"
        " ullage[mcp]. Nothing is written unless --write is given.",
        run,
        found="",
        reads=False,
    )
    add = parser.add_argument
    store = add("--store", type=Path, required=True, metavar="FOLDER", help="the folder of a store")
    set_completion(store, "folder")
    add("--session", metavar="NAME", help="the session of the store, if it has one")
    add("--write", action="store_true", help="let compress store the whole text")


def run(options: argparse.Namespace) -> int:
    """Serves until the client closes stdin."""
    if importlib.util.find_spec("mcp") is None:
        raise CommandError("the package mcp is missing; run: pip install 'ullage[mcp]'")
    if not options.store.is_dir():
        raise CommandError(f"--store: folder not found: {options.store}")
    from ullage.mcp_server import server

    store = ullage.FileStore(options.store, options.session, keep=None, clean_above=None)
    server(store, writes=options.write).run("stdio")
    return FINE
