"""The code of the README and of docs/ runs as it stands there, and their links lead somewhere."""

from __future__ import annotations

import ast
import asyncio
import contextlib
import inspect
import io
import re
import subprocess
import sys
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import pytest

from .blocks import BLOCK, ROOT, text_of
from .hosts.listed import GUIDES
from .pages import PAGES, Page
from .public import MODULES

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

# Such a block right after one of Python shows what that one prints.
PRINTED = re.compile(r"\n\n```text\n(.*?)^```$", re.MULTILINE | re.DOTALL)
FENCED = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
CODE = re.compile(r"`[^`\n]*`")
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#{1,6} +(.*?) *$", re.MULTILINE)
# Pages with blocks that stand alone; the tests below run each in a process of its own.
APART = {"README.md", "docs/your-own-loop.md", *GUIDES.values()}
EXAMPLES = sorted(path.name for path in (ROOT / "examples").glob("*_*.py"))
ALL = sorted(
    str(page.relative_to(ROOT))
    for pattern in ("*.md", "docs/**/*.md")
    for page in ROOT.glob(pattern)
)


def blocks_of(page: str) -> list[tuple[Any, str | None]]:
    """Returns each block of a page, compiled with its lines, and the output that the page shows."""
    text = text_of(page)
    blocks = []
    for found in BLOCK.finditer(text):
        above = "\n" * text.count("\n", 0, found.start(1))
        flags = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
        shown = PRINTED.match(text, found.end())
        code = compile(above + found[1], page, "exec", flags)
        blocks.append((code, shown and shown[1]))
    return blocks


def run(page: str, known: Page, names: dict[str, Any]) -> str:
    """Runs the blocks of a page, compares their output with the page, and returns all of it."""
    outputs = []

    @contextlib.contextmanager
    def checked(shown: str | None) -> Iterator[None]:
        known.before(names)
        with contextlib.redirect_stdout(io.StringIO()) as output:
            yield
        outputs.append(output.getvalue())
        assert shown is None or outputs[-1].rstrip() == shown.rstrip()

    async def run_awaiting() -> None:
        for block, shown in blocks:
            with checked(shown):
                if inspect.iscoroutine(running := eval(block, names)):
                    await running

    blocks = blocks_of(page)
    if any(block.co_flags & inspect.CO_COROUTINE for block, _ in blocks):
        asyncio.run(run_awaiting())
    else:
        for block, shown in blocks:
            with checked(shown):
                exec(block, names)
    return "".join(outputs)


@pytest.mark.filterwarnings("ignore:.*EXPERIMENTAL.*:UserWarning")  # ADK's own compaction is
@pytest.mark.parametrize(
    "page", [page for page in ALL if BLOCK.search(text_of(page)) and page not in APART]
)
def test_the_code_of_a_page_runs_and_prints_what_it_shows(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    known = PAGES.get(page, Page())
    names = known.names()
    if known.is_apart:
        command = [sys.executable, "-W", "error", "-c", "\n".join(BLOCK.findall(text_of(page)))]
        printed = subprocess.run(
            command, cwd=ROOT, capture_output=True, text=True, check=True, timeout=30
        ).stdout
    else:
        printed = run(page, known, names)
    known.after(names, printed, tmp_path)


def run_with_local_provider(script: Path, folder: Path, window: int = 32_000) -> None:
    """Runs a script as a user would; OpenAI, Anthropic and Gemini are local."""
    provider = ROOT / "examples/local_provider.py"
    command = [sys.executable, "-W", "error", str(provider), str(script), str(window)]
    ran = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, timeout=50, check=False
    )
    assert ran.returncode == 0, ran.stderr


@pytest.mark.parametrize("number", range(len(BLOCK.findall(text_of("README.md")))))
def test_each_block_of_the_readme_runs_in_an_empty_file(number, tmp_path):
    script = tmp_path / "new.py"
    script.write_text(BLOCK.findall(text_of("README.md"))[number], encoding="utf-8")
    run_with_local_provider(script, tmp_path, window=272_000)


def test_a_comment_of_the_readme_has_the_tokens_of_its_report():
    (block,) = [code for code in BLOCK.findall(text_of("README.md")) if "tokens become" in code]
    said = re.search(r"# ([\d,]+) tokens become ([\d,]+)", block)
    assert said is not None
    names: dict[str, Any] = {}
    exec(block, names)
    counted = (names["report"].tokens_before, names["report"].tokens_after)
    assert said.groups() == tuple(f"{float(f'{tokens:.2g}'):,.0f}" for tokens in counted)


