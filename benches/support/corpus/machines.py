"""Output of tools and programs: logs, JSON, diffs, markup, lock files, encoded bytes."""

from __future__ import annotations

import base64
import csv
import difflib
import html
import io
import json
import random
import uuid
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

LEVELS = ("DEBUG", "INFO", "INFO", "INFO", "WARNING", "ERROR")


def classes(words: list[str], found: dict[str, str], size: int) -> dict[str, str]:
    """Each class by its name; ``found`` are texts to be quoted, changed or marked up."""
    names = [word for word in words if word.isidentifier()]
    quoted: dict[str, Callable[[random.Random], str]] = {
        "logs": lambda chooser: log_line(chooser, names),
        "JSON": lambda chooser: record(chooser, names) + "\n",
        "TypeScript": lambda chooser: typescript(chooser, names),
        "minified JS": lambda chooser: minified(chooser, names),
        "lock file": lambda chooser: locked(chooser, names),
        "CSV": lambda chooser: row(chooser, names),
        "shell": lambda chooser: listing(chooser, names),
        "base64": lambda chooser: base64.b64encode(chooser.randbytes(57)).decode() + "\n",
        "base64 unbroken": lambda chooser: base64.b64encode(chooser.randbytes(3_000)).decode(),
        "hex": lambda chooser: chooser.randbytes(32).hex() + "\n",
        "UUIDs": lambda chooser: f"{uuid.UUID(bytes=chooser.randbytes(16))}\n",
        "random letters": lambda chooser: chooser.choice("abcdefghijklmnopqrstuvwxyz"),
        "runs": lambda chooser: chooser.choice("=-*# .~\n\ta0_") * chooser.randint(2, 300),
    }
    made = {name: repeated(name, make, size) for name, make in quoted.items()}
    made["diff"] = changes(found["Python"])
    made["HTML"] = markup(found["reference"])
    made["agent transcript"] = transcript(found | made, size)
    return made


def repeated(seed: str, make: Callable[[random.Random], str], size: int) -> str:
    """Many of what ``make`` makes, each different, the same in every run."""
    chooser = random.Random(seed)
    parts: list[str] = []
    length = 0
    while length < size:
        parts.append(make(chooser))
        length += len(parts[-1])
    return "".join(parts)


def log_line(chooser: random.Random, names: list[str]) -> str:
    day, hour, minute = chooser.randint(1, 30), chooser.randint(0, 23), chooser.randint(0, 59)
    clock = f"2026-11-{day:02}T{hour:02}:{minute:02}:{chooser.random() * 60:09.6f}Z"
    name, what = chooser.choice(names), " ".join(chooser.choices(names, k=chooser.randint(2, 7)))
    return (
        f"{clock} {chooser.choice(LEVELS):7} [{name}-{chooser.randint(1, 64)}] {what}"
        f" id={chooser.getrandbits(40):010x} status={chooser.randint(200, 504)}"
        f" took={chooser.random() * 900:.2f}ms\n"
    )


def record(chooser: random.Random, names: list[str]) -> str:
    value = {
        "id": chooser.getrandbits(32),
        "name": " ".join(chooser.choices(names, k=2)),
        "tags": chooser.choices(names, k=3),
        "score": round(chooser.random() * 100, 3),
        "active": chooser.random() < 0.5,
        "parent": None,
        "path": "/".join(chooser.choices(names, k=4)),
        "note": " ".join(chooser.choices(names, k=chooser.randint(3, 20))) + '.\n"quoted"',
    }
    return json.dumps(value, indent=2 if chooser.random() < 0.5 else None)


def camel(chooser: random.Random, names: list[str]) -> str:
    return "".join(word.capitalize() for word in chooser.choices(names, k=chooser.randint(1, 3)))


def typescript(chooser: random.Random, names: list[str]) -> str:
    kind, call, field = camel(chooser, names), camel(chooser, names), chooser.choice(names)
    method = call[:1].lower() + call[1:]
    note, last = " ".join(chooser.choices(names, k=8)), chooser.choice(names)
    limit = chooser.randint(1, 999)
    return (
        f"export async function get{call}({field}: {kind}[], limit = {limit}): Promise<{kind}> {{\n"
        f"  // {note}\n"
        f"  const {field}s = await this.{method}.find({{ where: {{ {field}: true }} }});\n"
        f"  if (!{field}s?.length) {{\n"
        f"    throw new {kind}Error(`no {field} for ${{limit}}`);\n"
        "  }\n"
        f"  return {field}s.map((x) => x.{last} ?? null);\n}}\n\n"
    )


