"""A language server that is played: a process that speaks the server's protocol over stdio.

`python -m tests.rig.language_server SCRIPT.json LOG.jsonl` carries out the turns of a script, one a
prompt, and writes down all that it is told. It is as strict as the real one: a list of tools with a
bad one is refused whole, and an answer of another shape than a tuple fails. Standard library only.

A turn is a list of steps:

| step | what it does |
|---|---|
| `{"say": TEXT}` | the agent writes something |
| `{"call": TOOL, "input": {…}}` | has its client run a tool; with `"confirms"` it asks first |
| `{"own": TOOL, "input": {…}}` | asks, and runs a tool of its own |
| `{"ask": METHOD, "params": …}` | asks its client something else |
| `{"raw": TEXT}` | writes this on its standard output |
| `{"wait": true}` | goes on once the turn is cancelled |
| `{"fail": TEXT}` | refuses the turn |
| `{"die": CODE}` | ends, with a last word on standard error |
| `{"hang": true}` | reads and answers nothing any more |
"""

import itertools
import json
import os
import queue
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO

OWN = ("list_dir", "read_file", "file_search", "grep_search", "validate_cves")
EDITING = ("create_file", "insert_edit_into_file", "replace_string_in_file", "apply_patch")
MODELS = [
    {"id": "small", "modelName": "Small", "scopes": ["agent-panel"]},
    {"id": "large", "modelName": "Large", "scopes": ["agent-panel"], "isChatDefault": True},
    {"id": "off", "scopes": ["agent-panel"], "modelPolicy": {"state": "disabled"}},
    {"id": "complete", "scopes": ["completion"]},
]
VERSION = "1.539.0"
LAST_WORDS = "played: out of memory"
ROOT = Path(__file__).parents[2]


def installed(folder: Path, *turns: list[dict[str, Any]], **more: Any) -> Path:
    """Write a program into a folder that plays these turns; return its path.

    Its log is `log.jsonl` beside it. `more` are fields of the script: `status`, `silent` (methods
    that it does not answer), `answers` (results by method), `tools` (of its own), `models`.
    """
    folder.mkdir(parents=True, exist_ok=True)
    script = folder / "script.json"
    script.write_text(json.dumps({"turns": turns, **more}))
    program = folder / "copilot-language-server"
    program.write_text(
        f"#!/bin/sh\nexport PYTHONPATH={ROOT}\n"
        f"exec {sys.executable} -P -m tests.rig.language_server {script} {folder}/log.jsonl\n"
    )
    program.chmod(0o755)
    return program


def told(program: Path, method: str | None = None) -> list[dict[str, Any]]:
    """Return the messages that the server got, or those of a method."""
    log = program.parent / "log.jsonl"
    text = log.read_text() if log.exists() else ""
    # The last line may not be written whole yet.
    messages = [json.loads(line) for line in text.split("\n")[:-1]]
    return [one for one in messages if method is None or one.get("method") == method]


def answers(program: Path) -> list[Any]:
    """Return the results that the server got to what it asked, in order."""
    return [one["result"] for one in told(program) if "result" in one]


class _Cancelled(Exception):  # noqa: N818 - an order, not a fault
    """The client has cancelled the turn."""


