"""Counting. The demo runs this file as its quick tests, so it takes a second or two."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

import ullage

ENCODINGS = ("o200k_base", "cl100k_base")

# Counts of the published vocabularies: o200k_base, cl100k_base.
KNOWN = [
    pytest.param("", 0, 0, id="empty"),
    pytest.param("hello world", 2, 2, id="two-words"),
    pytest.param("tiktoken is great!", 6, 6, id="example-of-the-cookbook"),
    pytest.param("antidisestablishmentarianism", 6, 6, id="long-word-of-the-cookbook"),
    pytest.param("2 + 2 = 4", 7, 7, id="sum-of-the-cookbook"),
    pytest.param("お誕生日おめでとう", 8, 9, id="japanese-of-the-cookbook"),
    pytest.param("1234567", 3, 3, id="digits-by-three"),
    pytest.param(" ", 1, 1, id="one-space"),
    pytest.param("\n\n", 1, 1, id="two-newlines"),
    pytest.param("I'm don't they're", 3, 6, id="contractions"),
    pytest.param("\0", 1, 1, id="nul"),
]


@pytest.mark.parametrize(("text", "o200k", "cl100k"), KNOWN)
def test_counts_are_those_of_the_published_encodings(text, o200k, cl100k):
    assert ullage.count_tokens(text) == o200k
    assert ullage.count_tokens(text, "o200k_base") == o200k
    assert ullage.count_tokens(text, "cl100k_base") == cl100k


@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize(
    "text", ["<|endoftext|>", "<|fim_prefix|>", "<|endofprompt|>", "<|im_start|>"]
)
def test_text_of_special_tokens_is_ordinary(encoding, text):
    assert ullage.count_tokens(text, encoding) > 1


@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize(
    "unit",
    [
        pytest.param(" ", id="spaces"),
        pytest.param("a", id="one-letter"),
        pytest.param("A", id="one-capital"),
        pytest.param("\n", id="newlines"),
        pytest.param("\r\n \t", id="mixed-white-space"),
        pytest.param("中", id="chinese"),
        pytest.param("=-", id="rules"),
        pytest.param("é😀", id="beyond-ascii"),
        pytest.param("\0", id="nul"),
    ],
)
def test_a_megabyte_of_anything_is_counted_in_time(encoding, unit):
    # Quadratic merging would take many minutes, and pytest-timeout would end the test.
    text = unit * (1_000_000 // len(unit.encode()))
    tokens = ullage.count_tokens(text, encoding)
    assert 0 < tokens <= len(text.encode())


@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize(
    "text", ["\ud800", "a\udfffb", "\udc80" * 100], ids=["alone", "inside", "many"]
)
def test_a_lone_surrogate_counts_as_the_replacement_character(encoding, text):
    replaced = "".join("\ufffd" if "\ud800" <= c <= "\udfff" else c for c in text)
    assert ullage.count_tokens(text, encoding) == ullage.count_tokens(replaced, encoding)


@pytest.mark.parametrize("name", ["", "O200K_BASE", "p50k_base", "gpt-4o", "cl100k_base "])
def test_an_unknown_encoding_is_refused_and_the_known_ones_are_named(name):
    for use in (lambda: ullage.count_tokens("a", name), lambda: ullage.TokenCounter(name)):
        with pytest.raises(ullage.PolicyError, match="'o200k_base' or 'cl100k_base'"):
            use()


@pytest.mark.parametrize("value", [None, 5, b"bytes", ["a"]], ids=repr)
def test_only_text_is_counted(value):
    with pytest.raises(TypeError):
        ullage.count_tokens(value)
    with pytest.raises(TypeError):
        ullage.TokenCounter().count(value)


@given(st.text(max_size=400), st.sampled_from(ENCODINGS))
def test_fits_agrees_with_count_around_the_limit(text, encoding):
    counter = ullage.TokenCounter(encoding)
    tokens = counter.count(text)
    assert tokens == ullage.count_tokens(text, encoding)
    assert tokens <= len(text.encode("utf-8", "replace")) * 3
    for limit in range(max(tokens - 2, -2), tokens + 3):
        assert counter.fits(text, limit) is (tokens <= limit)


@pytest.mark.parametrize("limit", [-1, -(2**63)])
def test_nothing_fits_a_negative_limit(limit):
    assert ullage.TokenCounter().fits("", limit) is False


@pytest.mark.parametrize(
    ("limit", "fits"), [(2**64, True), (-(2**64), False)], ids=["huge", "below"]
)
def test_a_limit_may_be_any_whole_number(limit, fits):
    assert ullage.TokenCounter().fits("a", limit) is fits


def test_fits_stops_once_the_answer_is_known():
    counter, text = ullage.TokenCounter(), "one two three four " * 500_000
    # Counting all of it so often would take minutes, and pytest-timeout would end the test.
    for _ in range(10_000):
        assert not counter.fits(text, 100)


@pytest.mark.parametrize(
    ("model", "name"),
    [
        ("gpt-4o", "o200k_base"),
        ("gpt-4o-mini-2024-07-18", "o200k_base"),
        ("openai/gpt-5", "o200k_base"),
        ("o3-mini", "o200k_base"),
        ("gpt-4", "cl100k_base"),
        ("GPT-4-Turbo", "cl100k_base"),
        ("gpt-3.5-turbo", "cl100k_base"),
        ("claude-sonnet-4-5", "claude"),
        ("us.anthropic.claude-sonnet-4-5-20250929-v1:0", "claude"),
        ("gemini-2.5-pro", "gemini"),
        ("llama-3.3-70b", "llama3"),
        ("some-model", "unknown"),
        ("", "unknown"),
    ],
)
def test_a_model_has_the_counter_of_its_family(model, name):
    counter = ullage.TokenCounter.for_model(model)
    assert counter.name == name
    assert counter.count("") == 0
    assert 0 < counter.count("some words") <= counter.count("some words and more of them")


@pytest.mark.parametrize(
    ("messages", "tokens"),
    [
        pytest.param([], 0, id="empty"),
        pytest.param([{"role": "user", "content": "hello world"}], 10, id="a-string"),
        pytest.param(
            [{"role": "user", "content": [{"text": "hello world"}]}], 10, id="a-bedrock-block"
        ),
        pytest.param(
            [{"role": "user", "content": [{"type": "text", "text": "hello world"}]}],
            10,
            id="an-anthropic-block",
        ),
        pytest.param(
            [{"role": "user", "content": [{"image": {"source": {"bytes": b"x" * 10**6}}}]}],
            1608,
            id="an-unreadable-picture",
        ),
    ],
)
def test_messages_count_their_texts_and_their_frame(messages, tokens):
    counter = ullage.TokenCounter()
    assert counter.count_messages(messages) == tokens
    assert counter.count_messages(tuple(messages)) == tokens


def test_count_messages_refuses_an_unknown_format():
    with pytest.raises(ullage.PolicyError, match="bedrock, anthropic, openai"):
        ullage.TokenCounter().count_messages([], format="morse")


def test_a_counter_may_be_subclassed():
    class Named(ullage.TokenCounter):
        pass

    named = Named("cl100k_base")
    named.note = "mine"  # type: ignore[attr-defined]
    assert named.count("hello world") == 2
