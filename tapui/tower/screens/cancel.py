"""Cancelling a call: asked about first, by the name of the call."""

from textual.app import App

from tapui.tower.app_protocol import Tower
from tapui.tower.screens.confirm import ConfirmScreen
from tapui.tower.words import can_cancel, duration_of
from tapui.wire import subjects
from tapui.wire.message import BUILTIN_PROVIDER
from tapui.wire.tower import CallCancel


def ask_cancel(tower: Tower, app: App[object], call: subjects.Call) -> None:
    """Ask whether `call`, which was under the cursor, is to be cancelled; cancel it on *yes*."""
    view = tower.view

    def answered(is_sure: bool | None) -> None:
        if not is_sure:
            return
        now = view.call(call.id)
        if now is not None and can_cancel(now):
            tower.send(CallCancel(id=call.id))
        else:
            app.notify(f"{call.tool} has ended already.", markup=False)

    lines = [
        f"run by {call.provider} · session {view.session_name(call.session_id)}",
        duration_of(call, view.now),
    ]
    if call.provider == BUILTIN_PROVIDER and any(
        one.kind == "mode" and one.session_id == call.session_id for one in view.waiting
    ):
        lines.append("A mode switch that this call asked for is withdrawn.")
    app.push_screen(ConfirmScreen(f"Cancel {call.tool}?", lines, "cancel the call"), answered)
