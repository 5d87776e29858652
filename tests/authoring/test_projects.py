"""Projects from templates."""

import json
import subprocess
import sys
import tomllib
from importlib import metadata
from pathlib import Path

import pytest

from tapui.authoring import author_file, projects
from tapui.authoring.projects import WHOLE, ProjectError, contents, make, module_name, script_source
from tapui.cli.commands.provider import authoring
from tapui.shipped import SHIPPED


def test_a_python_project_has_its_name_everywhere(tmp_path: Path) -> None:
    files = make("my-tools", "python", tmp_path)
    assert sorted(str(file.relative_to(tmp_path)) for file in files) == [
        "my-tools/README.md",
        "my-tools/my_tools.py",
        "my-tools/test_my_tools.py",
    ]
    texts = "".join(file.read_text() for file in files)
    assert 'Provider("my-tools")' in texts
    assert "from my_tools import provider" in texts
    assert "{{" not in texts
    assert "NAME" not in texts


@pytest.mark.parametrize("name", ["greeter.py", "test_greeter.py"])
def test_its_programs_name_what_they_need(name: str) -> None:
    text = contents("greeter", "greeter", "python")[name]
    block = text.partition("# /// script\n")[2].partition("# ///\n")[0]
    read = tomllib.loads("".join(line[2:] for line in block.splitlines(keepends=True)))
    assert read["dependencies"] == ["tapui"]
    assert read["requires-python"] == metadata.metadata("tapui")["Requires-Python"]
    assert Path(read["tool"]["uv"]["sources"]["tapui"]["path"]) == Path(__file__).parents[2]


@pytest.mark.parametrize(
    ("origin", "source"),
    [
        ({"url": "file:///a%20b/tapui", "dir_info": {}}, {"path": "/a b/tapui"}),
        ({"url": "file:///tapui.whl", "archive_info": {}}, {"path": "/tapui.whl"}),
        ({"url": "https://a.example/tapui.whl"}, {"url": "https://a.example/tapui.whl"}),
        (
            {"url": "https://a.example/tapui", "vcs_info": {"vcs": "git", "commit_id": "4f2"}},
            {"git": "https://a.example/tapui", "rev": "4f2"},
        ),
        ({"url": "https://a.example/tapui", "vcs_info": {"vcs": "hg", "commit_id": "4"}}, None),
        ({}, None),
        (None, None),
    ],
)
def test_where_tapui_was_installed_from_is_where_uv_finds_it(
    origin: dict[str, object] | None, source: dict[str, str] | None
) -> None:
    text = None if origin is None else json.dumps(origin)
    lines = script_source(text).splitlines(keepends=True)
    read = tomllib.loads("".join(line.removeprefix("#").removeprefix(" ") for line in lines))
    assert read == ({} if source is None else {"tool": {"uv": {"sources": {"tapui": source}}}})


@pytest.mark.parametrize(
    "name",
    [
        *("", "../up", "a/b", "1st", "-x", "é", "with space", "x" * 65),
        *("class", "json", "tap", "tapui", "msgspec"),
    ],
)
def test_what_is_no_name_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(ProjectError):
        make(name, "python", tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_nothing_of_the_authors_is_written_over(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    kept = tmp_path / "mine" / "README.md"
    kept.write_text("mine")
    (tmp_path / "file").write_text("mine")
    for name in ("mine", "file"):
        with pytest.raises(ProjectError, match="is there already"):
            make(name, "python", tmp_path)
    assert kept.read_text() == "mine"
    (tmp_path / "empty").mkdir()
    assert make("empty", "python", tmp_path)


def test_the_command_line_knows_each_language() -> None:
    assert authoring.LANGUAGES == projects.LANGUAGES


def test_a_name_is_an_identifier_in_python() -> None:
    assert module_name("My-Tools") == "my_tools"


def test_what_templates_share_is_in_each_project(tmp_path: Path) -> None:
    for folder, file in (("module", "tap.js"), ("javascript", "src/NAME.js")):
        path = tmp_path / "templates" / folder / file
        path.parent.mkdir(parents=True)
        path.write_text("// {{name}} {{module}}")
    assert contents("my-tools", "my_tools", "javascript", tmp_path / "templates") == {
        "src/my_tools.js": "// my-tools my_tools",
        "tap.js": "// my-tools my_tools",
    }


@pytest.mark.parametrize("name", ["runs", "watcher"])
def test_a_copy_has_no_module_of_its_own_name(tmp_path: Path, name: str) -> None:
    with pytest.raises(ProjectError, match="the template has a module of this name"):
        make(name, "ci", tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_copy_of_a_provider_that_ships_runs_and_passes_its_test(tmp_path: Path) -> None:
    files = make("our-ci", "ci", tmp_path)
    names = sorted(file.name for file in files)
    assert names == [
        "README.md",
        "failures.py",
        "github_actions.py",
        "our_ci.py",
        "runs.py",
        "session_watch.py",
        "test_our_ci.py",
        "watcher.py",
    ]
    assert not any("tapui.shipped.ci" in file.read_text() for file in files)
    done = subprocess.run(
        [sys.executable, "test_our_ci.py"],
        cwd=tmp_path / "our-ci",
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("template", sorted(set(SHIPPED) - set(WHOLE)))
def test_a_provider_that_ships_is_copied_with_another_name(tmp_path: Path, template: str) -> None:
    files = make("my-own", template, tmp_path)
    assert sorted(str(file.relative_to(tmp_path)) for file in files) == [
        "my-own/README.md",
        "my-own/my_own.py",
        "my-own/test_my_own.py",
    ]
    texts = {file.name: file.read_text() for file in files}
    assert "{{" not in texts["README.md"] + texts["test_my_own.py"]
    assert texts["my_own.py"].count('"my-own"') == 1
    assert f"a copy of `{template}`" in texts["README.md"]
    loaded = author_file.load(tmp_path / "my-own/my_own.py").provider
    assert loaded.name == "my-own"
    assert loaded.tools
