"""The log says what docs/observability.md says of it, and no long text above debug level."""

from __future__ import annotations

import ast
import logging
import re
from typing import TYPE_CHECKING

import pytest

import ullage
from ullage._engine.logger import Logger

from .blocks import ROOT, text_of

if TYPE_CHECKING:
    from collections.abc import Iterator

Message = tuple[str, str, str, str]
ROW = re.compile(
    r"^\| `(ullage\.[\w.]+)` \| ([\w ]+) \| ([\w, ]*) ?\| (.+?) \| .+ \|$", re.MULTILINE
)
# The name of a level in the code; a message whose level is chosen there says so.
LEVELS = {"exception": "error", "log": "warning or debug"}


def messages_of(module: str, tree: ast.AST, *, prefixes_errors: bool) -> Iterator[Message]:
    """Logger, level, fields and text of each message in the code of a module."""
    for call in ast.walk(tree):
        match call:
            case ast.Call(func=ast.Attribute(value=ast.Name(id="logger"), attr=level)):
                form = call.args[level == "log"]
                assert isinstance(form, ast.Constant), "a message is a constant"
                head, _, text = str(form.value).rpartition(" | ")
                fields = re.findall(r"(\w+)=<", head)
                has_error = level == "exception" or any(k.arg == "exc_info" for k in call.keywords)
                if has_error and prefixes_errors:
                    fields.insert(0, "error")
                yield module, LEVELS.get(level, level), ", ".join(fields), text


def in_the_code() -> set[Message]:
    found: set[Message] = set()
    package = ROOT / "python"
    for path in (package / "ullage").rglob("*.py"):
        code = path.read_text(encoding="utf-8")
        if path.name == "logger.py":
            continue
        module = ".".join(path.relative_to(package).with_suffix("").parts)
        prefixes_errors = "= Logger(__name__)" in code
        found.update(messages_of(module, ast.parse(code), prefixes_errors=prefixes_errors))
    return found


def test_the_tables_have_every_message_and_no_other():
    rows = ROW.findall(text_of("docs/observability.md"))
    documented = {(name, level, fields.strip(), text) for name, level, fields, text in rows}
    assert len(rows) == len(documented), "each once"
    assert in_the_code() - documented == set()
    assert documented - in_the_code() == set()


LONG = "secret " * 300


@pytest.fixture
def logger(caplog) -> Logger:
    caplog.set_level(logging.DEBUG)
    return Logger("ullage.tests")


def above_debug(caplog) -> str:
    form = logging.Formatter()
    return "\n".join(form.format(r) for r in caplog.records if r.levelno > logging.DEBUG)


@pytest.mark.parametrize("level", ["info", "warning", "error", "exception", "critical"])
def test_an_error_is_a_line_and_its_traceback_is_for_debugging(logger, level, caplog):
    try:
        int("first")
    except ValueError as error:
        error.args = (f"first\n{LONG}",)
        getattr(logger, level)("tool=<%s> | it failed", "bash", exc_info=True)
    said = above_debug(caplog)
    assert said.startswith("error=<ValueError: first secret ")
    assert said.endswith("…>, tool=<bash> | it failed")
    assert len(said) < 450
    (debugging,) = (r for r in caplog.records if r.levelno == logging.DEBUG)
    assert debugging.exc_info is not None
    assert {r.funcName for r in caplog.records} == {
        "test_an_error_is_a_line_and_its_traceback_is_for_debugging"
    }


@pytest.mark.parametrize("argument", [LONG, ValueError(LONG)])
def test_a_long_argument_is_cut(logger, argument, caplog):
    logger.warning("text=<%s> | it is long", argument)
    assert len(above_debug(caplog)) < 450
    caplog.clear()
    logger.debug("text=<%s> | it is long", argument)
    assert LONG in caplog.text


def test_what_nobody_listens_to_costs_no_text(caplog):
    class Unprintable:
        def __str__(self) -> str:
            raise AssertionError

    caplog.set_level(logging.WARNING)
    Logger("ullage.tests").info("it=<%s> | unheard", Unprintable())
    assert caplog.records == []


def test_a_compaction_that_waits_gives_its_reason_and_does_not_count(caplog):
    caplog.set_level(logging.INFO, "ullage")
    engine = ullage.ContextManager(ullage.Policy(window=10_000, reserve_output=1_000))
    messages = [
        {"role": "user", "content": "word " * 7_500},
        {"role": "assistant", "content": "ok " * 300},
        {"role": "user", "content": "Go on."},
    ]
    report = engine.compact(messages, pins=[0, 1])
    assert report.tokens_after == report.tokens_before
    assert "it waits until it must" in caplog.text
    assert "| compacted" not in caplog.text
    assert engine.stats.compactions == 0
