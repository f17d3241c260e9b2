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
    """Base of everything that ullage raises."""

class BudgetError(UllageError):
    """The conversation cannot be brought inside its budget.

    Attributes:
        budget: Tokens that may be used; 0 if there is no room for any message.
        floor: The smallest budget that fits.
        messages: Indices of the messages that take them, largest first.
    """

    budget: int
    floor: int
    messages: list[int]

class MessageError(UllageError):
    """A message, or the list of them, is not what its format asks for.

    Attributes:
        index: Index of the message, or None where it is about the whole list.
    """

    index: int | None

class MessagesChangedError(MessageError):
    """The messages are not those that a plan was made for."""

class PolicyError(UllageError):
    """A setting or an argument is unknown, out of range, or contradicts another.

    Attributes:
        problems: The path of each wrong setting, such as ``levels[2].recent``, and what is wrong
            with it. Empty where the message alone says it.
    """

    problems: tuple[tuple[str, str], ...]

class SummaryError(UllageError):
    """The policy requires a summary, and none was made."""

class StoreError(UllageError):
    """A store could not write, read or find."""

class ReferenceTakenError(StoreError):
    """A store has other content under a reference."""

def policy_error(problems: Sequence[tuple[str, str]]) -> PolicyError:
    """The error about these settings: the path and the problem of each."""

def count_tokens(text: str, encoding: str = "o200k_base") -> int:
    """Number of tokens in ``text``, exactly as tiktoken counts them.

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
    """Returns the rest (None for all), kind, gaps and token counts, see ``ullage.compress``."""

def sample_json(text: str) -> tuple[int, str] | None:
    """Returns the number of keys or elements of JSON, and the first of them as JSON."""

def detect_format(messages: Sequence[Any]) -> str:
    """The wire format of ``messages``. Reads as many as it takes to tell, mostly O(1).

    Returns:
        "bedrock", "anthropic", "openai", "openai-responses", "gemini" or "ai-sdk".

    Raises:
        MessageError: If it is not a list, if a message has another format than those before it, or
            if the list is the same in several formats, such as a list of plain strings. Everything
            else accepts such a list without the name of a format.
    """

def validate(
    messages: Sequence[Any], format: str | None = None
) -> list[tuple[str, int, int | None, str, str, str]]:
    """Rule, message, block, problem, remedy, provider's words, see ``ullage.validate``."""

def repair(
    messages: Sequence[Any], format: str | None = None, *, remove_open_calls: bool
) -> tuple[list[Any], list[tuple[str, int, str]]]:
    """The mended messages and what was done, see ``ullage.repair``."""

@final
class Conversation:
    """A list of messages, read once: calls, results, cut points, requests, pins and texts.

    Every place that it names is an index in the list. It holds the texts of the messages as they
    were; later changes to the list do not show. Making one costs O(messages), with no copy of any
    text but lone surrogates.

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
        """The words of each message, without reasoning, calls and results. O(length)."""
    @property
    def calls(self) -> list[ToolCall]:
        """Every tool call, oldest first."""
    @property
    def open_calls(self) -> list[ToolCall]:
        """The calls without a result, oldest first."""
    @property
    def results(self) -> list[ToolResult]:
        """Every tool result, oldest first. One that answers no call of the list has no ``call``."""
    @property
    def cut_points(self) -> list[int]:
        """The places to cut the list: at ``i``, messages from ``i`` on can be parted from the rest.

        A call is never parted from its result, nor from one that may still come, nor signed
        reasoning from its tool loop. The first is 0. The last is the number of messages, unless a
        call waits.
        """
    @property
    def requests(self) -> list[int]:
        """The messages in which the user says something. Those that hold results are not."""
    @property
    def pins(self) -> list[int]:
        """The messages that an engine never changes or removes, whatever the policy.

        These are pinned by a marker in the message, or are the newest compaction of a provider.
        """

@final
class ToolCall:
    """A tool call in a ``Conversation``."""

    @property
    def message(self) -> int:
        """Index of its message."""
    @property
    def number(self) -> int:
        """Index of the call among those of its message, from 0."""
    @property
    def id(self) -> str:
        """Its id; empty if it has none."""
    @property
    def tool(self) -> str:
        """Name of the tool."""
    @property
    def arguments(self) -> str:
        """The arguments as JSON, or whatever text the model wrote instead."""
    @property
    def result(self) -> ToolResult | None:
        """Its result; None if there is none.

        A result belongs to the newest open call with its id. A result without an id belongs to the
        oldest open call of its tool.
        """
    @property
    def waits(self) -> bool:
        """True if its result may still come.

        It has none, and only system messages and other results stand after it; or a person has to
        approve it.
        """

@final
class ToolResult:
    """A tool result in a ``Conversation``."""

    @property
    def message(self) -> int:
        """Index of its message."""
    @property
    def number(self) -> int:
        """Index of the result among those of its message, from 0."""
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
        """True if the call went well: "succeeded", "failed" or "unknown". See ``tool_outcome``.

        A flag of the format counts too: ``is_error``, ``status``, or the type of an output. The
        path that the call names is not read as a word about the outcome.
        """
    @property
    def failed(self) -> bool:
        """True if the result says that the call failed."""
    @property
    def call(self) -> ToolCall | None:
        """The call that it answers.

        None if no call has its id, or if another result answered that call before.
        """

def tool_outcome(result: Any) -> str:
    """True if a tool call went well, by what it returned: "succeeded", "failed" or "unknown".

    JSON is judged by its fields, such as ``error``, ``isError``, ``success``, ``status`` and
    ``exit_code``, also within an envelope. Text is judged by how it begins, and by lines near its
    beginning and its end with which a program reports a failure. A failure outweighs everything
    else. Without a sign of success the outcome is unknown.

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
    """A piece of stored content as text, see ``ullage.retrieve``."""

