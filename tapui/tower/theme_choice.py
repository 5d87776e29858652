"""The app's themes: read from their folders, switched live, read again when a file is saved."""

from collections.abc import Callable, Sequence
from pathlib import Path

from textual.app import App

from tapui.tower import themes

DEFAULT = "tapui-dark"
OnChoice = Callable[[str], str | None]
"""Is told the theme that the person chose; returns why it could not be kept, or None."""


class ThemeChoice:
    """The themes of `folders` in an app; `on_choice` is told the name that the person chose."""

    def __init__(self, app: App[str], folders: Sequence[Path], on_choice: OnChoice | None) -> None:
        self._app = app
        self._folders = list(folders)
        self._on_choice = on_choice
        self._stamp = themes.stamp(self._folders)
        self.names: list[str] = []

    def begin(self, wanted: str) -> list[str]:
        """Put on `wanted`, or else the default; return what is wrong.

        The other themes are read by `complete`, after the first frame, unless this one is missing
        or broken.
        """
        theme = themes.find(self._folders, wanted)
        if theme is not None and theme.ansi and self._app.no_color:
            # Without colours nobody knows the terminal's ground: text could be black on black.
            wanted, theme = DEFAULT, themes.find(self._folders, DEFAULT)
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
        if self.names:
            return []
        return self._read()

    def reload(self) -> list[str]:
        """Read the themes again if a file changed, and show it; return what is wrong."""
        stamp = themes.stamp(self._folders)
        if stamp == self._stamp:
            return []
        self._stamp = stamp
        problems = self._read()
        self._app.refresh_css(animate=False)
        for screen in self._app.screen_stack:
            for widget in screen.query("*"):
                widget.notify_style_update()
        return problems

    def next(self) -> None:
        """Put on the next theme."""
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
        found, problems = themes.load(self._folders)
        for name, theme in found.items():
            if self._app.get_theme(name) != theme:
                self._app.register_theme(theme)
        self.names = sorted(found)
        return problems
