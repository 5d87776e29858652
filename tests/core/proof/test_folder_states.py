"""Which paths count, where a check counts, and how two looks differ."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tapui.core.proof.folder_states import (
    DELETED,
    REPLACED,
    CheckPlace,
    FolderState,
    StateChange,
    changed_states,
    difference,
    is_counted,
    package_of,
    place_of,
    state_changes,
)

COUNTED = [
    *("a.py", "src/a.ts", "Makefile", "package.json", "poetry.lock", "tests/data.json"),
    *("CMakeLists.txt", "sub/CMakeLists.txt", "requirements.txt", "requirements-dev.txt"),
    *("constraints.txt", "meson_options.txt", "src/docs/a.py", "docs.py", "docs", "img/logo.svg"),
    *(
        ".github/workflows/ci.yml",
        ".gitignore",
        "license_check.py",
        "license.py",
        "src/copying.c",
        "readme",
        "a.mdx",
        "x.txt.py",
    ),
]
BESIDE = [
    *("README.md", "a/b/NOTES.MD", "CHANGES.rst", "notes.txt", "docs/a.py", "docs/x/y.html"),
    *("LICENSE", "LICENSE.txt", "LICENCE", "sub/COPYING", "license.html", "logo.png", "a/B.JPG"),
    *("fav.ico", "x.webp", "x.avif", "x.gif"),
]


@pytest.mark.parametrize("path", COUNTED)
def test_what_programs_read_counts(path: str) -> None:
    assert is_counted(path)


@pytest.mark.parametrize("path", BESIDE)
def test_documents_and_pictures_do_not_count(path: str) -> None:
    assert not is_counted(path)


@pytest.mark.parametrize(
    "path",
    ["__pycache__/cart.cpython-311.pyc", "shop/.pytest_cache/v/cache/lastfailed", ".coverage"],
)
def test_what_checks_keep_for_themselves_does_not_count(path: str) -> None:
    assert not is_counted(path)
    assert is_counted(path.replace("cache", "cached").replace("coverage", "coveragerc"))


@pytest.mark.parametrize(
    ("pattern", "path", "is_named"),
    [
        ("*.snap", "a/b/x.snap", True),
        ("*.snap", "x.snapshot", False),
        ("generated/**", "generated/a/b.py", True),
        ("generated/**", "src/generated/a.py", True),
        ("generated/", "src/generated/a.py", True),
        ("generated/", "generated", False),
        ("src/generated/**", "src/generated/a.py", True),
        ("/src/generated/", "src/generated/a.py", True),
        ("src/generated/**", "lib/src/generated/a.py", False),
        ("build", "build/a.py", True),
        ("uv.lock", "sub/uv.lock", True),
        ("/uv.lock", "sub/uv.lock", False),
        ("/uv.lock", "uv.lock", True),
        ("[", "[", True),
        ("", "a.py", False),
    ],
)
def test_further_patterns_are_the_persons(pattern: str, path: str, is_named: bool) -> None:
    assert is_counted(path, [pattern]) != is_named


@pytest.mark.parametrize(
    ("path", "package"),
    [
        ("a/x.py", "a"),
        ("a/b/x.py", "a/b"),
        ("a/bc/x.py", "a"),
        ("ab/x.py", ""),
        ("x.py", ""),
        ("a/b", "a/b"),
        ("", ""),
    ],
)
def test_a_path_belongs_to_the_innermost_package(path: str, package: str) -> None:
    assert package_of(path, ["a", "a/b", "c"]) == package


def state(root: str = "/r", **files: str | None) -> FolderState:
    named = {path.replace("_", "."): content for path, content in files.items() if content}
    deleted = {path.replace("_", "."): DELETED for path, content in files.items() if content == ""}
    return FolderState(root, "t", named | deleted, is_whole=True, packages=("a", "a/b"))


def part(root: str = "/r", **files: str) -> FolderState:
    whole = state(root, **files)
    return FolderState(root, "t", whole.files, is_whole=False, why="not all")


@pytest.mark.parametrize(
    ("folder", "place"),
    [
        ("/r", CheckPlace("/r", "")),
        ("/r/src", CheckPlace("/r", "")),
        ("/r/a/src", CheckPlace("/r", "a")),
        ("/r/a/b", CheckPlace("/r", "a/b")),
        ("/r/sub/x", CheckPlace("/r/sub", "")),
        ("/r/submarine", CheckPlace("/r", "")),
        ("/rr", None),
        ("/", None),
    ],
)
def test_a_check_counts_for_its_root_and_package(folder: str, place: CheckPlace | None) -> None:
    assert place_of(folder, [state(), FolderState("/r/sub", "u", {}, is_whole=True)]) == place


def test_a_root_of_all_has_places() -> None:
    root = FolderState("/", "t", {}, is_whole=True, packages=("srv",))
    assert place_of("/srv/x", [root]) == CheckPlace("/", "srv")


def test_changes_are_grouped_by_place_and_documents_apart() -> None:
    before = state(x_py="1", README_md="1")
    after = FolderState(
        "/r",
        "t",
        {"x.py": "1", "a/y.py": "2", "a/b/z.py": DELETED, "README.md": "2", "a/N.md": "1"},
        is_whole=True,
        packages=("a",),
    )
    found = difference([before], [after])
    assert found.verdict == "changed"
    assert found.changed == {
        CheckPlace("/r", "a"): ("a/y.py",),
        CheckPlace("/r", "a/b"): ("a/b/z.py",),
    }
    assert found.beside == {
        CheckPlace("/r", ""): ("README.md",),
        CheckPlace("/r", "a"): ("a/N.md",),
    }
    assert found.unknown == {}
    assert found.at(CheckPlace("/r", "a")).changed == {CheckPlace("/r", "a"): ("a/y.py",)}
    assert found.at(CheckPlace("/r", "")).verdict == "same"


@pytest.mark.parametrize(
    ("before", "after", "verdict"),
    [
        (state(a_py="1"), state(a_py="1"), "same"),
        (state(a_py="1"), state(a_py="2"), "changed"),
        (state(a_py="1"), state(), "changed"),
        (state(a_py="1"), state(a_py=""), "changed"),
        (state(a_py=""), state(), "changed"),
        (state(a_md="1"), state(a_md="2"), "same"),
        (part(a_py="1"), part(a_py="1"), "unknown"),
        (part(a_py="1"), state(a_py="2"), "changed"),
        (part(), state(a_py="2"), "unknown"),
        (state(a_py="1"), part(), "unknown"),
        (state(), part(a_py="1"), "changed"),
        (state(a_py="?5 1"), state(a_py="?5 1"), "same"),
        (state(a_py="?5 1"), state(a_py="?5 2"), "unknown"),
        (state(), state(a_py="?5 2"), "unknown"),
        (state(a_py="?5 2"), state(a_py=""), "unknown"),
        (state(a_py="?5 2"), state(a_py="1", b_py="1"), "changed"),
        (state("/r"), state("/s"), "unknown"),
        (state(), FolderState("/r", "u", {}, is_whole=True), "unknown"),
    ],
)
def test_a_verdict_on_two_states(before: FolderState, after: FolderState, verdict: str) -> None:
    found = difference([before], [after])
    assert found.verdict == verdict
    assert bool(found.unknown) or verdict != "unknown"


def test_a_document_that_was_not_read_leaves_nothing_unknown() -> None:
    found = difference([state(a_md="?5 1")], [state(a_md="?5 2")])
    assert found.verdict == "same"
    assert found.beside


def test_states_against_other_trees_cannot_be_compared() -> None:
    other = FolderState("/r", "u", {"x.py": "1"}, is_whole=True)
    assert difference([state()], [other]).unknown == {"/r": (REPLACED,)}


def test_a_root_that_appears_leaves_the_others_known() -> None:
    inner = FolderState("/r/inner", "u", {}, is_whole=True)
    found = difference([state()], [state(), inner])
    assert found.verdict == "unknown"
    assert found.at(CheckPlace("/r", "")).verdict == "same"
    assert found.at(CheckPlace("/r/inner", "")).verdict == "unknown"


contents = st.dictionaries(
    st.sampled_from(["a.py", "b.py", "c.md", "a/d.py"]), st.sampled_from(["1", "2", DELETED])
)


@given(contents, contents)
def test_whole_states_are_the_same_where_what_counts_is(
    one: dict[str, str], two: dict[str, str]
) -> None:
    before = FolderState("/r", "t", one, is_whole=True)
    after = FolderState("/r", "t", two, is_whole=True)
    counted = [
        {path: text for path, text in files.items() if is_counted(path)} for files in (one, two)
    ]
    assert (difference([before], [after]).verdict == "same") == (counted[0] == counted[1])
    assert difference([before], [after]).verdict == difference([after], [before]).verdict


looks = st.lists(
    st.builds(
        FolderState,
        root=st.sampled_from(["/r", "/r/a", "/s"]),
        head=st.sampled_from(["t", "u"]),
        files=contents,
        is_whole=st.booleans(),
        why=st.sampled_from(["", "it has too many files"]),
        packages=st.lists(st.sampled_from(["a", "b"]), unique=True).map(tuple),
    ),
    unique_by=lambda state: state.root,
)


@given(looks, looks)
def test_a_look_is_read_back_out_of_what_it_differs_in(
    before: list[FolderState], after: list[FolderState]
) -> None:
    changes = msgspec.json.encode(state_changes(before, after))
    told = msgspec.json.decode(changes, type=list[StateChange])
    assert changed_states(before, told) == tuple(after)


def test_a_change_of_a_state_that_is_not_there_leaves_all_unknown() -> None:
    (found,) = changed_states([], [StateChange("/r", {"a.py": "1"})])
    assert (found.files, found.is_whole) == ({"a.py": "1"}, False)