def nearest(wanted: str, known: list[str]) -> list[str]:
    """Up to three of the known names, those most like ``wanted`` first."""

def is_retrieved(text: str) -> bool:
    """True if the text is a piece of a stored output that a retrieval returned. O(1)."""

def removal_note(text: str) -> tuple[int, str] | None:
    """The number of messages that the first note in a string stands for, and what it says of them.

    Returns:
        None if no text in the string is such a note, or holds as much as the note says. O(length).
    """

def quoted_summary(text: str) -> str:
    """A model's summary for a message of its own: a line that looks like the engine's is quoted.

    Else a later compaction could take it for a note about removed messages. O(length).
    """

def references_in(value: Any) -> list[str]:
    """Every reference that stands in a string anywhere inside ``value``, sorted.

    Looks into dicts, lists, tuples and objects with fields. Some only look like a reference: the
    tail of a longer hash counts too.

    Raises:
        MessageError: If it is nested too deeply.
    """

def reference_of(tool: str, content: bytes, salt: int) -> str:
    """The reference of content that came from ``tool``, another one for each ``salt``."""

@final
class Payload:
    """A result of a tool, read once, see ``ullage.adk.LargePayloadHandler``.

    ``NaN`` and infinities become strings, since JSON does not have them. O(length); the GIL is
    released but for reading the value.

    Raises:
        MessageError: If it is nested too deeply, or cannot be read.
    """

    def __new__(cls, value: Any) -> Self: ...
    @property
    def json(self) -> str:
        """The whole as compact JSON."""
    @property
    def chars(self) -> int:
        """Characters of that."""
    @property
    def items(self) -> int:
        """Elements of the longest list in it, which may be in a text; keys are no items."""
    @property
    def kind(self) -> str:
        """The kind: "metrics", "logs", "traces", "time_series", "several" or "other"."""
    @property
    def text(self) -> str | None:
        """The text that nearly all of it is, where that is no JSON."""
    def stored(self) -> tuple[bytes, bool]:
        """Returns the content to store, a line for each row, and True if it is all of the value."""
    def survey(self, kind: str | None = None) -> str:
        """Surveys all rows, as JSON; as ``kind`` if at least half of them are of it.

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
    """Window, limit of the input and of the answer by the built-in table, see ``ModelCatalog``."""

def unknown_limits() -> tuple[int, int, int | None]:
    """The same for a model that the table does not know."""

def longest_beginning(model: str, beginnings: list[str]) -> int | None:
    """Index of the longest of ``beginnings`` that begins the id, without a gateway's prefix."""

def window_and_reserve(
    limits: tuple[int, int, int | None], reserve_output: int | None = None
) -> tuple[int, int]:
    """Window and reserve of a policy for a model with these limits."""

