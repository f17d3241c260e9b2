"""A loop and a model for sessions of amplifier-core, found by entry points as real ones are."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from .amplifier_sessions import faults, tokens

STEPS = 40
BUDGET = 6_000


class Provider:
    """A model, as far as a context asks it."""

    def get_info(self):
        # Of the window, half of the answer and 1,000 tokens are kept free.
        return SimpleNamespace(
            defaults={"context_window": BUDGET + 1_500, "max_output_tokens": 1_000}
        )


class Loop:
    """An orchestrator as Amplifier's are: request, call, result, until there is an answer."""

    def __init__(self):
        self.requests: list[list[dict[str, Any]]] = []

    async def execute(self, prompt, context, providers, tools, hooks, **_):
        from amplifier_core.message_models import Message

        (provider,) = providers.values()
        await context.add_message({"role": "user", "content": prompt})
        for step in range(STEPS):
            request = await context.get_messages_for_request(provider=provider)
            # Amplifier's own models of a request take it.
            assert len([Message(**message) for message in request]) == len(request)
            # A string stays a string, also with a note about removed messages.
            assert all(isinstance(message["content"], str) for message in request)
            assert not faults(request)
            assert tokens(request) <= BUDGET
            self.requests.append(request)
            call = {"id": f"{prompt}-{step}", "tool": "read", "arguments": {"path": f"f{step}"}}
            await context.add_message({"role": "assistant", "content": "", "tool_calls": [call]})
            output = f"{prompt} {step}: a line of the output\n" * 60
            result = {"role": "tool", "name": "read", "tool_call_id": call["id"], "content": output}
            await context.add_message(result)
        await context.add_message({"role": "assistant", "content": f"Done with {prompt}"})
        return f"Done with {prompt}"


async def mount_loop(coordinator, config):
    await coordinator.mount("orchestrator", Loop())


async def mount_model(coordinator, config):
    await coordinator.mount("providers", Provider(), name="scripted")
