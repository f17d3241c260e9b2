"""The drop-in for ADK's filter of invocations: the same requests, and none that is refused."""

# mypy: disable-error-code="arg-type,misc,override"

import copy

import pytest
from google.adk.plugins import context_filter_plugin
from google.genai import errors

from ullage.adk import ContextFilterPlugin

from .gemini_host import Host, agent, ask, call, gemini, last_text, text


def look(number: int) -> str:
    """Looks."""
    return f"saw {number}"


def three_calls(number, _):
    return call("look", number=number) if number % 4 < 3 else text(f"Seen {number}.")


def conversation(plugin, invocations=3):
    model = gemini(three_calls, cached=False)
    host = Host(agent(model, [look]), [plugin])
    said = [last_text(ask(host, f"Look, turn {turn}.")) for turn in range(invocations)]
    assert said == [f"Seen {4 * turn + 3}." for turn in range(invocations)]
    return model


@pytest.mark.parametrize("keep", [None, 1, 3])
@pytest.mark.parametrize("amount", [1, 2])
@pytest.mark.parametrize("custom", [None, list], ids=["alone", "with a filter"])
def test_valid_requests_are_those_of_adk(keep, amount, custom):
    settings = {
        "num_invocations_to_keep": keep,
        "custom_filter": custom,
        "remove_amount": amount,
    }
    mine = conversation(ContextFilterPlugin(**settings))
    theirs = conversation(context_filter_plugin.ContextFilterPlugin(**settings))
    assert mine.sent == theirs.sent


def in_place(contents):
    del contents[:-2]
    return contents


def failing(contents):
    raise RuntimeError("no filter today")


FILTERS = {
    "last three": lambda contents: contents[-3:],
    "last": lambda contents: contents[-1:],
    "every other": lambda contents: contents[::2],
    "not the first": lambda contents: contents[1:],
    "not the last": lambda contents: contents[:-1],
    "reversed": lambda contents: contents[::-1],
    "twice": lambda contents: contents * 2,
    "nothing": lambda _: [],
    "None": lambda _: None,
    "texts": lambda _: ["Look."],
    "in place": in_place,
    "fails": failing,
}


@pytest.mark.parametrize("keep", [None, 2])
@pytest.mark.parametrize("name", sorted(FILTERS))
def test_no_filter_leads_to_a_request_that_is_refused(name, keep):
    filtered = FILTERS[name]
    model = conversation(ContextFilterPlugin(keep, filtered))
    assert model.refusals == 0
    assert all(sent for sent in model.sent)


@pytest.mark.parametrize("name", ["last three", "every other", "not the first"])
def test_adk_sends_what_such_a_filter_leaves(name):
    with pytest.raises(errors.ClientError):
        conversation(context_filter_plugin.ContextFilterPlugin(None, FILTERS[name]))


def test_the_session_keeps_every_event():
    def spoiling(contents):
        kept = copy.copy(contents[-2:])
        contents.clear()
        return kept

    with_filter = Host(agent(gemini(three_calls), [look]), [ContextFilterPlugin(1, spoiling)])
    without = Host(agent(gemini(three_calls), [look]))
    for host in (with_filter, without):
        ask(host, "Look.")
    assert len(ask(with_filter, "Again.")) == len(ask(without, "Again."))


def test_parameters_are_those_of_adk():
    with pytest.raises(ValueError, match="remove_amount"):
        ContextFilterPlugin(remove_amount=0)
    assert isinstance(ContextFilterPlugin(), context_filter_plugin.ContextFilterPlugin)
    assert ContextFilterPlugin().name == "context_filter_plugin"
