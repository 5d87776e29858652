"""Replay: folding the files of a run gives the state that folding its events gave."""

import tempfile
from pathlib import Path
from typing import Any

import msgspec
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tapui.projection.fold import fold
from tapui.projection.state import State
from tapui.projection.turns.earlier_turns import bounded
from tapui.projection.turns.session_events import HAPPENED
from tapui.records import register
from tapui.records.reader import Damage
from tapui.wire import events as ev
from tapui.wire import limits, subjects
from tapui.wire.codec import raw
from tapui.wire.criteria import (
    CheckedRun,
    FileIs,
    Pointer,
    Ran,
    SessionStanding,
    TurnProof,
    Verdict,
)
from tapui.wire.goals import CheckCounts, ClaimAudit, Goal, GoalCriterion, GoalReport
from tapui.wire.message import FileResult, Line
from tapui.wire.turns import FileChange, Step, Turn, TurnHead, TurnSource
from tests.records.turns import Writer, closed, opened, refused, stamp, started
from tests.rig.replayed import last_run, records, replay

SESSIONS = ["s1", "s2", "a/b", "..", "local"]
text = st.text(max_size=12)
ids = st.sampled_from(["x1", "x2", "x3", "ü\n"])
session_ids = st.sampled_from(SESSIONS)


def raw_or_none(value: Any) -> msgspec.Raw | None:
    """Return a value as JSON; None where it is not JSON (NaN)."""
    try:
        return raw(value)
    except (TypeError, ValueError):
        return None


maybe_session = st.one_of(st.none(), session_ids)
json = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | text,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(text, inner, max_size=3),
    max_leaves=6,
)
raws = st.one_of(json, st.just("x" * 5000)).map(raw)
optional_raws = st.one_of(st.none(), raws)
cuts = st.one_of(st.none(), st.builds(subjects.Cut, text, st.integers(0, 10**9), text))
stamps = st.integers(0, 10**9).map(stamp)
modes = st.sampled_from(["interactive", "plan", "autopilot"])

lines_changed = st.one_of(st.none(), st.integers(0, 99))
changes = st.builds(FileChange, text, lines_changed, lines_changed, st.booleans())
calls = st.builds(
    subjects.Call, ids, session_ids, text, text,
    st.sampled_from(["running", "cancelling", "done", "failed", "cancelled"]), stamps,
    timeout=st.one_of(st.none(), st.integers(0, 10**6), st.floats(0, 1e6)),
    provider_id=st.one_of(st.none(), ids), progress=st.one_of(st.none(), text),
    args=optional_raws, args_cut=cuts, data=optional_raws, data_cut=cuts,
    file=st.one_of(st.none(), st.builds(FileResult, text, text, st.integers(0, 10**9))),
    error=st.one_of(st.none(), text), duration=st.one_of(st.none(), st.floats(0, 1e6)),
    agent_id=st.one_of(st.none(), ids), exit_code=st.one_of(st.none(), st.integers(0, 2)),
    changes=st.one_of(st.none(), st.lists(changes, max_size=2)),
    tool_call_id=st.one_of(st.none(), ids),
)  # fmt: skip
providers = st.builds(
    subjects.Provider, ids, text, st.sampled_from(["internal", "project", "external"]),
    st.sampled_from(["bound", "unbound"]), st.lists(text, max_size=3), stamps,
    session_id=st.one_of(st.just("all"), maybe_session), origin=st.one_of(st.none(), text),
)  # fmt: skip
approvals = st.builds(
    subjects.Approval, ids, st.sampled_from(["pairing", "mode", "permission"]),
    st.sampled_from(["waiting", "revealed", "approved", "denied", "expired", "withdrawn"]),
    st.dictionaries(text, json, max_size=3) | st.fixed_dictionaries({"toolCallId": ids}),
    stamps, stamps, session_id=maybe_session, decided_by=st.one_of(st.none(), text),
)  # fmt: skip
lines = st.builds(
    Line, st.integers(1, 10**6), stamps, st.sampled_from(["keep", "surface", "inject"]), text,
    optional_raws,
)  # fmt: skip

gates = st.builds(
    subjects.Gate, ids, session_ids, text, st.sampled_from(["waiting", "allow", "deny", "context"]),
    st.lists(text, max_size=2), stamps, decided_by=st.one_of(st.none(), text),
)  # fmt: skip
steps = st.builds(
    Step, text, st.sampled_from(["call", "message", "error"]),
    st.sampled_from(["running", "done", "failed"]), stamps, call_id=st.one_of(st.none(), ids),
)  # fmt: skip
heads = st.builds(
    TurnHead, st.integers(1, 9), session_ids, stamps,
    st.sampled_from(["running", "done", "unknown"]), st.builds(TurnSource, st.just("person")),
    prompt=text, steps=st.integers(0, 9), ended_at=st.one_of(st.none(), stamps),
)  # fmt: skip
turns = st.builds(Turn, heads, st.lists(steps, max_size=3))
happenings = st.fixed_dictionaries(
    {},
    optional={
        "content": text | json,
        "delivery": st.sampled_from(["idle", "steering", "queued"]),
        "from": text,
        "source": st.sampled_from(["autopilot", "agent-x", "schedule", "else"]),
        "agentId": ids | json,
        "remoteSessionId": ids,
        "toolCallId": ids,
        "exitCode": st.integers(0, 3) | json,
        "command": text,
        "tool": text,
        "agentName": text,
        "description": text,
        "intent": text,
        "inputTokens": st.integers() | st.floats() | json,
        "outputTokens": st.integers(0, 10**6),
        "cost": st.floats() | json,
        "message": text,
        "success": st.booleans(),
        "aborted": st.booleans(),
        "durationMs": st.floats(0, 1e6),
    },
).map(raw_or_none)


