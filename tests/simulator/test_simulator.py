"""A few hundred seeds of the simulator; `python -m tests.simulator --seeds A:B` tells more."""

from collections.abc import Callable
from typing import Any

import pytest

from tapui.core.approvals.approvals import Approvals
from tapui.core.approvals.modes import Modes
from tapui.core.calls.calls import Calls
from tapui.core.emitters.folders import EmitterFolders
from tapui.core.hooks.gates import Gates
from tapui.core.hooks.prompts import Prompts
from tapui.core.model import ConnectedProvider
from tapui.core.providers.tools import ToolTable
from tapui.core.runs.runs import Runs
from tapui.core.sessions.sessions import OpenSessions
from tapui.core.streams.injects import Injects
from tapui.core.streams.pushes import Budgets
from tapui.records.journal import Journal
from tapui.runtime.disk_work import DiskWork
from tapui.runtime.turn import LoopTurn
from tapui.wire import builtin as b
from tapui.wire import host as h
from tapui.wire import provider as p
from tapui.wire.codec import encodable
from tapui.wire.message import ActiveSession, Message
from tests.simulator import shell, world
from tests.simulator.run import StoryError, run

SEEDS = 300
STEPS = 200


@pytest.mark.parametrize("first", range(0, SEEDS, 50))
def test_seeds_hold(first: int) -> None:
    told = [run(seed, STEPS) for seed in range(first, first + 50)]
    # Stories in which nothing happens prove nothing.
    assert sum(one.outcomes for one in told) > 200
    assert sum(one.events for one in told) > 2000
    assert sum(one.runs for one in told) > 20


def test_a_seed_always_tells_the_same_story(monkeypatch: pytest.MonkeyPatch) -> None:
    stories = []

    class Kept(world.World):
        def __init__(self, seed: int) -> None:
            super().__init__(seed)
            stories.append(self)

    monkeypatch.setattr("tests.simulator.run.World", Kept)
    for _ in range(2):
        run(7, STEPS)
    assert stories[0].story() == stories[1].story()
    assert stories[0].ledger.seq == stories[1].ledger.seq > 0


def _run_all(first: int, seeds: int, *, inside: bool = False) -> None:
    """Look for a fault, first in the story that showed it last."""
    for seed in (first, *range(seeds)):
        run(seed, STEPS, inside=inside)


def _forget_a_call(self: Any, call: Any) -> None:
    self._absorb(call)


def _do_nothing(*_: Any) -> None:
    pass


def _show_everything(self: Any, _: Any) -> list[Any]:
    return OpenSessions._shown(self)


def _send_at_once(self: Any, session: Any) -> None:
    session.awaits_turn = False
    Injects._delivered(self, session)


def _count_backwards(self: Any, session_id: str) -> int:
    revision = self.revisions[session_id] = self.revisions.get(session_id, 9) - 1
    return revision


def _hold_anyway(self: Any, subject: Any, _is_ok: bool) -> Any:
    return self._kept_recorded(subject, True)


def _begin_anyway(self: Any, emitter: Any, _standing: Any) -> None:
    self._begin(emitter)


FAULTS = [
    pytest.param(Approvals, "recorded", _hold_anyway, "not durable", 8, id="a decision unrecorded"),
    pytest.param(Modes, "recorded", _hold_anyway, "not durable", 49, id="a mode unrecorded"),
    pytest.param(Calls, "due", _forget_a_call, "", 4, id="a call without an outcome"),
    pytest.param(Gates, "due", _do_nothing, "", 115, id="a gate that hangs"),
    pytest.param(
        OpenSessions, "visible", _show_everything, "not cover", 0, id="a scope that leaks"
    ),
    pytest.param(Injects, "deliver", _send_at_once, "per idle", 0, id="two prompts at once"),
    pytest.param(
        ConnectedProvider, "revise", _count_backwards, "rise", 4, id="revisions that fall"
    ),
    pytest.param(ToolTable, "remove", _do_nothing, "", 0, id="tools of the gone"),
    pytest.param(Budgets, "forget_provider", _do_nothing, "", 0, id="budgets of the gone"),
    pytest.param(Injects, "forget_provider", _do_nothing, "", 0, id="injects of the gone"),
    pytest.param(Prompts, "due", _do_nothing, "", 54, id="a prompt that waits for ever"),
    pytest.param(Runs, "_settle", _begin_anyway, "allowed", 0, id="no consent"),
    pytest.param(EmitterFolders, "session_ended", _do_nothing, "", 0, id="emitters of the gone"),
]


