"""Whether a budget that can be met is met: plans over sessions that are cut at every tenth message.

Each beginning of a session is planned for 50, 25, 12.5 and 6 % of its tokens, but at least 1,000,
with thoughts and without. What is left is counted again by a counter that has seen nothing, and the
words of the last request are looked for in it. Words in a paste are not counted: fenced, quoted,
indented or tagged blocks, tables, and lines of more than 1,500 characters.

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
PASTE = re.compile(
    r"^(?P<fence>```|~~~).*?^(?P=fence)[`~]*[ ]*$"
    r"|^<(?P<tag>[A-Za-z][\w.-]*)[^>\n]*>$.*?^</(?P=tag)>$"
    r"|^(?:[ ]{4}|\t|>|\|)[^\n]*$|^[^\n]{1500,}$",
    re.MULTILINE | re.DOTALL,
)
WORD = re.compile(r"\w{4,}")


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


def last_request(messages: list[Any]) -> str:
    """The words of the last request, in Anthropic's format, without what was pasted into it."""
    for message in reversed(messages):
        content = message["content"]
        if message["role"] != "user":
            continue
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
        said = [block["text"] for block in blocks if block["type"] == "text"]
        if said and not any(block["type"] == "tool_result" for block in blocks):
            return PASTE.sub("", "\n".join(said))
    return ""


def planned(messages: list[Any], share: float, said: Counter[str]) -> str:
    """What came of a budget of this share; adds the words of the last request to ``said``."""
    counter = ullage.TokenCounter()
    budget = max(LEAST, int(counter.count_messages(messages) * share))
    left = list(messages)
    request = last_request(messages)
    try:
        ullage.ContextManager(store=ullage.MemoryStore()).compact(left, budget)
    except ullage.BudgetError:
        return "refused"
    if words := set(WORD.findall(request)):
        shown = str(left)
        # A request of more tokens than the budget cannot stay whole.
        fits = "fits" if ullage.count_tokens(request) < budget else "long"
        kept = sum(word in shown for word in words)
        said.update({fits: 1, f"{fits} whole": kept == len(words)})
        said.update({f"{fits} words": len(words), f"{fits} kept": kept})
    if ullage.TokenCounter().count_messages(left) > budget:
        return "over budget"
    if ullage.validate(left) and not ullage.validate(messages):
        return "invalid"
    return "within budget"


def main() -> None:
    """Prints what came of each share, with thoughts and without, and what requests kept."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", nargs="?", help="recorded sessions")
    parser.add_argument("--every", type=int, default=10, help="messages between two cuts (10)")
    options = parser.parse_args()
    name, measured = sessions(options.folder, "all")
    print(name)
    said: Counter[str] = Counter()
    for thoughts in (True, False):
        for share in SHARES:
            outcomes: Counter[str] = Counter()
            for session in measured:
                messages = session.messages if thoughts else without_thoughts(session.messages)
                parts = beginnings(messages, options.every)
                outcomes.update(planned(part, share, said) for part in parts)
            named = ", ".join(f"{count:,} {outcome}" for outcome, count in outcomes.most_common())
            print(f"{share:6.1%} {'with' if thoughts else 'without'} thoughts: {named}")
    for fits, name in (("fits", "smaller"), ("long", "larger")):
        print(
            f"last requests {name} than the budget without their pastes:"
            f" {said[f'{fits} whole']:,} of {said[fits]:,} keep all their words,"
            f" {said[f'{fits} kept']:,} of {said[f'{fits} words']:,} words"
        )


if __name__ == "__main__":
    main()
