"""`python -m tests.documents.picture` takes the pictures of the documents, most of `tapui demo`.

The demo goes by the clock, so that no two pictures are the same: no test compares them. Names of
files after it take those alone.
"""

import asyncio
import io
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import NamedTuple

from rich.console import Console
from rich.terminal_theme import TerminalTheme
from rich.text import Text

import tapui
from tests.gateway.test_ci import provider_of
from tests.rig.gateway import Gateway, Home, tapui_argv
from tests.rig.peers import Host
from tests.rig.tmux import Screen, Tmux
from tests.rig.waiting import until
from tests.shipped.github_server import GitHubServer, zipped
from tests.shipped.test_ci import REPORT, checkout

FOLDER = Path(tapui.__file__).parent / "docs"
_BACKGROUND = (16, 20, 26)
_FOREGROUND = (216, 222, 230)
_THEME = TerminalTheme(_BACKGROUND, _FOREGROUND, [(0, 0, 0)] * 8, [(255, 255, 255)] * 8)
"""Colours of a terminal that tapui leaves alone: it writes all of its own as RGB."""


def show_sessions(screen: Screen) -> None:
    """Wait for sessions, their turns and a permission that waits."""
    screen.wait_for(r"! \d waiting")
    screen.wait_for(r"web page +pair")
    screen.wait_for(r"flaky.* write ")
    screen.wait_for(r"▸ 3 ")


def show_recorded(screen: Screen) -> None:
    """Open the sheet of the session whose agent says more than was recorded."""
    screen.wait_for(r"done ○")
    screen.type("1/Round")
    screen.wait_for(r"/ +Round")
    screen.keys("Enter", "Enter")
    screen.wait_for(r"recorded +○ unchecked")
    until(lambda: "Round the prices (done" not in screen.text(), what="the notice is gone")


def show_answer(screen: Screen) -> None:
    """Ask the records, once there is enough to answer with."""
    screen.wait_for(r"done ○")
    screen.type(":query slowest-calls limit=9")
    screen.wait_for("ask the records")
    screen.keys("Enter")
    until(lambda: _asked(screen), what=screen.text)


def _asked(screen: Screen) -> bool:
    """Return whether all rows are there; ask once more where fewer came."""
    if screen.find(r"9 rows"):
        return True
    if screen.find(r"\d rows?\b"):
        screen.keys("Tab", "Enter")  # the rows have the focus
    return False


def show_red(screen: Screen) -> None:
    """Open the streams, with the line that says what CI failed on."""
    screen.wait_for("sign in again")
    screen.type("3")
    screen.wait_for("CI failed on test/auth.spec.ts")


@contextmanager
def demo(_home: Home) -> Iterator[tuple[str, ...]]:
    """Yield the arguments that play the demo."""
    yield ("demo",)


@contextmanager
def red_run(home: Home) -> Iterator[tuple[str, ...]]:
    """Play a session whose CI turns red; yield the arguments of a tower that shows it."""
    folder = home.root / "shop"
    folder.mkdir()
    here = checkout(folder)
    is_over = threading.Event()
    with GitHubServer().serving() as hub, Gateway(home, "--no-attach") as gateway:
        run = hub.run(commit=here)
        hub.artifacts[run] = {"junit": zipped({"report.xml": REPORT})}

        async def play() -> None:
            async with await Host.hello(gateway.url, gateway.internal_token, hooks=True) as host:
                about = {"label": "sign in again", "cwd": str(folder), "foreground": True}
                await host.open("s1", **about)
                kept = home.copilot / "providers/ci-watcher/s1.json"
                with provider_of(gateway, hub):
                    await asyncio.to_thread(until, kept.exists, what="the first look")
                    hub.end(run, "failure", "FAIL test/auth.spec.ts")
                    await host.expect("session.send")
                    push = {"tool": "bash", "args": {"command": "git push origin main"}}
                    await host.send(
                        {"type": "hook.preToolUse", "sessionId": "s1", "id": "h1", **push}
                    )
                    await asyncio.to_thread(is_over.wait)

        thread = threading.Thread(target=asyncio.run, args=(play(),))
        thread.start()
        try:
            yield ("--port", str(gateway.port))
        finally:
            is_over.set()
            thread.join()


class Picture(NamedTuple):
    """A size of the terminal, in cells, what is to be on it, and what plays it."""

    size: tuple[int, int]
    show: Callable[[Screen], None]
    play: Callable[[Home], AbstractContextManager[tuple[str, ...]]] = demo


PICTURES = {
    "tower.svg": Picture((160, 40), show_sessions),
    "proof.svg": Picture((100, 20), show_recorded),
    "query.svg": Picture((120, 20), show_answer),
    "services.svg": Picture((120, 20), show_red, red_run),
}


def taken(picture: Picture) -> str:
    """Run the demo until it shows what the README tells of; return its screen as SVG."""
    with tempfile.TemporaryDirectory() as folder, Tmux() as tmux:
        home = Home(Path(folder))
        env = home.env(COLORTERM="truecolor", TERM="xterm-256color")
        with picture.play(home) as args:
            screen = tmux.start(tapui_argv(*args), env=env, cwd=Path(folder), size=picture.size)
            picture.show(screen)
            painted = screen.text(colours=True)
    console = Console(
        width=picture.size[0],
        record=True,
        file=io.StringIO(),
        force_terminal=True,
        color_system="truecolor",
    )
    console.print(Text.from_ansi(painted), no_wrap=True, crop=True)
    return console.export_svg(title="tapui", theme=_THEME)


if __name__ == "__main__":
    for name in sys.argv[1:] or PICTURES:
        (FOLDER / name).write_text(taken(PICTURES[name]))
