"""Bad input gets an error that says what was wrong and what to do, or a correct answer; nothing is lost."""

# mypy: disable-error-code="misc,operator,union-attr"

import copy
import json
import pickle
from typing import Any

import pytest

import ullage

from . import six_formats
from .conversations import long_conversation, render
from .judges import Snapshot, count, faults

POLICY = ullage.Policy(window=6_000, reserve_output=1_000)


def user(content: Any) -> list[Any]:
    return [{"role": "user", "content": content}]


def assistant(*blocks: Any) -> list[Any]:
    return [{"role": "assistant", "content": list(blocks)}]


def use(value: Any = None, **other: Any) -> Any:
    return {
        "toolUse": {"toolUseId": "a", "name": "t", "input": {} if value is None else value, **other}
    }


def result(content: Any, identifier: str = "a") -> Any:
    return {"toolResult": {"toolUseId": identifier, "content": content}}


def nested(levels: int) -> Any:
    value: Any = "bottom"
    for _ in range(levels):
        value = [value]
    return value


def cyclic() -> Any:
    value: dict[str, Any] = {"a": 1}
    value["self"] = [value]
    return value


def engine() -> ullage.ContextManager:
    return ullage.ContextManager(POLICY, store=ullage.MemoryStore())


ASK = user([{"text": "the task"}])

REFUSED = [
    # Wrong messages, and a word that the error must say.
    pytest.param(user(None), "message 0.*content", id="content-none"),
    pytest.param(user(5), "message 0.*content", id="content-number"),
    pytest.param(user(b"bytes"), "message 0.*bytes", id="content-bytes"),
    pytest.param(user({"text": "x"}), "message 0.*list", id="content-one-block"),
    pytest.param([{"role": "user"}], "message 0.*content", id="content-missing"),
    pytest.param([{"role": 5, "content": "x"}], "message 0.*role", id="role-number"),
    pytest.param([{"role": None, "content": "x"}], "message 0.*role", id="role-none"),
    pytest.param([{"content": "x"}], "message 0.*role", id="role-missing"),
    pytest.param([{}], "message 0.*role", id="empty-message"),
    pytest.param(
        [{"type": "human", "content": "x", "additional_kwargs": {}}],
        "message 0.*LangChain.*convert_to_openai_messages",
        id="langchain",
    ),
    pytest.param(
        [{"type": "user", "uuid": "1", "message": {"role": "user", "content": "x"}}],
        "message 0.*recording.*ullage replay",
        id="recording",
    ),
    pytest.param(
        [*ASK, {"role": "function", "content": "x"}],
        "message 1.*'function'.*'user'",
        id="role-unknown",
    ),
    pytest.param([None], "message 0.*dict", id="message-none"),
    pytest.param(["hello"], "message 0.*dict", id="message-string"),
    pytest.param([[{"role": "user"}]], "message 0.*dict", id="message-list"),
    pytest.param(user(["x"]), "block 0.*string", id="block-string"),
    pytest.param(user([{"text": "x"}, None]), "block 1", id="block-none"),
    pytest.param(
        assistant({"toolUse": {"name": "t", "input": {}}}), "toolUseId", id="use-without-id"
    ),
    pytest.param(assistant(use(toolUseId=5)), "toolUseId", id="use-with-a-number-as-id"),
    pytest.param(assistant(use(name=None)), "name", id="use-without-name"),
    pytest.param(assistant({"toolUse": "x"}), "toolUse", id="use-is-a-string"),
    pytest.param(user([{"toolResult": {"content": []}}]), "toolUseId", id="result-without-id"),
    pytest.param([*assistant(use()), *user([result(7)])], "message 1", id="result-content-number"),
    pytest.param([*assistant(use()), *user([result([5])])], "message 1", id="result-item-number"),
    pytest.param(
        [*ASK, *assistant({"text": "x"}), *user([result([], "zz")])],
        "message 2.*'zz'",
        id="result-without-call",
    ),
    pytest.param(
        [*ASK, *assistant(use()), *user([{"text": "x"}])],
        "message 1.*'a'",
        id="call-without-result",
    ),
    pytest.param(
        [*ASK, *assistant(use(), use()), *user([result([]), result([])])],
        "'a'",
        id="duplicate-calls",
    ),
    pytest.param(
        [*ASK, *assistant(use()), *user([result([]), result([])])], "'a'", id="duplicate-results"
    ),
    pytest.param(
        [*ASK, *assistant({"type": "tool_use", "id": "a", "name": "t", "input": {}})],
        "message 1.*format",
        id="mixed-formats",
    ),
    pytest.param(
        [*user([{"type": "text", "text": "x"}]), *assistant(use())],
        "message 1.*format",
        id="mixed-the-other-way",
    ),
    pytest.param(
        [{"role": "assistant", "content": None, "tool_calls": [{"id": "a"}]}],
        "has no `name`",
        id="openai-call-without-a-name",
    ),
    pytest.param(
        [*user("x"), {"role": "tool", "tool_call_id": "a", "content": "x"}],
        "no call before it",
        id="openai-result-without-a-call",
    ),
    pytest.param(
        [{"role": "user", "parts": [{"text": "x"}]}, {"role": "robot", "parts": []}],
        "message 1.*'robot'",
        id="gemini-role",
    ),
    pytest.param(
        [{"role": "user", "parts": [{"text": "x"}]}, {"role": "user", "content": "x"}],
        "message 1",
        id="gemini-and-openai",
    ),
    pytest.param(
        [{"type": "function_call", "name": "f", "arguments": "{}"}],
        "no `call_id`",
        id="responses-call-without-an-id",
    ),
    pytest.param(assistant(use(cyclic())), "nested deeper than", id="cyclic-dict"),
    pytest.param(assistant(use(nested(100_000))), "nested deeper than", id="nested-100000-levels"),
    pytest.param(
        [*assistant(use()), *user([result([{"json": nested(100_000)}])])],
        "nested deeper than",
        id="nested-result",
    ),
]


