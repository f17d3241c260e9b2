"""The native half of ullage."""

from collections.abc import Iterable, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any, ClassVar, Literal, TypeAlias, final

from typing_extensions import Self

__all__ = [
    "RETRIEVAL_LIMIT",
    "BudgetError",
    "Conversation",
    "Engine",
    "FileStore",
    "MemoryStore",
    "MessageError",
    "MessagesChangedError",
    "NativeStore",
    "Needs",
    "Payload",
    "Plan",
    "Policy",
    "PolicyError",
    "PromptCache",
    "Reading",
    "ReferenceTakenError",
    "Search",
    "StoreError",
    "SummaryError",
    "TokenCounter",
    "ToolCall",
    "ToolResult",
    "TranscriptFile",
    "UllageError",
    "View",
    "ViewIndex",
    "ViewLookup",
    "ViewRequest",
    "__version__",
    "cache_factors",
    "compress",
    "count_tokens",
    "detect_format",
    "is_retrieved",
    "known_limits",
    "longest_beginning",
    "nearest",
    "plan_cost",
    "policy_error",
    "quoted_summary",
    "reference_of",
    "references_in",
    "removal_note",
    "repair",
    "retrieve",
    "sample_json",
    "session_cuts",
    "share_compactions",
    "summary_request",
    "tool_outcome",
    "unchanged_tokens",
    "unknown_limits",
    "validate",
    "window_and_reserve",
]

RETRIEVAL_LIMIT: int
__version__: str

_Stage: TypeAlias = Literal["offload", "compress", "prune", "window", "digest", "summarize", "trim"]
_Marks: TypeAlias = Literal["ullage", "cyber-autoagent", "valis"]
_Summaries: TypeAlias = Literal["offered", "always", "required"]
_SummaryPrompt: TypeAlias = Literal["ullage", "cyber-autoagent", "supyagent", "valis"]
_SummaryFallback: TypeAlias = Literal["sections", "one-liners"]
_Compressor: TypeAlias = Literal[
    "content",
    "cyber-autoagent",
    "amplifier",
    "supyagent",
    "sre-agent",
    "sre-agent-payload",
    "valis",
]

class UllageError(Exception):
    """Base of all errors that ullage raises."""

class BudgetError(UllageError):
    """The conversation cannot be brought inside its budget.

    Attributes:
        budget: Tokens that may be used; 0 if there is no room for any message.
        floor: The smallest budget that fits.
        messages: Indices of the messages that take the room, largest first.
    """

    budget: int
    floor: int
    messages: list[int]

class MessageError(UllageError):
    """A message, or the list of messages, is not valid in its format.

    Attributes:
        index: Index of the message, or None if the error is about the whole list.
    """

    index: int | None

class MessagesChangedError(MessageError):
    """The messages are not those that a plan was made for."""

class PolicyError(UllageError):
    """A setting or an argument is unknown, out of range, or contradicts another.

    Attributes:
        problems: The path of each wrong setting, such as ``levels[2].recent``, and its problem.
            Empty if the error is not about settings.
    """

    problems: tuple[tuple[str, str], ...]

class SummaryError(UllageError):
    """The policy requires a summary, and none was made."""

class StoreError(UllageError):
    """A store could not write, read or find content."""

class ReferenceTakenError(StoreError):
    """A store has other content under a reference."""

def policy_error(problems: Sequence[tuple[str, str]]) -> PolicyError:
    """Returns the error about these settings: the path and the problem of each."""

def count_tokens(text: str, encoding: str = "o200k_base") -> int:
    """Returns the number of tokens in ``text``, exactly as tiktoken counts them.

    Text of special tokens, such as ``<|endoftext|>``, is ordinary text. O(length), also for a
    megabyte of one letter. Lone surrogates count as U+FFFD. Releases the GIL on long texts.

    Args:
        text: Any string.
        encoding: "o200k_base" or "cl100k_base".

    Raises:
        PolicyError: If there is no such encoding.
    """

def compress(
    text: str,
    tool: str,
    budget: int | None,
    counter: TokenCounter,
    compressor: str,
    *,
    lines: tuple[int, int] | None,
    pattern: str | None,
) -> tuple[str | None, str, list[tuple[tuple[int, int] | None, int, str, int]], int, int]:
    """Returns the kept text (None for all), kind, gaps and counts, see ``ullage.compress``."""

def sample_json(text: str) -> tuple[int, str] | None:
    """Returns the number of keys or elements of JSON, and the first of them as JSON."""

def detect_format(messages: Sequence[Any]) -> str:
    """Returns the wire format of ``messages``. Reads as many as needed, usually O(1).

    Returns:
        "bedrock", "anthropic", "openai", "openai-responses", "gemini" or "ai-sdk".

    Raises:
        MessageError: If it is not a list, if a message has another format than those before it, or
            if the list is valid in several formats, such as a list of plain strings. All other
            functions accept such a list without a format.
    """

def validate(
    messages: Sequence[Any], format: str | None = None
) -> list[tuple[str, int, int | None, str, str, str]]:
    """Returns rule, message, block, problem, remedy, provider's words, see ``ullage.validate``."""

def repair(
    messages: Sequence[Any], format: str | None = None, *, remove_open_calls: bool
) -> tuple[list[Any], list[tuple[str, int, str]]]:
    """Returns the repaired messages and the repairs, see ``ullage.repair``."""

