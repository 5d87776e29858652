"""The tool calls: in flight on top, then what ended."""

from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.content import Content

from tapui import invocation, times
from tapui.projection.state import is_in_flight, is_pending
from tapui.projection.summary import summary_of
from tapui.tower import marks
from tapui.tower.panes.table_pane import TablePane
from tapui.tower.plain import facts, headline, plain
from tapui.tower.screens.cancel import ask_cancel
from tapui.tower.table import Cell, Column, Row, Table, heading
from tapui.tower.view import View
from tapui.tower.words import can_cancel, duration_of, taken
from tapui.wire import events as ev

_GATE = "gate "


class CallsPane(TablePane):
    """Calls of providers' tools, and of the sessions' own."""

    TOPICS = frozenset({"calls", "clock"})
    HELP = """\
*Time* is how long a call has run, and its timeout. *By* is the provider that runs it; the session's
own tools carry the name of its host, such as `copilot`. `cancelling`: the caller has its answer and
the provider was told to stop. `gate`: providers are asked whether it may run.
"""
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("x", "cancel", "Cancel", tooltip="Cancel this call"),
    ]
    COLUMNS = (
        Column("tool", 12, 32),
        Column("state", 12),
        Column("by", 7, 20, rank=3),
        Column("session", 7, 20, rank=4),
        Column("time", 10, rank=1, right=True),
        Column("progress", 16, 60, rank=5),
        Column("age", 4, right=True),
    )

    def __init__(self) -> None:
        super().__init__()
        self._ended = _Rows()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """*Cancel* is offered for calls in flight at a provider."""
        del parameters
        if action == "cancel":
            call = self._call()
            return call is not None and can_cancel(call)
        return True

    def on_table_opened(self, event: Table.Opened) -> None:
        """Show a call with its arguments and result."""
        event.stop()
        if self.tower.view.call(event.key) is None:
            return
        from tapui.tower.screens.call import CallScreen

        self.app.push_screen(CallScreen(event.key))

    def action_cancel(self) -> None:
        """Cancel the selected call, once the person confirmed."""
        call = self._call()
        if call is not None and can_cancel(call):
            ask_cancel(self.tower, self.app, call)

    def rows(self, view: View) -> list[Row]:
        """Calls in flight, oldest first, then ended ones, newest first."""
        rows = [_gate_row(view, gate) for gate in view.state.gates.values() if is_pending(gate)]
        rows += [_row(view, call) for call in view.state.calls.values()]
        if view.state.recent_calls:
            if rows:
                rows.append(heading("recent"))
            rows.extend(self._ended.of(view))
        return rows

    def about(self, view: View, key: str) -> list[Content]:
        """Return a call in full."""
        call = view.call(key)
        if call is None:
            gate = view.state.gates.get(key.removeprefix(_GATE))
            return _about_gate(view, gate) if gate is not None else []
        note = plain(call.error, "$error", limit=400) if call.error else facts([call.progress])
        return [
            headline(marks.of_call(call), call.tool, duration_of(call, view.now)),
            facts(
                [
                    f"run by {call.provider}",
                    f"session {view.session_name(call.session_id)}",
                    f"called by {call.caller}" if call.caller else None,
                    call.error_code,
                ]
            ),
            note,
        ]

    def first_steps(self) -> list[tuple[str, str]]:
        """How a call gets here."""
        return [
            ("No call yet. Copilot's own tools show up here, and those of providers.", ""),
            ("", ""),
            ("To call one yourself:", ""),
            (f"  {invocation.command('call TOOL')} --args '{{}}'", "bold $primary"),
        ]

    def _call(self) -> ev.Call | None:
        return self.tower.view.call(self.selected)


class _Rows:
    """The rows of calls that ended, made again only when their age is told otherwise."""

    def __init__(self) -> None:
        self._made: dict[str, tuple[ev.Call, str, str, Row]] = {}

    def of(self, view: View) -> list[Row]:
        """Return the rows, newest first."""
        made: dict[str, tuple[ev.Call, str, str, Row]] = {}
        for call in reversed(view.state.recent_calls.values()):
            age = times.age(times.since(call.started_at, view.now))
            name = view.session_name(call.session_id)
            known = self._made.get(call.id)
            if known is None or known[0] is not call or known[1] != age or known[2] != name:
                known = (call, age, name, _row(view, call))
            made[call.id] = known
        self._made = made
        return [one[3] for one in made.values()]


def _gate_row(view: View, gate: ev.Gate) -> Row:
    mark = marks.GATE[gate.state]
    age = times.age(times.since(gate.started_at, view.now))
    return Row(
        _GATE + gate.id,
        (
            Cell(gate.tool, "strong"),
            Cell(mark.text, mark.tone),
            Cell(", ".join(gate.providers)),
            Cell(view.session_name(gate.session_id), "muted"),
            Cell(age),
            Cell(gate.reason or "", "muted"),
            Cell(age, "muted"),
        ),
    )


def _about_gate(view: View, gate: ev.Gate) -> list[Content]:
    age = times.age(times.since(gate.started_at, view.now))
    asked = f"asked: {', '.join(gate.providers)}"
    return [
        headline(marks.GATE[gate.state], gate.tool, f"{age} ago"),
        facts([f"session {view.session_name(gate.session_id)}", asked]),
        facts([gate.reason]),
    ]


def _row(view: View, call: ev.Call) -> Row:
    mark = marks.of_call(call)
    is_live = is_in_flight(call)
    note = (not is_live and call.error) or call.progress or summary_of(call)
    return Row(
        call.id,
        (
            Cell(call.tool, "strong" if is_live else ""),
            Cell(mark.text, mark.tone),
            Cell(call.provider, "muted" if marks.is_own_tool(call) else ""),
            Cell(view.session_name(call.session_id), "muted"),
            Cell(taken(call, view.now), "warning" if _is_late(call, view.now) else ""),
            Cell(note, "error" if call.error else "muted"),
            Cell(times.age(times.since(call.started_at, view.now)), "muted"),
        ),
    )


def _is_late(call: ev.Call, now: float) -> bool:
    """Return whether a call in flight has used most of its time."""
    if not is_in_flight(call) or not call.timeout:
        return False
    return (times.since(call.started_at, now) or 0.0) * 1000 > 0.8 * call.timeout
