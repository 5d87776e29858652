"""Where records go: names, modes, links, unusable workspaces, a second writer, the register."""

import os
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tapui.files.locked_folder import folder_name
from tapui.records import register
from tapui.wire import events as ev
from tests.records.turns import (
    Writer,
    closed,
    lines,
    opened,
    refused,
    seqs,
    session,
    started,
    wait_until,
)

HOLDER = """
import fcntl, os, sys
fd = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT, 0o600)
fcntl.flock(fd, fcntl.LOCK_EX)
os.write(fd, b"%d\\n" % os.getpid())
print("held", flush=True)
sys.stdin.read()
"""


def mode(path: Path) -> int:
    return stat.S_IMODE(path.lstat().st_mode)


# Names


@pytest.mark.parametrize("identity", ["s1", "0f8e-4c.2_b", "a" * 64, "...a", "A", ".hidden"])
def test_plain_identities_are_their_own_name(identity: str) -> None:
    assert folder_name(identity) == identity


@pytest.mark.parametrize(
    "identity", ["", ".", "..", "...", "a/b", "../../etc", "a\0b", "a+1", "ü", "a" * 65, "a\nb"]
)
def test_other_identities_get_a_hash(identity: str) -> None:
    name = folder_name(identity)
    assert name != identity
    assert name.strip(".")


@given(st.lists(st.text(max_size=80), unique=True, max_size=20))
def test_names_are_safe_and_keep_identities_apart(identities: list[str]) -> None:
    names = [folder_name(identity) for identity in identities]
    assert len(set(names)) == len(names)
    for name in names:
        assert set(name) <= set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-")
        assert name not in ("", ".", "..")
        assert len(name) <= 100


# Modes


def test_folders_are_0700_and_files_0600(state: Path, workspace: Path) -> None:
    previous = os.umask(0)
    try:
        with Writer(state) as writer:
            writer.turn(opened("s1", workspace), opened("s2"), refused("x"))
    finally:
        os.umask(previous)
    for root in (state, workspace / "files"):
        assert mode(root) == 0o700
        for path in root.rglob("*"):
            assert mode(path) == (0o700 if path.is_dir() else 0o600), path


def test_what_was_opened_to_others_is_closed_again(state: Path, workspace: Path) -> None:
    tap = workspace / "files/tap"
    tap.mkdir(parents=True)
    tap.chmod(0o777)
    (tap / "sessions.jsonl").touch(0o666)
    (tap / "sessions.jsonl").chmod(0o666)
    with Writer(state) as writer:
        writer.turn(opened("s1", workspace))
    assert mode(tap) == 0o700
    assert mode(tap / "sessions.jsonl") == 0o600


# Links and other obstacles


@pytest.mark.parametrize("planted", ["files", "files/tap"])
def test_a_planted_link_to_a_folder_is_not_followed(
    planted: str, state: Path, workspace: Path, tmp_path: Path
) -> None:
    target = tmp_path / "elsewhere"
    target.mkdir()
    link = workspace / planted
    link.parent.mkdir(exist_ok=True)
    link.symlink_to(target)
    with Writer(state) as writer:
        assert writer.turn(opened("s1", workspace), started("s1", "c1")) == frozenset()
    assert list(target.iterdir()) == []
    assert seqs(state / "sessions/s1/sessions.jsonl") == [1]
    assert seqs(state / "sessions/s1/calls.jsonl") == [2]
    [warning] = writer.warnings()
    assert f"{link.name} is a link" in warning
    assert str(state / "sessions/s1") in warning


