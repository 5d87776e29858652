"""Pins: what tools said is kept, and what they say now is compared with it."""

import stat
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Raw

from tapui.consents.mcp_servers import Allowable
from tapui.mcp_servers.messages import MappedTool
from tapui.mcp_servers.pins import (
    MAX_SAID,
    MAX_TOOLS,
    ToolPins,
    forget_pins,
    pinned,
    said_by,
    tool_changes,
    tools_detail,
)

ENTRY = Allowable(kind="own", name="files", command="x")


def tool(name: str, description: str = "Read", digest: str = "d1", **schema: Any) -> MappedTool:
    parameters = Raw(msgspec.json.encode({"type": "object", "properties": schema}))
    return MappedTool(name, digest, description, parameters, offered_as=name)


def test_pins_are_kept_for_exactly_what_was_started(tmp_path: Path) -> None:
    pins = ToolPins(tmp_path, ENTRY, None)
    assert pins.read() is None
    kept = pinned([tool("a"), tool("b", digest="d2")])
    pins.keep(kept)
    assert ToolPins(tmp_path, ENTRY, None).read() == kept
    (file,) = (tmp_path / "mcp" / "pins").iterdir()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    other = msgspec.structs.replace(ENTRY, args=("--all",))
    assert ToolPins(tmp_path, other, None).read() is None
    assert ToolPins(tmp_path, ENTRY, "/repo").read() is None
    forget_pins(tmp_path, "files", None)
    assert pins.read() is None
    forget_pins(tmp_path, "files", None)


def test_of_what_is_damaged_or_planted_nothing_is_offered_unasked(tmp_path: Path) -> None:
    pins = ToolPins(tmp_path, ENTRY, None)
    pins.keep(pinned([tool("a")]))
    (file,) = (tmp_path / "mcp" / "pins").iterdir()
    text = file.read_bytes()
    for data in (b"", b"{", b"[" * 10_000, text.replace(b'"version":1', b'"version":2')):
        file.write_bytes(data)
        assert pins.read() == {}
    elsewhere = tmp_path / "elsewhere"
    elsewhere.write_bytes(text)
    file.unlink()
    file.symlink_to(elsewhere)
    assert pins.read() == {}
    pins.keep(pinned([tool("b")]))
    assert elsewhere.read_bytes() == text


def test_new_and_changed_tools_wait_with_both_texts() -> None:
    before = pinned([tool("same"), tool("text"), tool("gone")])
    now = [tool("same"), tool("text", "Read it all", "d9", path={"type": "string"}), tool("new")]
    text, new = tool_changes(before, now)
    assert (text.name, new.name, new.before) == ("text", "new", None)
    diff = text.diff()
    assert "- Read" in diff
    assert '    "type": "object",' in diff
    assert "+ Read it all" in diff
    assert any(line.startswith("+") and '"path"' in line for line in diff)
    assert all(line.startswith("+") for line in new.diff())
    detail = tools_detail("files", (text, new))
    assert [one["isNew"] for one in detail["tools"]] == [False, True]  # type: ignore[attr-defined]
    assert not tool_changes({**before, **pinned(now)}, now)


def test_a_tool_that_cannot_be_offered_is_neither_pinned_nor_asked_about() -> None:
    """It is not told whole: nobody could see what they allow."""
    kept_back = msgspec.structs.replace(tool("a"), offered_as=None, problem="too large")
    assert pinned([kept_back, tool("b")]).keys() == {"b"}
    assert not tool_changes({}, [kept_back])
    assert tool_changes(pinned([kept_back]), [tool("a")])


def test_pins_of_any_size_are_kept(tmp_path: Path) -> None:
    """A server that says much cannot have its pins forgotten, and say something else."""
    pins = ToolPins(tmp_path, ENTRY, None)
    told = [tool(f"t{number}", "\N{CRAB}" * MAX_SAID) for number in range(MAX_TOOLS)]
    pins.keep(pinned(told))
    kept = pins.read()
    assert kept is not None
    assert not tool_changes(kept, told)
    assert tool_changes(kept, [tool("t1", "Evil", "d2")])


def test_a_change_is_seen_wherever_it_is() -> None:
    long, many = "x" * MAX_SAID, "same\n" * 1_000
    cases = [
        (f"{long} Read", f"{long} Evil", "more characters"),
        (f"{many}Read", f"{many}Evil", "Evil"),
        ("same", "same", "cannot be shown"),
    ]
    for old, new, seen in cases:
        before = pinned([tool("a", old)])
        (change,) = tool_changes(before, [tool("a", new, "d2")])
        diff = change.diff()
        assert len(diff) < 500
        assert any(line.startswith("+") and seen in line for line in diff), seen


def test_only_the_digest_decides_and_annotations_are_shown() -> None:
    before = pinned([tool("a")])
    assert tool_changes(before, [tool("a", digest="d2")])
    noted = msgspec.structs.replace(tool("a"), annotations=Raw(b'{"readOnlyHint":true}'))
    assert "readOnlyHint" in said_by(noted)


def test_what_is_kept_of_a_tool_is_bounded_and_safe() -> None:
    hostile = tool("a", "\x1b[31m" + "x" * 100_000)
    said = said_by(hostile)
    assert len(said) < MAX_SAID + 100
    assert "\x1b" not in said
    (change,) = tool_changes({}, [hostile])
    assert len(change.diff()) < 500
    lines = tool("b", "\n" * 5_000)
    (change,) = tool_changes({}, [lines])
    assert len(change.diff()) < 500
    assert "more lines" in change.diff()[-1]
    assert len(pinned([tool(str(number)) for number in range(MAX_TOOLS + 5)])) == MAX_TOOLS


def test_a_diff_of_much_text_is_made_in_time() -> None:
    """Both texts are as long as they may be, and have no line in common."""
    old = "\n".join(f"a{number}" for number in range(2_000))
    new = "\n".join(f"b{number}" for number in range(2_000))
    before = pinned([tool("a", old)])
    (change,) = tool_changes(before, [tool("a", new, "d2")])
    assert change.diff()
