"""What is installed for a folder: found, read without running any of it, and bounded."""

import os
import re
import sys
from pathlib import Path
from typing import Any

import pytest

from tapui.settings.settings import LibraryDocs
from tapui.shipped.docs.answers import provider
from tapui.shipped.docs.indexer import Indexer
from tapui.shipped.docs.package_index import path_of, search
from tapui.shipped.docs.package_reading import make, sections_of
from tapui.shipped.docs.packages import (
    InstalledPackages,
    Package,
    direct_dependencies,
    files_of,
    installed,
)
from tapui.shipped.docs.python_api import PythonApi
from tapui.shipped.docs.standing import docs_standing
from tests.rig.waiting import until_async
from tests.shipped.docs_places import install, install_node

MODULE = '''
"""Boats, and how they float."""

from boats._hulls import Hull, keel as fin

__all__ = ["Hull", "sail", "fin"]


def sail(boat: "Hull", *, knots: float = 3.0) -> bool:
    """Sail a boat into the harbour.

    Args:
        knots: how fast
    """
'''
HULLS = '''
class Hull:
    """What floats. It has to be tight."""

    length: int = 7
    """In metres, from bow to stern."""

    def __init__(self, wood: str) -> None:
        """Take the wood that it is built of."""

    def paint(self, colour: str) -> None:
        """Paint the hull against shells and weed."""

    @property
    def weight(self) -> int:
        """Return the weight in tonnes."""

    def _hidden(self) -> None:
        """Never shown."""


def keel() -> None:
    """Weigh the boat down."""
'''


def packages(folder: Path, **environ: str) -> dict[str, Package]:
    return {one.id: one for one in installed(str(folder), environ)}


def headings(folder: Path, name: str) -> dict[str, str]:
    """Return the sections of a package by their headings."""
    return {one.name: f"{one.text}\n{one.rest}" for one in sections_of(packages(folder)[name])}


def session_of(folder: Path, ahead_after: float = 3600) -> Any:
    given = {"TAPUI_HOME": str(folder.parent / "home")}
    return provider(given, ahead_after=ahead_after).test(cwd=str(folder), patience=60)


@pytest.fixture
def work(tmp_path: Path) -> Path:
    folder = tmp_path / "work"
    folder.mkdir()
    return folder


# Python


def test_names_signatures_and_docstrings_are_sections(work: Path) -> None:
    install(work, "boats", {"boats/__init__.py": MODULE, "boats/_hulls.py": HULLS})
    found = headings(work, "pypi/boats")
    assert "Boats, and how they float." in found["boats"]
    assert "sail(boat: 'Hull', *, knots: float=3.0) -> bool" in found["boats.sail"]
    assert "Sail a boat into the harbour." in found["boats.sail"]
    hull = found["boats.Hull"]
    assert "class Hull\nHull(wood: str) -> None" in hull
    assert "Take the wood" in hull
    assert "- length: In metres" in hull
    assert "- paint: Paint the hull" in hull
    assert "property Hull.weight -> int" in found["boats.Hull.weight"]
    assert "Weigh the boat down." in found["boats.fin"]
    assert not any("_hulls" in one or "hidden" in one for one in found)


def test_a_stub_has_the_signature_and_the_program_the_words(work: Path) -> None:
    stub = "def sail(boat: Boat, knots: float = ...) -> Harbour: ...\n"
    install(
        work, "boats", {"boats.py": 'def sail(boat, knots):\n    "Sail on."\n', "boats.pyi": stub}
    )
    sail = headings(work, "pypi/boats")["boats.sail"]
    assert "sail(boat: Boat, knots: float=...) -> Harbour" in sail
    assert "Sail on." in sail


def test_readme_and_llms_txt_are_sections(work: Path) -> None:
    files = {"boats/__init__.py": "", "boats/llms.txt": "# Boats\n\n## Mooring\n\nTwo ropes.\n"}
    install(work, "boats", files, about="# boats\n\nfloat\n\n## Launching\n\nPush hard.\n")
    found = headings(work, "pypi/boats")
    assert "Push hard." in found["Launching"]
    assert "Two ropes." in found["Mooring"]


