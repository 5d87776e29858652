"""What only root can do for one test: a full disk, and programs that start others (cron, at, sshd).

cron and at have mounts of their own, with their queues on empty file systems: nothing that the
machine has is read or changed.
"""

import ctypes
import os
import shlex
import shutil
import socket
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.rig.waiting import HUNG, until

_QUEUES = """\
mount -t tmpfs none /run
mount -t tmpfs none /var/spool/cron
mkdir -m 1730 /var/spool/cron/crontabs
mkdir -m 1770 /var/spool/cron/atjobs /var/spool/cron/atspool
touch /var/spool/cron/atjobs/.SEQ
chown -R daemon:daemon /var/spool/cron/at*
"""


WITHOUT_RIGHTS = ("setpriv", "--bounding-set=-all", "--inh-caps=-all")
"""What runs a program of root's as one of an ordinary user: without capabilities."""


def need(*programs: str) -> None:
    """Skip the test where a program is missing; `root` is no program: the test must run as root."""
    for one in programs:
        if one == "root" and os.geteuid():
            pytest.skip("not root")
        if one != "root" and shutil.which(one) is None:
            pytest.skip(one)


def need_user_manager() -> None:
    """Skip the test where no systemd runs for this user."""
    need("systemd-run", "systemctl")
    active = ["systemctl", "--user", "is-active", "-q", "default.target"]
    if subprocess.run(active, stderr=subprocess.DEVNULL, check=False).returncode:
        pytest.skip("systemd --user")


@contextmanager
def _running(argv: Sequence[str], text: str = "") -> Iterator[int]:
    process = subprocess.Popen(
        argv, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    )
    assert process.stdin is not None
    process.stdin.write(text)
    process.stdin.close()
    try:
        yield process.pid
    finally:
        process.terminate()
        process.wait(HUNG)
        assert process.stderr is not None
        process.stderr.close()


@contextmanager
def small_disk(path: Path) -> Iterator[None]:
    """Have a file system of 64 KiB at `path`."""
    need("root")
    path.mkdir()
    libc = ctypes.CDLL(None)
    if libc.mount(b"tmpfs", os.fsencode(path), b"tmpfs", 0, b"size=64k,mode=700") != 0:
        pytest.skip("no file system can be mounted here")
    try:
        yield
    finally:
        libc.umount2(os.fsencode(path), 2)


def fill(disk: Path) -> None:
    """Leave no room on a file system; to remove `full` makes room again."""
    with (disk / "full").open("wb", buffering=0) as file, suppress(OSError):
        while True:
            file.write(b"x" * 4096)
    assert os.statvfs(disk).f_bavail == 0


@contextmanager
def cron(command: str) -> Iterator[None]:
    """Let cron run a command, as it starts."""
    need("root", "unshare", "cron", "crontab")
    script = f"set -e\n{_QUEUES}mount -t tmpfs none /etc/cron.d\ncrontab -\nexec cron -f"
    jobs = f"SHELL=/bin/sh\n@reboot {command}\n"
    with _running(["unshare", "-m", "sh", "-c", script], jobs):
        yield


@contextmanager
def at() -> Iterator[str]:
    """Run atd; yield what stands before a shell's command that adds a job to its queue."""
    need("root", "unshare", "nsenter", "atd", "at")
    script = f"set -e\n{_QUEUES}exec atd -f"
    with _running(["unshare", "-m", "sh", "-c", script]) as pid:
        written = Path(f"/proc/{pid}/root/run/atd.pid")
        until(written.exists, what="atd runs")
        yield f"nsenter -t {pid} -m"


@dataclass(frozen=True)
class Sshd:
    """A server on a loopback port, and the key that it takes."""

    port: int
    key: Path

    def argv(self, *command: str) -> list[str]:
        """Return the command line that runs a command on a terminal there."""
        options = {
            "StrictHostKeyChecking": "no",
            "UserKnownHostsFile": "/dev/null",
            "LogLevel": "ERROR",
        }
        said = [word for name, value in options.items() for word in ("-o", f"{name}={value}")]
        to = ["-F", "/dev/null", "-i", str(self.key), "-p", str(self.port), *said, "localhost"]
        return ["ssh", "-tt", *to, shlex.join(command)]


@contextmanager
def sshd(folder: Path) -> Iterator[Sshd]:
    """Run an ssh server with keys of its own."""
    need("root", "ssh", "sshd", "ssh-keygen")
    folder.mkdir()
    for name in ("host", "person"):
        key = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(folder / name)]
        subprocess.run(key, check=True)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    (folder / "config").write_text(
        f"Port {port}\nListenAddress 127.0.0.1\nHostKey {folder / 'host'}\n"
        f"AuthorizedKeysFile {folder / 'person.pub'}\nPidFile {folder / 'pid'}\n"
        "PermitRootLogin yes\nStrictModes no\nUsePAM no\nPrintMotd no\n"
    )
    script = "set -e\nmount -t tmpfs none /run\nmkdir /run/sshd\nexec $0 -D -f $1"
    program = shutil.which("sshd")
    assert program is not None
    with _running(["unshare", "-m", "sh", "-c", script, program, str(folder / "config")]):
        until((folder / "pid").exists, what="sshd listens")
        yield Sshd(port, folder / "person")
