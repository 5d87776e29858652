"""Discovery with real processes: what counts as a running CLI, and which port is its own."""

import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import psutil

from tapui.hosts.copilot.finding.discovery import Cli, Discovery, Process, ports_of
from tapui.hosts.copilot.finding.unattached_sessions import unattached
from tapui.hosts.copilot.install.own_files import ExtensionFile
from tests.hosts.conftest import Pretender
from tests.rig.waiting import until
from tests.runtime.test_askers import on_a_terminal

Pretend = Callable[..., Pretender]


def test_nothing_is_found_where_no_cli_ever_ran(copilot_home: Path) -> None:
    assert Discovery(copilot_home).scan() == []


def test_process_with_a_lock_is_found_with_its_own_port_only(
    copilot_home: Path, pretend: Pretend
) -> None:
    cli, stranger = pretend("127.0.0.1"), pretend("127.0.0.1")
    lock = cli.hold("s1")
    discovery = Discovery(copilot_home)
    (found,) = discovery.scan()
    assert found.process.pid == cli.process.pid
    assert found.ports == tuple(cli.ports)
    assert not set(found.ports) & set(stranger.ports)
    assert found.sessions == ("s1",)
    assert found.cwd == str(Path.cwd())
    assert found.process.is_alive()
    assert Discovery(copilot_home, uid=os.getuid() + 1).scan() == [], "it is another user's"
    (again,) = discovery.scan(known=[found.process])
    assert (again.ports, again.sessions) == ((), ("s1",)), "its ports are not asked for again"
    assert (again.listens, ports_of([again])) == (found.ports, list(found.ports))
    info = lock.stat()
    os.utime(lock, (info.st_atime, info.st_mtime - 3600))
    assert Discovery(copilot_home).scan() == [], "a lock that is older is another one's"


def test_cli_without_a_session_is_told_by_its_terminal(copilot_home: Path) -> None:
    """It resumes, say: there is no lock before its first prompt."""
    logs = copilot_home / "logs"
    logs.mkdir(parents=True)
    discovery = Discovery(copilot_home)
    assert discovery.scan() == []
    shell = ("sh", "-c", "sleep 1000 & echo x; wait")
    with on_a_terminal(*shell) as pid, subprocess.Popen(["sleep", "1000"]) as hidden:
        started = psutil.Process(pid).create_time()
        (extension,) = until(psutil.Process(pid).children, what="what it runs")
        for id_, since in ((pid, 1), (pid, -3600), (extension.pid, 1), (hidden.pid, 1), (2**30, 1)):
            (logs / f"process-{(started + since) * 1000:.0f}-{id_}.log").touch()
        try:
            (found,) = discovery.scan()
        finally:
            hidden.kill()
        assert (found.process.pid, found.sessions, found.is_attachable) == (pid, (), False)
        old = replace(found, process=replace(found.process, started=0.0))
        (told,) = unattached([old], copilot_home)
        assert (told.id, told.pid, told.hint) == (f"pid {pid}", pid, "")
        assert told.why == f"starting in {found.cwd}: look at its terminal"
        assert unattached([found], copilot_home) == []
    assert discovery.scan() == []


def test_only_ports_of_the_address_that_is_connected_to_count(
    copilot_home: Path, pretend: Pretend
) -> None:
    pretend("0.0.0.0", "127.0.0.2").hold("s1")
    (found,) = Discovery(copilot_home).scan()
    assert found.ports == ()


def test_sessions_of_one_process_come_newest_first(copilot_home: Path, pretend: Pretend) -> None:
    cli = pretend("127.0.0.1")
    older = cli.hold("older")
    cli.hold("newer")
    began = Process(cli.process.pid, 0).started
    os.utime(older, (began, older.stat().st_mtime - 1))
    (found,) = Discovery(copilot_home).scan()
    assert found.sessions == ("newer", "older")


def test_lock_of_a_dead_process_is_ignored(copilot_home: Path, pretend: Pretend) -> None:
    cli = pretend("127.0.0.1")
    cli.hold("s1")
    discovery = Discovery(copilot_home)
    (found,) = discovery.scan()
    cli.kill()
    assert discovery.scan() == []
    assert not found.process.is_alive()


def test_zombie_counts_as_dead(copilot_home: Path, pretend: Pretend) -> None:
    cli = pretend("127.0.0.1")
    cli.hold("s1")
    discovery = Discovery(copilot_home)
    (found,) = discovery.scan()
    cli.process.kill()  # and not waited for
    until(lambda: not found.process.is_alive(), what="the zombie is seen as dead")
    assert discovery.scan() == []


def test_planted_links_are_not_followed(
    copilot_home: Path, tmp_path: Path, pretend: Pretend
) -> None:
    cli = pretend("127.0.0.1")
    state = copilot_home / "session-state"
    (state / "s1").mkdir(parents=True)
    (tmp_path / "lock").write_text("")
    (state / "s1" / f"inuse.{cli.process.pid}.lock").symlink_to(tmp_path / "lock")
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / f"inuse.{cli.process.pid}.lock").write_text("")
    (state / "s2").symlink_to(tmp_path / "elsewhere")
    assert Discovery(copilot_home).scan() == []


def test_locks_that_come_and_go_are_noticed(copilot_home: Path, pretend: Pretend) -> None:
    cli = pretend("127.0.0.1")
    discovery = Discovery(copilot_home)
    first = cli.hold("s1")
    assert [one.sessions for one in discovery.scan()] == [("s1",)]
    cli.hold("s2")
    assert [sorted(one.sessions) for one in discovery.scan()] == [["s1", "s2"]]
    first.unlink()
    assert [one.sessions for one in discovery.scan()] == [("s2",)]


def started_long_ago(cli: Cli) -> Cli:
    """Return a CLI that has had the time to open its port."""
    return replace(cli, process=Process(cli.process.pid, 0.0))


def test_ports_that_are_forbidden_are_no_way_in(copilot_home: Path, pretend: Pretend) -> None:
    cli = pretend("127.0.0.1")
    cli.hold("s1")
    (found,) = Discovery(copilot_home, with_ports=False).scan()
    assert found.ports == ()
    assert ports_of([found]) == cli.ports
    assert not found.is_attachable
    found = started_long_ago(found)
    (told,) = unattached([found], copilot_home, with_ports=False)
    assert told.hint == "tapui copilot --resume s1"
    (told,) = unattached([found], copilot_home)
    assert told.hint == "copilot --ui-server --resume s1"
    ExtensionFile(copilot_home).install()
    (told,) = unattached([found], copilot_home)
    assert told.hint == "tapui copilot --resume s1"


def test_what_another_program_has_in_a_server_of_its_own_is_not_listed(copilot_home: Path) -> None:
    code = "import time; time.sleep(600)"
    server = subprocess.Popen([sys.executable, "-c", code, "--headless"])
    try:
        folder = copilot_home / "session-state" / "s1"
        folder.mkdir(parents=True)
        (folder / f"inuse.{server.pid}.lock").write_text("")
        (found,) = map(started_long_ago, Discovery(copilot_home).scan())
        assert found.is_headless
        assert unattached([found], copilot_home) == []
    finally:
        server.kill()
        server.wait()
