"""`tapui tools`, `tapui memory` and `tapui provider add` as processes, without a gateway."""

import json
import os
import sys
from pathlib import Path

import pytest

from tests.cli.running import ran
from tests.cli.schemas import check
from tests.folder_tools.folder import SAMPLES, folder_with, source
from tests.rig.gateway import ANYBODY, Home


@pytest.fixture(autouse=True)
def anybody(home: Home) -> None:
    """Commands of a test have no terminal of a person."""
    home.settle(ANYBODY)


@pytest.fixture
def folder(tmp_path: Path) -> str:
    samples = {one.name.partition(".")[0]: one.read_text() for one in SAMPLES.iterdir()}
    return folder_with(tmp_path / "repo", **samples)


def test_the_tools_are_listed_by_the_folder_or_by_its_tools(home: Home, folder: str) -> None:
    for given in (folder, f"{folder}/tools"):
        done = ran(home, "tools", given, "list")
        assert done.returncode == 0
        assert [one.partition("  ")[0] for one in done.stdout.splitlines()] == [
            "get_changed_files",
            "memory",
            "your_tool_name",
        ]
        assert "not allowed yet" in done.stderr
    reads = source("reads", annotations={"readOnlyHint": True})
    folder_with(Path(folder), reads=reads)
    assert "(says that it only reads)" in ran(home, "tools", folder).stdout
    (first, *_) = map(json.loads, ran(home, "tools", folder, "list", "--json").stdout.splitlines())
    assert (first["name"], first["file"], first["isAllowed"]) == (
        "get_changed_files",
        "tools/get_changed_files.py",
        False,
    )


def test_check_tells_file_and_line(home: Home, folder: str) -> None:
    done = ran(home, "tools", folder, "check")
    hint = "property 'sourceControlState' names its values in the text: write them as \"enum\", too"
    told = f"tools/get_changed_files.py:7: {hint} (a hint)\n"
    assert (done.returncode, done.stdout) == (0, told)
    folder_with(Path(folder), other=source("another"), raises=source("raises", "1 / 0"))
    done = ran(home, "tools", folder, "check", "--json")
    found = [json.loads(line) for line in done.stdout.splitlines()]
    assert done.returncode == 1
    errors = [(one["file"], one["line"]) for one in found if one["isError"]]
    assert errors == [("tools/other.py", 2)]
    assert ran(home, "tools", folder, "call", "your_tool_name", "param1=x", "--yes").returncode == 0
    done = ran(home, "tools", folder, "check")
    assert "tools/raises.py:1: it cannot be imported: ZeroDivisionError" in done.stdout


def test_nothing_is_run_before_the_person_allows_it(home: Home, folder: str) -> None:
    mark = Path(folder, "ran")
    folder_with(
        Path(folder), marks=source("marks", f"import pathlib\npathlib.Path({str(mark)!r}).touch()")
    )
    done = ran(home, "tools", folder, "call", "marks")
    assert done.returncode == 2
    assert "tools/marks.py" in done.stderr
    assert not mark.exists()
    done = ran(home, "tools", folder, "call", "marks", "--yes")
    assert (done.returncode, done.stdout, mark.exists()) == (0, '"done"\n', True)
    assert ran(home, "tools", folder, "call", "marks").stdout == '"done"\n'
    folder_with(Path(folder), marks=source("marks", body="return 'changed'"))
    done = ran(home, "tools", folder, "call", "marks")
    assert (done.returncode, "since they were allowed" in done.stderr) == (2, True)


def test_an_agents_process_allows_nothing(home: Home, folder: str) -> None:
    (home.tapui / "config.toml").unlink()
    env = home.env(TAP_PROVIDER_TOKEN="ptk-1")
    done = ran(home, "tools", folder, "call", "your_tool_name", "--yes", env=env)
    assert done.returncode == 1
    assert "it was started for a provider" in done.stderr
    assert ran(home, "tools", folder, "dev", "--yes", env=env).returncode == 1


def test_a_call_has_arguments_by_its_schema(home: Home, folder: str) -> None:
    def call(*words: str) -> tuple[int, str, str]:
        done = ran(home, "tools", folder, "call", *words, "--yes")
        return done.returncode, done.stdout, done.stderr.splitlines()[-1] if done.stderr else ""

    assert call("your_tool_name", "param1=test")[:2] == (0, '"Processed test"\n')
    code, _, told = call("your_tool_name")
    assert (code, "requires param1" in told) == (2, True)
    code, _, told = call("your_tool")
    assert (code, "did you mean your_tool_name?" in told) == (1, True)


