"""The tool calls: in flight on top, then those that ended; or one row a tool, with its times."""

import math
from collections import Counter
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import ClassVar

from msgspec import Raw
from textual.binding import BindingType

from tapui import invocation, times
from tapui.projection.approvals import asked_calls
from tapui.projection.state import is_in_flight, is_pending
from tapui.projection.summary import summary_of, within
from tapui.projection.turns.programs import has_failed, outcome
from tapui.tower.app.tower import RowAction
from tapui.tower.app.view import View
from tapui.tower.calls.call_detail import ask_cancel
from tapui.tower.keys.bindings import bindings
from tapui.tower.table.columns import Cell, Column, Row, heading
from tapui.tower.table.filter import exactly
from tapui.tower.table.pane import FrameNote, ListPlace
from tapui.tower.table.table import Table
from tapui.tower.table.table_pane import TablePane
from tapui.tower.textual.detail import DetailView
from tapui.tower.turns.steps import waited_of
from tapui.tower.wording import marks
from tapui.tower.wording.words import can_call, can_cancel, taken
from tapui.wire import subjects
from tapui.wire.subjects import Call
from tapui.wire.turns import StepState

_NONE: Mapping[str, float] = {}
_OTHERS: dict[StepState, str] = {
    "denied": "denied", "timedOut": "timed out", "cancelled": "cancelled", "stopped": "stopped",
    "unknown": "unknown",
}  # fmt: skip
"""How calls end that neither did their work nor failed, in words."""


@dataclass(slots=True)
class ToolTimes:
    """The calls of one tool. `last` is the newest of them, `took` holds milliseconds, rising."""

    tool: str
    last: Call
    calls: int = 0
    running: int = 0
    failed: int = 0
    others: Counter[StepState] = field(default_factory=Counter)
    """How many were denied, cancelled, stopped or timed out, or how they ended is not known."""
    took: list[float] = field(default_factory=list)

    def percentile(self, share: float) -> float | None:
        """Return the time that this share of the ended calls did not exceed; None for none."""
        return percentile(self.took, share)


def by_tool(calls: Iterable[Call], asked: Mapping[str, float] = _NONE) -> list[ToolTimes]:
    """Return what is known of each tool, by name. `calls` come oldest first. `asked` has the
    milliseconds for which calls waited for the person, by their ids: no time of the tool.

    Calls that were denied, cancelled or stopped count, but how long they took says nothing of their
    tool.
    """
    tools: dict[str, ToolTimes] = {}
    for call in calls:
        times = tools.setdefault(call.tool, ToolTimes(call.tool, call))
        times.last = call
        times.calls += 1
        if is_in_flight(call):
            times.running += 1
            continue
        ended = outcome(call)
        times.failed += ended == "failed"
        if ended in _OTHERS:
            times.others[ended] += 1
        if call.duration is not None and ended in ("done", "failed", "timedOut"):
            waited = asked.get(call.id, 0.0) if marks.is_own_tool(call) else 0.0
            times.took.append(max(call.duration - waited, 0.0))
    for times in tools.values():
        times.took.sort()
    return sorted(tools.values(), key=lambda one: one.tool.casefold())


def percentile(rising: Sequence[float], share: float) -> float | None:
    if not rising:
        return None
    return rising[max(math.ceil(share * len(rising)) - 1, 0)]


def _asked(view: View) -> dict[str, float]:
    """Return for how many milliseconds calls waited for the person, by their ids."""
    return {
        step.call_id: step.asked
        for turns in view.state.turns.values()
        for turn in turns.turns
        for step in turn.all_steps()
        if step.asked and step.call_id is not None
    }


_BRIEF_HEIGHT = 7
"""Lines of the pane, its frame included, in which it shows calls in flight and no titles."""
_GATE = "gate "
_TOOL = "tool "
_TOOL_COLUMNS = (
    Column("tool", 14, grows=True, cuts_middle=True),
    Column("by", 8, 20, rank=1, is_spare=True, is_common=True),
    Column("calls", 5, 6, right=True),
    Column("running", 7, 7, rank=2, is_spare=True, right=True),
    Column("failed", 6, 6, right=True),
    Column("other ends", 10, 48, rank=3),
    Column("p50", 6, 7, right=True),
    Column("p95", 6, 7, right=True),
)