def test_nothing_of_the_folder_is_run(work: Path, tmp_path: Path) -> None:
    ran = tmp_path / "ran"
    code = f"open({str(ran)!r}, 'w').write('ran')\n"
    site = install(
        work,
        "boats",
        {"boats/__init__.py": f'"""Boats."""\n{code}', "sitecustomize.py": code},
    )
    (site / "evil.pth").write_text(f"import os; {code}")
    (site / "usercustomize.py").write_text(code)
    python = work / ".venv/bin/python"
    python.parent.mkdir()
    python.write_text(f"#!/bin/sh\ntouch {ran}\n")
    python.chmod(0o755)
    assert Indexer(tmp_path / "home").make(packages(work)["pypi/boats"], lambda _: False) is None
    assert not ran.exists()


def test_an_environment_of_the_person_counts_where_the_folder_has_none(
    work: Path, tmp_path: Path
) -> None:
    elsewhere = tmp_path / "elsewhere"
    install(elsewhere, "boats", {"boats.py": ""})
    active = str(elsewhere / ".venv")
    assert list(packages(work, VIRTUAL_ENV=active)) == ["pypi/boats"]
    install(work, "oars", {"oars.py": ""})
    assert list(packages(work, VIRTUAL_ENV=active)) == ["pypi/oars"]


def test_packages_of_the_repository_count_in_a_folder_of_it(work: Path) -> None:
    install(work, "boats", {"boats.py": ""})
    inner = work / "docs/deep"
    inner.mkdir(parents=True)
    assert packages(inner) == {}
    (work / ".git").mkdir()
    assert list(packages(inner)) == ["pypi/boats"]


def test_they_are_looked_for_anew_after_a_while(work: Path) -> None:
    now = [0.0]
    place = InstalledPackages(str(work), {}, lambda: now[0], keeps=5)
    assert place.all() == []
    install(work, "boats", {"boats.py": ""})
    assert place.all() == []
    now[0] = 6
    assert [one.name for one in place.all()] == ["boats"]


# Node


def test_readmes_and_types_of_node_modules_are_sections(work: Path) -> None:
    types = (
        "/** Moors a boat.\n * @param rope how thick\n */\n"
        "export declare function moor(rope: number): Promise<void>;\n"
        "export interface Boat {\n  /** its name */\n  name: string;\n}\n"
    )
    files = {"README.md": "# harbour\n\n## Tides\n\nTwice a day.\n", "index.d.ts": types}
    install_node(work, "harbour", files, '{"types": "index.d.ts"}')
    install_node(work, "@sea/salt", {"README.md": "## Taste\n\nSalty.\n"})
    found = headings(work, "npm/harbour")
    assert "Twice a day." in found["Tides"]
    assert "Moors a boat." in found["moor"]
    assert "moor(rope: number): Promise<void>;" in found["moor"]
    assert "name: string;" in found["Boat"]
    assert "Salty." in headings(work, "npm/sea/salt")["Taste"]


def test_dependencies_of_the_folder_are_known(work: Path) -> None:
    assert direct_dependencies(str(work)) == set()
    (work / "package.json").write_text('{"dependencies": {"a": "1"}, "devDependencies": {"b": 2}}')
    assert direct_dependencies(str(work)) == {"a", "b"}
    (work / "package.json").write_bytes(b'\xef\xbb\xbf{"dependencies": {"c": "1"}}\r\n')
    assert direct_dependencies(str(work)) == {"c"}
    (work / "package.json").write_text('{"dependencies": [')
    assert direct_dependencies(str(work)) == set()


# Hostile


@pytest.mark.parametrize(
    "metadata",
    [
        b"",
        b"\xff\xfe\x00" * 1000,
        b"Name: ../../etc\nVersion: 1.0\n\n",
        b"Name: other\nVersion: 1.0\n\n",
        b"Name: boats\nVersion: ../1\n\n",
        b"Name: boats\nVersion: 1.0\x1b[2J\n\n",
        b"Name: " + b"b" * 5_000_000 + b"\nVersion: 1.0\n\n",
        b"Name boats" * 100_000,
        b"Summary: " + b"x" * 300_000 + b"\nName: boats\nVersion: 1.0\n\n",
    ],
)
def test_hostile_metadata_costs_its_package_alone(work: Path, metadata: bytes) -> None:
    site = install(work, "boats", {"boats.py": ""})
    install(work, "oars", {"oars.py": ""})
    (site / "boats-1.0.dist-info/METADATA").write_bytes(metadata)
    assert list(packages(work)) == ["pypi/oars"]


