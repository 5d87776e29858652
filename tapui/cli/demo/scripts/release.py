"""Release notes: a question, a form, a mode switch, a turn that fails, and an MCP server, which is
offered once it is allowed (where tapui can run MCP servers)."""

from importlib.util import find_spec

from tapui.cli.demo.script import (
    LATER,
    Enquire,
    Fail,
    Intend,
    Mode,
    OneOf,
    Pause,
    Replace,
    Say,
    Scene,
    Script,
    Use,
    run,
)

_FILE = "CHANGELOG.md"
_TEXT = "# Changes\n\n## 1.2\n\n- Streams can be paused.\n"
_OLD = "# Changes\n"
_NEW = "# Changes\n\n## 1.3\n\n- Approvals are answered by keyboard.\n- Pairing waits for events.\n"
_SERVER = """\
# An MCP server in a page: JSON-RPC, a message a line.
import json
import sys

WORDS = {"gateway": "it joins sessions and providers", "emitter": "it runs beside a session"}
LOOK_UP = {
    "name": "look_up",
    "description": "Say what a word of this project means",
    "inputSchema": {
        "type": "object",
        "properties": {"word": {"type": "string"}},
        "required": ["word"],
    },
}


def answer(method, params):
    if method == "initialize":
        server = {"name": "glossary", "version": "1"}
        version = params["protocolVersion"]
        return {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": server}
    if method == "tools/list":
        return {"tools": [LOOK_UP]}
    if method == "tools/call":
        text = WORDS.get(params["arguments"]["word"], "it is not in the glossary")
        return {"content": [{"type": "text", "text": text}]}
    return {}


for line in sys.stdin:
    message = json.loads(line)
    if "id" in message:
        result = answer(message["method"], message.get("params") or {})
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
"""
_SERVERS = '{"mcpServers": {"glossary": {"command": "python3", "args": ["glossary.py"]}}}\n'
_FORM = {
    "type": "object",
    "properties": {
        "version": {"type": "string", "title": "Version"},
        "prerelease": {"type": "boolean", "title": "Is it a pre-release?"},
    },
    "required": ["version"],
}

SCRIPT = Script(
    session="demo-release",
    label="Release notes (demo)",
    folder="release",
    begins=0.6,
    tokens=3_000,
    later_files={"glossary.py": _SERVER, ".mcp.json": _SERVERS} if find_spec("mcp") else {},
    turns=(
        Scene(
            ("Write the release notes.", "What has changed since the last tag?"),
            (
                Intend("Comparing the tags v1.2 and v1.3"),
                run("git log --oneline v1.2..v1.3", 0.8, "17 commits"),
                Use("view", {"path": _FILE}, 0.4, _TEXT),
                Intend("Reading the commits"),
                run("git show --stat v1.3~12..v1.3", 3.0, "31 files changed"),
                Say("Seventeen commits; six of them are for those who use it."),
                Pause(LATER - 4.0),
                Enquire(
                    "Who reads these notes?",
                    ("users", "operators", "both"),
                    then=(Say("I write for this audience: {answer}."),),
                    otherwise=(Say("No answer came, so I write for users."),),
                ),
                Replace(
                    _FILE,
                    _TEXT,
                    _OLD,
                    _NEW,
                    "Add the section of 1.3",
                    then=(Say("The section of 1.3 is in CHANGELOG.md."),),
                    otherwise=(
                        Say("I leave the file alone: “Approvals are answered by keyboard.”"),
                    ),
                ),
            ),
            rest=5.0,
        ),
        Scene(
            ("Go through the open issues, too.",),
            (
                Intend("Going through the list of issues"),
                Use("glob", {"pattern": "issues/*.md"}, 0.3, "12 files"),
                Mode(
                    "autopilot",
                    "to finish the list",
                    then=(run("make links", 3.0, "all links are good"),),
                    otherwise=(Say("Then I ask before each of the twelve."),),
                ),
                Use("view", {"path": "issues/007.md"}, 0.8, "18 lines"),
                OneOf(
                    (
                        (Say("Three of twelve issues belong into the notes."),),
                        (Fail("model", "the scripted model stops in the middle of this turn"),),
                    )
                ),
            ),
            rest=6.0,
        ),
        Scene(
            ("Make the release.",),
            (
                Mode("interactive", "the list is finished"),
                Enquire(
                    "How is the release to be called?",
                    schema=_FORM,
                    then=(Say("It is noted: {answer}."),),
                    otherwise=(Say("Without a version there is no release yet."),),
                ),
            ),
            rest=12.0,
        ),
    ),
)
