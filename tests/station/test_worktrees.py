"""Work trees by the program that makes them, as the tower asks for them."""

from pathlib import Path

import pytest

from tapui.station.session_store import WorktreeFault
from tapui.tower.app.services import StoreFault, WorktreeState
from tests.rig.gateway import Home
from tests.runtime.folders.repositories import Repo
from tests.station.test_session_store import sessions_of


def test_a_worktree_is_made_kept_while_it_has_work_and_removed(home: Home, tmp_path: Path) -> None:
    repo = Repo(tmp_path / "app")
    repo.commit(file="one\n")
    store = sessions_of(home)
    place = store.add_worktree(str(repo.root), "pairing")
    assert store.worktree(place) == WorktreeState(place)
    no_tree = WorktreeState("", "it is no work tree beside a repository")
    assert store.worktree(str(repo.root)) == no_tree
    (Path(place) / "file").write_text("two\n")
    dirty = WorktreeState(place, "it has work that is not committed: file")
    assert store.worktree(place) == dirty
    with pytest.raises(StoreFault, match="not committed: file"):
        store.remove_worktree(place)
    (Path(place) / "file").write_text("one\n")
    (repo.root / ".git/info/exclude").write_text(".env\n")
    (Path(place) / ".env").write_text("KEY=1\n")
    ignored = store.worktree(place).ignored
    assert ignored[:3] == (1, 6, (".env",))
    with pytest.raises(StoreFault, match=r"files that git ignores are in it: \.env"):
        store.remove_worktree(place)
    store.remove_worktree(place, ignored.seal)
    assert not Path(place).exists()


@pytest.mark.parametrize("folder", ["/", "/nowhere", "", "-x", "a\0b"])
def test_a_folder_that_is_none_is_a_fault_in_words(home: Home, folder: str) -> None:
    with pytest.raises(WorktreeFault, match=r"\w"):
        sessions_of(home).add_worktree(folder, "x")
    assert sessions_of(home).worktree(folder)[0] == ""