def test_metadata_that_is_a_pipe_or_leads_out_is_passed_over(work: Path, tmp_path: Path) -> None:
    site = install(work, "boats", {"boats.py": ""})
    (site / "boats-1.0.dist-info/METADATA").unlink()
    os.mkfifo(site / "boats-1.0.dist-info/METADATA")
    outside = tmp_path / "METADATA"
    outside.write_text("Name: oars\nVersion: 1.0\n\n")
    (site / "oars-1.0.dist-info").mkdir()
    (site / "oars-1.0.dist-info/METADATA").symlink_to(outside)
    assert packages(work) == {}


def test_a_list_of_files_that_leads_out_is_not_followed(work: Path, tmp_path: Path) -> None:
    secret = tmp_path / "secret.py"
    secret.write_text('def secret():\n    "The password."\n')
    record = f"../../../../../secret.py,,\n{secret},,\nboats.py,,\nlink.py,,\n"
    site = install(work, "boats", {"boats.py": '"""Boats."""\n'}, record=record)
    (site / "link.py").symlink_to(secret)
    found = headings(work, "pypi/boats")
    assert "Boats." in found["boats"]
    assert not any("password" in text for text in found.values())


def test_an_environment_that_is_a_link_out_of_the_folder_is_not_read(
    work: Path, tmp_path: Path
) -> None:
    install(tmp_path / "other", "boats", {"boats.py": ""})
    (work / ".venv").symlink_to(tmp_path / "other/.venv")
    assert packages(work) == {}


