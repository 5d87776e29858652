"""`tapui mcp`: what is added, listed, allowed and removed, and by whom."""

import json
import re
import shlex
import sys
from pathlib import Path
from typing import Any

import pytest

from tapui.cli.commands.mcp import table
from tapui.wire.mcp_servers import McpServer, McpTool
from tests.cli.hidden_package import hide_the_package
from tests.cli.running import HOSTILE, RAW, ran
from tests.rig.gateway import ANYBODY, Home
from tests.rig.machine import fill
from tests.rig.tmux import Tmux

PAGE = (Path(__file__).parents[2] / "tapui/docs/mcp.md").read_text()
LITERAL = "hunter2hunter2"
TINY = Path(__file__).parents[1] / "mcp_servers" / "tiny_server.py"


def mcp(
    home: Home, *args: str, code: int = 0, env: dict[str, str] | None = None
) -> tuple[str, str]:
    """Run `tapui mcp` as the person; return what it prints."""
    home.settle(ANYBODY)
    ended = ran(home, "mcp", *args, env=home.env(**(env or {})))
    assert ended.returncode == code, ended.stderr
    assert not RAW.search(ended.stdout + ended.stderr)
    return ended.stdout, ended.stderr


def listed(home: Home, *args: str) -> dict[str, dict[str, Any]]:
    out, _ = mcp(home, "list", "--json", *args)
    return {one["name"]: one for one in map(json.loads, out.splitlines())}


def own(home: Home) -> dict[str, Any]:
    servers: dict[str, Any] = json.loads((home.tapui / "mcp.json").read_text())["mcpServers"]
    return servers


def repository(folder: Path, **servers: Any) -> str:
    folder.mkdir(exist_ok=True)
    (folder / ".mcp.json").write_text(json.dumps({"mcpServers": servers}))
    return str(folder.resolve())


def test_the_documents_commands_work(home: Home) -> None:
    (block,) = re.findall(
        r"^```console\n(\$ tapui mcp add .*?)^```$", PAGE, re.DOTALL | re.MULTILINE
    )
    lines = [shlex.split(line.removeprefix("$ tapui ")) for line in block.splitlines()]
    said = []
    home.settle(ANYBODY)
    for line in lines:
        ended = ran(home, *line)
        assert ended.returncode == 0, ended.stderr
        said.append(ended.stdout)
    assert len(said) == 3
    assert "added clock" in said[0]
    assert "clock  stopped" in said[1]
    assert "removed clock" in said[2]


def test_what_is_added_is_written_as_it_was_said(home: Home) -> None:
    out, err = mcp(home, "add", "a", "--env", "LEVEL=x=y", "--", "node", "s.js", "--env", "-x")
    assert "with the built-in session local while there is no other; try it: tapui mcp test" in err
    assert out == f"added a to {home.tapui}/mcp.json\n"
    mcp(home, "add", "b", "--url", "https://x.example/mcp", "--header", "Authorization=${env:T}")
    out, _ = mcp(home, "add", "c", "--json", "--cwd", "/tmp", "--", "c")
    assert json.loads(out)["name"] == "c"
    assert own(home) == {
        "a": {"command": "node", "args": ["s.js", "--env", "-x"], "env": {"LEVEL": "x=y"}},
        "b": {
            "type": "http",
            "url": "https://x.example/mcp",
            "headers": {"Authorization": "${env:T}"},
        },
        "c": {"command": "c", "args": [], "cwd": "/tmp"},
    }
    found = listed(home)
    assert {name: one["state"] for name, one in found.items()} == dict.fromkeys("abc", "stopped")
    assert found["b"]["program"] == "x.example"
    assert "already" in mcp(home, "add", "a", "--", "x", code=1)[1]
    assert mcp(home, "remove", "a")[0] == f"removed a from {home.tapui}/mcp.json\n"
    assert "no server a" in mcp(home, "remove", "a", code=1)[1]


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (("--header", "Authorization=Bearer abc", "--url", "https://x"), "'Authorization=${env:"),
        (("--env", "API_KEY=abc", "--", "x"), "'API_KEY=${env:NAME}'"),
        (("--env", "A=${input:b}", "--", "x"), "${env:NAME}"),
        (("--env", "A", "--", "x"), "NAME=VALUE"),
        (("--url", "https://x", "--", "x"), "behind --"),
        ((), "behind --"),
        (("--url", "ftp://x"), "http://"),
        (("--url", "https://x", "--env", "A=b"), "--env"),
        (("--header", "A=b", "--", "x"), "--header"),
    ],
)
def test_what_cannot_be_added_is_refused_and_nothing_is_written(
    home: Home, args: tuple[str, ...], said: str
) -> None:
    _, err = mcp(home, "add", "a", *args, code=2)
    assert said in err
    assert not (home.tapui / "mcp.json").exists()
    assert "letters" in mcp(home, "add", "../a", "--", "x", code=2)[1]


