"""The picture of a context as Supyagent's chat draws it, of a session, an engine and a file."""

import json
from datetime import datetime
from functools import partial

import ullage
from ullage.report.reports import LastSummary
from ullage.supyagent import (
    ContextManager,
    ContextSettings,
    ContextStatus,
    ContextSummary,
    count_messages_tokens,
)
from ullage.supyagent.summary import save

from .commands import inside
from .histories import Client, history
from .test_supyagent_files import AGENT

PICTURE = """\
Context Status
  Context limit: 200,000 tokens
  Tool definitions: 12,450 tokens (35 tools)
  Last summary: 42 messages -> 580 tokens
  Created: 2025-01-15 14:30

Summarization Triggers (N messages OR K tokens)
  Messages: 18 / 30 (60%)
           [████████████░░░░░░░░]
  Tokens:   45,000 / 128,000 (35%)
           [███████░░░░░░░░░░░░░]"""
LINE = "tokens: 45,000 msgs + 12,450 tools | context: 57,450 / 200,000 (28%)"


def test_the_picture_is_that_of_the_document():
    summary = ContextSummary("s", 42, 0, 41, datetime(2025, 1, 15, 14, 30), 580)  # noqa: DTZ001
    triggers = {
        "messages_since_summary": 18,
        "messages_threshold": 30,
        "total_tokens": 45_000,
        "tokens_threshold": 128_000,
        "will_trigger": False,
    }
    status = ContextStatus(200_000, 35, 12_450, summary, triggers)
    assert status.render() == PICTURE
    assert status.tokens_line() == LINE


def test_a_manager_draws_its_own_state():
    made = ContextManager("gpt-4o", Client())
    made.generate_summary(history(20))
    drawn = made.context_status(history(40), [{"name": "a"}]).render()
    assert f"Last summary: {len(history(20)) - 6} messages" in drawn
    assert "(1 tools)" in drawn
    assert "The next turn makes a summary." in drawn


def test_the_line_says_what_the_next_request_takes():
    made, messages = ContextManager("gpt-4o", Client(), response_reserve=1_000), history(20)
    made.generate_summary(messages)
    sent = count_messages_tokens(made.build_messages_for_llm("", messages)[1:], "gpt-4o")
    assert made.context_status(messages).message_tokens == sent
    line = made.context_status(messages).tokens_line()
    assert line == f"tokens: {sent:,} msgs + 0 tools | context: {sent:,} / 128,000 (1%)"
    # A reserve takes half of the window at most.
    made.context_limit = 1_500
    assert made.context_status(messages).message_tokens == 750, "more than that is never sent"


def test_a_status_of_an_engine_is_the_picture_of_the_document():
    status = ullage.Status(
        tokens=45_000,
        window=200_000,
        fixed=12_450,
        available=150_000,
        high=128_000,
        low=64_000,
        due="none",
        parts={},
        messages=18,
        max_messages=30,
        tools=35,
        tool_tokens=12_450,
        summary=LastSummary(42, 580),
    )
    assert status.render() == PICTURE.replace("  Created: 2025-01-15 14:30\n", "")
    assert status.tokens_line() == LINE


def test_an_engine_finds_its_last_summary_in_the_conversation():
    policy = ContextSettings(max_messages_before_summary=12).policy("gpt-4o")
    tools = [{"functionDeclarations": [{"name": "a"}, {"name": "b"}]}, {"name": "c"}]
    engine = ullage.ContextManager(policy, summarizer=lambda _: "all is well", tools=tools)
    messages = history(20)
    assert engine.status(messages).summary is None
    engine.compact(messages)
    status = engine.status(messages)
    assert status.summary is not None
    assert f"[ullage: {status.summary.messages} earlier messages" in str(messages)
    assert f"  Last summary: {status.summary.messages} messages -> " in status.render()
    assert f"  Tool definitions: {status.fixed} tokens (3 tools)" in status.render()