@final
class Conversation:
    """A list of messages, read once: calls, results, cut points, requests, pins and texts.

    All places are indices in the list. Later changes to the list have no effect on it. Creating
    one costs O(messages). Only texts with lone surrogates are copied.

        >>> import ullage
        >>> conversation = ullage.Conversation([{"role": "user", "content": "Fix the test."}])
        >>> conversation.roles, conversation.requests, conversation.cut_points
        (['user'], [0], [0, 1])

    Args:
        messages: A list of messages in any of the six formats. It may break a provider's rules.
        format: The wire format; detected from the messages if not given.

    Raises:
        MessageError: If the messages cannot be read.
        PolicyError: If the format is unknown.
    """

    def __new__(cls, messages: Sequence[Any], format: str | None = None) -> Self: ...
    def __len__(self) -> int: ...
    @property
    def format(self) -> str:
        """The wire format."""
    @property
    def roles(self) -> list[str]:
        """The role of each message: "system", "user", "assistant" or "tool".

        A message that holds tool results is "tool" in every format.
        """
    @property
    def texts(self) -> list[str]:
        """The text of each message, without reasoning, calls and results. O(length)."""
    @property
    def calls(self) -> list[ToolCall]:
        """Every tool call, oldest first."""
    @property
    def open_calls(self) -> list[ToolCall]:
        """The calls without a result, oldest first."""
    @property
    def results(self) -> list[ToolResult]:
        """Every tool result, oldest first. A result without a call in the list has no ``call``."""
    @property
    def cut_points(self) -> list[int]:
        """The places where the list may be cut: before the messages with these indices.

        A cut never separates a call from its result, even if the result may still come, or signed
        reasoning from its tool loop. The first place is 0. The last is the number of messages,
        unless a call waits.
        """
    @property
    def requests(self) -> list[int]:
        """The messages in which the user says something. Messages with results do not count."""
    @property
    def pins(self) -> list[int]:
        """The messages that an engine never changes or removes, whatever the policy.

        A marker in the message pins it. The newest compaction of a provider is pinned too.
        """

@final
class ToolCall:
    """A tool call in a ``Conversation``."""

    @property
    def message(self) -> int:
        """Index of its message."""
    @property
    def number(self) -> int:
        """Index of the call among the calls of its message, from 0."""
    @property
    def id(self) -> str:
        """Its id; empty if it has none."""
    @property
    def tool(self) -> str:
        """Name of the tool."""
    @property
    def arguments(self) -> str:
        """The arguments as JSON, or the text that the model wrote instead."""
    @property
    def result(self) -> ToolResult | None:
        """Its result; None if there is none.

        A result belongs to the newest open call with its id. A result without an id belongs to the
        oldest open call of its tool.
        """
    @property
    def waits(self) -> bool:
        """True if its result may still come.

        The call has no result, and only system messages and other results come after it. Or a
        person must approve the call.
        """

@final
class ToolResult:
    """A tool result in a ``Conversation``."""

    @property
    def message(self) -> int:
        """Index of its message."""
    @property
    def number(self) -> int:
        """Index of the result among the results of its message, from 0."""
    @property
    def id(self) -> str:
        """The id of the call that it names; empty if it names none."""
    @property
    def tool(self) -> str:
        """Name of the tool, from its call or the result itself; empty if neither has it."""
    @property
    def text(self) -> str:
        """Its texts and JSON, joined by newlines; without pictures and files."""
    @property
    def outcome(self) -> str:
        """The outcome of the call: "succeeded", "failed" or "unknown". See ``tool_outcome``.

        A flag of the format counts too: ``is_error``, ``status``, or the type of an output. Words
        in the path that the call names do not count.
        """
    @property
    def failed(self) -> bool:
        """True if the result says that the call failed."""
    @property
    def call(self) -> ToolCall | None:
        """The call that it answers.

        None if no call has its id, or if an earlier result answered that call.
        """

def tool_outcome(result: Any) -> str:
    """Returns the outcome of a tool call by its result: "succeeded", "failed" or "unknown".

    JSON is judged by its fields, such as ``error``, ``isError``, ``success``, ``status`` and
    ``exit_code``, also within an envelope. Text is judged by its first words, and by failure
    reports near its beginning and its end. A failure outweighs everything else. Without a sign of
    success the outcome is unknown.

        >>> import ullage
        >>> ullage.tool_outcome("Error: no such file"), ullage.tool_outcome({"success": True})
        ('failed', 'succeeded')

    Args:
        result: A text, or any value that can be written as JSON.

    Raises:
        MessageError: If the value is nested too deeply, or cannot be read.
    """

def retrieve(
    reference: str,
    content: bytes,
    *,
    pattern: str | None,
    lines: tuple[int, int] | None,
    pointer: str | None,
    context: int,
    head: int | None,
    tail: int | None,
    limit: int,
    place: str | None,
) -> str:
    """Returns a piece of stored content as text, see ``ullage.retrieve``."""

def nearest(wanted: str, known: list[str]) -> list[str]:
    """Returns up to three of the known names, the most similar to ``wanted`` first."""