def test_a_file_that_the_server_would_not_find_in_the_home_is_refused(
    home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "clock.py").touch()
    _, err = mcp(home, "add", "clock", "--", sys.executable, "clock.py", code=2)
    assert "whole path of clock.py, or add --cwd ." in err
    assert not (home.tapui / "mcp.json").exists()
    mcp(home, "add", "clock", "--cwd", ".", "--", sys.executable, "clock.py")
    assert own(home)["clock"]["cwd"] == str(tmp_path)
    mcp(home, "add", "whole", "--", sys.executable, str(tmp_path / "clock.py"))
    assert "cwd" not in own(home)["whole"]


def test_a_package_without_a_version_is_warned_of(home: Home) -> None:
    _, err = mcp(home, "add", "a", "--", "npx", "-y", "@scope/foo")
    assert "@scope/foo is fetched without a fixed version" in err
    assert "fixed version" not in mcp(home, "add", "b", "--", "npx", "@scope/foo@1.2.3")[1]


def test_without_the_package_it_says_how_to_install_it(home: Home) -> None:
    env = hide_the_package(home)
    home.settle(ANYBODY)
    added = home.run("mcp", "add", "a", "--", "x", env=env)
    assert added.returncode == 0
    assert "the package mcp is not installed, which MCP servers need" in added.stderr
    tried = home.run("mcp", "test", "a", env=env)
    assert tried.returncode == 1
    for said in (added, tried, home.run("mcp", "list", env=env)):
        assert "tapui[mcp]" in said.stderr


@pytest.mark.parametrize(
    ("program", "is_told"),
    [("sh", False), ("no-such-program", True), ("/bin/sh", False), ("/no/such", True),
     ("${env:PROGRAM}", False)],
)  # fmt: skip
def test_a_program_that_is_not_there_is_told_at_once(
    home: Home, program: str, *, is_told: bool
) -> None:
    _, err = mcp(home, "add", "a", "--", program)
    assert (f"there is no program {program} here" in err) is is_told
    assert listed(home)["a"]["state"] == "stopped"


def test_nobody_but_a_person_adds_or_allows(home: Home, tmp_path: Path) -> None:
    repo = repository(tmp_path / "repo", files={"command": "x"})
    refused = ran(home, "mcp", "add", "a", "--", "x")
    assert refused.returncode == 1
    assert "has no terminal: add it in a terminal of yours" in refused.stderr
    assert not (home.tapui / "mcp.json").exists()
    refused = ran(home, "mcp", "allow", "files", "--yes", "--folder", repo)
    assert refused.returncode == 1
    assert "has no terminal" in refused.stderr
    assert listed(home, "--folder", repo)["files"]["state"] == "notAllowed"
    assert "files  not allowed" in mcp(home, "list", "--folder", repo)[0]


