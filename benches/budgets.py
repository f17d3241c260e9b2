"""Plans sessions that are cut at every tenth message, to see if every budget can be met.

Each beginning of a session is planned for 50, 25, 12.5 and 6 % of its tokens, but at least 1,000,
with thoughts and without. The result is counted again by a counter that has seen nothing. The words
of the last request must survive, but for fenced blocks. A request that takes more than the budget
by itself cannot survive whole; such requests are counted apart.

Give a folder of recorded sessions as an argument or in ``ULLAGE_SESSIONS``; without one, sessions
are made up. ``--every 50`` measures a fifth of the beginnings.
"""

from __future__ import annotations

import argparse
import re
from collections import Counter
from typing import Any

from retention import sessions

import ullage

SHARES = (0.5, 0.25, 0.125, 0.06)
LEAST = 1_000
THOUGHTS = {"thinking", "redacted_thinking"}
# Shorter words are in any text.
WORD = re.compile(r"\w{4,}")
FENCED = re.compile(r"^```.*?^```", re.DOTALL | re.MULTILINE)


def without_thoughts(messages: list[Any]) -> list[Any]:
    """The messages without signed thoughts, in Anthropic's format; others as they are."""
    plain = []
    for message in messages:
        content = message.get("content")
        if not isinstance(content, list):
            plain.append(message)
            continue
        blocks = [block for block in content if block.get("type") not in THOUGHTS]
        if blocks:
            plain.append({**message, "content": blocks})
    return plain


def beginnings(messages: list[Any], every: int) -> list[list[Any]]:
    """Valid beginnings of a session; one that ends in a call goes on to its result."""
    found = []
    for end in range(every, len(messages) + 1, every):
        for part in (messages[:end], messages[: end + 1]):
            if not ullage.Conversation(part).open_calls:
                found.append(part)
                break
    return found


def planned(messages: list[Any], share: float) -> tuple[str, str]:
    """The outcome for a budget of this share, and what became of the last request."""
    counter = ullage.TokenCounter()
    budget = max(LEAST, int(counter.count_messages(messages) * share))
    left = list(messages)
    try:
        ullage.ContextManager(store=ullage.MemoryStore()).compact(left, budget)
    except ullage.BudgetError:
        return "refused", "refused"
    request = last_request(messages, budget, left)
    if ullage.TokenCounter().count_messages(left) > budget:
        return "over budget", request
    if ullage.validate(left) and not ullage.validate(messages):
        return "invalid", request
    return "within budget", request


def last_request(messages: list[Any], budget: int, left: list[Any]) -> str:
    """States if every word of the last request is still there."""
    conversation = ullage.Conversation(messages)
    if not conversation.requests:
        return "none"
    text = conversation.texts[conversation.requests[-1]]
    if ullage.count_tokens(text) > budget:
        return "larger than the budget"
    now = set(WORD.findall("\n".join(ullage.Conversation(left).texts)))
    return "whole" if now.issuperset(WORD.findall(FENCED.sub("", text))) else "cut"


def main() -> None:
    """Prints the outcomes of each share, with thoughts and without."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", nargs="?", help="recorded sessions")
    parser.add_argument("--every", type=int, default=10, help="messages between two cuts (10)")
    options = parser.parse_args()
    name, measured = sessions(options.folder, "all")
    print(name)
    for thoughts in (True, False):
        for share in SHARES:
            outcomes: Counter[str] = Counter()
            requests: Counter[str] = Counter()
            for session in measured:
                messages = session.messages if thoughts else without_thoughts(session.messages)
                parts = beginnings(messages, options.every)
                for part in parts:
                    outcome, request = planned(part, share)
                    outcomes[outcome] += 1
                    requests[request] += 1
            kind = "with" if thoughts else "without"
            print(f"{share:6.1%} {kind} thoughts: {listed(outcomes)}")
            print(f"       last requests: {listed(requests)}")


def listed(counts: Counter[str]) -> str:
    """The counts in one line, the largest first."""
    return ", ".join(f"{count:,} {name}" for name, count in counts.most_common())


if __name__ == "__main__":
    main()
