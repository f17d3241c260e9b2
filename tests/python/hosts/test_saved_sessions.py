"""Databases that hosts write: `ullage.sessions` reads what the real packages have saved."""

import asyncio
import sqlite3
from typing import Any

import pytest

import ullage
from ullage.sessions import read_session_file

LOG = "\n".join(f"{line:03} query took {line * 7 % 90} ms" for line in range(40))


def test_checkpoints_of_langgraph_are_read(tmp_path):
    saver = pytest.importorskip("langgraph.checkpoint.sqlite")
    from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage
    from langgraph.graph import END, START, MessagesState, StateGraph

    calls: Any = [{"name": "read_log", "args": {"part": 1}, "id": "c1"}]
    blocks: Any = [
        {"type": "text", "text": "I read it."},
        {"type": "tool_use", "id": "c1", "name": "read_log", "input": {"part": 1}},
    ]

    def answer(_: Any) -> Any:
        result = ToolMessage(LOG, tool_call_id="c1")
        return {"messages": [AIMessage(blocks, tool_calls=calls), result, AIMessage("It is slow.")]}

    graph: Any = StateGraph(MessagesState)
    graph.add_node("agent", answer)
    graph.add_edge(START, "agent")
    graph.add_edge("agent", END)
    file = tmp_path / "checkpoints.sqlite"
    with saver.SqliteSaver.from_conn_string(str(file)) as memory:
        agent = graph.compile(checkpointer=memory)
        for thread in ("one", "two"):
            for text in ("Why is it slow?", f"And now, {thread}?"):
                asked: Any = {"messages": [SystemMessage("Be brief."), HumanMessage(text)]}
                agent.invoke(asked, {"configurable": {"thread_id": thread}})
    found = read_session_file(file)
    assert found.kind == "checkpoints of LangGraph"
    assert found.put is None
    assert [session.name for session in found.sessions] == [f"{file}: one", f"{file}: two"]
    messages = found.sessions[1].messages
    turn = ["system", "user", "assistant", "tool", "assistant"]
    assert [message["role"] for message in messages] == turn * 2
    assert messages[2]["tool_calls"][0]["function"]["arguments"] == '{"part": 1}'
    assert messages[2]["content"] == [{"type": "text", "text": "I read it."}]
    assert messages[3] == {"role": "tool", "tool_call_id": "c1", "content": LOG}
    assert messages[6]["content"] == "And now, two?"


def test_sessions_of_the_agents_sdk_are_read(tmp_path):
    agents = pytest.importorskip("agents")
    file = tmp_path / "sessions.db"
    items = [
        {"role": "user", "content": "Why is it slow?"},
        {"type": "function_call", "call_id": "c1", "name": "read_log", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "c1", "output": LOG},
        {"role": "assistant", "content": "The query is slow."},
    ]
    for name in ("one", "two"):
        session = agents.SQLiteSession(name, file)
        asyncio.run(session.add_items(items))
        session.close()
    found = read_session_file(file)
    assert found.kind == "sessions of the OpenAI Agents SDK"
    assert [session.messages for session in found.sessions] == [items, items]
    assert ullage.validate(items) == []
    # The host may go on meanwhile.
    with sqlite3.connect(file) as connection:
        connection.execute("DELETE FROM agent_messages WHERE session_id = 'two'")
    connection.close()
    assert len(read_session_file(file).sessions) == 1
