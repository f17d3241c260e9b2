"""Texts to count, the same wherever Python is the same: one class for each kind of content.

Found, where Python brings it: its sources and its reference. The rest is made from fixed seeds.
"""

from __future__ import annotations

import sysconfig
from pathlib import Path
from pydoc_data.topics import topics

from . import languages, machines

# Bytes of each class, or somewhat less: enough for many pieces that come only once.
SIZE = 500_000


def classes() -> dict[str, str]:
    """Content by the name of its class."""
    reference = "\n\n".join(text for _, text in sorted(topics.items()))
    python = sources(Path(sysconfig.get_paths()["stdlib"]), "*.py")
    rust = sources(Path(__file__).parents[3] / "src", "**/*.rs")
    words = sorted(set(reference.lower().split()))
    found = {"reference": reference, "Python": python, "Rust": rust}
    made = machines.classes(words, found, SIZE) | languages.classes(SIZE)
    texts = (found | made).items()
    return {name: text.encode()[:SIZE].decode(errors="ignore") for name, text in texts}


def sources(folder: Path, pattern: str) -> str:
    """The sources in a folder, one after the other, until there are enough."""
    texts: list[str] = []
    size = 0
    for path in sorted(folder.glob(pattern)):
        texts.append(path.read_text(encoding="utf-8", errors="replace"))
        size += len(texts[-1])
        if size >= SIZE:
            break
    return "\n".join(texts)
