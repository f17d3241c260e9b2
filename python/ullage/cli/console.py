"""The terminal: text, colours, tables and progress, drawn by rich (extra ``cli``) where it is.

Colours are only for terminals, and not where ``NO_COLOR`` is set. What comes from a conversation
cannot steer the terminal: its control characters are shown as escapes there.
"""

from __future__ import annotations

import json
import os
import re
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TextIO

from ullage.cli.errors import MissingExtraError
from ullage.records import to_json

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from rich.console import Console

# All that terminals obey but for the ends of lines and tabs: C0, DEL and C1.
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
# Where there is no terminal, what is read by a program or a file is not broken into lines.
_WIDTH_OF_A_FILE = 160
# Of fewer a bar says nothing.
_SEVERAL = 2


def say(text: str, style: str | None = None) -> None:
    """Prints text, in a style where that can be seen."""
    _print(text, style, sys.stdout)


def say_json(value: Any) -> None:
    """Prints a value as JSON, on a line."""
    print(json.dumps(value, default=to_json))


def complain(problem: str) -> None:
    """Says on standard error what is wrong."""
    note(f"ullage: {problem}", "red")


def note(text: str, style: str | None = None) -> None:
    """Prints on standard error, if there is one, in a style where that can be seen."""
    if sys.stderr is not None:
        _print(text, style, sys.stderr)


def table(
    heads: Sequence[str], rows: Sequence[Sequence[str]], *, left: int = 1, below: str = ""
) -> None:
    """Draws a table.

    Args:
        heads: The heads of its columns.
        rows: The cells of each row.
        left: So many columns at the left are words; the others are figures.
        below: What is said below it.

    Raises:
        MissingExtraError: If rich is not installed.
    """
    require_tables()
    from rich.table import Table
    from rich.text import Text

    console = _console()
    assert console is not None  # noqa: S101 - as required
    if not console.is_terminal:
        console.width = _WIDTH_OF_A_FILE
    drawn = Table(box=None, pad_edge=False, collapse_padding=True)
    for number, head in enumerate(heads):
        is_word = number < left
        drawn.add_column(
            head, justify="left" if is_word else "right", no_wrap=not is_word, overflow="fold"
        )
    for row in rows:
        drawn.add_row(*(Text(_visible(cell)) for cell in row))
    console.print(drawn)
    if below:
        console.print(below, style="dim", markup=False)


def require_tables(instead: str = "use --json") -> None:
    """Makes sure that tables can be drawn; asked before the work, so that none is lost.

    Raises:
        MissingExtraError: If rich is not installed.
    """
    if _console() is None:
        raise MissingExtraError("the table", "rich", instead)


@contextmanager
def progress(what: str, total: int) -> Iterator[Callable[[], object] | None]:
    """A bar on the terminal, where there is one, what draws it is installed, and there are several.

    Yields:
        What is called for each that is done, or None without a bar.
    """
    console = None if sys.stderr is None or total < _SEVERAL else _console(sys.stderr)
    if console is None or not console.is_terminal:
        yield None
        return
    from rich.progress import MofNCompleteColumn, Progress, TimeElapsedColumn

    columns = (*Progress.get_default_columns()[:2], MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task(what, total=total)
        yield lambda: bar.advance(task)


def _print(text: str, style: str | None, file: TextIO | None) -> None:
    is_terminal = file is not None and file.isatty()
    shown = _visible(text) if is_terminal else text
    drawn = _console(file) if style and is_terminal else None
    if drawn is None:
        print(shown, file=file)
    else:
        drawn.print(shown, style=style, markup=False, soft_wrap=True)


def _visible(text: str) -> str:
    return _CONTROL.sub(lambda found: f"\\x{ord(found[0]):02x}", text)


def _console(file: TextIO | None = None) -> Console | None:
    try:
        from rich.console import Console
    except ImportError:
        return None
    # By itself rich leaves bold where no colours are wanted.
    plain = bool(os.environ.get("NO_COLOR"))
    return Console(file=file, highlight=False, color_system=None if plain else "auto")
