"""A process that forks while its threads work, as gunicorn and data loaders do: the child goes on with all it has."""

import contextlib
import faulthandler
import os
import subprocess
import sys
import textwrap
import threading
import traceback

import pytest

import ullage
from ullage.valis import FolderBackend

from . import store_places
from .conversations import long_conversation, render
from .lengths import first

pytestmark = [
    pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork"),
    pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning"),
    pytest.mark.timeout(300),
]

# A child that waits for a lock which no thread of its own holds ends here, and not with the test.
MOST_SECONDS = 20
THREADS = 4
FORKS = 500
# Those over obstore are refused in the child.
SHARED = ["sqlite", "redis", "postgres"]


def child(work):
    """Runs `work` in a forked child, and returns its exit code, or minus the signal that ended it."""
    process = os.fork()
    if process == 0:
        # Shows every thread's stack where the child hangs.
        faulthandler.dump_traceback_later(MOST_SECONDS, exit=True)
        try:
            work()
        except BaseException:  # noqa: BLE001 - a child may not go on into the rest of the tests
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])


@pytest.mark.long
@pytest.mark.timeout(1_200)
def test_children_of_a_busy_process_use_its_engine_and_every_store(tmp_path):
    messages = render(long_conversation(6), "anthropic")
    policy = ullage.Policy(window=6_000, reserve_output=500)
    stores = {
        "memory": ullage.MemoryStore(),
        "files": ullage.FileStore(tmp_path / "files", keep=None),
        "of a session": ullage.FileStore(tmp_path / "sessions", session="one"),
        **dict(shared_stores(tmp_path)),
    }
    recorder = ullage.Recorder()
    engines = [
        ullage.ContextManager(
            policy, store=store, recorder=recorder, summarizer=lambda _: "An account."
        )
        for store in stores.values()
    ]
    views = [engine.open() for engine in engines]
    backend = FolderBackend(tmp_path / "valis")
    transcript = ullage.Transcript(tmp_path / "log.jsonl")
    tracker = ullage.UsageTracker()
    stopped = threading.Event()
    failures = []

    def use(name):
        """Everything that has a lock, once."""
        for engine, store in zip(engines, stores.values(), strict=True):
            report = engine.compact(list(messages))
            assert report.tokens_after <= report.budget
            store.put(name.encode(), reference=f"{name}-0123456789abcdef")
            assert store.get(f"{name}-0123456789abcdef") == name.encode()
            assert engine.stats.compactions > 0
        backend.write_file(f"/{name}.txt", name)
        tracker.record(name, "agent", "gpt-5", ullage.Usage(10, 1))

    def load(number):
        turn = 0
        try:
            while not stopped.is_set():
                turn += 1
                use(f"thread{number}x{turn}")
                transcript.append({"role": "user", "content": f"{number} {turn}"})
                views[number % len(views)].messages(messages[: 3 + 2 * (turn % 4)])
        except BaseException as error:
            failures.append(error)
            raise

    def in_child():
        use(f"child{os.getpid()}")
        engines[0].open().messages(messages)
        with pytest.raises(ullage.StoreError, match="before a fork"):
            transcript.append({"role": "user", "content": "of the child"})

    threads = [threading.Thread(target=load, args=(number,)) for number in range(THREADS)]
    try:
        for thread in threads:
            thread.start()
        assert [code for code in (child(in_child) for _ in range(FORKS)) if code] == []
    finally:
        stopped.set()
        for thread in threads:
            thread.join()
        transcript.close()
    assert failures == []
    # Nothing of the children is in the parent's transcript, and nothing of the parent was lost.
    with ullage.Transcript(tmp_path / "log.jsonl") as again:
        assert "of the child" not in str(again.messages())


def shared_stores(folder):
    """A store at every place that this machine has."""
    for name in SHARED:
        with contextlib.suppress(pytest.skip.Exception):
            yield name, store_places.EVERY[name](folder).open()


