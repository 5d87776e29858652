"""Repositories that want to harm who reads them: nothing hangs, raises, or is passed off as whole.

All is asked of the process's own `LookServer`, whose alarm would tell what hangs.
"""

import hashlib
import os
import resource
import shutil
import socket
import struct
import tempfile
import threading
import time
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tapui.core.effects import FilePlace
from tapui.core.proof.folder_states import (
    ADDED,
    NO_REPOSITORY,
    TOO_LARGE,
    FolderState,
    pair_of,
)
from tapui.runtime.folders import index_file
from tapui.runtime.folders.__main__ import MAX_ROOTS, MEMORY, LookServer
from tapui.runtime.folders.comparison import compare
from tapui.runtime.folders.index_file import BrokenIndexError, read_index
from tapui.runtime.folders.messages import Look
from tests.runtime.folders.repositories import Repo, added, sha


@pytest.fixture(autouse=True)
def bounded() -> Iterator[None]:
    """Let a reader without a bound fail, not take the machine's memory."""
    before = resource.getrlimit(resource.RLIMIT_DATA)
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_DATA, before)


def states_of(folder: Path, base: str = "") -> tuple[FolderState, ...]:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        look = Look(1, str(folder), {str(folder): base} if base else {}, 10.0)
        found = LookServer(ours).look(look, time.monotonic() + 10.0)
    assert not [state for state in found if "broken off" in state.why]
    return found


def state_of(folder: Path, base: str = "") -> FolderState:
    return states_of(folder, base)[0]


def as_pipe(path: Path) -> None:
    os.mkfifo(path)


def as_device(path: Path) -> None:
    path.symlink_to("/dev/zero")


def as_socket(path: Path) -> None:
    here = Path.cwd()
    os.chdir(path.parent)  # the name of a socket may not be long
    try:
        with socket.socket(socket.AF_UNIX) as server:
            server.bind(path.name)
    finally:
        os.chdir(here)


def as_folder(path: Path) -> None:
    path.mkdir()


def as_loop(path: Path) -> None:
    path.symlink_to(path.name)


