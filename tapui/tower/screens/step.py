"""One step of a turn with everything that is known of it."""

from typing import Any, ClassVar

import msgspec
from msgspec import Raw
from msgspec.structs import replace
from textual.binding import BindingType

from tapui import times
from tapui.tower import spent, steps
from tapui.tower.keys.bindings import bindings
from tapui.tower.reader import Paragraph, title, value
from tapui.tower.screens.call import call_parts
from tapui.tower.screens.cancel import ask_cancel
from tapui.tower.screens.sheet import Keys, Sheet, alone, fact
from tapui.tower.steps import StepPlace
from tapui.tower.view import View
from tapui.tower.words import can_cancel
from tapui.wire import subjects
from tapui.wire.codec import encode

_ELSEWHERE = "Its arguments and result are not kept here; the records have them."


class StepScreen(Sheet):
    """What was asked for and what came of it: a call as its own sheet shows it, else the text.

    `key` is a step's, as `tower.steps` has it.
    """

    TOPICS = frozenset({"calls", "approvals", "life", "clock"})
    BINDINGS: ClassVar[list[BindingType]] = bindings("stop", "raw")

    def __init__(self, key: str, keys: Keys = alone) -> None:
        super().__init__(key, keys)
        self._place: StepPlace | None = None
        self._call: subjects.Call | None = None
        self._is_raw = False

    def go_to(self, key: str) -> None:
        """Show another step."""
        self._place = self._call = None
        super().go_to(key)

    def show(self, view: View, dirty: frozenset[str]) -> None:
        """Paint it as it is now; once the tower forgot it, as it was."""
        place = self._place = steps.place_of(view, self.key) or self._place
        if place is None:
            return
        step = place.step
        step.condense()
        self._call = view.call(step.call_id or "") or self._recorded(place) or self._call
        mark = steps.mark_of(view, step)
        words = steps.step_words(step, view.folder_of(place.turn.session_id))
        name = f"{steps.label_of(step)}  {words}"
        seconds = steps.lasted(steps.seconds_of(step, view.now))
        note = ", ".join(one for one in (mark.word, seconds) if one)
        self.set_frame(mark, name, note, "warning" if mark.tone == "warning" else "muted")
        if dirty != {"clock"} or self._call is not None:
            made = self._record(view, place) if self._is_raw else self._parts(view, place)
            self.reader.set_parts(made)
            self.refresh_bindings()

    def _recorded(self, place: StepPlace) -> subjects.Call | None:
        turn, step = place.turn, place.step
        if step.call_id is None or step.is_open:
            return None
        return self.tower.bodies.recorded(turn.session_id, step.call_id)

    def _parts(self, view: View, place: StepPlace) -> list[Paragraph]:
        turn, step, agent = place
        exit_code = None if step.exit_code is None else str(step.exit_code)
        parts = [
            *fact("turn", f"{turn.number}  {steps.prompt_words(view, turn)}"),
            *fact("session", view.session_name(turn.session_id)),
            *fact("began", times.date_and_time(step.at)),
            *fact("subagent", agent.tool if agent is not None else None),
            *fact("run by", step.provider),
            *fact("allowed by", steps.allowed_by(step)),
            *fact("time", self._time(view, place)),
            *fact("exit code", exit_code),
            *fact("changed", steps.lines_changed(step.added, step.removed)),
            *fact("calls", str(step.calls) if step.kind == "subagent" else None),
            *fact("tokens", steps.tokens(step.usage)),
        ]
        if turn.is_history:
            parts.append(Paragraph("It happened before this run of tapui.", "muted"))
        if self._call is not None:
            return [*parts, *call_parts(self.tower.bodies, self._whole(self._call))]
        if step.call_id is not None:
            is_coming = self.tower.bodies.is_recorded_awaited(step.call_id)
            said = "Its arguments and result are being read …" if is_coming else _ELSEWHERE
            parts += [Paragraph(""), Paragraph(said, "muted")]
        text = step.summary
        if step.kind in ("message", "prompt"):
            text = steps.content_at(view, turn.session_id, step.at) or text
        if text:
            parts += [Paragraph(""), title(steps.label_of(step)), value(text)]
        if step.error:
            parts += [Paragraph(""), title("error"), value(step.error, "error")]
        return parts

    @staticmethod
    def _time(view: View, place: StepPlace) -> str | None:
        """Return where its time went; None where there is no more to tell than how long it took."""
        time = spent.on_step(view, place.turn.session_id, place.step)
        if not (time.queue or time.gates or time.you):
            return None
        return time.words(f"at {place.step.provider}") or None

    def _whole(self, call: subjects.Call) -> subjects.Call:
        return self.tower.bodies.whole(call)

    def _record(self, view: View, place: StepPlace) -> list[Paragraph]:
        """Return what is known as JSON: the step, and the call or event behind it."""
        step, session_id = place.step, place.turn.session_id
        parts = [title("step"), value(_json(step.told()))]
        if self._call is not None:
            call = self._whole(self._call)
            args, data = view.arguments(call), view.result(call)
            if isinstance(args, Raw):
                call = replace(call, args=args, args_cut=None)
            if isinstance(data, Raw):
                call = replace(call, data=data, data_cut=None)
            return [*parts, Paragraph(""), title("call"), value(_json(call))]
        for event in steps.events_at(view, session_id, step.at):
            body = self.tower.bodies.happening(event)
            said = value(body.text) if body is not None else Paragraph("")
            parts += [Paragraph(""), title(" ".join(event.event.split())), said]
        return parts

    # Keys

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """What still runs can be stopped."""
        if action == "stop":
            return self._call is not None and can_cancel(self._call)
        return super().check_action(action, parameters)

    def action_stop(self) -> None:
        """Cancel the call, once the person confirmed."""
        if self._call is not None:
            ask_cancel(self.tower, self.app, self._call)

    def action_raw(self) -> None:
        """Show the record as it is, or the step as before."""
        self._is_raw = not self._is_raw
        self.reader.scroll_to(y=0, animate=False)
        self.show(self.tower.view, self.TOPICS)


def _json(found: Any) -> str:
    return msgspec.json.format(encode(found), indent=2).decode("utf-8", "replace")
