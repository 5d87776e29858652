"""The token for tools alone as a file: private, made once, revoked."""

import os
import stat
from pathlib import Path

import pytest

from tapui.home.tokens import ToolsTokenFile

TOKEN = "ttk-" + "A" * 43


@pytest.fixture
def file(tmp_path: Path) -> ToolsTokenFile:
    return ToolsTokenFile(tmp_path / "state")


def test_it_is_made_once_for_its_owner_alone(file: ToolsTokenFile) -> None:
    assert file.read() is None
    assert file.make()
    token = file.read()
    assert token is not None
    assert token.reveal().startswith("ttk-")
    assert token.reveal() not in repr(token)
    assert stat.S_IMODE(file.path.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.path.parent.stat().st_mode) == 0o700
    assert not file.make()
    assert token.is_same(file.read())  # type: ignore[arg-type]
    assert file.remove()
    assert not file.remove()
    assert file.read() is None
    assert file.make()
    assert not token.is_same(file.read())  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("content", "mode", "why"),
    [
        (TOKEN, 0o640, "others can read or write it"),
        (TOKEN, 0o602, "others can read or write it"),
        ("", 0o600, "it holds no token"),
        ("itk-" + "A" * 43, 0o600, "it holds no token"),
        (TOKEN + "A", 0o600, "it holds no token"),
        ("\udc80\udcff", 0o600, "it holds no token"),
        ("x" * 5000, 0o600, "it holds no token"),
    ],
)
def test_what_is_no_private_token_is_none_and_is_replaced(
    file: ToolsTokenFile, content: str, mode: int, why: str
) -> None:
    file.path.parent.mkdir()
    file.path.write_bytes(content.encode("utf-8", "surrogateescape"))
    file.path.chmod(mode)
    with pytest.raises(OSError, match=why):
        file.read()
    assert file.make()
    assert file.read() is not None


def test_a_link_or_a_pipe_in_its_place_holds_nobody_up(file: ToolsTokenFile) -> None:
    file.path.parent.mkdir()
    elsewhere = file.path.parent / "elsewhere"
    elsewhere.write_text(TOKEN)
    elsewhere.chmod(0o600)
    file.path.symlink_to(elsewhere)
    with pytest.raises(OSError, match="links"):
        file.read()
    assert file.make()
    assert elsewhere.read_text() == TOKEN
    file.remove()
    os.mkfifo(file.path, 0o600)
    with pytest.raises(OSError, match="others"):
        file.read()


def test_a_token_with_a_line_end_is_one(file: ToolsTokenFile) -> None:
    file.path.parent.mkdir()
    file.path.write_text(TOKEN + "\n")
    file.path.chmod(0o600)
    token = file.read()
    assert token is not None
    assert token.reveal() == TOKEN
