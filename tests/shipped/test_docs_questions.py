"""Questions on installed libraries find the section that answers them."""

import re
import sysconfig
import tomllib
from pathlib import Path
from typing import Any

import pytest

from tapui.shipped.docs.answers import provider
from tapui.shipped.docs.sections import MOST_CHARS

QUESTIONS = tomllib.loads(Path(__file__).with_name("questions.toml").read_text())["questions"]
WANTED = 27
"""Of thirty."""


def first_names(answer: str) -> list[set[str]]:
    """Return the names of the first three sections of an answer."""
    found = []
    for section in re.split(r"^## ", answer, flags=re.MULTILINE)[1:4]:
        also = re.search(r"^Also: (.*)$", section, re.MULTILINE)
        found.append({section.partition("\n")[0], *(also[1].split(", ") if also else ())})
    return found


def test_there_are_thirty_of_five_libraries() -> None:
    assert len(QUESTIONS) == 30
    assert len({one["library"] for one in QUESTIONS}) == 5


async def test_the_right_section_is_among_the_first_three(tmp_path: Path) -> None:
    site = Path(sysconfig.get_path("purelib"))
    environ = {"TAPUI_HOME": str(tmp_path / "home"), "VIRTUAL_ENV": str(site.parents[2])}
    (tmp_path / "work").mkdir()
    right: list[Any] = []
    made = provider(environ, ahead_after=3600)
    async with made.test(cwd=str(tmp_path / "work"), patience=120) as session:
        for one in QUESTIONS:
            library = f"pypi/{one['library']}"
            answer = await session.call("get_library_docs", libraryId=library, query=one["text"])
            assert len(answer.text) <= MOST_CHARS, one["text"]
            if any(names & {*one["right"]} for names in first_names(answer.text)):
                right.append(one["text"])
    missed = [one["text"] for one in QUESTIONS if one["text"] not in right]
    assert len(right) >= WANTED, missed


@pytest.mark.parametrize("library", sorted({one["library"] for one in QUESTIONS}))
async def test_a_library_is_found_by_its_name(tmp_path: Path, library: str) -> None:
    site = Path(sysconfig.get_path("purelib"))
    environ = {"TAPUI_HOME": str(tmp_path / "home"), "VIRTUAL_ENV": str(site.parents[2])}
    async with provider(environ, ahead_after=3600).test(cwd=str(tmp_path)) as session:
        found = await session.call("resolve_library_id", libraryName=library)
    assert found.data[0]["id"] == f"pypi/{library}"
    assert found.data[0]["title"].startswith(f"{library} ")
