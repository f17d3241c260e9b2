"""Retrieval for programs and for models: any store, any piece, and answers instead of errors."""

# mypy: disable-error-code="type-arg,arg-type,method-assign"

import asyncio
import inspect
import json
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

import ullage

LOG = "bash-00000000000000aa"
DATA = "query-00000000000000bb"
SHOT = "browser-00000000000000cc"
TEXT = "".join(f"line {i}{' ERROR' if i % 10 == 0 else ''}\n" for i in range(1, 101))
PNG = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\x02\x80\0\0\x01\xe0\x08\x02" + bytes(range(128, 256))
CONTENTS = {
    LOG: TEXT.encode(),
    DATA: json.dumps({"rows": [{"name": f"row {i}", "ok": i % 7 > 0} for i in range(500)]}).encode(),
    SHOT: PNG,
}  # fmt: skip


class Sync:
    """A store of the user's own; only what is asked for."""

    def __init__(self):
        self.contents = dict(CONTENTS)

    def put(self, content, *, reference, tool=None, **_):
        self.contents[reference] = content
        return reference

    def get(self, reference):
        return self.contents[reference]


class Listing(Sync):
    def list(self):
        return list(self.contents)


class Async:
    def __init__(self):
        self.inner = Listing()

    async def put(self, content, *, reference, tool=None, **_):
        await asyncio.sleep(0)
        return self.inner.put(content, reference=reference)

    async def get(self, reference):
        await asyncio.sleep(0)
        return self.inner.get(reference)

    async def list(self):
        await asyncio.sleep(0)
        return self.inner.list()


def filled(store):
    for reference, content in CONTENTS.items():
        store.put(content, reference=reference)
    return store


@pytest.fixture(params=["memory", "file", "own", "async"])
def read(request, tmp_path):
    """``retrieve``, ``search`` and a tool over a store of each kind; the async one is run."""
    make = {
        "memory": lambda: filled(ullage.MemoryStore()),
        "file": lambda: filled(ullage.FileStore(tmp_path)),
        "own": Listing,
        "async": Async,
    }
    store = make[request.param]()

    class Read:
        tool = ullage.RetrievalTool(store)

        def retrieve(self, *args, **more):
            if request.param == "async":
                return asyncio.run(ullage.aretrieve(store, *args, **more))
            return ullage.retrieve(store, *args, **more)

        def search(self, *args, **more):
            if request.param == "async":
                return asyncio.run(ullage.asearch(store, *args, **more))
            return ullage.search(store, *args, **more)

        def call(self, arguments):
            there = asyncio.run(self.tool.acall(arguments))
            assert request.param == "async" or there == self.tool.call(arguments)
            return there

    return Read()


def test_every_store_gives_the_same_pieces(read):
    assert read.retrieve(LOG).split("\n", 1)[1] == TEXT
    assert read.retrieve(LOG, "ERROR", (5, 25)).splitlines()[1:] == [
        "10: line 10 ERROR",
        "20: line 20 ERROR",
    ]
    assert read.retrieve(LOG, tail=1).endswith("\n100: line 100 ERROR\n")
    assert read.retrieve(LOG, head=1, tail=1).splitlines()[1:] == [
        "1: line 1",
        "100: line 100 ERROR",
    ]
    assert read.retrieve(DATA, pointer="/rows/3/name").splitlines()[1:] == ["row 3"]
    found = read.search("row 499|line 99$")
    assert f"{LOG} (1 of 100 lines match):\n99: line 99\n" in found
    assert '"name": "row 499"' in found
    assert "in 2 of 3 outputs" in found


def test_a_picture_is_described_and_never_garbled(read):
    said = read.retrieve(SHOT)
    assert "[image/png, 154 bytes, 640 x 480 pixels" in said
    assert "�" not in said
    assert said.isprintable() or said.count("\n") == 1


