"""The place of Valis' files: a folder, or any backend, whatever it does."""

import asyncio
import json
from types import SimpleNamespace

import pytest

import ullage
from ullage.valis import (
    ContextConfig,
    ContextManagementMiddleware,
    FilesystemBackend,
    FolderBackend,
)
from ullage.valis.notes import SummaryNote, summary_note

from .valis_sessions import Kept, conversation, middleware, run


def over(backend, limit=5_000):
    return ContextManagementMiddleware(
        ContextConfig(model_context_limits={"small": limit}), backend
    )


class Memory:
    """A backend that only writes, and has to be awaited."""

    def __init__(self) -> None:
        self.files: dict[str, str] = {}

    async def write_file(self, path, content):
        await asyncio.sleep(0)
        self.files[path] = content


def test_any_backend_that_writes_files_will_do():
    backend = Memory()
    assert isinstance(backend, FilesystemBackend)
    made = over(backend)
    made.process_tool_result("word " * 30_000, "query", "1")
    run(made.manage_context(conversation(20), "small"))
    assert {path.split("/")[1] for path in backend.files} == {
        "tool_outputs",
        "tool_inputs",
        "conversation_history",
    }


@pytest.mark.parametrize(
    "name", ["../../etc/cron.d/x", "/etc/passwd", "a\0b", "..", "", "名前", "a" * 999]
)
def test_no_name_leads_out_of_the_folder(name, tmp_path):
    made = middleware(tmp_path)
    path, _ = made.offload_large_result("text", name, name)
    assert path.count("/") == 2
    assert made.filesystem.read_file(path) == "text"
    assert {file.name for file in tmp_path.iterdir()} == {"files"}


def test_without_a_backend_there_is_a_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    made = ContextManagementMiddleware()
    assert list(tmp_path.iterdir()) == []
    made.process_tool_result("<|endoftext|> " * 20_000, "query", "1")
    assert len(list((tmp_path / ".valis" / "tool_outputs").iterdir())) == 1


class WritesOnce(Kept):
    def write_file(self, path, content):
        if path in self.files:
            raise FileExistsError(path)
        super().write_file(path, content)


class SaysThatItExists(Kept):
    def write_file(self, path, content):
        if path in self.files:
            return {"error": f"{path} already exists"}
        return super().write_file(path, content)


class NumbersLines(Kept):
    def read_file(self, path):
        return f"1\t{self.files[path]}"


class ReadsOtherwise(Kept):
    def read_file(self, path, offset):
        return self.files[path][offset:]


class GivesAwaitables(Kept):
    def write_file(self, path, content):
        async def written():
            await asyncio.sleep(0)
            self.files[path] = content

        return written()


class OfOneLoop(Kept):
    """Such as a pool of connections: of use in the loop that it was made in alone."""

    loop: asyncio.AbstractEventLoop | None = None

    async def write_file(self, path, content):
        self.loop = self.loop or asyncio.get_running_loop()
        assert asyncio.get_running_loop() is self.loop
        self.files[path] = content

    async def read_file(self, path):
        assert asyncio.get_running_loop() is self.loop
        return self.files[path]


@pytest.mark.parametrize(
    "make",
    [
        Kept,
        WritesOnce,
        SaysThatItExists,
        NumbersLines,
        ReadsOtherwise,
        GivesAwaitables,
        OfOneLoop,
    ],
)
def test_histories_are_whole_over_any_backend(make):
    backend, full = make(), conversation(40)

    async def session():
        made = over(backend)
        left = await made.manage_context(full[:62], "small")
        await made.manage_context([*left, *full[62:]], "small")
        # Another process writes the same once more.
        await over(backend).manage_context(full[:62], "small")

    run(session())
    saved = [json.loads(text) for path, text in backend.files.items() if path.endswith("json")]
    assert sorted(map(len, saved)) == [62, 122]
    assert all(history == full[: len(history)] for history in saved)


@pytest.mark.parametrize(
    "answer",
    [
        OSError("quota"),
        False,
        {"error": "quota"},
        SimpleNamespace(error="quota"),
        SimpleNamespace(error=OSError()),
    ],
    ids=["raises", "false", "dict", "object", "exception"],
)
def test_a_backend_that_could_not_write_loses_nothing(answer):
    class Full:
        def write_file(self, path, content):
            if isinstance(answer, OSError):
                raise answer
            return answer

    messages = conversation(20)
    made = over(Full())
    with pytest.raises(ullage.StoreError, match="could not write"):
        run(made.manage_context(messages, "small"))
    with pytest.raises(ullage.StoreError):
        made.process_tool_result("word " * 30_000, "query", "1")
    assert messages == conversation(20)
    assert made.compaction_history == []


