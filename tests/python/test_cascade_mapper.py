"""Layer 1 of the cascade: large tool results and inputs, compressed one message at a time."""

import copy
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from strands import Agent, tool

from tests.python.players import Player
from tests.python.test_formula import BLOCK
from ullage.strands import CompressionMetadata, LargeToolResultMapper

NOTE = "[compressed tool result – {} chars → threshold 10000]"  # noqa: RUF001 - as the document has it


def result(*content, **more):
    block = {"toolUseId": "c1", "status": "success", "content": list(content)}
    return {"role": "user", "content": [{"toolResult": block | more}], "tracking_id": "t"}


def call(given, name="scan"):
    use = {"toolUseId": "c1", "name": name, "input": given}
    return {"role": "assistant", "content": [{"text": "Scanning."}, {"toolUse": use}]}


def mapped(message, **settings):
    return LargeToolResultMapper(**settings)(message, 0, [message])


def contents(message):
    return message["content"][0]["toolResult"]["content"]


@pytest.mark.parametrize("size", [0, 1, 8_001, 10_000])
def test_what_does_not_exceed_the_threshold_is_the_very_same_object(size):
    message = result({"text": "x" * size})
    assert mapped(message) is message


def test_a_text_keeps_its_head_and_says_how_long_it_was():
    message = result({"text": "x" * 10_001}, status="error")
    before = copy.deepcopy(message)
    short = mapped(message)
    assert contents(short) == [
        {"text": NOTE.format(10_001)},
        {"text": "x" * 8_000 + "... [truncated from 10001 chars]"},
    ]
    assert short["content"][0]["toolResult"]["status"] == "error"
    assert short["tracking_id"] == "t", "what is not known survives"
    assert message == before, "what is compressed is a copy"


def test_an_object_keeps_its_first_keys_with_a_hundred_characters_each():
    value = {f"key{n}": "v" * 500 * (n + 1) for n in range(8)} | {"short": 1}
    size = len(str(value))
    note, indicator, sample = contents(mapped(result({"json": value})))
    assert note == {"text": NOTE.format(size)}
    assert indicator["text"].startswith(f"[Compressed: {size} → ")
    assert indicator["text"].endswith("%), 9 keys, type: json]")
    sampled = sample["json"]
    assert [key for key in sampled if key.startswith("key")] == ["key0", "key1", "key2"]
    assert sampled["key0"] == "v" * 100 + "..."
    assert sampled["_compressed"] is True
    assert sampled["_original_size"] == size
    assert sampled["_n_original_keys"] == 9
    assert sampled["_type"] == "json"
    assert sampled["_compression_ratio"] == round(sampled["_compressed_size"] / size, 3)


def test_a_list_keeps_its_first_elements_and_says_how_many_there_were():
    value = [{"host": f"10.0.0.{n}", "ports": [22, 80]} for n in range(400)]
    _, indicator, sample = contents(mapped(result({"json": value})))
    assert sample["json"]["_items"] == value[:3]
    assert sample["json"]["_n_original_items"] == 400
    assert sample["json"]["_compressed_size"] > 0
    assert "400 items" in indicator["text"]


@pytest.mark.parametrize(
    "value",
    [
        {f"key{n}": "v" * 500 * (n + 1) for n in range(8)} | {"é": 1},
        [{"host": f"10.0.0.{n}", "ports": [22, 80]} for n in range(400)],
        [["nested", {"deeply": "x" * 20_000}]],
    ],
    ids=["object", "list", "one-large-element"],
)
@pytest.mark.parametrize("indent", [None, 2])
def test_json_inside_a_text_is_sampled_like_json_and_stays_text(value, indent):
    text = json.dumps(value, indent=indent, ensure_ascii=False)
    note, indicator, sample = contents(mapped(result({"text": text})))
    _, as_json, sampled = contents(mapped(result({"json": value})))
    of_text, of_json = json.loads(sample["text"]), sampled["json"]
    own = {"_original_size", "_compression_ratio"}  # of the text as it was printed
    assert {k: v for k, v in of_text.items() if k not in own} == {
        k: v for k, v in of_json.items() if k not in own
    }
    assert (note["text"], of_text["_original_size"]) == (NOTE.format(len(text)), len(text))
    assert indicator["text"].split(")")[1] == as_json["text"].split(")")[1]


@pytest.mark.parametrize("text", ['{"open": ', "[1, 2", "[note] {", "{" * 20_000, "[" * 20_000])
def test_a_text_that_only_begins_like_json_keeps_its_head(text):
    text = text.ljust(20_000)
    assert contents(mapped(result({"text": text})))[1]["text"].startswith(text[:8_000])


def test_what_a_tool_of_strands_returns_is_sampled():
    @tool
    def scan() -> dict[str, str]:
        """Scans."""
        return {f"port {n}": "open " * 100 for n in range(200)}

    agent = Agent(model=Player(), tools=[scan], callback_handler=None)
    returned = agent.tool.scan()
    if returned["content"][0]["text"].startswith("{'"):
        pytest.skip("this version of Strands writes what Python prints")
    _, indicator, sample = contents(mapped(result(*returned["content"])))
    assert "200 keys, type: json" in indicator["text"]
    assert [k for k in json.loads(sample["text"]) if k[0] == "p"] == ["port 0", "port 1", "port 2"]


