"""Numbers in sentences."""


def many(count: int, noun: str) -> str:
    """A number with what it counts, such as "1 message" or "2,000 messages"."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"