def test_a_planted_link_to_a_file_is_not_followed(
    state: Path, workspace: Path, tmp_path: Path
) -> None:
    target = tmp_path / "precious"
    target.write_text("precious")
    with Writer(state) as writer:
        writer.turn(opened("s1", workspace))
        (workspace / "files/tap/calls.jsonl").symlink_to(target)
        assert writer.turn(started("s1", "c1")) == frozenset()
        assert writer.turn(closed("s1")) == frozenset()
    assert target.read_text() == "precious"
    assert seqs(workspace / "files/tap/sessions.jsonl") == [1]
    assert seqs(state / "sessions/s1/calls.jsonl") == [2]
    assert seqs(state / "sessions/s1/sessions.jsonl") == [3]
    assert len(writer.warnings()) == 1
    assert register.folders(state, "s1") == [workspace / "files/tap", state / "sessions/s1"]


def test_a_planted_hard_link_is_not_written(state: Path, workspace: Path, tmp_path: Path) -> None:
    target = tmp_path / "precious"
    target.write_text("precious without a line feed")
    (workspace / "files/tap").mkdir(parents=True)
    (workspace / "files/tap/calls.jsonl").hardlink_to(target)
    with Writer(state) as writer:
        assert writer.turn(opened("s1", workspace), started("s1", "c1")) == frozenset()
    assert target.read_text() == "precious without a line feed"
    assert seqs(state / "sessions/s1/calls.jsonl") == [2]
    (warning,) = writer.warnings()
    assert "calls.jsonl: it is a hard link" in warning


def test_a_hard_link_in_the_place_of_a_lock_is_not_cut(
    state: Path, workspace: Path, tmp_path: Path
) -> None:
    target = tmp_path / "precious"
    target.write_text("precious")
    (workspace / "files/tap").mkdir(parents=True)
    (workspace / "files/tap/.lock").hardlink_to(target)
    with Writer(state) as writer:
        assert writer.turn(opened("s1", workspace)) == frozenset()
    assert target.read_text() == "precious"
    assert "hard link" in writer.warnings()[0]
    (state / "sessions.jsonl").unlink()
    (state / "sessions.jsonl").hardlink_to(target)
    with pytest.raises(OSError, match="hard link"):
        register.note(state, "s1", workspace)
    assert target.read_text() == "precious"


def test_a_planted_pipe_neither_blocks_nor_is_written(state: Path, workspace: Path) -> None:
    tap = workspace / "files/tap"
    tap.mkdir(parents=True)
    os.mkfifo(tap / "calls.jsonl")
    with Writer(state) as writer:
        assert writer.turn(opened("s1", workspace), started("s1", "c1")) == frozenset()
    assert seqs(state / "sessions/s1/calls.jsonl") == [2]


def test_a_link_to_the_workspace_itself_is_the_hosts_business(
    state: Path, workspace: Path, tmp_path: Path
) -> None:
    link = tmp_path / "home"
    link.symlink_to(workspace)
    with Writer(state) as writer:
        writer.turn(opened("s1", link))
        assert writer.reports == []
    assert seqs(workspace / "files/tap/sessions.jsonl") == [1]


