"""A model for ADK that is scripted, and as strict as Gemini's API; and runners around it."""

# mypy: disable-error-code="arg-type,misc,override"

import asyncio
import itertools
import json
from typing import Any

from google.adk.agents import LlmAgent
from google.adk.agents.run_config import RunConfig
from google.adk.apps import App
from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_response import LlmResponse
from google.adk.runners import Runner
from google.adk.sessions import InMemorySessionService
from google.genai import errors, types

# Characters of a token for this provider, about as many as for Gemini in logs full of digits.
CHARS_A_TOKEN = 2


def text(words: str, role: str = "model") -> types.Content:
    return types.Content(role=role, parts=[types.Part(text=words)])


def call(*names: str, **args: Any) -> types.Content:
    parts = [types.Part.from_function_call(name=name, args=args) for name in names]
    return types.Content(role="model", parts=parts)


def reply(asked: types.FunctionCall, **response: Any) -> types.Content:
    """The later answer of a user or a service to a call."""
    part = types.FunctionResponse(id=asked.id, name=asked.name, response=response)
    return types.Content(role="user", parts=[types.Part(function_response=part)])


def dumped(content: types.Content) -> str:
    plain = content.model_dump(mode="json", exclude_none=True)
    return json.dumps(plain, ensure_ascii=False)


def tokens_of(request: Any) -> int:
    """The provider's count: the contents, the system instruction and the tools."""
    return tokens_as_sent(request, [dumped(content) for content in request.contents])


def tokens_as_sent(request: Any, sent: list[str]) -> int:
    """The same, where the contents are text already."""
    size = sum(map(len, sent))
    size += len(str(request.config.system_instruction or ""))
    for tool in request.config.tools or []:
        size += len(json.dumps(tool.model_dump(mode="json", exclude_none=True)))
    return size // CHARS_A_TOKEN


def refuse(message: str) -> None:
    raise errors.ClientError(400, {"error": {"message": message, "status": "INVALID_ARGUMENT"}})


def is_empty(part: types.Part) -> bool:
    return all(value is None for _, value in part)


def check(contents: list[types.Content]) -> None:
    """Refuses what Gemini refuses."""
    if not contents or contents[0].role != "user" or contents[-1].role != "user":
        refuse("Please ensure that the first and the last content are of the user.")
    open_calls: list[tuple[Any, Any]] = []
    for content in contents:
        parts = content.parts or []
        if not parts or any(part.text == "" or is_empty(part) for part in parts):
            refuse("contents.parts must not be empty.")
        check_turn(content, open_calls)
    if open_calls:
        refuse("the number of function responses is not that of the function calls.")


def check_turn(content: types.Content, open_calls: list[tuple[Any, Any]]) -> None:
    """Refuses a turn that does not go with the calls before it, which are open."""
    parts = content.parts or []
    calls = [part.function_call for part in parts if part.function_call]
    answers = [part.function_response for part in parts if part.function_response]
    if calls and (content.role != "model" or open_calls):
        refuse("a function call turn comes right after a user turn or a function response.")
    if open_calls and not answers:
        refuse("the function call turn must be followed by its function responses.")
    for answer in answers:
        if (answer.id, answer.name) not in open_calls:
            refuse("a function response turn comes right after a function call turn.")
        open_calls.remove((answer.id, answer.name))
    open_calls += [(one.id, one.name) for one in calls]


class Gemini(BaseLlm):
    """Says what its script says, one content for each call, and keeps what it was sent.

    `script` is a list, or a function of the number of the call and the request.
    """

    model: str = "gemini-2.5-pro"
    script: Any = None
    window: int = 1_000_000
    cached: bool = True
    thoughts: int = 0
    sent: list[list[str]] = []  # noqa: RUF012 - pydantic copies it
    counts: list[int] = []  # noqa: RUF012
    refusals: int = 0

    async def generate_content_async(self, llm_request, stream=False):
        contents = llm_request.contents
        sent = [dumped(content) for content in contents]
        tokens = tokens_as_sent(llm_request, sent)
        try:
            check(contents)
            if tokens > self.window:
                refuse(
                    f"The input token count ({tokens}) exceeds the maximum number of tokens"
                    f" allowed ({self.window})."
                )
        except errors.ClientError:
            self.refusals += 1
            raise
        shared = 0
        if self.sent and self.cached:
            for a, b in zip(self.sent[-1], sent, strict=False):
                if a != b:
                    break
                shared += len(a)
        self.sent.append(sent)
        self.counts.append(tokens)
        number = len(self.sent) - 1
        said = self.script(number, llm_request) if callable(self.script) else self.script[number]
        usage = types.GenerateContentResponseUsageMetadata(
            prompt_token_count=tokens,
            candidates_token_count=len(dumped(said)) // CHARS_A_TOKEN,
            cached_content_token_count=shared // CHARS_A_TOKEN or None,
            thoughts_token_count=self.thoughts or None,
        )
        if stream:
            for part in said.parts:
                if part.text:
                    half = types.Part(text=part.text[: len(part.text) // 2])
                    piece = types.Content(role="model", parts=[half])
                    early = usage.model_copy(update={"candidates_token_count": 1})
                    yield LlmResponse(content=piece, partial=True, usage_metadata=early)
                    # The next piece takes its time on the way.
                    await asyncio.sleep(0.001)
        yield LlmResponse(content=said, usage_metadata=usage, model_version=self.model)

    @property
    def compactions(self) -> int:
        """The number of requests that did not begin with the one before."""
        pairs = itertools.pairwise(self.sent)
        return sum(after[: len(before)] != before for before, after in pairs)


def gemini(script: Any, **settings: Any) -> Gemini:
    return Gemini(script=script, sent=[], counts=[], **settings)


class Host:
    """An app with a runner, a session service and one session."""

    def __init__(self, agent: Any, plugins: Any = (), *, service: Any = None, **settings: Any):
        app = App(name="test", root_agent=agent, plugins=list(plugins), **settings.pop("app", {}))
        self.service = InMemorySessionService() if service is None else service
        self.runner = Runner(app=app, session_service=self.service, **settings)

    async def session(self, name: str = "s") -> Any:
        found = await self.service.get_session(app_name="test", user_id="u", session_id=name)
        if found is None:
            made = self.service.create_session(app_name="test", user_id="u", session_id=name)
            found = await made
        return found

    async def ask(self, words: Any, session: str = "s", **config: Any) -> list[Any]:
        await self.session(session)
        message = text(words, "user") if isinstance(words, str) else words
        run = RunConfig(**{"max_llm_calls": 5_000, **config})
        asked = self.runner.run_async(
            user_id="u", session_id=session, new_message=message, run_config=run
        )
        return [event async for event in asked]


def agent(model: Any, tools: Any = (), **settings: Any) -> LlmAgent:
    return LlmAgent(**{"name": "sre", "model": model, "tools": list(tools), **settings})


def ask(host: Host, words: Any, session: str = "s", **config: Any) -> list[Any]:
    return asyncio.run(host.ask(words, session, **config))


def last_text(events: list[Any]) -> str:
    return "".join(part.text or "" for part in events[-1].content.parts)