def as_huge(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(1024**3)


def as_noise(path: Path) -> None:
    path.write_bytes(bytes(range(256)) * 40)


KINDS = [as_pipe, as_device, as_socket, as_folder, as_loop, as_huge, as_noise]
FILES = [
    ".git/HEAD",
    ".git/index",
    ".git/config",
    ".git/packed-refs",
    ".git/refs/heads/main",
    ".git/commondir",
    ".git/info/exclude",
    ".git/objects/info/alternates",
    ".git/objects/info/commit-graph",
    ".git/objects/pack/multi-pack-index",
    ".git/objects/pack/pack-1234567890123456789012345678901234567890.idx",
    ".git/objects/pack/pack-1234567890123456789012345678901234567890.pack",
    ".gitignore",
    "src/.gitignore",
    "a.py",
    ".git",
    ".git/objects",
    ".git/refs",
    ".git/objects/pack",
    ".gitmodules",
    ".gitattributes",
]


@pytest.mark.parametrize("path", FILES)
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_what_stands_for_a_file_hangs_no_look_and_no_comparison(
    repo: Repo, kind: Callable[[Path], None], path: str
) -> None:
    before = repo.look()
    repo.write("src/c.py", "edited\n")
    pairs = (pair_of(before, repo.look(before.head)),)
    file = repo.root / path
    if file.is_dir():
        shutil.rmtree(file)
    else:
        file.unlink(missing_ok=True)
    kind(file)
    for state in (state_of(repo.root), state_of(repo.root, before.head)):
        if state.is_whole:
            assert state.files["src/c.py"].removesuffix(ADDED) == sha("edited\n")
        else:
            assert state.why
    listed = compare(pairs, None, lambda: False)
    assert listed.notes or [one.path for one in listed.files] == ["src/c.py"]
    shown = compare(pairs, FilePlace(str(repo.root), "src/c.py"), lambda: False)
    assert shown.fault or shown.files[0].path == "src/c.py"


@pytest.mark.parametrize(
    "text",
    [
        b"gitdir: .git",
        b"gitdir: /dev",
        b"gitdir: /dev/zero",
        b"gitdir: ",
        b"gitdir: \0",
        b"gitdir: " + b"x" * 5000,
        b"gitdir: " + b"/x" * 1500,
        b"gitdir: /proc/self",
        b"gitdir: .",
        b"",
        b"\xff\xfe",
    ],
)
def test_a_link_to_no_repository_is_none(tmp_path: Path, text: bytes) -> None:
    (tmp_path / ".git").write_bytes(text)
    assert state_of(tmp_path).why == NO_REPOSITORY


def test_a_link_to_another_repository_compares_with_that(repo: Repo, tmp_path: Path) -> None:
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    (folder / ".git").write_text(f"gitdir: {repo.root}/.git\n")
    (folder / "a.py").write_text("mine\n")
    state = state_of(folder)
    assert state.root == str(folder)
    assert state.files["a.py"] == sha("mine\n")
    assert state.files["b.py"] == ""
    compared = compare((pair_of(None, state),), None, lambda: False)
    (mine,) = (one for one in compared.files if one.path == "a.py")
    assert (mine.state, mine.added, mine.removed) == ("modified", 1, 1)


def test_another_work_tree_in_the_configuration_is_not_looked_at(
    repo: Repo, tmp_path: Path
) -> None:
    repo.git("config", "core.worktree", str(tmp_path / "home"))
    (repo.root / "a.py").write_text("mine\n")
    assert state_of(repo.root).files == {"a.py": sha("mine\n")}


def test_links_are_not_followed(repo: Repo) -> None:
    (repo.root / "out").symlink_to("/usr")
    (repo.root / "loop").symlink_to(".")
    (repo.root / "src/up").symlink_to("..")
    (repo.root / "none").symlink_to("nowhere")
    assert state_of(repo.root).files == {
        "out": added("/usr", " link"),
        "loop": added(".", " link"),
        "src/up": added("..", " link"),
        "none": added("nowhere", " link"),
    }


def test_a_folder_that_became_a_link_has_lost_its_files(repo: Repo, tmp_path: Path) -> None:
    shutil.move(repo.root / "src", tmp_path / "src")
    (repo.root / "src").symlink_to(tmp_path / "src")
    state = state_of(repo.root)
    assert state.files == {
        "src": added(str(tmp_path / "src"), " link"),
        "src/c.py": "",
        "src/deep/d.py": "",
    }


def test_special_files_are_no_content(repo: Repo) -> None:
    as_pipe(repo.root / "pipe")
    as_socket(repo.root / "socket")
    if os.geteuid() == 0:
        os.mknod(repo.root / "device", 0o020600, os.makedev(1, 5))
    state = state_of(repo.root)
    assert state.is_whole
    assert state.files == {}


# The index


def damaged(repo: Repo) -> bytes:
    return (repo.root / ".git/index").read_bytes()


@pytest.mark.parametrize("kind", ["2", "4", "split"])
def test_a_truncated_index_is_no_index(repo: Repo, kind: str) -> None:
    if kind == "split":
        repo.git("update-index", "--split-index")
        repo.write("new.py")
        repo.git("add", "-A")
    else:
        repo.git("update-index", "--index-version", kind)
    data = damaged(repo)
    for length in range(len(data)):
        with pytest.raises(BrokenIndexError):
            read_index(data[:length], "sha1", lambda _: b"")
    repo.write("a.py", "edited\n")
    (repo.root / ".git/index").write_bytes(data[: len(data) // 2])
    state = state_of(repo.root)
    assert not state.is_whole
    assert state.why.startswith("the index is damaged")
    assert state.files["a.py"] == sha("edited\n")


_indexes: dict[str, tuple[bytes, bytes]] = {}


@pytest.fixture(scope="module")
def indexes(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[bytes, bytes]]:
    """An index of each kind, with the shared file of a split one."""
    repo = Repo(tmp_path_factory.mktemp("indexes") / "repo")
    for number in range(20):
        repo.write(f"folder/{number}.py")
    repo.commit()
    for version in "234":
        repo.git("update-index", "--index-version", version)
        _indexes[version] = (damaged(repo), b"")
    repo.git("update-index", "--split-index")
    repo.write("new.py")
    repo.write("folder/3.py", "x")
    repo.git("add", "-A")
    (shared,) = (repo.root / ".git").glob("sharedindex.*")
    _indexes["split"] = (damaged(repo), shared.read_bytes())
    return _indexes


@given(st.data())
def test_any_damage_of_an_index_is_told(
    indexes: dict[str, tuple[bytes, bytes]], data: st.DataObject
) -> None:
    """The checksum is left out, as git may: what it would have caught reaches the reader."""
    own, shared = indexes[data.draw(st.sampled_from(["2", "3", "4", "split"]))]
    files = [bytearray(own), bytearray(shared)]
    for _ in range(data.draw(st.integers(1, 4))):
        file = data.draw(st.sampled_from([one for one in files if one]))
        at = data.draw(st.integers(0, len(file) - 1))
        file[at : at + data.draw(st.integers(1, 8))] = data.draw(st.binary(max_size=8))
    for file in files:
        file[-20:] = bytes(20)
    try:
        found = read_index(bytes(files[0]), "sha1", lambda _: bytes(files[1]))
    except BrokenIndexError:
        return
    assert len(found.entries) < 100


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"DIRC" + struct.pack(">II", 2, 2**32 - 1) + bytes(100), "4,294,967,295 entries"),
        (b"DIRC" + struct.pack(">II", 5, 0) + bytes(20), "version 5"),
        (b"DIRC" + struct.pack(">II", 2, 0) + b"xxxx" + bytes(24), "not known"),
        (b"DIRC" + struct.pack(">II", 2, 0) + b"LINK\xff\xff\xff\xff" + bytes(24), "extension"),
        (b"CRID" + bytes(100), "no header"),
    ],
)
def test_an_index_of_another_kind_is_told(data: bytes, why: str) -> None:
    with pytest.raises(BrokenIndexError, match=why):
        read_index(data, "sha1", lambda _: b"")


