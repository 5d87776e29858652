"""How providers are, as they say: in JSON, in doctor's words, in the sheet."""

from tapui.projection.provider_status import statuses, stream_of, told_statuses
from tapui.projection.state import State
from tapui.wire.message import Level, Line
from tapui.wire.subjects import Provider, Stream

AT = "2026-11-28T02:00:00.000Z"


def provider(name: str, session: str | None, state: str = "bound") -> Provider:
    return Provider(f"p-{name}", name, "token", state, [], AT, session)  # type: ignore[arg-type]


def said(state: State, session: str, name: str, level: Level, text: str) -> None:
    line = Line(1, AT, level, text)
    state.streams[session, stream_of(name)] = Stream(stream_of(name), name, session, 1, line)


def test_the_newest_line_of_connected_providers_counts() -> None:
    state = State()
    for one in (
        provider("ci", "s1"),
        provider("sast", "all"),
        provider("old", "s1", "disconnected"),
    ):
        state.providers[one.id] = one
    said(state, "s1", "ci", "surface", "no token\x1b[31m")
    said(state, "s2", "ci", "surface", "of a session that it has left")
    said(state, "s2", "sast", "keep", "3 files")
    said(state, "s1", "old", "surface", "gone")
    said(state, "s1", "none", "surface", "no provider")
    state.streams["s1", "status@sast"] = Stream("status@sast", "sast", "s1", 0)
    found = list(statuses(state))
    assert [(one.provider.name, one.session_id, one.is_wrong) for one in found] == [
        ("ci", "s1", True),
        ("sast", "s2", False),
    ]
    assert told_statuses(state)[0] == {
        "provider": "ci",
        "instance": None,
        "sessionId": "s1",
        "text": "no token\\x1b[31m",
        "isWrong": True,
        "since": AT,
    }