pointers = st.builds(
    Pointer, st.sampled_from(["command", "call", "file"]), ids, st.just("recorded"), stamps
)
whole_proofs = st.builds(
    TurnProof,
    st.sampled_from(["checked", "failed", "unchecked"]),
    text,
    st.lists(pointers, max_size=30),
    st.none() | st.integers(1, 9),
    st.lists(st.builds(CheckedRun, text, stamps), max_size=2),
)
proofs = st.none() | whole_proofs
standings = st.none() | st.builds(SessionStanding, whole_proofs, stamps)


@st.composite
def sessions(draw: st.DrawFn, id_: str, state: str) -> subjects.Session:
    # "W" stands for a workspace, made when the events are written.
    return subjects.Session(
        id_, draw(text), draw(text), state, draw(text), draw(st.lists(ids, max_size=2)),
        draw(stamps), mode=draw(st.one_of(st.none(), modes)),
        workspace=draw(st.sampled_from([None, None, "W", "W", "/nowhere/at/all"])),
        context=draw(st.one_of(st.none(), st.builds(
            subjects.ContextUse, st.integers(), st.integers()))),
    )  # fmt: skip


def _deciding(approval: subjects.Approval, session_id: str | None) -> ev.ApprovalDeciding:
    return ev.ApprovalDeciding(approval, "approve", session_id)


verdicts = st.builds(
    Verdict, st.sampled_from(["passed", "failed", "stale", "unknown"]), text
)  # fmt: skip
demands = st.builds(Ran, command=text) | st.builds(FileIs, path=text)
criteria = st.builds(
    GoalCriterion,
    ids,
    text | st.just("x" * limits.MAX_CRITERION),
    st.none() | demands,
    verdict=verdicts,
)
goal_statuses = st.sampled_from(["active", "paused", "blocked", "achieved", "abandoned"])


@st.composite
def goal_events(draw: st.DrawFn, one: str) -> ev.AnyEvent:
    goal = Goal(
        draw(ids), one, draw(text), draw(goal_statuses), draw(st.integers(1, 9)),
        draw(st.sampled_from(["agent", "person"])), draw(stamps),
        draw(st.lists(criteria, max_size=3)),
    )  # fmt: skip
    report = GoalReport("unverifiable", [], CheckCounts(), draw(ids), draw(stamps), goal.id)
    return draw(
        st.sampled_from(
            [
                ev.GoalOpened(one, goal),
                ev.GoalUpdated(one, goal, draw(text)),
                ev.GoalVerified(one, goal, report),
                ev.GoalClosed(one, goal),
                ev.TurnSentBack(one, [goal.id], 1, 3, draw(text)),
                ev.ClaimsAudited(one, ClaimAudit("supported", [], draw(ids), draw(stamps))),
            ]
        )
    )