def test_an_index_of_a_gigabyte_is_not_read(repo: Repo) -> None:
    with (repo.root / ".git/index").open("r+b") as file:
        file.truncate(1024**3)
    repo.write("a.py", "edited\n")
    state = state_of(repo.root)
    assert "too large" in state.why
    assert state.files["a.py"] == sha("edited\n")
    with pytest.raises(BrokenIndexError, match="too large"):
        read_index(bytes(index_file.MAX_BYTES + 1), "sha1", lambda _: b"")


# Objects


def loose(repo: Repo, data: bytes, name: str | None = None) -> str:
    """Write an object as git would, or under the name of another one."""
    oid = name or hashlib.sha1(data, usedforsecurity=False).hexdigest()
    file = repo.root / ".git/objects" / oid[:2] / oid[2:]
    file.parent.mkdir(exist_ok=True)
    file.unlink(missing_ok=True)
    file.write_bytes(zlib.compress(data, 1))
    return oid


def tree_object(*entries: tuple[str, str, str]) -> bytes:
    data = b"".join(f"{mode} {name}\0".encode() + bytes.fromhex(oid) for mode, name, oid in entries)
    return b"tree %d\0" % len(data) + data


def test_a_tree_that_names_itself_a_billion_times_has_an_end(repo: Repo) -> None:
    blob = loose(repo, b"blob 0\0")
    tree = loose(repo, tree_object(*[("100644", f"f{n}", blob) for n in range(10)]))
    for _ in range(9):
        tree = loose(repo, tree_object(*[("40000", f"d{n}", tree) for n in range(10)]))
    state = state_of(repo.root, tree)
    assert "more than" in state.why


def test_a_deep_tree_has_an_end(repo: Repo) -> None:
    blob = loose(repo, b"blob 0\0")
    tree = loose(repo, tree_object(("100644", "f", blob)))
    for _ in range(3000):
        tree = loose(repo, tree_object(("40000", "d", tree)))
    assert "more than" in state_of(repo.root, tree).why


def test_an_object_under_anothers_name_is_damaged(repo: Repo) -> None:
    base = repo.look().head
    loose(repo, tree_object(), base)
    assert "damaged" in state_of(repo.root).why


def test_an_object_that_grows_beyond_measure_is_refused(repo: Repo) -> None:
    size = 200 * 1024 * 1024
    tree = loose(repo, b"tree %d\0" % size + bytes(size), "12" * 20)
    state = state_of(repo.root, tree)
    assert not state.is_whole
    assert "1212121212" in state.why


