"""The errors by which providers and hosts refuse a request as too long."""

import anthropic
import httpx
import openai
import pytest
from google.genai import errors
from strands.types.exceptions import ContextWindowOverflowException

from ullage import is_overflow
from ullage.overflow import counted_tokens


@pytest.mark.parametrize(
    ("words", "counted"),
    [
        (
            "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
            1_200_000,
        ),
        ("The input token count is 1,200,000 but exceeds the limit of 1,048,576", 1_200_000),
        (
            "Unable to submit request because the input token count is 40000 but model only supports up to 32768. Reduce the input token count, which exceeds it",
            40_000,
        ),
        ("400 prompt is too long: 210536 tokens > 200000 maximum", 210_536),
        (
            "This model's maximum context length is 128000 tokens. However, your messages resulted in 130001 tokens.",
            130_001,
        ),
        ("Error code: 400 - {'error': {'code': 'context_length_exceeded'}}", None),
        ("litellm.ContextWindowExceededError: too long", None),
        ("Input is too long for requested model.", None),
        ("Request payload size exceeds the limit: 20971520 bytes.", None),
        ("Your input exceeds the context window of this model.", None),
        ("input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000", None),
    ],
)
def test_a_prompt_that_is_too_long_is_recognized(words, counted):
    error = ValueError(words)
    assert is_overflow(error)
    assert counted_tokens(error) == counted


def test_the_cause_of_an_error_is_read_too():
    error = RuntimeError("the model failed")
    error.__cause__ = ValueError("prompt is too long: 300,000 tokens > 200,000 maximum")
    assert is_overflow(error)
    assert counted_tokens(error) == 300_000


@pytest.mark.parametrize(
    "words",
    [
        "503 The model is overloaded.",
        "Quota exceeded for metric: generate_content_free_tier_input_token_count, limit: 250000",
        "Rate limit reached on tokens per min (TPM): Limit 30000, Requested 4000",
        "max_tokens must be at most 8192",
        "the number of function responses is not that of the function calls",
        "",
    ],
)
def test_another_error_is_another_matter(words):
    assert not is_overflow(ValueError(words))
    assert counted_tokens(ValueError(words)) is None


def test_a_quota_is_not_a_window():
    words = "input token count exceeds the maximum number of tokens per minute"
    details = {"error": {"message": words, "status": "RESOURCE_EXHAUSTED"}}
    assert not is_overflow(errors.ClientError(429, details))
    assert is_overflow(errors.ClientError(400, details))


def answered(kind, status, text, body=None):
    """An error as the SDKs of OpenAI and Anthropic make it of an answer."""
    request = httpx.Request("POST", "http://localhost/v1")
    return kind(text, response=httpx.Response(status, request=request), body=body)


@pytest.mark.parametrize(
    "error",
    [
        # The newer SDKs leave the code out of the text.
        answered(openai.BadRequestError, 400, "400", {"code": "context_length_exceeded"}),
        answered(anthropic.BadRequestError, 400, "prompt is too long: 9 tokens > 8 maximum"),
        answered(anthropic.APIStatusError, 413, "Request exceeds the maximum size"),
        ContextWindowOverflowException("refused"),
        type("ContextOverflowError", (Exception,), {})("as LangChain names it"),
        type("ModelContextWindowExceededError", (Exception,), {})("as Pydantic AI names it"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_the_errors_of_sdks_and_hosts_are_recognized(error):
    assert is_overflow(error)


def test_a_quota_of_an_sdk_is_not_a_window():
    words = "Request too large: it exceeds the context window of your tier per minute"
    assert not is_overflow(answered(openai.RateLimitError, 429, words))


def test_an_error_that_causes_itself_ends():
    error = ValueError("round and round")
    error.__context__ = error
    assert not is_overflow(error)
