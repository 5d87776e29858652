"""`tapui replay`: the tower over records, without a gateway."""

import asyncio
from functools import partial
from pathlib import Path

from tapui.home.paths import Home
from tapui.settings import writing
from tapui.station.finding import finder_of
from tapui.station.log_file import faults_logged
from tapui.station.options import Options
from tapui.station.screen import Screen
from tapui.station.signals import Signals
from tapui.tower.themes import theme_files


def run(options: Options, folders: list[Path], name: str) -> int:
    """Show the records of one session until the person leaves; return the exit code."""
    home = Home.at(options.home, options.copilot_home)
    with faults_logged(home, on_stderr=False) as log:
        return asyncio.run(_replay(options, home, folders, name, log))


async def _replay(options: Options, home: Home, folders: list[Path], name: str, log: Path) -> int:
    from tapui.replay.feed import ReplayFeed
    from tapui.tower.app.replay_app import ReplayApp

    feed = ReplayFeed(folders, home.state, name)
    app = ReplayApp(
        feed,
        theme=options.theme,
        theme_folders=theme_files.folders_of(options.config_path),
        bell=False,
        note="replay",
        on_theme=partial(writing.keep_theme, options.config_path),
        log_file=log,
        keys=options.settings.keys,
        glyphs=options.settings.glyphs,
        copies=home.state / "copied",
        finder=finder_of(home.state),
    )
    screen = Screen(app)
    with Signals(screen.leave):
        try:
            return await screen.show()
        finally:
            await feed.stop(1.0)
