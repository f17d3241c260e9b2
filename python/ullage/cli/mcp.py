"""``ullage mcp``: serves a store to clients of the Model Context Protocol."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import TYPE_CHECKING, Any

import ullage
from ullage.cli.codes import FINE
from ullage.cli.errors import CommandError
from ullage.cli.options import command, set_completion
from ullage.stores.all_sessions import AllSessions

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
    add("--write", action="store_true", help="let compress store the whole text")
    served = parser.add_mutually_exclusive_group()
    add = served.add_argument
    add("--session", metavar="NAME", help="the session of the store, if it has one")
    add("--all-sessions", action="store_true", help="serve every session in the folder, to read")


def run(options: argparse.Namespace) -> int:
    """Serves until the client closes stdin."""
    if importlib.util.find_spec("mcp") is None:
        raise CommandError("the package mcp is missing; run: pip install 'ullage[mcp]'")
    if not options.store.is_dir():
        raise CommandError(f"--store: folder not found: {options.store}")
    if options.all_sessions and options.write:
        raise CommandError("--write needs a session; give --session in place of --all-sessions")
    from ullage.mcp_server import server

    if options.all_sessions:
        server(AllSessions(options.store)).run("stdio")
        return FINE
    store = ullage.FileStore(options.store, options.session, keep=None, clean_above=None)
    server(store, writes=options.write).run("stdio")
    return FINE
