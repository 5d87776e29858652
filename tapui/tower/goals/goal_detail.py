"""A goal in full: how its criteria stand, on what that rests, its timeline; and one criterion."""

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import count
from pathlib import Path
from typing import ClassVar

import msgspec
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Static

from tapui import times
from tapui.projection.changes import changes
from tapui.projection.goal_words import (
    OPENER_WORDS,
    closed_words,
    closer_words,
    criteria_words,
    criterion_mark,
    criterion_words,
    sent_back_words,
)
from tapui.projection.paragraphs import Paragraph, readable, title, value
from tapui.projection.summary import one_line
from tapui.tower.app.tower import RowAction
from tapui.tower.app.view import View
from tapui.tower.calls.call_detail import CallDetail
from tapui.tower.goals.goal_orders import DROPS, GoalOrders
from tapui.tower.goals.timeline import (
    COLUMNS,
    LINE,
    GoalTimeline,
    call_ids,
    lines_of,
    turns_between,
)
from tapui.tower.keys.bindings import bindings
from tapui.tower.streams.line_detail import LineDetail
from tapui.tower.table.columns import Cell, Row, heading
from tapui.tower.table.table import Table
from tapui.tower.textual.detail import DetailView, Keys, alone, fact
from tapui.tower.textual.dialogs import ActionsScreen
from tapui.tower.textual.sheet import Sheet
from tapui.tower.textual.widgets import plain, show_in, tone_style
from tapui.tower.turns import steps
from tapui.tower.turns.turn_detail import StepDetail, TurnDetail, open_span
from tapui.tower.turns.waterfall import SpanWindow, TracedDetail
from tapui.tower.wording import marks
from tapui.tower.wording.words import quantity, rate
from tapui.wire import limits
from tapui.wire.codec import encode
from tapui.wire.criteria import Pointer
from tapui.wire.goals import GOALS_STREAM, Goal, GoalCriterion
from tapui.wire.message import Error, Line
from tapui.wire.subjects import Span
from tapui.wire.tower import StreamLines, StreamRead, TurnsRead

_ids = count(1)
_CRITERION, _POINTER = "criterion ", "pointer "
_LOW, _LOWEST = 30, 12
"""Lines of the terminal below which the facts have fewer, and none."""
COMING = "The rest of it is being read …"
NOT_HERE = "The rest of it cannot be read here; the records have it."
GONE = "It is no longer here: its session is gone, or a newer goal has its place."