class TokenCounter:
    """Counts tokens: exactly for an encoding of OpenAI, by ratio or estimate for other families.

    Args:
        encoding: "o200k_base" or "cl100k_base".

    Raises:
        PolicyError: If there is no such encoding.
    """

    def __new__(cls, encoding: str = "o200k_base") -> Self: ...
    @staticmethod
    def for_model(model: str) -> TokenCounter:
        """The counter of a model's family, by its id.

        Exact for OpenAI's models; a ratio to ``o200k_base`` for Kimi, Llama 3, Qwen, DeepSeek, GLM,
        MiniMax, Mistral and Gemma; an estimate for all others.
        """
    @staticmethod
    def with_ratio(ratio: float | str) -> TokenCounter:
        """Counts so many characters for a token, whatever the text.

        Args:
            ratio: Characters a token, from 0.1 to 1,000, or a name in ``RATIOS``.

        Raises:
            PolicyError: If the ratio is out of range, or there is none of that name.
        """
    @staticmethod
    def preset(name: str, model: str | None = None) -> TokenCounter:
        """The counter of a preset, for those who come from the system that it is named after.

        "cyber-autoagent" is the formula of Cyber-AutoAgent over messages of Bedrock's format: 8,000
        for the system prompt, 3,000 for the tools, 50 for each message, and the characters over
        3.7; over 4.0 for GPT-4 and 5, 3.8 for Kimi, 4.2 for Gemini. ``count_messages`` gives
        exactly that, whatever was observed and whatever ``system`` and ``tools`` it is given, which
        the constants stand for; ``count`` rounds up the ratio alone, and an engine plans by it.
        Next to what Claude takes it is 33 % low: :meth:`for_model` is better.

        Args:
            name: "cyber-autoagent".
            model: Id of the model; the ratio is 3.7 without it.

        Raises:
            PolicyError: If there is no counter of that preset.
        """
    RATIOS: ClassVar[dict[str, float]]
    @property
    def name(self) -> str:
        """The encoding, or the family."""
    @property
    def scale(self) -> float:
        """The scale learned from reports: tokens of the provider for each token of this counter."""
    def count(self, text: str) -> int:
        """Number of tokens in ``text``. O(length); releases the GIL on long texts."""
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
        """Learns from what a provider reported for the prompt of a request.

        From one request of a conversation to the next only the messages grow, so the growth of the
        reports over that of the counts is the scale, and what is then left of a report stands
        beside the messages: the system prompt, the tools, what a provider adds unseen. Both are
        medians, over 200 requests and over the last five, so a wild report moves them little; what
        stands beside the messages is believed from the third report of a conversation on. A
        conversation is recognized by how its first message begins: its role, and the first 256
        bytes of its first text.

        Costs what :meth:`count_messages` does, and a sort of 200 numbers.

        ``count`` and ``fits`` of an exact counter stay exact; whatever counts messages follows.

        Args:
            messages: The messages of the request, before its answer.
            reported_tokens: The whole prompt, cached parts included.
            format: The wire format; detected from the messages if not given.
            append_only: As for :meth:`count_messages`.

        Returns:
            True if the report could be the size of this request; one that could not is ignored.

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
        """Tokens of a request: its messages, and what stands beside them as far as it is known.

        That is the system prompt and the tools where they are given; and once the conversation was
        observed, what the provider counts beside its messages.

        With ``append_only`` the caller promises that the messages of this list stay as they are and
        new ones come at its end: only those are read then, with the last one before them. The rest
        is compared object by object, or, in a list of more than 10,000 messages that was counted
        before, 64 of them. O(messages) without, and O(length) for texts that are new.

        Remembers the counts of texts that it has seen. Media count by their size, of which the
        first bytes are read: an image by its dimensions and the rule of the model, a PDF by its
        pages, a text file by its words. What lies elsewhere (a URL, a file id) counts as a
        constant.

        Raises:
            MessageError: If the messages cannot be read.
        """

@final
class Policy:
    """The settings of an engine. Sizes are tokens unless a setting says otherwise.

    Args:
        window: Context window of the model.
        reserve_output: Room kept free for the answer; must be below ``window``. If ``window`` is
            given without it, at most a quarter of the window.
        high: Share of the budget at which compaction starts.
        low: Share of the budget to which it goes down. A budget below 10,000 tokens has the low
            mark of 10,000, but at most 60 % of its high mark. No low mark is above 85 % of the
            high mark.
        escalate: Share of the budget above which the next of ``levels`` is tried; ``high`` if None,
            never less than ``low``. If given, the messages that the first level leaves alone stay
            whole up to this share; otherwise a digest may keep only lines of them.
        cache_relax: Added to ``high`` while the provider answers from its prompt cache.
        ceiling: The largest ``high`` that this can give.
        pay_back_within: Requests within which a compaction that could wait must pay back the cost
            of caching the prompt again.
        keep_first: Messages at the start that are never removed, system messages aside. The
            first request never is.
        keep_recent: Messages at the end that are left alone as long as the rest suffices.
        keep_recent_share: The same as a share of the budget: the newest messages that fit into it,
            if those are more.
        max_messages: The largest number of messages, whatever their size; None for any number.
        low_messages: The share of it to which the number of messages then goes down.
        compressor: The method that shortens tool results as they arrive: "content", by content
            type, or the method of another system, see ``ullage.compress``.
        marks: The form of the mark around the rest of a stored output: "ullage", a line with the
            reference; "cyber-autoagent" and "valis" in the words of those systems, with the path of
            the file if the store is a ``FileStore``. All of them are recognized later.
        shrink_above: A tool result above this is shrunk when it arrives.
        shrink_to: The size to which it is shrunk.
        offload_above: An older tool result above this is moved to the store.
        offload_preview: The size of the preview that stays.
        compress_to: A tool result above this is shortened to this size if nothing else helped.
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
        summary_lines: The largest size of the lines that are added because the summary lost them.
        summary_timeout: Seconds that a summarizer has.
        summary_ahead: The share of the budget at which the next summary is begun in the background;
            at ``high`` or above, none is.
        stages: The stages in their order: "offload", "compress", "prune", "window", "digest",
            "summarize", "trim". "trim" runs after all levels, only if the budget cannot be met
            without it, and shortens messages that must stay.
        levels: The ladder of escalation: each level runs the stages again if the levels before it
            left too much. A level is a dict of ``stages`` (those that run; all if none is named),
            ``recent`` (the share of the recent messages that is left alone), ``recent_results``
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

        "default" is what ``ContextManager`` runs. The others are what adapters run if they are
        given no arguments: "cyber-autoagent" (``ullage.strands.MappingConversationManager``),
        "amplifier-simple" and "amplifier-smart" (``ullage.amplifier``), "supyagent", "sre-agent"
        (``ullage.adk.sre_agent``), "adk-session" (``ullage.adk.SessionCompactor``) and "valis".

        Raises:
            PolicyError: If there is none of that name.
        """
    @staticmethod
    def from_env(prefix: str = "ULLAGE_", environ: Mapping[str, str] | None = None) -> Policy:
        """The policy of environment variables.

        Each setting is read from its name in capitals behind the prefix (``ULLAGE_WINDOW``; lists
        as JSON), on top of the preset that ``ULLAGE_PRESET`` names. Behind any prefix those of
        Cyber-AutoAgent's document are known too (``CONTEXT_LIMIT``, ``PROMPT_TELEMETRY_THRESHOLD``,
        ``PROMPT_CACHE_RELAX``, ``TOOL_COMPRESS_TRUNCATE`` and ``TOOL_RESULT_ARTIFACT_THRESHOLD`` in
        characters, ``CONVERSATION_WINDOW``, ``CONVERSATION_PRESERVE_FIRST`` and ``_LAST``); with
        the prefix "CYBER_" its preset is the ground. "none" or "null" is None where a setting may
        be that. What no variable sets gives way where it contradicts one that does: ``low`` falls
        in proportion with ``high``, what is left of a text to the size above which it is shortened;
        so does ``TOOL_COMPRESS_TRUNCATE``.

        Args:
            prefix: What all names begin with.
            environ: The variables; ``os.environ`` if not given.

        Raises:
            PolicyError: If variables cannot be read, are out of range or contradict each other; it
                names all of them. A wrong preset is named alone.
        """
    @staticmethod
    def from_dict(settings: dict[str, Any]) -> Policy:
        """The policy of these settings.

        Raises:
            PolicyError: As for the constructor.
        """
    def replace(self, **changes: Any) -> Policy:
        """Returns a checked policy with some settings changed. This policy stays as it is.

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
        """The settings; ``Policy.from_dict(policy.to_dict())`` is the same policy."""

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
        """Number of messages that it was made for."""
    @property
    def relied_on(self) -> list[str]:
        """References in marks that it believes: what is cut behind them is not stored again."""
    @property
    def is_empty(self) -> bool:
        """True if there is nothing to do."""
    @property
    def is_pending(self) -> bool:
        """True if it waits for a summary. It can be applied without; then none stands there."""
    @property
    def edits(self) -> list[dict[str, Any]]:
        """The edits, in the order of the conversation: stage, action, why, tokens, reference."""
    def _repr_html_(self) -> str:
        """The explanation, for notebooks."""
    def explain(self) -> str:
        """The plan in words, a line for each edit."""
    def to_dict(self) -> dict[str, Any]:
        """The plan as a JSON-able dict, for programs, and under ``replay`` for ``from_dict``."""
    @staticmethod
    def from_dict(d: Mapping[str, Any]) -> Plan:
        """The plan that ``to_dict`` wrote, equal to it: through JSON and in another process too.

        Only ``replay`` is read. Its places are held against the messages when it is applied.

        Raises:
            PolicyError: If it is anything else; says which key is wrong.
            MessageError: If it is nested too deeply.
        """
    def report(self) -> dict[str, Any]:
        """The fields of a ``Report`` but for the time it took."""
    def artifacts(self, messages: Sequence[Any]) -> list[tuple[str, str, bytes]]:
        """The content that must be stored first: reference, tool, content.

        Raises:
            MessagesChangedError: If these are not the messages that the plan was made for.
            MessageError: If the plan comes from data and is about places that they do not have.
        """
    def apply(self, messages: Sequence[Any]) -> list[Any]:
        """The messages that the plan leaves, as a new list; untouched ones are the same objects.

        Raises:
            MessagesChangedError: If these are not the messages that the plan was made for.
            MessageError: If the plan comes from data and is about places that they do not have.
        """

