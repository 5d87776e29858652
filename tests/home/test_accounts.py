"""Who else has an account, and that the person agreed to that."""

import os
import pwd
from functools import partial
from pathlib import Path

import pytest

from tapui.home.accounts import FILE, PortConsent, other_people

HERE = str(Path(__file__).parent)


people = partial(other_people, container=())
"""These tests may run in a container."""


def account(name: str, uid: int, shell: str = "/bin/bash", home: str = HERE) -> pwd.struct_passwd:
    return pwd.struct_passwd((name, "x", uid, uid, "", home, shell))


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="containers are Linux")
def test_in_a_container_people_are_those_who_run_processes(tmp_path: Path) -> None:
    inside = partial(other_people, first=0, container=(HERE,))
    listed = [account("ada", 1_300_001), account("grace", os.getuid())]
    assert inside(os.getuid() + 1, listed, tmp_path) == ["grace"]
    assert inside(os.getuid(), listed, tmp_path) == []


def test_people_are_those_who_can_log_in(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    listed = [
        account("root", 0),
        account("daemon", 1, "/usr/sbin/nologin"),
        account("me", 5000),
        account("ada", 5001, "/usr/bin/zsh"),
        account("backup", 5002, "/bin/false"),
        account("ci", 5003, ""),
        account("nobody", 65_534),
        account("sdk", 5004, home=str(tmp_path / "empty")),
        account("gone", 5005, home=str(tmp_path / "gone")),
        account("grace", 1_200_300),
    ]
    homes = tmp_path / "homes"
    assert people(5000, listed, homes) == ["ada", "grace"]
    assert people(5000, listed[:3], homes) == []
    assert people(5000, [], tmp_path / "missing") == []


def test_owners_of_homes_count_where_the_system_lists_no_users(tmp_path: Path) -> None:
    (tmp_path / "me" / "files").mkdir(parents=True)
    (tmp_path / "empty").mkdir()
    (tmp_path / "a-file").touch()
    (tmp_path / "link").symlink_to(tmp_path / "me")
    assert people(os.getuid(), [], tmp_path, first=0) == []
    assert people(os.getuid() + 1, [], tmp_path, first=0) == ["me"]


def test_consent_is_for_the_people_it_was_given_for(tmp_path: Path) -> None:
    consent = PortConsent(tmp_path / "state")
    assert not consent.covers(["ada"])
    consent.keep(["ada", "grace"])
    assert consent.covers(["ada"])
    assert not consent.covers(["ada", "mallory"])
    assert (tmp_path / "state" / FILE).stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("text", ["", "{", "[]", '{"people": 3}', "\x00"])
def test_a_file_that_says_nothing_is_no_consent(tmp_path: Path, text: str) -> None:
    (tmp_path / FILE).write_text(text)
    assert not PortConsent(tmp_path).covers(["ada"])