@pytest.mark.parametrize("path", ["{}/missing", "relative/path", "{}/nul\0byte", "", "{}/file"])
def test_an_unusable_workspace_is_told_and_replaced(path: str, state: Path, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with Writer(state) as writer:
        assert writer.turn(opened("s1", path.format(tmp_path))) == frozenset()
        assert writer.turn(started("s1", "c1")) == frozenset()
    assert seqs(state / "sessions/s1/sessions.jsonl") == [1]
    assert seqs(state / "sessions/s1/calls.jsonl") == [2]
    assert len(writer.warnings()) == 1
    assert not (tmp_path / "missing").exists()


def test_a_workspace_that_appears_later_is_used_from_then_on(state: Path, tmp_path: Path) -> None:
    workspace = tmp_path / "later"
    update = ev.SessionUpdated("s1", session("s1", workspace))
    with Writer(state) as writer:
        writer.turn(opened("s1", workspace))
        writer.turn(update)
        workspace.mkdir()
        writer.turn(started("s1", "c1"))
        writer.turn(update, started("s1", "c2"))
        writer.turn(update)
        assert [level for level, _ in writer.reports] == ["warning", "info"]
    assert seqs(state / "sessions/s1/sessions.jsonl") == [1, 2]
    assert seqs(state / "sessions/s1/calls.jsonl") == [3]
    assert seqs(workspace / "files/tap/sessions.jsonl") == [4, 6]
    assert seqs(workspace / "files/tap/calls.jsonl") == [5]
    assert set(register.folders(state, "s1")) == {state / "sessions/s1", workspace / "files/tap"}


READ_ONLY = """
import os, sys
from pathlib import Path
from tests.records.turns import Writer, opened, started
state, workspace = Path(sys.argv[1]), Path(sys.argv[2])
if os.geteuid() == 0:
    os.setgroups([])
    os.setgid(65534)
    os.setuid(65534)
with Writer(state) as writer:
    lost = writer.turn(opened("s1", workspace), started("s1", "c1"))
assert lost == frozenset(), lost
[warning] = writer.warnings()
print(warning)
"""


@pytest.fixture
def public() -> Iterator[Path]:
    """A folder that any user may enter and write to (pytest's own are closed)."""
    with tempfile.TemporaryDirectory(prefix="tapui-records-") as name:
        folder = Path(name)
        folder.chmod(0o777)
        yield folder


def test_a_read_only_workspace_is_told_and_replaced(public: Path) -> None:
    workspace = public / "workspace"
    workspace.mkdir()
    workspace.chmod(0o555)
    done = subprocess.run(
        [sys.executable, "-c", READ_ONLY, str(public / "state"), str(workspace)],
        capture_output=True, text=True, timeout=30, check=False, cwd=Path(__file__).parents[2],
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "Permission denied; records of session s1 go to" in done.stdout
    assert list(workspace.iterdir()) == []


def test_no_usable_folder_at_all_is_told_once_and_returned(tmp_path: Path) -> None:
    state = tmp_path / "state"
    state.write_text("in the way")
    with Writer(state) as writer:
        assert writer.turn(refused("x")) == {1}
        assert writer.turn(refused("y"), refused("z")) == {2, 3}
        assert not writer.sync([2])
        [warning] = writer.warnings()
        assert "Records cannot be written" in warning
        assert str(state) in warning
        state.unlink()
        writer.now += 5
        assert writer.turn(refused("again")) == frozenset()
        assert writer.sync([4])
        assert writer.reports[1:] == [("info", "Records are written again; 3 are missing")]
    assert seqs(state / "gateway/errors.jsonl") == [4]


def test_reports_carry_no_raw_control_characters(state: Path, tmp_path: Path) -> None:
    with Writer(state) as writer:
        writer.turn(opened("s\x1b[2J1", f"{tmp_path}/\x1b]0;x\x07"))
    [warning] = writer.warnings()
    assert "\x1b" not in warning
    assert "\\x1b[2J1" in warning


# A folder that goes away


def test_a_deleted_workspace_is_noticed_and_replaced(state: Path, workspace: Path) -> None:
    with Writer(state) as writer:
        writer.turn(opened("s1", workspace), started("s1", "c1"))
        assert writer.sync([2])
        for path in sorted(workspace.rglob("*"), reverse=True):
            path.rmdir() if path.is_dir() else path.unlink()
        workspace.rmdir()
        writer.turn(started("s1", "c2"))
        assert not writer.sync([3])
        assert writer.turn(started("s1", "c3")) == frozenset()
        assert writer.sync([4])
    assert seqs(state / "sessions/s1/calls.jsonl") == [4]
    assert any("was deleted while it was in use" in line for _, line in writer.reports)


def test_a_deleted_file_is_made_again(state: Path) -> None:
    path = state / "gateway/errors.jsonl"
    with Writer(state) as writer:
        writer.turn(refused("x"))
        assert writer.sync([1])
        path.unlink()
        writer.turn(refused("y"))
        assert not writer.sync([2])
        assert writer.turn(refused("z")) == frozenset()
        assert writer.sync([3])
    assert seqs(path) == [3]


# A second writer


def test_a_second_writer_goes_elsewhere_and_says_so(state: Path, workspace: Path) -> None:
    tap = workspace / "files/tap"
    tap.mkdir(parents=True)
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(tap / ".lock")],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    ) as holder:  # fmt: skip
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        with Writer(state) as writer:
            assert writer.turn(opened("s1", workspace)) == frozenset()
            [warning] = writer.warnings()
            assert f"process {holder.pid} writes there" in warning
            assert str(state / "sessions/s1") in warning
        assert holder.stdin is not None
        holder.stdin.close()
    assert seqs(state / "sessions/s1/sessions.jsonl") == [1]
    assert not (tap / "sessions.jsonl").exists()


