"""The process at the other end of a Unix socket is the one that connected, whatever has its id."""

import contextlib
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tapui.home import local_socket
from tapui.home.local_socket import Peer, peer_of
from tapui.runtime.processes.sights import PeerProcess, begun
from tests.runtime.rawclient import open_descriptors

LAST_PID = Path("/proc/sys/kernel/ns_last_pid")
CONNECTS = """
import socket, sys
with socket.socket(socket.AF_UNIX) as line, socket.socket(fileno=int(sys.argv[2])) as back:
    line.connect(sys.argv[1])
    socket.send_fds(back, [b"x"], [line.fileno()])
    back.recv(1)
"""


class Connecting:
    """A process that has connected and has given its end of the connection away."""

    def __init__(self, folder: Path) -> None:
        listener = local_socket.listen(folder)
        listener.setblocking(True)
        self._ours, theirs = socket.socketpair()
        path = str(folder / local_socket.SOCKET_FILE)
        self.process = subprocess.Popen(
            [sys.executable, "-c", CONNECTS, path, str(theirs.fileno())],
            pass_fds=[theirs.fileno()],
        )
        theirs.close()
        _, fds, _, _ = socket.recv_fds(self._ours, 1, 1)
        self._kept = [socket.socket(fileno=one) for one in fds]
        self.accepted, _ = listener.accept()
        listener.close()

    def end(self) -> None:
        """Let the process end; the connection stays."""
        self._ours.close()
        self.process.wait()

    def close(self) -> None:
        self.end()
        for one in (self.accepted, *self._kept):
            one.close()


@pytest.fixture
def connecting(tmp_path: Path) -> Iterator[Connecting]:
    with contextlib.closing(Connecting(tmp_path)) as made:
        yield made


@contextlib.contextmanager
def with_the_id(pid: int) -> Iterator[None]:
    """Have another process of an id that is free."""
    while True:  # other programs take ids, too
        LAST_PID.write_text(str(pid - 1))
        with subprocess.Popen(["sleep", "1000"]) as other:
            try:
                if other.pid == pid:
                    yield
                    return
            finally:
                other.kill()


def is_still(peer: Peer) -> bool:
    try:
        process = PeerProcess(peer)
    except ProcessLookupError:
        return False
    with contextlib.closing(process):
        return process.is_still()


@pytest.fixture(params=["with its descriptor", "without one"])
def kernel(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Whether the system gives descriptors of processes."""
    if request.param == "without one":
        monkeypatch.setattr(local_socket, "_SO_PEERPIDFD", 9_999)
    return str(request.param)


@pytest.mark.usefixtures("kernel")
def test_it_is_the_same_until_it_ends(connecting: Connecting) -> None:
    peer = begun(peer_of(connecting.accepted))
    assert peer.pid == connecting.process.pid
    assert is_still(peer)
    connecting.end()
    assert not is_still(peer)


def root_only() -> None:
    if os.geteuid() != 0 or not os.access(LAST_PID, os.W_OK):
        pytest.skip("needs root, to choose the id of a process")


@pytest.mark.usefixtures("kernel")
def test_another_process_of_its_id_is_not_it(connecting: Connecting) -> None:
    root_only()
    peer = begun(peer_of(connecting.accepted))
    connecting.end()
    assert peer.pid is not None
    with with_the_id(peer.pid):
        assert not is_still(peer)


def test_nor_is_one_that_has_its_id_before_the_connection_was_accepted(
    connecting: Connecting,
) -> None:
    root_only()
    if peer_of(connecting.accepted).handle() is None:
        pytest.skip("needs Linux 6.5, for descriptors of processes")
    connecting.end()
    pid = connecting.process.pid
    with with_the_id(pid):
        peer = begun(peer_of(connecting.accepted))
        assert (peer.pid, peer.start is not None) == (pid, True)
        assert not is_still(peer)


def test_no_descriptor_is_kept(connecting: Connecting) -> None:
    peer = begun(peer_of(connecting.accepted))
    before = open_descriptors()
    for _ in range(10):
        assert is_still(peer)
    assert open_descriptors() == before