class CallsPane(TablePane):
    """Calls of providers' tools, and of the sessions' own."""

    TOPICS = frozenset({"calls", "approvals", "clock"})
    HELP = """\
*Time* is how long a call has run, and its timeout. *By* is the provider that runs it; the session's
own tools carry the name of its host, such as `copilot`. `cancelling`: the caller has its answer and
the provider was told to stop. `gate`: providers are asked whether it may run. *By tool* counts the
calls that this tower holds: *failed* is what failed, *other ends* what was denied, cancelled or
stopped, or timed out; half of them took no longer than *p50*, 19 of 20 no longer than *p95*.
No time here has in it what waited for you; the detail of a call has both.
"""
    BINDINGS: ClassVar[list[BindingType]] = bindings("stop", "by-tool")
    CROSSES_HEADINGS = True
    GROWS = "newer"
    SIGNS = marks.signs(*marks.CALL.values(), marks.GATE["waiting"], marks.STEP["denied"])
    COLUMNS = (
        Column("tool", 14, 32, cuts_middle=True),
        Column("", 8, grows=True, half=True),
        Column("state", 12, 14, stays=True),
        Column("by", 8, 20, rank=4, is_spare=True, is_common=True),
        Column("session", 12, 64, rank=3, is_spare=True, is_common=True, cuts_middle=True),
        Column("time", 11, 12, right=True),
        Column("started", 8, 8, rank=5, is_spare=True, right=True),
    )

    def __init__(self) -> None:
        super().__init__()
        self._ended = _Rows()
        self._is_by_tool = False

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action == "stop":
            call = self._call()
            return call is not None and can_cancel(call)
        return super().check_action(action, parameters)

    def on_table_opened(self, event: Table.Opened) -> None:
        event.stop()
        if self._is_by_tool:
            self._show_tool(event.key.removeprefix(_TOOL))
            return
        self.open_shown()

    def shown(self) -> DetailView | None:
        if self._is_by_tool or self.tower.view.call(self.selected) is None:
            return None
        from tapui.tower.calls.call_detail import CallDetail

        return CallDetail(self.selected, self.shown_keys)

    @property
    def subject(self) -> str:
        call = self._call()
        return call.tool if call is not None else ""

    def row_actions(self) -> list[RowAction]:
        call = self._call()
        if call is None:
            return []
        actions = []
        if self.tower.can_call and can_call(self.tower.view, call):
            again = partial(self._again, call)
            actions.append(RowAction("r", "run this tool again, with these arguments", again))
        if can_cancel(call):
            actions.append(RowAction("x", "cancel the call", self.action_stop))
        return actions

    def _again(self, call: Call) -> None:
        """Open the workbench with the call's tool and arguments."""
        from tapui.tower.workbench.tools import call_in

        known = self.tower.view.arguments(call)
        arguments = known if isinstance(known, Raw) else None
        call_in(self.tower, call.session_id, tool=call.tool, arguments=arguments)

    def action_stop(self) -> None:
        call = self._call()
        if call is not None and can_cancel(call):
            ask_cancel(self.tower, self.app, call)

    # By tool

    @property
    def _is_brief(self) -> bool:
        """Whether there is room for calls in flight alone, without titles."""
        return not self._is_by_tool and 0 < self.outer_size.height <= _BRIEF_HEIGHT

    def on_resize(self) -> None:
        self.table.set_titles(not self._is_brief)

    def title(self) -> str:
        if self._is_by_tool:
            return "Calls by tool"
        return "Calls in flight" if self._is_brief else super().title()

    def frame_notes(self) -> list[FrameNote]:
        running = len(self.tower.view.state.calls)
        count = [FrameNote(f"{running:,}")] if self._is_brief else []
        return [*super().frame_notes(), *count]

    def place(self) -> ListPlace | None:
        return None if self._is_by_tool or self._is_brief else super().place()

    def action_by_tool(self) -> None:
        self._is_by_tool = not self._is_by_tool
        self.table.set_columns(_TOOL_COLUMNS if self._is_by_tool else self.COLUMNS)
        self.table.set_titles(not self._is_brief)
        self.sort_by(None)

    def _show_tool(self, tool: str) -> None:
        self.action_by_tool()
        self.filter_by(exactly(tool))

    # Rows

    def rows(self, view: View) -> list[Row]:
        """Calls in flight, oldest first, then ended ones, newest first; or the tools by name."""
        if self._is_by_tool:
            calls = (*view.state.recent_calls.values(), *view.state.calls.values())
            return [_tool_row(one) for one in by_tool(calls, _asked(view))]
        rows = [_gate_row(view, gate) for gate in view.state.gates.values() if is_pending(gate)]
        asked = asked_calls(view.waiting)
        rows += [_row(view, call, asked) for call in view.state.calls.values()]
        if view.state.recent_calls:
            if rows:
                rows.append(heading("recent", heads_rows=True))
            rows.extend(self._ended.of(view, self.tower.give_way))
        return rows

    def first_steps(self) -> list[tuple[str, str]]:
        return [
            ("No call yet. Copilot's own tools show up here, and those of providers.", ""),
            ("", ""),
            ("To call one yourself:", ""),
            (f"  {invocation.command('call TOOL')} --args '{{}}'", "bold $primary"),
        ]

    def _call(self) -> subjects.Call | None:
        return None if self._is_by_tool else self.tower.view.call(self.selected)


