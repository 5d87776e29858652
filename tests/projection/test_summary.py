"""The summary of a call: one line, whatever its arguments are."""

import json
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from msgspec import Raw

from tapui.projection.cuts import cut
from tapui.projection.summary import head_strings, one_line, summary, summary_of, within
from tapui.wire import limits, subjects
from tapui.wire.codec import raw

PATCH = (
    "*** Begin Patch\n*** Update File: a/b.py\n@@\n-x\n+y\n*** Add File: c.py\n+z\n*** End Patch\n"
)


@pytest.mark.parametrize(
    ("tool", "args", "about"),
    [
        ("bash", {"description": "Clean install", "command": "npm ci"}, "npm ci"),
        ("bash", {"command": "set -e\n\n  make"}, "set -e ⏎ make"),
        ("edit", {"old_str": "x", "path": "a.py"}, "a.py"),
        ("grep", {"path": "tests/", "pattern": "sleep("}, "sleep("),
        ("view", {"path": "tests/", "pattern": "sleep("}, "tests/"),
        ("fetch", {"max": 3, "url": "https://example.com"}, "https://example.com"),
        ("web_search", {"query": "pnpm workspaces"}, "pnpm workspaces"),
        ("task", {"agent_type": "explore", "description": "Look for sleeps"}, "Look for sleeps"),
        ("mine", {"n": 1, "deep": {"a": "b"}, "word": "first"}, "first"),
        ("apply_patch", PATCH, "a/b.py, c.py"),
        ("apply_patch", {"input": PATCH}, "a/b.py, c.py"),
        ("bash", {"command": "  "}, ""),
        ("bash", {"command": 7, "path": ["x"]}, ""),
        ("bash", None, ""),
        ("bash", [1, 2], ""),
        ("bash", Raw(b"{nonsense"), ""),
        ("bash", Raw(b'{"command":"ls"}'), "ls"),
        ("bash", "plain text", "plain text"),
    ],
)
def test_a_call_is_summed_up_by_what_it_is_about(tool: str, args: Any, about: str) -> None:
    assert summary(tool, args) == about


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=8,
)


@settings(max_examples=200, database=None, deadline=None)
@given(st.text(), json_values | st.binary())
def test_any_arguments_make_one_bounded_line(tool: str, args: Any) -> None:
    about = summary(tool, args)
    assert len(about) <= limits.MAX_SUMMARY
    assert "\n" not in about
    assert "\r" not in about


@settings(max_examples=100, database=None, deadline=None)
@given(st.text(max_size=2000))
def test_a_text_is_on_one_line_and_short_ones_are_whole(text: str) -> None:
    line = one_line(text)
    assert len(line) <= limits.MAX_SUMMARY
    assert "\n" not in line
    if len(text) <= limits.MAX_SUMMARY and not {"\n", "\r"} & set(text):
        assert line == text.strip()


def test_a_call_that_is_only_known_by_its_head_is_summed_up_too() -> None:
    args = raw({"command": 'cat <<"EOF"\n' + "x" * 100_000, "path": "a"})
    whole, kept = cut(args, limits.DETAIL_BYTES)
    assert whole is None
    call = subjects.Call("c", "s", "copilot", "bash", "running", "", args_cut=kept)
    assert summary_of(call) == summary("bash", args)
    assert summary_of(call).startswith('cat <<"EOF" ⏎ xxx')
    assert summary_of(subjects.Call("c", "s", "copilot", "bash", "running", "")) == ""


@settings(max_examples=200, database=None, deadline=None)
@given(st.dictionaries(st.text(), st.text(), max_size=4), st.integers(0, 400))
@example({"": "", ":": ""}, 12)
def test_the_head_of_an_object_tells_its_first_texts(fields: dict[str, str], at: int) -> None:
    head = json.dumps(fields, ensure_ascii=False)[:at]
    found = head_strings(head)
    for name, text in list(found.items())[:-1]:
        assert fields[name] == text
    if found:
        assert list(found) == list(fields)[: len(found)]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("/code/shop/cart.py", "cart.py"),
        ("/code/shop/cart.py  +2 −0", "cart.py  +2 −0"),
        ("/code/shop2/cart.py", "/code/shop2/cart.py"),
        ("/code/shop", "/code/shop"),
        ("/code/shop/", "/code/shop/"),
        ("/code/shop/../.bashrc", "/code/shop/../.bashrc"),
        ("/code/shop/a/..", "/code/shop/a/.."),
        ("/code/shop//etc/passwd", "/code/shop//etc/passwd"),
        ("cat /code/shop/cart.py", "cat /code/shop/cart.py"),
    ],
)
def test_a_path_within_the_folder_is_said_without_it(text: str, said: str) -> None:
    assert within(text, "/code/shop") == said
    assert within(text, "/code/shop/") == said
    assert within(text, "") == within(text, "/") == within(text, "code/shop") == text