class GoalDetail(TracedDetail):
    """`key` is a goal's id. Enter opens the criterion, the step, the turn or the line."""

    SIGNS = marks.signs(*marks.GOAL.values(), *marks.CRITERION.values())

    TOPICS = frozenset({"sessions", "life", "calls", "approvals", "streams", "spans"})
    DEFAULT_CSS = Path(__file__).with_name("goal_detail.tcss").read_text("utf-8")
    BINDINGS: ClassVar[list[BindingType]] = bindings(
        *("stop", "actions", "goal-send-back", "goal-verify", "goal-note", "goal-achieved"),
        "raw",
        offers=DROPS,
    )

    def __init__(self, key: str, keys: Keys = alone) -> None:
        super().__init__(key, keys)
        self._begin()

    def _begin(self) -> None:
        """Nothing is known of it yet."""
        self._goal: Goal | None = None
        self._timeline = GoalTimeline()
        self._facts: list[Paragraph] = []
        self._is_raw = False
        self._run = ""
        self._read_id = ""
        self._are_read = False
        self._lines: dict[int, Line] = {}
        self._newest = 0
        self._asked: set[int] = set()
        """Turns whose steps were asked for: each once."""
        self._steps_of: dict[str, str] = {}
        """By call: the key of its step."""

    def below(self) -> Iterable[Widget]:
        yield Static("", classes="facts", markup=False)
        yield Table(COLUMNS, has_titles=False)
        yield from super().below()

    def focus_inside(self) -> None:
        if self._is_traced:
            super().focus_inside()
        else:
            self.screen.set_focus(self.reader if self._is_raw else self.query_one(Table))

    def go_to(self, key: str) -> None:
        self._begin()
        super().go_to(key)

    @property
    def goal(self) -> Goal | None:
        """What is known of it, as whole as it has come."""
        return self._goal

    # What is shown

    def show(self, view: View, dirty: frozenset[str]) -> None:
        """Paint its present state; once it is gone, the last one."""
        now = view.state.goals.get(self.key)
        if now is not None:
            whole = self.tower.bodies.whole(now)
            # Until the new revision has come, what rests on what stays in its place.
            if self._goal is None or not self.tower.bodies.is_awaited(whole):
                self._goal = whole
        goal = self._goal
        if goal is None:
            return
        self.show_trace(view)
        has_news = self._take_lines(view, goal)
        if dirty <= {"streams", "spans"} and not has_news:
            return  # other streams have most of the lines
        self._read_turns(view, goal)
        mark = marks.GOAL[goal.status]
        closed = closed_words(goal, partial(times.when, now=view.now))
        note = ", ".join(filter(None, (f"{mark.word} {closed}".strip(), criteria_words(goal))))
        self.set_frame(mark, goal.title, note)
        self.set_class(self.app.size.height < _LOW, "-low")
        self.set_class(self.app.size.height < _LOWEST, "-lowest")
        self.set_class(self._is_raw, "-raw")
        self._facts = [*([] if now is not None else [Paragraph(GONE, "warning")])]
        self._facts += _facts(view, goal)
        if goal.is_cut and now is not None:
            is_coming = self.tower.bodies.is_awaited(now)
            self._facts.append(Paragraph(COMING if is_coming else NOT_HERE, "warning"))
        lines = [plain(one.text, tone_style(one.tone)) for one in self._facts]
        show_in(self.query_one(".facts", Static), Content("\n").join(lines))
        self.query_one(Table).set_rows(self._rows(view, goal))
        if self._is_raw:
            text = msgspec.json.format(encode(goal), indent=2).decode("utf-8", "replace")
            self.reader.set_parts([title("goal"), value(text)])
        self.refresh_bindings()

    def _rows(self, view: View, goal: Goal) -> list[Row]:
        about = f"criteria, {criteria_words(goal)} passed"
        if not goal.criteria:
            is_copilots = goal.opened_by == "copilot"
            about = "no criterion: only you can say that it is achieved"
            about = "Copilot's own objective: no check" if is_copilots else about
        self._steps_of = _steps_of_calls(view, goal)
        rows = [heading(about)]
        for one in goal.criteria:
            rows.append(_criterion(one, is_open=goal.is_open))
            rows += _pointers(view, one, self._steps_of)
        lines = lines_of(goal, (self._lines[seq] for seq in sorted(self._lines)))
        return [
            *rows,
            heading("timeline", heads_rows=True),
            *self._timeline.rows(view, goal, lines),
        ]

    def window(self, view: View) -> SpanWindow | None:
        """Return the spans from its opening to its end."""
        goal = self._goal or view.state.goals.get(self.key)
        if goal is None:
            return None
        return SpanWindow(goal.session_id, goal.opened_at, goal.closed_at or "")

    def open_span(self, span: Span, window: SpanWindow) -> None:
        open_span(self.tower, window.session_id, span)

    def copied(self) -> str:
        if self._is_raw or self._is_traced:
            return super().copied()
        cells = (row.texts for row in self.query_one(Table).rows)
        rows = [
            "  ".join(filter(None, (" ".join(one.split()) for one in texts))) for texts in cells
        ]
        return "\n".join([*(one.text for one in self._facts), *rows])

    # What is read for it

    def _take_lines(self, view: View, goal: Goal) -> bool:
        """Take the lines of the goals' stream that have come, and ask once for those before them;
        return whether there are new ones."""
        if view.run != self._run:  # another gateway, or another moment of a replay
            self._run, self._read_id, self._are_read, self._newest = view.run, "", False, 0
            self._lines.clear()
        before = len(self._lines)
        ring = view.rings.get((goal.session_id, GOALS_STREAM))
        for line in ring.lines if ring is not None else ():
            if line.seq > self._newest:
                self._lines[line.seq] = line
                self._newest = line.seq
        answer = view.pages.take(self._read_id)
        if answer is not None:
            self._are_read = True
            if isinstance(answer, StreamLines):
                self._lines |= {line.seq: line for line in answer.lines}
        elif not self._are_read and not view.pages.awaits(self._read_id):
            self._read_id = f"goal-lines-{next(_ids)}"
            view.pages.expect(self._read_id)
            wanted = limits.STREAM_LINES
            self.tower.send(StreamRead(self._read_id, GOALS_STREAM, goal.session_id, wanted))
        return len(self._lines) != before

    def _read_turns(self, view: View, goal: Goal) -> None:
        """Ask for the steps of turns of which only the heads are here."""
        unread = [
            turn.number
            for _key, turn in turns_between(view, goal)
            if not turn.is_whole
            and turn.number not in self._asked
            and not view.is_turn_awaited(goal.session_id, turn.number)
        ]
        if unread:
            self._asked.update(unread)
            read_id, newest = f"goal-turns-{next(_ids)}", unread[-1]
            numbers = range(unread[0], newest + 1)
            view.expect_turns(read_id, goal.session_id, numbers)
            self.tower.send(TurnsRead(read_id, goal.session_id, newest + 1, len(numbers)))

    def refused(self, error: Error) -> bool:
        """What an ended session has is in its records alone: the rest is shown."""
        is_own_read = error.reply_to == "stream.read" and error.id == self._read_id
        return is_own_read or error.reply_to == "goals.read" or super().refused(error)

    # What is opened

    def on_table_opened(self, event: Table.Opened) -> None:
        event.stop()
        if self._is_traced:
            return
        key = event.key
        if key.startswith(_CRITERION):
            self._open_criterion(key.removeprefix(_CRITERION))
        elif key.startswith(_POINTER):
            self._open_pointer(key)
        elif key.startswith(LINE):
            self._open_line(int(key.removeprefix(LINE)))
        elif steps.place_of(self.tower.view, key) is not None:
            self.app.push_screen(Sheet(StepDetail(key, partial(self._shown, _is_step))))
        else:
            self.app.push_screen(Sheet(TurnDetail(key, partial(self._shown, _is_turn))))

    def _shown(self, fits: Callable[[View, str], bool]) -> list[str]:
        view = self.tower.view
        keys = (row.key for row in self.query_one(Table).rows if row.key.startswith("["))
        return [key for key in keys if fits(view, key)]

    def _open_criterion(self, criterion_id: str) -> None:
        self.app.push_screen(Sheet(CriterionDetail(self, criterion_id)))

    def _open_pointer(self, key: str) -> None:
        """Open the step that a verdict rests on, or the line; else all of the criterion."""
        number, _, criterion_id = key.removeprefix(_POINTER).partition(" ")
        criteria = self._goal.criteria if self._goal is not None else []
        one = next((one for one in criteria if one.id == criterion_id), None)
        if one is None or one.verdict is None or int(number) >= len(one.verdict.pointers):
            return
        uri = one.verdict.pointers[int(number)].uri
        call_id = uri.removeprefix("call:")
        if call_id in self._steps_of and call_id != uri:
            self.app.push_screen(Sheet(StepDetail(self._steps_of[call_id], alone)))
        elif call_id != uri and self.tower.view.call(call_id) is not None:
            self.app.push_screen(Sheet(CallDetail(call_id)))
        elif not self._opened_stream_line(uri):
            self._open_criterion(criterion_id)

    def _opened_stream_line(self, uri: str) -> bool:
        stream, _, seq = uri.rpartition("#")
        goal, view = self._goal, self.tower.view
        if goal is None or not (seq.isascii() and seq.isdigit()):
            return False
        ring = view.rings.get((goal.session_id, stream))
        line = ring.line(int(seq)) if ring is not None else None
        if line is not None:
            name = view.session_name(goal.session_id)
            self.app.push_screen(Sheet(LineDetail(line, stream=stream, session=name)))
        return line is not None

    def _open_line(self, seq: int) -> None:
        goal, line = self._goal, self._lines.get(seq)
        if goal is None or line is None:
            return
        own = [one for one, _kind in lines_of(goal, self._lines.values())]
        own.sort(key=lambda one: one.seq)
        name = self.tower.view.session_name(goal.session_id)
        screen = LineDetail(line, stream=GOALS_STREAM, session=name, lines=lambda: own)
        self.app.push_screen(Sheet(screen))

    # What is ordered

    @property
    def orders(self) -> GoalOrders | None:
        """The orders about it; None once it is gone."""
        goal = self.tower.view.state.goals.get(self.key)
        return None if goal is None else GoalOrders(self.tower, goal)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action in ("goal", "stop", "actions"):
            orders = self.orders
            if orders is None:
                return False
            return bool(orders.actions()) if action == "actions" else orders.may(action, parameters)
        return super().check_action(action, parameters)

    def row_actions(self) -> list[RowAction]:
        orders = self.orders
        return [] if orders is None else orders.actions()

    def action_actions(self) -> None:
        name = self._goal.title if self._goal is not None else ""
        self.app.push_screen(ActionsScreen(name, self.row_actions()))

    def action_goal(self, order: str) -> None:
        if self.orders is not None:
            self.orders.order(order)

    def action_stop(self) -> None:
        self.action_goal("drop")

    def action_trace(self) -> None:
        self._is_raw = False
        super().action_trace()

    def action_raw(self) -> None:
        self._is_raw, self._is_traced = not self._is_raw, False
        self.reader.scroll_to(y=0, animate=False)
        self.show_anew()
        self.focus_inside()


