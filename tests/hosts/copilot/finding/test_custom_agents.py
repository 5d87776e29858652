"""Custom agents as their files name them: found, bounded, and never through a link."""

import os
from pathlib import Path

import pytest

from tapui.hosts.copilot.finding import custom_agents as finding
from tapui.hosts.copilot.finding.custom_agents import CustomAgent, custom_agents
from tapui.wire import limits


@pytest.fixture
def home(tmp_path: Path) -> Path:
    place = tmp_path / "copilot"
    place.mkdir()
    return place


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    place = tmp_path / "code" / "app"
    place.mkdir(parents=True)
    return place


def write(folder: Path, name: str, text: str = "") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / name
    file.write_text(text)
    return file


def about(description: str) -> str:
    return f"---\nname: X\n{description}\ntools: [view]\n---\nYou review.\n"


def test_the_persons_and_the_folders_by_name(home: Path, folder: Path) -> None:
    write(home / "agents", "writer.agent.md", about("description: Writes notes"))
    write(home / "agents", "reviewer.md", about("description: Mine"))
    write(folder / ".github" / "agents", "reviewer.agent.md", about("description: 'Reviews, well'"))
    write(folder / ".github" / "agents", "README.txt", "no agent")
    assert custom_agents(home, str(folder)) == [
        CustomAgent("reviewer", "Reviews, well", is_own=False),
        CustomAgent("writer", "Writes notes", is_own=True),
    ]


def test_those_of_the_repository_that_the_folder_is_in(home: Path, folder: Path) -> None:
    (folder.parent / ".git").mkdir()
    write(folder.parent / ".github" / "agents", "deep.md", about("description: From the root"))
    write(folder.parent.parent / ".github" / "agents", "above.md")
    assert [one.name for one in custom_agents(home, str(folder))] == ["deep"]


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        (about("description: plain  words"), "plain words"),
        (about('description: "in quotes"'), "in quotes"),
        (about("description: >-\n  two\n  lines"), "two lines"),
        (about("description:\n  below"), "below"),
        (about("model: gpt-5"), ""),
        ("no front matter\ndescription: x\n", ""),
        ("---\nname: x\n---\ndescription: of the prompt\n", ""),
        ("", ""),
        (about("description: " + "x" * 9_000), "x" * limits.MAX_SUMMARY),
        (about("description: &a [*a, *a, {{{{[[[["), "&a [*a, *a, {{{{[[[["),
    ],
)
def test_what_it_is_for(home: Path, text: str, wanted: str) -> None:
    write(home / "agents", "one.md", text)
    assert custom_agents(home, "/nowhere") == [CustomAgent("one", wanted, is_own=True)]


def test_no_link_is_followed_and_only_plain_files_are_read(home: Path, folder: Path) -> None:
    secret = write(folder.parent, "secret.md", about("description: secret"))
    agents = folder / ".github" / "agents"
    agents.mkdir(parents=True)
    (agents / "link.md").symlink_to(secret)
    os.mkfifo(agents / "pipe.md")
    (agents / "folder.md").mkdir()
    write(agents, "plain.md")
    assert [one.name for one in custom_agents(home, str(folder))] == ["plain"]
    elsewhere = folder.parent / "other"
    (elsewhere / ".github").mkdir(parents=True)
    (elsewhere / ".github" / "agents").symlink_to(agents)
    assert custom_agents(home, str(elsewhere)) == []


def test_names_that_are_no_text_or_too_long(home: Path) -> None:
    agents = home / "agents"
    agents.mkdir()
    fd = os.open(os.fsencode(agents) + b"/\xff\x1b[2J.md", os.O_CREAT | os.O_WRONLY)
    os.close(fd)
    write(agents, ".md")
    (found,) = custom_agents(home, "/nowhere")
    assert "\udcff" not in found.name
    found.name.encode()


@pytest.mark.parametrize("folder", ["", "relative", "/no\0where", "/nowhere"])
def test_a_folder_that_is_none_has_none(home: Path, folder: str) -> None:
    assert custom_agents(home, folder) == []


def test_it_is_bounded(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(finding, "MOST_ENTRIES", 5)
    for number in range(9):
        write(home / "agents", f"a{number}.md", "---\n" + "x" * 100_000)
    assert len(custom_agents(home, "/nowhere")) == 5


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_a_file_of_any_editor_is_read(home: Path, folder: Path, encoding: str) -> None:
    file = write(home / "agents", "writer.md")
    file.write_bytes(about("description: Writes notes").replace("\n", "\r\n").encode(encoding))
    assert custom_agents(home, str(folder)) == [CustomAgent("writer", "Writes notes", is_own=True)]
