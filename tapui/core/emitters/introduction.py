"""Text that goes with an agent's first prompt: what tap offers, and what is there already."""

from collections.abc import Iterable

from tapui.core.emitters.emitter import LiveEmitter
from tapui.core.emitters.folders import EmitterFolders
from tapui.core.emitters.registry import Emitters
from tapui.core.model import OpenSession
from tapui.core.runs.schedules import in_words
from tapui.core.streams.streams import Streams
from tapui.projection.summary import one_line
from tapui.settings.settings import Briefing

USUAL = (
    "tapui is attached to this session. What you wait for can be watched beside it: "
    "tap_start_emitter runs a command all the time, once or on an interval (the person is asked "
    "first) and sends you the lines that its filter injects; tap_schedule_prompt sends you a "
    "prompt later; tap_list_emitters, tap_list_streams and tap_stream_history say what is there. "
    "What a stream sends you begins with “※ tap”: react only if it matters to your task."
)
_MOST = 20


class Introduction:
    """Makes the text, once the shell can run emitters; an unattended session has none, since
    nothing could be allowed there."""

    def __init__(
        self,
        settings: Briefing,
        *,
        emitters: Emitters,
        folders: EmitterFolders,
        streams: Streams,
    ) -> None:
        self._settings = settings
        self._emitters = emitters
        self._folders = folders
        self._streams = streams

    def of(self, session: OpenSession) -> str | None:
        """Return the text for a session's agent; None for no text."""
        if not (self._settings.told and self._folders.is_on) or session.view.unattended:
            return None
        folder = self._folders.folder_of(session)
        emitters = [*folder.emitters.values(), *self._emitters.of_agent(session)]
        streams = {*self._streams.of(session.id), *self._folders.streams_of(session)}
        parts = [self._settings.words or USUAL]
        if emitters:
            parts.append(f"Emitters: {_listed(_described(one) for one in emitters)}.")
        if streams:
            parts.append(f"Streams: {_listed(one_line(one) for one in sorted(streams))}.")
        return "\n".join(parts)


def _described(emitter: LiveEmitter) -> str:
    whose = "the person's" if emitter.entry.ownership == "userOwned" else "yours"
    return f"{emitter.name} ({in_words(emitter.plan)}, {whose}: {emitter.state})"


def _listed(texts: Iterable[str]) -> str:
    every = list(texts)
    more = f" and {len(every) - _MOST} more" if len(every) > _MOST else ""
    return ", ".join(every[:_MOST]) + more