@final
class Engine:
    """The engine itself; ``ullage.ContextManager`` is its face."""

    def __new__(
        cls,
        policy: Policy,
        counter: TokenCounter,
        *,
        store: Any,
        format: str | None,
        summarizer: Any = None,
    ) -> Self: ...
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
    ) -> bool: ...
    def record_shrink(self, saved: int) -> None: ...
    def fixed_tokens(self, system: Any, tools: Any) -> int: ...
    def record(self, plan: Plan) -> None: ...
    def stats(self) -> dict[str, Any]: ...

@final
class Reading:
    """A list of messages that was read once, for all that one compaction asks of it."""

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
    def observe(self, reported: int, *, cached: int | None) -> bool: ...
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
    """A history that was looked up in a ``ViewIndex``."""

    @property
    def view(self) -> Any: ...
    @property
    def is_last(self) -> bool: ...

@final
class ViewIndex:
    """Finds the view of a history among many."""

    def __new__(cls, limit: int) -> Self: ...
    def __len__(self) -> int: ...
    def find(self, engine: Engine, history: Sequence[Any]) -> ViewLookup: ...
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
    """The fields of a ``SummaryRequest`` about messages that all leave.

    Raises:
        PolicyError: If there is no such prompt or format.
        MessageError: If the messages cannot be read.
    """

