"""`tapui demo`: the tower with something to look at, in a home of its own."""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import msgspec

from tapui.cli.starting import options
from tapui.cli.tower import need_terminal
from tapui.station.options import Options

LEAVE_WITHIN = 5.0
"""Seconds that the demo's processes have after the tower has ended."""


def run(args: argparse.Namespace) -> int:
    """Show the tower on a scripted session; everything is removed at the end."""
    need_terminal()
    chosen = options(args)
    folder = Path(tempfile.mkdtemp(prefix="tapui-demo-"))
    try:
        scratch = demo_options(chosen, folder)
        # It has no terminal of its own to write to, and outlives us if we are killed: it then
        # finds the gateway gone, ends the providers and removes the folder.
        with (folder / "demo.log").open("wb") as log:
            host = subprocess.Popen(
                [sys.executable, "-m", "tapui.cli.demo.host", str(folder), str(os.getpid())],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        try:
            from tapui.station import tower

            return tower.run(scratch)
        finally:
            _end(host)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def demo_options(chosen: Options, folder: Path) -> Options:
    """Return the person's options, moved into `folder`: no port, session or file of theirs."""
    home = folder / "home"
    home.mkdir(mode=0o700)
    with suppress(FileNotFoundError):
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
    )


def _end(host: "subprocess.Popen[bytes]") -> None:
    """Let the host end its providers; it waits for us to end, so it is told to."""
    host.terminate()
    try:
        host.wait(LEAVE_WITHIN)
    except subprocess.TimeoutExpired:
        os.killpg(host.pid, 9)
        host.wait()
