"""The files that hold rules: whose they are, where they are looked for, what changes in them."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tapui.home.paths import Home
from tapui.settings.rule_files import RuleFiles, guards, read_rules
from tests.home.managed_files import SPOILT, remove


@pytest.fixture
def files(tmp_path: Path) -> RuleFiles:
    return RuleFiles(tmp_path / "config.toml", tmp_path / "managed.toml", owner=os.getuid())


def write(path: Path, *rules: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"[[rules]]\n{rule}\n" for rule in rules))
    path.chmod(0o644)
    return path


def said(files: RuleFiles) -> list[tuple[str, str, str]]:
    return [(one.source, one.effect, one.pattern) for one in files.read().rules]


def test_the_persons_and_the_administrators_rules_are_read(
    files: RuleFiles, tmp_path: Path
) -> None:
    assert said(files) == []
    write(tmp_path / "config.toml", "allow = 'npm ci'")
    write(tmp_path / "managed.toml", "deny = 'npm publish'")
    assert said(files) == [("managed", "deny", "npm publish"), ("person", "allow", "npm ci")]


def test_an_administrators_file_that_others_can_write_holds_nothing(
    files: RuleFiles, tmp_path: Path
) -> None:
    write(tmp_path / "managed.toml", "allow = 'rm'").chmod(0o664)
    found = files.read()
    assert not found.rules
    assert "others than root can write it" in str(found.faults[0])
    other = RuleFiles(tmp_path / "config.toml", tmp_path / "managed.toml", owner=os.getuid() + 1)
    (tmp_path / "managed.toml").chmod(0o644)
    assert not other.read().rules


@pytest.mark.parametrize("spoil", SPOILT.values(), ids=SPOILT)
def test_while_the_administrators_file_cannot_be_read_no_rule_allows(
    files: RuleFiles, tmp_path: Path, spoil: Callable[[Path], None]
) -> None:
    managed = tmp_path / "managed.toml"
    write(tmp_path / "config.toml", "allow = 'npm ci'", "deny = 'rm'")
    spoil(managed)
    assert said(files) == [("person", "deny", "rm")]
    assert str(managed) in str(files.read().faults[0])
    remove(managed)
    write(managed, "deny = 'npm publish'", "allow = 'ls'")
    assert files.look().found is not None
    assert len(said(files)) == 4
    managed.unlink()
    spoil(managed)
    assert files.look().found is not None
    assert said(files) == [("managed", "deny", "npm publish"), ("person", "deny", "rm")]


def test_a_rule_of_a_newer_version_in_the_administrators_file_leaves_nothing_allowed(
    files: RuleFiles, tmp_path: Path
) -> None:
    write(tmp_path / "config.toml", "allow = 'npm ci'")
    write(tmp_path / "managed.toml", "forbid = 'npm publish'", "allow = 'ls'")
    assert said(files) == []


def test_a_mode_that_changes_is_noticed(files: RuleFiles, tmp_path: Path) -> None:
    write(tmp_path / "config.toml", "allow = 'npm ci'")
    managed = write(tmp_path / "managed.toml", "deny = 'rm'")
    assert len(said(files)) == 2
    managed.chmod(0o666)
    assert files.look().found is not None
    assert [(one[1]) for one in said(files)] == ["deny"]


def test_a_file_that_cannot_be_parsed_goes_on_forbidding(files: RuleFiles, tmp_path: Path) -> None:
    config = write(tmp_path / "config.toml", "allow = 'npm ci'", "deny = 'rm'")
    files.read()
    config.write_text("[[rules]]\nallow = 'npm ci\n")
    changes = files.look()
    assert changes.found is not None
    assert [(one.effect, one.pattern) for one in changes.found.rules] == [("deny", "rm")]
    assert f"{config}:2: rules: " in str(changes.faults[0])
    config.unlink()
    assert files.look().found is not None
    assert said(files) == []


@pytest.mark.parametrize("content", [b"\xff", b"[" * 200_000, b"# " + b"x" * 1_100_000])
def test_an_odd_file_is_a_fault(files: RuleFiles, tmp_path: Path, content: bytes) -> None:
    (tmp_path / "config.toml").write_bytes(content)
    found = files.read()
    assert len(found.faults) == 1
    assert not found.rules


def test_what_is_no_file_is_not_waited_for(files: RuleFiles, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "config.toml")
    assert "not a file" in str(files.read().faults[0])


def test_changes_are_told_once(files: RuleFiles, tmp_path: Path) -> None:
    files.read()
    assert files.look().found is None
    write(tmp_path / "config.toml", "allow = 'npm ci'")
    found = files.look().found
    assert found is not None
    assert [one.pattern for one in found.rules] == ["npm ci"]
    assert files.look().found is None


def test_a_repositorys_files_are_found_from_below(files: RuleFiles, tmp_path: Path) -> None:
    top = tmp_path / "app"
    (top / ".git").mkdir(parents=True)
    (top / "web" / "src").mkdir(parents=True)
    write(top / ".github" / "tapui.toml", "deny = 'npm publish'")
    write(top / "web" / "tapui.toml", "ask = 'npm ci'")
    write(tmp_path / "tapui.toml", "deny = 'outside'")
    (tmp_path / "link").symlink_to(top / "web")
    read = files.folder(str(tmp_path / "link"))
    assert read.folder == str(top / "web")
    assert {(one.effect, one.pattern, one.folder) for one in read.rules} == {
        ("ask", "npm ci", str(top / "web")),
        ("deny", "npm publish", str(top)),
    }
    assert files.folder(str(top)).rules[0].pattern == "npm publish"
    assert not files.folder(str(tmp_path / "nowhere")).rules


def test_a_repositorys_file_allows_nothing_and_sets_nothing(
    files: RuleFiles, tmp_path: Path
) -> None:
    path = tmp_path / "app" / "tapui.toml"
    write(path, "allow = 'rm'", "deny = 'npm publish'")
    path.write_text(f"port = 1\n{path.read_text()}")
    read = files.folder(str(path.parent))
    assert [one.effect for one in read.rules] == ["deny"]
    faults = [str(one) for one in files.look().faults]
    assert any("may only ask and deny" in one for one in faults)
    assert any(":1: port: a file in a repository has rules" in one for one in faults)


def test_a_repositorys_file_that_changes_is_read_again(files: RuleFiles, tmp_path: Path) -> None:
    folder = tmp_path / "app"
    folder.mkdir()
    assert not files.folder(str(folder)).rules
    write(folder / "tapui.toml", "deny = 'rm'")
    (changed,) = files.look().folders
    assert (changed.folder, [one.pattern for one in changed.rules]) == (str(folder), ["rm"])
    assert not files.look().folders


def test_what_is_asked_in_any_case_is_named(tmp_path: Path) -> None:
    home = Home.at(tmp_path / "home", tmp_path / "copilot")
    found = guards(home, tmp_path / "config.toml", 9400)
    assert found.ports == {9400}
    assert {str(tmp_path / "home"), str(tmp_path / "copilot")} <= set(found.paths)


def test_a_folder_that_no_system_can_have_has_no_rules(files: RuleFiles) -> None:
    assert files.folder("/code\x00/x").rules == []
    assert files.look().folders == []


def test_a_byte_order_mark_costs_no_file_its_rules(files: RuleFiles, tmp_path: Path) -> None:
    work = tmp_path / "work"
    for path in ("config.toml", "managed.toml", "work/tapui.toml"):
        write(tmp_path / path, "deny = 'rm'").write_bytes(
            b"\xef\xbb\xbf[[rules]]\r\ndeny = 'rm'\r\n"
        )
    (work / ".git").mkdir()
    assert said(files) == [("managed", "deny", "rm"), ("person", "deny", "rm")]
    assert [one.pattern for one in files.folder(str(work)).rules] == ["rm"]
    assert [one.pattern for one in read_rules(tmp_path / "config.toml").rules] == ["rm"]
    assert files.look().faults == []


def test_a_file_in_utf_16_is_a_fault_in_words(files: RuleFiles, tmp_path: Path) -> None:
    for name in ("config.toml", "managed.toml"):
        write(tmp_path / name).write_bytes("[[rules]]\ndeny = 'rm'\n".encode("utf-16"))
        (fault,) = [one for one in files.read().faults if name in str(one)]
        assert "it is UTF-16: save it as UTF-8" in str(fault)
