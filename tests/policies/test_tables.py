"""The tables of programs: those that ship are sound, and one with a wrong edit allows nothing."""

import pkgutil
import re
import sys
from importlib import resources

import pytest

from tapui.policies import known_options, tables
from tapui.policies.known_options import KNOWN, read
from tapui.policies.options import entry_of
from tapui.policies.programs import KINDS
from tapui.policies.tables import TableError, TableFile
from tests.policies.judged import allow, on_command

TEXTS = {
    file.name.removesuffix(".toml"): file.read_text(encoding="utf-8")
    for file in resources.files(tables).iterdir()
    if file.name.endswith(".toml")
}
OF_OPTIONS = {"building", "files", "git", "network", "node"}


def test_each_file_is_read() -> None:
    assert TEXTS.keys() == OF_OPTIONS | {"programs", "same_effect", "leads", "suggestions"}
    known = [path for name in OF_OPTIONS for path in read(TableFile(name))]
    assert len(known) == len(set(known)) == sum(map(len, KNOWN.values()))
    assert all(entry_of(program) is not None for program in KNOWN)


def test_no_table_has_an_option_as_harmless_and_as_asked() -> None:
    for program, known in KNOWN.items():
        for table, sets in known.values():
            for options in (table, *sets):
                harmless, asked = (
                    {re.split("[:?]", option)[0] for option in some}
                    for some in (options.options, options.asked_options)
                )
                assert harmless.isdisjoint(asked), program


def test_kinds_that_are_part_of_another_have_no_other_program() -> None:
    assert KINDS.operand_first <= KINDS.runners
    assert KINDS.take_a_script_safely <= KINDS.take_a_script & KNOWN.keys()
    assert {*KINDS.options_behind} <= {*KINDS.launchers}


@pytest.mark.parametrize(
    ("file", "old", "new", "error"),
    [
        ("git", "[git]\n", "[git\n", r"git.toml: .* \(at line @, column \d+\)"),
        (
            "git",
            "[git.diff]\n",
            "[git.diff]\nopts = '-x'\n",
            "git.toml, line @: git diff: .*`opts`",
        ),
        ("git", "[git.diff]\n", "[git.diff]\nexact = ''\n", "git.toml, line @: git diff: .*`bool`"),
        (
            "git",
            "[git.diff]\n",
            "[git.diff]\nverbs = ['x']\n",
            "git.toml, line @: git diff: a text",
        ),
        ("git", "diff-files = {", "diff-files = { x = 1,", "git.toml, line @: git diff-files: "),
        ("git", "lfs.status = {", "lfs.status = { x = 1,", "git.toml, line @: git lfs status: "),
        ("git", "'git-log git-diff'", "'git-lag'", "git.toml, line @: .*there is no set git-lag"),
        ("git", "'git-log git-diff'", "''", "git.toml, line @: .*a word is missing"),
        (
            "git",
            "asked-options = '-O:",
            "asked-options = 'O:",
            "git.toml, line @: .*O: is no option",
        ),
        ("git", "[sets.git-diff]", "[sets]\nx = 1\n[sets.git-diff]", "git.toml, line @: sets x: "),
        ("git", "verbs = 'exists'", "verbs = 'show'", "git.toml, line @: git reflog show: .*twice"),
        ("git", "= '::|", "= '(::|", "git.toml, line @: git: .*unterminated"),
        (
            "network",
            "verbs-of = 'docker'",
            "verbs-of = 'x'",
            "network.toml, line @: podman: x ps is",
        ),
        ("files", "[cat]", '["g++"]\nalso = 1\n[cat]', r"files.toml, line @: g\+\+: a text"),
    ],
)
def test_a_wrong_edit_is_found_with_its_line(file: str, old: str, new: str, error: str) -> None:
    before, text = TEXTS[file], TEXTS[file].replace(old, new, 1)
    assert text != before
    with pytest.raises(TableError) as raised:
        read(TableFile(file, text))
    found = re.match(error.replace("@", r"(\d+)"), str(raised.value))
    assert found is not None, raised.value
    at = before[: before.index(old)].count("\n") + 1
    assert at <= int(found[1]) <= at + 2


def test_a_table_that_is_wrong_allows_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    assert on_command("git status", allow("git", "ls", "frob")).effect == "allow"
    entry_of.cache_clear()
    monkeypatch.delitem(sys.modules, known_options.__name__)
    monkeypatch.setattr(pkgutil, "get_data", lambda *_: b"[git]\nverb = 'status'\n")
    # What was judged before is remembered: no other test judges these.
    for command in ("git status once", "git clone once", "ls once", "frob once"):
        with pytest.raises(TableError, match=r"^git.toml, line 2: git: .*`verb`"):
            on_command(command, allow("git", "ls", "frob"))
