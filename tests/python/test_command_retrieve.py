"""`ullage retrieve` shows removed messages as lines of text, and `ullage status` tells the truth."""

import json

import pytest

from .commands import BEDROCK, MESSAGES, ROUNDS, gemini, inside, responses
from .histories import history

ONLY_REMOVE = ("--set", "window=4000", "--set", "reserve_output=500", "--set", 'stages=["window"]')
SAID = ['He said "go on".', "Then a tab:\t.", "Snow ☃ falls."]
FORMATS = {
    "anthropic": MESSAGES,
    "bedrock": BEDROCK,
    "openai": history(60),
    "gemini": gemini(),
    "openai-responses": responses(),
}


def removed(messages, tmp_path):
    """A store with the messages that a compaction removed, and their reference."""
    file, store = tmp_path / "a.json", tmp_path / "store"
    file.write_text(json.dumps(messages))
    code, _, err = inside("compact", file, "-i", "--store", store, *ONLY_REMOVE)
    assert code == 0, err
    names = inside("retrieve", "--store", store)[1].split()
    return store, next(name for name in names if "transcript" in name)


def found(store, *arguments):
    code, out, err = inside("retrieve", "--store", store, *arguments)
    assert (code, err) == (0, "")
    return out


def test_a_pattern_matches_lines_of_text_and_prints_only_those(tmp_path):
    first, *others = history(60)
    said = {"role": "assistant", "content": "\n".join(SAID)}
    store, reference = removed([first, said, {"role": "user", "content": "ok"}, *others], tmp_path)
    for line in SAID:
        pattern = f"^{line.replace('.', '[.]')}$"
        for where in ((), (reference,)):
            out = found(store, *where, "--pattern", pattern)
            assert line in out
            assert not [other for other in SAID if other != line and other in out]
            assert '"role"' not in out
    around = found(store, reference, "--pattern", "^Then a tab", "--context", "1")
    assert all(line in around for line in SAID)
    # The bytes are still there.
    assert '"role"' in found(store, reference, "--raw")


@pytest.mark.parametrize("format", FORMATS)
def test_removed_messages_are_text_in_every_format(format, tmp_path):
    store, reference = removed(FORMATS[format], tmp_path)
    text = found(store, reference, "--head", "1000000", "--limit", "1000000")
    stored = found(store, reference, "--raw").splitlines()
    assert text.count(": [message ") == len(stored) > ROUNDS / 4
    assert '{"' not in text
    assert "\\n" not in text


def test_a_pointer_leads_into_the_json_of_removed_messages(tmp_path):
    store, reference = removed(MESSAGES, tmp_path)
    assert "assistant" in found(store, reference, "--pointer", "/0/role")


def test_a_status_has_tokens_and_shares_above_the_whole(tmp_path):
    file = tmp_path / "a.json"
    file.write_text(json.dumps(MESSAGES))
    tokens = json.loads(inside("status", file, "--json")[1])["tokens"]
    window, reserve = 4_000, 500
    more = ("--set", f"window={window}", "--set", f"reserve_output={reserve}")
    _, out, _ = inside("status", file, *more)
    high = json.loads(inside("status", file, "--json", *more)[1])["high"]
    assert tokens > high
    assert f"{tokens:,} / {high:,} ({tokens * 100 // high}%)" in out
    assert "K tokens" not in out
    assert "triggers (tokens)" in out.lower()
    assert f"({tokens * 100 // window}%)" in inside("status", file, "--tokens", *more)[1]
