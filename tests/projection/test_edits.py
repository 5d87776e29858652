"""Which files a call changed, out of arguments and diffs."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import Raw

from tapui.projection.edits import diff_lines, edits
from tapui.wire import limits
from tapui.wire.turns import FileChange
from tests.projection.test_summary import PATCH, json_values

DIFF = """
diff --git a/code/a.py b/code/a.py
index 0..0 100644
--- a/code/a.py
+++ b/code/a.py
@@ -1,4 +1,5 @@
 one
-two
+2
+--- 2b
 three
diff --git a/b.py b/b.py
deleted file mode 100644
--- a/b.py
+++ /dev/null
@@ -1 +0,0 @@
-gone
"""


@pytest.mark.parametrize(
    ("tool", "args", "changes"),
    [
        ("create", {"path": "a", "file_text": "1\n2\n"}, [FileChange("a", 2, 0)]),
        ("edit", {"path": "a", "old_str": "1\n2\n3", "new_str": "1\n3"}, [FileChange("a", 0, 1)]),
        ("edit", {"path": "a", "old_str": "1\n1", "new_str": "1\n1\n1"}, [FileChange("a", 1, 0)]),
        ("str_replace", {"file_path": "a", "old_string": "x", "new_string": "y"},
         [FileChange("a", 1, 1)]),
        ("str_replace_editor", {"command": "insert", "path": "a", "insert_text": "1\n2"},
         [FileChange("a", 2, 0)]),
        ("str_replace_editor", {"command": "view", "path": "a"}, []),
        ("edit", {"path": "a"}, [FileChange("a")]),
        ("edit", {"path": "a", "edits": [{"oldText": "1", "newText": "2"}]}, [FileChange("a")]),
        ("edit", {"path": "a", "old_str": "1\n2"}, [FileChange("a", 0, 2)]),
        ("create", {"path": "a"}, [FileChange("a")]),
        ("create", {"path": "a", "file_text": ""}, [FileChange("a", 0, 0)]),
        ("insert", {"path": "a", "insert_line": 3}, [FileChange("a")]),
        ("apply_patch", PATCH, [FileChange("a/b.py", 1, 1), FileChange("c.py", 1, 0)]),
        ("apply_patch", {"input": PATCH},
         [FileChange("a/b.py", 1, 1), FileChange("c.py", 1, 0)]),
        ("bash", {"path": "a", "file_text": "x"}, []),
        ("edit", {"path": 7}, []),
        ("edit", Raw(b"{nonsense"), []),
        ("create", Raw(b'{"path":"a","file_text":"x"}'), [FileChange("a", 1, 0)]),
    ],
)  # fmt: skip
def test_arguments_say_what_is_changed(tool: str, args: Any, changes: Any) -> None:
    assert edits(tool, args) == changes


def test_a_diff_says_the_lines_of_each_file() -> None:
    assert diff_lines(DIFF) == {"code/a.py": (2, 1), "b.py": (0, 1)}


@settings(max_examples=200, database=None, deadline=None)
@given(st.sampled_from(["edit", "create", "apply_patch", "insert"]), json_values | st.text())
def test_any_arguments_are_read_without_a_fault(tool: str, args: Any) -> None:
    assert len(edits(tool, args)) <= limits.TURN_FILES


def test_parts_of_one_file_are_added_up_and_a_file_without_lines_is_none() -> None:
    part = "--- a/{0}\n+++ b/{0}\n@@ -1 +1 @@\n-x\n+y\n"
    diff = "".join(f"diff --git a/{name} b/{name}\n{part.format(name)}" for name in "aba")
    empty = "diff --git a/c b/c\n--- a/c\n+++ b/c\n"
    assert diff_lines(diff + empty) == {"a": (2, 2), "b": (1, 1)}


@settings(max_examples=200, database=None, deadline=None)
@given(st.lists(st.sampled_from(DIFF.splitlines()) | st.text(), max_size=20))
def test_any_diff_is_read_without_a_fault(lines: list[str]) -> None:
    assert len(diff_lines("\n".join(lines))) <= limits.TURN_FILES


@settings(max_examples=200, database=None, deadline=None)
@given(st.lists(st.sampled_from("abc"), max_size=6), st.lists(st.sampled_from("abc"), max_size=6))
def test_a_replacement_adds_as_many_lines_more_as_the_text_grows(
    old: list[str], new: list[str]
) -> None:
    (change,) = edits("edit", {"path": "p", "old_str": "\n".join(old), "new_str": "\n".join(new)})
    assert change.added is not None
    assert change.removed is not None
    assert change.added - change.removed == len(new) - len(old)
    assert 0 <= change.added <= len(new)