def test_the_status_of_any_engine_is_drawn():
    engine = ullage.ContextManager(ullage.Policy.preset("supyagent"), system="Be brief")
    status = engine.status(history(20))
    drawn = status.render()
    assert "Context limit: 128,000 tokens" in drawn
    share = len(history(20)) * 100 // 30
    assert share > 100
    assert f"  Messages: {len(history(20))} / 30 ({share}%)\n           [{'█' * 20}]" in drawn
    assert f"  Tokens:   {status.tokens:,} / {status.high:,} (" in drawn
    assert drawn.endswith("A compaction is due.")
    assert f"| context: {status.tokens + status.fixed:,} / 128,000 (" in status.tokens_line()
    plain = ullage.ContextManager().status([])
    assert "Summarization Triggers (tokens)\n" in plain.render()
    assert "0 / 163,200 (0%)" in plain.render()


run = partial(inside, "status")


def test_the_command_draws_a_file(tmp_path):
    file, agent, tools = (tmp_path / name for name in ("a.json", "agent.yaml", "tools.json"))
    file.write_text(json.dumps(history(20)))
    agent.write_text(AGENT)
    tools.write_text(json.dumps([{"name": "a", "description": "word " * 500}]))
    code, out, _ = run(file)
    assert code == 0
    assert "Context limit: 200,000 tokens" in out
    code, out, _ = run(file, "--policy", agent, "--tools", tools)
    assert code == 1
    assert f"{len(history(20))} / 20 ({len(history(20)) * 5}%)" in out
    assert "Tool definitions: 662 tokens (1 tools)" in out
    code, line, _ = run(file, "--policy", agent, "--tools", tools, "--tokens")
    assert code == 1
    assert " msgs + 662 tools | context: " in line
    assert run(file, "--tokens", "--model", "gpt-4o")[1].startswith("tokens: ")
    assert json.loads(run(file, "--json")[1])["messages"] == len(history(20))
    summary = run(file, "--summarize")[1]
    assert "Go on with part 0." in summary
    assert "[ullage: " not in summary


def test_the_command_draws_a_session_of_supyagent_with_its_summary(tmp_path):
    session, summary, agent = (tmp_path / name for name in ("s.jsonl", "summary.json", "a.yaml"))
    messages = history(20)
    session.write_text("\n".join(map(json.dumps, messages[:-2])))
    agent.write_text(AGENT)
    made = ContextManager("gpt-4o", Client(), summary)
    made.generate_summary(messages, len(messages) - 20)
    code, out, _ = run(session, "--policy", agent, "--summary", summary)
    assert made.summary is not None
    said = made.summary
    assert code == 0
    assert f"  Last summary: {said.messages_summarized} messages -> {said.token_count} " in out
    assert f"  Created: {said.created_at:%Y-%m-%d %H:%M}\n" in out
    assert "  Messages: 0 / 20 (0%)" in out
    save(ContextSummary("s", 42, 0, 41, datetime(2025, 1, 15, 14, 30), 580), summary)  # noqa: DTZ001
    plain = [{"role": "user", "content": f"{n}"} for n in range(60)]
    session.write_text(json.dumps(plain))
    code, out, _ = run(session, "--summary", summary, "--model", "claude-3-5-sonnet")
    drawn = out.rstrip("\n").splitlines()
    assert code == 0
    assert drawn[:-2] == [line for line in PICTURE.splitlines()[:-2] if "Tool" not in line]


def test_the_command_says_what_it_cannot_read(tmp_path):
    file = tmp_path / "a.json"
    file.write_text("{")
    assert run(file)[0] == run(tmp_path / "missing")[0] == 2
    file.write_text("[]")
    assert run(file, "--policy", "nobody")[0] == 2
    assert run(file, "--tools", tmp_path / "missing")[0] == 2
    assert run(file, "--policy", tmp_path / "missing.yaml")[0] == 2
    assert run(file, "--summary", tmp_path / "missing.json")[0] == 2
    assert run(file)[0] == 0
    assert "nothing to summarize" in run(file, "--summarize")[1]