def is_retrieved(text: str) -> bool:
    """True if the text is a piece of a stored output that a retrieval returned. O(1)."""

def removal_note(text: str) -> tuple[int, str] | None:
    """Reads the first note about removed messages in a string. O(length).

    Returns:
        The number of removed messages, and the text about them. None if the string has no such
        note, or less text than the note says.
    """

def quoted_summary(text: str) -> str:
    """Returns a model's summary with each line quoted that looks like a line of the engine.

    A later compaction could otherwise read such a line as a note about removed messages.
    O(length).
    """

def references_in(value: Any) -> list[str]:
    """Returns every reference in any string inside ``value``, sorted.

    Looks into dicts, lists, tuples and objects with fields. Text that only looks like a reference
    counts too, such as the end of a longer hash.

    Raises:
        MessageError: If the value is nested too deeply.
    """

def reference_of(tool: str, content: bytes, salt: int) -> str:
    """Returns the reference of content from ``tool``, another one for each ``salt``."""

@final
class Payload:
    """A result of a tool, read once, see ``ullage.adk.LargePayloadHandler``.

    ``NaN`` and infinities become strings, because JSON does not have them. O(length). Only reading
    the value holds the GIL.

    Raises:
        MessageError: If the value is nested too deeply, or cannot be read.
    """

    def __new__(cls, value: Any) -> Self: ...
    @property
    def json(self) -> str:
        """The whole value as compact JSON."""
    @property
    def chars(self) -> int:
        """Number of characters in ``json``."""
    @property
    def items(self) -> int:
        """Number of elements in the longest list, which may be inside a text. Keys do not count."""
    @property
    def kind(self) -> str:
        """The kind: "metrics", "logs", "traces", "time_series", "several" or "other"."""
    @property
    def text(self) -> str | None:
        """The text that makes up nearly all of the value, if that text is not JSON."""
    def stored(self) -> tuple[bytes, bool]:
        """Returns the content to store, a line for each row, and True if it is all of the value."""
    def survey(self, kind: str | None = None) -> str:
        """Returns statistics over all rows, as JSON; as ``kind`` if at least half of them match.

        Raises:
            PolicyError: If there is no such kind.
        """
    def sample(self) -> str:
        """``total_count``, ``schema_hint`` and ``sample_items`` as JSON."""

@final
class Search:
    """A search through the artifacts of any store, see ``ullage.search``."""

    def __new__(cls, pattern: str, *, context: int, limit: int) -> Self: ...
    def look(self, reference: str, content: bytes) -> None:
        """Looks through one artifact."""
    def report(self) -> str:
        """Returns the hits. The search ends with it."""

def known_limits(model: str) -> tuple[int, int, int | None] | None:
    """Returns window, limit of input and of answer by the built-in table, see ``ModelCatalog``."""

def unknown_limits() -> tuple[int, int, int | None]:
    """Returns the same for a model that the table does not know."""

def longest_beginning(model: str, beginnings: list[str]) -> int | None:
    """Returns the index of the longest beginning of the id, without a gateway's prefix."""

def window_and_reserve(
    limits: tuple[int, int, int | None], reserve_output: int | None = None
) -> tuple[int, int]:
    """Returns the window and the reserve of a policy for a model with these limits."""