@pytest.mark.parametrize("at", range(0, 40, 3))
@pytest.mark.parametrize("file", ["idx", "pack"])
def test_a_damaged_pack_is_told(repo: Repo, file: str, at: int) -> None:
    repo.commit(a_py="2\n", src__c_py="2\n")
    repo.git("repack", "-adq")
    (pack,) = (repo.root / ".git/objects/pack").glob(f"*.{file}")
    data = bytearray(pack.read_bytes())
    place = len(data) * at // 40
    data[place : place + 24] = b"\xff" * len(data[place : place + 24])
    pack.chmod(0o600)
    pack.write_bytes(data)
    state = state_of(repo.root)
    assert state.files == {}
    if not state.is_whole:
        assert state.why.startswith(("the object ", "a tree "))


@pytest.mark.parametrize("to", ["objects", "/dev/zero", "../../.git/objects", "/"])
def test_stores_that_lead_in_a_circle_have_an_end(repo: Repo, to: str) -> None:
    target = str(repo.root / ".git/objects") if to == "objects" else to
    repo.write(".git/objects/info/alternates", f"{target}\n" * 50)
    assert state_of(repo.root).is_whole
    assert "is not there" in state_of(repo.root, "12" * 20).why


@pytest.mark.parametrize(
    "head",
    [
        "ref: HEAD\n",
        "ref: ../../../../../../etc/passwd\n",
        "ref: refs/heads/" + "x/" * 3000,
        "ref: \0\n",
        "0" * 40,
        "f" * 40,
        "not hex at all, but of some length.......",
        "",
    ],
)
def test_a_strange_head_is_told(repo: Repo, head: str) -> None:
    (repo.root / ".git/HEAD").write_text(head)
    repo.write("a.py", "edited\n")
    state = state_of(repo.root)
    if state.is_whole:  # a branch that is not born
        assert state.files["a.py"] == sha("edited\n")
        assert len(state.files) == 5
    else:
        assert state.why


# Configuration and patterns


@pytest.mark.parametrize(
    "text",
    [
        "[core",
        "[core]\n\tbare = true\n",
        "[include]\n\tpath = config\n",
        "[core]\n\texcludesFile = /dev/zero\n",
        "[core]\n\texcludesFile = ~nobody/none\n",
        "[core]\n\texcludesFile = a.py/..\n",
        "[extensions]\n\tobjectFormat = md5\n[core]\n\trepositoryformatversion = 1\n",
        "[extensions]\n\trefStorage = reftable\n",
        "[extensions]\n\tworktreeConfig = true\n",
        "[extensions]\n\tunknown = true\n[core]\n\trepositoryformatversion = 99\n",
        pytest.param("\0\xff" * 100, id="noise"),
        pytest.param('[a "' + "x" * 100_000 + '"]\n', id="a long name"),
        pytest.param("[core]\n" + "\tfilemode = false\n" * 20_000, id="many lines"),
    ],
)
def test_any_configuration_is_taken_or_told(repo: Repo, text: str) -> None:
    (repo.root / ".git/config").write_text(text)
    repo.write("a.py", "edited\n")
    state = state_of(repo.root)
    if state.is_whole:
        assert state.files == {"a.py": sha("edited\n")}
    else:
        assert state.why


def test_patterns_that_take_for_ever_are_broken_off(
    repo: Repo, monkeypatch: pytest.MonkeyPatch
) -> None:
    repo.write(".gitignore", "*a" * 60 + "b\n")
    repo.write("a" * 250)
    ours, theirs = socket.socketpair()
    with ours, theirs:
        reader = LookServer(ours)
        with monkeypatch.context() as hurried:
            hurried.setattr("tapui.runtime.folders.__main__._HARD_SECONDS", 0.5)
            found = reader.look(Look(1, str(repo.root)), time.monotonic() + 60)
        assert "broken off" in found[0].why
        assert found[0].root == str(repo.root)
        (repo.root / ".gitignore").unlink()
        assert reader.look(Look(2, str(repo.root)), time.monotonic() + 60)[0].is_whole


