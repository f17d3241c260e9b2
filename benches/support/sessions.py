"""A coding session of any length, in Anthropic's format: files are read, searched, tested, edited.

Made up, and the same every time. What an answer uses was mostly read a short while ago, and
sometimes long ago; so was what an edit replaces.
"""

from __future__ import annotations

import random
from typing import Any

_NOUNS = "cask stave hoop bung cellar barrel must lees cooper level space wine vat press cork"
_VERBS = "open fill close drain taste store label count seal move wash rack check load list"
_FUNCTIONS_A_FILE = 14
_FILES = 400
_CHARACTERS_A_TOKEN = 2.55  # of o200k, over sessions of several lengths
# One in this many uses reads from the whole session, the others from recent reads.
_RECENT_READS = 6
_FAR_ONE_IN = 4


class _Project:
    """Files of functions, each line of them with names of its own."""

    def __init__(self, chance: random.Random) -> None:
        self.chance = chance
        self.nouns, self.verbs = _NOUNS.split(), _VERBS.split()
        self.files = [
            f"src/{self.nouns[n % 15]}_{n // 15}/{self.verbs[n * 7 % 15]}.py" for n in range(_FILES)
        ]
        self.lines = {path: self._file(number) for number, path in enumerate(self.files)}

    def _file(self, number: int) -> list[str]:
        lines = [f"import {self.nouns[number % 15]}_{number}", ""]
        for function in range(_FUNCTIONS_A_FILE):
            verb, noun = self.chance.choice(self.verbs), self.chance.choice(self.nouns)
            other = self.chance.choice(self.nouns)
            name = f"{verb}_{noun}_{number}_{function}"
            lines += [
                f"def {name}(path: str, limit: int = {self.chance.randrange(100, 9_999)}) -> int:",
                f'    """{verb.title()} the {noun}."""',
                f"    {noun}_state = {other}.read_{function}(path)",
                f"    if {other}_level_{function} > limit:",
                f'        raise {noun.title()}Error("{name} at {function}")',
                f"    return {self.chance.choice(self.verbs)}_all_{number}(path)",
                "",
            ]
        return lines


def session(tokens: int, seed: int = 1) -> list[dict[str, Any]]:
    """Messages of about so many tokens, or a few more."""
    chance = random.Random(seed)
    project = _Project(chance)
    messages: list[dict[str, Any]] = [
        {"role": "user", "content": "Every function should check its limit. Go through all files."}
    ]
    read: list[str] = []
    size, step = 0, 0
    while size < tokens * _CHARACTERS_A_TOKEN:
        step += 1
        words, name, arguments, output = _step(project, read, step)
        call = {"type": "tool_use", "id": f"toolu_{step:04}", "name": name, "input": arguments}
        messages.append({"role": "assistant", "content": [{"type": "text", "text": words}, call]})
        result = {"type": "tool_result", "tool_use_id": f"toolu_{step:04}", "content": output}
        messages.append({"role": "user", "content": [result]})
        size += len(words) + len(str(arguments)) + len(output)
    messages.append({"role": "assistant", "content": [{"type": "text", "text": "All is done."}]})
    return messages


def _step(project: _Project, read: list[str], step: int) -> tuple[str, str, dict[str, Any], str]:
    """Words, a tool, its arguments, and what it prints."""
    chance = project.chance
    if step % 4 == 1 or not read:
        path = chance.choice(project.files)
        read.append(path)
        numbered = enumerate(project.lines[path], 1)
        return (
            "Next file.",
            "Read",
            {"file_path": path},
            "\n".join(f"{n:6}→{line}" for n, line in numbered),
        )
    far = chance.randrange(_FAR_ONE_IN) == 0
    path = chance.choice(read if far else read[-_RECENT_READS:])
    lines = project.lines[path]
    place = chance.randrange(_FUNCTIONS_A_FILE) * 7 + 2
    name = lines[place].partition("(")[0].removeprefix("def ")
    if step % 4 == 2:
        hits = [
            f"{path}:{n}:{line}"
            for n, line in enumerate(lines, 1)
            if "return" in line or name in line
        ]
        return f"Who calls {name}?", "Grep", {"pattern": name}, "\n".join(hits)
    if step % 4 == 3:
        old = "\n".join(lines[place + 3 : place + 6])
        new = old.replace("> limit", ">= limit")
        arguments = {"file_path": path, "old_string": old, "new_string": new}
        return f"{name} lets one too many through.", "Edit", arguments, "The file has been updated."
    tests = [f"tests/test_{n}.py::test_{name}_{n} PASSED [{n:3}%]" for n in range(1, 60)]
    return "And the tests.", "Bash", {"command": f"pytest -v {path}"}, "\n".join(tests)
