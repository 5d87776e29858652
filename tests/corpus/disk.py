"""Files as tapui leaves them on the disk, made by script: the same bytes on each machine.

What differs from run to run (paths, process ids, times, tokens) is written as a word in `<…>`, and
a home is `/home/me`.
"""

import re
import sqlite3
import sys
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec

from tapui.consents.consents import Proposal
from tapui.consents.emitters import EmitterConsents
from tapui.consents.file_goals import GoalConsents
from tapui.consents.mcp_servers import Allowable, ServerConsents
from tapui.core.emitters.plans import Schedule
from tapui.emitters.config.entries import EmitterEntry
from tapui.emitters.config.reading import read as read_emitters
from tapui.emitters.config.saving import remove_emitter, save_emitter, set_filter, set_injector
from tapui.emitters.shell.plans import goal_plans
from tapui.home.accounts import PortConsent
from tapui.home.paths import Home
from tapui.home.run_folder import RunFolder
from tapui.hosts.copilot.install.mcp_config import McpConfig, own_entry
from tapui.hosts.copilot.install.own_files import ExtensionFile, skill_files
from tapui.index.store import index_path
from tapui.index.update import bring_up_to_date
from tapui.mcp_servers.config.reading import add_server, read_folder, remove_server
from tapui.mcp_servers.messages import MappedTool
from tapui.mcp_servers.pins import ToolPins, pinned
from tapui.policies.proposals import ProposedRule
from tapui.secret import Secret
from tapui.settings.toml_file import add_rules, remember_theme
from tapui.wire.provider import FilterRule
from tests.corpus import conversation

DATA = Path(__file__).parent / "data"
HOME = "/home/me"
NOW = 1_767_225_600.0
"""2026-01-01: when everything was allowed."""
_VOLATILE = {".lock", "internal-token", "provider-token"}


def made(scratch: Path) -> dict[str, bytes]:
    """Return all files, by their paths in `data/`; they are made in an empty folder."""
    found: dict[str, bytes] = {}
    for maker in (_conversation, _consents, _emitters, _settings, _mcp, _run_folder, _installed):
        root = scratch / maker.__name__
        root.mkdir()
        found |= maker(root)
    return found


def collected(root: Path, place: str, change: Callable[[str], str] = str) -> dict[str, bytes]:
    """Return the files of a folder, with the folder's own name replaced."""
    return {
        f"{place}/{path.relative_to(root)}": change(
            path.read_bytes().decode().replace(str(root), HOME)
        ).encode()
        for path in sorted(root.rglob("*"))
        if path.is_file() and path.name not in _VOLATILE
    }


def laid_out(place: str, root: Path) -> None:
    """Put files of `data/` into a home again."""
    for path in sorted((DATA / place).rglob("*")):
        if path.is_file():
            target = root / path.relative_to(DATA / place)
            target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            target.write_bytes(path.read_bytes().decode().replace(HOME, str(root)).encode())
            target.chmod(0o600)


# A conversation: what was said, its records, their index


def _conversation(root: Path) -> dict[str, bytes]:
    one = conversation.played()
    conversation.record(one, root)
    said = "".join(f"{line}\n" for line in one.lines).encode()
    found = {"conversation.txt": said, **collected(root, "records")}
    assert bring_up_to_date(root, 60) == "current"
    return found | {"index.txt": dumped(root)}


def dumped(state: Path) -> bytes:
    """Return the form of an index, and its rows with the names of folders, files and sessions."""
    connection = sqlite3.connect(index_path(state))
    try:
        lines = list(_form(connection))
        for title, query in _QUERIES.items():
            rows = sorted(_row(row, str(state)) for row in connection.execute(query))
            lines += ["", f"-- {title}", *rows]
    finally:
        connection.close()
    return "\n".join([*lines, ""]).encode()


def _form(connection: sqlite3.Connection) -> Iterator[str]:
    for name in ("user_version", "application_id", "auto_vacuum"):
        (value,) = connection.execute(f"PRAGMA {name}").fetchone()
        yield f"PRAGMA {name} = {value}"
    query = "SELECT sql FROM sqlite_master WHERE sql NOT NULL ORDER BY type, name"
    for (sql,) in connection.execute(query):
        # What SQLite itself makes of a full-text table is its own.
        if not re.match(r"CREATE TABLE 'words_\d+_", sql):
            yield f"{sql};"