class PlayedServer:
    """The server at its two streams."""

    def __init__(self, script: dict[str, Any], log: Path, given: BinaryIO, out: BinaryIO) -> None:
        self._script = script
        self._turns = iter(script["turns"])
        self._log = log.open("a")
        self._given = given
        self._out = out
        self._writing = threading.Lock()
        self._ids = itertools.count(1)
        self._answers: dict[int, queue.SimpleQueue[dict[str, Any]]] = {}
        self._tools: dict[str, dict[str, Any]] = {}
        self._cancelled: dict[Any, threading.Event] = {}
        self._hangs = threading.Event()

    # Messages

    def serve(self) -> None:
        """Read messages until the input ends, or `exit` comes."""
        while (message := self._read()) is not None:
            self._log.write(f"{json.dumps(message)}\n")
            self._log.flush()
            if self._hangs.is_set():
                continue
            if message.get("method") == "exit":
                return
            self._take(message)

    def _read(self) -> dict[str, Any] | None:
        length = 0
        while line := self._given.readline().strip():
            name, _, value = line.partition(b":")
            if name.lower() == b"content-length":
                length = int(value)
        found: dict[str, Any] | None = json.loads(self._given.read(length)) if length else None
        return found

    def _write(self, **message: Any) -> None:
        data = json.dumps({"jsonrpc": "2.0", **message}).encode()
        with self._writing:
            self._out.write(b"Content-Length: %d\r\n\r\n" % len(data) + data)
            self._out.flush()

    def _take(self, message: dict[str, Any]) -> None:
        method: Any = message.get("method")
        params: Any = message.get("params")
        id_: Any = message.get("id")
        if method is None:
            if (waiting := self._answers.get(id_)) is not None:
                waiting.put(message)
        elif method == "window/workDoneProgress/cancel":
            self._cancelled.setdefault(params["token"], threading.Event()).set()
        elif id_ is not None and method not in self._script.get("silent", ()):
            if method in ("conversation/create", "conversation/turn"):
                threading.Thread(target=self._turn, args=(id_, params), daemon=True).start()
                return
            try:
                self._write(id=id_, result=self._answer(method, params))
            except ValueError as error:
                self._write(id=id_, error={"code": -32602, "message": str(error)})

    def _answer(self, method: str, params: Any) -> Any:
        if method in self._script.get("answers", {}):
            return self._script["answers"][method]
        match method:
            case "initialize":
                return {"capabilities": {}, "serverInfo": {"name": "played", "version": VERSION}}
            case "checkStatus":
                return self._script.get("status", {"status": "OK", "user": "octocat"})
            case "copilot/models":
                return self._script.get("models", MODELS)
            case "conversation/registerTools":
                for tool in params["tools"]:
                    _check(tool)
                self._tools |= {tool["name"]: tool for tool in params["tools"]}
                return self._listed()
            case "conversation/unregisterTools":
                for id_ in params["toolIds"]:
                    self._tools.pop(id_.removeprefix("copilot-editor."), None)
                return self._listed()
        return None

    def _listed(self) -> list[dict[str, str]]:
        own = self._script.get("tools", OWN)
        edits = EDITING if {"create_file", "insert_edit_into_file"} <= self._tools.keys() else ()
        clients = [{"name": name, "type": "client"} for name in self._tools]
        return [*({"name": name, "type": "shared"} for name in (*own, *edits)), *clients]

    def _ask(self, method: str, params: Any) -> dict[str, Any]:
        id_ = next(self._ids)
        answer = self._answers[id_] = queue.SimpleQueue()
        self._write(id=id_, method=method, params=params)
        return answer.get()

    # Turns

    def _turn(self, id_: Any, params: dict[str, Any]) -> None:
        token = params["workDoneToken"]
        cancelled = self._cancelled.setdefault(token, threading.Event())
        conversation = params.get("conversationId", "c-1")
        named = {"conversationId": conversation, "turnId": f"t-{id_}"}

        def progress(kind: str, **more: Any) -> None:
            self._write(
                method="$/progress", params={"token": token, "value": {"kind": kind, **more}}
            )

        end: dict[str, Any] = {}
        try:
            steps = next(self._turns, [{"say": "[no turn]"}])
            if steps and "fail" in steps[0]:
                self._write(id=id_, error={"code": 1000, "message": steps[0]["fail"]})
                return
            progress("begin", **named)
            for number, step in enumerate(steps):
                self._step(step, named | {"roundId": number + 1}, progress, cancelled)
                if cancelled.is_set():
                    raise _Cancelled
        except _Cancelled:
            end = {"cancellationReason": "CancelledByUser"}
        used = {"promptTokens": 100, "completionTokens": 20}
        progress("report", tokenUsage=used)
        progress("end", **end)
        self._write(id=id_, result=named)

    def _step(
        self,
        step: dict[str, Any],
        named: dict[str, Any],
        progress: Callable[..., None],
        cancelled: threading.Event,
    ) -> None:
        round_id = named["roundId"]
        match step:
            case {"say": text}:
                # As the real one: what is written comes in pieces.
                for part in (text[: len(text) // 2], text[len(text) // 2 :]):
                    rounds = [{"roundId": round_id, "reply": part, "toolCalls": []}]
                    progress("report", editAgentRounds=rounds)
            case {"call": tool} | {"own": tool}:
                self._call(tool, step, named, progress)
            case {"ask": method, "params": params}:
                self._ask(method, params)
            case {"raw": text}:
                with self._writing:
                    self._out.write(text.encode("latin-1"))
                    self._out.flush()
            case {"wait": True}:
                cancelled.wait()
            case {"hang": True}:
                self._hangs.set()
                threading.Event().wait()
            case {"die": code}:
                sys.stderr.write(f"some line\n{LAST_WORDS}\n")
                sys.stderr.flush()
                os._exit(code)

    def _call(
        self,
        tool: str,
        step: dict[str, Any],
        named: dict[str, Any],
        progress: Callable[..., None],
    ) -> None:
        given, call_id = step.get("input", {}), f"call-{next(self._ids)}"
        shown = {"id": call_id, "name": step.get("shown", tool), "input": given}

        def report(status: str, **more: Any) -> None:
            calls = [{**shown, "status": status, **more}]
            rounds = [{"roundId": named["roundId"], "reply": "", "toolCalls": calls}]
            progress("report", editAgentRounds=rounds)

        report("running")
        asked = {"name": tool, "input": given, "toolCallId": call_id, **named}
        if "own" in step or step.get("confirms"):
            # As the real one: with the tool's owner before its name.
            owner = "copilot" if "own" in step else "copilot-editor"
            about = {"title": f"Run {tool}?", "name": f"{owner}.{tool}"}
            told_ = self._ask("conversation/invokeClientToolConfirmation", asked | about)
            if told_.get("result") != [{"result": "accept"}, None]:
                report("cancelled")
                return
        if "own" in step:
            report("completed", result=[{"type": "text", "value": step.get("gives", "")}])
            return
        answered: Any = self._ask("conversation/invokeClientTool", asked).get("result")
        text = _text_of(answered)
        if text is None:
            report("error", error="the tool's result has another shape")
        elif answered[0].get("status") == "success":
            report("completed", result=[{"type": "text", "value": text}])
        else:
            report("error", error=text)


def _text_of(answered: Any) -> str | None:
    """Return what a call gave; None for each of the shapes that the real one cannot take."""
    if not (isinstance(answered, list) and len(answered) == 2 and isinstance(answered[0], dict)):
        return None
    content = answered[0].get("content")
    if not isinstance(content, list) or not all("value" in one for one in content):
        return None
    return "\n".join(str(one["value"]) for one in content)


def _check(tool: dict[str, Any]) -> None:
    """Raise `ValueError` for a tool that the real server refuses."""
    schema = tool.get("inputSchema")
    if schema is None:
        return
    if "required" not in schema:
        raise ValueError(f"/tools/{tool['name']}/inputSchema/required")
    for name, one in schema["properties"].items():
        if not all(isinstance(one.get(key), str) for key in ("type", "description")):
            raise ValueError(f"/tools/{tool['name']}/inputSchema/properties/{name}")
    if tool["name"] == "refused":
        raise ValueError("/tools/refused")


def main() -> None:
    """Play the script until the input ends."""
    script = json.loads(Path(sys.argv[1]).read_text())
    PlayedServer(script, Path(sys.argv[2]), sys.stdin.buffer, sys.stdout.buffer).serve()


if __name__ == "__main__":
    main()
