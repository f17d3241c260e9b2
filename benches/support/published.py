"""Python tiktoken without a network: the published patterns, and vocabularies from this project."""

from __future__ import annotations

import base64
import subprocess
from pathlib import Path

import tiktoken

ROOT = Path(__file__).parents[2]
# Build output; `make clean` removes it.
FOLDER = ROOT / "target" / "counting"

# As published by OpenAI in `tiktoken_ext/openai_public.py`.
CONTRACTION = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
UPPER, LOWER = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]", r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"
PATTERNS = {
    "o200k_base": (
        rf"[^\r\n\p{{L}}\p{{N}}]?{UPPER}*{LOWER}+{CONTRACTION}"
        rf"|[^\r\n\p{{L}}\p{{N}}]?{UPPER}+{LOWER}*{CONTRACTION}"
        r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
    ),
    "cl100k_base": (
        r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+"
        r"| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s*[\r\n]|\s+(?!\S)|\s"
    ),
}


def tiktoken_encoding(name: str) -> tiktoken.Encoding:
    """The encoding of that name. Its vocabulary is written to a file of tiktoken's own format."""
    file = FOLDER / f"{name}.tiktoken"
    if not file.exists():
        FOLDER.mkdir(parents=True, exist_ok=True)
        command = ["cargo", "run", "--quiet", "--release", "--example", "ranks", "--"]
        subprocess.run([*command, name, str(file)], check=True, cwd=ROOT)  # noqa: S603
    lines = (line.split() for line in file.read_bytes().splitlines())
    ranks = {base64.b64decode(token): int(rank) for token, rank in lines}
    return tiktoken.Encoding(name, pat_str=PATTERNS[name], mergeable_ranks=ranks, special_tokens={})