@pytest.mark.parametrize(("messages", "says"), REFUSED)
@pytest.mark.parametrize("verb", ["plan", "compact", "view"])
def test_bad_messages_are_refused_with_what_to_do(messages, says, verb):
    objects, sizes = list(messages), [_shape(m) for m in messages]
    with pytest.raises(ullage.MessageError, match=f"(?s){says}") as caught:
        getattr(ullage.ContextManager(POLICY.replace(repair=False)), verb)(messages)
    assert ";" in str(caught.value), "what was wrong; what to do"
    assert all(now is then for now, then in zip(messages, objects, strict=True))
    assert [_shape(m) for m in messages] == sizes


BROKEN = [
    case for case in REFUSED if case.id in {
        "result-without-call", "call-without-result", "duplicate-calls", "duplicate-results"
    }
]  # fmt: skip


@pytest.mark.parametrize(("messages", "says"), BROKEN)
def test_what_a_provider_would_refuse_is_repaired_and_reported(messages, says):
    before = copy.deepcopy(messages)
    plan = engine().plan(messages)
    assert plan.report()["repairs"]
    assert "repaired: " in plan.explain()
    viewed = engine().view(messages)
    assert messages == before
    assert ullage.validate(plan.apply(messages)) == ullage.validate(viewed) == []
    again = ullage.Plan.from_dict(json.loads(json.dumps(plan.to_dict())))
    assert again.apply(messages) == viewed
    report = engine().compact(messages)
    assert report.repairs == plan.report()["repairs"]
    assert messages == viewed
    assert engine().compact(messages).repairs == []


def test_a_call_that_may_still_be_answered_is_no_fault():
    messages = render(long_conversation(3, 20, parallel=2), "anthropic")
    half = copy.deepcopy(messages)
    half[-1]["content"].pop()
    for waiting in (messages[:-1], half):
        before = list(waiting)
        for hard in (False, True):
            assert engine().compact(waiting, hard=hard).repairs == []
            assert hard or waiting[-1] is before[-1]
    half.append({"role": "user", "content": "Go on."})
    assert engine().compact(half).repairs != []
    assert ullage.validate(half) == []


@pytest.mark.parametrize("format", six_formats.FORMATS)
def test_a_promise_that_messages_stay_hides_no_broken_message(format):
    messages, _ = six_formats.written(tuple(long_conversation(3, 20, parallel=2)), format)
    promised = ullage.ContextManager(POLICY, format=format, append_only=True)
    for missing in range(1, len(messages)):
        history = []
        for message in copy.deepcopy([*messages[:missing], *messages[missing + 1 :]]):
            history.append(message)
            expected = copy.deepcopy(history)
            plain = ullage.ContextManager(POLICY, format=format).compact(expected)
            assert promised.compact(history).repairs == plain.repairs
            assert history == expected


