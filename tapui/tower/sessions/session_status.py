"""How each session stands: what it does now, since when, and how much it needs the person."""

from dataclasses import dataclass
from enum import IntEnum

from tapui import times
from tapui.projection import approvals
from tapui.projection.now import Loop, SessionNow, agent_now, now_of
from tapui.projection.proof import is_at_work, record_of, waits_for_shell
from tapui.projection.requests.request_kind import agent_of
from tapui.projection.state import State, is_local, is_open
from tapui.projection.summary import within
from tapui.projection.words import alarms_of, asks_there_words, is_stopping
from tapui.text import revealed
from tapui.tower.app.view import View
from tapui.tower.requests.urgency import requests
from tapui.tower.table.columns import GLYPH
from tapui.tower.wording import marks
from tapui.tower.wording.marks import NO_EVENT, SHELL_RUNS, Mark
from tapui.tower.wording.words import quantity
from tapui.wire import subjects


class Need(IntEnum):
    """How much a session needs the person; the least number first."""

    WAITING = 0
    FAILED = 1
    UNPROVEN = 2
    """It rests, and its check failed or has not run since it changed files."""
    BUSY = 3
    IDLE = 4
    ENDED = 5


@dataclass(frozen=True, slots=True)
class SessionStatus:
    """How a session or subagent stands. `now` is what it does, also while it asks: what it asks
    stands in the band. `since` is an RFC 3339 time."""

    need: Need
    mark: Mark
    now: str
    since: str | None
    failed: int = 0
    is_said: bool = False
    """Whether `now` is what the agent said, not what it does."""


STATE = 12
"""Cells that the words of a state have at most, with their sign: they are never cut."""
WAITING = Mark("!", "asks you", "warning")
WAITS_LONG = Mark("!", "waits long", "error")
BUSY = Mark("●", "busy", "accent")
SILENT = Mark("✗", "no answer", "error")
STOPPING = Mark("●", "stopping", "accent")
IDLE = Mark("○", "idle", "muted")
ENDED = Mark("·", "ended", "muted")


def requests_by_session(view: View) -> dict[tuple[str, str], subjects.Approval]:
    """Return the most urgent request of each session and subagent, by (session, agent or "")."""
    urgent: dict[tuple[str, str], subjects.Approval] = {}
    for request in requests(view):
        approval = request.approval
        key = (approval.session_id or "", agent_of(view.state, approval) or "")
        urgent.setdefault(key, approval)
    return urgent


def of_session(
    state: State,
    session: subjects.Session,
    request: subjects.Approval | None,
    failed: int,
    writing: str = "",
) -> SessionStatus:
    """Return how a session stands; `asked` is what it waits for, `failed` what went wrong and was
    not seen yet, `writing` what its agent writes this moment."""
    if not is_open(session):
        return SessionStatus(Need.ENDED, ENDED, session.reason or "", session.ended_at)
    if session.silent:
        silent = "its program is stopped, or hangs"
        return SessionStatus(Need.FAILED, SILENT, silent, None, failed)
    is_stopped = is_stopping(state, session.id)
    raised = {one.kind: one for one in alarms_of(state, session.id)}
    if request is not None and not is_stopped:
        mark = WAITS_LONG if "waiting" in raised else WAITING
        words, is_said, _ = _does(now_of(state, session.id, is_asking=True), session.cwd)
        return SessionStatus(Need.WAITING, mark, words, request.created_at, failed, is_said=is_said)
    if (asked := asks_there_words(session)) is not None:
        return SessionStatus(Need.WAITING, WAITING, asked, None, failed)
    if is_local(session):
        held = f"{quantity(len(session.providers), 'provider')} in no Copilot session"
        return SessionStatus(Need.IDLE, IDLE, held, session.opened_at, failed)
    does = now_of(state, session.id)
    words, is_said, since = _does(does, session.cwd)
    since = since or session.opened_at
    if writing and is_said:
        words = f"“{writing}”"
    if is_stopped:
        return SessionStatus(Need.BUSY, STOPPING, words, since, failed, is_said=is_said)
    is_busy = is_at_work(state, session) or (does is not None and does.kind == "call")
    if is_busy and does is not None and does.loop is not None:
        mark = Mark("↻", loop_words(does.loop), "error")
        return SessionStatus(Need.FAILED, mark, words, since, failed, is_said=is_said)
    if "quiet" in raised:
        quiet = raised["quiet"]
        return SessionStatus(Need.FAILED, NO_EVENT, words, quiet.since, failed, is_said=is_said)
    mark, need = (BUSY, Need.BUSY) if is_busy else (IDLE, Need.IDLE)
    if not is_busy and waits_for_shell(state, session):
        mark, need = SHELL_RUNS, Need.BUSY
    record = None if is_busy else record_of(state, session)
    if record is not None:
        mark = marks.of_record(record)
        need = Need.UNPROVEN if record.mark in ("failed", "unchecked") else need
    need = Need.FAILED if failed else need
    return SessionStatus(need, mark, words, since, failed, is_said=is_said)


def _does(now: SessionNow | None, folder: str) -> tuple[str, bool, str | None]:
    """Return what a session does in words, whether those are the agent's own, and since when."""
    if now is None:
        return "", False, None
    since = times.after(now.since, now.waited / 1000) if now.waited else now.since
    if now.kind in ("call", "waiting"):
        who = f"{now.agent}: " if now.agent and now.agent != now.tool else ""
        return f"{who}{now.tool:<6} {within(now.text, folder)}".rstrip(), False, since
    if now.kind in ("model", "shell"):
        return now.text, False, since
    return f"“{now.text}”" if now.text else "", True, since


def loop_words(loop: Loop) -> str:
    """Return `exit 1, 4×`; `fails 4×` where that would be too long, or there is no exit code."""
    times_ = f"{min(loop.times, 99)}{'+' if loop.times > 99 else ''}×"
    words = f"exit {loop.exit_code}, {times_}"
    is_short = loop.exit_code is not None and len(words) <= STATE - GLYPH
    return words if is_short else f"fails {times_}"


def about(approval: subjects.Approval, folder: str) -> str:
    """Return what is asked, with its verb; paths in the session's folder without it."""
    return f"{approvals.verb(approval):<6} {within(revealed(approvals.request(approval)), folder)}"


def for_how_long(standing: SessionStatus, now: float) -> str:
    return times.lasting(times.since(standing.since, now))


def agents(session: subjects.Session) -> list[subjects.Subagent]:
    return [one for one in session.subagents if one.state == "running" and is_open(session)]


def of_agent(
    state: State, session_id: str, agent: subjects.Subagent, request: subjects.Approval | None
) -> SessionStatus:
    session = state.sessions.get(session_id)
    folder = session.cwd if session is not None else ""
    is_asking = request is not None
    words, is_said, since = _does(agent_now(state, session_id, agent.id, is_asking), folder)
    if request is not None:
        return SessionStatus(Need.WAITING, WAITING, words, request.created_at, is_said=is_said)
    return SessionStatus(Need.BUSY, BUSY, words, since or agent.started_at, is_said=is_said)