@final
class PromptCache:
    """The cache of a provider over the requests of one session, see ``ullage.replay``."""

    def __new__(cls, counter: TokenCounter, *, format: str | None = None) -> Self: ...
    def request(self, messages: Sequence[Any]) -> None:
        """Sends a request with these messages: those that are as they were are read."""
    def used(self) -> dict[str, int]:
        """Requests, tokens read and tokens written so far."""
    def cost(self, *, prices: dict[str, float]) -> float:
        """Returns the cost, in tokens of plain input."""

def cache_factors(model: str) -> tuple[float, float] | None:
    """Factors for writing into the cache of a model's provider and for reading from it."""

def plan_cost(
    before: int, after: int, unchanged: int, *, prices: dict[str, float]
) -> dict[str, Any]:
    """Returns the cost of a change from ``before`` tokens to ``after``, see ``ullage.PlanCost``."""

def unchanged_tokens(plan: Plan, messages: Sequence[Any], counter: TokenCounter) -> int:
    """Tokens of the messages in front of the first that a plan changes."""

@final
class Needs:
    """Everything that the messages after a cut used of those before it, see ``ullage.replay``."""

    def __new__(cls, messages: Sequence[Any], cut: int, *, format: str | None) -> Self: ...
    def kept_in(self, context: Sequence[Any], stored: list[bytes]) -> dict[str, Any]:
        """Returns the share of it in the messages of a context, and in content stored beside it."""
    def kept_by(
        self, name: str, history: Sequence[Any], counter: TokenCounter, budget: int
    ) -> tuple[int, dict[str, Any]]:
        """The tokens that a baseline leaves of a history, and how much of what was needed."""
    def lost(self, context: Sequence[Any]) -> list[str]:
        """The anchors that are not in the messages of a context, in the order of their use."""