def test_a_second_gateway_of_one_home_writes_beside_the_first(state: Path) -> None:
    with Writer(state, run="one") as first, Writer(state, run="two") as second:
        first.turn(opened("local"), refused("x"))
        assert second.turn(opened("local"), refused("y")) == frozenset()
        assert len(second.warnings()) == 2
        other = f"local+{os.getpid()}"
        assert [line["run"] for line in lines(state / "sessions" / other / "sessions.jsonl")] == [
            "two"
        ]
        assert set(register.folders(state, "local")) == {
            state / "sessions/local",
            state / "sessions" / other,
        }
        assert register.gateway_folders(state) == [
            state / "gateway",
            state / f"gateway+{os.getpid()}",
        ]
        with Writer(state, run="three") as third:
            assert third.turn(opened("local")) == frozenset()
            assert seqs(state / "sessions" / f"{other}-2" / "sessions.jsonl") == [1]


def test_no_file_of_an_ended_session_stays_open(state: Path, tmp_path: Path) -> None:
    workspace = tmp_path / "later"
    with Writer(state) as writer:
        writer.turn(refused("x"))
        assert writer.sync(None)
        before = len(list(Path("/dev/fd").iterdir()))
        writer.turn(opened("s1", workspace))
        workspace.mkdir()
        writer.turn(ev.SessionUpdated("s1", session("s1", workspace)))
        writer.turn(closed("s1"))
        wait_until(lambda: len(list(Path("/dev/fd").iterdir())) == before)


def test_the_lock_is_free_after_close_and_after_the_session(state: Path) -> None:
    with Writer(state, run="one") as first:
        first.turn(opened("s1"), closed("s1"))
        with Writer(state, run="two") as second:
            second.turn(opened("s1"))
            assert second.warnings() == []
    with Writer(state, run="three") as third:
        third.turn(opened("s1"), refused("x"))
        assert third.warnings() == []


# The register


def test_the_register_finds_workspaces_and_own_folders(state: Path, workspace: Path) -> None:
    with Writer(state) as writer:
        writer.turn(opened("s1", workspace), opened("a/b"), opened("s2", state / "missing"))
    assert register.sessions(state) == {
        "s1": [workspace / "files/tap"],
        "a/b": [state / "sessions" / folder_name("a/b")],
        "s2": [state / "sessions/s2"],
    }
    assert register.folders(state, "unknown") == []
    assert register.folders(state / "nowhere", "s1") == []
    assert register.gateway_folders(state / "nowhere") == []


def test_own_folders_are_found_without_the_register(state: Path) -> None:
    with Writer(state) as writer:
        writer.turn(opened("a/b"))
    (state / "sessions.jsonl").unlink()
    assert register.folders(state, "a/b") == [state / "sessions" / folder_name("a/b")]


