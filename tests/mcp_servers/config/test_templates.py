"""Values with places in them: what is filled in, what is missing, and that nothing shows them."""

from pathlib import Path

import pytest

from tapui.mcp_servers.config.entries import MissingValueError, TemplateError, template

ENVIRON = {"TOKEN": "s3cret", "EMPTY": ""}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("plain $HOME {x} $", "plain $HOME {x} $"),
        ("Bearer ${env:TOKEN}", "Bearer s3cret"),
        ("${TOKEN}${TOKEN}", "s3crets3cret"),
        ("${EMPTY:-x}|${NONE:-a b}|${env:NONE:-}", "|a b|"),
        ("${workspaceFolder}/tools", "/repo/tools"),
    ],
)
def test_places_are_filled_in(text: str, value: str) -> None:
    assert template(text).value(ENVIRON, "/repo").reveal() == value


def test_a_file_gives_its_text_without_the_last_line_feed(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("s3cret\n")
    one = template("${file:token}")
    assert one.value({}, str(tmp_path)).reveal() == "s3cret"
    assert list(one.sources()) == ["the file token"]
    (tmp_path / "large").write_text("x" * 70_000)
    (tmp_path / "bytes").write_bytes(b"\xff")
    for name in ("none", "large", "bytes", "."):
        with pytest.raises(MissingValueError, match="the file"):
            template(f"${{file:{name}}}").value({}, str(tmp_path))


def test_a_variable_that_is_not_set_is_named() -> None:
    with pytest.raises(MissingValueError, match="the variable NONE is not set"):
        template("x ${env:NONE}").value(ENVIRON, "/")


def test_a_secret_in_a_file_has_no_byte_order_mark(tmp_path: Path) -> None:
    (tmp_path / "token").write_bytes("\ufeffs3cret\r\n".encode())
    assert template("Bearer ${file:token}").value({}, str(tmp_path)).reveal() == "Bearer s3cret"
    (tmp_path / "token").write_bytes("s3cret".encode("utf-16"))
    with pytest.raises(MissingValueError, match="the file token: it is UTF-16: save it as UTF-8"):
        template("${file:token}").value({}, str(tmp_path))


@pytest.mark.parametrize("inner", ["input:x", "env:", "env:a-b", "file:", "command:x", "a b", ""])
def test_other_places_are_refused(inner: str) -> None:
    with pytest.raises(TemplateError):
        template(f"${{{inner}}}")


def test_nothing_shows_a_value() -> None:
    one = template("s3cret ${env:TOKEN}")
    assert "s3cret" not in repr(one)
    assert "s3cret" not in repr(one.value(ENVIRON, "/"))
    assert "s3cret" not in one.digest
    assert one.digest != template("s3cre7 ${env:TOKEN}").digest