@st.composite
def events(draw: st.DrawFn) -> ev.AnyEvent:
    one = draw(session_ids)
    kind = draw(st.integers(0, 21))
    provider = draw(providers) if 3 <= kind <= 5 else None
    match kind:
        case 0:
            return ev.SessionOpened(one, draw(sessions(one, "idle")))
        case 1:
            return ev.SessionUpdated(one, draw(sessions(one, "busy")))
        case 2:
            return ev.SessionClosed(one, draw(sessions(one, "ended")))
        case 3:
            assert provider is not None
            joined = draw(
                st.sampled_from(
                    [ev.ProviderConnected, ev.ProviderBound, ev.ProviderUpdated, ev.ProviderUnbound]
                )
            )
            return joined(provider, provider.session_id)
        case 4:
            assert provider is not None
            gone = msgspec.structs.replace(provider, state="disconnected")
            return ev.ProviderDisconnected(gone, provider.session_id)
        case 5:
            assert provider is not None
            return ev.ProviderMoved(provider, one, draw(session_ids), draw(text))
        case 6 | 7 | 8:
            change = draw(
                st.sampled_from(
                    [ev.CallStarted, ev.CallProgress, ev.CallCancelling, ev.CallFinished]
                )
            )
            return change(one, draw(calls))
        case 9 | 10:
            return ev.StreamPosted(one, draw(st.sampled_from(["a@p", "b@q"])), draw(lines))
        case 11 | 12:
            decision = draw(
                st.sampled_from(
                    [ev.ApprovalRequested, ev.ApprovalRevealed, ev.ApprovalDecided,
                     ev.ApprovalWithdrawn, ev.ApprovalExpired, _deciding]
                )
            )  # fmt: skip
            return decision(draw(approvals), draw(maybe_session))
        case 13:
            standing = draw(st.sampled_from(["ordered", "done", "failed"]))
            return ev.ModeChanged(one, draw(modes), standing, "person")
        case 14:
            context = raw({"tokens": draw(st.integers(0, 9)), "limit": 10})
            return draw(
                st.sampled_from(
                    [ev.SessionHappened(one, "session.context", context),
                     ev.SessionReplaced(one, draw(sessions(one, "idle")), draw(session_ids)),
                     ev.ErrorSent("X", "y", session_id=one)]
                )
            )  # fmt: skip
        case 15 | 16 | 17 | 18:
            name = draw(st.sampled_from([*HAPPENED, "unheard.of"]))
            return ev.SessionHappened(one, name, draw(st.one_of(happenings, optional_raws)))
        case 19 if draw(st.booleans()):
            return ev.TurnsRestored(one, bounded(draw(st.lists(turns, max_size=3))))
        case 19 if draw(st.booleans()):
            return ev.TurnProved(one, stamp(draw(st.integers(1, 20))), draw(proofs))
        case 19 if draw(st.booleans()):
            return ev.SessionStood(one, draw(standings))
        case 19:
            return ev.GateChecked(one, draw(gates))
        case 20:
            return draw(goal_events(one))
        case _ if draw(st.booleans()):
            state = draw(st.sampled_from(["looking", "looked", "failed", "gone"]))
            error = draw(st.none() | text)
            return ev.HostLooks(subjects.HostLook(draw(text), state, stamp(1), error))
        case _:
            found = st.builds(subjects.Unattached, ids, text, st.integers(1, 9), text)
            return ev.UnattachedFound(draw(text), draw(st.lists(found, max_size=2)))


def placed(event: ev.AnyEvent, root: Path) -> ev.AnyEvent:
    """Give a session its workspace, which it keeps."""
    found = getattr(event, "session", None)
    if found is None or found.workspace != "W":
        return event
    folder = root / f"workspace-{SESSIONS.index(found.id)}"
    folder.mkdir(exist_ok=True)
    with_folder = msgspec.structs.replace(found, workspace=str(folder))
    return msgspec.structs.replace(event, session=with_folder)


def all_folders(state_dir: Path) -> list[Path]:
    known = [folder for found in register.sessions(state_dir).values() for folder in found]
    return [*known, *register.gateway_folders(state_dir)]


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.lists(events(), min_size=1, max_size=5), max_size=12), st.integers(200, 20_000))
def test_the_fold_of_the_files_is_the_live_state(turns: list[Any], limit: int) -> None:
    with tempfile.TemporaryDirectory() as name:
        root = Path(name)
        live = State()
        with Writer(root / "other", run="r0") as earlier:
            earlier.turn(opened("s1"), started("s1", "c1"))
        with Writer(root / "state", file=limit) as writer:
            for turn in turns:
                assert writer.turn(*[placed(event, root) for event in turn]) == frozenset()
        for entry in writer.entries.values():
            fold(live, entry.event, entry.ts)
        folders = all_folders(root / "state")
        damage = Damage()
        replayed = replay([*folders, *all_folders(root / "other"), *folders], "r1", damage=damage)
        assert damage == Damage()
        assert replayed == live
        # Equal dicts may differ in order; a snapshot shows it.
        assert replayed.snapshot() == live.snapshot()
        found = list(records(folders, "r1"))
        assert [record.seq for record in found] == list(writer.entries)
        for record in found:
            assert record.entry() == writer.entries[record.seq]


def test_without_a_run_the_newest_one_is_replayed(state: Path, workspace: Path) -> None:
    with Writer(state, run="old") as writer:
        writer.turn(opened("s1", workspace), opened("s2"), refused("x"))
    with Writer(state, run="new") as writer:
        writer.seq = 100
        writer.turn(opened("s1", workspace), started("s1", "c1"), closed("s1"))
    folders = all_folders(state)
    assert last_run(folders) == "new"
    assert list(replay(folders).sessions) == ["s1"]
    assert list(replay(folders, "old").sessions) == ["s1", "s2"]
    assert replay(folders, "never") == State()
    assert replay([]) == State()
    assert last_run([state / "nowhere"]) is None


def test_records_of_unknown_kinds_change_nothing(state: Path, workspace: Path) -> None:
    with Writer(state) as writer:
        writer.turn(opened("s1", workspace))
    path = workspace / "files/tap/sessions.jsonl"
    with path.open("ab") as file:
        file.write(b'{"v":2,"run":"r1","seq":2,"ts":"t","kind":"session.danced","x":[1]}\n')
    damage = Damage()
    assert list(replay(all_folders(state), damage=damage).sessions) == ["s1"]
    assert damage == Damage()
