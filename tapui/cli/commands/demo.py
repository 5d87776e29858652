"""`tapui demo`: the tower with something to look at, in a home of its own."""

import argparse
import asyncio
import logging
import os
import shutil
import subprocess
import sys
import tempfile
import threading
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import msgspec

from tapui import invocation
from tapui.cli import context
from tapui.cli.arguments import CommandParser
from tapui.cli.context import need_terminal, options
from tapui.cli.demo.line import COMMAND
from tapui.cli.demo.scripts import rounding
from tapui.client.connection import GatewayConnection
from tapui.client.gateways import FoundGateway, GatewayError, found_in
from tapui.home.paths import Home
from tapui.home.run_folder import PortClaimedError, RunFolder, gateways
from tapui.secret import Secret
from tapui.station.options import Options
from tapui.wire.changes import ChangesDone, ChangesList, ChangesRead, LineRange, NoteKeep

COMMANDS = """
300 demo: show the tower with four scripted sessions, which work, wait and fail
"""

LEAVE_WITHIN = 5.0
"""Seconds that the demo's processes have after the tower has ended."""
_POLL = 0.1
_LOOK = 1.0

_log = logging.getLogger(__name__)


def arguments(demo: CommandParser) -> None:
    demo.runs(
        run,
        "It has a gateway, a folder and a port of its own, and attaches to nothing. Its\n"
        "stream “welcome” says how the other commands reach it.",
    )
    demo.add_argument(
        "--theme", metavar="NAME", default=argparse.SUPPRESS, help="the tower's theme"
    )


def run(args: argparse.Namespace) -> int:
    """Show the tower on scripted sessions; everything is removed at the end."""
    need_terminal()
    chosen = options(args)
    folder = Path(tempfile.mkdtemp(prefix="tapui-demo-"))
    try:
        scratch = demo_options(chosen, folder)
        # It has no terminal of its own to write to, and outlives us if we are killed: it then
        # finds the gateway gone, ends the providers and removes the folder.
        with (folder / "demo.log").open("wb") as log:
            host = subprocess.Popen(
                [sys.executable, "-P", "-m", "tapui.cli.demo.host", str(folder), str(os.getpid())],
                env={**os.environ, COMMAND: invocation.command()},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        demo_home = Home.at(scratch.home)
        threads = (Announcement(context.home(), demo_home), NoteOnChange(demo_home))
        try:
            from tapui.station import tower

            return tower.run(scratch)
        finally:
            for thread in threads:
                thread.end()
            _end(host)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


class Announcement:
    """Announces the demo's gateway in the person's home, so that their other commands find it."""

    def __init__(self, home: Home, demo: Home) -> None:
        self._home = home
        self._demo = demo
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="announce the demo", daemon=True)
        self._thread.start()

    def end(self) -> None:
        self._ended.set()
        self._thread.join()

    def _run(self) -> None:
        while not (found := gateways(self._demo)):
            if self._ended.wait(_POLL):
                return
        said = found[0]
        try:
            folder = RunFolder.claim(self._home, said.port)
            try:
                token = Path(said.internal_token_file).read_text().strip()
                folder.write_internal_token(Secret(token))
                end = Path(said.socket) if said.socket else None
                folder.announce(said.url, said.version, Path(said.token_file), end)
                self._ended.wait()
            finally:
                folder.release()
        except (OSError, PortClaimedError) as error:
            _log.warning("the demo cannot be announced to other commands: %s", error)


class NoteOnChange:
    """Keeps a note on a change of the demo's, as the person does by `t` in 7 Changes."""

    def __init__(self, demo: Home) -> None:
        self._demo = demo
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="note on a change", daemon=True)
        self._thread.start()

    def end(self) -> None:
        self._ended.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._ended.wait(_LOOK):
            try:
                for said in gateways(self._demo):
                    if asyncio.run(self._keep(found_in(said))):
                        return
            except (GatewayError, OSError) as error:
                _log.debug("no note is kept yet: %s", error)  # nothing has changed so far

    async def _keep(self, gateway: FoundGateway) -> bool:
        """Keep the note; return whether there is the change that it is on."""
        session_id = rounding.SCRIPT.session
        async with await GatewayConnection.open(gateway, name="tapui demo") as connection:
            found = await connection.answer(ChangesRead("changes", session_id), ChangesList)
            for file in found.files:
                note = NoteKeep(
                    "note",
                    session_id,
                    file.root,
                    file.path,
                    "Round the sum, not each price.",
                    lines=LineRange(2, 2),
                    quote=rounding.WRONG_LINE,
                    state_id=file.state_id,
                )
                await connection.answer(note, ChangesDone)
            return bool(found.files)


def demo_options(chosen: Options, folder: Path) -> Options:
    """Return the person's options, moved into `folder`: no port, session or file of theirs."""
    home = folder / "home"
    home.mkdir(mode=0o700)
    with suppress(FileNotFoundError):  # the person has no themes of their own
        shutil.copytree(chosen.config_path.parent / "themes", home / "themes")
    return replace(
        chosen,
        settings=msgspec.structs.replace(chosen.settings, port=0, attach=False),
        home=home,
        copilot_home=folder / "copilot",
        config_path=home / "config.toml",
        attach=False,
        attach_port=None,
        port=0,
        port_is_explicit=True,
        is_demo=True,
    )


def _end(host: "subprocess.Popen[bytes]") -> None:
    """Have the host end its providers: it waits for the gateway's end, which is ours."""
    host.terminate()
    try:
        host.wait(LEAVE_WITHIN)
    except subprocess.TimeoutExpired:
        os.killpg(host.pid, 9)
        host.wait()