def minified(chooser: random.Random, names: list[str]) -> str:
    a, b, c = chooser.choices("abcdefghijklmnopqrstuvwxyz", k=3)
    name, other = chooser.choices(names, k=2)
    return (
        f"function {a}({b},{c}){{"
        f"return {b}.{name}({c}=>{c}.{other}&&!{c}[{chooser.randint(0, 99)}])||"
        f'void 0!=={a}.{other}?{b}["{name}"]:({c}+=1,{chooser.random():.4f})}}var {c}={a}({b}),'
    )


def locked(chooser: random.Random, names: list[str]) -> str:
    name = "-".join(chooser.choices(names, k=2))
    digest = base64.b64encode(chooser.randbytes(64)).decode()
    version = ".".join(str(chooser.randint(0, 30)) for _ in range(3))
    return (
        f'    "node_modules/{name}": {{\n      "version": "{version}",\n'
        f'      "resolved": "https://registry.example.org/{name}/-/{name}-{version}.tgz",\n'
        f'      "integrity": "sha512-{digest}",\n      "dev": true\n    }},\n'
    )


def row(chooser: random.Random, names: list[str]) -> str:
    out = io.StringIO()
    csv.writer(out).writerow(
        [
            chooser.getrandbits(24),
            f"2026-{chooser.randint(1, 12):02}-{chooser.randint(1, 28):02}",
            *chooser.choices(names, k=3),
            f"{chooser.gauss(0, 1e3):.4f}",
            f"{chooser.random():.6g}",
            f"{chooser.choice(names)}@example.org",
        ]
    )
    return out.getvalue()


def listing(chooser: random.Random, names: list[str]) -> str:
    folder = "/".join(chooser.choices(names, k=3))
    lines = [f"$ grep -rn {chooser.choice(names)} ./{folder} | head -{chooser.randint(1, 50)}\n"]
    for _ in range(chooser.randint(1, 12)):
        words = " ".join(chooser.choices(names, k=6))
        lines.append(
            f"./{folder}/{chooser.choice(names)}.py:{chooser.randint(1, 3000)}:    {words}\n"
        )
    size = chooser.getrandbits(20)
    lines.append(
        f"-rw-r--r-- 1 user user {size:8} Nov {chooser.randint(1, 30):2} 09:41 {names[0]}\n"
    )
    return "".join(lines)


def changes(source: str) -> str:
    """A diff of the source against itself with every seventh line or so changed."""
    chooser = random.Random("diff")
    before = source.splitlines(keepends=True)
    parts: list[str] = []
    # Blocks, because difflib takes quadratic time.
    for start in range(0, len(before), 200):
        block = before[start : start + 200]
        after = [
            line.replace("self", "this") if chooser.random() < 0.15 else line for line in block
        ]
        parts.extend(difflib.unified_diff(block, after, f"a/{start}.py", f"b/{start}.py"))
    return "".join(parts)


def markup(text: str) -> str:
    parts = ["<!DOCTYPE html>\n<html>\n<body>\n"]
    for number, paragraph in enumerate(text.split("\n\n")):
        body = html.escape(paragraph).replace("\n", "<br/>\n")
        parts.append(f'<div class="col-md-{number % 12}" id="p{number}"><p>{body}</p></div>\n')
    return "".join(parts)


def transcript(quotes: dict[str, str], size: int) -> str:
    """Calls and results in turn, as a log of an agent has them."""
    kinds = ("Python", "logs", "JSON", "diff", "shell", "reference", "TypeScript")

    def step(chooser: random.Random) -> str:
        kind = chooser.choice(kinds)
        start = chooser.randrange(len(quotes[kind]) - 4_000)
        quote = quotes[kind][start : start + chooser.randint(200, 4_000)]
        call = {
            "type": "tool_use",
            "id": f"toolu_{chooser.getrandbits(90):x}",
            "input": {"q": kind},
        }
        return f"{json.dumps(call)}\n{json.dumps({'content': quote, 'is_error': False})}\n{quote}\n"

    return repeated("transcript", step, size)