def _shape(message: Any) -> str:
    """Enough of a message to notice a change, also of one that no copy can be made of."""
    if not isinstance(message, dict):
        return repr(message)
    content = message.get("content")
    return repr((list(message), len(content) if isinstance(content, list | str) else content))


@pytest.mark.parametrize("index", [0, 1, 6])
def test_an_error_about_one_message_has_its_index(index):
    messages = render(long_conversation(4), "bedrock")
    messages[index] = {"role": messages[index]["role"], "content": None}
    with pytest.raises(ullage.MessageError, match=f"message {index}") as caught:
        engine().compact(messages)
    assert caught.value.index == index


@pytest.mark.parametrize(
    "value", [nested(300), cyclic(), 10**5000], ids=["nested", "cyclic", "number-of-5000-digits"]
)
def test_a_value_that_cannot_be_used_is_reported_with_its_message(value):
    with pytest.raises(ullage.MessageError, match="message 1"):
        engine().plan([*ASK, *assistant(use({"value": value}))])


class Raising:
    """A message whose content raises from the given reading on."""

    def __init__(self, error: BaseException, reading: int = 1) -> None:
        self.role, self._error, self._left = "user", error, reading

    @property
    def content(self) -> str:
        self._left -= 1
        if self._left <= 0:
            raise self._error
        return "words " * 250


@pytest.mark.parametrize("reading", range(1, 9))
@pytest.mark.parametrize(
    "error",
    [RuntimeError("it is odd"), KeyError("x" * 100_000), StopIteration(), ullage.StoreError("no")],
    ids=lambda error: type(error).__name__,
)
@pytest.mark.parametrize("use_it", ["plan", "compact", "view", "status"])
def test_a_message_whose_property_raises_is_an_error_of_its_own_kind(error, reading, use_it):
    messages: list[Any] = [
        *user("words " * 250),
        {"role": "assistant", "content": "text " * 250},
    ] * 12
    messages[2] = Raising(error, reading)
    before = list(messages)
    caught = None
    try:
        getattr(engine(), use_it)(messages)
    except ullage.MessageError as raised:
        caught = raised
    assert caught or reading > 1, "each reads it at least once"
    if caught:
        assert caught.__cause__ is error
        assert type(error).__name__ in str(caught)
        assert len(str(caught)) < 2_500
        assert all(one is other for one, other in zip(messages, before, strict=True))


@pytest.mark.parametrize("error", [KeyboardInterrupt(), SystemExit()])
def test_an_interrupt_in_a_property_is_not_swallowed(error):
    with pytest.raises(type(error)):
        engine().compact([Raising(error)])


@pytest.mark.parametrize(
    "messages",
    [
        None,
        "text",
        {"role": "user", "content": "x"},
        5,
        1.5,
        b"x",
        iter(ASK),
        (m for m in ASK),
        set(),
    ],
    ids=lambda m: type(m).__name__,
)
@pytest.mark.parametrize(
    "use_it", ["plan", "compact", "view", "status", "detect_format", "count_messages"]
)
def test_what_is_no_list_is_refused(messages, use_it):
    functions = {
        "detect_format": ullage.detect_format,
        "count_messages": ullage.TokenCounter().count_messages,
    }
    with pytest.raises(ullage.MessageError, match="not a list"):
        functions.get(use_it, getattr(engine(), use_it, None))(messages)


def _mutating() -> list[Any]:
    return render(long_conversation(6), "bedrock")


@pytest.mark.parametrize("budget", [0, -1, 1, 5, -(2**63), -(2**64)])
def test_an_impossible_budget_is_refused_and_changes_nothing(budget):
    messages = _mutating()
    before = Snapshot(messages)
    with pytest.raises(ullage.BudgetError, match="budget") as caught:
        engine().compact(messages, budget)
    assert str(caught.value).count(";") == 1
    before.assert_nothing_changed()


def test_the_error_about_the_floor_names_the_messages():
    messages = _mutating()
    with pytest.raises(ullage.BudgetError, match=r"message 0.*must stay") as caught:
        engine().compact(messages, 60)
    assert caught.value.budget == 60 < caught.value.floor
    assert set(caught.value.messages) == {0, len(messages) - 2, len(messages) - 1}


def test_every_budget_error_has_its_attributes():
    with pytest.raises(ullage.BudgetError) as caught:
        engine().compact(_mutating(), 0)
    assert caught.value.budget == 0
    assert caught.value.floor >= 0
    assert isinstance(caught.value.messages, list)