def test_an_unknown_reference_is_answered_with_the_nearest(read):
    for wrong in ("bash-00000000000000ab", "bash-00000000000000a", "bash"):
        with pytest.raises(ullage.StoreError, match=rf"nearest stored references: {LOG}"):
            read.retrieve(wrong)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        pytest.param({"reference": LOG, "pattern": "line 50"}, "50: line 50 ERROR", id="pattern"),
        pytest.param(json.dumps({"reference": LOG, "tail": 1}), "100: line 100", id="json"),
        pytest.param({"reference": LOG, "lines": "3-4"}, "3: line 3\n4: line 4\n", id="lines"),
        pytest.param(
            {"reference": LOG, "lines": [3, 4]}, "3: line 3\n4: line 4\n", id="lines-list"
        ),
        pytest.param(
            {"reference": LOG, "lines": 3}, "all; 9 characters follow]\n3: line 3\n", id="one-line"
        ),
        pytest.param({"reference": LOG, "head": "2"}, "2: line 2\n", id="number-as-text"),
        pytest.param(
            {"reference": LOG, "pattern": "", "lines": None, "head": 1}, "1: line 1\n", id="empty"
        ),
        pytest.param(
            {"reference": f"[ullage: bash output is stored as {LOG}; retrieve it]", "head": 1},
            "1: line 1\n",
            id="the-whole-mark",
        ),
        pytest.param({"reference": DATA, "pointer": "/rows/0/name"}, "row 0", id="pointer"),
        pytest.param({"pattern": "row 499"}, "found in 1 of 3 outputs", id="search"),
        pytest.param({"pattern": "nowhere at all"}, "no line matches", id="search-for-nothing"),
        pytest.param({}, "Error: give a reference, or a pattern", id="nothing"),
        pytest.param(None, "Error: give a reference, or a pattern", id="none"),
        pytest.param("", "Error: give a reference, or a pattern", id="no-text"),
        pytest.param("{", "Error: the arguments are not JSON", id="broken-json"),
        pytest.param("[" * 100_000, "Error: the arguments are nested too deeply", id="deep-json"),
        pytest.param([1], "Error: the arguments are a list", id="list"),
        pytest.param({"pattern": "x", "head": 1}, "Error: head: only together", id="head-alone"),
        pytest.param({"refrence": LOG}, "the nearest: reference", id="misspelt"),
        pytest.param({"reference": 7}, "Error: reference: it is a int", id="no-string"),
        pytest.param({"reference": LOG, "pattern": "("}, "Error: the pattern", id="bad-pattern"),
        pytest.param(
            {"reference": LOG, "lines": "x"}, "Error: lines: give the first", id="bad-lines"
        ),
        pytest.param({"reference": LOG, "lines": "9-3"}, "count lines from 1", id="lines-back"),
        pytest.param({"reference": LOG, "head": "two"}, "is not a whole number", id="no-number"),
        pytest.param({"reference": LOG, "tail": -1}, "below zero", id="negative"),
        pytest.param(
            {"reference": LOG, "pointer": "/a"}, "Error: the content is not JSON", id="no-json"
        ),
        pytest.param({"reference": DATA, "pointer": "/row"}, "keys: rows", id="bad-pointer"),
        pytest.param({"reference": "bash-00000000000000ff"}, LOG, id="unknown"),
        pytest.param({"reference": "../../etc/passwd"}, "is not a reference", id="path"),
        pytest.param({"reference": "\ud800", "pattern": "\ud800"}, "Error: ", id="surrogates"),
    ],
)
def test_a_model_is_answered_in_words(read, arguments, words):
    text = read.call(arguments)
    assert words.replace("is not a reference", "") in text


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=9), inner, max_size=3),
    max_leaves=6,
)  # fmt: skip
ASKED = st.fixed_dictionaries(
    {},
    optional={
        name: JSON | st.sampled_from([LOG, DATA, "line", "1-3", "/rows/1", 2, "7"])
        for name in ("reference", "pattern", "lines", "pointer", "context", "head", "tail", "x")
    },
)


@given(st.one_of(JSON, ASKED, st.binary(max_size=9), st.builds(object)))
def test_nothing_that_a_model_gives_is_raised(arguments):
    tool = ullage.RetrievalTool(Listing(), limit=500)
    answer = tool.answer(arguments)
    assert isinstance(answer.text, str)
    assert len(answer.text) < 2_500
    assert answer == asyncio.run(tool.aanswer(arguments))


def test_an_answer_is_bounded():
    tool = ullage.RetrievalTool(filled(ullage.MemoryStore()), limit=300)
    for arguments in ({"reference": LOG}, {"reference": DATA}, {"pattern": "."}):
        assert len(tool.call(arguments)) < 800


class Echoing(Sync):
    """A store whose errors and names are as long as what it is asked for."""

    def get(self, reference):
        raise KeyError(f"{reference} is not in " + "x" * 100_000)

    def list(self):
        return ["x" * 100_000]


