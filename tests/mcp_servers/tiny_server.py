"""A small MCP server over stdio, of the older protocol: its tools are in a file beside it.

`tools.json` is a list of tools; when it changes the client is told. Each tool answers with what it
was called with and how long the variables of its own process are that begin with `TINY_`; the tool
`ask` first asks the person for a name.
"""

import json
import os
import sys
import threading
from pathlib import Path
from typing import Any

TOOLS = Path(sys.argv[1] if len(sys.argv) > 1 else "tools.json")
_writing = threading.Lock()
_answers: dict[str, Any] = {}
_answered = threading.Condition()


def say(**message: Any) -> None:
    with _writing:
        print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)


def watch() -> None:
    """Tell of a changed list of tools."""
    seen = TOOLS.read_text()
    while True:
        threading.Event().wait(0.05)
        now = TOOLS.read_text()
        if now not in ("", seen):
            seen = now
            say(method="notifications/tools/list_changed")


def asked(name: str) -> Any:
    """Ask the person for a name; return what the client answered."""
    id_ = f"ask-{name}"
    schema = {"type": "object", "properties": {"who": {"type": "string"}}, "required": ["who"]}
    params = {"message": "Who are you?", "requestedSchema": schema}
    say(id=id_, method="elicitation/create", params=params)
    with _answered:
        _answered.wait_for(lambda: id_ in _answers)
        return _answers.pop(id_)


def call(id_: Any, params: dict[str, Any]) -> None:
    name, given = params["name"], params.get("arguments", {})
    said = {
        "tool": name,
        "arguments": given,
        "pid": os.getpid(),
        "variables": {key: len(one) for key, one in os.environ.items() if key.startswith("TINY_")},
        "secrets": sorted(key for key in os.environ if "SECRET" in key),
    }
    if name == "ask":
        said["answer"] = asked(str(id_))
    say(
        id=id_, result={"content": [{"type": "text", "text": json.dumps(said, ensure_ascii=False)}]}
    )


def main() -> None:
    threading.Thread(target=watch, daemon=True).start()
    for line in sys.stdin:
        message = json.loads(line)
        id_, method = message.get("id"), message.get("method")
        if method == "initialize":
            version = message["params"]["protocolVersion"]
            about = {"name": "tiny", "version": "1.2"}
            capabilities = {"tools": {"listChanged": True}}
            said = {"protocolVersion": version, "capabilities": capabilities, "serverInfo": about}
            say(id=id_, result=said)
        elif method == "tools/list":
            say(id=id_, result={"tools": json.loads(TOOLS.read_text())})
        elif method == "tools/call":
            threading.Thread(target=call, args=(id_, message["params"]), daemon=True).start()
        elif method is None and id_ is not None:
            with _answered:
                _answers[id_] = message.get("result", message.get("error"))
                _answered.notify_all()
        elif id_ is not None:
            say(id=id_, error={"code": -32601, "message": "no such method"})


if __name__ == "__main__":
    main()
