"""A hint can be typed as it is printed."""

import subprocess
import sys
from pathlib import Path

import pytest

from tapui import invocation
from tapui.invocation import install_line, program
from tests.rig.gateway import Home, tapui_argv


def made(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return path


@pytest.fixture
def bin_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "on path"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))
    return folder


def test_the_name_alone_where_it_finds_this_very_program(bin_folder: Path) -> None:
    here = made(bin_folder / "tapui")
    assert program(str(here), bin_folder) == "tapui"


def test_a_path_where_the_name_finds_nothing_or_another_program(bin_folder: Path) -> None:
    elsewhere = made(bin_folder.parent / "clone/.venv/bin/tapui")
    folder = bin_folder.parent / "clone"
    for _ in range(2):
        assert program(str(elsewhere), folder) == ".venv/bin/tapui"
        assert program(str(elsewhere), bin_folder) == str(elsewhere)
        assert program(".venv/bin/tapui", folder) == ".venv/bin/tapui"
        made(bin_folder / "tapui")


@pytest.mark.usefixtures("bin_folder")
def test_a_path_is_quoted_for_the_shell(tmp_path: Path) -> None:
    here = made(tmp_path / "a b/tapui")
    assert program(str(here), None) == f"'{here}'"
    assert program(str(here), tmp_path / "a b") == "./tapui"


@pytest.mark.usefixtures("bin_folder")
def test_the_package_is_run_by_its_python_and_a_stranger_knows_the_name() -> None:
    assert program("/x/tapui/__main__.py", None) == f"{sys.executable} -P -m tapui"
    assert program("-c", None) == "tapui"
    assert program("/usr/bin/pytest", None) == "tapui"
    assert program("/usr/lib/pytest/__main__.py", None) == "tapui"


@pytest.mark.machine
def test_what_a_command_prints_can_be_typed_in_a_venv_that_is_not_on_the_path(home: Home) -> None:
    argv = tapui_argv("status")
    env = home.env(PATH="/usr/bin:/bin")
    done = subprocess.run(
        argv, env=env, capture_output=True, text=True, timeout=30, check=False, cwd="/"
    )
    assert done.returncode == 3
    assert f"start one with `{argv[0]}` or `{argv[0]} serve`\n" in done.stderr
    hint = done.stderr.rpartition("`")[0].rpartition("`")[2].removesuffix("serve") + "--version"
    typed = subprocess.run(
        hint, shell=True, env=env, capture_output=True, text=True, timeout=30, check=True, cwd="/"
    )
    assert typed.stdout.startswith("tapui ")


def test_a_package_is_installed_for_this_very_python(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/my venv/bin/python")
    assert install_line("tapui[mcp]") == "'/my venv/bin/python' -m pip install 'tapui[mcp]'"
    monkeypatch.setattr(invocation, "find_spec", lambda _name: None)
    line = "uv pip install --python '/my venv/bin/python' --upgrade some-sdk"
    assert install_line("some-sdk", "--upgrade") == line
