"""A diff on a sheet: what its header says twice, or for nothing, is left out, and nothing else."""

from tapui.projection.changes import changes


def shown(*lines: str) -> list[str]:
    return [part.text for part in changes("\n".join(lines))]


def test_of_an_ordinary_file_the_line_with_its_paths_and_its_hunks_are_shown() -> None:
    kept = ["diff --git a/src/a.py b/src/a.py", "@@ -1,2 +1,2 @@", "-old", "--- a/x", "+new"]
    header = ["index 0123abc..4567def 100644", "--- a/src/a.py", "+++ b/src/a.py"]
    assert shown(kept[0], *header, *kept[1:]) == kept
    new = ["new file mode 100644", "index 0000000..4567def", "--- /dev/null", "+++ b/src/a.py"]
    assert shown(kept[0], *new, *kept[1:]) == kept


def test_what_a_header_says_beyond_its_paths_stays() -> None:
    lines = [
        "diff --git a/link b/link",
        "new file mode 120000",
        "old mode 100644",
        "new mode 100755",
        "rename from a",
        "rename to b",
        "+++ b/.bashrc",
        "--- a/../etc/passwd",
        "@@ -0,0 +1 @@",
        "+x",
    ]
    assert shown(*lines) == lines
    other = ["diff --git a/one b/two", "--- a/one", "+++ b/two", "@@ -1 +1 @@", "-x", "+y"]
    assert shown(*other) == other
    assert shown(*other[1:]) == other[1:]