def test_each_json_block_is_shown_with_its_own_keys():
    first, second = {"a": "x" * 9_000}, ["y" * 9_000]
    left = contents(mapped(result({"json": first}, {"json": second})))
    samples = [item["json"] for item in left if "json" in item]
    assert "a" in samples[0]
    assert samples[0]["_n_original_keys"] == 1
    assert "a" not in samples[1]
    assert samples[1]["_n_original_items"] == 1


@pytest.mark.parametrize(
    "items",
    [
        pytest.param([{"text": "x" * 5_000}] * 3, id="texts-each-below-the-limit"),
        pytest.param([{"text": "x" * 101}] * 100, id="a-hundred-short-texts"),
        pytest.param([{"text": "x" * 8_000}, {"json": {"k": "v" * 8_000}}], id="mixed"),
        pytest.param([{"json": ["e" * 50] * 900}], id="a-list"),
        pytest.param([{"json": "s" * 20_000}], id="a-string-as-json"),
        pytest.param([{"text": "x" * 10**6}], id="a-million"),
    ],
)
def test_doing_it_twice_changes_nothing(items):
    once = mapped(result(*items))
    assert mapped(once) is once
    assert len(str(once)) < len(str(result(*items)))


def test_small_items_stay_whole_beside_large_ones():
    left = contents(mapped(result({"text": "summary: 3 open"}, {"text": "x" * 50_000})))
    assert {"text": "summary: 3 open"} in left


def test_media_stay_and_count_nothing():
    image = {"image": {"format": "png", "source": {"bytes": b"x" * 50_000}}}
    document = {"document": {"format": "pdf", "name": "d", "source": {"bytes": b"y" * 50_000}}}
    message = result(image, document)
    assert mapped(message) is message
    left = contents(mapped(result(image, {"text": "x" * 20_000}, document)))
    assert any(item is image for item in left)
    assert any(item is document for item in left)


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        pytest.param(
            {"path": "a.py", "body": "x" * 20_000},
            {"path": "a.py", "body": "x" * 8_000 + "... [truncated from 20000 chars]"},
            id="a-long-string",
        ),
        pytest.param(
            {"edits": [{"at": 3, "new": "y" * 9_000}, {"at": 4, "new": "z" * 9_000}], "dry": True},
            {
                "edits": [
                    {"at": 3, "new": "y" * 8_000 + "... [truncated from 9000 chars]"},
                    {"at": 4, "new": "z" * 8_000 + "... [truncated from 9000 chars]"},
                ],
                "dry": True,
            },
            id="nested",
        ),
        pytest.param({"rows": list(range(9_000))}, {"rows": list(range(9_000))}, id="numbers"),
        pytest.param("x" * 20_000, "x" * 20_000, id="no-object"),
        pytest.param(None, None, id="nothing"),
    ],
)
def test_an_input_keeps_the_shape_that_its_schema_asks_for(given, kept):
    message = call(given)
    short = mapped(message)
    assert short["content"][1]["toolUse"]["input"] == kept
    assert short["content"][0] is message["content"][0]
    assert mapped(short) is short


@pytest.mark.parametrize(
    "message",
    [
        {"role": "user", "content": None},
        {"role": "user", "content": "plain " * 9_000},
        {"role": "user"},
        {"role": "user", "content": [None, "text", {"toolResult": None}, {"toolUse": "x"}]},
        {"role": "user", "content": [{"toolResult": {"toolUseId": "1", "content": "x" * 20_000}}]},
        {"role": "user", "content": [{"toolResult": {"content": [{"text": None}, 5, None]}}]},
        None,
        "text",
    ],
    ids=str,
)
def test_what_is_no_message_comes_back_as_it_is(message):
    assert mapped(message) is message


def test_a_value_nested_beyond_printing_is_large():
    value: list[object] = []
    for _ in range(5_000):
        value = [value]
    short = mapped(result({"json": value}))
    assert len(json.dumps(contents(short))) < 10_000


@given(st.lists(BLOCK, max_size=4), st.integers(0, 60), st.integers(0, 60))
def test_nothing_grows_and_the_second_time_changes_nothing(blocks, threshold, left):
    mapper = LargeToolResultMapper(max_tool_chars=threshold, truncate_at=left)
    message = {"role": "user", "content": blocks}
    before = copy.deepcopy(message)
    once = mapper(message, 0, [message])
    assert message == before
    assert [set(block) for block in once["content"]] == [set(block) for block in blocks]
    assert mapper(once, 0, [once]) is once


def test_the_size_to_which_it_cuts_comes_from_the_environment(monkeypatch):
    monkeypatch.setenv("CYBER_TOOL_COMPRESS_TRUNCATE", "500")
    assert len(contents(mapped(result({"text": "x" * 20_000})))[1]["text"]) < 600


def test_the_metadata_has_the_fields_of_the_document():
    metadata = CompressionMetadata()
    assert (metadata.compressed, metadata.content_type, metadata.n_original_keys) == (
        False,
        "unknown",
        None,
    )
    assert LargeToolResultMapper().is_large(result({"text": "x" * 20_000}))