def _is_step(view: View, key: str) -> bool:
    return steps.place_of(view, key) is not None


def _is_turn(view: View, key: str) -> bool:
    return not _is_step(view, key)


def _facts(view: View, goal: Goal) -> list[Paragraph]:
    opened = f"by {OPENER_WORDS[goal.opened_by]}, {times.date_and_time(goal.opened_at)}"
    opened += f", in turn {goal.turn}" if goal.turn is not None else ""
    closed = closed_words(goal, partial(times.when, now=view.now))
    if closed:
        closed = f"{closed}; {closer_words(goal)}"
    by = f"{OPENER_WORDS[goal.note_by]}: " if goal.note_by is not None else ""
    return [
        *fact("session", view.session_name(goal.session_id)),
        *fact("opened", opened),
        *fact("agent", goal.agent),
        *fact("send back", back_words(goal) if goal.criteria else None),
        *fact("deadline", times.date_and_time(goal.deadline) if goal.deadline else None),
        *fact("budget", _budget(goal)),
        *fact(marks.GOAL[goal.status].word, closed or None),
        *fact("note", f"{by}“{goal.note}”" if goal.note else None),
    ]


def back_words(goal: Goal) -> str:
    """Return whether the agent is sent back for a goal, and how often it was: `on  1 of 3 ↑38k`."""
    return "  ".join(filter(None, ("on" if goal.unproven == "send back" else "off", sent(goal))))