@pytest.mark.parametrize("budget", [2**63, 2**64, 10**30])
def test_a_budget_beyond_64_bits_is_room_for_everything(budget):
    assert engine().plan(_mutating(), budget).is_empty


@pytest.mark.parametrize("budget", [1.5, "5", float("nan"), [], b"1"], ids=repr)
def test_a_budget_is_a_whole_number(budget):
    messages = _mutating()
    before = Snapshot(messages)
    with pytest.raises((TypeError, ullage.UllageError)):
        engine().compact(messages, budget)
    before.assert_nothing_changed()


@pytest.mark.parametrize("pin", [-1, 99, 2**70])
def test_a_pin_that_names_no_message_is_refused(pin):
    messages = _mutating()
    before = Snapshot(messages)
    with pytest.raises(ullage.MessageError, match="names no message"):
        engine().compact(messages, pins=[pin])
    before.assert_nothing_changed()


ACCEPTED = [
    pytest.param(user("plain text"), id="string-content"),
    pytest.param(user(""), id="empty-string"),
    pytest.param([*user([{"text": "x"}]), *assistant()], id="no-blocks"),
    pytest.param(user([{"block_of_tomorrow": {"a": [1]}}]), id="unknown-block"),
    pytest.param(user([{}]), id="empty-block"),
    pytest.param(assistant(use({"a": float("nan"), "b": float("-inf")})), id="nan"),
    pytest.param(assistant(use({"a": b"\xff\0", "b": bytearray(b"x")})), id="bytes"),
    pytest.param(
        assistant(use({1: 2, None: 3, ("t",): 4, b"b": 5})), id="keys-that-are-no-strings"
    ),
    pytest.param(assistant(use({"when": {1, 2}, "what": object()})), id="values-that-are-no-json"),
    pytest.param(assistant(use(nested(100))), id="nested-100-levels"),
    pytest.param(assistant(use(10**300)), id="large-number"),
    pytest.param(user([{"text": "a\0b\0" * 1000}]), id="nul"),
    pytest.param(user([{"text": "\ud800 \udfff"}]), id="lone-surrogates"),
    pytest.param(user([{"text": "<|endoftext|><|im_start|>"}]), id="special-tokens"),
    pytest.param([*assistant(use()), *user([result(None)])], id="result-without-content"),
    pytest.param([*assistant(use()), *user([result("text")])], id="result-with-a-string"),
    pytest.param(assistant(use()), id="call-that-waits"),
    pytest.param([{"role": "user", "content": ({"text": "x"},)}], id="content-tuple"),
]


@pytest.mark.parametrize("messages", ACCEPTED)
def test_odd_messages_are_counted_and_left_as_they_are(messages):
    before = Snapshot(messages)
    one = engine()
    odd, tokens = messages[0], one.status(messages).tokens
    report = one.compact(list(messages), hard=True)
    # A list that begins with the model gets a message of the user, and an empty message goes.
    assert report.tokens_before == tokens > 0 or report.repairs
    before.assert_nothing_changed() if "object" not in repr(messages) else None
    assert any(message is odd for message in one.view(messages))


ODD_TEXTS = [
    pytest.param("a\0b\n" * 9_000, id="nul"),
    pytest.param("\ud800 word\n" * 9_000, id="lone-surrogates"),
    pytest.param("<|endoftext|>" * 4_000, id="special-tokens"),
    pytest.param("中" * 40_000, id="one-chinese-line"),
    pytest.param("\r\n" * 30_000, id="only-line-ends"),
    pytest.param(" " * 200_000, id="only-spaces"),
    pytest.param("[ullage: " * 9_000, id="beginnings-of-marks"),
    pytest.param("😀" * 20_000, id="emoji"),
]


@pytest.mark.parametrize("text", ODD_TEXTS)
def test_odd_results_are_shortened_and_everything_stays_valid(text):
    messages = render(long_conversation(6), "bedrock")
    messages[2]["content"][0]["toolResult"]["content"] = [{"text": text}]
    messages[4]["content"][0]["toolResult"]["content"] = [
        {"json": {"rows": [text, b"\xff", float("nan"), {5: None}]}}
    ]
    before = Snapshot(messages)
    one = engine()
    report = one.compact(messages)
    assert report.tokens_after == count(messages) <= 5_000
    assert faults(messages) == []
    before.objects[4]["content"][0]["toolResult"]["content"][0]["json"]["rows"].pop(
        2
    )  # NaN equals nothing
    before._copies[4]["content"][0]["toolResult"]["content"][0]["json"]["rows"].pop(2)
    before.assert_values_unchanged()
    assert len(report.references) == len(one.store.list())


