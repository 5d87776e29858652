"""One call with everything that is known of it."""

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.widgets import Static

from tapui import times
from tapui.tower import marks
from tapui.tower.bodies import Bodies
from tapui.tower.plain import headline
from tapui.tower.reader import Paragraph, Reader, title, value
from tapui.tower.screens.cancel import ask_cancel
from tapui.tower.screens.live import LiveScreen
from tapui.tower.view import View
from tapui.tower.words import can_cancel, taken
from tapui.wire import events as ev


class CallScreen(LiveScreen[None]):
    """Arguments, progress, result or error of a call, as long as the tower keeps it."""

    CSS_PATH = "reading.tcss"
    TOPICS = frozenset({"calls", "clock"})
    BINDINGS: ClassVar[list[BindingType]] = [Binding("x", "cancel", "Cancel call")]

    def __init__(self, call_id: str) -> None:
        super().__init__()
        self._call_id = call_id
        self._last: ev.Call | None = None
        self._is_waiting = False

    def compose(self) -> ComposeResult:
        """A headline and the text."""
        with Vertical(classes="sheet"):
            yield Static("", classes="headline", markup=False)
            yield Reader()

    def show(self, view: View, dirty: frozenset[str]) -> None:
        """Paint it as it is now; once the tower forgot it, as it was."""
        del dirty
        call = view.call(self._call_id) or self._last
        if call is None:
            return
        self.query_one(".headline", Static).update(
            headline(marks.of_call(call), call.tool, taken(call, view.now))
        )
        bodies = self.tower.bodies
        whole = bodies.whole(call)
        is_waiting = bodies.is_awaited(call)
        if call is not self._last or is_waiting != self._is_waiting:
            self._last, self._is_waiting = call, is_waiting
            self.query_one(Reader).set_parts(_parts(view, bodies, whole))
            self.refresh_bindings()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """*Cancel* is offered while it runs."""
        del parameters
        return action != "cancel" or (self._last is not None and can_cancel(self._last))

    def action_cancel(self) -> None:
        """Cancel the call, once the person confirmed."""
        if self._last is not None:
            ask_cancel(self.tower, self.app, self._last)


def _parts(view: View, bodies: Bodies, call: ev.Call) -> list[Paragraph]:
    facts = [
        f"run by    {call.provider}" + (f" ({call.provider_id})" if call.provider_id else ""),
        f"session   {view.session_name(call.session_id)}",
        f"started   {times.moment(call.started_at)}",
        f"call      {call.id}",
    ]
    if call.caller:
        facts.append(f"called by {call.caller}")
    if call.timeout is not None:
        facts.append(f"timeout   {times.span(call.timeout / 1000)}")
    parts = [Paragraph(" ".join(fact.splitlines()), "muted") for fact in facts]
    if call.progress:
        parts += [Paragraph(""), title("progress"), value(call.progress)]
    parts += [Paragraph(""), title("arguments"), value(bodies.arguments(call).text)]
    if call.error is not None:
        code = f" {call.error_code}" if call.error_code else ""
        parts += [Paragraph(""), title(f"error{code}"), value(call.error, "error")]
    elif call.file is not None:
        file = f"{call.file.path}\n{call.file.mime_type}, {call.file.size:,} bytes"
        parts += [Paragraph(""), title("result, in a file"), value(file)]
    elif call.state == "done":
        parts += [Paragraph(""), title("result"), value(bodies.result(call).text)]
    return parts
