"""``compress``, and the compressors of a policy."""

import json

import pytest

import ullage

LOG = "".join(
    f"2026-11-20T08:{second // 60:02}:{second % 60:02} "
    + (
        f"ERROR [pay] charge {second} failed: declined\n"
        if second % 400 == 399
        else f"INFO [http] GET /users/{second * 7} 200 {second % 90}ms\n"
    )
    for second in range(1200)
)


def test_a_log_keeps_its_errors_and_counts_the_rest() -> None:
    short = ullage.compress(LOG)
    assert short.kind == "log"
    assert short.text.count("ERROR") == 3
    assert "lines like this]" in short.text
    assert short.metadata.compressed
    assert short.metadata.compression_ratio < 0.03
    assert short.metadata.original_token_estimate == ullage.count_tokens(LOG)
    assert short.metadata.compressed_token_estimate == ullage.count_tokens(short.text)


def test_what_is_left_out_can_be_asked_for() -> None:
    short = ullage.compress(LOG, 200)
    lines = LOG.splitlines()
    covered = [
        number
        for gap in short.left_out
        if gap.lines
        for number in range(gap.lines[0], gap.lines[1] + 1)
    ]
    kept = [number for number in range(1, len(lines) + 1) if number not in set(covered)]
    assert all(lines[number - 1] in short.text for number in kept)
    assert all(gap.count == gap.lines[1] - gap.lines[0] + 1 for gap in short.left_out if gap.lines)
    assert ullage.count_tokens(short.text) <= 200


def test_a_small_text_stays() -> None:
    short = ullage.compress("all is well", 50)
    assert short.text == "all is well"
    assert short.left_out == ()
    assert not short.metadata.compressed
    assert short.metadata.compression_ratio == 1.0


def test_json_is_sampled_as_in_the_document() -> None:
    data = {f"key{number}": "v" * 150 for number in range(100)}
    short = ullage.compress(json.dumps(data), compressor="cyber-autoagent")
    assert short.metadata.n_original_keys == 100
    assert short.metadata.sample_data == {f"key{n}": "v" * 100 + "..." for n in range(3)}
    assert short.metadata.content_type == "json"
    indicator = short.metadata.to_indicator_json()
    assert indicator["_compressed"] is True
    assert indicator["_original_size"] == len(json.dumps(data))
    assert "100 keys, type: json" in short.metadata.to_indicator_text()


def test_a_compressor_is_a_setting_of_a_policy() -> None:
    policy = ullage.Policy(compressor="supyagent")
    assert policy.to_dict()["compressor"] == "supyagent"
    store = ullage.MemoryStore()
    engine = ullage.ContextManager(policy, store=store)
    shrunk = engine.shrink("bash", "word " * 1000)
    assert "\n...[truncated]...\n" in shrunk
    assert [store.get(reference) for reference in store.list()] == [b"word " * 1000]
    assert engine.shrink("bash", shrunk) == shrunk


def test_an_unknown_compressor_is_refused() -> None:
    with pytest.raises(ullage.PolicyError, match="sre-agent-payload"):
        ullage.compress("x", compressor="none")
    with pytest.raises(ullage.PolicyError, match="compressor"):
        ullage.Policy(compressor="none")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "\x00" * 5000,
        "a\ud800b" * 3000,
        "[" * 100_000,
        "[" * 100_000 + "]" * 100_000,
        '{"a":' * 100_000,
        "x" * (1 << 20),
        "<div>" * 50_000,
        "Error: " * 20_000,
        "\r" * 10_000,
        "\x1b[31mred\x1b[0m " * 5000,
    ],
    ids=lambda text: f"{text[:5]!r}x{len(text)}",
)
def test_no_text_is_too_strange(text: str) -> None:
    for budget in (None, 0, 60, 1000):
        short = ullage.compress(text, budget)
        assert len(short.text) <= len(text)
        if budget is not None and budget >= 60:
            assert ullage.count_tokens(short.text) <= budget
