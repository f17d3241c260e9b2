"""The public face, name by name, as its source and the stub of the native module have it."""

from __future__ import annotations

import ast
import importlib
import inspect
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[2]
MODULES = (
    "ullage",
    "ullage.strands",
    "ullage.adk",
    "ullage.amplifier",
    "ullage.supyagent",
    "ullage.valis",
    "ullage.replay",
    "ullage.stores",
)

Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class Documented:
    """A public class, function, method or property.

    Attributes:
        name: With the module through which it is imported.
        node: Its definition.
        doc: Its docstring.
        parameters: Names of what it takes, or what its class is made with.
        fields: Names of the fields of a dataclass.
        overrides: Whether a base class says already what it is.
    """

    name: str
    node: ast.AST
    doc: str
    parameters: list[str] = field(default_factory=list)
    fields: list[str] = field(default_factory=list)
    overrides: bool = False

    def section(self, title: str) -> list[str]:
        """Names in a section of a docstring of Google's style."""
        lines = self.doc.splitlines()
        try:
            start = lines.index(f"{title}:") + 1
        except ValueError:
            return []
        names: list[str] = []
        for line in lines[start:]:
            if line and not line.startswith(" "):
                break
            if line.startswith("    ") and line[4:5].strip() and ":" in line:
                said = line.split(":", 1)[0]
                names += [name.strip().lstrip("*").split(" ")[0] for name in said.split(",")]
        return names


@cache
def _tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def definitions(module: str) -> dict[str, ast.AST]:
    """Classes and functions of a module, of a native one by its stub."""
    base = ROOT / "python" / Path(*module.split("."))
    candidates = (base.with_suffix(".py"), base / "__init__.py", base.with_suffix(".pyi"))
    tree = _tree(next(path for path in candidates if path.exists()))
    kinds = (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    return {node.name: node for node in tree.body if isinstance(node, kinds)}


def _parameters(node: Any) -> list[str]:
    arguments = node.args
    named = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    named += [one for one in (arguments.vararg, arguments.kwarg) if one is not None]
    return [a.arg for a in named if a.arg not in {"self", "cls"} and not a.arg.startswith("_")]


def _doc(node: Any) -> str:
    return inspect.cleandoc(ast.get_docstring(node) or "")


def decorated(node: Any, decorator: str) -> bool:
    """True if one of the decorators has this text in it."""
    return any(decorator in ast.unparse(one) for one in node.decorator_list)


def _inherited_init(live: type) -> Any:
    """The initializer that a class has from a base of ours, or None."""
    owner = next(base for base in live.__mro__ if "__init__" in vars(base))
    if not owner.__module__.startswith("ullage."):
        return None
    node: Any = definitions(owner.__module__)[owner.__name__]
    return next((n for n in node.body if isinstance(n, Function) and n.name == "__init__"), None)


def _of_class(name: str, node: ast.ClassDef, live: type) -> Iterator[Documented]:
    methods = {n.name: n for n in node.body if isinstance(n, Function)}
    made = methods.get("__init__") or methods.get("__new__") or _inherited_init(live)
    is_data = decorated(node, "dataclass")
    fields = [
        n.target.id
        for n in node.body
        if is_data and isinstance(n, ast.AnnAssign) and isinstance(n.target, ast.Name)
    ]
    yield Documented(
        name,
        node,
        _doc(node),
        parameters=_parameters(made) if made else fields,
        fields=[one for one in fields if not one.startswith("_")],
    )
    for method, definition in methods.items():
        if not method.startswith("_") and not decorated(definition, ".setter"):
            overrides = any(hasattr(base, method) for base in live.__mro__[1:])
            yield Documented(
                f"{name}.{method}",
                definition,
                _doc(definition),
                parameters=_parameters(definition),
                overrides=overrides,
            )


def source_of(live: Any) -> str:
    """Returns the module whose source or stub defines a class or function."""
    # Native names say that they are of "ullage", and native functions of no module or of `_core`.
    native = inspect.isbuiltin(live) or live.__module__ == "ullage"
    return "ullage._core" if native else live.__module__


def documented() -> Iterator[Documented]:
    """Everything public that has a definition."""
    for module in MODULES:
        names = importlib.import_module(module)
        for name in names.__all__:
            live = getattr(names, name)
            if not (inspect.isclass(live) or callable(live)) or name.startswith("__"):
                continue
            found = definitions(source_of(live)).get(getattr(live, "__name__", name))
            if found is None:
                continue
            if isinstance(found, ast.ClassDef):
                yield from _of_class(f"{module}.{name}", found, live)
            elif isinstance(found, Function):
                yield Documented(
                    f"{module}.{name}", found, _doc(found), parameters=_parameters(found)
                )