def sent(goal: Goal) -> str:
    """Return how often the agent was sent back in its turn, and what it used since, in all."""
    used = f"↑{rate(goal.sent_back.tokens)}" if goal.sent_back.tokens else ""
    return " ".join(filter(None, (sent_back_words(goal), used)))


def _budget(goal: Goal) -> str | None:
    budget = goal.budget
    if budget is None:
        return None
    turns = quantity(budget.turns, "turn") if budget.turns is not None else ""
    tokens = f"{budget.tokens:,} tokens" if budget.tokens is not None else ""
    return ", ".join(filter(None, (turns, tokens))) or None


def _criterion(one: GoalCriterion, *, is_open: bool) -> Row:
    mark = marks.CRITERION[criterion_mark(one)]
    tone = "warning" if one.changed and is_open else mark.tone
    words = Cell(criterion_words(one), tone)
    text = Cell(one_line(one.text), "", mark.glyph, mark.tone)
    return Row(f"{_CRITERION}{one.id}", (text, words, Cell("")))


def _pointers(view: View, one: GoalCriterion, steps_of: dict[str, str]) -> Iterator[Row]:
    pointers = one.verdict.pointers if one.verdict is not None else []
    for number, pointer in enumerate(pointers):
        at = times.moment(pointer.ts) if pointer.ts else ""
        words = _pointer_words(view, pointer, steps_of)
        yield Row(
            f"{_POINTER}{number} {one.id}",
            (
                Cell(words, "muted", lead=(("    ", ""),)),
                Cell(pointer.provenance, "muted"),
                Cell(at, "muted"),
            ),
        )


def _pointer_words(view: View, pointer: Pointer, steps_of: dict[str, str]) -> str:
    key = steps_of.get(pointer.uri.removeprefix("call:"))
    place = steps.place_of(view, key) if key is not None else None
    if place is None:
        return f"{pointer.kind}  {pointer.uri}"
    folder = view.folder_of(place.turn.session_id)
    return f"{steps.label_of(place.step)}  {steps.step_words(place.step, folder)}"