def test_a_look_that_gives_way_ends_when_anything_else_is_asked(repo: Repo) -> None:
    repo.write("a.py")
    ours, theirs = socket.socketpair()
    with ours, theirs:
        reader, end = LookServer(ours), time.monotonic() + 60
        theirs.sendall(b"?")
        assert reader.look(Look(1, str(repo.root), gives_way=True), end)[0].why == TOO_LARGE
        assert reader.look(Look(2, str(repo.root)), end)[0].is_whole
        ours.recv(1)
        assert reader.look(Look(3, str(repo.root), gives_way=True), end)[0].is_whole


def test_too_many_patterns_are_told(repo: Repo) -> None:
    repo.write(".gitignore", "x\n" * 200_000)
    state = state_of(repo.root)
    assert state.why == "a file of ignored patterns cannot be read"


def test_the_persons_own_patterns_are_read(repo: Repo, home: Path) -> None:
    for path in ("one.log", "two.tmp", "three.bak"):
        repo.write(path)
    (home / ".config/git").mkdir(parents=True)
    (home / ".config/git/ignore").write_text("*.log\n")
    assert state_of(repo.root).files.keys() == {"two.tmp", "three.bak"}
    (home / "mine").write_text("*.tmp\n")
    (home / ".gitconfig").write_text("[core]\n\texcludesFile = ~/mine\n")
    assert state_of(repo.root).files.keys() == {"one.log", "three.bak"} == repo.status()
    repo.write(".git/info/exclude", "!two.tmp\n")
    assert state_of(repo.root).files.keys() == repo.status()


# Folders


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that other users may enter, too."""
    folder = Path(tempfile.mkdtemp()).resolve()
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


def test_what_cannot_be_read_is_unknown(open_folder: Path) -> None:
    repo = Repo(open_folder / "repo")
    repo.commit(a_py="1\n", src__b_py="1\n", shut__c_py="1\n")
    repo.write("a.py", "edited\n").chmod(0)
    (repo.root / "shut").chmod(0)
    is_root = os.geteuid() == 0
    if is_root:
        for path in (repo.root, *repo.root.rglob("*")):
            os.chown(path, 65534, -1)
        os.seteuid(65534)
    try:
        state = state_of(repo.root)
    finally:
        if is_root:
            os.seteuid(0)
        (repo.root / "shut").chmod(0o755)
    assert not state.is_whole
    assert state.why == "shut/ cannot be read"
    assert state.files.keys() == {"a.py"}
    assert state.files["a.py"].startswith("?")


def test_a_deep_folder_has_an_end(repo: Repo) -> None:
    folder = os.open(repo.root, os.O_RDONLY)
    for _ in range(60):
        os.mkdir("d" * 100, dir_fd=folder)
        inner = os.open("d" * 100, os.O_RDONLY, dir_fd=folder)
        os.close(folder)
        folder = inner
    os.close(folder)
    state = state_of(repo.root)
    assert not state.is_whole
    assert len(state.why) < 120
    shutil.rmtree(repo.root)


def test_many_repositories_within_have_an_end(repo: Repo) -> None:
    for number in range(MAX_ROOTS + 3):
        shutil.copytree(repo.root / ".git", repo.root / f"inner/{number}/.git")
    found = states_of(repo.root)
    assert len(found) == MAX_ROOTS
    assert found[0].why == f"more than {MAX_ROOTS} repositories"


def test_files_that_come_and_go_meanwhile_break_nothing(repo: Repo) -> None:
    for number in range(300):
        repo.write(f"many/{number}/f.py", f"{number}\n")
    repo.commit()
    is_over = threading.Event()

    def stir() -> None:
        number = 0
        while not is_over.is_set():
            number = (number + 7) % 300
            folder = repo.root / f"many/{number}"
            shutil.move(folder, repo.root / "gone")
            repo.write(f"many/{number}/f.py/g.py", "x")
            shutil.rmtree(folder)
            shutil.move(repo.root / "gone", folder)
            (folder / "f.py").write_text("longer and longer\n" * number)
            (folder / "f.py").write_text(f"{number}\n")

    stirring = threading.Thread(target=stir)
    stirring.start()
    try:
        for _ in range(20):
            repo.look()
    finally:
        is_over.set()
        stirring.join()
    assert repo.look().files == {}