class TokenCounter:
    """Counts tokens: exactly for an encoding of OpenAI, by ratio or estimate for other families.

    Args:
        encoding: "o200k_base" or "cl100k_base".

    Raises:
        PolicyError: If there is no such encoding.
    """

    def __new__(cls, encoding: str = "o200k_base") -> Self: ...
    @staticmethod
    def for_model(model: str, *, learn_with: TokenCounter | None = None) -> TokenCounter:
        """Returns the counter of a model's family, by its id.

        Exact for OpenAI's models; a ratio to ``o200k_base`` for Kimi, Llama 3, Qwen, DeepSeek, GLM,
        MiniMax, Mistral and Gemma; an estimate for all others.

        Args:
            model: The id of the model.
            learn_with: A counter that shares what it learns from reports with the new one, if both
                are of one family.
        """
    @staticmethod
    def with_ratio(ratio: float | str) -> TokenCounter:
        """Returns a counter with a fixed number of characters for a token.

        Args:
            ratio: Characters a token, from 0.1 to 1,000, or a name in ``RATIOS``.

        Raises:
            PolicyError: If the ratio is out of range, or the name is unknown.
        """
    @staticmethod
    def preset(name: str, model: str | None = None) -> TokenCounter:
        """Returns the counter of a preset, which counts like the system of that name.

        "cyber-autoagent" is the formula of Cyber-AutoAgent for messages in Bedrock's format: 8,000
        for the system prompt, 3,000 for the tools, 50 for each message, and the characters divided
        by 3.7 (by 4.0 for GPT-4 and 5, 3.8 for Kimi, 4.2 for Gemini). ``count_messages`` returns
        exactly that. It ignores ``system``, ``tools`` and observed reports. ``count`` uses the
        ratio only, rounded up, and an engine plans with it. For Claude the formula is 33 % low, so
        :meth:`for_model` is better.

        Args:
            name: "cyber-autoagent".
            model: Id of the model; the ratio is 3.7 without it.

        Raises:
            PolicyError: If the preset has no counter.
        """
    RATIOS: ClassVar[dict[str, float]]
    @property
    def name(self) -> str:
        """The encoding, or the family."""
    @property
    def scale(self) -> float:
        """The scale learned from reports: tokens of the provider for each token of this counter."""
    def count(self, text: str) -> int:
        """Returns the number of tokens in ``text``. O(length); releases the GIL on long texts."""
    def fits(self, text: str, limit: int) -> bool:
        """True if ``text`` takes at most ``limit`` tokens. Stops once the answer is known."""
    def observe(
        self,
        messages: Sequence[Any],
        reported_tokens: int,
        format: str | None = None,
        *,
        append_only: bool = False,
    ) -> bool:
        """Learns from the prompt size that a provider reported for a request.

        From one request of a conversation to the next only the messages grow. So the growth of the
        reports divided by the growth of the counts is the scale. The rest of a report is the tokens
        beside the messages: the system prompt, the tools and the provider's own additions. The
        scale is the median of 200 requests, the rest that of the last five, so a single wrong
        report changes little. The rest is used from the third report of a conversation on. A
        conversation is recognized by the role of its first message, and by the first 256 bytes of
        its first text.

        Costs as much as :meth:`count_messages`, and a sort of 200 numbers.

        ``count`` and ``fits`` of an exact counter stay exact. Counts of messages are corrected.

        Args:
            messages: The messages of the request, before its answer.
            reported_tokens: The whole prompt, cached parts included.
            format: The wire format; detected from the messages if not given.
            append_only: As for :meth:`count_messages`.

        Returns:
            True if the report is a possible size of this request. Otherwise it is ignored.

        Raises:
            MessageError: If the messages cannot be read.
        """
    def count_messages(
        self,
        messages: Sequence[Any],
        format: str | None = None,
        *,
        system: Any = None,
        tools: Any = None,
        append_only: bool = False,
    ) -> int:
        """Returns the tokens of a request: its messages and the known tokens beside them.

        These are the system prompt and the tools, if given. For an observed conversation they are
        the tokens that the provider counts beside the messages.

        With ``append_only`` the caller promises that messages of this list never change and new
        ones come at its end. Only the new ones and the last one before them are read. The others
        are compared by identity; of a list of more than 10,000 counted messages, only 64 are.
        Without it the cost is O(messages), and O(length) for new texts.

        Counts of texts are cached. Media count by their size, and only their first bytes are read:
        an image by its dimensions and the rule of the model, a PDF by its pages, a text file by its
        words. Media elsewhere (a URL, a file id) count as a constant.

        Raises:
            MessageError: If the messages cannot be read.
        """

    def __copy__(self) -> TokenCounter: ...
    def __deepcopy__(self, memo: Any, /) -> TokenCounter: ...

