"""The files of themes: where they are, their names, and what is in them.

A theme is a file `<name>.toml` with `dark`, a table `[colors]` and, where Textual's own derivation
is not wanted, a table `[variables]`. Nothing here loads Textual.
"""

import re
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import msgspec
from msgspec import Meta, Struct, field

from tapui.files.foreign_file import decoded
from tapui.text import safe_text

MAX_FILE_BYTES = 64 * 1024
"""A larger file is not a theme."""
MAX_FILES = 100
"""Files of a folder that are looked at, in the order of their names."""
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}\Z")
"""What a theme may be called."""

_ANSI = r"ansi_(?:default|(?:bright_)?(?:black|red|green|yellow|blue|magenta|cyan|white))"
_PLAIN = rf"^(?:#(?:[0-9a-fA-F]{{3}}|[0-9a-fA-F]{{6}})|{_ANSI})\Z"
_COLOR_VALUE = re.compile(
    r"(?:#(?:[0-9a-fA-F]{3}|[0-9a-fA-F]{6})|auto)(?: (?:100|[0-9]{1,2})%)?\Z|transparent\Z"
    rf"|{_ANSI}\Z"
)
_STYLE_VALUE = re.compile(
    r"(?:not )?(?:bold|b|dim|italic|reverse|underline|strike)"
    r"(?: (?:not )?(?:bold|b|dim|italic|reverse|underline|strike))*\Z|none\Z"
)
_AT = re.compile(r"^(?P<what>.*?)(?: - at `(?P<path>.*)`)?$", re.DOTALL)


Color = Annotated[str, Meta(pattern=_PLAIN)]
"""`#rgb`, `#rrggbb`, or one of the terminal's own such as `ansi_bright_blue`."""


class Colors(Struct, frozen=True, forbid_unknown_fields=True):
    """The colours of a theme. What is left out, Textual derives from the others."""

    primary: Color
    background: Color
    foreground: Color
    secondary: Color | None = None
    accent: Color | None = None
    surface: Color | None = None
    panel: Color | None = None
    success: Color | None = None
    warning: Color | None = None
    error: Color | None = None


class ThemeFile(Struct, frozen=True, forbid_unknown_fields=True):
    """A theme as its file has it. `variables` are Textual's CSS variables, without the `$`.

    `ansi` has the terminal paint its own colours, where a theme names them.
    """

    colors: Colors
    dark: bool = True
    ansi: bool = False
    variables: dict[str, str] = field(default_factory=dict)


class ThemeError(ValueError):
    """A theme file that cannot be used; the text names the key and what to write there."""


def folders_of(config: Path) -> list[Path]:
    """Return the folders of themes for the configuration file `config`; the last one wins."""
    return [builtin_folder(), config.parent / "themes"]


def builtin_folder() -> Path:
    """Return the folder of the themes that come with tapui: in a wheel, else in a checkout."""
    package = Path(__file__).resolve().parents[2]
    shipped = package / "_themes"
    return shipped if shipped.is_dir() else package.parent / "themes"


def all_of(folder: Path) -> list[Path]:
    """Return the theme files of a folder, `MAX_FILES` or not; raises `OSError`."""
    try:
        return sorted(path for path in folder.iterdir() if path.suffix == ".toml")
    except FileNotFoundError:
        return []


def of(folder: Path) -> list[Path]:
    """Return the theme files of a folder that are looked at; raises `OSError`."""
    return all_of(folder)[:MAX_FILES]


def find(folders: Sequence[Path], name: str) -> Path | None:
    """Return the file of the theme `name`, in the last folder that has it."""
    for folder in reversed(folders):
        for path in _readable(folder):
            if path.stem == name and NAME.match(name):
                return path
    return None


def unknown(folders: Sequence[Path], name: str) -> str | None:
    """Return None for the name of a theme; else a complaint with the names that there are."""
    if find(folders, name) is not None:
        return None
    known = ", ".join(names(folders)) or "none"
    return f"there is no such theme (there are: {known})"


def names(folders: Sequence[Path]) -> list[str]:
    """Return the names of all themes, whether their files can be used or not."""
    stems = {path.stem for folder in folders for path in _readable(folder)}
    return sorted(filter(NAME.match, stems))


def _readable(folder: Path) -> list[Path]:
    try:
        return of(folder)
    except OSError:  # `themes.load` is what tells the person about the folder
        return []


def read(path: Path) -> ThemeFile:
    """Return what is in a theme's file; whether its variables exist is not checked.

    Raises ThemeError for a file that is not a theme and OSError for one that cannot be read.
    """
    if not NAME.match(path.stem):
        raise ThemeError("rename it: a theme's name has only letters, digits and . _ -")
    with path.open("rb") as file:
        data = file.read(MAX_FILE_BYTES + 1)
    if len(data) > MAX_FILE_BYTES:
        raise ThemeError(f"is larger than {MAX_FILE_BYTES // 1024} KiB and so not a theme")
    parsed = _parse(data)
    _check_variables(parsed.variables)
    return parsed


def fault(folders: Sequence[Path], name: str) -> str | None:
    """Return why the file of the theme `name` cannot be used, as one line; None if it can."""
    path = find(folders, name)
    if path is None:
        return unknown(folders, name)
    try:
        read(path)
    except (ThemeError, OSError) as error:
        return problem(path, error)
    return None


def _parse(data: bytes) -> ThemeFile:
    try:
        table = tomllib.loads(decoded(data))
    except UnicodeDecodeError as error:
        raise ThemeError("is not UTF-8 text: save it as UTF-8") from error
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise ThemeError(f"is not valid TOML: {error}") from error
    try:
        return msgspec.convert(table, ThemeFile)
    except msgspec.ValidationError as error:
        raise ThemeError(_explain(str(error))) from error


def _explain(text: str) -> str:
    """Turn msgspec's message into the key and what to write."""
    match = _AT.match(text)
    what, path = (match["what"], match["path"]) if match else (text, None)
    key = (path or "").removeprefix("$").removeprefix(".")
    if "matching regex" in what:
        what = 'write a colour as "#rrggbb"'
    where = f"[{key}]" if key in ("colors", "variables") else key
    return f"{where}: {what}" if where else what


def _check_variables(variables: dict[str, str]) -> None:
    for key, value in variables.items():
        if key.endswith("-style"):
            if not _STYLE_VALUE.match(value):
                raise ThemeError(f'variables.{key}: write "none" or styles such as "bold reverse"')
        elif not _COLOR_VALUE.match(value):
            raise ThemeError(
                f'variables.{key}: write a colour as "#rrggbb", "#rrggbb 40%" or "auto 80%"'
            )


def problem(path: Path, error: ThemeError | OSError) -> str:
    """Return one line about a theme's file or folder, safe to print."""
    text = str(error)
    if isinstance(error, OSError):
        text = f"cannot be read ({error.strerror or type(error).__name__})"
    return safe_text(f"theme {path}: {text}", limit=400)