_OF_FILE = "JOIN files f ON f.id = x.file JOIN folders o ON o.id = f.folder"
_NAMED = "(SELECT name FROM names WHERE id = x.{0})"
_QUERIES = {
    "folders": "SELECT path, bytes, state, open FROM folders",
    "files": "SELECT path, name, offset, head, damaged FROM files JOIN folders o ON o.id = folder",
    "sessions": "SELECT name, label, cwd, at, seq, state, mode, ended, reason FROM sessions",
    "runs": "SELECT name, has_proof FROM runs",
    "names": "SELECT name FROM names",
    "shards": "SELECT id, bytes, rows, newest FROM shards",
    "rows": "SELECT x.id, o.path, f.name, x.offset, s.name, u.name, x.seq, kind, turn, call,"
    f" is_cut, title, text FROM rows x {_OF_FILE} JOIN runs u ON u.id = x.run"
    " LEFT JOIN sessions s ON s.id = x.session",
    "changes": "SELECT row, o.path, f.name, x.seq, x.turn, x.name, x.path, added, removed,"
    f" is_probable, is_whole, hunks FROM changes x {_OF_FILE}",
    "calls": f"SELECT x.id, f.name, x.offset, x.seq, turn, {_NAMED.format('tool')}, x.state,"
    f" duration, exit_code, is_failed, {_NAMED.format('summary')} FROM calls x {_OF_FILE}",
    "approvals": f"SELECT x.id, f.name, x.offset, x.seq, turn, kind, x.state,"
    f" {_NAMED.format('decided_by')}, waited, reason FROM approvals x {_OF_FILE}",
    "turns": "SELECT x.id, f.name, x.seq, turn, x.state, source, steps, failed, files, proof,"
    f" prompt FROM turns x {_OF_FILE}",
    "usage": f"SELECT o.path, f.name, at, x.seq, {_NAMED.format('model')}, kind, input, output,"
    f" cost, requests, cache_read, cache_write, credits, calls FROM usage x {_OF_FILE}",
    "checkpoints": "SELECT path, run, seq, ts, c.bytes FROM checkpoints c"
    " JOIN folders o ON o.id = folder",
    "progress": "SELECT done, total, damaged FROM progress",
}


def _row(row: tuple[Any, ...], state: str) -> str:
    told = [_unpacked(one).replace(state, HOME) if isinstance(one, str | bytes) else one
            for one in row]  # fmt: skip
    return msgspec.json.encode(told).decode()


def _unpacked(value: str | bytes) -> str:
    if isinstance(value, str):
        return value
    return (zlib.decompress(value) if value[:1] == b"x" else value).decode()


# What the person has allowed


def _consents(root: Path) -> dict[str, bytes]:
    state, code = root / "state", root / "code"
    code.mkdir()
    (code / "pulse.sh").write_text("echo up\n")
    (code / "wiki.conf").write_text("port = 1\n")
    (code / "tap.config.json").write_text(EMITTERS)
    emitters = EmitterConsents(state, lambda: NOW)
    found = read_emitters(code)
    assert not found.problems, found.problems
    for number, one in enumerate((*found.emitters, *found.providers)):
        standing = emitters.standing(found, one)
        assert isinstance(standing, Proposal)
        emitters.allow(standing, later_versions=number % 2 == 1)
    goals = root / "goals"
    goals.mkdir()
    (goals / "tap.config.json").write_text(GOALS)
    of_goals = GoalConsents(state, lambda: NOW)
    for plan in goal_plans(read_emitters(goals)):
        of_goals.allow_plan(f"{goals}", plan)
    (code / ".mcp.json").write_text(SERVERS)
    servers = ServerConsents(state, lambda: NOW)
    for number, server in enumerate(one for file in read_folder(str(code)) for one in file.entries):
        shown = servers.standing(server)
        assert isinstance(shown, Proposal)
        servers.allow(shown, later_versions=number % 2 == 1)
    entry = Allowable(kind="own", name="files", command="files-server", args=("--all",))
    ToolPins(state, entry, None).keep(pinned(PINNED))
    PortConsent(state).keep(["ann", "bob"])
    return collected(root, "consents")


EMITTERS = """\
{
  "emitters": [
    {"name": "pulse", "command": "./pulse.sh --fast", "runInterval": "5m", "env": {"A": "ü"},
     "maxRuns": 3, "shell": "/bin/sh", "includeStderr": false, "autoStart": false,
     "eventFilter": [{"match": "ERROR", "outcome": "surface"}]},
    {"name": "look", "prompt": "Look again.", "runInterval": "idle", "maxRuns": 2,
     "stream": "notes"}
  ],
  "streams": [{"name": "notes", "sessionInjector": {"enabled": true, "delivery": "important"}}],
  "providers": [{"name": "wiki", "command": "python3", "args": ["wiki.conf", "--all"]}]
}
"""
GOALS = """\
{
  "goals": [
    "pytest -q",
    {"title": "The cart works · ü", "deadline": "2036-01-01T00:00:00Z", "agent": "reviewer",
     "criteria": ["npm test", {"id": "look", "text": "The page looks good"},
       {"text": "it was saved", "check": {"kind": "call", "tool": "save", "where": {"n": 1}}},
       {"check": {"kind": "file", "path": "cart.json", "json": {"pointer": "/n", "equals": [2]}}}]}
  ]
}
"""
SERVERS = """\
{"mcpServers": {
  "files": {"command": "python3", "args": ["wiki.conf"], "env": {"KEY": "${KEY}", "MODE": "a"}},
  "web": {"type": "http", "url": "https://example.com/mcp", "headers": {"X-Key": "${KEY}"}}
}}
"""
PINNED = [
    MappedTool(
        "read", "d1", "Read a file · ü", msgspec.Raw(b'{"type":"object"}'), offered_as="read",
        annotations=msgspec.Raw(b'{"readOnlyHint":true}'),
    ),
    MappedTool("write", "d2", "Write", msgspec.Raw(b'{"type":"object"}'), offered_as="write"),
]  # fmt: skip


