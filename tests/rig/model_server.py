"""A scripted model: an OpenAI-compatible server on loopback that answers by rules.

Standard library only, so that it runs anywhere: `python -m tests.rig.model_server RULES.json`.
"""

import json
import re
import sys
import threading
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from tests.rig.waiting import HUNG

ALWAYS = -1
MODEL = "scripted"


@dataclass
class Rule:
    """One answer: a text, tool calls, or both.

    `calls` are (tool, arguments). The rule holds for requests whose last message matches `when`
    (a regex, searched), has the `role`, and which offer the tool `needs`; it is used up after
    `times` answers. `delay` is seconds before the answer; `until` holds it back until it is set.
    """

    text: str = ""
    calls: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    when: str | None = None
    role: str | None = None
    needs: str | None = None
    times: int = 1
    delay: float = 0.0
    status: int = 200
    """The HTTP status; of another than 200 an error is the answer."""
    until: threading.Event | None = None
    thought: str = ""
    """What the model thought before its answer; only of one that is streamed."""

    def fits(self, request: "Request") -> bool:
        """Return whether the rule answers this request."""
        return (
            self.times != 0
            and (self.role is None or self.role == request.role)
            and (self.when is None or re.search(self.when, request.text, re.DOTALL) is not None)
            and (self.needs is None or self.needs in request.tools)
        )


@dataclass(frozen=True)
class Request:
    """What was asked: the last message's role and text, the tools on offer, everything.

    `options` are the fields beside messages and tools, `headers` those of HTTP in lower case.
    """

    role: str
    text: str
    tools: list[str]
    messages: list[dict[str, Any]]
    options: dict[str, Any] = field(default_factory=dict)
    headers: dict[str, str] = field(default_factory=dict)


class ModelServer:
    """The server, in threads of its own; used as a context manager.

    Rules are tried in order, the first that fits answers; without one the answer is "[no rule]".
    """

    def __init__(self, *rules: Rule) -> None:
        self._changed = threading.Condition()
        self._rules = list(rules)
        self.requests: list[Request] = []
        self._closing = threading.Event()
        self._server = _Server(("127.0.0.1", 0), _Handler)
        self._server.model = self
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)

    @property
    def url(self) -> str:
        """The base URL, up to `/v1`."""
        return f"http://127.0.0.1:{self._server.server_port}/v1"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._closing.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def script(self, *rules: Rule) -> None:
        """Replace the rules."""
        with self._changed:
            self._rules = list(rules)

    def wait_for(self, wanted: Callable[[Request], bool], *, within: float = HUNG) -> Request:
        """Wait for a request, past ones included, that is `wanted`."""

        def found() -> Request | None:
            return next((request for request in self.requests if wanted(request)), None)

        with self._changed:
            request = self._changed.wait_for(found, within)
        if request is None:
            asked = [(one.role, one.text[-200:]) for one in self.requests]
            raise AssertionError(f"no such request within {within:g} s; there were {asked}")
        return request

    def answer(self, body: dict[str, Any], headers: dict[str, str]) -> Rule:
        """Note a request; return the rule that answers it."""
        messages = body.get("messages") or [{}]
        request = Request(
            role=messages[-1].get("role", ""),
            text=_text(messages[-1]),
            tools=[tool["function"]["name"] for tool in body.get("tools") or []],
            messages=messages,
            options={name: one for name, one in body.items() if name not in ("messages", "tools")},
            headers=headers,
        )
        with self._changed:
            self.requests.append(request)
            rule = next((rule for rule in self._rules if rule.fits(request)), None)
            if rule is not None and rule.times != ALWAYS:
                rule.times -= 1
            self._changed.notify_all()
        if rule is None:
            return Rule(text="[no rule]")
        if rule.delay:
            self._closing.wait(rule.delay)
        while rule.until is not None and not self._closing.is_set():
            if rule.until.wait(0.1):
                break
        return rule


def _text(message: dict[str, Any]) -> str:
    content = message.get("content") or ""
    if isinstance(content, str):
        return content
    return "\n".join(part.get("text", "") for part in content if isinstance(part, dict))


def _call(index: int, tool: str, args: dict[str, Any]) -> dict[str, Any]:
    return {
        "index": index,
        "id": f"call_{uuid.uuid4().hex[:16]}",
        "type": "function",
        "function": {"name": tool, "arguments": json.dumps(args)},
    }


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    model: ModelServer

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that went away is no error of ours; anything else is printed."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    server: _Server

    def log_message(self, *args: Any) -> None:
        """Requests are kept by the model, not printed."""

    def do_GET(self) -> None:
        if self.path.endswith("/models"):
            self._json(200, {"object": "list", "data": [{"id": MODEL, "object": "model"}]})
        else:
            self._json(404, {"error": {"message": f"no {self.path} here"}})

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers.get("Content-Length", 0))) or b"{}")
        if not self.path.endswith("/chat/completions"):
            self._json(404, {"error": {"message": f"no {self.path} here"}})
            return
        headers = {name.lower(): value for name, value in self.headers.items()}
        rule = self.server.model.answer(body, headers)
        text, calls = rule.text, [_call(i, *call) for i, call in enumerate(rule.calls)]
        if rule.status != 200:
            self._json(rule.status, {"error": {"message": text, "code": "played"}})
            return
        if body.get("stream"):
            self.send_response(200)
            self.send_header("Content-Type", "text/event-stream")
            self.end_headers()
            for chunk in _chunks(text, calls, rule.thought):
                self.wfile.write(b"data: " + json.dumps(chunk).encode() + b"\n\n")
            self.wfile.write(b"data: [DONE]\n\n")
            return
        message: dict[str, Any] = {"role": "assistant", "content": text or None}
        if calls:
            message["tool_calls"] = calls
        choice = {"index": 0, "message": message, "finish_reason": _reason(calls)}
        self._json(200, {**_head("chat.completion"), "choices": [choice], "usage": _USAGE})

    def _json(self, status: int, body: dict[str, Any]) -> None:
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


_USAGE = {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120}


def _head(kind: str) -> dict[str, Any]:
    return {"id": f"chatcmpl-{uuid.uuid4().hex[:12]}", "object": kind, "created": 0, "model": MODEL}


def _reason(calls: list[dict[str, Any]]) -> str:
    return "tool_calls" if calls else "stop"


def _chunks(text: str, calls: list[dict[str, Any]], thought: str) -> Iterator[dict[str, Any]]:
    def chunk(delta: dict[str, Any], reason: str | None = None) -> dict[str, Any]:
        choice = {"index": 0, "delta": delta, "finish_reason": reason}
        return {**head, "choices": [choice]}

    head = _head("chat.completion.chunk")
    yield chunk({"role": "assistant", "content": ""})
    if thought:
        yield chunk({"reasoning_content": thought})
    for word in re.findall(r"\S+\s*", text):
        yield chunk({"content": word})
    for call in calls:
        yield chunk({"tool_calls": [call]})
    yield {**chunk({}, _reason(calls)), "usage": _USAGE}


def main() -> None:
    """Serve the rules of a JSON file (a list of `Rule` fields) until the process ends."""
    rules = json.loads(Path(sys.argv[1]).read_text()) if len(sys.argv) > 1 else []
    with ModelServer(*(Rule(**rule) for rule in rules)) as model:
        print(model.url, flush=True)
        threading.Event().wait()


if __name__ == "__main__":
    main()
