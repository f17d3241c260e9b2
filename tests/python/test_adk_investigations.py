"""Long investigations with the mix of payloads of an SRE, in one invocation and in many."""

# mypy: disable-error-code="arg-type,misc,override"

import asyncio
from typing import Any

import pytest

import ullage
from ullage.adk import ContextPlugin, LargePayloadHandler, SessionCompactor

from . import adk_host
from .gemini_host import Host, agent, call, gemini, last_text, text
from .lengths import long

WINDOW = 40_000

# One result in forty is large.
MIX: dict[str, Any] = {
    "list_log_entries": lambda n: adk_host.log_entries(900 if n % 40 == 0 else 12, seed=n),
    "fetch_trace": lambda n: {"trace_id": f"t{n}", "spans": adk_host.spans(10, seed=n)},
    "list_time_series": lambda n: adk_host.time_series(2, 20, seed=n),
    "query_promql": lambda n: adk_host.promql(300 if n % 40 == 3 else 10),
    "find_tickets": lambda n: adk_host.tickets(700 if n % 40 == 4 else 6),
    "mcp_list_log_entries": lambda n: adk_host.mcp(adk_host.log_entries(10, seed=n)),
    "read_file": lambda n: f"line of file {n}\n" * (20_000 if n % 40 == 6 else 60),
}
NAMES = list(MIX)


def tools() -> list[Any]:
    def made(name: str) -> Any:
        def tool(number: int) -> Any:
            return MIX[name](number)

        tool.__name__ = name
        tool.__doc__ = "One of an SRE's tools."
        return tool

    return [made(name) for name in NAMES]


@pytest.mark.parametrize("how", ["plugin", "compactor"])
@pytest.mark.parametrize(("calls", "invocations"), [(60, 3), long(500, 1), long(500, 5)])
def test_a_long_investigation_stays_inside_the_window(how, calls, invocations):
    each = calls // invocations

    def script(number, request):
        turn, step = divmod(number, each + 1)
        made = turn * each + step
        return text("Noted.") if step == each else call(NAMES[made % len(NAMES)], number=made)

    store = ullage.MemoryStore()
    payloads = LargePayloadHandler(store)
    policy = ullage.Policy(window=WINDOW, reserve_output=2_000)
    engine = ullage.ContextManager(
        policy, model="gemini-2.5-pro", store=store, format="gemini", append_only=True
    )
    plugin = ContextPlugin(engine=engine, payloads=payloads)
    model = gemini(script, window=WINDOW)
    if how == "plugin":
        host = Host(agent(model, tools()), [plugin])
    else:
        handled = {"after_tool_callback": payloads.after_tool_callback}
        host = Host(agent(model, tools(), **handled), [SessionCompactor(store=store)])
    asked = [f"{turn}: why is checkout slow?" for turn in range(invocations)]

    async def talk():
        for question in asked:
            assert last_text(await host.ask(question)) == "Noted."
        return (await host.session()).events

    events = asyncio.run(talk())
    assert sum(len(event.get_function_calls()) for event in events) == calls
    assert model.refusals == 0
    assert max(model.counts) <= WINDOW
    for number, sent in enumerate(model.sent):
        question = asked[number // (each + 1)]
        assert any(question in content for content in sent), "what was asked just now"
        assert how == "compactor" or asked[0] in "".join(sent[:2]), "the task"
    responses = [one.response for event in events for one in event.get_function_responses()]
    references = [one["metadata"]["reference"] for one in responses if "metadata" in one]
    assert len(references) >= calls // 40
    assert all(store.get(reference) for reference in references), "what was taken out"
    if how == "plugin":
        assert plugin.usage.total_input_tokens == sum(model.counts)
        assert 1 <= model.compactions <= 30
