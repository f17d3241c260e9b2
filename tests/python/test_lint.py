"""`ullage lint`: what it reads, what it prints, and what it makes of bad files and closed pipes."""

import json
import os
import subprocess
from functools import partial
from pathlib import Path

import pytest

from .commands import COMMAND, inside, run
from .conversations import long_conversation, render
from .lengths import first

FULL = Path("/dev/full")
FINE = render(long_conversation(2), "bedrock")
# Its last call has no result.
BROKEN = FINE[: next(i for i, message in enumerate(FINE) if "toolUse" in json.dumps(message)) + 1]
LINT = [*COMMAND, "lint"]


lint = partial(inside, "lint")


def fails(found, says):
    code, _, errors = found
    return code == 2 and says in errors and "Traceback" not in errors


@pytest.mark.parametrize("format", first(1, ["bedrock", "anthropic"]))
def test_it_reads_lists_requests_and_lines(format, tmp_path):
    messages = render(long_conversation(2), format)
    request = {"model": "x", "messages": messages}
    for name, text in {
        "list": json.dumps(messages),
        "mark": "\ufeff" + json.dumps(messages),
        "request": json.dumps(request),
        "null field": json.dumps({"messages": None, "contents": messages}),
        "lines": "\n".join(map(json.dumps, messages)),
        "lines of Windows": "\r\n".join(map(json.dumps, messages)) + "\r\n",
        "one line": json.dumps(messages[0]),
    }.items():
        file = tmp_path / name
        file.write_bytes(text.encode())
        assert lint(str(file), "--format", format) == (0, "", ""), name
        assert lint("-", "--format", format, stdin=text) == (0, "", ""), name


def test_only_a_line_feed_ends_a_line():
    said = [
        {"role": "user", "content": "a\u2028b\x85c\u2029d"},
        {"role": "assistant", "content": "e"},
    ]
    lines = "\n".join(json.dumps(message, ensure_ascii=False) for message in said)
    assert lint("-", stdin=lines) == (0, "", "")


def test_it_prints_what_a_provider_would_reject():
    code, out, _ = lint("-", stdin=json.dumps(BROKEN))
    assert code == 1
    assert "call-has-result" in out
    _, out, _ = lint("-", "--json", stdin=json.dumps(BROKEN))
    assert json.loads(out)["message"] == len(BROKEN) - 1


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "it is empty"),
        ("{", "not valid JSON"),
        ("3", "no list"),
        ("{}", "no list"),
        ('{"messages": null}', "no list"),
        ("[" * 100_000, "nested too deep"),
        ('[{"role": "user", "content": "é"}]'.encode("latin-1"), "can't decode"),
    ],
    ids=["nothing", "cut", "number", "object", "null", "deep", "latin-1"],
)
def test_it_says_what_it_cannot_read(text, says, tmp_path):
    file = tmp_path / "a.json"
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    assert fails(lint("-", stdin=text), says)
    assert fails(lint(str(file)), says)


def test_what_is_no_message_is_a_finding():
    assert lint("-", stdin="[1]")[0] == 1


def test_a_bad_file_does_not_stop_the_rest(tmp_path):
    missing, bad, mixed, broken = (
        tmp_path / name for name in ("missing", "bad", "mixed", "broken")
    )
    bad.write_text("{")
    mixed.write_text('{"messages": 3}')
    broken.write_text(json.dumps(BROKEN))
    found = lint(*map(str, (missing, bad, mixed, broken)))
    assert found[0] == 3
    assert all(f"{file}: " in found[2] for file in (missing, bad, mixed))
    assert "call-has-result" in found[1]


def test_an_unknown_format_is_said_once(tmp_path):
    found = lint("-", "-", "--format", "morse", stdin=json.dumps(FINE))
    assert fails(found, "morse")
    assert found[2].count("morse") == 1


def test_a_reader_may_stop_early(tmp_path):
    file = tmp_path / "broken"
    file.write_text(json.dumps(BROKEN))
    many = [str(file)] * 500  # More than a pipe holds, also where it was closed at once.
    with subprocess.Popen(
        [*LINT, *many], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout
        assert process.stderr
        assert process.stdout.readline()
        process.stdout.close()
        assert (process.stderr.read(), process.wait()) == (b"", 1)


@pytest.mark.skipif(not FULL.exists(), reason="a device of Linux")
def test_a_full_disk_is_an_error():
    with FULL.open("w") as full:
        done = subprocess.run(
            [*LINT, "-"],
            input=json.dumps(BROKEN).encode(),
            stdout=full,
            stderr=subprocess.PIPE,
            check=False,
        )
    assert done.returncode == 2
    assert done.stderr.startswith(b"ullage: cannot print")
    assert b"Traceback" not in done.stderr


@pytest.mark.skipif(os.name != "posix", reason="a shell closes it")
def test_a_closed_input_is_an_error():
    command = ["/bin/sh", "-c", '"$@" <&-', "sh", *LINT, "-"]
    done = subprocess.run(command, capture_output=True, check=False)
    assert fails((done.returncode, done.stdout, done.stderr.decode()), "standard input is closed")


def test_what_the_terminal_cannot_show_is_escaped():
    broken = json.dumps(BROKEN).replace('"toolUseId": "', '"toolUseId": "é\\ud800')
    for encoding in ["ascii", "utf-8"]:
        code, out, errors = run(
            "lint", "-", stdin=broken, env={**os.environ, "PYTHONIOENCODING": encoding}
        )
        assert (code, errors) == (1, "")
        assert ("\\xe9" if encoding == "ascii" else "é") in out