def test_the_readme_is_short():
    assert len(text_of("README.md").splitlines()) <= 150


# The blocks of the README run the same hosts.
OF_README = ("openai_loop.py", "strands_agent.py", "adk_agent.py")


@pytest.mark.parametrize(
    "example",
    [
        pytest.param(name, marks=pytest.mark.long if name in OF_README else ())
        for name in EXAMPLES
        if name != "local_provider.py"
    ],
)
def test_an_example_runs(example, tmp_path):
    run_with_local_provider(ROOT / "examples" / example, tmp_path)


def test_your_own_loop_shows_the_examples():
    """The page has no code of its own, so what it shows runs."""
    shown = [
        ast.dump(ast.parse(block)) for block in BLOCK.findall(text_of("docs/your-own-loop.md"))
    ]
    examples = [ast.parse(text_of(f"examples/{host}_loop.py")) for host in ("openai", "anthropic")]
    for example in examples:
        del example.body[0]  # the docstring
    assert shown == [ast.dump(example) for example in examples]


def test_every_known_page_has_code():
    assert [page for page in PAGES if not BLOCK.search(text_of(page))] == []


def anchors_of(page: Path) -> set[str]:
    """GitHub's anchors of the headings: letters, digits, hyphens for spaces, a number if twice."""
    anchors: set[str] = set()
    text = FENCED.sub("", page.read_text(encoding="utf-8"))
    for heading in HEADING.findall(text):
        words = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).replace("`", "").lower()
        anchor = re.sub(r"[^\w\- ]", "", words).replace(" ", "-")
        number = sum(known == anchor or known.startswith(f"{anchor}-") for known in anchors)
        anchors.add(f"{anchor}-{number}" if anchor in anchors else anchor)
    return anchors


def problem_of(page: str, target: str) -> str | None:
    """The fault of a link; None for one that leads somewhere."""
    parts = urlsplit(target)
    if parts.scheme or parts.netloc:
        host = parts.hostname or ""
        is_well_formed = parts.scheme in {"http", "https"} and re.fullmatch(
            r"[\w-]+(\.[\w-]+)+", host
        )
        return None if is_well_formed else f"{target} is no address"
    place = ROOT / page if parts.path == "" else (ROOT / page).parent / parts.path
    if not place.exists():
        return f"{target} leads to no file"
    if ROOT not in (place.resolve(), *place.resolve().parents):
        return f"{target} leads out of the project"
    if parts.fragment and parts.fragment not in anchors_of(place):
        return f"{target} leads to no heading"
    return None


@pytest.mark.parametrize("page", ALL)
def test_every_link_leads_somewhere(page):
    text = CODE.sub("", FENCED.sub("", text_of(page)))
    problems = [problem_of(page, target) for target in LINK.findall(text)]
    assert [problem for problem in problems if problem] == []


@pytest.mark.parametrize(
    ("target", "what"),
    [
        ("nowhere.md", "no file"),
        ("concepts.md#no-such-heading", "no heading"),
        ("#nor-here", "no heading"),
        ("htps://example.com", "no address"),
        ("https:/example.com", "no address"),
        ("../../elsewhere", "no file"),
    ],
)
def test_a_link_that_leads_nowhere_is_seen(target, what):
    assert what in str(problem_of("docs/README.md", target))
    assert problem_of("docs/README.md", "policies.md#the-ladder") is None


def test_the_site_has_every_page():
    site = text_of("zensical.toml")
    pages = [str(page.relative_to(ROOT / "docs")) for page in (ROOT / "docs").glob("*.md")]
    pages += [f"reference/{module.rpartition('.')[2]}.md" for module in MODULES]
    assert [page for page in pages if f'"{page}"' not in site] == []
    for module in MODULES:
        page = f"docs/reference/{module.rpartition('.')[2]}.md"
        assert text_of(page).endswith(f"\n::: {module}\n")


def test_the_index_leads_to_every_page():
    named = {urlsplit(target).path for target in LINK.findall(text_of("docs/README.md"))}
    pages = {path.name for path in (ROOT / "docs").glob("*.md")} - {"README.md"}
    assert pages - named == set()
    decided = {path.name for path in (ROOT / "docs/decisions").glob("*.md")} - {"README.md"}
    listed = {urlsplit(target).path for target in LINK.findall(text_of("docs/decisions/README.md"))}
    assert decided - listed == set()
