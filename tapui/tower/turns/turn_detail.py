"""The sheets of a turn and of a step, and where their time went."""

from functools import partial
from typing import Any, ClassVar, NamedTuple

import msgspec
from msgspec import Raw
from msgspec.structs import replace
from textual.binding import BindingType

from tapui import times
from tapui.projection.paragraphs import Paragraph, title, value
from tapui.projection.proof import proof_mark, recorded_words, says_words
from tapui.projection.turns.session import LiveTurns
from tapui.projection.turns.turn import LiveStep, LiveTurn
from tapui.projection.words import undone_words
from tapui.tower.app.tower import Tower
from tapui.tower.app.view import View
from tapui.tower.calls.bodies import data_of
from tapui.tower.calls.call_detail import CallDetail, ask_cancel, call_parts
from tapui.tower.keys.bindings import bindings
from tapui.tower.sessions.session_detail import charged_words, tokens_words
from tapui.tower.streams.line_detail import LineDetail
from tapui.tower.textual.detail import DetailView, fact
from tapui.tower.textual.sheet import Sheet
from tapui.tower.turns import steps
from tapui.tower.turns.steps import StepPlace
from tapui.tower.turns.waterfall import SpanDetail, SpanWindow, TracedDetail
from tapui.tower.wording import marks
from tapui.tower.wording.words import can_cancel
from tapui.wire import subjects
from tapui.wire.codec import encode
from tapui.wire.turns import FileChange

_BEFORE = 60.0
"""Seconds before a turn in which its prompt was prepared and sent."""
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
    """Return where the time of a step went, without the steps within it."""
    step.condense()
    queue, gates, you = step.queued or 0.0, step.gated or 0.0, step.asked or 0.0
    tools = 0.0
    if step.kind == "call" and not step.is_open:
        waited = steps.waited_within(view, session_id, step)
        tools = max((step.duration or 0.0) - queue - waited, 0.0)
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