def _steps_of_calls(view: View, goal: Goal) -> dict[str, str]:
    """Return the steps that verdicts rest on, by their calls."""
    wanted = call_ids(goal)
    found: dict[str, str] = {}
    for key, turn in steps.keyed_turns(view, goal.session_id) if wanted else ():
        if any(step.call_id in wanted for step in turn.all_steps()):
            for step_key, place in steps.keyed_steps(key, turn):
                if place.step.call_id in wanted:
                    found.setdefault(place.step.call_id or "", step_key)
    return found


class CriterionDetail(DetailView):
    """A criterion of a goal, whole; `key` is its id. Where what its check does was changed,
    that is shown, and Enter lets it count."""

    SIGNS = marks.signs(*marks.CRITERION.values())

    TOPICS = frozenset({"sessions"})
    REVEALS = True
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "allow", "let the change count", key_display="Enter")
    ]

    def __init__(self, whole: GoalDetail, key: str) -> None:
        super().__init__(key, self._criteria)
        self._whole = whole

    def _criteria(self) -> list[str]:
        goal = self._whole.goal
        return [one.id for one in goal.criteria] if goal is not None else []

    @property
    def _criterion(self) -> GoalCriterion | None:
        goal = self._whole.goal
        found = goal.criteria if goal is not None else []
        return next((one for one in found if one.id == self.key), None)

    def show(self, view: View, dirty: frozenset[str]) -> None:
        """Paint its present state; once it is gone, the last one."""
        del view, dirty
        goal, one = self._whole.goal, self._criterion
        if goal is None or one is None:
            return
        mark = marks.CRITERION[criterion_mark(one)]
        self.set_frame(mark, one_line(one.text), mark.word)
        self.reader.set_parts(_criterion_parts(goal, one, is_asked=self._may_allow()))
        self.refresh_bindings()

    def _may_allow(self) -> bool:
        one, orders = self._criterion, self._whole.orders
        return one is not None and bool(one.changed) and orders is not None and orders.can("verify")

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action == "allow":
            return self._may_allow()
        return super().check_action(action, parameters)

    def action_allow(self) -> None:
        one, orders = self._criterion, self._whole.orders
        if one is None or orders is None:
            return
        if not self.tower.typed.is_alone:
            self.tower.notify("Pressed with other keys, so it does not count.", severity="warning")
        elif not self.reader.was_read:
            below = quantity(self.reader.lines_below, "line")
            self.tower.notify(f"Read it to its end first: {below} below.", severity="warning")
        else:
            orders.allow(one)


def _criterion_parts(goal: Goal, one: GoalCriterion, *, is_asked: bool) -> list[Paragraph]:
    check = readable(msgspec.json.decode(encode(one.check))) if one.check is not None else ""
    by = f"by {OPENER_WORDS[one.by]}"
    parts = [
        *fact("goal", goal.title),
        *fact("given", by),
        *fact("stands", criterion_words(one)),
        Paragraph(""),
        title("criterion"),
        value(one.text),
        Paragraph(""),
        title("check"),
        value(check or ("it is being read …" if goal.is_cut else "none: only you can say that")),
    ]
    pointers = one.verdict.pointers if one.verdict is not None else []
    if pointers:
        parts += [Paragraph(""), title("it rests on")]
        for pointer in pointers:
            at = times.date_and_time(pointer.ts) if pointer.ts else ""
            words = (f"{pointer.kind} {pointer.uri}", pointer.provenance, at, pointer.sha256 or "")
            parts.append(value("  ".join(filter(None, words))))
    if not one.changed:
        return parts
    parts += [Paragraph(""), title("what its check does was changed since the goal was opened")]
    for file in one.changed:
        parts.append(Paragraph(" ".join(file.path.split()), "strong"))
        parts += (
            changes(file.diff, file.path)
            if file.diff
            else [value("its lines are not shown", "warning")]
        )
    if any(not file.diff or file.diff.endswith("…") for file in one.changed):
        parts.append(
            Paragraph("Not all of the change is shown: look at the files, too.", "warning")
        )
    if is_asked:
        keys = "Enter lets exactly this change count    Esc back"
        parts += [Paragraph(""), Paragraph(keys, "muted")]
    return parts
