"""The app's themes: made of their files, switched live, read again when a file is saved."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
from textual.app import App
from textual.theme import Theme

from tapui.tower.themes import theme_files
from tapui.tower.themes.theme_files import MAX_FILES, ThemeError

Stamp = tuple[tuple[str, int, int], ...]
"""(path, mtime in ns, size in bytes) of each theme file."""


_NATIVE = ("ansi-background", "ansi-foreground")
"""Variables that Textual's own styles use in a theme of the terminal's colours."""


_TONES = ("primary", "secondary", "accent", "warning", "error", "success")


def load(folders: Sequence[Path]) -> tuple[dict[str, Theme], list[str]]:
    """Read the themes of `folders`; a theme of a later folder replaces one of the same name.

    Returns the themes by name and one line for each file or folder that could not be used, safe
    to print. A folder that does not exist holds no themes.
    """
    themes: dict[str, Theme] = {}
    problems: list[str] = []
    for folder in folders:
        try:
            files = theme_files.all_of(folder)
        except OSError as error:
            problems.append(theme_files.problem(folder, error))
            continue
        if len(files) > MAX_FILES:
            many = ThemeError(f"holds {len(files)} themes; only the first {MAX_FILES} are used")
            problems.append(theme_files.problem(folder, many))
        for path in files[:MAX_FILES]:
            try:
                themes[path.stem] = read(path)
            except (ThemeError, OSError) as error:
                problems.append(theme_files.problem(path, error))
    return themes, problems


def find(folders: Sequence[Path], name: str) -> Theme | None:
    """Return the theme `name` of the last folder that has it; None if it cannot be used."""
    path = theme_files.find(folders, name)
    try:
        return None if path is None else read(path)
    except (OSError, ThemeError):
        return None  # `load` is what tells the person why


def read(path: Path) -> Theme:
    """Return the theme in the file `path`; its name is the file's.

    Raises ThemeError for a file that is not a theme and OSError for one that cannot be read.
    """
    parsed = theme_files.read(path)
    colors = msgspec.structs.asdict(parsed.colors)
    theme = Theme(path.stem, dark=parsed.dark, ansi=parsed.ansi, **colors)
    for key in parsed.variables:
        if key not in _variables() and not (parsed.ansi and key in _NATIVE):
            raise ThemeError(f"variables.{key}: there is no such variable; remove it")
    native = dict(
        zip(_NATIVE, ("ansi_black", "ansi_white")[:: 1 if parsed.dark else -1], strict=True)
    )
    theme.variables = {**native, **parsed.variables} if parsed.ansi else parsed.variables
    return theme


def stamp(folders: Iterable[Path]) -> Stamp:
    """Return what changes when a theme file is added, removed or saved: poll it to reload."""
    stamps: list[tuple[str, int, int]] = []
    for folder in folders:
        try:
            files = theme_files.of(folder)
        except OSError:
            continue  # `load` is what tells the person about the folder
        for path in files:
            try:
                status = path.stat()
            except OSError:
                stamps.append((str(path), 0, 0))
            else:
                stamps.append((str(path), status.st_mtime_ns, status.st_size))
    return tuple(stamps)


@cache
def _variables() -> frozenset[str]:
    """Return the names of a theme's variables; they are the same for every theme."""
    return frozenset(Theme(name="any", primary="#808080").to_color_system().generate())


def without_colours(theme: Theme) -> Theme:
    """Return a theme for terminals without colour: ranks differ by bold and dim alone."""
    plain = theme.foreground
    if plain is None:
        return theme
    tones: dict[str, Any] = dict.fromkeys(_TONES, plain)
    return replace(theme, **tones, variables={**theme.variables, "footer-key-foreground": plain})


DEFAULT = "tapui-dark"
OnChoice = Callable[[str], str | None]
"""Keeps the theme that the person chose; returns why that failed, or None."""


class ThemeChoice:
    """The themes of `folders` in an app; `on_choice` gets the name that the person chose."""

    def __init__(self, app: App[str], folders: Sequence[Path], on_choice: OnChoice | None) -> None:
        self._app = app
        self._folders = list(folders)
        self._on_choice = on_choice
        self._stamp = stamp(self._folders)
        self.names: list[str] = []

    def begin(self, wanted: str) -> list[str]:
        """Put on `wanted`, or else the default; return what is wrong.

        The other themes are read by `complete`, after the first frame, unless this one is missing
        or broken.
        """
        theme = find(self._folders, wanted)
        if theme is not None and theme.ansi and self._app.no_color:
            # Without colours the terminal's ground is unknown: text could be black on black.
            wanted, theme = DEFAULT, find(self._folders, DEFAULT)
        if theme is not None:
            self._app.register_theme(theme)
            self._app.theme = wanted
            return []
        problems = self.complete()
        if wanted not in self.names:
            known = ", ".join(self.names) or "none"
            problems.append(f"There is no theme {wanted}. There are: {known}.")
            wanted = DEFAULT if DEFAULT in self.names else next(iter(self.names), "textual-dark")
        self._app.theme = wanted
        return problems

    def complete(self) -> list[str]:
        """Read all themes, once; return what is wrong."""
        return [] if self.names else self._read()

    def reload(self) -> list[str]:
        """Read the themes again if a file changed, and show it; return what is wrong."""
        newest = stamp(self._folders)
        if newest == self._stamp:
            return []
        self._stamp = newest
        problems = self._read()
        self._app.refresh_css(animate=False)
        for screen in self._app.screen_stack:
            for widget in screen.query("*"):
                widget.notify_style_update()
        return problems

    def next(self) -> None:
        if self.names:
            now = self._app.theme
            at = self.names.index(now) if now in self.names else -1
            self.choose(self.names[(at + 1) % len(self.names)])

    def choose(self, name: str) -> None:
        """Put on a theme, and have it remembered."""
        self._app.theme = name
        self._app.notify(f"Theme: {name}", timeout=2)
        problem = None if self._on_choice is None else self._on_choice(name)
        if problem is not None:
            self._app.notify(problem, severity="warning", timeout=12)

    def _read(self) -> list[str]:
        themes, problems = load(self._folders)
        for name, theme in themes.items():
            if self._app.get_theme(name) != theme:
                self._app.register_theme(theme)
        self.names = sorted(themes)
        return problems