@final
class Policy:
    """The settings of an engine. Sizes are tokens unless a setting says otherwise.

    Args:
        window: Context window of the model.
        reserve_output: Room kept free for the answer; must be below ``window``. If ``window`` is
            given without it, at most a quarter of the window.
        high: Share of the budget at which compaction starts.
        low: Share of the budget to which it goes down. A budget below 10,000 tokens has the low
            mark of a budget of 10,000, but at most 60 % of its high mark. No low mark is above
            85 % of the high mark.
        escalate: Share of the budget above which the next of ``levels`` is tried; ``high`` if None,
            never less than ``low``. If given, the messages that the first level leaves alone stay
            whole up to this share; otherwise a digest may keep only lines of them.
        cache_relax: Added to ``high`` while the provider answers from its prompt cache.
        ceiling: The largest value of ``high`` with ``cache_relax``.
        pay_back_within: Requests within which a compaction that could wait must pay back the cost
            of caching the prompt again.
        keep_first: Messages at the start that are never removed, beside system messages. The
            first request is never removed.
        keep_recent: Messages at the end that do not change as long as shortening others is enough.
        keep_recent_share: The same as a share of the budget: the newest messages that fit into it,
            if those are more.
        max_messages: The largest number of messages, whatever their size; None for any number.
        low_messages: The share of ``max_messages`` to which the number of messages then goes down.
        compressor: The method that shortens tool results as they arrive: "content", by content
            type, or the method of another system, see ``ullage.compress``.
        marks: The form of the mark around the rest of a stored output: "ullage", a line with the
            reference; "cyber-autoagent" and "valis" in the words of those systems, with the path of
            the file if the store is a ``FileStore``. All of them are recognized later.
        shrink_above: A tool result above this size is shortened when it arrives.
        shrink_to: The size to which it is shortened.
        offload_above: An older tool result above this size is moved to the store.
        offload_preview: The size of the preview that stays.
        compress_to: A tool result above this size is shortened to it if nothing else helped.
        summaries: The messages whose removal needs a summary: "offered", if there is a summarizer;
            "always", with an account written without a model if there is none; "required", with
            ``SummaryError`` if the summarizer has no answer.
        summary_prompt: The form of the summary: "ullage", "cyber-autoagent", "supyagent" (its five
            sections, at most 600 words) or "valis" (its six sections).
        summary_fallback: The text if no summarizer gives one: "sections" (requests, tools, files,
            statements, errors, open tasks) or "one-liners", a line for each call and result.
        summary_tokens: The largest size of a summary.
        summary_ratio: The same as a share of the messages that it replaces.
        summary_input: The largest size of the messages that a summarizer reads. The newest are
            whole; of older ones it reads the head.
        summary_lines: The largest size of the lines that are added because the summary lacks them.
        summary_timeout: Seconds that a summarizer has.
        summary_ahead: The share of the budget at which the next summary is begun in the background.
            With ``high`` or more, no summary is begun.
        stages: The stages in their order: "offload", "compress", "prune", "window", "digest",
            "summarize", "trim". "trim" runs after all levels, only if the budget cannot be met
            without it, and shortens messages that must stay.
        levels: The ladder of escalation: each level runs the stages again if the levels before
            left too many tokens. A level is a dict of ``stages`` (those that run; all if none is
            named), ``recent`` (the share of the recent messages that does not change),
            ``recent_results``
            (the share of them in which long results are), ``results`` (the share of the tool
            results, oldest first, that may be shortened), ``keep_results`` (the number of results
            at the end that may not), ``shorten_to`` ("compress_to" or "offload_preview") and
            ``superseded`` (the results that may be pruned: "recoverable", "newer" or "elsewhere").
            The defaults are those of the first level of the default ladder, which leaves all of the
            recent messages alone.
        time_limit: Seconds that a compaction may take, with its summary. After them the last level
            runs at once, with an account written without a model.
        repair: If True, messages that a provider would refuse are repaired, and the report says
            so. If False, they raise ``MessageError``. Calls that may still be answered are not
            broken.

    Raises:
        PolicyError: If settings are unknown, out of range or contradict each other. It names all
            of them, see ``PolicyError.problems``.
    """

    window: int
    reserve_output: int
    high: float
    low: float
    escalate: float | None
    cache_relax: float
    ceiling: float
    pay_back_within: int
    keep_first: int
    keep_recent: int
    keep_recent_share: float
    max_messages: int | None
    low_messages: float
    compressor: _Compressor
    marks: _Marks
    shrink_above: int
    shrink_to: int
    offload_above: int
    offload_preview: int
    compress_to: int
    summaries: _Summaries
    summary_prompt: _SummaryPrompt
    summary_fallback: _SummaryFallback
    summary_tokens: int
    summary_ratio: float
    summary_input: int
    summary_lines: int
    summary_timeout: float
    summary_ahead: float
    stages: list[_Stage]
    levels: list[dict[str, Any]]
    time_limit: float
    repair: bool

    def __new__(
        cls,
        *,
        window: int = 200_000,
        reserve_output: int = 8_000,
        high: float = 0.85,
        low: float = 0.25,
        escalate: float | None = None,
        cache_relax: float = 0.1,
        ceiling: float = 0.98,
        pay_back_within: int = 20,
        keep_first: int = 1,
        keep_recent: int = 6,
        keep_recent_share: float = 0.0,
        max_messages: int | None = None,
        low_messages: float = 0.9,
        compressor: _Compressor = "content",
        marks: _Marks = "ullage",
        shrink_above: int = 2_500,
        shrink_to: int = 1_000,
        offload_above: int = 400,
        offload_preview: int = 100,
        compress_to: int = 1_000,
        summaries: _Summaries = "offered",
        summary_prompt: _SummaryPrompt = "ullage",
        summary_fallback: _SummaryFallback = "sections",
        summary_tokens: int = 1_500,
        summary_ratio: float = 0.3,
        summary_input: int = 60_000,
        summary_lines: int = 500,
        summary_timeout: float = 60.0,
        summary_ahead: float = 1.0,
        stages: Sequence[_Stage] = (
            "offload",
            "compress",
            "prune",
            "window",
            "digest",
            "summarize",
            "trim",
        ),
        levels: Sequence[Mapping[str, Any]] = ...,
        time_limit: float = 120.0,
        repair: bool = True,
    ) -> Policy: ...
    @staticmethod
    def preset(name: str) -> Policy:
        """Returns a policy by name.

        ``ContextManager`` uses "default". Adapters without arguments use the others:
        "cyber-autoagent" (``ullage.strands.MappingConversationManager``),
        "amplifier-simple" and "amplifier-smart" (``ullage.amplifier``), "supyagent", "sre-agent"
        (``ullage.adk.sre_agent``), "adk-session" (``ullage.adk.SessionCompactor``) and "valis".

        Raises:
            PolicyError: If the name is unknown.
        """
    @staticmethod
    def from_env(prefix: str = "ULLAGE_", environ: Mapping[str, str] | None = None) -> Policy:
        """Returns the policy of environment variables.

        Each setting is read from its name in capitals after the prefix (``ULLAGE_WINDOW``; lists
        as JSON). The other settings come from the preset that ``ULLAGE_PRESET`` names. With any
        prefix, the names of Cyber-AutoAgent's document are known too (``CONTEXT_LIMIT``,
        ``PROMPT_TELEMETRY_THRESHOLD``,
        ``PROMPT_CACHE_RELAX``, ``TOOL_COMPRESS_TRUNCATE`` and ``TOOL_RESULT_ARTIFACT_THRESHOLD`` in
        characters, ``CONVERSATION_WINDOW``, ``CONVERSATION_PRESERVE_FIRST`` and ``_LAST``).
        With the prefix "CYBER_" its preset is the default. "none" or "null" is None if a setting
        may be None. A setting without a variable adapts to those that have one: ``low`` falls in
        proportion with ``high``, and the size of a shortened text is at most the size above which
        it is shortened. So does ``TOOL_COMPRESS_TRUNCATE``.

        Args:
            prefix: The beginning of all names.
            environ: The variables; ``os.environ`` if not given.

        Raises:
            PolicyError: If variables cannot be read, are out of range or contradict each other. It
                names all of them. If the preset is wrong, it names only the preset.
        """
    @staticmethod
    def from_dict(settings: dict[str, Any]) -> Policy:
        """Returns the policy with these settings.

        Raises:
            PolicyError: As for the constructor.
        """
    def replace(self, **changes: Any) -> Policy:
        """Returns a checked policy with some settings changed. This policy stays unchanged.

        A new value or list replaces the old one. ``window`` without ``reserve_output`` limits the
        reserve to a quarter of the window. ``levels`` can also be a dict that maps the
        number of a level to changes of that level. It is merged into the ladder: the level's
        other settings and all other levels stay as they are.

        >>> import ullage
        >>> preset = ullage.Policy.preset("amplifier-smart")
        >>> policy = preset.replace(window=32_000, levels={0: {"keep_results": 3}})
        >>> policy.levels[1:] == preset.levels[1:]
        True

        Args:
            changes: Settings, as for the constructor.

        Raises:
            PolicyError: As for the constructor.
        """
    def to_dict(self) -> dict[str, Any]:
        """Returns the settings; ``Policy.from_dict(policy.to_dict())`` is the same policy."""

