"""Outputs of tools, about a hundred kilobytes each: made here, or printed by real tools."""

from __future__ import annotations

import json
import random
import subprocess
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[2]
SIZE = 100_000
WORDS = [
    *("cache", "index", "worker", "pool", "query", "batch", "stream"),
    *("token", "route", "shard", "lease", "quorum", "replica"),
]


def outputs() -> dict[str, str]:
    """Each kind of output by its name."""
    dice = random.Random(7)
    return {
        "application log": _filled(_log(dice)),
        "pytest -v": _tests(dice),
        "ls -lR": _printed("ls", "-lR", "src", "tests", "python", "docs", "benches"),
        "grep -rn": _printed("grep", "-rnI", "let ", "src"),
        "git diff": _diff(dice),
        "JSON records": json.dumps(_records(dice, 700)),
        "nested JSON": json.dumps(_tree(dice), indent=2),
        "NDJSON": "".join(json.dumps(record) + "\n" for record in _records(dice, 700)),
        "HTML": _page(dice),
        "source code": _code(),
        "CSV": _filled(_rows(dice)),
        "stack traces": _filled(_traces(dice)),
        "prose": _filled(_sentences(dice)),
    }


def _filled(lines: Iterator[str]) -> str:
    kept: list[str] = []
    size = 0
    for line in lines:
        kept.append(line)
        size += len(line) + 1
        if size > SIZE:
            break
    return "\n".join(kept) + "\n"


def _printed(*command: str) -> str:
    run = subprocess.run(command, check=True, cwd=ROOT, capture_output=True, text=True)  # noqa: S603
    return run.stdout[:SIZE]


def _log(dice: random.Random) -> Iterator[str]:
    start = datetime(2026, 11, 20, 8, tzinfo=timezone.utc)
    while True:
        start += timedelta(milliseconds=dice.randint(1, 2_000))
        time = start.isoformat(timespec="milliseconds")
        draw = dice.random()
        if draw < 0.004:
            yield f"{time} ERROR [payments] charge ch_{dice.getrandbits(40):x} failed: declined"
        elif draw < 0.6:
            path = f"/api/{dice.choice(WORDS)}/{dice.randint(1, 9999)}"
            yield f"{time} INFO [http] GET {path} 200 {dice.randint(1, 300)}ms"
        elif draw < 0.85:
            user = dice.randint(1, 5000)
            yield f"{time} DEBUG [cache] hit key=user:{user}:profile ttl={dice.randint(1, 600)}"
        else:
            yield f"{time} INFO [worker-{dice.randint(1, 8)}] job {dice.getrandbits(64):x} done"


def _tests(dice: random.Random) -> str:
    names = [
        f"tests/test_{dice.choice(WORDS)}.py::test_{dice.choice(WORDS)}_{number}"
        for number in range(1_400)
    ]
    failed = set(dice.sample(range(len(names)), 6))
    lines = ["=" * 30 + " test session starts " + "=" * 30, f"collected {len(names)} items", ""]
    for number, name in enumerate(names):
        verdict = "FAILED" if number in failed else "PASSED"
        lines.append(f"{name} {verdict}{' ' * 10}[{number * 100 // len(names):3}%]")
    lines += ["", "=" * 35 + " FAILURES " + "=" * 35]
    for number in sorted(failed):
        name = names[number].split("::")[1]
        lines += [
            f"{'_' * 30} {name} {'_' * 30}",
            "",
            f"    def {name}():",
            f">       assert answer({number}) == {number + 1}",
            f"E       assert {number} == {number + 1}",
            "",
            f"{names[number].split('::')[0]}:{number}: AssertionError",
        ]
    lines.append("=" * 25 + " short test summary info " + "=" * 25)
    lines += [
        f"FAILED {names[number]} - assert {number} == {number + 1}" for number in sorted(failed)
    ]
    lines.append(
        f"{'=' * 20} {len(failed)} failed, {len(names) - len(failed)} passed in 12.34s {'=' * 20}"
    )
    return "\n".join(lines) + "\n"


