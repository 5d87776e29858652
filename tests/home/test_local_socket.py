"""The gateway's Unix socket: where it may be, whose it is, and who is at its other end."""

import os
import socket
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from tapui.home.local_socket import SOCKET_FILE, Peer, connect, listen, peer_of

CONNECTS = """
import sys
from pathlib import Path
from tapui.home.local_socket import connect, peer_of
line = connect(Path(sys.argv[1]))
print(peer_of(line).pid, flush=True)
sys.stdin.read()
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "run" / "9400"
    made.mkdir(parents=True, mode=0o700)
    return made


def long_folder(tmp_path: Path) -> Path:
    made = tmp_path.joinpath(*["a folder with quite a long name"] * 8, "9400")
    made.mkdir(parents=True, mode=0o700)
    return made


def test_only_its_user_can_open_it(folder: Path) -> None:
    with listen(folder):
        info = (folder / SOCKET_FILE).lstat()
        assert stat.S_ISSOCK(info.st_mode)
        assert stat.S_IMODE(info.st_mode) == 0o600


def test_each_end_knows_the_other_process(folder: Path) -> None:
    with listen(folder) as opened:
        client = subprocess.Popen(
            [sys.executable, "-c", CONNECTS, str(folder / SOCKET_FILE)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        assert client.stdout is not None
        assert int(client.stdout.readline()) == os.getpid()
        accepted, _ = opened.accept()
        with accepted:
            assert peer_of(accepted) == Peer(client.pid, os.geteuid())
        client.communicate()


def test_what_is_no_unix_socket_has_no_process() -> None:
    with socket.socket() as tcp:
        assert peer_of(tcp).pid is None


def test_a_folder_with_a_long_path_has_one_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scratch = tmp_path / "tmp"
    scratch.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(scratch) if len(str(scratch)) < 50 else "/tmp")
    folder = long_folder(tmp_path)
    with listen(folder) as opened, connect(folder / SOCKET_FILE):
        accepted, _ = opened.accept()
        accepted.close()
    assert list(folder.iterdir()) == [folder / SOCKET_FILE]
    assert list(scratch.iterdir()) == []


def test_a_long_temporary_folder_is_no_hindrance(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = long_folder(tmp_path)
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    with listen(folder), connect(folder / SOCKET_FILE):
        assert list(folder.iterdir()) == [folder / SOCKET_FILE]


def test_what_a_killed_gateway_left_is_replaced(folder: Path) -> None:
    listen(folder).close()
    assert (folder / SOCKET_FILE).exists()
    with pytest.raises(ConnectionRefusedError):
        connect(folder / SOCKET_FILE)
    with listen(folder), connect(folder / SOCKET_FILE):
        pass


def test_a_link_in_its_place_is_replaced_and_not_followed(folder: Path, tmp_path: Path) -> None:
    precious = tmp_path / "precious"
    precious.write_text("kept")
    (folder / SOCKET_FILE).symlink_to(precious)
    with listen(folder):
        assert not (folder / SOCKET_FILE).is_symlink()
    assert precious.read_text() == "kept"


def test_a_client_takes_no_link(folder: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir(mode=0o700)
    with listen(other):
        (folder / SOCKET_FILE).symlink_to(other / SOCKET_FILE)
        with pytest.raises(OSError, match="not a socket"):
            connect(folder / SOCKET_FILE)


def test_a_client_takes_none_in_a_folder_that_others_may_enter(folder: Path) -> None:
    with listen(folder):
        folder.chmod(0o711)
        with pytest.raises(PermissionError, match="not only this user's"):
            connect(folder / SOCKET_FILE)


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to give files to another user")
@pytest.mark.parametrize("given", ["folder", "socket"])
def test_a_client_takes_none_of_another_user(folder: Path, given: str) -> None:
    with listen(folder):
        os.chown(folder if given == "folder" else folder / SOCKET_FILE, 12345, -1)
        with pytest.raises(PermissionError, match="not only this user's"):
            connect(folder / SOCKET_FILE)


LISTENS = """
import os, socket, sys
os.setuid(12345)
line = socket.socket(fileno=int(sys.argv[1]))
line.listen()
print("ready", flush=True)
sys.stdin.read()
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to listen as another user")
def test_a_client_takes_none_on_which_another_user_listens(folder: Path) -> None:
    with socket.socket(socket.AF_UNIX) as bound:
        bound.bind(str(folder / SOCKET_FILE))
        other = subprocess.Popen(
            [sys.executable, "-c", LISTENS, str(bound.fileno())],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            pass_fds=[bound.fileno()],
        )
        assert other.stdout is not None
        assert other.stdout.readline() == b"ready\n"
        with pytest.raises(PermissionError, match="another user listens"):
            connect(folder / SOCKET_FILE)
        other.communicate()