class TurnDetail(TracedDetail):
    """`key` is a turn's, as `tower.steps` has it."""

    SIGNS = marks.signs(*marks.STEP.values(), *marks.PROOF.values())

    TOPICS = frozenset({"calls", "approvals", "life", "clock", "spans"})

    _turn: LiveTurn | None = None

    @property
    def session_id(self) -> str:
        return self._turn.session_id if self._turn is not None else ""

    def go_to(self, key: str) -> None:
        self._turn = None
        super().go_to(key)

    def show(self, view: View, dirty: frozenset[str]) -> None:
        """Paint its present state; once the tower forgot it, the last one."""
        turn = self._turn = steps.turn_of(view, self.key) or self._turn
        self.show_trace(view)
        if turn is None or dirty == {"spans"}:
            return
        mark = steps.mark_of_turn(view, turn)
        time = steps.time_of_turn(turn, view.now)
        seconds = "" if time is None else steps.lasted(time.without)
        state = turn.told_state()[0]
        is_bare = state != "done" or mark.word == marks.TURN["done"].word
        words = mark.word if is_bare else f"done, {mark.word}"
        note = ", ".join(one for one in (words, seconds) if one)
        tone = "warning" if mark.tone == "warning" else "muted"
        self.set_frame(
            mark, f"Turn {turn.number} of {view.session_name(turn.session_id)}", note, tone
        )
        usage, changed = turn.usage, list(turn.files.values())
        history = "before this run of tapui" if turn.is_history else None
        counts = steps.counts_of(turn.counted())
        parts = [
            *fact("says", says_words(turn), ""),
            *_recorded(self.tower, turn),
            *fact("began", times.date_and_time(turn.started_at)),
            *fact("ended", times.date_and_time(turn.ended_at) if turn.ended_at else None),
            *fact("history", history),
            *fact("taken back", undone_words(turn)),
            *fact("asked by", steps.asker_words(view, turn)),
            *fact("steps", ", ".join([str(turn.made), *(one.word for one in counts)])),
            *fact("time", in_turn(view, turn).words("in tools") or None),
            *fact("waited", time.words if time is not None else None),
            *fact("tokens", tokens_words(usage)),
            *fact("charged", charged_words(usage)),
            *fact("goals", steps.sent_back(turn)),
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

    def window(self, view: View) -> SpanWindow | None:
        """Return the spans of the turn, and of the prompt that it began with."""
        turn = self._turn or steps.turn_of(view, self.key)
        if turn is None:
            return None
        since = times.after(turn.started_at, -_BEFORE)
        return SpanWindow(
            turn.session_id, since, turn.told_state()[1] or "", turn_at=turn.started_at
        )

    def open_span(self, span: subjects.Span, window: SpanWindow) -> None:
        open_span(self.tower, window.session_id, span, shown=self.key)


def _recorded(tower: Tower, turn: LiveTurn) -> list[Paragraph]:
    view = tower.view
    turns = view.state.turns.get(turn.session_id) or LiveTurns(turn.session_id)
    names = f"{tower.key_of('actions')} v"
    words = recorded_words(turns, turn, partial(times.when, now=view.now), names)
    tone = marks.PROOF[proof_mark(turn.proof)].tone if turn.proof is not None else "muted"
    return fact("recorded", words, tone)


def _file(change: FileChange) -> str:
    lines = steps.lines_changed(change.added, change.removed)
    probably = "(probably: a command wrote it)" if change.is_probable else ""
    return "  ".join(one for one in (" ".join(change.path.split()), lines, probably) if one)


def _last_said(turn: LiveTurn) -> LiveStep | None:
    """Return what the session's own agent said last in a turn that has ended."""
    said = (one for one in reversed(turn.steps) if one.kind == "message")
    return next(said, None) if turn.ended_at is not None else None


def _waited(view: View, place: StepPlace) -> str | None:
    """Return how much of its time a step waited for the person; None for none, or while it does."""
    step, session_id = place.step, place.turn.session_id
    seconds = steps.seconds_of(view, session_id, step)
    waited = (step.asked or 0.0) / 1000
    if seconds is None or step.state == "waiting":
        return None
    return steps.TimeSpent(seconds + waited, waited).words


_ELSEWHERE = "Its arguments and result are not kept here; the records have them."


class StepDetail(DetailView):
    """What was asked for and what came of it: a call as its own sheet shows it, else the text.

    `key` is a step's, as `tower.steps` has it.
    """

    SIGNS = marks.signs(*marks.STEP.values())

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
        seconds = steps.lasted(steps.seconds_of(view, place.turn.session_id, step))
        note = ", ".join(one for one in (mark.word, seconds) if one)
        self.set_frame(mark, name, note, "warning" if mark.tone == "warning" else "muted")
        if dirty != {"clock"} or self._call is not None:
            made = self._record(view, place) if self._is_raw else self._parts(view, place)
            self.reader.set_parts(made)
            self.refresh_bindings()

    @property
    def step_key(self) -> tuple[str, str] | None:
        place = self._place
        return None if place is None else (place.turn.session_id, steps.failed_key(place.step))

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
            *fact("denied by" if step.state == "denied" else "allowed by", steps.allowed_by(step)),
            *fact(
                "because", steps.reason_of(view, turn.session_id, step) if not step.error else None
            ),
            *fact("time", self._time(view, place)),
            *fact("waited", _waited(view, place)),
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
        if step is _last_said(turn):
            parts += [Paragraph(""), *_recorded(self.tower, turn)]
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
        self.show_anew()


def open_span(tower: Tower, session_id: str, span: subjects.Span, *, shown: str = "") -> None:
    """Open what stands behind a span: its step, its call, its turn (but for the one `shown`), or
    the first of its lines; where none is here, the span as it was recorded."""
    view = tower.view
    tower.push_screen(Sheet(_behind(view, session_id, span, shown)))


def _behind(view: View, session_id: str, span: subjects.Span, shown: str) -> DetailView:
    for key, turn in steps.keyed_turns(view, session_id):
        if turn.started_at > span.started_at and span.name != "prompt":
            continue
        if span.name == "turn" and turn.started_at == span.started_at and key != shown:
            return TurnDetail(key)
        for step_key, place in steps.keyed_steps(key, turn):
            if _is_of(place.step, span):
                return StepDetail(step_key)
    if span.call_id is not None and view.call(span.call_id) is not None:
        return CallDetail(span.call_id)
    name = view.session_name(session_id)
    if span.stream is not None and span.from_seq is not None:
        ring = view.rings.get((session_id, span.stream))
        line = ring.line(span.from_seq) if ring is not None else None
        if line is not None:
            return LineDetail(line, stream=span.stream, session=name)
    return SpanDetail(span, name)


def _is_of(step: LiveStep, span: subjects.Span) -> bool:
    step.condense()
    if span.name == "agent":
        return step.agent is not None and step.agent == span.agent_id
    if span.name == "gate":
        return step.kind == "gate" and step.at == span.started_at
    return span.call_id is not None and step.call_id == span.call_id


def _json(part: Any) -> str:
    return msgspec.json.format(encode(part), indent=2).decode("utf-8", "replace")
