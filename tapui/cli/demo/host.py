"""The demo's host: it plays the sessions, starts the providers, and clears everything away.

    python -m tapui.cli.demo.host FOLDER PID [SEED]

waits for the gateway whose home is `FOLDER/home`, as long as its parent, process PID, lives. When
the gateway is gone, however it went, it ends the providers and removes FOLDER.
"""

import asyncio
import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

from tapui.cli.demo.conversation import Conversation
from tapui.cli.demo.line import HOME, TOKEN, URL, GatewayLine, Json, ended, pace, run
from tapui.cli.demo.player import Player
from tapui.cli.demo.scripts import SCRIPTS

PROVIDERS = ("ci_watch", "workshop", "visitor")
START_WITHIN = 60.0
END_WITHIN = 15.0
NOTICE_WITHIN = 1.0
_POLL = 0.05


async def host(folder: Path, url: str, internal: str, seed: str) -> None:
    line = await GatewayLine.open(url, {"token": internal})
    playing: list[asyncio.Task[None]] = []
    try:
        conversation = Conversation(line)
        await conversation.hello()
        players = [
            Player(conversation, script, folder / script.folder, seed=seed, pace=pace())
            for script in SCRIPTS
        ]
        for player in players:
            await player.open()
        playing += [asyncio.create_task(player.play()) for player in players]
        playing.append(asyncio.create_task(conversation.read()))
        await asyncio.wait(playing, return_when=asyncio.FIRST_COMPLETED)
    finally:
        await ended(playing)
        await line.close()


def gateway(folder: Path, starter: int) -> Json | None:
    """Wait for the gateway's announcement; None when who started us is gone, or it is too late."""
    deadline = time.monotonic() + START_WITHIN
    while os.getppid() == starter and time.monotonic() < deadline:
        for file in folder.glob("home/run/*/gateway.json"):
            with contextlib.suppress(OSError, ValueError):  # it is being written, or goes
                said: Json = json.loads(file.read_bytes())
                return said
        time.sleep(_POLL)
    return None


def wait_for_end(pid: int, starter: int) -> None:
    """Wait until the gateway's process has ended: it may still write into our folder.

    It is the process that started us, as a rule; we then have another parent as soon as it ends,
    also before its exit code was read.
    """
    deadline = time.monotonic() + END_WITHIN
    while os.getppid() == starter and time.monotonic() < deadline:
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return
        time.sleep(_POLL)


def main(folder: Path, starter: int, seed: str) -> None:
    """Play the demo in `folder`, and remove it. Without a seed, each time is another."""
    _end_in_order()
    try:
        said = gateway(folder, starter)
        if said is not None:
            play(folder, said, seed)
            wait_for_end(said["pid"], starter)
    finally:
        remove(folder)


def remove(folder: Path) -> None:
    """Remove `folder`. Processes of a gateway that was killed end after it, and may put files there
    meanwhile: it is then removed again."""
    deadline = time.monotonic() + END_WITHIN
    shutil.rmtree(folder, ignore_errors=True)
    while folder.exists() and time.monotonic() < deadline:
        time.sleep(_POLL)
        shutil.rmtree(folder, ignore_errors=True)


def play(folder: Path, said: Json, seed: str) -> None:
    """Play the sessions and run the providers, until the gateway is gone or SIGTERM comes."""
    internal = Path(said["internalTokenFile"]).read_text().strip()
    token = Path(said["tokenFile"]).read_text().strip()
    environment = {**os.environ, URL: said["url"], TOKEN: token, HOME: str(folder / "home")}
    providers = [
        subprocess.Popen(
            [sys.executable, "-P", "-m", f"tapui.cli.demo.{name}"],
            env=environment,
            stdin=subprocess.DEVNULL,
        )
        for name in PROVIDERS
    ]
    try:
        run(host(folder, said["url"], internal, seed))
    finally:
        _end_in_order()  # the event loop has taken its own handler away
        _end(providers)


def _end(providers: list["subprocess.Popen[bytes]"]) -> None:
    """Let the providers notice that the gateway is gone; end those that were not looking."""
    deadline = time.monotonic() + NOTICE_WITHIN
    try:
        while time.monotonic() < deadline and any(one.poll() is None for one in providers):
            time.sleep(_POLL)
    finally:
        for process in providers:
            process.terminate()
        for process in providers:
            process.wait()


def _end_in_order() -> None:
    """Let SIGTERM run what stands in `finally`."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit())


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), (*sys.argv, str(time.time_ns()))[3])