@pytest.mark.parametrize(
    ("stages", "tool"), [(["offload"], "read_file"), (["window", "digest"], "transcript")]
)
def test_bytes_in_a_json_result_are_stored_whole(stages, tool):
    messages = render(long_conversation(1), "bedrock")
    value = {"blob": b"\x00secret" * 9, "rows": [f"row {i}" for i in range(3_000)]}
    messages[2]["content"][0]["toolResult"]["content"] = [{"json": value}]
    messages += render(long_conversation(6, 10), "bedrock")[1:]
    for number, message in enumerate(messages[3:]):
        message["content"] = json.loads(
            json.dumps(message["content"]).replace("call-", f"later-{number // 2}-")
        )
    policy = ullage.Policy(window=6_000, reserve_output=1_000, stages=stages)
    one = ullage.ContextManager(policy, store=ullage.MemoryStore())
    one.compact(messages)
    stored = b"".join(one.store.get(r) for r in one.store.list() if r.startswith(tool))
    assert b"AHNlY3JldA" in stored, "the base64 of the bytes"


def test_a_result_of_20_megabytes_is_handled():
    text = "a line of a very long log\n" * 800_000
    messages = render(long_conversation(2), "bedrock")
    messages[2]["content"][0]["toolResult"]["content"] = [{"text": text}]
    one = engine()
    assert one.compact(messages).tokens_after <= 5_000
    assert text.encode() in [one.store.get(r) for r in one.store.list()]
    assert len(one.shrink("read", text)) < 10_000


class Broken:
    """A store that fails as it is told to."""

    def __init__(self, error: BaseException) -> None:
        self.error = error

    def put(self, content, *, reference, tool=None, **_):
        raise self.error

    def get(self, reference):
        raise self.error


class Renaming(ullage.MemoryStore):
    def put(self, content, *, reference, tool=None, **_):
        super().put(content, reference=reference, tool=tool)
        return "other-0123456789abcdef"


class Silent(ullage.MemoryStore):
    def put(self, content, *, reference, tool=None, **_):
        return None


class Later(ullage.MemoryStore):
    """Keeps one thing and then no more."""

    def put(self, content, *, reference, tool=None, **_):
        if len(self.list()) >= 1:
            raise OSError(28, "No space left on device")
        return super().put(content, reference=reference, tool=tool)


LONG = "\n".join(f"line {i}" for i in range(3_000))
STORES = [
    pytest.param(
        lambda _: Broken(OSError(28, "No space left on device")),
        "No space left",
        id="put-raises-oserror",
    ),
    pytest.param(
        lambda _: Broken(ullage.StoreError("gone fishing")),
        "gone fishing",
        id="put-raises-store-error",
    ),
    pytest.param(lambda _: Broken(KeyError("x")), "x", id="put-raises-anything"),
    pytest.param(
        lambda _: Renaming(), "other-0123456789abcdef", id="put-returns-another-reference"
    ),
    pytest.param(lambda _: Silent(), "None", id="put-returns-nothing"),
    pytest.param(lambda _: Later(), "No space left", id="put-fails-half-way"),
    pytest.param(
        lambda folder: ullage.FileStore(folder / "file" / "store"), "file", id="folder-under-a-file"
    ),
    pytest.param(lambda folder: ullage.FileStore(folder / "file"), "file", id="folder-is-a-file"),
    pytest.param(lambda folder: ullage.FileStore(folder / ("x" * 300)), "xxx", id="name-too-long"),
    pytest.param(
        lambda _: ullage.FileStore("/proc/nowhere"), "/proc/nowhere", id="folder-cannot-be-made"
    ),
]


@pytest.mark.parametrize(("make", "says"), STORES)
@pytest.mark.parametrize("verb", ["compact", "view", "shrink"])
def test_a_store_that_fails_leaves_the_conversation_as_it_was(tmp_path, make, says, verb):
    (tmp_path / "file").write_text("in the way")
    one = ullage.ContextManager(POLICY, store=make(tmp_path))
    messages = render(long_conversation(8), "bedrock")
    result = {"toolUseId": "a", "content": [{"text": f"{i} {LONG}"} for i in range(4)]}
    before, result_before = Snapshot(messages), copy.deepcopy(result)
    with pytest.raises(ullage.StoreError, match=says):
        one.shrink("read", result) if verb == "shrink" else getattr(one, verb)(messages)
    before.assert_nothing_changed()
    assert result == result_before


