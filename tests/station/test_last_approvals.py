"""What changed of `approvals.*` since the last run."""

import stat
from pathlib import Path

import pytest

from tapui.settings.settings import Answering
from tapui.station.last_approvals import FILE, changed_approvals

ALWAYS = "since the last run approvals.command-line has changed: person → always"


def test_a_change_is_told_once(tmp_path: Path) -> None:
    assert changed_approvals(tmp_path, Answering()) == []
    assert changed_approvals(tmp_path, Answering("always")) == [ALWAYS]
    assert changed_approvals(tmp_path, Answering("always")) == []
    assert changed_approvals(tmp_path, Answering("always", "take")) == [
        "since the last run approvals.new-terminals has changed: ask → take"
    ]
    assert stat.S_IMODE((tmp_path / FILE).stat().st_mode) == 0o600


@pytest.mark.parametrize(
    "text",
    [b"", b"[]", b"\xff", b'{"command-line":7}', b'{"command-line":"always","x":1}', b"[" * 10000],
)
def test_a_file_that_was_spoiled_hides_no_change(tmp_path: Path, text: bytes) -> None:
    (tmp_path / FILE).write_bytes(text)
    assert changed_approvals(tmp_path, Answering("always")) == [ALWAYS]
    (tmp_path / FILE).unlink()
    elsewhere = tmp_path / "elsewhere"
    elsewhere.write_text('{"command-line":"always"}')
    (tmp_path / FILE).symlink_to(elsewhere)
    assert changed_approvals(tmp_path, Answering("always")) == [ALWAYS]


def test_a_value_of_the_file_is_made_safe(tmp_path: Path) -> None:
    (tmp_path / FILE).write_text('{"command-line":"\\u001b[2J"}')
    assert "\x1b" not in changed_approvals(tmp_path, Answering())[0]


def test_where_nothing_can_be_kept_that_is_told(tmp_path: Path) -> None:
    (tmp_path / FILE).mkdir()
    (told,) = changed_approvals(tmp_path, Answering())
    assert "cannot be written" in told
