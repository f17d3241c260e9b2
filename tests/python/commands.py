"""Running `ullage`, and a conversation in every kind of file that it reads."""

import gzip
import io
import json
import lzma
import subprocess
import sys
from pathlib import Path

import ullage
from ullage.cli import main

from .conversations import long_conversation, render
from .histories import history

ROOT = Path(__file__).parents[2]
COMMAND = [sys.executable, "-m", "ullage"]
# Python without the libraries of the extras runs the commands of a list, one after the other.
BARE = """
import json, sys
sys.modules.update(dict.fromkeys(['rich', 'shtab', 'yaml']))
from tests.python.commands import inside
print(json.dumps([inside(*command) for command in json.loads(sys.argv[1])]))
"""
ROUNDS = 20
MESSAGES = render(long_conversation(ROUNDS), "anthropic")
BEDROCK = render(long_conversation(ROUNDS), "bedrock")
# A window that each conversation here overflows.
SMALL = ("--set", "window=4000", "--set", "reserve_output=500")


def run(*arguments, stdin=b"", command=COMMAND, **more):
    """The code, the output and the errors of a command; none ends in a traceback."""
    data = stdin.encode() if isinstance(stdin, str) else stdin
    done = subprocess.run(
        [*command, *map(str, arguments)], input=data, capture_output=True, check=False, **more
    )
    errors = done.stderr.decode()
    assert "Traceback" not in errors, errors
    return done.returncode, done.stdout.decode(), errors


def inside(*arguments, stdin=b""):
    """The same in this process, which takes less time."""
    data = stdin.encode() if isinstance(stdin, str) else stdin
    before = sys.stdin, sys.stdout, sys.stderr
    streams = [io.TextIOWrapper(io.BytesIO(given), encoding="utf-8") for given in (data, b"", b"")]
    sys.stdin, sys.stdout, sys.stderr = streams
    try:
        code = main([str(argument) for argument in arguments])
    except SystemExit as end:  # So argparse ends, and so would the process.
        code = int(str(end.code))
    finally:
        sys.stdin, sys.stdout, sys.stderr = before
    found = []
    for stream in streams[1:]:
        stream.flush()
        found.append(stream.buffer.getvalue().decode())
    assert "Traceback" not in found[1], found[1]
    return code, *found


def bare(commands):
    """Runs each of these commands without the libraries of the extras."""
    asked = json.dumps([list(map(str, command)) for command in commands])
    found = run(asked, command=[sys.executable, "-c", BARE], cwd=ROOT)
    assert found[0] == 0, found[2]
    return json.loads(found[1])


def lines(values):
    return "".join(json.dumps(value) + "\n" for value in values)


def gemini():
    contents = [{"role": "user", "parts": [{"text": "The task."}]}]
    for number in range(ROUNDS):
        call = {"name": "read_file", "args": {"path": f"{number}.txt"}}
        output = {"name": "read_file", "response": {"output": f"line {number} " * 300}}
        contents.append({"role": "model", "parts": [{"functionCall": call}]})
        contents.append({"role": "user", "parts": [{"functionResponse": output}]})
    return contents


def responses():
    items = [{"type": "message", "role": "user", "content": "The task."}]
    for number in range(ROUNDS):
        call = {"type": "function_call", "call_id": f"c{number}", "name": "read", "arguments": "{}"}
        output = f"line {number} " * 300
        items.append(call)
        items.append({"type": "function_call_output", "call_id": f"c{number}", "output": output})
    return items


def claude_code():
    return [
        {
            "type": message["role"],
            "uuid": str(number),
            "parentUuid": str(number - 1) if number else None,
            "message": {**message, "id": f"m{number}"},
        }
        for number, message in enumerate(MESSAGES)
    ]


def every_kind(folder):
    """A file of each kind that holds one conversation, by its name, and one that holds two."""
    events = [{"author": content["role"], "content": content} for content in gemini()]
    texts = {
        "list.json": json.dumps(MESSAGES),
        "request.json": json.dumps({"model": "x", "messages": BEDROCK}),
        "chat.json": json.dumps({"messages": history(20)}),
        "contents.json": json.dumps({"contents": gemini()}),
        "input.json": json.dumps({"input": responses()}),
        "lines.jsonl": lines(MESSAGES),
        "adk.json": json.dumps({"id": "s", "events": events}),
        "claude.jsonl": lines(claude_code()),
        "two.jsonl": lines([{"messages": MESSAGES}, {"messages": BEDROCK}]),
    }
    data = {name: text.encode() for name, text in texts.items()}
    data["lines.jsonl.gz"] = gzip.compress(data["lines.jsonl"])
    data["list.json.xz"] = lzma.compress(data["list.json"])
    for name, content in data.items():
        (folder / name).write_bytes(content)
    with ullage.Transcript(folder / "transcript.jsonl") as transcript:
        transcript.append({"role": "user", "content": "what came before"})
        transcript.extend(MESSAGES)
        transcript.hide(0, 1)
    stored = folder / "session_s" / "agents" / "agent_a" / "messages"
    stored.mkdir(parents=True)
    for number, message in enumerate(BEDROCK):
        text = json.dumps({"message": message, "message_id": number})
        (stored / f"message_{number}.json").write_text(text)
    return {name: folder / name for name in (*data, "transcript.jsonl", "session_s")}