@final
class Plan:
    """The changes to make to a conversation, with reasons and sizes. It changes nothing itself."""

    @property
    def format(self) -> str:
        """The wire format of the conversation."""
    @property
    def budget(self) -> int:
        """The most tokens that the messages may take."""
    @property
    def tokens_before(self) -> int:
        """Tokens of the messages before."""
    @property
    def tokens_after(self) -> int:
        """Tokens of the messages after."""
    @property
    def messages(self) -> int:
        """Number of messages that the plan was made for."""
    @property
    def relied_on(self) -> list[str]:
        """References in marks that it trusts: the text cut after them is not stored again."""
    @property
    def is_empty(self) -> bool:
        """True if there is nothing to do."""
    @property
    def is_pending(self) -> bool:
        """True if the plan waits for a summary. It can be applied without one."""
    @property
    def edits(self) -> list[dict[str, Any]]:
        """The edits, in the order of the conversation: stage, action, why, tokens, reference."""
    def _repr_html_(self) -> str:
        """The explanation, for notebooks."""
    def explain(self) -> str:
        """Returns the plan in words, a line for each edit."""
    def to_dict(self) -> dict[str, Any]:
        """Returns the plan as a JSON-able dict. ``from_dict`` reads its key ``replay``."""
    @staticmethod
    def from_dict(d: Mapping[str, Any]) -> Plan:
        """Returns an equal plan from a dict of ``to_dict``, also after JSON or in another process.

        Only ``replay`` is read. Its places are checked against the messages when it is applied.

        Raises:
            PolicyError: If the dict is not of ``to_dict``. The error names the wrong key.
            MessageError: If the dict is nested too deeply.
        """
    def report(self) -> dict[str, Any]:
        """Returns the fields of a ``Report`` except its time."""
    def artifacts(self, messages: Sequence[Any]) -> list[tuple[str, str, bytes]]:
        """Returns the content that must be stored first: reference, tool, content.

        Raises:
            MessagesChangedError: If these are not the messages that the plan was made for.
            MessageError: If the plan comes from data and is about places that they do not have.
        """
    def apply(self, messages: Sequence[Any]) -> list[Any]:
        """Returns the messages after the plan, as a new list. Unchanged ones are the same objects.

        Raises:
            MessagesChangedError: If these are not the messages that the plan was made for.
            MessageError: If the plan comes from data and is about places that they do not have.
        """

@final
class Engine:
    """The native engine. ``ullage.ContextManager`` wraps it."""

    def __new__(
        cls,
        policy: Policy,
        counter: TokenCounter,
        *,
        store: Any,
        format: str | None,
        summarizer: Any = None,
        prices: dict[str, float] | None = None,
    ) -> Self: ...
    def savings(self, plan: Plan) -> dict[str, int] | None: ...
    def postponed(self, plan: Plan) -> None: ...
    def read(
        self, messages: Sequence[Any], *, budget: int | None, fixed: int, pins: list[int]
    ) -> Reading: ...
    def status(
        self, messages: Sequence[Any], *, budget: int | None, fixed: int
    ) -> dict[str, Any]: ...
    def shrink(
        self, tool: str, result: Any, *, salt: int, distrusted: list[str]
    ) -> tuple[Any | None, list[tuple[str, bytes]], int, list[str]]: ...
    def idle(
        self, messages: Sequence[Any], *, budget: int | None, fixed: int
    ) -> dict[str, Any] | None: ...
    def range_request(
        self,
        messages: Sequence[Any],
        start: int,
        end: int,
        *,
        pins: list[int],
        previous: str,
        previous_lines: str,
    ) -> dict[str, Any]: ...
    def range_summary(
        self,
        messages: Sequence[Any],
        start: int,
        end: int,
        *,
        pins: list[int],
        previous: str,
        previous_lines: str,
        text: str | None,
        reason: str,
    ) -> dict[str, Any]: ...
    def observe(
        self, messages: Sequence[Any], reported: int, *, cached: int | None, append_only: bool
    ) -> tuple[bool, dict[str, int]]: ...
    def record_shrink(self, saved: int) -> None: ...
    def fixed_tokens(self, system: Any, tools: Any) -> int: ...
    def record(self, plan: Plan) -> None: ...
    def stats(self) -> dict[str, Any]: ...

