"""What a session has heard of: it hears of each change once, also over a restart or a kill.

A change has a key, which goes along as `metadata.id`. It is noted before it is pushed, and counts
as told once the gateway has the line in its stream. A process that dies in between asks the stream
when it is back.
"""

import os
import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct, field

from tapui.files import private_file
from tapui.files.foreign_file import read_up_to
from tapui.files.locked_folder import folder_name
from tapui.provider import Session
from tapui.provider.link import LinkLost
from tapui.wire.limits import MAX_HISTORY
from tapui.wire.message import Level
from tapui.wire.provider import HistoryLine

_MOST = 2_000
"""Keys that are kept; the oldest go."""
_MOST_BYTES = 1024 * 1024
_MOST_TRIES = 50
"""Of a push that never comes: the person's filter drops it, or too many others wait."""
_WAITS = 10
"""Looks: a push waits its turn where many are pushed at once."""
_KEPT_SECONDS = 30 * 24 * 3600.0
"""A session that has not looked for so long is forgotten."""
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class _Kept(Struct):
    since: str | None = None
    places: list[str] = field(default_factory=list)
    told: list[str] = field(default_factory=list)
    telling: dict[str, int] = field(default_factory=dict)


class ToldChanges:
    """The changes that one session knows, by their keys; kept in the provider's own folder. They
    are lines of one stream."""

    def __init__(self, session: Session, stream: str) -> None:
        self._session = session
        self._stream = stream
        self._folder = None if session.persist_dir is None else Path(session.persist_dir)
        self._name = f"{folder_name(session.id)}.json"
        self._kept = self._read()
        self._told = dict.fromkeys(self._kept.told)
        self._waits: dict[str, int] = {}
        """How often it is looked whether a push has come, before it is pushed again."""

    @property
    def since(self) -> str | None:
        """What the first look has noted of its time; None before it."""
        return self._kept.since

    @property
    def is_behind(self) -> bool:
        """Whether something was pushed, perhaps, and is not known to have come."""
        return bool(self._kept.telling)

    def begin(self, since: str) -> None:
        """The first look is done: what there was then is not news."""
        self._kept.since = since

    def is_watched(self, place: str) -> bool:
        """Return whether a place (a branch, an item) was looked at before."""
        return place in self._kept.places

    def watch(self, place: str) -> None:
        if place not in self._kept.places:
            self._kept.places = [*self._kept.places[-199:], place]

    def has(self, key: str) -> bool:
        """Return whether the session has heard of a change, or need not."""
        return key in self._told

    def know(self, keys: Iterable[str]) -> None:
        """Note that a session has heard of these, or need not."""
        for key in keys:
            self._kept.telling.pop(key, None)
            self._told[key] = None
        while len(self._told) > _MOST:
            del self._told[next(iter(self._told))]

    def push(
        self,
        key: str,
        event: str,
        *,
        level: Level,
        prompt: str | None = None,
        metadata: dict[str, Any],
    ) -> None:
        """Push a change, unless it was pushed some times and never came. Raises `OSError`."""
        if self._waits.get(key, 0) > 0:
            return
        self._waits[key] = _WAITS
        tries = self._kept.telling.get(key, 0)
        if tries >= _MOST_TRIES:
            self.know([key])
            return
        self._kept.telling[key] = tries + 1
        self.save()
        about = {**metadata, "id": key}
        self._session.push(event, level=level, stream=self._stream, prompt=prompt, metadata=about)

    async def confirm(self) -> None:
        """Note what of the pushed changes has come. Raises `OSError`, `LinkLost` and
        `GatewayRefusal`."""
        if self._kept.telling:
            try:
                found = await self._session.query(self._stream, last=MAX_HISTORY)
            except LinkLost:
                self._waits.clear()  # what was under way may be lost
                raise
            came = {_key(one) for lines in found.values() for one in lines}
            self.know(set(self._kept.telling) & came)
            self._waits = {key: left - 1 for key, left in self._waits.items() if left > 1}
        self.save()

    def save(self) -> None:
        """Write it whole. Raises `OSError`."""
        if self._folder is None:
            return
        self._kept.told = list(self._told)
        data = msgspec.json.encode(self._kept)
        # A process that is killed leaves what it wrote; only a power cut does not.
        private_file.write_in(self._folder, self._name, data, is_lasting=False)

    def _read(self) -> _Kept:
        if self._folder is None:
            return _Kept()
        self._forget_old(self._folder)
        try:
            fd = os.open(self._folder / self._name, _READ)
        except OSError:
            return _Kept()
        try:
            private_file.check_own(fd)
            return msgspec.json.decode(read_up_to(fd, _MOST_BYTES), type=_Kept)
        except (OSError, msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            return _Kept()  # damaged: what there is now is not news
        finally:
            os.close(fd)

    def _forget_old(self, folder: Path) -> None:
        oldest = time.time() - _KEPT_SECONDS
        with suppress(OSError):  # another process of the provider does the same
            for file in list(folder.glob("*.json"))[:1_000]:
                if file.stat().st_mtime < oldest:
                    file.unlink(missing_ok=True)


def _key(entry: HistoryLine) -> str:
    about = msgspec.json.decode(entry.metadata) if entry.metadata else None
    key = about.get("id") if isinstance(about, dict) else None
    return key if isinstance(key, str) else ""
