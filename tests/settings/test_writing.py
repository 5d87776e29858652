"""The edits that tapui makes in the configuration file."""

import tomllib
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tapui.settings.toml_file import keep_rules, keep_theme, remember_theme
from tests.rig.machine import fill


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", "theme = 'new'\n"),
        ("# only this", "# only this\ntheme = 'new'\n"),
        ("theme = 'old'", "theme = 'new'"),
        ("port = 1\n'theme'='old'  # mine\n", "port = 1\n'theme'='new'  # mine\n"),
        ("theme = '''\n# old'''\r\nport = 1\r\n", "theme = 'new'\r\nport = 1\r\n"),
        ("port = 1\r\n[timeouts]\r\n", "port = 1\r\ntheme = 'new'\r\n\r\n[timeouts]\r\n"),
        (
            "# top\n\n# the port\nport = 1\n\n[timeouts]\n# in seconds\ncall = 5\n",
            "# top\n\n# the port\nport = 1\ntheme = 'new'\n\n[timeouts]\n# in seconds\ncall = 5\n",
        ),
        ("theme = 'new' # kept\n", "theme = 'new' # kept\n"),
    ],
)
def test_remembering_a_theme_changes_that_value_only(
    tmp_path: Path, before: str, after: str
) -> None:
    path = tmp_path / "deep" / "config.toml"
    path.parent.mkdir()
    path.write_bytes(before.encode())
    remember_theme(path, "new")
    assert path.read_bytes().decode().replace('"new"', "'new'") == after
    assert list(path.parent.iterdir()) == [path]


def test_a_file_that_is_not_there_is_made_private(tmp_path: Path) -> None:
    path = tmp_path / "new" / "config.toml"
    remember_theme(path, "tapui-light")
    assert path.read_text() == 'theme = "tapui-light"\n'
    assert path.stat().st_mode & 0o777 == 0o600


def test_a_link_stays_a_link_and_the_mode_stays(tmp_path: Path) -> None:
    real = tmp_path / "dotfiles.toml"
    real.write_text("port = 1\n")
    real.chmod(0o640)
    link = tmp_path / "config.toml"
    link.symlink_to(real)
    remember_theme(link, "new")
    assert link.is_symlink()
    assert tomllib.loads(real.read_text()) == {"theme": "new", "port": 1}
    assert real.stat().st_mode & 0o777 == 0o640


def test_a_broken_file_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_text("theme = \n")
    with pytest.raises(ValueError, match="Invalid value"):
        remember_theme(path, "new")
    assert path.read_text() == "theme = \n"


def test_a_theme_that_cannot_be_kept_is_told_and_logged(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "config.toml"
    assert keep_theme(path, "new") is None
    path.write_text("theme = \n")
    told = keep_theme(path, "new")
    assert told is not None
    assert told.startswith(f"{path}: the theme cannot be remembered: Invalid value")
    path.unlink()
    path.mkdir()
    assert keep_theme(path, "new") == f"{path}: the theme cannot be remembered: Is a directory"
    assert [str(path) in one.message for one in caplog.records] == [True, True]


@pytest.mark.parametrize("keep", [keep_theme, keep_rules])
def test_on_a_full_disk_the_file_stays_as_it_was_and_that_is_told(
    small_disk: Path, keep: Callable[[Path, str], str | None]
) -> None:
    path = small_disk / "config.toml"
    path.write_text("port = 1\n")
    fill(small_disk)
    given = RULE if keep is keep_rules else "new"
    told = keep(path, given)
    assert told is not None
    assert (str(path) in told, "No space left on device" in told) == (True, True)
    assert path.read_text() == "port = 1\n"
    assert {one.name for one in small_disk.iterdir()} == {"config.toml", "full"}
    (small_disk / "full").unlink()
    assert keep(path, given) is None
    assert tomllib.loads(path.read_text())["port"] == 1


_names = st.text(st.characters(blacklist_categories=["Cs", "Cc"]), min_size=1, max_size=20)


@given(
    _names,
    st.lists(st.sampled_from(["# c", "port = 1", "", "a.b = '#'", "[t]\ntheme = 2"]), unique=True),
)
def test_any_name_is_read_back(name: str, lines: list[str]) -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "config.toml"
        path.write_text("\n".join(lines))
        before = tomllib.loads(path.read_text())
        remember_theme(path, name)
        assert tomllib.loads(path.read_text()) == {**before, "theme": name}


RULE = '[[rules]]\nallow = "npm ci"\n'


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", RULE),
        ("# mine\nport = 1 # here\n\n[timeouts]\ncall = 5", None),
        ('port = 1\r\n[keys]\r\nquit = "q"\r\n', None),
        (f"[[rules]]\ndeny = 'rm' # never\n\n{RULE}", None),
    ],
)
def test_a_rule_is_added_behind_everything_else(
    tmp_path: Path, before: str, after: str | None
) -> None:
    path = tmp_path / "deep" / "config.toml"
    if before:
        path.parent.mkdir()
        path.write_bytes(before.encode())
    assert keep_rules(path, RULE) is None
    text = path.read_bytes().decode()
    assert text.startswith(before)
    assert tomllib.loads(text)["rules"][-1] == {"allow": "npm ci"}
    assert after is None or text == after
    assert list(path.parent.iterdir()) == [path]
    assert ("\r\n" in text) is ("\r\n" in before)
    assert "\n" not in text.replace("\r\n", "") or "\r\n" not in before


@pytest.mark.parametrize("text", ["rules = []\n", "rules = 1\n", "port = \n"])
def test_a_file_whose_rules_are_written_otherwise_is_left_alone(
    tmp_path: Path, text: str, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "config.toml"
    path.write_text(text)
    assert "the rule cannot be written" in (keep_rules(path, RULE) or "")
    assert path.read_text() == text
    assert "rules could not be written" in caplog.text


@pytest.mark.machine
def test_rules_that_two_towers_add_at_once_are_both_there(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    texts = [f'[[rules]]\nallow = "npm {number}"\n' for number in range(16)]
    with ThreadPoolExecutor(8) as pool:
        assert set(pool.map(partial(keep_rules, path), texts)) == {None}
    assert len(tomllib.loads(path.read_text())["rules"]) == 16


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("\ufeffport = 1\n", "\ufeffport = 1\ntheme = 'new'\n\n[[rules]]\nallow = 'npm ci'\n"),
        (
            "\ufeff# mine\r\nport = 1\r\n",
            "\ufeff# mine\r\nport = 1\r\ntheme = 'new'\r\n\r\n[[rules]]\r\nallow = 'npm ci'\r\n",
        ),
    ],
)
def test_the_mark_and_the_line_ends_of_a_file_stay(tmp_path: Path, before: str, after: str) -> None:
    path = tmp_path / "config.toml"
    path.write_bytes(before.encode())
    assert keep_theme(path, "new") is None
    assert keep_rules(path, RULE) is None
    assert path.read_bytes().decode().replace('"', "'") == after


def test_a_file_in_utf_16_is_left_alone_and_that_is_told(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    data = "port = 1\n".encode("utf-16")
    path.write_bytes(data)
    for told in (keep_theme(path, "new"), keep_rules(path, RULE)):
        assert told is not None
        assert told.endswith(": it is UTF-16: save it as UTF-8")
    assert path.read_bytes() == data
