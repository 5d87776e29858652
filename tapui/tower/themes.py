"""The themes: TOML files, checked before Textual sees them.

A theme is a file `<name>.toml` with `dark`, a table `[colors]` and, where Textual's own derivation
is not wanted, a table `[variables]`. What is wrong with a file becomes one line of text; the file
is left out and the rest is loaded.
"""

import re
import tomllib
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import Annotated

import msgspec
from msgspec import Meta, Struct, field
from textual.theme import Theme

from tapui.text import safe_text

MAX_FILE_BYTES = 64 * 1024
"""A larger file is not a theme."""
MAX_FILES = 100
"""Files of a folder that are looked at, in the order of their names."""

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}\Z")
_HEX = r"^#(?:[0-9a-fA-F]{3}|[0-9a-fA-F]{6})\Z"
_COLOR_VALUE = re.compile(
    r"(?:#(?:[0-9a-fA-F]{3}|[0-9a-fA-F]{6})|auto)(?: (?:100|[0-9]{1,2})%)?\Z|transparent\Z"
)
_STYLE_VALUE = re.compile(
    r"(?:not )?(?:bold|b|dim|italic|reverse|underline|strike)"
    r"(?: (?:not )?(?:bold|b|dim|italic|reverse|underline|strike))*\Z|none\Z"
)
_AT = re.compile(r"^(?P<what>.*?)(?: - at `(?P<path>.*)`)?$", re.DOTALL)

Color = Annotated[str, Meta(pattern=_HEX)]
"""`#rgb` or `#rrggbb`."""


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
    """A theme as its file has it. `variables` are Textual's CSS variables, without the `$`."""

    colors: Colors
    dark: bool = True
    variables: dict[str, str] = field(default_factory=dict)


class ThemeError(ValueError):
    """A theme file that cannot be used; the text names the key and what to write there."""


Stamp = tuple[tuple[str, int, int], ...]
"""(path, mtime in ns, size in bytes) of each theme file."""


def builtin_folder() -> Path:
    """Return the folder of the themes that come with tapui: in a wheel, else in a checkout."""
    package = Path(__file__).resolve().parent.parent
    shipped = package / "_themes"
    return shipped if shipped.is_dir() else package.parent / "themes"


def load(folders: Sequence[Path]) -> tuple[dict[str, Theme], list[str]]:
    """Read the themes of `folders`; a theme of a later folder replaces one of the same name.

    Returns the themes by name and one line for each file or folder that could not be used, safe
    to print. A folder that does not exist holds no themes.
    """
    themes: dict[str, Theme] = {}
    problems: list[str] = []
    for folder in folders:
        try:
            files = _files(folder)
        except OSError as error:
            problems.append(_problem(folder, f"cannot be read ({_reason(error)})"))
            continue
        if len(files) > MAX_FILES:
            problems.append(
                _problem(folder, f"holds {len(files)} themes; only the first {MAX_FILES} are used")
            )
        for path in files[:MAX_FILES]:
            try:
                themes[path.stem] = read(path)
            except ThemeError as error:
                problems.append(_problem(path, str(error)))
            except OSError as error:
                problems.append(_problem(path, f"cannot be read ({_reason(error)})"))
    return themes, problems


def find(folders: Sequence[Path], name: str) -> Theme | None:
    """Return the theme `name` of the last folder that has it; None if it cannot be used."""
    if not _NAME.match(name):
        return None
    for folder in reversed(folders):
        path = folder / f"{name}.toml"
        try:
            if path in _files(folder)[:MAX_FILES]:
                return read(path)
        except (OSError, ThemeError):
            return None
    return None


def read(path: Path) -> Theme:
    """Return the theme in the file `path`; its name is the file's.

    Raises ThemeError for a file that is not a theme and OSError for one that cannot be read.
    """
    if not _NAME.match(path.stem):
        raise ThemeError("rename it: a theme's name has only letters, digits and . _ -")
    with path.open("rb") as file:
        data = file.read(MAX_FILE_BYTES + 1)
    if len(data) > MAX_FILE_BYTES:
        raise ThemeError(f"is larger than {MAX_FILE_BYTES // 1024} KiB and so not a theme")
    parsed = _parse(data)
    colors = parsed.colors
    theme = Theme(
        name=path.stem,
        primary=colors.primary,
        secondary=colors.secondary,
        accent=colors.accent,
        background=colors.background,
        foreground=colors.foreground,
        surface=colors.surface,
        panel=colors.panel,
        success=colors.success,
        warning=colors.warning,
        error=colors.error,
        dark=parsed.dark,
    )
    if parsed.variables:
        _check_variables(parsed.variables, _variables())
    theme.variables = parsed.variables
    return theme


def stamp(folders: Iterable[Path]) -> Stamp:
    """Return what changes when a theme file is added, removed or saved: poll it to reload."""
    found: list[tuple[str, int, int]] = []
    for folder in folders:
        try:
            files = _files(folder)
        except OSError:
            continue  # `load` is what tells the person about the folder
        for path in files[:MAX_FILES]:
            try:
                status = path.stat()
            except OSError:
                found.append((str(path), 0, 0))
            else:
                found.append((str(path), status.st_mtime_ns, status.st_size))
    return tuple(found)


def _files(folder: Path) -> list[Path]:
    try:
        return sorted(path for path in folder.iterdir() if path.suffix == ".toml")
    except FileNotFoundError:
        return []


def _parse(data: bytes) -> ThemeFile:
    try:
        table = tomllib.loads(data.decode())
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


@cache
def _variables() -> frozenset[str]:
    """Return the names of a theme's variables; they are the same for every theme."""
    return frozenset(Theme(name="any", primary="#808080").to_color_system().generate())


def _check_variables(variables: dict[str, str], known: frozenset[str]) -> None:
    for key, value in variables.items():
        if key not in known:
            raise ThemeError(f"variables.{key}: there is no such variable; remove it")
        if key.endswith("-style"):
            if not _STYLE_VALUE.match(value):
                raise ThemeError(f'variables.{key}: write "none" or styles such as "bold reverse"')
        elif not _COLOR_VALUE.match(value):
            raise ThemeError(
                f'variables.{key}: write a colour as "#rrggbb", "#rrggbb 40%" or "auto 80%"'
            )


def _problem(path: Path, text: str) -> str:
    return safe_text(f"theme {path}: {text}", limit=400)


def _reason(error: OSError) -> str:
    return error.strerror or type(error).__name__
