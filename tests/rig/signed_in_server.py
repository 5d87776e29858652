"""The real language server, signed in for a test and with a scripted model: `python -m
tests.rig.signed_in_server SERVER MODEL_URL`.

It stands between the client and the server. Before the client's first `checkStatus` it has the
server take anyone for signed in, and names the model; all else passes unchanged, but that the
client's settings have the address of the test's own server in place of GitHub's. Standard library
only.
"""

import json
import platform
import queue
import subprocess
import sys
import threading
from pathlib import Path
from typing import IO, Any

VERSION = "1.539.0"
PROVIDER, MODEL = "Played", "scripted"
ROOT = Path(__file__).parents[2]


def find_server() -> Path | None:
    """Return the server's binary that `npm ci` in tests/live installed, or None."""
    system = platform.system().lower()
    cpu = {"x86_64": "x64", "aarch64": "arm64"}.get(platform.machine(), platform.machine())
    package = f"copilot-language-server-{system}-{cpu}"
    modules = ROOT / "tests" / "live" / "node_modules"
    binary = modules / "@github" / package / "copilot-language-server"
    return binary if binary.exists() else None


def installed(folder: Path, server: Path, model_url: str) -> Path:
    """Write a program into a folder that is the signed in server; return its path."""
    folder.mkdir(parents=True, exist_ok=True)
    program = folder / "signed-in-server"
    program.write_text(
        f"#!/bin/sh\nexport PYTHONPATH={ROOT}\n"
        f"exec {sys.executable} -P -m tests.rig.signed_in_server {server} {model_url}\n"
    )
    program.chmod(0o755)
    return program


def read(stream: IO[bytes]) -> dict[str, Any] | None:
    """Return the next message; None at the end."""
    length = 0
    while line := stream.readline().strip():
        name, _, value = line.partition(b":")
        if name.lower() == b"content-length":
            length = int(value)
    found: dict[str, Any] | None = json.loads(stream.read(length)) if length else None
    return found


def write(stream: IO[bytes], message: dict[str, Any]) -> None:
    """Write a message whole."""
    data = json.dumps(message).encode()
    stream.write(b"Content-Length: %d\r\n\r\n" % len(data) + data)
    stream.flush()


class SignedInServer:
    """The server's process, and the two directions of its messages."""

    def __init__(self, server: str, model_url: str) -> None:
        self._model_url = model_url
        self._process = subprocess.Popen(
            [server, "--stdio"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._to_server, self._from_server = self._process.stdin, self._process.stdout
        self._answers: queue.SimpleQueue[dict[str, Any]] = queue.SimpleQueue()

    def serve(self) -> None:
        """Pass messages on until the client's end."""
        threading.Thread(target=self._pass_back, daemon=True).start()
        is_prepared = False
        while (message := read(sys.stdin.buffer)) is not None:
            if message.get("method") == "workspace/didChangeConfiguration":
                url = self._model_url.removesuffix("/v1")
                copilot = message["params"]["settings"]["github"]["copilot"]
                copilot["internal"] = {"capiUrl": url}
            elif message.get("method") == "checkStatus" and not is_prepared:
                is_prepared = True
                self._prepare()
            write(self._to_server, message)
        self._to_server.close()
        self._process.wait()

    def _pass_back(self) -> None:
        while (message := read(self._from_server)) is not None:
            if str(message.get("id")).startswith("rig-") and "method" not in message:
                self._answers.put(message)
            else:
                write(sys.stdout.buffer, message)

    def _prepare(self) -> None:
        model = {"providerName": PROVIDER, "modelId": MODEL}
        about = {"name": MODEL, "toolCalling": True, "vision": False}
        provider = {
            "providerName": PROVIDER,
            "apiKey": "none",
            "groupName": PROVIDER,
            "apiType": "chatCompletions",
        }
        kept = {
            **model,
            "isRegistered": True,
            "isCustomModel": True,
            "deploymentUrl": self._model_url,
            "modelCapabilities": about,
        }
        self._ask("testing/alwaysAuth", {})
        self._ask("copilot/byok/saveCustomProviderConfig", provider)
        self._ask("copilot/byok/saveModel", kept)

    def _ask(self, method: str, params: Any) -> None:
        request = {"jsonrpc": "2.0", "id": f"rig-{method}", "method": method, "params": params}
        write(self._to_server, request)
        answer = self._answers.get()
        if "error" in answer:
            sys.stderr.write(f"{method}: {answer['error']}\n")
            sys.exit(9)


if __name__ == "__main__":
    SignedInServer(*sys.argv[1:]).serve()
