"""`python -m tests.documents.picture` takes the picture of the README: `tapui demo`, 120×36.

The demo goes by the clock, so that no two pictures are the same: no test compares them.
"""

import io
import tempfile
from pathlib import Path

from rich.console import Console
from rich.terminal_theme import TerminalTheme
from rich.text import Text

import tapui
from tests.rig.gateway import Home, tapui_argv
from tests.rig.tmux import Tmux

PICTURE = Path(tapui.__file__).parent / "docs" / "tower.svg"
SIZE = (120, 36)
_BACKGROUND = (16, 20, 26)
_FOREGROUND = (216, 222, 230)
_THEME = TerminalTheme(_BACKGROUND, _FOREGROUND, [(0, 0, 0)] * 8, [(255, 255, 255)] * 8)
"""Colours of a terminal that tapui leaves alone: it writes all of its own as RGB."""


def taken() -> str:
    """Run the demo until it shows what the README tells of; return its screen as SVG."""
    with tempfile.TemporaryDirectory() as folder, Tmux() as tmux:
        home = Home(Path(folder))
        env = home.env(COLORTERM="truecolor", TERM="xterm-256color")
        screen = tmux.start(tapui_argv("demo"), env=env, cwd=Path(folder), size=SIZE)
        screen.wait_for(r"! \d waiting", within=60)
        screen.wait_for(r"web page +pair", within=60)
        screen.wait_for(r"flaky.* write ", within=60)
        screen.wait_for(r"▸ 3 ", within=60)
        painted = screen.text(colours=True)
    console = Console(
        width=SIZE[0],
        record=True,
        file=io.StringIO(),
        force_terminal=True,
        color_system="truecolor",
    )
    console.print(Text.from_ansi(painted), no_wrap=True, crop=True)
    return console.export_svg(title="tapui", theme=_THEME)


if __name__ == "__main__":
    PICTURE.write_text(taken())