def test_a_shrink_that_could_not_be_stored_is_not_counted_as_done():
    one = ullage.ContextManager(POLICY, store=Broken(ullage.StoreError("gone")))
    with pytest.raises(ullage.StoreError):
        one.shrink("read", LONG)
    assert one.stats.shrinks == 0
    assert sum(one.stats.saved.values()) == 0


def test_an_interrupt_in_the_store_is_not_swallowed():
    one = ullage.ContextManager(POLICY, store=Broken(KeyboardInterrupt()))
    messages = render(long_conversation(8), "bedrock")
    before = Snapshot(messages)
    with pytest.raises(KeyboardInterrupt):
        one.compact(messages)
    before.assert_nothing_changed()


POLICIES = [
    pytest.param({"windw": 5}, "windw.*window", id="unknown-setting"),
    pytest.param({"window": "5"}, "window", id="window-text"),
    pytest.param({"window": 1.5}, "window", id="window-fraction"),
    pytest.param({"window": None}, "window", id="window-none"),
    pytest.param({"window": -1}, "window", id="window-negative"),
    pytest.param({"window": 0}, "window", id="window-zero"),
    pytest.param({"window": 2**70}, "window", id="window-beyond-64-bits"),
    pytest.param({"window": 100, "reserve_output": 100}, "reserve_output", id="reserve-takes-all"),
    pytest.param({"high": 0}, "high", id="high-zero"),
    pytest.param({"high": 1.01}, "high", id="high-above-one"),
    pytest.param({"high": float("nan")}, "high", id="high-nan"),
    pytest.param({"high": "0.5"}, "high", id="high-text"),
    pytest.param({"low": 0.9, "high": 0.8}, "low", id="low-above-high"),
    pytest.param({"low": -1}, "low", id="low-negative"),
    pytest.param({"keep_first": -1}, "keep_first", id="keep-first-negative"),
    pytest.param({"keep_recent": "all"}, "keep_recent", id="keep-recent-text"),
    pytest.param({"shrink_to": 0}, "shrink_to", id="shrink-to-zero"),
    pytest.param({"shrink_to": 9_000}, "shrink_to", id="shrink-to-above"),
    pytest.param({"offload_preview": 500}, "offload_preview", id="preview-above"),
    pytest.param({"compress_to": 0}, "compress_to", id="compress-to-zero"),
    pytest.param({"stages": []}, "stages", id="no-stages"),
    pytest.param({"stages": "offload"}, "stages", id="stages-text"),
    pytest.param({"stages": ["offload", "offload"]}, "stages", id="stage-twice"),
    pytest.param({"stages": ["prnue"]}, "stages.*prnue", id="stage-unknown"),
    pytest.param({"stages": [5]}, "stages", id="stage-number"),
]


@pytest.mark.parametrize(("settings", "says"), POLICIES)
def test_a_policy_that_makes_no_sense_is_refused_by_the_name_of_its_setting(settings, says):
    with pytest.raises(ullage.PolicyError, match=f"(?s){says}"):
        ullage.Policy(**settings)


def test_a_policy_comes_back_from_its_settings():
    policy = ullage.Policy(window=50_000, low=0.25, stages=("window", "offload"))
    assert ullage.Policy(**policy.to_dict()) == policy != ullage.Policy()
    assert eval(repr(policy), {"Policy": ullage.Policy}) == policy
    assert ullage.Policy.preset("default") == ullage.Policy()
    with pytest.raises(ullage.PolicyError, match=r"'x'.*default"):
        ullage.Policy.preset("x")
    with pytest.raises(AttributeError, match="windw"):
        policy.windw  # type: ignore[attr-defined]  # noqa: B018
    with pytest.raises(AttributeError):
        policy.window = 5


@pytest.mark.parametrize(
    "copied",
    [copy.copy, copy.deepcopy, lambda p: pickle.loads(pickle.dumps(p))],
    ids=["copy", "deepcopy", "pickle"],
)
def test_a_policy_can_be_copied_as_any_value(copied):
    policy = ullage.Policy(window=50_000)
    assert copied(policy) == policy


def test_a_users_own_string_keeps_its_lone_surrogates_when_a_note_joins_it():
    messages = render(long_conversation(20, 50), "anthropic")
    messages[0]["content"] = "the task \ud800"
    engine().compact(messages, 1_500)
    assert messages[0]["content"][0]["text"] == "the task \ud800"