def test_a_link_out_of_node_modules_is_not_followed(work: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    install_node(outside, "thief", {"README.md": "## Loot\n\nThe password.\n"})
    modules = work / "node_modules"
    modules.mkdir()
    (modules / "thief").symlink_to(outside / "node_modules/thief")
    secret = tmp_path / "secret.md"
    secret.write_text("## Loot\n\nThe password.\n")
    place = install_node(work, "boats", {"README.md": "## Sails\n\nWhite.\n"})
    (place / "docs.md").symlink_to(secret)
    (place / "folder").symlink_to(tmp_path)
    store = install_node(modules / ".store/oars@1", "oars", {"README.md": "## Oars\n\nTwo.\n"})
    (modules / "oars").symlink_to(store)  # as some package managers do
    assert list(packages(work)) == ["npm/boats", "npm/oars"]
    assert not any("password" in text for text in headings(work, "npm/boats").values())
    assert "Two." in headings(work, "npm/oars")["Oars"]


def test_a_document_of_100_mb_is_read_in_part(work: Path) -> None:
    place = install_node(work, "boats", {"README.md": "## Sails\n\nWhite.\n"})
    with (place / "README.md").open("ab") as file:
        file.truncate(100 * 1024 * 1024)
    sections = list(sections_of(packages(work)["npm/boats"]))
    assert "White." in sections[0].text
    assert sum(len(one.text) for one in sections) <= 1024 * 1024


HOSTILE = (
    b"(" * 100_000,
    b"-" * 100_000 + b"1",
    b"x = " + b"[" * 300 + b"]" * 300,
    b"if 1:\n" + b"".join(b" " * n + b"if 1:\n" for n in range(1, 99)) + b" " * 100 + b"pass",
    b"a" + b".a" * 50_000,
    b"\x00\x01\x02",
    b"\xff" * 100,
    b"# coding: nonsense\n",
    b"def f(self=1): 'x'\nclass A:\n    def f(self=1): 'y'\n",
    b"class A(" + b"B," * 50_000 + b"): 'x'",
    b"def f(x=" + b"-" * 500 + b"1): 'x'",
    b"def broken(:\n",
)


def test_programs_that_cannot_be_read_are_left_out(work: Path) -> None:
    files = {f"evil{number}.py": "" for number in range(len(HOSTILE))}
    site = install(work, "boats", {**files, "zeal.py": '"""Boats."""\n'})
    for name, source in zip(files, HOSTILE, strict=True):
        (site / name).write_bytes(source)
    package = packages(work)["pypi/boats"]
    assert Indexer(work.parent / "home").make(package, lambda _: False) is None
    found = search(path_of(work.parent / "home", package), "boats", 8)
    assert [one.heading for one in found.sections] == ["zeal"]


def test_names_that_a_package_hands_on_in_a_circle_end() -> None:
    api = PythonApi()
    api.take("a", b"from b import x\n", is_package=True, is_stub=False)
    api.take("b", b"from a import x\nfrom b import *\n", is_package=True, is_stub=False)
    assert [one.name for one in api.sections()] == []


def test_files_of_a_package_are_few(work: Path) -> None:
    record = "".join(f"boats/m{number}.py,,\n" for number in range(10_000))
    install(work, "boats", {"boats/__init__.py": ""}, record=record)
    assert len(files_of(packages(work)["pypi/boats"])) <= 3_000


DIES = """
import sys
for line in sys.stdin:
    if "evil" in line:
        sys.exit(9)
    open(sys.argv[1] + "/done", "a").write(line)
    print("1", flush=True)
"""


def test_a_package_that_ends_the_process_costs_itself_alone(work: Path, tmp_path: Path) -> None:
    for name in ("boats", "evil", "oars"):
        install(work, name, {f"{name}.py": ""})
    indexer = Indexer(tmp_path, (sys.executable, "-c", DIES))
    found = packages(work)
    indexer.run(list(found.values())).work()
    done = (tmp_path / "done").read_text()
    assert re.findall(r'"pypi","(\w+)"', done) == ["boats", "oars"]
    assert indexer.make(found["pypi/evil"], lambda _: False) is not None
    assert indexer.make(found["pypi/oars"], lambda _: False) is None


def test_a_call_that_is_given_up_ends_the_process(work: Path, tmp_path: Path) -> None:
    install(work, "boats", {"boats.py": ""})
    hangs = "import time, sys, os\nopen(sys.argv[1], 'w').write(str(os.getpid()))\ntime.sleep(600)"
    pid = tmp_path / "pid"
    indexer = Indexer(pid, (sys.executable, "-c", hangs))
    fault = indexer.make(
        packages(work)["pypi/boats"], lambda _: pid.exists() and bool(pid.read_text())
    )
    assert fault == "the call was given up"
    with pytest.raises(ProcessLookupError):
        os.kill(int(pid.read_text()), 0)


# The index


def test_indexes_are_private_and_kept_apart_by_place(work: Path, tmp_path: Path) -> None:
    install(work, "boats", {"boats.py": '"""Mine."""\n'})
    install(tmp_path / "other", "boats", {"boats.py": '"""Theirs."""\n'})
    mine, theirs = (packages(one)["pypi/boats"] for one in (work, tmp_path / "other"))
    state = tmp_path / "home"
    state.mkdir()
    for one in (mine, theirs):
        make(state, one)
    assert path_of(state, mine).parent != path_of(state, theirs).parent
    assert path_of(state, mine).stat().st_mode & 0o777 == 0o600
    assert path_of(state, mine).parent.stat().st_mode & 0o777 == 0o700
    assert "Mine." in search(path_of(state, mine), "boats", 3).sections[0].text


def test_another_version_has_an_index_of_its_own_and_the_old_one_goes(
    work: Path, tmp_path: Path
) -> None:
    site = install(work, "boats", {"boats.py": '"""Of wood."""\n'})
    state = tmp_path / "home"
    state.mkdir()
    old = path_of(state, packages(work)["pypi/boats"])
    make(state, packages(work)["pypi/boats"])
    for file in sorted((site / "boats-1.0.dist-info").iterdir()):
        file.unlink()
    (site / "boats-1.0.dist-info").rmdir()
    install(work, "boats", {"boats.py": '"""Of steel."""\n'}, version="2.0")
    new = path_of(state, packages(work)["pypi/boats"])
    make(state, packages(work)["pypi/boats"])
    assert not old.exists()
    assert "Of steel." in search(new, "boats", 3).sections[0].text
    assert [one.name for one in new.parent.iterdir()] == [new.name]


@pytest.mark.parametrize(
    "query", ['" OR 1', "NEAR(a b)", "*", "a AND", "'; DROP TABLE", "heading:x"]
)
def test_no_question_is_a_syntax_error(work: Path, tmp_path: Path, query: str) -> None:
    install(work, "boats", {"boats.py": '"""Boats."""\n'})
    package = packages(work)["pypi/boats"]
    (tmp_path / "home").mkdir()
    make(tmp_path / "home", package)
    assert search(path_of(tmp_path / "home", package), query, 3).sections


# As tools


async def test_a_package_is_resolved_and_asked(work: Path) -> None:
    install(work, "boats", {"boats/__init__.py": MODULE, "boats/_hulls.py": HULLS})
    async with session_of(work) as session:
        found = await session.call("resolve_library_id", libraryName="Boats")
        assert found.data == [
            {
                "id": "pypi/boats",
                "title": "boats 1.0",
                "description": "About boats (installed here)",
            }
        ]
        answer = await session.call(
            "get_library_docs", libraryId="pypi/boats", query="sail into the harbour"
        )
        assert answer.text.startswith("# boats 1.0, as installed here")
        assert "\n## boats.sail\n" in answer.text
        nothing = await session.call("get_library_docs", libraryId="pypi/boats", query="zzzz")
        assert "an overview, as nothing in it" in nothing.text


async def test_a_package_is_found_by_what_is_imported(work: Path) -> None:
    install(work, "py-boats", {"boats/__init__.py": ""})
    async with session_of(work) as session:
        found = await session.call("resolve_library_id", libraryName="boats")
        assert found.data[0]["id"] == "pypi/py-boats"


async def test_a_damaged_index_is_made_again(work: Path) -> None:
    install(work, "boats", {"boats.py": '"""Boats float."""\n'})
    path = path_of(work.parent / "home", packages(work)["pypi/boats"])
    async with session_of(work) as session:
        for _ in range(2):
            answer = await session.call("get_library_docs", libraryId="boats", query="float")
            assert "Boats float." in answer.text
            path.write_bytes(b"no database" * 500)


async def test_text_of_a_package_reaches_the_agent_harmless_and_named(work: Path) -> None:
    hostile = '"""Boats \\x1b[2J\\u202e float."""\n'
    install(work, "boats", {"boats.py": hostile}, about="\x1b]0;x\x07# boats\n")
    async with session_of(work) as session:
        answer = await session.call("get_library_docs", libraryId="boats", query="boats")
        assert not {"\x1b", "\x07", "\u202e"} & {*answer.text}
        assert "(text of the package)" in answer.text


async def test_what_is_installed_is_indexed_ahead(work: Path) -> None:
    install(work, "boats", {"boats.py": '"""Boats."""\n'})
    install(work, "oars", {"oars.py": '"""Oars."""\n'})
    state = work.parent / "home"
    paths = [path_of(state, one) for one in packages(work).values()]
    async with session_of(work, ahead_after=0) as session:
        await until_async(
            lambda: all(one.exists() for one in paths), what="both indexes", within=120
        )
        line = await session.next_push()
    assert (line.stream, line.event) == ("index@docs", "2 of 2 packages are indexed")
    found = docs_standing(state, LibraryDocs())
    assert (found.indexes, found.fault, found.asked_at) == (2, None, None)


async def test_where_nothing_can_be_indexed_the_person_is_told(work: Path) -> None:
    install(work, "boats", {"boats.py": '"""Boats."""\n'})
    state = work.parent / "home"
    state.mkdir(exist_ok=True)
    (state / "docs").touch()
    async with session_of(work, ahead_after=0) as session:
        told = (await session.next_push()).event
        answer = await session.call("get_library_docs", libraryId="boats", query="boats")
    assert told == f"docs: no package can be indexed: {state / 'docs'} is no folder"
    assert answer.error_code == "INTERNAL"
    assert docs_standing(state, LibraryDocs()).fault == f"{state / 'docs'} is no folder"
