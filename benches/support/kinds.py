"""Sessions of other kinds than coding: research, data analysis and a support talk.

Made up, and the same every time under one version of Python. The tools are real: a search over the
pages of the standard library, and SQL over a table. The agent follows a script, and so does the
customer: such sessions show where an engine fails, not how good it is.
"""

from __future__ import annotations

import json
import pydoc
import random
import re
import sqlite3
from typing import Any

_PAGES = (
    "argparse asyncio.locks bisect calendar collections configparser csv dataclasses datetime"
    " decimal difflib email.message enum fractions functools gettext glob graphlib gzip heapq"
    " http.cookies imaplib ipaddress json logging mailbox mimetypes optparse pathlib pickle"
    " plistlib queue random sched secrets selectors shelve shlex smtplib socketserver sqlite3"
    " statistics string subprocess tarfile tempfile textwrap threading tomllib traceback unittest"
    " urllib.parse uuid warnings weakref zipfile"
)
_PAGE = 7_000
_HITS = 8
_WORD = re.compile(r"[a-z_]{5,}")
_CITIES = ["Oslo", "Lima", "Kyoto", "Turin", "Accra", "Quito", "Perth", "Malmo", "Izmir", "Delhi"]
_PRODUCTS = ["press", "cask", "hoop", "stave", "bung", "valve", "funnel", "siphon"]
_NAMES = [
    "Abena",
    "Bjarne",
    "Chiara",
    "Dmitri",
    "Emeka",
    "Farida",
    "Goran",
    "Hanne",
    "Ines",
    "Jorge",
]
_CHAT = (
    "Thank you so much for your patience today!",
    "Sure, no problem at all.",
    "Great, that sounds good to me.",
    "Is there anything else that I can help you with?",
    "One moment please, I am looking into it.",
    "How is your day going so far?",
)


class _Log:
    """Messages of an agent in Anthropic's format."""

    def __init__(self, task: str) -> None:
        self.messages: list[dict[str, Any]] = [{"role": "user", "content": task}]

    def step(self, words: str, tool: str, arguments: dict[str, Any], result: str) -> None:
        """Appends what the agent says, its call and the result."""
        name = f"call_{len(self.messages)}"
        call = {"type": "tool_use", "id": name, "name": tool, "input": arguments}
        content = [{"type": "text", "text": words}, call]
        self.messages.append({"role": "assistant", "content": content})
        answer = {"type": "tool_result", "tool_use_id": name, "content": result}
        self.messages.append({"role": "user", "content": [answer]})


def research(seed: int, steps: int = 60) -> list[dict[str, Any]]:
    """A web-research session: searches and pages of a local site, findings, and reports."""
    chance = random.Random(seed)
    pages = {name: pydoc.plain(pydoc.render_doc(name))[:_PAGE] for name in _PAGES.split()}
    topics = chance.sample(sorted(pages), steps // 3)
    log = _Log("Compare how the standard library treats errors, limits and names. Cite pages.")
    found: list[str] = []
    for topic in topics:
        words = sorted(set(_WORD.findall(pages[topic])))
        asked = chance.sample(words, 2)
        log.step(
            f"Next is {topic}, because the comparison needs {asked[0]} and {asked[1]}.",
            "web_search",
            {"query": " ".join(asked)},
            _search(pages, asked),
        )
        url = f"https://docs.example/library/{topic}.html"
        log.step(f"The page on {topic} should say it.", "fetch", {"url": url}, pages[topic])
        sentences = [line.strip() for line in pages[topic].splitlines() if len(line.split()) > 7]
        quotes = chance.sample(sentences, min(2, len(sentences)))
        found += [f"{topic} ({url}): {quote}" for quote in quotes]
        cited = "\n".join(chance.sample(found, min(3, len(found))))
        said = f"I found that {topic} says: {' '.join(quotes)} I will compare it with:\n{cited}"
        log.step(said, "write_note", {"title": topic, "text": cited}, "saved")
    return log.messages


def _search(pages: dict[str, str], words: list[str]) -> str:
    hits = [
        {"url": f"https://docs.example/library/{name}.html", "snippet": line.strip()}
        for name, page in pages.items()
        for line in page.splitlines()
        if any(word in line for word in words)
    ]
    return json.dumps(hits[:_HITS], indent=1)


def analysis(seed: int, steps: int = 70) -> list[dict[str, Any]]:
    """A data-analysis session: SQL over a table of orders, and figures that are used again."""
    chance = random.Random(seed)
    with sqlite3.connect(":memory:") as base:
        base.execute("CREATE TABLE orders (id, city, product, day, amount, refunded)")
        rows = [
            (
                f"ord-{chance.randrange(10**6):06}",
                chance.choice(_CITIES),
                chance.choice(_PRODUCTS),
                f"2026-{chance.randrange(1, 13):02}-{chance.randrange(1, 29):02}",
                chance.randrange(100, 99_999),
                chance.random() < 0.1,
            )
            for _ in range(4_000)
        ]
        base.executemany("INSERT INTO orders VALUES (?, ?, ?, ?, ?, ?)", rows)
        log = _Log("Why did refunds rise in the second half of the year? Use the orders table.")
        found: list[str] = []
        for _ in range(steps):
            city, product = chance.choice(_CITIES), chance.choice(_PRODUCTS)
            one = "id, day, amount, refunded"
            query = (
                f"SELECT {one} FROM orders WHERE city = '{city}' AND product = '{product}'"  # noqa: S608 - made up
                f" AND amount > {chance.randrange(100, 60_000)} ORDER BY amount DESC"
            )
            table = base.execute(query).fetchall()
            text = "\n".join(
                [one.replace(", ", "\t"), *("\t".join(map(str, row)) for row in table)]
            )
            if table:
                order, day, amount, _ = chance.choice(table)
                found.append(f"{order} of {day} in {city} is {amount}")
            again = "; ".join(chance.sample(found, min(2, len(found))))
            log.step(
                f"I look at {product} in {city}. So far: {again}.",
                "run_sql",
                {"query": query},
                text,
            )
    base.close()
    return log.messages


def talk(seed: int, turns: int = 500) -> tuple[list[dict[str, Any]], list[str]]:
    """A long support talk, and the sentences with facts that later questions ask for."""
    chance = random.Random(seed)
    messages: list[dict[str, Any]] = []
    facts: list[str] = []
    roles = ("user", "assistant")
    for turn in range(turns):
        city, name = chance.choice(_CITIES), chance.choice(_NAMES)
        told = (
            f"My {chance.choice(_PRODUCTS)} for {name} left {city} on day {chance.randrange(400)}.",
            f"I want {name} to call after {chance.randrange(24)}:15, as I travel to {city} then.",
            f"We agreed that {name} sends {chance.randrange(10, 990)} euros back to {city}.",
        )
        text = chance.choice(_CHAT)
        if chance.random() < 1 / 3:
            facts.append(chance.choice(told))
            text = facts[-1] if chance.random() < 0.5 else f"{text} {facts[-1]}"
        messages.append({"role": roles[turn % 2], "content": text})
    return messages, facts
