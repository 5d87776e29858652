"""The person's `mcp.json`: servers come and go, and all else stays as it stood."""

import json
import stat
from pathlib import Path

import pytest

from tapui.home.paths import Home
from tapui.mcp_servers.config.reading import (
    OwnFileError,
    add_server,
    own_file,
    read_own,
    remove_server,
)

FILE = """{
  // mine
  "mcpServers": {
    "a": {"command": "x"}, /* keep */
  },
  "other": [1,2],
}
"""


def test_a_server_is_added_to_no_file_and_removed(tmp_path: Path) -> None:
    home = Home.at(tmp_path / "home")
    path = add_server(home, "files", {"command": "npx", "args": ["-y", "x@1"]})
    assert path == own_file(home)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [one.name for one in read_own(home).entries] == ["files"]
    with pytest.raises(OwnFileError, match="already"):
        add_server(home, "files", {"command": "y"})
    remove_server(home, "files")
    assert read_own(home).entries == ()
    with pytest.raises(OwnFileError, match="no server files"):
        remove_server(home, "files")


def test_comments_and_other_keys_stay(tmp_path: Path) -> None:
    home = Home.at(tmp_path)
    own_file(home).write_text(FILE)
    add_server(home, "b", {"url": "https://x.example"})
    text = own_file(home).read_text()
    for part in ("// mine", "/* keep */", '"other": [1,2],', '"a": {"command": "x"}'):
        assert part in text
    assert [one.name for one in read_own(home).entries] == ["a", "b"]
    remove_server(home, "b")
    remove_server(home, "a")
    text = own_file(home).read_text()
    assert "// mine" in text
    assert '"other": [1,2]' in text


@pytest.mark.parametrize("text", ["{", "[]", '{"mcpServers": 3}', "\0"])
def test_a_file_that_is_not_understood_is_left_alone(tmp_path: Path, text: str) -> None:
    home = Home.at(tmp_path)
    own_file(home).write_text(text)
    with pytest.raises(OwnFileError):
        add_server(home, "b", {"command": "x"})
    assert own_file(home).read_text() == text


def test_a_link_is_followed_and_stays(tmp_path: Path) -> None:
    home = Home.at(tmp_path / "home")
    home.config.mkdir()
    dotfiles = tmp_path / "dotfiles.json"
    dotfiles.write_text("{}")
    own_file(home).symlink_to(dotfiles)
    add_server(home, "b", {"command": "x"})
    assert own_file(home).is_symlink()
    assert "b" in json.loads(dotfiles.read_text())["mcpServers"]