@pytest.mark.parametrize(("owner", "name", "fault", "says", "first"), FAULTS)
def test_a_fault_is_found_and_names_its_seed(
    monkeypatch: pytest.MonkeyPatch, owner: type, name: str, fault: Any, says: str, first: int
) -> None:
    """The simulator sees what is wrong with a gateway that was spoilt."""
    everything = _everything(OpenSessions.in_order)
    monkeypatch.setattr(OpenSessions, "_shown", everything, raising=False)
    monkeypatch.setattr(Injects, "_delivered", Injects.deliver, raising=False)
    for kept in (Approvals, Modes):
        monkeypatch.setattr(kept, "_kept_recorded", kept.recorded, raising=False)
    monkeypatch.setattr(owner, name, fault)
    with pytest.raises(StoryError, match=f"(?s){says}.*--seed"):
        _run_all(first, 400)


def _everything(
    in_order: Callable[[OpenSessions], list[Any]],
) -> Callable[[OpenSessions], list[Any]]:
    """Return the list of sessions that a client without limits is shown."""

    def shown(self: OpenSessions) -> list[Any]:
        return [
            ActiveSession(one.id, one.view.label, foreground=False, state="idle")
            for one in in_order(self)
        ]

    return shown


@pytest.mark.parametrize("first", range(0, 120, 40))
def test_seeds_hold_when_things_break_inside(first: int) -> None:
    told = [run(seed, STEPS, inside=True) for seed in range(first, first + 40)]
    assert sum(one.outcomes for one in told) > 100
    assert sum(one.events for one in told) > 2000
    assert sum(one.faults for one in told) > 100


def test_a_seed_with_faults_inside_always_tells_the_same_story(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    stories = []

    class Kept(shell.ShellWorld):
        def __init__(self, seed: int) -> None:
            super().__init__(seed)
            stories.append(self)

    monkeypatch.setattr("tests.simulator.run.ShellWorld", Kept)
    for _ in range(2):
        run(7, STEPS, inside=True)
    assert stories[0].story() == stories[1].story()
    assert stories[0].bodies == stories[1].bodies


def _raise(*_: Any) -> None:
    raise RuntimeError("injected, and not contained")


def _skip_the_last(self: Any, number: int) -> Any:
    port = self._kept_forget(number)
    if self._ports:
        self._ports.popitem()
    return port


def _lose_silently(self: Any, file: Any, data: bytes, handles: Any) -> None:
    kept = self._kept_append(file, data, handles)
    return None if kept == 0 else kept


FAULTS_INSIDE = [
    pytest.param(
        LoopTurn, "_effect_failed", _raise, "not contained", 0, id="an effect that ends the turn"
    ),
    pytest.param(
        LoopTurn, "_forget", _skip_the_last, "", 0, id="a fault that costs another connection"
    ),
    pytest.param(
        DiskWork, "_make_durable", _do_nothing, "", 0, id="a decision that is never settled"
    ),
    pytest.param(LoopTurn, "drained", _do_nothing, "", 6, id="a slow tower that stays behind"),
    pytest.param(
        Journal, "_append", _lose_silently, "records are lost", 0, id="records lost unsaid"
    ),
]


@pytest.mark.parametrize(("owner", "name", "fault", "says", "first"), FAULTS_INSIDE)
def test_a_fault_of_the_shell_is_found_and_names_its_seed(
    monkeypatch: pytest.MonkeyPatch, owner: type, name: str, fault: Any, says: str, first: int
) -> None:
    monkeypatch.setattr(LoopTurn, "_kept_forget", LoopTurn._forget, raising=False)
    monkeypatch.setattr(Journal, "_kept_append", Journal._append, raising=False)
    monkeypatch.setattr(owner, name, fault)
    with pytest.raises(StoryError, match=f"(?s){says}.*--seed.*--inside"):
        _run_all(first, 200, inside=True)


@pytest.mark.parametrize(
    ("kind", "first"),
    [
        *((h.SessionUpdate, 1), (p.Push, 0), (p.ContextUpdate, 1), (p.ToolResult, 0)),
        *((b.StreamPost, 4), (b.ModeRequest, 34)),
    ],
)
def test_text_that_no_json_carries_is_found(
    monkeypatch: pytest.MonkeyPatch, kind: type[Message], first: int
) -> None:
    def let_through(message: Message) -> Message:
        return message if isinstance(message, kind) else encodable(message)

    monkeypatch.setattr("tapui.runtime.ports.encodable", let_through)
    with pytest.raises(StoryError, match=r"(?s)(surrogates not allowed|streams on show).*--inside"):
        _run_all(first, 200, inside=True)
