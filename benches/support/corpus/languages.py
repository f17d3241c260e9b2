"""Running text in many scripts: common words by their rank, and names that nobody has seen.

A word of rank n comes 1/n times as often as the first, as in real text (Zipf's law). One word in
eight is made from the syllables of the others, which stands for inflection, names and loans.
"""

from __future__ import annotations

import json
import random
from pathlib import Path

LISTS = json.loads(Path(__file__).with_name("words.json").read_text(encoding="utf-8"))
WORDS: dict[str, str] = LISTS["words"]
EMOJI: list[str] = LISTS["emoji"].split()

# Scripts that put no space between words.
UNSPACED = {"Thai", "Chinese", "Japanese"}
# The ends of clauses and sentences.
STOPS = {
    "Arabic": ("\u060c", "."),
    "Chinese": ("\uff0c", "\u3002"),
    "Hindi": (",", "\u0964"),
    "Japanese": ("\u3001", "\u3002"),
}


def classes(size: int) -> dict[str, str]:
    """Running text of each language, and emoji among words."""
    chooser = random.Random("emoji")
    chat = "".join(f"{chooser.choice(EMOJI) * chooser.randint(1, 3)} " for _ in range(size // 4))
    return {name: running_text(name, size) for name in WORDS} | {"emoji": chat}


def running_text(language: str, size: int) -> str:
    """Sentences and paragraphs of ``size`` characters or a few more."""
    chooser = random.Random(language)
    words = WORDS[language].split()
    weights = [1 / rank for rank in range(1, len(words) + 1)]
    comma, stop = STOPS.get(language, (",", "."))
    space = "" if language in UNSPACED else " "
    parts: list[str] = []
    length = 0
    while length < size:
        sentence = chooser.choices(words, weights, k=chooser.randint(5, 20))
        for place in range(len(sentence)):
            if chooser.random() < 1 / 8:
                sentence[place] = invented(chooser, words)
        sentence[len(sentence) // 2] += comma
        sentence[0] = sentence[0].capitalize()
        end = "\n\n" if chooser.random() < 1 / 6 else space
        parts.append(space.join(sentence) + stop + end)
        length += len(parts[-1])
    return "".join(parts)


def invented(chooser: random.Random, words: list[str]) -> str:
    """The beginning of one word and the end of another."""
    head, tail = chooser.choice(words), chooser.choice(words)
    return head[: len(head) // 2 + 1] + tail[len(tail) // 2 :]