def test_files_that_wait_to_be_allowed_are_named_by_the_doctor(home: Home, tmp_path: Path) -> None:
    repo = folder_with(tmp_path / "repo", one=source("one"))

    def found() -> list[tuple[str, str, str]]:
        said = check("doctor", ran(home, "doctor", "--json", cwd=repo).stdout)["findings"]
        of_tools = [one for one in said if one["id"] == "tools"]
        return [(one["state"], one["text"], one["command"]) for one in of_tools]

    text, allow = (
        f"the tool files of {repo} wait until you allow them",
        "tapui emitters allow tools",
    )
    assert found() == [("warning", text, allow)]
    assert ran(home, "tools", repo, "call", "one", "--yes").returncode == 0
    assert found() == []
    folder_with(tmp_path / "repo", two=source("two"))
    ((state, told, command),) = found()
    assert (state, command, told.startswith(text)) == ("warning", allow, True)
    assert "tools/two.py" in told
    for at in range(600):
        Path(repo, "tools", f"_{at}.py").touch()
    ((state, told, _),) = found()
    assert (state, "more than 500 files" in told) == ("warning", True)


@pytest.mark.parametrize("action", ["list", "check", "call", "run", "dev"])
def test_a_folder_without_tools_is_told(home: Home, tmp_path: Path, action: str) -> None:
    words = ("x",) if action == "call" else ()
    done = ran(home, "tools", str(tmp_path), action, *words)
    assert done.returncode == 2
    assert done.stderr == f"tapui: {tmp_path} has no folder tools/\n"


def test_notes_are_listed_shown_edited_and_deleted(home: Home, tmp_path: Path) -> None:
    assert "no notes" in ran(home, "memory").stderr
    editor = tmp_path / "editor"
    editor.write_text('#!/bin/sh\necho "a note" >> "$1"\n')
    editor.chmod(0o755)
    env = home.env(EDITOR=str(editor))
    assert ran(home, "memory", "edit", "n.md", env=env).returncode == 0
    assert ran(home, "memory", "show", "n.md").stdout == "a note\n"
    assert (home.root / ".copilot-cli/memories/n.md").read_text() == "a note\n"
    (told,) = map(json.loads, ran(home, "memory", "list", "--json").stdout.splitlines())
    assert (told["name"], told["writer"]["by"]) == ("n.md", "person")
    assert "you" in ran(home, "memory", "list").stdout.splitlines()[1]
    assert ran(home, "memory", "delete", "n.md").returncode == 2
    assert ran(home, "memory", "delete", "n.md", "--yes").returncode == 0
    assert ran(home, "memory", "show", "n.md").returncode == 1
    assert ran(home, "memory", "show", "../..").returncode == 2
    failing = home.env(EDITOR="false")
    assert ran(home, "memory", "edit", "m.md", env=failing).returncode == 1
    assert ran(home, "memory", "show", "m.md").returncode == 1


def test_the_folder_of_notes_is_a_setting(home: Home, tmp_path: Path) -> None:
    home.settle(f'[memory]\nfolder = "{tmp_path}/notes"\n')
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes/a.md").write_text("A")
    done = ran(home, "memory", "list")
    assert "another program" in done.stdout


def test_a_provider_that_ships_is_added_and_allowed(home: Home, tmp_path: Path) -> None:
    folder = os.path.realpath(tmp_path)
    assert ran(home, "provider", "add", "memory", "--folder", folder).returncode == 2
    done = ran(home, "provider", "add", "memory", "--folder", folder, "--yes")
    assert done.returncode == 0
    written = json.loads(Path(folder, "tap.config.json").read_text())
    args = ["-P", "-m", "tapui.shipped", "memory"]
    assert written == {"providers": [{"name": "memory", "command": sys.executable, "args": args}]}
    listed = ran(home, "emitters", "list", "--folder", folder, "--json").stdout
    assert "not allowed" not in listed
    assert ran(home, "emitters", "allow", "--folder", folder).stderr == (
        "nothing waits to be allowed\n"
    )
    done = ran(home, "provider", "add", "memory", "--folder", folder, "--yes")
    assert (done.returncode, "has a provider memory already" in done.stderr) == (1, True)
    assert ran(home, "provider", "add", "nothing").returncode == 2
    assert (
        ran(home, "provider", "add", "changed-files", "--folder", folder, "--yes").returncode == 0
    )