@pytest.mark.parametrize("store", [Listing, Echoing, ullage.MemoryStore])
@pytest.mark.parametrize(
    "name",
    ["reference", "pattern", "lines", "pointer", "context", "head", "tail", "x" * 100_000, None],
)
@pytest.mark.parametrize(
    "value",
    [
        pytest.param("(" * 100_000, id="brackets"),
        pytest.param("9" * 100_000, id="digits"),
        pytest.param("/\n" * 50_000, id="slashes"),
        pytest.param(["n" * 100_000], id="list"),
        pytest.param(-(10**4_000), id="number"),
    ],
)
def test_an_error_quotes_a_bounded_part_of_what_it_was_given(store, name, value):
    tool = ullage.RetrievalTool(filled(store()), limit=300)
    for reference in ({}, {"reference": DATA}):
        arguments = value if name is None else {**reference, name: value}
        answer = tool.answer(arguments)
        assert len(answer.text) < 2_500
        assert answer == asyncio.run(tool.aanswer(arguments))


def test_the_error_about_a_long_pattern_says_what_is_wrong_with_it():
    store = filled(ullage.MemoryStore())
    for call in (partial(ullage.search, store), partial(ullage.retrieve, store, LOG)):
        with pytest.raises(ullage.StoreError, match="unclosed group") as caught:
            call("a" * 100_000 + "(")
        assert len(str(caught.value)) < 2_500


@pytest.mark.parametrize("format", ["openai", "openai-responses", "anthropic", "bedrock", "gemini"])
def test_a_definition_describes_every_argument(format):
    tool = ullage.RetrievalTool(ullage.MemoryStore(), name="read_back")
    text = json.dumps(tool.definition(format))
    assert text.count("read_back") == 1
    narrowing = set(inspect.signature(ullage.retrieve).parameters) - {"store", "limit"}
    assert narrowing == set(tool.parameters["properties"])
    assert all(f'"{name}": {{"type"' in text for name in narrowing)


def test_the_definitions_are_those_of_the_providers():
    tool = ullage.RetrievalTool(ullage.MemoryStore())
    schema = tool.parameters
    known = {"name": "retrieve", "description": tool.description}
    assert tool.definition("openai") == {
        "type": "function",
        "function": known | {"parameters": schema},
    }
    assert tool.definition("anthropic") == known | {"input_schema": schema}
    with pytest.raises(ullage.PolicyError, match="unknown format 'x'"):
        tool.definition("x")


def test_what_comes_back_is_not_stored_again(read):
    engine = ullage.ContextManager(
        ullage.Policy(shrink_above=100, shrink_to=50), store=read.tool.store
    )
    for arguments in (
        {"reference": LOG},
        {"reference": DATA},
        {"reference": DATA, "pointer": "/rows"},
        {"reference": LOG, "pattern": "line", "context": 2},
        {"pattern": "line|row"},
    ):
        text = read.call(arguments)
        assert ullage.count_tokens(text) > 100
        assert asyncio.run(engine.ashrink("retrieve", text)) is text


def test_a_store_that_has_to_be_awaited_says_so():
    store = Async()
    for use in (
        lambda: ullage.retrieve(store, LOG),
        lambda: ullage.search(store, "x"),
    ):
        with pytest.raises(ullage.StoreError, match="call aretrieve or asearch"):
            use()
    assert "aretrieve" in ullage.RetrievalTool(store).call({"reference": LOG})


def test_a_store_that_gives_no_bytes_or_has_no_list_says_so():
    store = Sync()
    with pytest.raises(ullage.StoreError, match="cannot be searched"):
        ullage.search(store, "x")
    with pytest.raises(ullage.StoreError, match=r"KeyError: 'bash-00000000000000ff'$"):
        ullage.retrieve(store, "bash-00000000000000ff")
    store.get = lambda _: "text"
    with pytest.raises(ullage.StoreError, match="returned a str, not bytes"):
        ullage.retrieve(store, LOG)
    store.get = lambda _: bytearray(b"bytes")
    assert ullage.retrieve(store, LOG).endswith("bytes")


def test_a_search_passes_over_what_cannot_be_read():
    class Holes(Listing):
        def get(self, reference):
            if reference == DATA:
                raise OSError(5, "Input/output error")
            return super().get(reference)

    assert "found in 1 of 2 outputs" in ullage.search(Holes(), "line 7$")


def test_what_a_store_offers_is_told_apart():
    assert isinstance(ullage.MemoryStore(), ullage.FullStore)
    assert isinstance(Sync(), ullage.Store)
    assert not isinstance(Sync(), ullage.FullStore)


@pytest.mark.parametrize("lines", [(-1, 3), (0, 3), (3, 2), (1, -1), (5, -(10**30))])
def test_lines_that_cannot_be_are_named_as_they_were_given(lines):
    with pytest.raises(ullage.StoreError, match=f"no lines {lines[0]} to {lines[1]}"):
        ullage.retrieve(Sync(), LOG, lines=lines)