# Files of a folder's emitters, written and edited


def _emitters(root: Path) -> dict[str, bytes]:
    new, kept = root / "new", root / "by-hand"
    entry = EmitterEntry(
        name="new", command="make watch", schedule=Schedule("timed", 90), stream="ops", cwd="a",
        env={"A": "b"}, auto_start=False, ownership="modelOwned", max_runs=3,
        rules=(FilterRule("x", "drop"), FilterRule("y", "inject")),
    )  # fmt: skip
    later = EmitterEntry(name="later", prompt="Look.", schedule=Schedule("idle"), stream="ops")
    for folder in (new, kept):
        folder.mkdir()
    (kept / "tap.config.json").write_text(BY_HAND)
    for folder in (new, kept):
        save_emitter(folder, entry)
        save_emitter(folder, later)
        set_injector(folder, "ops", "enabled", delivery="important", ownership="modelOwned")
        set_filter(folder, "later", (FilterRule("ü", "keep"),), "userOwned")
    remove_emitter(kept, "gone")
    return collected(root, "emitters")


BY_HAND = """\
// ours
{
    "guardian": {"on": true}, // theirs
    "emitters": [
        // the first
        {"name": "Pulse", "command": "./pulse.sh", "every": "5m", "own": [1, 2,],},
        {"name": "gone", "command": "true"},

        /* the second */ {
            "name": "later",
            "prompt": "look", // why
            "channel": "ops",
            "classifier": {"includePattern": "a"},
        },
    ],
}
"""


# Settings


def _settings(root: Path) -> dict[str, bytes]:
    rules = (
        ProposedRule("shell", "npm ci", None, is_exact=True),
        ProposedRule("write", '/code/ü "x"/**', "/code"),
    )
    (root / "by-hand.toml").write_text(SETTINGS)
    (root / "crlf.toml").write_bytes(b"port = 1\r\n[timeouts]\r\n")
    for name in ("new.toml", "by-hand.toml", "crlf.toml"):
        remember_theme(root / name, "tapui-light")
        add_rules(root / name, "\n".join(rule.as_toml() for rule in rules))
    return collected(root, "settings")


SETTINGS = """\
# top
theme = 'old'  # mine

# the port
port = 7345

[timeouts]
# in seconds
call = 5

[[rules]]
deny = "rm"
"""


# MCP servers: the person's own, and tapui's entry for Copilot CLI


def _mcp(root: Path) -> dict[str, bytes]:
    new, kept = Home.at(root / "new"), Home.at(root / "by-hand")
    kept.config.mkdir()
    (kept.config / "mcp.json").write_text(MCP)
    for home in (new, kept):
        add_server(home, "files", {"command": "files", "args": ["--ü"], "env": {"A": "b"}})
        add_server(home, "web", {"type": "http", "url": "https://example.com/mcp"})
    remove_server(kept, "gone")
    for folder in ("copilot-new", "copilot-by-hand"):
        (root / folder).mkdir()
    (root / "copilot-by-hand" / "mcp-config.json").write_text(OF_COPILOT)
    entry = own_entry({"TAPUI_HOME": "/elsewhere", "TAPUI_PORT": "7346", "PATH": "/bin"})
    McpConfig(root / "copilot-new", entry).install()
    McpConfig(root / "copilot-by-hand", own_entry({})).install()
    return collected(root, "mcp", lambda text: text.replace(sys.executable, "<python>"))


MCP = """\
{
    // mine
    "mcpServers": {
        "gone": {"command": "true"},
        "first": {"command": "one"}, // kept
    },
}
"""
OF_COPILOT = '{"theirs": 1, "mcpServers": {"other": {"command": "x", "tools": ["*"]}}}\n'


# A running gateway's folder, and what is installed


def _run_folder(root: Path) -> dict[str, bytes]:
    home = Home.at(root / "tapui", root / "copilot")
    folder = RunFolder.claim(home, 7345)
    try:
        folder.write_internal_token(Secret("itk-x"))
        token = folder.write_provider_token(Secret("ptk-x"))
        folder.announce(
            "ws://127.0.0.1:7345", "0.1.0", token, folder.path / "socket", {"port": 7345}
        )
        return collected(
            root,
            "run",
            lambda text: re.sub(
                r'"startedAt":"[^"]+"', '"startedAt":"2026-01-01T00:00:00.000000Z"',
                re.sub(r'"pid":\d+', '"pid":4242', text),
            ),
        )  # fmt: skip
    finally:
        folder.release()


def _installed(root: Path) -> dict[str, bytes]:
    """What is written around the texts of the extension and the skills, which may change."""
    for file in (ExtensionFile(root), *skill_files(root)):
        file.install()
    return {
        name: b"<text>\n%s\n"
        % _SEAL.sub(b"tapui <version>, sha256 <sha256>", data.splitlines()[-1])
        for name, data in collected(root, "installed").items()
    }


_SEAL = re.compile(rb"tapui \S+, sha256 [0-9a-f]{64}")