def test_plain_methods_wait_for_an_async_backend_also_inside_a_loop():
    backend = GivesAwaitables()

    async def agent():
        made = over(backend)
        made.process_tool_result("word " * 30_000, "query", "1")
        made.compact_messages(conversation(20), "small")

    run(agent())
    assert {path.split("/")[1] for path in backend.files} == {"tool_outputs", "tool_inputs"}


def test_a_folder_can_be_searched_whatever_else_is_in_it(tmp_path):
    backend = FolderBackend(tmp_path / "files")
    backend.write_file("/a.txt", "the word")
    (tmp_path / "secret").write_text("the word")
    (tmp_path / "files" / "link").symlink_to(tmp_path / "secret")
    (tmp_path / "files" / "picture").write_bytes(b"\xff\xfe word")
    assert backend.grep("the word") == ["/a.txt:1:the word"]
    assert backend.ls() == ["/a.txt", "/picture"]
    backend.write_file("/b", "x\r\ny\ud800")
    assert backend.read_file("/b") == "x\r\ny\ud800"
    with pytest.raises(ullage.StoreError, match="cannot be used"):
        backend.grep("(")
    for path in ("/", "", "."):
        with pytest.raises(ullage.StoreError, match="folder itself"):
            backend.write_file(path, "x")
    assert {file.name for file in tmp_path.iterdir()} == {"files", "secret"}


class FullAfter(Kept):
    """A disk that is full after so many files."""

    def __init__(self, count):
        super().__init__()
        self.count = count

    def write_file(self, path, content):
        if len(self.files) >= self.count:
            raise OSError(28, "No space left")
        super().write_file(path, content)


def test_a_disk_that_is_full_at_any_moment_changes_nothing():
    full = conversation(20)
    whole = Kept()
    expected = run(over(whole).manage_context(full, "small"))
    for count in range(len(whole.files)):
        backend = FullAfter(count)
        made = over(backend)
        with pytest.raises(ullage.StoreError, match="No space left"):
            run(made.manage_context(full, "small"))
        assert full == conversation(20)
        backend.count = len(whole.files)
        assert run(made.manage_context(full, "small")) == expected
        assert backend.files == whole.files


def test_a_search_of_the_folder_takes_no_longer_than_its_files(tmp_path):
    """Python's own expressions take half a minute for 28 letters, and twice as long for one more."""
    folder = FolderBackend(tmp_path)
    folder.write_file("/a.txt", f"{'a' * 5_000}!\r\nthe aim\n\u2028a\n")
    assert folder.grep("^(a+)+$") == []
    assert folder.grep("(a|a)+im$") == ["/a.txt:2:the aim"]
    assert folder.grep("a$") == ["/a.txt:3:\u2028a"]
    with pytest.raises(ullage.StoreError, match="look-around"):
        folder.grep("(?=a)")


@pytest.mark.parametrize("role", ["system", "user", "tool"])
def test_what_only_begins_like_a_summary_is_told_at_once(role):
    """An expression with two gaps looked at every pair of blank lines: 3 seconds for 20 KB."""
    for text in ("[CONVERSATION SUMMARY]\n" + "x\n\n" * 500_000, "\n" * 1_000_000):
        assert summary_note({"role": role, "content": text}) is None


def test_a_summary_is_read_back_as_it_was_written():
    path = "/conversation_history/conversation_000001_0123456789abcdef.json"
    for summary in ("", "a", "a\n\nb", "\n", "[END SUMMARY]", "a\n\n[END SUMMARY]\n"):
        note = SummaryNote(summary, path, 3)
        assert summary_note(note.message("system")) == note
    for broken in ("[CONVERSATION SUMMARY]\n\n[END SUMMARY]", "[CONVERSATION SUMMARY]", "", "a"):
        assert summary_note({"role": "system", "content": broken}) is None


def test_nothing_outside_of_the_folder_is_read_or_written(tmp_path):
    (tmp_path / "secret").write_text("the key", encoding="utf-8")
    folder = FolderBackend(tmp_path / "inside")
    folder.write_file("/a.txt", "a")
    (tmp_path / "inside" / "way-out").symlink_to(tmp_path)
    (tmp_path / "inside" / "way-to-it").symlink_to(tmp_path / "secret")
    assert folder.ls() == ["/a.txt"]
    assert folder.grep("key") == []
    for path in ("../secret", "/../secret", "way-to-it", "way-out/secret", "a\0b"):
        with pytest.raises(ullage.StoreError, match=r"is outside|null character"):
            folder.read_file(path)
        with pytest.raises(ullage.StoreError, match=r"is outside|null character"):
            folder.write_file(path, "x")
    assert (tmp_path / "secret").read_text(encoding="utf-8") == "the key"