def _diff(dice: random.Random) -> str:
    parts: list[str] = []
    for number in range(40):
        path = f"src/{dice.choice(WORDS)}_{number}.py"
        parts += [
            f"diff --git a/{path} b/{path}",
            "index 1a2b3c4..5d6e7f8 100644",
            f"--- a/{path}",
            f"+++ b/{path}",
        ]
        for hunk in range(6):
            start = 20 + hunk * 60
            parts.append(f"@@ -{start},9 +{start},10 @@ def {dice.choice(WORDS)}_{hunk}(request):")
            context = [
                f"     {dice.choice(WORDS)} = request.{dice.choice(WORDS)}({line})"
                for line in range(8)
            ]
            old, new = dice.choice(WORDS), dice.choice(WORDS)
            changed = [
                f"-    return {old}[{hunk}]",
                f"+    checked = check({new})",
                f"+    return checked[{hunk}]",
            ]
            parts += [*context[:4], *changed, *context[4:]]
    return "\n".join(parts) + "\n"


def _records(dice: random.Random, count: int) -> list[dict[str, object]]:
    return [
        {
            "id": number,
            "name": f"{dice.choice(WORDS)}-{dice.randint(1, 99)}",
            "status": "failed" if dice.random() < 0.01 else "ok",
            "region": dice.choice(["eu-west-1", "us-east-1"]),
            "duration_ms": round(dice.gauss(120, 30), 2),
            "created_at": f"2026-11-20T08:{number // 60 % 60:02}:{number % 60:02}Z",
        }
        for number in range(count)
    ]


def _tree(dice: random.Random) -> dict[str, object]:
    def node(depth: int) -> object:
        if depth == 0:
            return {
                "value": dice.randint(0, 10_000),
                "unit": dice.choice(WORDS),
                "enabled": dice.random() < 0.5,
            }
        return {f"{dice.choice(WORDS)}_{number}": node(depth - 1) for number in range(6)}

    return {"version": 3, "services": node(4)}


def _page(dice: random.Random) -> str:
    parts = [
        "<!doctype html><html><head><title>Reference</title>",
        "<style>.a { color: red }</style></head><body>",
    ]
    for number in range(150):
        words = " ".join(dice.choices(WORDS, k=30))
        parts.append(
            f'<section class="section" id="s{number}">'
            f'<h2 class="heading heading--large">Part {number}</h2>'
            f'<p class="body">{words} <a class="link" href="/part/{number}">more</a>.</p>'
            f'<ul class="list"><li class="item">{dice.choice(WORDS)}</li>'
            f'<li class="item">{dice.choice(WORDS)}</li></ul>'
            "<script>window.track('view', {});</script></section>"
        )
    return "\n".join([*parts, "</body></html>"])


def _code() -> str:
    files = sorted((ROOT / "src").glob("*/*.rs"))
    return "".join(file.read_text() for file in files)[:SIZE]


def _rows(dice: random.Random) -> Iterator[str]:
    yield "id,name,region,amount,currency,created_at"
    number = 0
    while True:
        number += 1
        amount = round(dice.gauss(80, 20), 2)
        yield f"{number},{dice.choice(WORDS)},eu-west-{dice.randint(1, 3)},{amount},EUR,2026-11-20"


def _traces(dice: random.Random) -> Iterator[str]:
    while True:
        yield "Traceback (most recent call last):"
        for depth in range(12):
            file = f"/usr/lib/python3/site-packages/framework/{dice.choice(WORDS)}.py"
            yield f'  File "{file}", line {depth * 31}, in call'
            yield f"    return self.{dice.choice(WORDS)}(*args, **kwargs)"
        line = dice.randint(1, 300)
        yield f'  File "/app/service/{dice.choice(WORDS)}.py", line {line}, in handle'
        yield "    raise ValueError(message)"
        yield f"ValueError: {dice.choice(WORDS)} {dice.randint(1, 99)} is not known"


def _sentences(dice: random.Random) -> Iterator[str]:
    while True:
        yield " ".join(dice.choices(WORDS, k=dice.randint(8, 30))).capitalize() + "."