# Vocabularies, expressions and weights are made when they are first needed: here, as the process forks.
FIRST_USE = textwrap.dedent(
    """
    import os, signal, sys, threading, time, warnings
    warnings.simplefilter("ignore")
    import ullage
    from tests.python.conversations import long_conversation, render
    messages = render(long_conversation(4), "openai")
    policy = ullage.Policy(window=6_000, reserve_output=500)

    def use():
        counter = ullage.TokenCounter("o200k_base")
        ullage.ContextManager(policy, counter=counter).compact(list(messages))

    # Imports the modules of Python that are used inside functions: a fork during such an import is Python's own to mind.
    ullage.ContextManager(policy).compact(messages[:1])
    ullage.TokenCounter("o200k_base")
    threads = [threading.Thread(target=use) for _ in range(4)]
    for thread in threads:
        thread.start()
    for wait in range(8):
        time.sleep(float(sys.argv[1]))
        child = os.fork()
        if child == 0:
            signal.alarm(20)
            use()
            os._exit(0)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        assert code == 0, (wait, code)
    for thread in threads:
        thread.join()
    """
)


@pytest.mark.parametrize("wait", first(1, [0.0005, 0.001, 0.0001, 0.002]))
def test_a_fork_at_the_first_use_leaves_the_child_no_half_made_table(project, wait):
    done = subprocess.run(
        [sys.executable, "-c", FIRST_USE, str(wait)],
        cwd=project,
        capture_output=True,
        text=True,
        timeout=250,
        check=False,
    )
    assert done.returncode == 0, done.stderr


# A thread is in the middle of the import of the first engine as the process forks.
DURING_AN_IMPORT = textwrap.dedent(
    """
    import os, signal, sys, threading, time, warnings
    warnings.simplefilter("ignore")
    import ullage
    importing = threading.Event()

    class Slow:
        @staticmethod
        def find_spec(name, *_):
            if name == "ullage.manager":
                importing.set()
                time.sleep(0.2)

    sys.meta_path.insert(0, Slow)
    thread = threading.Thread(target=lambda: ullage.ContextManager)
    thread.start()
    importing.wait()
    child = os.fork()
    if child == 0:
        signal.alarm(20)
        ullage.ContextManager()
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    thread.join()
    """
)


def test_a_fork_during_an_import_leaves_the_child_no_half_made_module(project):
    done = subprocess.run(
        [sys.executable, "-c", DURING_AN_IMPORT],
        cwd=project,
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("name", SHARED)
def test_a_child_uses_a_store_that_threads_of_its_parent_use(name, tmp_path):
    store = store_places.EVERY[name](tmp_path).open()
    stopped = threading.Event()

    def use(who):
        reference = f"{who}-0123456789abcdef"
        store.put(who.encode(), reference=reference)
        assert store.get(reference) == who.encode()

    def load(number):
        turn = 0
        # Whoever writes to SQLite without a pause keeps all others out.
        while not stopped.wait(0.005):
            turn += 1
            use(f"thread{number}x{turn}")

    threads = [threading.Thread(target=load, args=(number,)) for number in range(THREADS)]
    try:
        for thread in threads:
            thread.start()
        codes = [child(lambda: use(f"child{os.getpid()}")) for _ in range(10)]
    finally:
        stopped.set()
        for thread in threads:
            thread.join()
    assert codes == [0] * 10


def test_a_child_of_a_process_that_used_obstore_is_refused_and_otherwise_it_works(tmp_path):
    pytest.importorskip("obstore")
    script = textwrap.dedent(
        """
        import os, signal, sys, ullage
        from ullage.stores import ObjectStore
        store = ObjectStore(f"file://{sys.argv[1]}")

        def in_child(work):
            child = os.fork()
            if child == 0:
                signal.alarm(20)
                work()
                os._exit(0)
            assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0

        def refused():
            try:
                store.get("a-0123456789abcdef")
            except ullage.StoreError as error:
                assert "fork before the first use" in str(error)
                os._exit(0)
            os._exit(1)

        in_child(lambda: store.put(b"x", reference="a-0123456789abcdef"))
        assert store.get("a-0123456789abcdef") == b"x"
        in_child(refused)
        """
    )
    done = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path)], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_the_first_fork_of_a_program_prints_nothing():
    script = "import os, ullage\nif os.fork() == 0: os._exit(0)\nos.wait()"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
