"""The author's file as a program of its own, below `tapui provider dev`.

`python -m tapui.authoring.dev.program FILE FD`: `FD` is its end of the socket pair.
"""

import asyncio
import logging
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

from tapui.authoring.author_file import LoadedFile, LoadError, load
from tapui.authoring.dev.channel import (
    Channel,
    DialClosed,
    DialOpened,
    FileFailed,
    FileLoaded,
    ProviderWaits,
    Retire,
)
from tapui.provider.conversation import Listener
from tapui.provider.errors import DeclarationError, GatewayRefusal
from tapui.provider.link import Link, LinkLost
from tapui.provider.loop_watch import LoopWatch
from tapui.provider.serving import Serving
from tapui.runtime.children.child import STOP_SECONDS
from tapui.wire.message import Message

LOAD_FAILED = 70
"""The exit code of a program whose file could not be loaded, or which the gateway refuses."""
ORPHAN_SECONDS = STOP_SECONDS + 1.0
"""How long the program has for its end in order once dev has let go of it, or is dead."""
_INSTALLED = frozenset({"site-packages", "dist-packages"})


class ChannelLink:
    """A `Link` over the channel: one at a time, as the provider dials."""

    def __init__(self, channel: Channel) -> None:
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
        self._channel.put(message)
        await self._channel.drained()

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
            self._channel.put(DialClosed())


class _Tells(Listener):
    """Tells dev why the provider is not bound; what it is bound to dev knows."""

    def __init__(self, channel: Channel) -> None:
        self._channel = channel

    def waiting(self, why: str) -> None:
        self._channel.put(ProviderWaits(why))

    def noticed(self, text: str) -> None:
        self._channel.put(ProviderWaits(text))


class _Program:
    """The loaded file, served over the channel."""

    def __init__(self, channel: Channel, loaded: LoadedFile, session: str | None) -> None:
        self._channel = channel
        self._link: ChannelLink | None = None
        self._serving = Serving(
            loaded.provider, self._dial, session=session, listener=_Tells(channel)
        )

    async def _dial(self) -> Link:
        self._link = ChannelLink(self._channel)
        self._channel.put(DialOpened())
        return self._link

    async def run(self) -> None:
        """Serve until dev closes the channel. Raises `GatewayRefusal`."""
        serving = asyncio.create_task(self._serving.run())
        reading = asyncio.create_task(self._read())
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, reading.cancel)
        await asyncio.wait([serving, reading], return_when=asyncio.FIRST_COMPLETED)
        if not serving.done():
            serving.cancel()
            await asyncio.wait([serving])
        if not serving.cancelled():
            await serving

    async def _read(self) -> None:
        while (came := await self._channel.receive()) is not None:
            if isinstance(came, Retire):
                await self._serving.members.close()
            elif isinstance(came, Message | DialClosed) and self._link is not None:
                self._link.take(came)


async def _serve(loaded: LoadedFile, end: socket.socket, session: str | None) -> int:
    channel = await Channel.of_program(end)
    channel.put(FileLoaded(sorted(set(_authors_files(loaded.path)))))
    watch = LoopWatch()
    try:
        await _Program(channel, loaded, session).run()
    except GatewayRefusal as error:
        return await _failed(channel, str(error), loaded.path)
    finally:
        watch.close()
    channel.close()
    return 0


async def _tell_failure(end: socket.socket, text: str, path: Path) -> int:
    return await _failed(await Channel.of_program(end), text, path)


async def _failed(channel: Channel, text: str, path: Path) -> int:
    channel.put(FileFailed(text, sorted(set(_authors_files(path)))))
    await channel.drained()
    channel.close()
    return LOAD_FAILED


def _authors_files(path: Path) -> Iterator[str]:
    """Yield the files that were loaded from the author's folder.

    Of a package also where its `__init__.py` would be: a module of it may have failed to load.
    """
    folder = path.parent
    for module in list(sys.modules.values()):
        places = getattr(module, "__path__", ())
        for found in (
            getattr(module, "__file__", None),
            *(str(Path(place) / "__init__.py") for place in places if isinstance(place, str)),
        ):
            if not isinstance(found, str) or not Path(found).is_relative_to(folder):
                continue
            if not _INSTALLED & set(Path(found).parts):
                yield found


def _end_with_dev() -> None:
    """End the process some time after its input has, in any state: dev holds the other end."""
    try:
        while os.read(0, 1024):
            pass
    except OSError:
        return  # the author's file has closed it
    time.sleep(ORPHAN_SECONDS)
    os._exit(1)


def main(file: str, descriptor: str, session: str = "", prefix: str = "") -> int:
    """Load the file and serve its provider; return the exit code."""
    end = socket.socket(fileno=int(descriptor))
    os.set_inheritable(end.fileno(), False)
    sys.argv = [file]
    sys.dont_write_bytecode = True
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING, format="%(message)s")
    threading.Thread(target=_end_with_dev, name="end with dev", daemon=True).start()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for dev, which ends this program
    try:
        loaded = load(Path(file))
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
