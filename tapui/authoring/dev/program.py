"""The author's file as a program of its own, below `tapui provider dev`.

`python -m tapui.authoring.dev.program FILE SESSION PREFIX END`: its end of the socket pair.
"""

import asyncio
import logging
import os
import signal
import socket
import sys
import threading
import time
from pathlib import Path
from typing import TypeAlias

from tapui.authoring.author_file import LoadedFile, LoadError, load
from tapui.authoring.dev.signals import (
    AT_PROGRAM,
    DialClosed,
    DialOpened,
    FileFailed,
    FileLoaded,
    ProviderWaits,
    Retire,
    Signal,
)
from tapui.provider.conversation import Listener
from tapui.provider.errors import DeclarationError, GatewayRefusal
from tapui.provider.link import Link, LinkLost
from tapui.provider.loop_watch import LoopWatch
from tapui.provider.members import folder_here
from tapui.provider.serving import Serving
from tapui.runtime.children.channel import Channel
from tapui.runtime.children.child import STOP_SECONDS
from tapui.runtime.children.lines import LineError, inherited_end
from tapui.wire.message import Message
from tapui.wire.provider import ToProvider

LOAD_FAILED = 70
"""The exit code of a program whose file could not be loaded, or which the gateway refuses."""
ORPHAN_SECONDS = STOP_SECONDS + 1.0
"""How long the program has for its end in order once dev has let go of it, or is dead."""
_INSTALLED = frozenset({"site-packages", "dist-packages"})

DevChannel: TypeAlias = Channel[ToProvider | Signal]


class ChannelLink:
    """A `Link` over the channel: one at a time, as the provider dials."""

    def __init__(self, channel: DevChannel) -> None:
        self._channel = channel
        self._came: asyncio.Queue[Message | DialClosed] = asyncio.Queue()
        self._is_over = False

    def take(self, message: Message | DialClosed) -> None:
        """Something came from the gateway, or the link to it is gone."""
        self._came.put_nowait(message)

    async def send(self, message: Message) -> None:
        """Send a message. Raises `LinkLost`."""
        if self._is_over:
            raise LinkLost("the link was closed")
        try:
            self._channel.send(message)
        except LineError as error:
            raise LinkLost(str(error)) from None
        await self._channel.drained()
        if self._channel.is_closed:
            raise LinkLost("the other end is gone")

    async def receive(self) -> Message:
        """Return the gateway's next message. Raises `LinkLost`."""
        if self._is_over:
            raise LinkLost("the link was closed")
        came = await self._came.get()
        if isinstance(came, DialClosed):
            self._is_over = True
            raise LinkLost(came.reason)
        return came

    async def close(self) -> None:
        if not self._is_over:
            self._is_over = True
            self._channel.send(DialClosed())


class _Tells(Listener):
    """Tells dev why the provider is not bound; what it is bound to dev knows."""

    def __init__(self, channel: DevChannel) -> None:
        self._channel = channel

    def waiting(self, why: str) -> None:
        self._channel.send(ProviderWaits(why))

    def noticed(self, text: str) -> None:
        self._channel.send(ProviderWaits(text))


class _Program:
    """The loaded file, served over the channel."""

    def __init__(self, loaded: LoadedFile, session: str | None) -> None:
        self._file = loaded.path
        self._channel: DevChannel = Channel("dev", AT_PROGRAM, self._take)
        self._link: ChannelLink | None = None
        self._serving = Serving(
            loaded.provider,
            self._dial,
            session=session,
            folder=folder_here(),
            listener=_Tells(self._channel),
        )
        self._retiring: asyncio.Task[None] | None = None
        self._is_stopped: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    async def _dial(self) -> Link:
        self._link = ChannelLink(self._channel)
        self._channel.send(DialOpened())
        return self._link

    async def run(self, end: socket.socket) -> int:
        """Serve until dev closes the channel; return the exit code."""
        await self._channel.open(end)
        self._channel.send(FileLoaded(_authors_files(self._file)))
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, self._stop)
        watch = LoopWatch()
        try:
            await self._serve()
        except GatewayRefusal as error:
            return await _failed(self._channel, str(error), self._file)
        finally:
            watch.close()
        self._channel.close()
        await self._channel.ended
        return 0

    async def _serve(self) -> None:
        """Raises `GatewayRefusal`."""
        serving = asyncio.create_task(self._serving.run())
        over = (serving, self._channel.ended, self._is_stopped)
        await asyncio.wait(over, return_when=asyncio.FIRST_COMPLETED)
        if not serving.done():
            serving.cancel()
            await asyncio.wait([serving])
        if not serving.cancelled():
            await serving

    def _stop(self) -> None:
        if not self._is_stopped.done():
            self._is_stopped.set_result(None)

    def _take(self, message: ToProvider | Signal) -> None:
        if isinstance(message, Retire):
            self._retiring = asyncio.create_task(self._serving.members.close())
        elif isinstance(message, Message | DialClosed) and self._link is not None:
            self._link.take(message)


async def _serve(loaded: LoadedFile, end: socket.socket, session: str | None) -> int:
    return await _Program(loaded, session).run(end)


async def _tell_failure(end: socket.socket, text: str, path: Path) -> int:
    channel: DevChannel = Channel("dev", AT_PROGRAM, lambda _: None)
    await channel.open(end)
    return await _failed(channel, text, path)


async def _failed(channel: DevChannel, text: str, path: Path) -> int:
    channel.send(FileFailed(text, _authors_files(path)))
    channel.close()
    await channel.ended
    return LOAD_FAILED


def _authors_files(path: Path) -> list[str]:
    """Return the files that were loaded from the author's folder.

    Of a package also where its `__init__.py` would be: a module of it may have failed to load.
    """
    folder = path.parent
    found: set[str] = set()
    for module in list(sys.modules.values()):
        places = getattr(module, "__path__", ())
        for file in (
            getattr(module, "__file__", None),
            *(str(Path(place) / "__init__.py") for place in places if isinstance(place, str)),
        ):
            if not isinstance(file, str) or not Path(file).is_relative_to(folder):
                continue
            if not _INSTALLED & set(Path(file).parts):
                found.add(file)
    return sorted(found)


def _end_with_dev() -> None:
    """End the process some time after its input has, in any state: dev holds the other end."""
    try:
        while os.read(0, 1024):
            pass
    except OSError:
        return  # the author's file has closed it
    time.sleep(ORPHAN_SECONDS)
    os._exit(1)


def _load(path: Path) -> LoadedFile:
    """Load a file, or the tool files of a folder `tools/`. Raises `LoadError`."""
    if not path.is_dir():
        return load(path)
    from tapui.shipped import tools

    provider = tools.load(str(path.parent)).provider
    return LoadedFile(path / "__init__.py", sys.modules["tools"], provider, runs_at_import=False)


def main(file: str, session: str, prefix: str, number: str) -> int:
    """Load the file and serve its provider; return the exit code."""
    end = inherited_end(number)
    sys.argv = [file]
    sys.dont_write_bytecode = True
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING, format="%(message)s")
    threading.Thread(target=_end_with_dev, name="end with dev", daemon=True).start()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for dev, which ends this program
    try:
        loaded = _load(Path(file))
        if prefix:
            loaded.provider.put_in_front(prefix)
    except (LoadError, DeclarationError) as error:
        return asyncio.run(_tell_failure(end, str(error), Path(file)))
    return asyncio.run(_serve(loaded, end, session or None))


if __name__ == "__main__":
    code = main(*sys.argv[1:])
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)  # threads of the author's do not keep it
