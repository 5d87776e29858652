"""The sheets of a turn and of a step, and where their time went."""

from typing import Any, ClassVar, NamedTuple

import msgspec
from msgspec import Raw
from msgspec.structs import replace
from textual.binding import BindingType

from tapui import times
from tapui.projection.paragraphs import Paragraph, title, value
from tapui.projection.turns.turn import LiveStep, LiveTurn
from tapui.tower.app.view import View
from tapui.tower.calls.bodies import data_of
from tapui.tower.calls.call_sheet import ask_cancel, call_parts
from tapui.tower.keys.bindings import bindings
from tapui.tower.sessions.session_sheet import charged_words, tokens_words
from tapui.tower.textual.sheet import Sheet, fact
from tapui.tower.turns import steps
from tapui.tower.turns.steps import StepPlace
from tapui.tower.wording.words import can_cancel
from tapui.wire import subjects
from tapui.wire.codec import encode
from tapui.wire.turns import FileChange

_LEAST = 0.5
"""Milliseconds below which a part is not told."""


class Spent(NamedTuple):
    """Milliseconds: in tools, waiting for a place, asking providers, waiting for the person."""

    tools: float = 0.0
    queue: float = 0.0
    gates: float = 0.0
    you: float = 0.0

    def plus(self, other: "Spent") -> "Spent":
        return Spent(*(one + more for one, more in zip(self, other, strict=True)))

    def words(self, tools: str) -> str:
        """Return `1.2s at shop, 300ms in the queue, 40ms gates, 12s waiting for you`; "" for none.

        `tools` says which tools.
        """
        named = (
            (self.tools, tools),
            (self.queue, "in the queue"),
            (self.gates, "gates"),
            (self.you, "waiting for you"),
        )
        return ", ".join(f"{steps.lasted(ms / 1000)} {what}" for ms, what in named if ms >= _LEAST)


def on_step(view: View, session_id: str, step: LiveStep) -> Spent:
    """Return where the time of a step went, without the steps within it.

    The duration of a session's own calls holds the wait for the person.
    """
    step.condense()
    session = view.state.sessions.get(session_id)
    queue, gates, you = step.queued or 0.0, step.gated or 0.0, step.asked or 0.0
    tools = 0.0
    if step.kind == "call" and not step.is_open:
        is_own = session is not None and step.provider == session.host
        tools = max((step.duration or 0.0) - queue - (you if is_own else 0.0), 0.0)
    return Spent(tools, queue, gates, you)


def in_turn(view: View, turn: LiveTurn) -> Spent:
    """Return where the time of a turn's steps went; what ran at once counts each."""
    total = Spent()
    for step in turn.all_steps():
        spent = on_step(view, turn.session_id, step)
        if step.kind == "call":
            spent = spent._replace(gates=0.0)  # they are steps of their own
        total = total.plus(spent)
    return total


class TurnScreen(Sheet):
    """`key` is a turn's, as `tower.steps` has it."""

    TOPICS = frozenset({"calls", "approvals", "life", "clock"})

    _turn: LiveTurn | None = None

    def go_to(self, key: str) -> None:
        self._turn = None
        super().go_to(key)

    def show(self, view: View, dirty: frozenset[str]) -> None:
        """Paint its present state; once the tower forgot it, the last one."""
        del dirty
        turn = self._turn = steps.turn_of(view, self.key) or self._turn
        if turn is None:
            return
        mark = steps.mark_of_turn(view, turn)
        seconds = steps.lasted(steps.seconds_of_turn(turn, view.now))
        note = ", ".join(one for one in (mark.word, seconds) if one)
        tone = "warning" if mark.tone == "warning" else "muted"
        self.set_frame(
            mark, f"Turn {turn.number} of {view.session_name(turn.session_id)}", note, tone
        )
        usage, changed = turn.usage, list(turn.files.values())
        history = "before this run of tapui" if turn.is_history else None
        parts = [
            *fact("began", times.date_and_time(turn.started_at)),
            *fact("ended", times.date_and_time(turn.ended_at) if turn.ended_at else None),
            *fact("history", history),
            *fact("asked by", steps.asker_words(view, turn)),
            *fact("steps", f"{turn.made}, {turn.failed} failed" if turn.failed else str(turn.made)),
            *fact("time", in_turn(view, turn).words("in tools") or None),
            *fact("tokens", tokens_words(usage)),
            *fact("charged", charged_words(usage)),
            Paragraph(""),
            title("prompt"),
            value(steps.prompt_whole(view, turn)),
        ]
        if changed:
            parts += [Paragraph(""), title(f"files, {steps.turn_lines(turn)}")]
            parts += [value(_file(one)) for one in reversed(changed)]
            if turn.more_files.files:
                parts.append(Paragraph(f"… {turn.more_files.files} before these", "muted"))
        self.reader.set_parts(parts)


def _file(change: FileChange) -> str:
    lines = steps.lines_changed(change.added, change.removed)
    probably = "(probably: a command wrote it)" if change.is_probable else ""
    return "  ".join(one for one in (" ".join(change.path.split()), lines, probably) if one)


_ELSEWHERE = "Its arguments and result are not kept here; the records have them."


class StepScreen(Sheet):
    """What was asked for and what came of it: a call as its own sheet shows it, else the text.

    `key` is a step's, as `tower.steps` has it.
    """

    TOPICS = frozenset({"calls", "approvals", "life", "clock"})
    BINDINGS: ClassVar[list[BindingType]] = bindings("stop", "raw")

    _place: StepPlace | None = None
    _call: subjects.Call | None = None
    _is_raw = False

    def go_to(self, key: str) -> None:
        self._place = self._call = None
        super().go_to(key)

    def show(self, view: View, dirty: frozenset[str]) -> None:
        """Paint its present state; once the tower forgot it, the last one."""
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
            return [*parts, *call_parts(self.tower.bodies, self.tower.bodies.whole(self._call))]
        if step.call_id is not None:
            is_coming = self.tower.bodies.is_recorded_awaited(step.call_id)
            note = "Its arguments and result are being read …" if is_coming else _ELSEWHERE
            parts += [Paragraph(""), Paragraph(note, "muted")]
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
        time = on_step(view, place.turn.session_id, place.step)
        if not (time.queue or time.gates or time.you):
            return None
        return time.words(f"at {place.step.provider}") or None

    def _record(self, view: View, place: StepPlace) -> list[Paragraph]:
        step, session_id = place.step, place.turn.session_id
        parts = [title("step"), value(_json(step.told()))]
        if self._call is not None:
            call = self.tower.bodies.whole(self._call)
            args, data = view.arguments(call), view.result(call)
            if isinstance(args, Raw):
                call = replace(call, args=args, args_cut=None)
            if isinstance(data, Raw):
                call = replace(call, data=data, data_cut=None)
            return [*parts, Paragraph(""), title("call"), value(_json(call))]
        for event in steps.events_at(view, session_id, step.at):
            body = data_of(event)
            about = title(" ".join(event.event.split()))
            parts += [Paragraph(""), about, Paragraph("") if body is None else value(body)]
        return parts

    # Keys

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action == "stop":
            return self._call is not None and can_cancel(self._call)
        return super().check_action(action, parameters)

    def action_stop(self) -> None:
        if self._call is not None:
            ask_cancel(self.tower, self.app, self._call)

    def action_raw(self) -> None:
        self._is_raw = not self._is_raw
        self.reader.scroll_to(y=0, animate=False)
        self.show(self.tower.view, self.TOPICS)


def _json(part: Any) -> str:
    return msgspec.json.format(encode(part), indent=2).decode("utf-8", "replace")
