"""Every public name says what it is, what it takes, what it raises, and what it costs where it may."""

from __future__ import annotations

import ast
import builtins
import importlib
import inspect
import operator
from typing import Any

import pytest

import ullage

from .public import MODULES, Documented, Function, documented

PUBLIC = list(documented())
BY_NAME = {one.name: one for one in PUBLIC}

# Made by ullage alone.
NOT_MADE_BY_USERS = {"ullage.BackgroundSummary", "ullage.Repaired", "ullage.View"}


def test_all_that_can_be_called_is_looked_at():
    public = {
        f"{module}.{name}"
        for module in MODULES
        for name in importlib.import_module(module).__all__
        if callable(getattr(importlib.import_module(module), name))
    }
    assert public - set(BY_NAME) == set()


def test_every_public_name_has_a_docstring():
    assert [one.name for one in PUBLIC if not one.doc and not one.overrides] == []


def test_native_names_have_the_docstrings_of_the_stub():
    native = [one for one in PUBLIC if one.doc and is_native(one.name)]
    assert len(native) > 60
    assert {one.name for one in native if inspect.getdoc(resolved(one.name)) != one.doc} == set()


def resolved(name: str) -> Any:
    """The object of a public name, such as ``ullage.Policy.replace``."""
    return operator.attrgetter(name.removeprefix("ullage."))(ullage)


def is_native(name: str) -> bool:
    """True if the extension module defines a name of ``ullage``."""
    outer = name.split(".")[1]
    return name.startswith("ullage.") and outer in vars(ullage._core) and name != "ullage._core"


def test_a_docstring_begins_with_a_sentence():
    firsts = {one.name: one.doc.split("\n", 1)[0] for one in PUBLIC if one.doc}
    assert {n: first for n, first in firsts.items() if not first.endswith((".", "?", ":"))} == {}


def missing_and_unknown(one: Documented) -> tuple[list[str], list[str]]:
    said = one.section("Args") + one.section("Attributes")
    args = one.section("Args")
    missing = [name for name in one.parameters if name not in said]
    unknown = [name for name in args if name not in one.parameters]
    return missing, unknown


def test_a_list_of_arguments_is_whole_and_true():
    wrong = {
        one.name: missing_and_unknown(one)
        for one in PUBLIC
        if one.section("Args") and any(missing_and_unknown(one))
    }
    assert wrong == {}


def test_every_class_says_what_it_is_made_with():
    wrong = [
        one.name
        for one in PUBLIC
        if isinstance(one.node, ast.ClassDef)
        and one.name not in NOT_MADE_BY_USERS
        and missing_and_unknown(one)[0]
    ]
    assert wrong == []


def raised_in(node: ast.AST) -> set[str]:
    """The names of the errors that stand behind a `raise` in a definition."""
    calls = [n.exc for n in ast.walk(node) if isinstance(n, ast.Raise)]
    named = [call.func for call in calls if isinstance(call, ast.Call)]
    names = {str(getattr(one, "id", None) or getattr(one, "attr", "")) for one in named}
    return {name for name in names if name.endswith("Error")}


def test_what_a_function_raises_itself_is_said():
    wrong = {
        one.name: missing
        for one in PUBLIC
        if isinstance(one.node, Function)
        and (missing := raised_in(one.node) - set(one.section("Raises")))
    }
    assert wrong == {}


def test_what_is_said_to_be_raised_can_be_imported():
    public = {name for module in MODULES for name in dir(importlib.import_module(module))}
    # Strands raises it, and lets its managers raise it.
    public |= {"ContextWindowOverflowException"}
    said = {(one.name, error) for one in PUBLIC for error in one.section("Raises")}
    known = {error for _, error in said if error in public or hasattr(builtins, error)}
    assert {(name, error) for name, error in said if error not in known} == set()


BAD = [{"role": "user", "content": 5}]
LONG = [{"role": "user", "content": "word " * 9_000}]
PINNED = [{**message, "metadata": {"custom": {"pinned": True}}} for message in LONG]
ENGINE = ullage.ContextManager(ullage.Policy(window=9_000, reserve_output=1_000))


class Full:
    def put(self, content: bytes, *, reference: str, tool: str | None = None) -> str:
        raise OSError(28, "no space left on device")

    def get(self, reference: str) -> bytes:
        raise KeyError(reference)