def test_a_damaged_register_loses_only_the_damaged_lines(state: Path, tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
    state.mkdir()
    register.note(state, "s1", tmp_path / "one")
    with (state / "sessions.jsonl").open("ab") as file:
        file.write(b'\xff\xfe{}\n[1]\n{"sessionId": 3, "folder": ""}\n{"sessionId":"s3","fol')
    register.note(state, "s2", tmp_path / "two")
    assert register.sessions(state) == {"s1": [tmp_path / "one"], "s2": [tmp_path / "two"]}


def test_the_register_is_bounded(state: Path, tmp_path: Path) -> None:
    state.mkdir()
    (tmp_path / "gone").mkdir()
    filler = b'{"sessionId":"%d","folder":"/gone"}\n'
    (state / "sessions.jsonl").write_bytes(b"".join(filler % number for number in range(20_000)))
    with Writer(state) as writer:
        writer.turn(opened("newest"))
    assert (state / "sessions.jsonl").stat().st_size < 64 * 1024
    assert len(lines(state / "sessions.jsonl")) == 1000
    register.note(state, "newest", tmp_path / "gone")
    assert register.folders(state, "newest")[-1] == tmp_path / "gone"
    assert mode(state / "sessions.jsonl") == 0o600
    assert not list(state.glob("sessions.jsonl.*"))


def test_what_is_added_to_a_register_while_it_is_compacted_is_kept(
    state: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    state.mkdir()
    filler = b'{"sessionId":"%d","folder":"/gone"}\n'
    (state / "sessions.jsonl").write_bytes(b"".join(filler % number for number in range(20_000)))
    fsync, replace = os.fsync, Path.replace

    def before(fd: int) -> None:
        fsync(fd)
        register.note(state, "before", tmp_path)

    def after(self: Path, target: Path) -> None:
        fd = os.open(target, os.O_WRONLY | os.O_APPEND)
        replace(self, target)
        register.note(state, "after", tmp_path)
        os.write(fd, b'{"sessionId":"late","folder":"%s"}\n' % bytes(tmp_path))
        os.close(fd)

    monkeypatch.setattr(os, "fsync", before)
    monkeypatch.setattr(Path, "replace", after)
    register.compact(state)
    monkeypatch.undo()
    assert {"before", "after", "late"} <= register.sessions(state).keys()


def test_a_register_that_has_no_room_for_its_successor_stays(
    state: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    state.mkdir()
    path = state / "sessions.jsonl"
    filler = b'{"sessionId":"%d","folder":"%s"}\n'
    path.write_bytes(b"".join(filler % (n, bytes(tmp_path)) for n in range(20_000)))
    before = path.read_bytes()
    write = os.write
    monkeypatch.setattr(os, "write", lambda fd, data: write(fd, data[:100]))
    with pytest.raises(OSError, match="No space left"):
        register.compact(state)
    monkeypatch.undo()
    assert path.read_bytes() == before
    assert [one.name for one in state.iterdir()] == ["sessions.jsonl"]


def test_a_folder_whose_name_is_not_utf8_costs_its_place_in_the_register(tmp_path: Path) -> None:
    state = Path(os.fsdecode(bytes(tmp_path) + b"/st\xffte"))
    with Writer(state) as writer:
        assert writer.turn(opened("s1"), started("s1", "c1")) == frozenset()
        [warning] = writer.warnings()
        assert "will not find" in warning
        assert "not UTF-8" in warning
    assert seqs(state / "sessions/s1/calls.jsonl") == [2]


def test_a_register_that_cannot_be_written_costs_one_line_and_no_record(
    state: Path, workspace: Path
) -> None:
    (state / "sessions.jsonl").mkdir(parents=True)
    with Writer(state) as writer:
        assert writer.turn(opened("s1", workspace), started("s1", "c1")) == frozenset()
        [warning] = writer.warnings()
        assert "will not find" in warning
    assert seqs(workspace / "files/tap/calls.jsonl") == [2]


def test_an_idle_journal_has_no_thread_and_a_closed_one_none_left(state: Path) -> None:
    import threading

    def syncing() -> list[threading.Thread]:
        return [one for one in threading.enumerate() if one.name == "tapui-records"]

    before = len(syncing())
    writer = Writer(state)
    assert len(syncing()) == before
    writer.turn(refused("x"))
    assert len(syncing()) == before + 1
    assert writer.journal.close(5)
    wait_until(lambda: len(syncing()) == before)
