"""The formula of Cyber-AutoAgent: its numbers, by its own Python."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

import ullage

TEXT = st.text(max_size=30)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=8,
)
MEDIA = st.one_of(
    st.just({"image": {"format": "png", "source": {"bytes": b"x" * 5_000}}}),
    st.builds(lambda name: {"document": {"name": name, "format": "pdf"}}, TEXT),
)
RESULT = st.builds(
    lambda identity, status, content: {
        "toolResult": {"toolUseId": identity, "status": status, "content": content}
    },
    TEXT,
    st.sampled_from(["success", "error"]),
    st.lists(
        st.builds(lambda text: {"text": text}, TEXT)
        | st.builds(lambda value: {"json": value}, VALUES)
        | MEDIA,
        max_size=3,
    ),
)
BLOCK = st.one_of(
    st.builds(lambda text: {"text": text}, TEXT),
    st.builds(
        lambda identity, name, value: {
            "toolUse": {"toolUseId": identity, "name": name, "input": value}
        },
        TEXT,
        TEXT,
        VALUES,
    ),
    RESULT,
    MEDIA,
    st.builds(
        lambda text: {"reasoningContent": {"reasoningText": {"text": text, "signature": "s" * 90}}},
        TEXT,
    ),
    st.just({"reasoningContent": {"redactedContent": b"secret"}}),
    st.just({"cachePoint": {"type": "default"}}),
)
MESSAGES = st.lists(
    st.builds(
        lambda role, content: {"role": role, "content": content},
        st.sampled_from(["user", "assistant"]),
        st.lists(BLOCK, max_size=4),
    ),
    max_size=6,
)
RATIOS = {
    None: 3.7,
    "us.anthropic.claude-sonnet-4-5-20250929-v1:0": 3.7,
    "azure/gpt-5.1": 4.0,
    "gemini/gemini-3-pro": 4.2,
    "moonshot/Kimi-K2": 3.8,
    "llama-4": 3.7,
}


def of_result(result):
    items = (
        len(str(item["json"])) if "json" in item else characters(item) for item in result["content"]
    )
    return len(result["status"]) + len(result["toolUseId"]) + sum(items)


def of_reasoning(reasoning):
    text = reasoning.get("reasoningText")
    return len(text["text"]) if text else len(str(reasoning))


MEASURES = {
    "text": len,
    "toolUse": lambda call: len(call["name"]) + len(str(call["input"])),
    "toolResult": of_result,
    "image": lambda _: 600,
    "document": lambda document: len(document["name"]) + 400,
    "reasoningContent": of_reasoning,
    "cachePoint": lambda _: 0,
}


def characters(block):
    ((kind, value),) = block.items()
    return MEASURES[kind](value)


@given(MESSAGES, st.sampled_from(sorted(RATIOS, key=str)))
def test_the_preset_gives_the_numbers_of_the_formula(messages, model):
    total = sum(characters(block) for message in messages for block in message["content"])
    expected = 8_000 + 3_000 + 50 * len(messages) + max(1, int(total / RATIOS[model]))
    counter = ullage.TokenCounter.preset("cyber-autoagent", model)
    assert counter.count_messages(messages) == expected


def test_no_messages_still_have_what_stands_beside_them():
    assert ullage.TokenCounter.preset("cyber-autoagent").count_messages([]) == 11_001


def test_a_single_text_has_the_ratio():
    assert ullage.TokenCounter.preset("cyber-autoagent", "gpt-4o").count("x" * 400) == 100


def test_an_observation_does_not_change_the_formula():
    counter = ullage.TokenCounter.preset("cyber-autoagent")
    messages = [{"role": "user", "content": [{"text": "x" * 3_700}]}]
    counter.observe(messages, 50_000)
    assert counter.count_messages(messages) == 12_050


@pytest.mark.parametrize("messages", [None, 5, object(), "hello", {"role": "user"}])
def test_what_is_no_list_of_messages_is_refused_as_by_any_counter(messages):
    for counter in (ullage.TokenCounter.preset("cyber-autoagent"), ullage.TokenCounter()):
        with pytest.raises(ullage.MessageError, match="not a list"):
            counter.count_messages(messages)


@pytest.mark.parametrize("name", ["nonsense", "anthropic"])
def test_a_format_that_the_formula_does_not_read_is_refused(name):
    counter = ullage.TokenCounter.preset("cyber-autoagent")
    assert counter.count_messages([], "bedrock") == 11_001
    with pytest.raises(ullage.PolicyError, match="format"):
        counter.count_messages([], name)


def test_an_unknown_preset_is_named():
    with pytest.raises(ullage.PolicyError, match="nobody"):
        ullage.TokenCounter.preset("nobody")
