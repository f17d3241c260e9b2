"""Prints text, colours, tables and progress. Bars and colours need rich (extra ``cli``).

Colours are for terminals only, and off if ``NO_COLOR`` is set. Text of a conversation cannot
control the terminal: its control characters are printed as escapes.
"""

from __future__ import annotations

import itertools
import json
import os
import re
import shutil
import sys
import time
from contextlib import contextmanager
from threading import Event, Lock, Thread
from typing import TYPE_CHECKING, Any, TextIO
from unicodedata import east_asian_width

from ullage.stores.records import to_json

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rich.console import Console

# The control characters of terminals, except line ends and tabs: C0, DEL and C1.
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
# Characters between two columns of a table, and the least width of a column of words.
_GAP, _LEAST_WORD = 2, 12
# Seconds after which progress is shown.
SHOWN_AFTER = 1.0
# Seconds between two lines about progress, and between two frames of a progress bar.
LINE_EVERY, _FRAME = 10.0, 0.1


def say(text: str, style: str | None = None) -> None:
    """Prints text, with a style on terminals."""
    _print(text, style, sys.stdout)


def say_json(value: Any) -> None:
    """Prints a value as one line of JSON."""
    print(json.dumps(value, default=to_json))


def complain(problem: str) -> None:
    """Prints an error on standard error."""
    note(f"ullage: {problem}", "red")


def note(text: str, style: str | None = None) -> None:
    """Prints on standard error, if there is one, with a style on terminals."""
    if sys.stderr is not None:
        _print(text, style, sys.stderr)


def table(
    heads: Sequence[str], rows: Sequence[Sequence[str]], *, left: int = 1, below: str = ""
) -> None:
    """Prints a table. A word that is too long for the terminal is broken into lines.

    Args:
        heads: The heads of its columns.
        rows: The cells of each row.
        left: Number of columns with words, at the left; the others have figures.
        below: The line below the table.
    """
    cells = [[_visible(cell) for cell in row] for row in (heads, *rows)]
    widths = [max(map(_width, column)) for column in zip(*cells, strict=True)]
    if sys.stdout.isatty():
        figures = sum(widths[left:]) + _GAP * (len(widths) - 1)
        room = max(_LEAST_WORD, (shutil.get_terminal_size().columns - figures) // max(left, 1))
        widths[:left] = [min(width, room) for width in widths[:left]]
    for row in cells:
        pieces = [_fold(cell, width) for cell, width in zip(row, widths, strict=True)]
        for line in itertools.zip_longest(*pieces, fillvalue=""):
            padded = [
                piece + " " * (width - _width(piece)) if number < left else piece.rjust(width)
                for number, (piece, width) in enumerate(zip(line, widths, strict=True))
            ]
            print((" " * _GAP).join(padded).rstrip())
    if below:
        say(below, "dim")


def _width(text: str) -> int:
    """Returns the number of terminal columns that a text takes."""
    return sum(2 if east_asian_width(character) in "WF" else 1 for character in text)


def _fold(text: str, width: int) -> list[str]:
    """Returns the text in pieces of at most ``width`` columns."""
    pieces, room = [""], width
    for character in text:
        room -= _width(character)
        if room < 0 and pieces[-1]:
            pieces.append("")
            room = width - _width(character)
        pieces[-1] += character
    return pieces


class Progress:
    """The progress of long work. Any thread may count a step.

    Attributes:
        what: A plural noun for the steps, such as "sessions".
        total: Number of steps; None while it is not known.
        done: Number of finished steps.
    """

    def __init__(self, what: str, total: int | None) -> None:
        self.what, self.total, self.done = what, total, 0
        self._counting = Lock()

    def __call__(self) -> None:
        """Counts one step."""
        with self._counting:
            self.done += 1

    def at(self, done: int, total: int) -> None:
        """Sets both counts."""
        self.done, self.total = done, total

    def __str__(self) -> str:
        if self.total is None:
            return "reading"
        return f"{self.done:,} of {self.total:,} {self.what}"


@contextmanager
def progress(what: str, total: int | None = None) -> Iterator[Progress]:
    """Shows the progress of long work on standard error.

    On a terminal with rich this is a bar, otherwise a line every ten seconds. Nothing may be
    printed meanwhile.
    """
    work, ended = Progress(what, total), Event()
    shown = Thread(target=_show, args=(work, ended), daemon=True)
    shown.start()
    try:
        yield work
    finally:
        ended.set()
        shown.join()


def _show(work: Progress, ended: Event) -> None:
    start = time.monotonic()
    if sys.stderr is None or ended.wait(SHOWN_AFTER):
        return
    console = _console(sys.stderr)
    if console is not None and console.is_terminal:
        _draw(work, ended, console)
    while not ended.wait(LINE_EVERY):
        note(f"ullage: {work} after {_in_words(time.monotonic() - start, work)}")


def _in_words(seconds: float, work: Progress) -> str:
    """Prints the elapsed time and an estimate of the remaining time."""
    if not work.done or work.total is None:
        return f"{seconds:.0f} s"
    return f"{seconds:.0f} s, about {seconds / work.done * (work.total - work.done):.0f} s left"


def _draw(work: Progress, ended: Event, console: Console) -> None:
    """Draws a bar until the work has ended."""
    from rich.progress import MofNCompleteColumn, TimeElapsedColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    columns = (*Bar.get_default_columns()[:2], MofNCompleteColumn(), TimeElapsedColumn())
    columns = (*columns, TimeRemainingColumn())
    # Printed results go to standard output, even while the bar is drawn.
    with Bar(*columns, console=console, transient=True, redirect_stdout=False) as bar:
        task = bar.add_task(work.what, total=work.total)
        while not ended.wait(_FRAME):
            bar.update(task, completed=work.done, total=work.total)


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
    # rich alone would keep bold text with NO_COLOR.
    plain = bool(os.environ.get("NO_COLOR"))
    return Console(file=file, highlight=False, color_system=None if plain else "auto")