def raising() -> list[Any]:
    """Names, errors, and calls that raise them."""
    manager, counter = "ullage.ContextManager", ullage.TokenCounter()
    full = ullage.ContextManager(store=Full())
    log: Any = "line of a log\n" * 9_000
    cases: list[tuple[str, type[Exception], Any]] = [
        (f"{manager}.{name}", error, lambda name=name, given=given: getattr(ENGINE, name)(given))
        for name, error, given in (
            ("plan", ullage.BudgetError, PINNED),
            ("plan", ullage.MessageError, BAD),
            ("compact", ullage.BudgetError, PINNED),
            ("compact", ullage.MessageError, BAD),
            ("view", ullage.BudgetError, PINNED),
            ("view", ullage.MessageError, BAD),
            ("status", ullage.MessageError, BAD),
            ("summarize_in_background", ullage.MessageError, BAD),
        )
    ]
    cases += [
        (f"{manager}.observe", ullage.MessageError, lambda: ENGINE.observe(BAD, 5)),
        (f"{manager}.shrink", ullage.StoreError, lambda: full.shrink("bash", log)),
        (manager, ullage.PolicyError, lambda: ullage.ContextManager(format="klingon")),
        (
            "ullage.TokenCounter.count_messages",
            ullage.MessageError,
            lambda: counter.count_messages(BAD),
        ),
        ("ullage.TokenCounter.observe", ullage.MessageError, lambda: counter.observe(BAD, 5)),
        ("ullage.TokenCounter.with_ratio", ullage.PolicyError, lambda: counter.with_ratio(0)),
        ("ullage.TokenCounter.preset", ullage.PolicyError, lambda: counter.preset("x")),
        ("ullage.TokenCounter", ullage.PolicyError, lambda: ullage.TokenCounter("x")),
        ("ullage.count_tokens", ullage.PolicyError, lambda: ullage.count_tokens("x", "y")),
        ("ullage.detect_format", ullage.MessageError, lambda: ullage.detect_format(["x"])),
        ("ullage.validate", ullage.PolicyError, lambda: ullage.validate([], "klingon")),
        ("ullage.repair", ullage.PolicyError, lambda: ullage.repair([], "klingon")),
        ("ullage.repair", ullage.MessageError, lambda: ullage.repair(BAD)),
        ("ullage.compress", ullage.PolicyError, lambda: ullage.compress("x", compressor="y")),
        ("ullage.Policy", ullage.PolicyError, lambda: ullage.Policy(window=0)),
        ("ullage.Policy.preset", ullage.PolicyError, lambda: ullage.Policy.preset("x")),
        ("ullage.Policy.from_dict", ullage.PolicyError, lambda: ullage.Policy.from_dict({"x": 1})),
        ("ullage.Policy.replace", ullage.PolicyError, lambda: ullage.Policy().replace(x=1)),
        (
            "ullage.Policy.from_env",
            ullage.PolicyError,
            lambda: ullage.Policy.from_env(environ={"ULLAGE_HIGH": "x"}),
        ),
        ("ullage.Plan.from_dict", ullage.PolicyError, lambda: ullage.Plan.from_dict({})),
        (
            "ullage.Plan.apply",
            ullage.MessagesChangedError,
            lambda: ENGINE.plan(LONG * 3, budget=30_000).apply([{"role": "user", "content": "x"}]),
        ),
        (
            "ullage.retrieve",
            ullage.StoreError,
            lambda: ullage.retrieve(ullage.MemoryStore(), "bash-0123456789abcdef"),
        ),
        ("ullage.search", ullage.StoreError, lambda: ullage.search(ullage.MemoryStore(), "(")),
        ("ullage.model_limits", ullage.PolicyError, lambda: ullage.model_limits(5)),  # type: ignore[arg-type]
    ]
    return [pytest.param(*case, id=f"{case[0]}-{case[1].__name__}") for case in cases]


@pytest.mark.parametrize(("name", "error", "call"), raising())
def test_what_is_raised_is_said(name, error, call):
    with pytest.raises(ullage.UllageError) as caught:
        call()
    assert type(caught.value) is error
    said = BY_NAME[name].section("Raises")
    assert {kind.__name__ for kind in type(caught.value).__mro__} & set(said)


# These are called on every turn, or over much text.
@pytest.mark.parametrize(
    "name",
    [
        "ullage.ContextManager",
        "ullage.ContextManager.plan",
        "ullage.ContextManager.compact",
        "ullage.ContextManager.view",
        "ullage.ContextManager.status",
        "ullage.ContextManager.shrink",
        "ullage.ContextManager.observe",
        "ullage.TokenCounter.count",
        "ullage.TokenCounter.count_messages",
        "ullage.TokenCounter.observe",
        "ullage.count_tokens",
        "ullage.compress",
        "ullage.detect_format",
        "ullage.validate",
        "ullage.repair",
        "ullage.retrieve",
        "ullage.search",
        "ullage.Transcript",
    ],
)
def test_what_costs_says_what(name):
    doc = BY_NAME[name].doc
    assert "O(" in doc or "cost" in doc.lower()
