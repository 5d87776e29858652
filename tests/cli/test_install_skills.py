"""`tapui install skills`, `tapui uninstall skills`, and what they say to an agent."""

import re
import stat

import pytest

from tapui.hosts.copilot.install.own_files import SKILLS, SkillFile, skill_files
from tests.cli.running import ran
from tests.rig.gateway import Home


def test_they_are_written_once_and_removed(home: Home) -> None:
    paths = [file.path for file in skill_files(home.copilot)]
    assert [str(path.relative_to(home.copilot)) for path in paths] == [
        "skills/tap-loop/SKILL.md",
        "skills/tap-monitor/SKILL.md",
        "skills/tap-goal/SKILL.md",
        "skills/ci-fix/SKILL.md",
        "skills/create-provider/SKILL.md",
    ]
    first = ran(home, "install", "skills")
    assert (first.returncode, first.stderr) == (0, "")
    assert first.stdout == "".join(f"wrote {path}\n" for path in paths)
    assert [stat.S_IMODE(path.stat().st_mode) for path in paths] == [0o600] * 5
    again = ran(home, "install", "skills")
    assert again.stdout == "".join(f"{path} is installed already\n" for path in paths)
    mine = home.copilot / "skills" / "mine"
    mine.mkdir()
    assert ran(home, "uninstall", "skills").returncode == 0
    assert [path.name for path in (home.copilot / "skills").iterdir()] == ["mine"]


def test_a_dry_run_writes_nothing(home: Home) -> None:
    said = ran(home, "install", "skills", "--dry-run").stdout
    assert said.count("would write ") == 5
    assert "name: tap-loop" in said
    assert not home.copilot.exists()


def test_one_that_a_person_has_changed_is_left_alone_and_the_others_are_done(home: Home) -> None:
    mine, *others = skill_files(home.copilot)
    mine.install()
    changed = mine.path.read_bytes().replace(b"30s", b"45s")
    mine.path.write_bytes(changed)
    for name, state in (("install", "installed"), ("uninstall", "missing")):
        done = ran(home, name, "skills")
        assert done.returncode == 1
        assert f"{mine.path} was not written by tapui, or was changed since" in done.stderr
        assert mine.path.read_bytes() == changed
        assert [one.state() for one in others] == [state] * 4


@pytest.mark.parametrize("skill", SKILLS)
def test_it_has_what_the_cli_looks_for(home: Home, skill: str) -> None:
    text = SkillFile(home.copilot, skill).content().decode()
    head = re.match(r"---\nname: (\S+)\ndescription: (.+)\nargument-hint: .+\n---\n", text)
    assert head
    assert head[1] == skill
    assert len(head[2]) < 1024
