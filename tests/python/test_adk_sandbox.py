"""Code executors by what ADK's contract of them says, and functions."""

# mypy: disable-error-code="arg-type,misc,override"

import asyncio
import functools
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest
from google.adk.code_executors.base_code_executor import BaseCodeExecutor
from google.adk.code_executors.built_in_code_executor import BuiltInCodeExecutor
from google.adk.code_executors.code_execution_utils import CodeExecutionResult
from google.adk.code_executors.unsafe_local_code_executor import UnsafeLocalCodeExecutor

from ullage.adk import Sandbox, SandboxError

COUNT = "print(len(data))"
ROWS = b"[1, 2, 3]"


class NoContext:
    _invocation_context = None


def run(runs: Any, code: str = COUNT, *, seconds: float = 30.0, data: bytes = ROWS) -> str:
    return asyncio.run(Sandbox(runs, seconds=seconds).run(code, data, NoContext()))


class Answering(BaseCodeExecutor):
    """Answers what it is told to, as an executor somewhere else may."""

    answer: Any = None

    def execute_code(self, invocation_context, code_execution_input):
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


class VertexAiCodeExecutor(BaseCodeExecutor):
    """Puts the files of an input beside the code, as the one of that name does."""

    def execute_code(self, invocation_context, code_execution_input):
        with tempfile.TemporaryDirectory() as folder:
            for file in code_execution_input.input_files:
                (Path(folder) / file.name).write_bytes(file.content)
            ran = subprocess.run(
                [sys.executable, "-c", code_execution_input.code],
                cwd=folder,
                capture_output=True,
                text=True,
                check=False,
            )
        return CodeExecutionResult(stdout=ran.stdout, stderr=ran.stderr)


class MyVertexExecutor(VertexAiCodeExecutor):
    """Somebody's own."""


class MyLocalExecutor(UnsafeLocalCodeExecutor):
    """Somebody's own."""


@pytest.mark.parametrize(
    "executor",
    [
        UnsafeLocalCodeExecutor(timeout_seconds=30),
        MyLocalExecutor(timeout_seconds=30),
        VertexAiCodeExecutor(),
        MyVertexExecutor(),
    ],
)
def test_code_finds_its_data_in_any_executor(executor):
    assert run(executor).strip() == "3"
    many = str(list(range(100_000))).encode()
    assert run(executor, data=many).strip() == "100000"
    with pytest.raises(SandboxError, match="ZeroDivisionError"):
        run(executor, "print(1)\n1 / 0")


def test_a_function_runs_code_too():
    async def later(code: str, data: bytes) -> str:
        return f"{code} {data!r}"

    assert run(lambda code, data: f"{code} {data!r}", "x") == f"x {ROWS!r}"
    assert run(later, "x") == f"x {ROWS!r}"
    assert run(functools.partial(later), "x") == f"x {ROWS!r}"


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (CodeExecutionResult(stderr="no such module"), "no such module"),
        (CodeExecutionResult(stdout="1\nTraceback ...\nKeyError: x", exit_code=1), "KeyError: x"),
        (CodeExecutionResult(stdout="1", stderr="boom", exit_code=137), "boom"),
        (CodeExecutionResult(exit_code=137), "exit code 137"),
        (
            CodeExecutionResult("1", "Traceback (most recent call last):\nKeyError: x"),
            "KeyError: x",
        ),
        (CodeExecutionResult(stdout="  \n"), "printed nothing"),
        (RuntimeError("no cluster"), "RuntimeError: no cluster"),
        (TimeoutError(), "no answer within"),
        (None, "runs no code but the model's own"),
    ],
)
def test_what_goes_wrong_in_an_executor_is_said(answer, said):
    with pytest.raises(SandboxError, match=said):
        run(Answering(answer=answer))


def test_a_warning_beside_what_was_printed_is_no_failure():
    answer = CodeExecutionResult(stdout="3", stderr="DeprecationWarning: old")
    assert run(Answering(answer=answer)) == "3"
    assert run(Answering(answer=CodeExecutionResult("3", "old", exit_code=0))) == "3"


def test_the_executor_inside_the_model_runs_no_code_of_ours():
    with pytest.raises(SandboxError, match="BuiltInCodeExecutor runs no code"):
        run(BuiltInCodeExecutor())


def test_what_takes_too_long_is_left_behind():
    async def hang(code: str, data: bytes) -> str:
        await asyncio.sleep(3_600)
        return "never"

    with pytest.raises(SandboxError, match=r"within 0\.05 seconds"):
        run(hang, seconds=0.05)
