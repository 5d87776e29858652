"""`tapui help`: pages in a pager, as plain text elsewhere, and which topics there are."""

import re
import zipfile
from pathlib import Path

import pytest

from tapui import docs
from tests.cli.running import ran
from tests.rig.gateway import Home, tapui_argv
from tests.rig.tmux import Tmux

PACKAGE = Path(docs.__file__).parents[1]


def test_without_a_topic_all_are_listed(home: Home) -> None:
    done = ran(home, "help")
    assert done.returncode == 0
    assert re.findall(r"^  ([a-z-]+) +\S", done.stdout, re.MULTILINE) == list(docs.TOPICS)


def test_every_page_is_a_topic() -> None:
    pages = {path.stem for path in (PACKAGE / "docs").glob("*.md")}
    assert pages <= docs.TOPICS.keys()
    assert {docs.path_of(topic) for topic in docs.TOPICS} >= set((PACKAGE / "docs").glob("*.md"))


@pytest.mark.parametrize("topic", docs.TOPICS)
def test_a_page_is_text_for_a_terminal(topic: str) -> None:
    page = docs.page(topic)
    assert page.startswith("# ")
    assert "<!--" not in page
    assert "![" not in page
    assert re.findall(r"\]\((?!http)[^)]*\)", page) == []
    assert set(re.findall(r"`tapui help ([a-z-]+)`", page)) <= docs.TOPICS.keys()


def test_elsewhere_than_in_a_terminal_the_markdown_is_printed(home: Home) -> None:
    done = ran(home, "help", "rules")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == docs.page("rules")


def test_an_unknown_topic_names_those_there_are(home: Home) -> None:
    done = ran(home, "help", "nope")
    assert (done.returncode, done.stdout) == (2, "")
    assert f"there is no topic nope; there are {', '.join(docs.TOPICS)}" in done.stderr


def test_a_terminal_gets_the_page_in_the_pager(home: Home, tmux: Tmux, tmp_path: Path) -> None:
    pager = tmp_path / "pager"
    pager.write_text("#!/bin/sh\necho paged\ncat\nsleep 60\n")
    pager.chmod(0o755)
    screen = tmux.start(
        tapui_argv("help", "start"),
        env=home.env(PAGER=str(pager), TERM="xterm-256color"),
        cwd=tmp_path,
        size=(90, 200),
    )
    screen.wait_for("^paged$")
    screen.wait_for("Start")
    assert not screen.find(r"^# ")
    assert not screen.find(r"^```")


def test_without_a_pager_the_page_is_printed(home: Home, tmux: Tmux, tmp_path: Path) -> None:
    env = home.env(PAGER="no-such-pager", TERM="xterm-256color")
    screen = tmux.start(tapui_argv("help", "steering"), env=env, cwd=tmp_path)
    assert screen.wait_dead() == 0
    assert "Steer a session" in screen.scrollback()


def test_a_wheel_carries_the_pages(tmp_path: Path) -> None:
    builder = pytest.importorskip("hatchling.builders.wheel", reason="needs the build backend")
    root = PACKAGE.parent
    if not (root / "pyproject.toml").is_file():
        pytest.skip("an installed package builds no wheel")
    (built,) = builder.WheelBuilder(str(root)).build(directory=str(tmp_path))
    with zipfile.ZipFile(built) as wheel:
        names = set(wheel.namelist())
    assert {str(docs.path_of(topic).relative_to(root)) for topic in docs.TOPICS} <= names
