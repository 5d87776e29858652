"""Files with MCP servers: each entry is read or refused by itself, and its place is named."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from tapui.home.paths import Home
from tapui.mcp_servers.config.entries import MAX_FILE, MAX_SERVERS, ServerFile
from tapui.mcp_servers.config.reading import is_secret, own_file, read_folder, read_own
from tapui.mcp_servers.messages import MOST_PATIENCE

LITERAL = "hunter2hunter2"


def folder_file(folder: Path, text: str, name: str = ".mcp.json") -> ServerFile:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    (found,) = read_folder(str(folder))
    return found


def one(folder: Path, **entry: Any) -> ServerFile:
    return folder_file(folder, json.dumps({"mcpServers": {"files": entry}}))


def test_a_server_that_is_started_and_one_that_is_called(tmp_path: Path) -> None:
    file = folder_file(
        tmp_path,
        """{
  // what the team uses
  "mcpServers": {
    "files": {
      "command": "npx",
      "args": ["-y", "server-filesystem", "${workspaceFolder}"],
      "env": {"LEVEL": "info", "PORT": 3000},
      "cwd": "tools",
    },
    "search": {
      "type": "http",
      "url": "https://mcp.example.com/mcp",
      "headers": {"Authorization": "Bearer ${env:TOKEN}"},
    },
  },
}""",
    )
    assert not file.problems
    files, search = file.entries
    assert (files.name, files.source, files.line) == ("files", "folder", 4)
    assert files.folder == str(tmp_path)
    assert files.command is not None
    assert files.command.text == "npx"
    assert [one.text for one in files.args] == ["-y", "server-filesystem", "${workspaceFolder}"]
    assert [(name, one.text) for name, one in files.env] == [("LEVEL", "info"), ("PORT", "3000")]
    assert search.url is not None
    assert search.url.text == "https://mcp.example.com/mcp"
    assert [name for name, _ in search.headers] == ["Authorization"]


def test_the_editors_file_has_another_key_and_the_first_of_a_name_counts(tmp_path: Path) -> None:
    (tmp_path / ".vscode").mkdir()
    (tmp_path / ".vscode" / "mcp.json").write_text(
        json.dumps({"servers": {"a": {"command": "second"}, "b": {"command": "b"}}})
    )
    (tmp_path / ".mcp.json").write_text(json.dumps({"mcpServers": {"a": {"command": "first"}}}))
    found = {
        one.name: one.command.text
        for file in read_folder(str(tmp_path))
        for one in file.entries
        if one.command is not None
    }
    assert found == {"a": "first", "b": "b"}


@pytest.mark.parametrize(
    ("entry", "key", "text"),
    [
        ({"command": "x", "env": {"A": "${input:token}"}}, "env.A", "${env:NAME}"),
        ({"command": "x", "args": ["${config:a}"]}, "args[0]", "${workspaceFolder} only"),
        ({"command": "x", "env": {"A": ["b"]}}, "env.A", "it must be a text"),
        ({"command": "x", "args": "y"}, "args", "a list"),
        ({"command": ""}, "command", "it is empty"),
        ({"command": "x\0y"}, "command", "NUL"),
        ({"command": "x", "url": "https://y"}, "", "a command (stdio) or a url (http)"),
        ({}, "", "a command (stdio) or a url (http)"),
        ({"type": "http", "command": "x"}, "", "a command (stdio) or a url (http)"),
        ({"type": "sse", "url": "https://y"}, "type", "SSE"),
        ({"type": "SSE", "url": "https://y"}, "type", "SSE"),
        ({"type": "ws", "url": "https://y"}, "type", "stdio or http"),
        ({"type": "local", "url": "https://y"}, "", "a command (stdio) or a url (http)"),
        ({"httpUrl": "file:///etc/passwd"}, "httpUrl", "http://"),
        ({"command": "x", "envFile": ".env"}, "envFile", "give its variables in env"),
        ({"command": "x", "env": {"A": None}}, "env.A", "it must be a text"),
        ({"command": "x", "timeout": "1s"}, "timeout", "milliseconds"),
        ({"command": "x", "args": ["${userHome:x}"]}, "args[0]", "${workspaceFolder} only"),
        ({"url": "file:///etc/passwd"}, "url", "http://"),
        ({"url": "https://y", "headers": {"A b": "c"}}, "headers.A b", "no header"),
        ({"command": "x", "env": {"A=B": "c"}}, "env.A=B", "no variable"),
        ({"command": "x", "cwd": "${env:HOME}"}, "cwd", "${workspaceFolder}"),
        ({"command": "x" * 5000}, "command", "4,096 characters"),
    ],
)
def test_what_is_wrong_costs_the_entry_and_names_its_place(
    tmp_path: Path, entry: dict[str, Any], key: str, text: str
) -> None:
    servers = {"files": entry, "good": {"command": "x"}}
    file = folder_file(tmp_path, json.dumps({"mcpServers": servers}))
    assert [one.name for one in file.entries] == ["good"]
    (problem,) = file.problems
    assert problem.is_error
    assert problem.file == ".mcp.json"
    assert problem.key == f"mcpServers.files.{key}".rstrip(".")
    assert text in problem.text


@pytest.mark.parametrize(
    ("entry", "command", "url"),
    [
        ({"type": "local", "command": "x"}, "x", None),
        ({"type": "STDIO", "command": "x", "url": None, "cwd": None, "env": None}, "x", None),
        ({"type": "streamable_http", "url": "https://y"}, None, "https://y"),
        ({"type": "streamableHttp", "url": "https://y"}, None, "https://y"),
        ({"type": "HTTP", "url": "HTTPS://y"}, None, "HTTPS://y"),
        ({"type": None, "httpUrl": "https://y"}, None, "https://y"),
        ({"serverUrl": "https://y", "command": None}, None, "https://y"),
    ],
)
def test_an_entry_is_read_as_other_programs_write_it(
    tmp_path: Path, entry: dict[str, Any], command: str | None, url: str | None
) -> None:
    file = one(tmp_path, **entry)
    assert not file.problems
    (found,) = file.entries
    assert (found.command and found.command.text, found.url and found.url.text) == (command, url)


def test_variables_are_written_as_json_writes_them(tmp_path: Path) -> None:
    given = {"A": True, "B": False, "C": 3000, "D": 1e3, "E": 0.5}
    (found,) = one(tmp_path, command="x", env=given).entries
    values = {name: value.text for name, value in found.env}
    assert values == {"A": "true", "B": "false", "C": "3000", "D": "1000", "E": "0.5"}


@pytest.mark.parametrize(
    ("given", "seconds"), [({}, 60), ({"timeout": 1}, 60), ({"timeout": 180_000}, 180)]
)
def test_a_timeout_is_the_patience_at_the_start(
    tmp_path: Path, given: dict[str, Any], seconds: float
) -> None:
    (found,) = one(tmp_path, command="x", **given).entries
    assert found.patience == seconds
    (found,) = one(tmp_path, command="x", timeout=10**400).entries
    assert found.patience == MOST_PATIENCE


def test_an_editors_places_are_filled_in(tmp_path: Path) -> None:
    given = ["${userHome}/s.js", "${workspaceFolderBasename}", "${pathSeparator}${/}", "${cwd}/x"]
    file = one(tmp_path, command="x", args=given, cwd="${cwd}/y")
    assert not file.problems
    (found,) = file.entries
    assert [arg.value({}, "/repo").reveal() for arg in found.args] == [
        f"{Path.home()}/s.js",
        tmp_path.name,
        os.sep * 2,
        "/repo/x",
    ]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        (".mcp.json", {"files": {"command": "x"}}),
        (".mcp.json", {"servers": {"files": {"command": "x"}}}),
        (".vscode/mcp.json", {"mcpServers": {"files": {"command": "x"}}}),
    ],
)
def test_servers_in_another_place_are_named(
    tmp_path: Path, name: str, text: dict[str, Any]
) -> None:
    file = folder_file(tmp_path, json.dumps(text), name)
    (problem,) = file.problems
    (key,) = text
    wanted = "mcpServers" if name == ".mcp.json" else "servers"
    assert problem.key == key
    assert problem.text == f'it is not read: the servers of this file stand in "{wanted}"'
    assert not folder_file(tmp_path, '{"inputs": []}', name).problems


def test_a_secret_in_clear_is_warned_of_and_never_shown(tmp_path: Path) -> None:
    file = one(
        tmp_path, command="x", env={"API_TOKEN": LITERAL}, args=[LITERAL], disabled=False, odd=1
    )
    assert [(one.key, one.is_error) for one in file.problems] == [
        ("mcpServers.files.disabled", False),
        ("mcpServers.files.odd", False),
        ("mcpServers.files.env.API_TOKEN", False),
    ]
    assert LITERAL not in repr(file)
    assert LITERAL not in "".join(map(str, file.problems))
    refused = one(tmp_path, command="x", env={"API_TOKEN": [LITERAL]})
    assert LITERAL not in "".join(map(str, refused.problems))


@pytest.mark.parametrize("name", ["", "a b", "../x", "-x", "é", "x" * 65, "a/b"])
def test_names_are_plain(tmp_path: Path, name: str) -> None:
    file = folder_file(tmp_path, json.dumps({"mcpServers": {name: {"command": "x"}}}))
    assert not file.entries
    assert "a name has at most" in file.problems[0].text


@pytest.mark.parametrize(
    "data",
    [b"", b"{", b"[1]", b"null", b"\xff{}", b'{"mcpServers": [1]}', b"[" * 100_000, b'{"a": 1'],
)
def test_no_bytes_raise(tmp_path: Path, data: bytes) -> None:
    (tmp_path / ".mcp.json").write_bytes(data)
    (file,) = read_folder(str(tmp_path))
    assert not file.entries
    assert file.problems


def test_files_are_bounded_and_never_outside_of_the_folder(tmp_path: Path) -> None:
    many = {f"s{number}": {"command": "x"} for number in range(MAX_SERVERS + 5)}
    file = folder_file(tmp_path, json.dumps({"mcpServers": many}))
    assert len(file.entries) == MAX_SERVERS
    assert "at most" in file.problems[-1].text
    large = folder_file(tmp_path, " " * (MAX_FILE + 1))
    assert not large.is_readable
    assert "larger" in large.problems[0].text
    outside = tmp_path / "outside.json"
    outside.write_text(json.dumps({"mcpServers": {"x": {"command": "x"}}}))
    folder = tmp_path / "repo"
    folder.mkdir()
    (folder / ".mcp.json").symlink_to(outside)
    (linked,) = read_folder(str(folder))
    assert not linked.entries
    assert "out of the folder" in linked.problems[0].text
    (folder / ".mcp.json").unlink()
    os.mkfifo(folder / ".mcp.json")
    (fifo,) = read_folder(str(folder))
    assert not fifo.is_readable


def test_a_folder_that_is_none_has_no_servers(tmp_path: Path) -> None:
    assert read_folder(str(tmp_path / "nowhere")) == ()
    assert read_folder("a\0b") == ()
    assert read_folder(str(tmp_path)) == ()


def test_the_persons_file_may_be_a_link(tmp_path: Path) -> None:
    home = Home.at(tmp_path / "home")
    assert read_own(home).entries == ()
    home.config.mkdir()
    dotfiles = tmp_path / "dotfiles.json"
    dotfiles.write_text(json.dumps({"mcpServers": {"mine": {"command": "x"}}}))
    own_file(home).symlink_to(dotfiles)
    (mine,) = read_own(home).entries
    assert (mine.source, mine.folder) == ("own", None)


def test_names_that_speak_of_a_secret() -> None:
    secret = ("GITHUB_TOKEN", "OPENAI_KEY", "Private-Key", "X-Api-Key", "Cookie", "KEY_2")
    plain = ("LEVEL", "KEYBOARD", "Accept", "monkeys")
    assert [one for one in (*secret, *plain) if is_secret(one)] == list(secret)
