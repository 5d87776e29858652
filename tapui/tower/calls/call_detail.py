"""One call with all that is known of it, and cancelling it."""

from typing import ClassVar

from textual.app import App
from textual.binding import BindingType

from tapui import times
from tapui.projection import approvals
from tapui.projection.changes import changes, edited
from tapui.projection.paragraphs import Paragraph, title, value
from tapui.projection.state import is_in_flight
from tapui.tower.app.tower import Tower
from tapui.tower.app.view import View
from tapui.tower.calls.bodies import Bodies
from tapui.tower.keys.bindings import bindings
from tapui.tower.textual.detail import DetailView, fact
from tapui.tower.textual.sheet import confirm
from tapui.tower.turns.steps import TimeSpent, waited_of
from tapui.tower.wording import marks
from tapui.tower.wording.words import can_cancel, duration_of, taken
from tapui.wire import subjects
from tapui.wire.message import BUILTIN_PROVIDER
from tapui.wire.tower import CallCancel


def ask_cancel(tower: Tower, app: App[object], call: subjects.Call) -> None:
    """Ask whether `call`, which was under the cursor, is to be cancelled; cancel it on *yes*."""
    view = tower.view

    def cancel() -> None:
        now = view.call(call.id)
        if now is not None and can_cancel(now):
            tower.send(CallCancel(id=call.id))
        else:
            app.notify(f"{call.tool} has ended already.", markup=False)

    lines = [
        f"run by {call.provider} · session {view.session_name(call.session_id)}",
        duration_of(call, view.now, waited_of(view, call)),
    ]
    if call.provider == BUILTIN_PROVIDER and any(
        one.kind == "mode" and one.session_id == call.session_id for one in view.waiting
    ):
        lines.append("A mode switch that this call asked for is withdrawn.")
    confirm(app, f"Cancel {call.tool}?", lines, "cancel the call", cancel)


class CallDetail(DetailView):
    """Arguments, progress, result or error of a call, as long as the tower keeps it."""

    SIGNS = marks.signs(*marks.CALL.values())

    TOPICS = frozenset({"calls", "approvals", "clock"})
    BINDINGS: ClassVar[list[BindingType]] = bindings("stop")

    _last: subjects.Call | None = None
    _is_waiting = False

    def go_to(self, key: str) -> None:
        self._last = None
        super().go_to(key)

    def show(self, view: View, dirty: frozenset[str]) -> None:
        """Paint its present state; once the tower forgot it, the last one."""
        del dirty
        call = view.call(self.key) or self._last
        if call is None:
            return
        mark = marks.of_call(call, approvals.asked_calls(view.waiting))
        waited = waited_of(view, call)
        self.set_frame(mark, call.tool, f"{mark.word}, {taken(call, view.now, waited)}")
        bodies = self.tower.bodies
        whole = bodies.whole(call)
        is_waiting = bodies.is_awaited(call)
        if call is not self._last or is_waiting != self._is_waiting:
            self._last, self._is_waiting = call, is_waiting
            self.reader.set_parts([*_facts(view, whole), *call_parts(bodies, whole)])
            self.refresh_bindings()

    @property
    def step_key(self) -> tuple[str, str] | None:
        return None if self._last is None else (self._last.session_id, self._last.id)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action == "stop":
            return self._last is not None and can_cancel(self._last)
        return super().check_action(action, parameters)

    def action_stop(self) -> None:
        if self._last is not None:
            ask_cancel(self.tower, self.app, self._last)


def _facts(view: View, call: subjects.Call) -> list[Paragraph]:
    return [
        *fact("run by", call.provider + (f" ({call.provider_id})" if call.provider_id else "")),
        *fact("session", view.session_name(call.session_id)),
        *fact("started", times.moment(call.started_at)),
        *fact("call", call.id),
        *fact("called by", approvals.by_whom(call.caller or "")),
        *fact("waited", _waited_words(view, call)),
        *fact("timeout", None if call.timeout is None else times.span(call.timeout / 1000)),
    ]


def _waited_words(view: View, call: subjects.Call) -> str | None:
    """Return how much of the time of a call that ended waited for the person."""
    if call.duration is None:
        return None
    return TimeSpent(call.duration / 1000, waited_of(view, call) / 1000).words


def call_parts(bodies: Bodies, call: subjects.Call) -> list[Paragraph]:
    """Return what a call's shell told, its progress, arguments, what it changed, and its result or
    error."""
    parts = [] if call.shell is None else _shell_facts(call.shell)
    if call.progress:
        parts += [Paragraph(""), title("progress"), value(call.progress)]
    if call.output:
        parts += [Paragraph(""), *live_lines(call.output, LIVE_LINES)]
    changed = edited(bodies.edits(call))
    if not changed:
        parts += [Paragraph(""), title("arguments"), value(bodies.arguments(call))]
    parts += changed
    if call.error is not None:
        code = f" {call.error_code}" if call.error_code else ""
        parts += [Paragraph(""), title(f"error{code}"), value(call.error, "error")]
    elif call.file is not None:
        file = f"{call.file.path}\n{call.file.mime_type}, {call.file.size:,} bytes"
        if call.file.note:
            file += f"\n{call.file.note}"
        parts += [Paragraph(""), title("result, in a file"), value(file)]
    elif call.state == "done":
        result = bodies.result(call)
        is_diff = result.startswith(("diff --git ", "--- ")) and "\n@@" in result
        parts += [Paragraph(""), title("result")]
        parts += changes(result) if is_diff else [value(result)]
    if call.shell is not None:
        for name, text in (("beginning", call.shell.head), ("end", call.shell.tail)):
            parts += [Paragraph(""), title(f"{name} of the output"), value(text)] if text else []
    return parts


LIVE_LINES = 10
"""Lines of a running command that its detail shows: the newest, which are read while it runs."""


def live_lines(output: str, most: int) -> list[Paragraph]:
    """Return the last lines of a command that runs, below a title."""
    lines = output.rstrip().splitlines()
    of = f", the last {most} of {len(lines)} lines" if len(lines) > most else ""
    return [title(f"output so far, live{of}"), value("\n".join(lines[-most:]))]


def newest_command(view: View, session_id: str) -> subjects.Call | None:
    """Return the session's call whose output is worth a look: the newest one that prints or has
    printed in a shell; None where there is none."""
    for calls in (view.state.calls, view.state.recent_calls):
        for call in reversed(calls.values()):
            if call.session_id == session_id and (call.output or call.shell is not None):
                return call
    return None


def last_lines(bodies: Bodies, call: subjects.Call, most: int) -> list[Paragraph]:
    """Return the last lines that a command has printed; none where it printed nothing."""
    text = call.output
    if call.state == "done":
        tail = call.shell.tail if call.shell is not None else ""
        text = tail or ("" if call.data is None else bodies.result(call))
    lines = [line for line in text.splitlines() if line.strip()][-most:]
    if not lines:
        return []
    how = ", live while it runs" if is_in_flight(call) else ""
    if call.exit_code:
        how = f", exit {call.exit_code}"
    return [title(f"last lines of its newest command{how}"), value("\n".join(lines))]


def _shell_facts(shell: subjects.Shell) -> list[Paragraph]:
    return [
        *fact("folder", shell.cwd),
        *fact("shell", f"{shell.id}, in the background" if shell.is_behind else shell.id),
        *fact("output", "cut for the agent" if shell.is_cut else None),
    ]