def session_cuts(
    messages: Sequence[Any],
    counter: TokenCounter,
    *,
    tokens: int,
    most: int,
    least_after: int,
    format: str | None,
) -> list[tuple[int, int]]:
    """The places to cut a session: indices of the model's messages, and the tokens before each."""

class NativeStore:
    """The common base of the native stores."""

    def put(self, content: bytes, *, reference: str, tool: str | None = None) -> str:
        """Keeps ``content`` under ``reference`` and returns it.

        Args:
            content: Any bytes.
            reference: A name, a hyphen and 16 hexadecimal digits, as a plan makes it.
            tool: The tool that the content came from.

        Raises:
            ReferenceTakenError: If other content has that reference.
            StoreError: If it cannot be written, or the reference is not one.
        """
    def get(self, reference: str) -> bytes:
        """The content of ``reference``, byte for byte.

        Raises:
            StoreError: If there is none, which names the nearest that are stored, or if it cannot
                be read.
        """
    def list(self) -> list[str]:
        """Every reference, sorted."""
    def delete(self, reference: str) -> bool:
        """Forgets ``reference``; whether there was anything to forget."""
    def search(self, pattern: str, *, context: int = 0, limit: int = ...) -> str:
        """Lines that match in everything that is stored, see ``ullage.search``.

        Raises:
            StoreError: If the pattern cannot be used, or the store not be listed.
        """

class MemoryStore(NativeStore):
    """A store that lives as long as the process. The same bytes are kept once."""

    def __new__(cls) -> Self: ...

class FileStore(NativeStore):
    """A store in a folder, one file for each reference; safe for many threads and processes.

    A file appears whole or not at all, under the name ``{tool}_{YYYYMMDD_HHMMSS}_{hash}.log`` (the
    time is UTC); pictures and other files keep their own suffix, such as ``.png``. The names are
    the index: there is nothing else on the disk that could be wrong after a crash. The same bytes
    from two tools are one file with two names. Folders are made at the first write; nothing is
    ever read or written through a symbolic link inside.

    Args:
        folder: The folder.
        session: Any text. The files of a session are in a folder of their own, which no other
            session shares, and only they are listed, searched and removed.
        keep: How many artifacts stay when :meth:`clean` removes the oldest; None keeps all.
        clean_above: How many there are before it does; None keeps all. At least ``keep``.
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
        """The folder of the files, or that of the session in it."""
    def path(self, reference: str) -> Path | None:
        """The file of ``reference``, or None if there is none."""
    def relative_path(self, reference: str) -> Path | None:
        """The same from the folder on."""
    @property
    def above_limit(self) -> bool:
        """True if there are more than ``clean_above`` artifacts, as far as is known."""
    def clean(self, live: Iterable[str], *, spare_own: bool = True) -> list[str]:
        """Removes the oldest artifacts but the newest ``keep``, if there are too many.

        A ``ContextManager`` calls it after a compaction. What can be reached from ``live`` stays,
        also through the text of stored artifacts: a transcript of removed messages names the
        outputs in it. What is stored again becomes new.

        Args:
            live: References that one conversation uses, or texts in which they stand.
            spare_own: True if what other conversations of this store object lead to stays too:
                the 256 that were cleaned last, and the 4,096 references that were put or given
                back last and stood in none. False if ``live`` is all that is in use.

        Returns:
            What was removed, sorted.

        Raises:
            StoreError: If the folder cannot be listed, or a file not be read or deleted.
        """

@final
class TranscriptFile:
    """The file of a ``Transcript``: its records as lines."""

    @staticmethod
    def open(
        path: str | PathLike[str], *, fsync: str, lock: bool
    ) -> tuple[TranscriptFile, list[tuple[str, bool]], list[str]]:
        """The file, its lines and whether each is whole, and what is said of those that are not."""
    def append(self, record: str) -> None:
        """Writes a record: JSON on one line."""
    def export(self, to: str | PathLike[str]) -> None:
        """Copies the file."""
    def close(self) -> None:
        """Flushes the file, and lets others open it."""
