"""tapui's entry in Copilot's `mcp-config.json`: written, changed by others, removed."""

import fcntl
import json
import stat
import sys
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tapui.hosts.copilot.install import mcp_config
from tapui.hosts.copilot.install.mcp_config import McpConfig, NotOursError, own_entry
from tests.rig.waiting import HUNG

OTHERS = {
    "$schema": "x",
    "mcpServers": {"zeta": {"command": "é", "odd": [1, {"a": None}]}, "alpha": {"url": "u"}},
    "later": True,
}


@pytest.fixture
def config(tmp_path: Path) -> McpConfig:
    return McpConfig(tmp_path / "copilot", own_entry({}))


def write(config: McpConfig, content: Any) -> None:
    config.copilot_home.mkdir(exist_ok=True)
    config.path.write_text(content if isinstance(content, str) else json.dumps(content))


def test_doors_are_known_by_what_they_start(config: McpConfig) -> None:
    assert mcp_config.doors(config.copilot_home) == []
    config.install()
    assert mcp_config.doors(config.copilot_home) == ["tapui"]
    servers: dict[str, Any] = {
        "mine": {"command": "/opt/bin/tapui", "args": ["mcp-door", "--port", "9400"]},
        "other": {"command": "/opt/bin/other", "args": ["mcp-door"]},
        "kit": {"command": "tapui", "args": ["provider", "mcp", "x.py"]},
        "url": {"url": "http://127.0.0.1/mcp"},
        "odd": [],
    }
    write(config, {"mcpServers": servers})
    assert mcp_config.doors(config.copilot_home) == ["mine"]
    for text in ("", "[]", '{"mcpServers": []}', "[" * 100_000):
        write(config, text)
        assert mcp_config.doors(config.copilot_home) == []


def test_an_entry_of_an_earlier_tapui_is_a_door_and_is_written_anew(config: McpConfig) -> None:
    former = {**config.entry, "args": ["-m", "tapui", "mcp-door"]}
    write(config, {"mcpServers": {"tapui": former}})
    assert mcp_config.doors(config.copilot_home) == ["tapui"]
    assert config.state() == "outdated"
    config.install()
    assert config.state() == "installed"


def test_a_file_is_made_and_its_entry_removed(config: McpConfig) -> None:
    assert config.state() == "missing"
    config.install()
    assert config.state() == "installed"
    assert stat.S_IMODE(config.path.stat().st_mode) == 0o600
    assert json.loads(config.path.read_text())["mcpServers"]["tapui"] == {
        "type": "local",
        "command": sys.executable,
        "args": ["-P", "-m", "tapui", "mcp-door"],
        "tools": ["*"],
    }
    config.uninstall()
    assert json.loads(config.path.read_text()) == {"mcpServers": {}}
    config.uninstall()


def test_everything_else_stays_in_its_order(config: McpConfig) -> None:
    write(config, OTHERS)
    config.install()
    found = json.loads(config.path.read_text())
    assert list(found) == ["$schema", "mcpServers", "later"]
    assert list(found["mcpServers"]) == ["zeta", "alpha", "tapui"]
    assert "é" in config.path.read_text()
    config.uninstall()
    text = config.path.read_text()
    assert json.loads(text) == OTHERS
    assert text == json.dumps(OTHERS, indent=2, ensure_ascii=False) + "\n"


def test_half_a_character_of_anothers_stays_one(config: McpConfig) -> None:
    write(config, '{"mcpServers": {"odd": {"command": "\\ud83d"}}}')
    config.install()
    assert "\\ud83d" in config.path.read_text()


@pytest.mark.parametrize(
    "change",
    [
        {"timeout": 5},
        {"tools": ["greet"]},
        {"args": ["-m", "tapui", "mcp-door", "--port", "1"]},
        {"env": {"TAPUI_HOME": "/x", "SECRET": "y"}},
        {"env": []},
        {"command": 7},
        {"type": "http"},
    ],
)
def test_an_entry_that_a_person_has_changed_is_left_alone(
    config: McpConfig, change: dict[str, Any]
) -> None:
    write(config, {"mcpServers": {"tapui": {**config.entry, **change}}})
    before = config.path.read_bytes()
    assert config.state() == "edited"
    for act in (config.install, config.uninstall):
        with pytest.raises(NotOursError, match="copilot mcp remove tapui"):
            act()
    assert config.path.read_bytes() == before


@pytest.mark.parametrize("entry", ["text", [], 7, True])
def test_an_entry_that_is_none_is_not_ours(config: McpConfig, entry: Any) -> None:
    write(config, {"mcpServers": {"tapui": entry}})
    assert config.state() == "edited"


def test_one_of_another_python_or_for_other_folders_is_written_anew(config: McpConfig) -> None:
    write(config, {"mcpServers": {"tapui": {**config.entry, "command": "/gone/bin/python"}}})
    assert (config.state(), config.program()) == ("outdated", "/gone/bin/python")
    config.install()
    assert config.state() == "installed"
    other = McpConfig(config.copilot_home, own_entry({"TAPUI_HOME": "/x", "PATH": "/bin"}))
    assert other.entry["env"] == {"TAPUI_HOME": "/x"}
    assert other.state() == "outdated"
    other.uninstall()
    assert config.state() == "missing"


def test_the_same_python_by_another_name_is_this_one(config: McpConfig) -> None:
    name = Path(sys.executable).with_name("python")
    write(config, {"mcpServers": {"tapui": {**config.entry, "command": str(name)}}})
    assert config.state() == "installed"


@pytest.mark.parametrize(
    "text",
    ["", "{", "[]", '"x"', '{"mcpServers": []}', "// a comment\n{}", "[" * 100_000, "\x00"],
)
def test_what_cannot_be_read_is_left_alone(config: McpConfig, text: str) -> None:
    write(config, text)
    assert config.state() == "unreadable"
    with pytest.raises(NotOursError, match="cannot be read as JSON"):
        config.install()
    assert config.path.read_text() == text


def test_a_link_is_left_to_whoever_made_it(config: McpConfig, tmp_path: Path) -> None:
    config.copilot_home.mkdir()
    (tmp_path / "dotfiles.json").write_text("{}")
    config.path.symlink_to(tmp_path / "dotfiles.json")
    with pytest.raises(NotOursError, match="is a link"):
        config.install()
    assert (tmp_path / "dotfiles.json").read_text() == "{}"


def test_it_waits_for_copilots_own_commands(config: McpConfig) -> None:
    config.copilot_home.mkdir()
    with (config.copilot_home / ".mcp-writer.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with pytest.raises(OSError, match="another program writes"):
            replace(config, lock_seconds=0.1).install()
        assert not config.path.exists()
        installing = threading.Thread(target=replace(config, lock_seconds=15.0).install)
        installing.start()
        fcntl.flock(lock, fcntl.LOCK_UN)
        installing.join(HUNG)
    assert config.state() == "installed"


@pytest.mark.parametrize("ends", ["\n", "\r\n"])
def test_the_mark_and_the_line_ends_of_the_file_stay(config: McpConfig, ends: str) -> None:
    config.copilot_home.mkdir()
    config.path.write_bytes(f'\ufeff{{{ends} "mcpServers": {{}}{ends}}}{ends}'.encode())
    assert config.state() == "missing"
    for act, state in ((config.install, "installed"), (config.uninstall, "missing")):
        act()
        assert config.state() == state
        data = config.path.read_bytes()
        assert data.startswith(b"\xef\xbb\xbf{")
        assert data.count(b"\n") == data.count(ends.encode()) > 2