def test_a_folders_server_is_shown_in_full_and_allowed(home: Home, tmp_path: Path) -> None:
    hostile = HOSTILE.replace("\0", "")
    entry = {
        "command": "npx",
        "args": ["foo", hostile],
        "env": {"API_TOKEN": LITERAL, "B": "x ${env:C}"},
    }
    repo = repository(tmp_path / "repo", files=entry, search={"url": "https://x.example/m?k=1"})
    where = ("--folder", repo)
    _, err = mcp(home, "allow", "files", *where, code=2)
    for part in (
        f"with the variable API_TOKEN={LITERAL}",
        "with the variable B=x ${env:C}, filled in from $C",
        "fetches foo without a fixed version",
        f"from {repo}/.mcp.json:1",
        "Runs with your rights",
        "allow files? Say so with --yes",
    ):
        assert part in err
    out, _ = mcp(home, "allow", "files", *where, "--yes")
    assert out == "allowed files\n"
    entry["env"] = {"Npm_Config_Registry": "https://evil.example"}
    repository(tmp_path / "repo", deciding=entry)
    shown = mcp(home, "list", *where)[0]
    assert "Npm_Config_Registry decides what runs, or where it comes from: https://evil" in shown
    _, err = mcp(home, "add", "mine", "--env", "UV_DEFAULT_INDEX=https://x.test", "--", "uvx", "a")
    assert "its variable UV_DEFAULT_INDEX decides what runs" in err
    mcp(home, "remove", "mine")
    entry["env"] = {"API_TOKEN": LITERAL, "B": "x ${env:C}"}
    repository(tmp_path / "repo", files=entry, search={"url": "https://x.example/m?k=1"})
    found = listed(home, *where)
    assert {name: one["state"] for name, one in found.items()} == {
        "files": "stopped",
        "search": "notAllowed",
    }
    assert "calls x.example" in mcp(home, "allow", "search", *where, code=2)[1]
    assert "does not wait" in mcp(home, "allow", "files", *where, "--yes", code=1)[1]
    repository(tmp_path / "repo", files={**entry, "command": "bunx"})
    assert "another command" in mcp(home, "allow", "files", *where, code=2)[1]
    repository(tmp_path / "repo", files=entry)
    out, _ = mcp(home, "remove", "files", *where)
    assert "not allowed any more" in out
    assert listed(home, *where)["files"]["state"] == "notAllowed"


def test_a_server_that_is_not_allowed_is_not_tried(home: Home, tmp_path: Path) -> None:
    repo = repository(tmp_path / "repo", files={"command": "touch", "args": ["/tmp/never"]})
    _, err = mcp(home, "test", "files", "--folder", repo, code=1)
    assert "files is not allowed yet" in err
    assert "there is no server other" in mcp(home, "test", "other", code=1)[1]


def test_a_tool_of_a_server_is_tried_without_a_session(home: Home, tmp_path: Path) -> None:
    schema = {"type": "object", "properties": {"at": {"type": "integer"}}, "required": ["at"]}
    object_ = {"type": "object"}
    found = {"name": "find", "description": "Find it.", "inputSchema": schema}
    asks = {"name": "ask", "description": "Ask.", "inputSchema": object_}
    others = [{"name": f"tool_{n}", "inputSchema": object_} for n in range(88)]
    tools = tmp_path / "tools.json"
    tools.write_text(json.dumps([found, asks, *others]))
    mcp(home, "add", "tiny", "--", sys.executable, str(TINY), str(tools))
    out, err = mcp(home, "test", "tiny", "find", "at=3")
    assert json.loads(json.loads(out))["arguments"] == {"at": 3}
    assert re.search(r"find ended after \d+\.\d\d s", err)
    asked = ("test", "tiny", "ask", "city=grün\u202e")
    assert "grün\\u202e" in mcp(home, *asked)[0], "a person reads letters"
    assert r"gr\u00fcn\u202e" in mcp(home, *asked, "--json")[0]
    called = json.loads(mcp(home, "test", "tiny", "ask", "--json")[0])
    names = [one["name"] for one in called["tools"]]
    assert (names[:2], len(names)) == (["find", "ask"], 90), "a program reads all"
    assert '"action": "decline"' in called["call"]["outcome"]["data"]
    assert "find requires at (integer)" in mcp(home, "test", "tiny", "find", code=2)[1]
    lines = mcp(home, "test", "tiny")[0].splitlines()
    assert "90 tools" in lines[0]
    assert (len(lines), lines[-1].strip()) == (23, "and 70 more: --all"), "a person, the first"
    assert len(mcp(home, "test", "tiny", "--all")[0].splitlines()) == 92