@final
class Reading:
    """A list of messages that was read once, for all steps of one compaction."""

    @property
    def messages(self) -> list[Any]: ...
    @property
    def count(self) -> int: ...
    @property
    def is_repaired(self) -> bool: ...
    def plan(
        self,
        *,
        hard: bool,
        salt: int,
        distrusted: list[str],
        seconds: float,
        unasked: str | None,
    ) -> Plan: ...
    def request(self, plan: Plan) -> dict[str, Any] | None: ...
    def resume(self, plan: Plan, text: str | None, *, reason: str) -> Plan: ...
    def artifacts(self, plan: Plan) -> list[tuple[str, str, bytes]]: ...
    def apply(self, plan: Plan, messages: list[Any]) -> list[Any]: ...

@final
class View:
    """The part of a growing history that a model sees; ``ullage.View`` wraps it."""

    def __new__(
        cls,
        engine: Engine,
        state: dict[str, Any] | None,
        messages: list[Any],
        *,
        append_only: bool,
    ) -> Self: ...
    def next(
        self, history: Sequence[Any], *, budget: int | None, fixed: int
    ) -> list[Any] | None: ...
    def request(
        self,
        history: Sequence[Any],
        *,
        budget: int | None,
        fixed: int,
        pins: list[int],
        transient: list[int],
        hard: bool,
        is_sent: bool,
    ) -> ViewRequest: ...
    def observe(
        self, reported: int, *, cached: int | None
    ) -> tuple[bool, dict[str, int] | None]: ...
    @property
    def savings(self) -> dict[str, int]: ...
    @property
    def cache(self) -> str: ...
    def accepted(self) -> None: ...
    def refused(self, tokens: int | None) -> None: ...
    def fork(self) -> View: ...
    def requests(self, history: Sequence[Any]) -> list[int]: ...
    def release(self) -> None: ...
    ceiling: int | None
    @property
    def sent(self) -> int | None: ...
    def state(self) -> tuple[dict[str, Any], list[Any]]: ...

def share_compactions(one: int, other: int) -> bool:
    """True if requests with these budgets have the same compactions in a ``View``."""

@final
class ViewLookup:
    """The outcome of a search in a ``ViewIndex``."""

    @property
    def view(self) -> Any: ...
    @property
    def is_last(self) -> bool: ...

@final
class ViewIndex:
    """Finds the view of a history among many."""

    def __new__(cls, limit: int) -> Self: ...
    def __len__(self) -> int: ...
    def find(
        self, engine: Engine, history: Sequence[Any], known: ViewLookup | None = None
    ) -> ViewLookup: ...
    def note(self, lookup: ViewLookup, view: Any, *, tokens: int) -> list[Any]: ...

@final
class ViewRequest:
    """A request that a view makes of a history."""

    @property
    def messages(self) -> list[Any]: ...
    @property
    def repairs(self) -> list[str]: ...
    @property
    def tokens(self) -> int: ...
    @property
    def limit(self) -> int | None: ...
    @property
    def pins(self) -> list[int]: ...
    @property
    def reading(self) -> Reading | None: ...
    def places(self, messages: list[int]) -> list[int]: ...
    def apply(self, plan: Plan) -> list[Any]: ...
    def replace(self, messages: list[Any]) -> None: ...

def summary_request(
    messages: Sequence[Any],
    counter: TokenCounter,
    *,
    format: str,
    previous: str,
    prompt: str,
    max_tokens: int,
    input: int,
) -> dict[str, Any]:
    """Returns the fields of a ``SummaryRequest`` about all of these messages.

    Raises:
        PolicyError: If the prompt or the format is unknown.
        MessageError: If the messages cannot be read.
    """

@final
class PromptCache:
    """The cache of a provider over the requests of one session, see ``ullage.replay``."""

    def __new__(cls, counter: TokenCounter, *, format: str | None = None) -> Self: ...
    def request(self, messages: Sequence[Any]) -> None:
        """Counts a request with these messages: unchanged messages are read from the cache."""
    def used(self) -> dict[str, int]:
        """Returns the requests, tokens read and tokens written so far."""
    def cost(self, *, prices: dict[str, float]) -> float:
        """Returns the cost, in tokens of plain input."""

def cache_factors(model: str) -> tuple[float, float] | None:
    """Returns the factors of a provider for writing into its cache and for reading from it."""

def plan_cost(
    before: int, after: int, unchanged: int, *, prices: dict[str, float]
) -> dict[str, Any]:
    """Returns the cost of a change from ``before`` tokens to ``after``, see ``ullage.PlanCost``."""