class _Rows:
    """The rows of calls that ended, made again only when their session has another name, or steps
    were read that may tell how long calls waited for the person."""

    def __init__(self) -> None:
        self._made: dict[str, tuple[subjects.Call, str, Row]] = {}
        self._read = 0
        """How many turns were whole."""

    def of(self, view: View, give_way: Callable[[], None]) -> list[Row]:
        whole = sum(turn.is_whole for one in view.state.turns.values() for turn in one.turns)
        if whole != self._read:
            self._read = whole
            self._made.clear()
        made: dict[str, tuple[subjects.Call, str, Row]] = {}
        names: dict[str, str] = {}
        for call in reversed(view.state.recent_calls.values()):
            session_id = call.session_id
            name = names.get(session_id)
            if name is None:
                name = names[session_id] = view.session_name(session_id)
            known = self._made.get(call.id)
            if known is None or known[0] is not call or known[1] != name:
                known = (call, name, _row(view, call))
                give_way()
            made[call.id] = known
        self._made = made
        return [one[2] for one in made.values()]


def _others(one: ToolTimes) -> str:
    """Return `2 denied, 1 timed out`."""
    return ", ".join(
        f"{one.others[ended]:,} {word}" for ended, word in _OTHERS.items() if one.others[ended]
    )


def _tool_row(one: ToolTimes) -> Row:
    times_of = [one.percentile(share) for share in (0.5, 0.95)]
    return Row(
        _TOOL + one.tool,
        (
            Cell(one.tool, "strong" if one.running else ""),
            Cell(one.last.provider, "muted" if marks.is_own_tool(one.last) else ""),
            Cell(str(one.calls)),
            Cell(str(one.running) if one.running else "", "primary"),
            Cell(str(one.failed) if one.failed else "", "error"),
            Cell(_others(one)),
            *(Cell("" if took is None else times.span(took / 1000)) for took in times_of),
        ),
        values={
            0: one.tool.casefold(),
            1: one.last.provider,
            2: one.calls,
            3: one.running,
            4: one.failed,
            5: one.others.total(),
            6: times_of[0] or 0.0,
            7: times_of[1] or 0.0,
        },
    )


def _gate_row(view: View, gate: subjects.Gate) -> Row:
    mark = marks.GATE[gate.state]
    asks = f"asks {', '.join(gate.providers)}"
    return Row(
        _GATE + gate.id,
        (
            Cell(gate.tool, "strong"),
            Cell(f"{asks}: {gate.reason}" if gate.reason else asks),
            Cell(mark.word, mark.tone, mark.glyph, mark.tone),
            Cell(""),
            Cell(view.session_name(gate.session_id), "muted"),
            Cell(times.lasting(times.since(gate.started_at, view.now))),
            Cell(times.moment(gate.started_at), "muted"),
        ),
    )


def _row(view: View, call: subjects.Call, asked: Container[str] = ()) -> Row:
    mark = marks.of_call(call, asked)
    is_live = is_in_flight(call)
    session = view.session_name(call.session_id)
    waited = waited_of(view, call)
    spent = times.since(call.started_at, view.now) if is_live else (call.duration or 0.0) / 1000
    return Row(
        call.id,
        (
            Cell(call.tool, "strong" if is_live else ""),
            Cell(_about(view, call), "error" if has_failed(call) else "" if is_live else "muted"),
            Cell(mark.word, mark.tone, mark.glyph, mark.tone),
            Cell(call.provider, "muted" if marks.is_own_tool(call) else ""),
            Cell(session, "muted"),
            Cell(taken(call, view.now, waited), "strong" if _is_late(call, view.now) else ""),
            Cell(times.moment(call.started_at), "muted"),
        ),
        values={
            0: call.tool,
            2: mark.word,
            3: call.provider,
            4: session,
            5: (spent or 0.0) - waited / 1000,
            6: times.epoch(call.started_at) or 0.0,
        },
        calls_out=(f"✗ {call.tool}", "error") if has_failed(call) else None,
    )


def _about(view: View, call: subjects.Call) -> str:
    """Return what a call is about: its main argument, then how far it is or why it failed."""
    more = call.error if call.state == "failed" else call.progress if is_in_flight(call) else None
    summary = within(summary_of(call), view.folder_of(call.session_id))
    return "   ".join(one for one in (summary, more) if one)


def _is_late(call: subjects.Call, now: float) -> bool:
    if not is_in_flight(call) or not call.timeout:
        return False
    return (times.since(call.started_at, now) or 0.0) * 1000 > 0.8 * call.timeout