def test_the_doctor_names_servers_that_cannot_start(home: Home) -> None:
    mcp(home, "add", "good", "--", "sh")
    mcp(home, "add", "gone", "--", "no-such-program-here")
    mcp(home, "add", "bare", "--env", "A=${env:NOT_SET_HERE}", "--", "sh")
    text = (home.tapui / "mcp.json").read_text()
    (home.tapui / "mcp.json").write_text(text.replace('"good"', '"odd one": {}, "good"', 1))
    found = json.loads(ran(home, "doctor", "--json").stdout)["findings"]
    mine = [(one["state"], one["text"]) for one in found if one["id"] == "mcp-servers"]
    assert ("ok", "1 MCP servers can start") in mine
    said = "\n".join(text for state, text in mine if state == "warning")
    assert "MCP server gone starts no-such-program-here, which is not there" in said
    assert "the variable NOT_SET_HERE is not set" in said
    assert "mcp.json:" in said


@pytest.mark.pty
async def test_a_person_in_a_terminal_is_asked(home: Home, tmux: Tmux, tmp_path: Path) -> None:
    repo = repository(tmp_path / "repo", files={"command": "npx", "args": ["foo"]})
    screen = tmux.start(["sh"], env=home.env(PS1="ready "), cwd=Path(repo), size=(140, 40))
    screen.wait_for("ready")
    screen.type("TAPUI_INSIDE=1 tapui mcp add evil -- sh; echo left with $?\n")
    await screen.seen("left with 1")
    screen.type("clear; tapui mcp allow; echo ended with $?\n")
    await screen.seen(r"allow files\?")
    screen.type("y\n")
    await screen.seen("ended with 0")
    await screen.seen("allowed files")
    screen.type("clear; tapui mcp add mine -- sh; echo added with $?\n")
    await screen.seen("added with 0")
    assert set(own(home)) == {"mine"}


def test_on_a_full_disk_the_file_stays_as_it_was_and_that_is_told(small_disk: Path) -> None:
    home = Home(small_disk)
    mcp(home, "add", "a", "--", "sh")
    before = own(home)
    fill(small_disk)
    file = home.tapui / "mcp.json"
    for args in (("add", "b", "--", "sh"), ("remove", "a")):
        _, err = mcp(home, *args, code=1)
        assert f"{file}: it stays as it was: No space left on device" in err
    assert own(home) == before
    assert "mcp.json.new" not in {one.name for one in home.tapui.iterdir()}
    (small_disk / "full").unlink()
    mcp(home, "remove", "a")
    assert own(home) == {}


def test_of_the_many_tools_of_a_running_server_the_first_are_listed(
    capsys: pytest.CaptureFixture[str],
) -> None:
    tools = [McpTool(f"tool_{n}", f"tool_{n}") for n in range(100)]
    server = McpServer(
        id="m1",
        name="many",
        source="person",
        state="ready",
        program="many",
        file="mcp.json",
        line=1,
        tools=tools,
        tool_count=300,
    )
    table.show([server], [], is_all=False)
    lines = capsys.readouterr().out.splitlines()
    assert (len(lines), lines[-1]) == (23, "  many: and 280 more: --all")
    table.show([server], [], is_all=True)
    lines = capsys.readouterr().out.splitlines()
    assert (len(lines), lines[-1]) == (103, "  many: and 200 more: tapui mcp test many --all")