def unchanged_tokens(plan: Plan, messages: Sequence[Any], counter: TokenCounter) -> int:
    """Returns the tokens of the messages before the first that a plan changes."""

@final
class Needs:
    """Everything before a cut that the messages after it used, see ``ullage.replay``."""

    def __new__(cls, messages: Sequence[Any], cut: int, *, format: str | None) -> Self: ...
    def kept_in(self, context: Sequence[Any], stored: list[bytes]) -> dict[str, Any]:
        """Returns the needed share in the messages of a context, and in stored content."""
    def kept_by(
        self, name: str, history: Sequence[Any], counter: TokenCounter, budget: int
    ) -> tuple[int, dict[str, Any]]:
        """Returns the tokens that a baseline leaves of a history, and the needed share in them."""
    def lost(self, context: Sequence[Any]) -> list[str]:
        """Returns the anchors that are not in the messages of a context, in order of use."""

def session_cuts(
    messages: Sequence[Any],
    counter: TokenCounter,
    *,
    tokens: int,
    most: int,
    least_after: int,
    format: str | None,
) -> list[tuple[int, int]]:
    """Returns where to cut a session: indices of the model's messages, and tokens before each."""

class NativeStore:
    """The common base of the native stores."""

    def put(self, content: bytes, *, reference: str, tool: str | None = None) -> str:
        """Keeps ``content`` under ``reference`` and returns it.

        Args:
            content: Any bytes.
            reference: A name, a hyphen and 16 hexadecimal digits, as in a plan.
            tool: The tool that returned the content.

        Raises:
            ReferenceTakenError: If other content has that reference.
            StoreError: If the content cannot be written, or the reference is not valid.
        """
    def get(self, reference: str) -> bytes:
        """Returns the content of ``reference``, byte for byte.

        Raises:
            StoreError: If there is no such content, or it cannot be read. The error names the
                nearest references.
        """
    def list(self) -> list[str]:
        """Returns every reference, sorted."""
    def delete(self, reference: str) -> bool:
        """Deletes the content of ``reference``. Returns True if there was any."""
    def search(self, pattern: str, *, context: int = 0, limit: int = ...) -> str:
        """Returns the matching lines of all stored content, see ``ullage.search``.

        Raises:
            StoreError: If the pattern is invalid, or the store cannot be listed.
        """

class MemoryStore(NativeStore):
    """A store that lasts as long as the process. Equal content is stored once."""

    def __new__(cls) -> Self: ...

class FileStore(NativeStore):
    """A store in a folder, one file for each reference; safe for many threads and processes.

    A file appears whole or not at all, under the name ``{tool}_{YYYYMMDD_HHMMSS}_{hash}.log`` (the
    time is UTC). Pictures and other files keep their own suffix, such as ``.png``. The file names
    are the only index, so a crash damages nothing. Equal content from two tools is one file with
    two names. Folders are created at the first write. Symbolic links inside are not followed.

    Args:
        folder: The folder.
        session: Any text. The files of a session are in a folder of their own, and only they are
            listed, searched and removed.
        keep: Number of artifacts that stay when :meth:`clean` removes the oldest; None keeps all.
        clean_above: Number of artifacts above which it does; None keeps all. At least ``keep``.
    """

    def __new__(
        cls,
        folder: str | PathLike[str],
        session: str | None = None,
        keep: int | None = 100,
        clean_above: int | None = 150,
    ) -> Self: ...
    @property
    def folder(self) -> Path:
        """The folder that was given, as an absolute path."""
    @property
    def session(self) -> str | None:
        """The session that was given."""
    @property
    def directory(self) -> Path:
        """The folder of the files: that of the session if one was given."""
    def path(self, reference: str) -> Path | None:
        """Returns the file of ``reference``, or None if there is none."""
    def relative_path(self, reference: str) -> Path | None:
        """Returns the same path, relative to the folder."""
    @property
    def above_limit(self) -> bool:
        """True if there are more than ``clean_above`` artifacts, as far as is known."""
    def clean(self, live: Iterable[str], *, spare_own: bool = True) -> list[str]:
        """Removes all artifacts except the newest ``keep``, if there are too many.

        A ``ContextManager`` calls it after a compaction. Artifacts that can be reached from
        ``live`` stay, also through stored artifacts: a transcript of removed messages names the
        outputs in it. An artifact that is stored again becomes new.

        Args:
            live: References that one conversation uses, or texts that contain them.
            spare_own: True if artifacts of other conversations of this store object stay too:
                the 256 conversations that were cleaned last, and the 4,096 references that were
                stored or read last and were in none. False if ``live`` has all references in use.

        Returns:
            The removed references, sorted.

        Raises:
            StoreError: If the folder cannot be listed, or a file cannot be read or deleted.
        """

@final
class TranscriptFile:
    """The file of a ``Transcript``: its records as lines."""

    @staticmethod
    def open(
        path: str | PathLike[str], *, fsync: str, lock: bool
    ) -> tuple[TranscriptFile, list[tuple[str, bool]], list[str]]:
        """Returns the file, its lines, True for each whole one, and a warning for each other."""
    def append(self, record: str) -> None:
        """Writes a record: JSON on one line."""
    def export(self, to: str | PathLike[str]) -> None:
        """Copies the file."""
    def close(self) -> None:
        """Flushes the file, and allows others to open it."""
