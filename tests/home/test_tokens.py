"""Tokens and the file where providers find theirs."""

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from tapui import DEFAULT_PORT
from tapui.home.paths import Home
from tapui.home.tokens import (
    ProviderTokenFile,
    TokenFileUnavailable,
    default_token_file,
    fresh_token,
)
from tapui.secret import Secret


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home.at(tmp_path / "tapui", tmp_path / "copilot")


def mode(path: Path) -> int:
    return stat.S_IMODE(path.lstat().st_mode)


def test_tokens_are_long_random_and_do_not_show() -> None:
    token = fresh_token("ptk-")
    text = token.reveal()
    assert text.startswith("ptk-")
    assert len(text) >= 4 + 43
    assert text != fresh_token("ptk-").reveal()
    assert text not in f"{token} {token!r} {[token]}"
    assert token.matches(text)
    assert not token.matches(text[:-1])


def test_the_file_is_private_and_goes_with_the_gateway(home: Home) -> None:
    token = fresh_token("ptk-")
    old = os.umask(0)
    try:
        file = ProviderTokenFile.write(home, token, DEFAULT_PORT)
    finally:
        os.umask(old)
    assert file.path == default_token_file(home.copilot)
    assert file.path == home.copilot / "extensions" / "tap" / ".provider-token"
    assert file.path.read_text() == token.reveal()
    assert mode(file.path) == 0o600
    assert mode(file.path.parent) == 0o700
    file.remove()
    assert not file.path.exists()
    file.remove()


def test_an_open_parent_is_closed_to_others(home: Home) -> None:
    folder = default_token_file(home.copilot).parent
    folder.mkdir(parents=True)
    folder.chmod(0o755)
    ProviderTokenFile.write(home, fresh_token("ptk-"), DEFAULT_PORT).remove()
    assert mode(folder) == 0o700


def test_a_live_gateway_s_token_is_never_overwritten(home: Home) -> None:
    first = fresh_token("ptk-")
    file = ProviderTokenFile.write(home, first, DEFAULT_PORT)
    with pytest.raises(TokenFileUnavailable, match="belongs to another running gateway"):
        ProviderTokenFile.write(home, fresh_token("ptk-"), 9500)
    assert file.path.read_text() == first.reveal()
    file.remove()


def test_a_dead_gateway_s_token_is_replaced(home: Home) -> None:
    code = (
        "import os, sys\n"
        "from pathlib import Path\n"
        "from tapui.home.run_folder import Home\n"
        "from tapui.home.tokens import ProviderTokenFile, fresh_token\n"
        "home = Home.at(Path(sys.argv[1]), Path(sys.argv[2]))\n"
        "ProviderTokenFile.write(home, fresh_token('ptk-'), 9400)\n"
        "os._exit(0)\n"
    )
    argv = [sys.executable, "-c", code, str(home.state), str(home.copilot)]
    subprocess.run(argv, check=True, timeout=30)
    stale = default_token_file(home.copilot).read_text()
    file = ProviderTokenFile.write(home, fresh_token("ptk-"), DEFAULT_PORT)
    assert file.path.read_text() != stale
    file.remove()


def test_what_somebody_else_wrote_since_is_left(home: Home) -> None:
    file = ProviderTokenFile.write(home, fresh_token("ptk-"), DEFAULT_PORT)
    file.path.write_text("ptk-of-another-gateway")
    file.remove()
    assert default_token_file(home.copilot).read_text() == "ptk-of-another-gateway"


def test_the_file_of_a_gateway_that_knows_no_locks_is_left_while_its_port_answers(
    home: Home,
) -> None:
    default_token_file(home.copilot).parent.mkdir(parents=True)
    default_token_file(home.copilot).write_text("ptk-of-the-other-implementation")
    asked: list[int] = []
    with pytest.raises(TokenFileUnavailable, match="is left to the gateway on port 9400"):
        ProviderTokenFile.write(
            home, fresh_token("ptk-"), 9500, answers=lambda port: asked.append(port) or True
        )
    assert asked == [DEFAULT_PORT]
    assert default_token_file(home.copilot).read_text() == "ptk-of-the-other-implementation"
    # Whoever holds that port itself knows that the other one is gone.
    ProviderTokenFile.write(home, fresh_token("ptk-"), DEFAULT_PORT).remove()
    assert not default_token_file(home.copilot).exists()


def test_a_planted_link_for_the_file_is_replaced_not_followed(home: Home, tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("precious")
    default_token_file(home.copilot).parent.mkdir(parents=True)
    default_token_file(home.copilot).symlink_to(victim)
    file = ProviderTokenFile.write(home, fresh_token("ptk-"), DEFAULT_PORT)
    assert not file.path.is_symlink()
    assert victim.read_text() == "precious"
    # A link that comes later is neither followed nor removed.
    file.path.unlink()
    file.path.symlink_to(victim)
    file.remove()
    assert file.path.is_symlink()
    assert victim.read_text() == "precious"


@pytest.mark.parametrize("part", ["extensions", "extensions/tap"])
def test_a_planted_link_for_the_folder_is_not_followed(
    home: Home, tmp_path: Path, part: str
) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    link = home.copilot / part
    link.parent.mkdir(parents=True, exist_ok=True)
    link.symlink_to(elsewhere)
    with pytest.raises(TokenFileUnavailable, match="is a link"):
        ProviderTokenFile.write(home, fresh_token("ptk-"), DEFAULT_PORT)
    assert list(elsewhere.iterdir()) == []


def test_a_link_for_the_temporary_file_is_not_written_through(home: Home, tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("precious")
    default_token_file(home.copilot).parent.mkdir(parents=True)
    (default_token_file(home.copilot).parent / ".provider-token.new").symlink_to(victim)
    ProviderTokenFile.write(home, fresh_token("ptk-"), DEFAULT_PORT).remove()
    assert victim.read_text() == "precious"


def test_copilot_s_home_itself_may_be_a_link(home: Home, tmp_path: Path) -> None:
    real = tmp_path / "dotfiles"
    real.mkdir()
    home.copilot.symlink_to(real)
    file = ProviderTokenFile.write(home, Secret("ptk-x"), DEFAULT_PORT)
    assert (real / "extensions/tap/.provider-token").read_text() == "ptk-x"
    file.remove()


def test_a_place_that_cannot_be_written_is_said_in_words(home: Home) -> None:
    home.copilot.write_text("a file where a folder should be")
    with pytest.raises(TokenFileUnavailable, match="cannot be written"):
        ProviderTokenFile.write(home, fresh_token("ptk-"), DEFAULT_PORT)
