"""The emitters: commands and prompts that run beside sessions, and the outcome of their lines."""

from collections.abc import Callable
from functools import partial
from itertools import count
from typing import ClassVar

from textual.binding import BindingType

from tapui import invocation, times
from tapui.tower.app.tower import RowAction
from tapui.tower.app.view import View
from tapui.tower.emitters import emitter_words as words
from tapui.tower.keys.bindings import bindings
from tapui.tower.table.columns import Cell, Column, Row, heading
from tapui.tower.table.table import Table
from tapui.tower.table.table_pane import TablePane
from tapui.tower.textual.detail import DetailView
from tapui.tower.textual.sheet import confirm
from tapui.tower.wording import marks
from tapui.tower.wording.words import rate
from tapui.wire.emitters import (
    Emitter,
    EmitterKeep,
    EmitterPause,
    EmitterResume,
    EmitterRun,
    EmitterStart,
    EmitterStop,
    FileProblem,
    Injector,
)
from tapui.wire.subjects import Span
from tapui.wire.tower import InjectsResume

EXAMPLE = (
    '{ "emitters": [ {',
    '    "name": "tests",',
    '    "command": "npm test -- --watch",',
    '    "eventFilter": [{ "match": "fail", "outcome": "inject" }]',
    "} ] }",
)


_RECENT_RUNS = 10
_RUN = "run "
"""Before the span's and the emitter's id, in the key of a run's row."""


class EmittersPane(TablePane):
    """Emitters of the folders' files, and those that agents have started."""

    SIGNS = marks.signs(*marks.EMITTER.values(), marks.Mark("↻", "retries", ""))

    TOPICS = frozenset({"emitters", "sessions", "clock"})
    HELP = """\
An emitter is a command or a prompt that runs beside a session: all the time, on a schedule, or when
the session is idle. A filter decides what becomes of each line of its output: dropped, kept in
its stream, also shown to you, or also sent to the agent. Held ones would have been sent, and the
stream's injector is disabled. They are written in `tap.config.json` of the session's folder, and
nothing of it runs before you have allowed it. `retries`: the last run failed, the next one is due.
"""
    BINDINGS: ClassVar[list[BindingType]] = bindings(
        "stop", "emitter-run", "emitter-pause", "emitter-filter", "emitter-lines"
    )
    COLUMNS = (
        Column("emitter", 12, 40, cuts_middle=True),
        Column("state", 8, 12, rank=1, stays=True),
        Column("schedule", 9, 12, rank=3, is_spare=True),
        Column("next", 6, 7, rank=2, right=True),
        Column("last run", 8, 32, rank=4, is_spare=True),
        Column("lines/s", 7, 7, rank=8, is_spare=True, right=True),
        Column("kept", 4, 6, rank=6, is_spare=True, right=True),
        Column("to agent", 8, 8, rank=5, is_spare=True, right=True),
        Column("held", 4, 6, rank=7, is_spare=True, right=True),
        Column("whose", 8, 20, rank=9, is_spare=True, is_common=True, cuts_middle=True),
        Column("runs", 12, rank=10, is_spare=True, grows=True),
    )

    def __init__(self) -> None:
        super().__init__()
        self._ids = count(1)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action in ("stop", "run_now", "pause", "edit_filter", "lines"):
            return self._emitter(action) is not None
        return super().check_action(action, parameters)

    def _can(self, emitter: Emitter) -> set[str]:
        can: set[str] = set()
        if words.stream_key(emitter) in self.tower.view.state.streams:
            can.add("lines")
        if self.tower.is_replay:
            return can
        if not words.is_active(emitter) or emitter.state in ("waiting", "paused"):
            can.add("run_now")
        if emitter.state in ("queued", "waiting", "running", "paused"):
            can.add("pause")
        if words.is_active(emitter) and emitter.state != "stopping":
            can.add("stop")
        if emitter.source == "tool":
            can.add("keep")
        if not words.is_prompt(emitter) and emitter.kind != "provider":
            can.add("edit_filter")
            if emitter.source == "file":
                can.add("injector")
        if emitter.braked:
            can.add("resume")
        if emitter.approval_id in self.tower.view.state.approvals:
            can.add("answer")
        return can

    @property
    def subject(self) -> str:
        emitter = self._emitter()
        return emitter.name if emitter is not None else ""

    def row_actions(self) -> list[RowAction]:
        emitter = self._emitter()
        if emitter is None:
            return []
        can = self._can(emitter)
        is_paused = emitter.state == "paused"
        run = "run it now" if words.is_active(emitter) else "start it"
        actions: list[tuple[str, str, str, Callable[[], None]]] = [
            ("answer", "a", "answer: it asks whether it may start", self.open_shown),
            ("run_now", "r", run, self.action_run_now),
            ("pause", "p", "go on" if is_paused else "pause it", self.action_pause),
            ("edit_filter", "f", "edit its filter", self.action_edit_filter),
            ("lines", "l", "its lines, in Streams", self.action_lines),
            ("resume", "h", "send the lines of it that are held", partial(self._resume, emitter)),
            ("injector", "j", _injector_words(emitter), partial(self._switch_injector, emitter)),
            (
                "keep",
                "k",
                "keep it: write it into the folder's file …",
                partial(self._keep, emitter),
            ),
            ("stop", "x", "stop it", self.action_stop),
        ]
        return [RowAction(letter, does, act) for what, letter, does, act in actions if what in can]

    def on_table_opened(self, event: Table.Opened) -> None:
        event.stop()
        self.open_shown()

    def shown(self) -> DetailView | None:
        """An emitter, that of a run, or the request whether it may start."""
        if self.selected.startswith(_RUN):
            from tapui.tower.emitters.emitter_detail import EmitterDetail

            return EmitterDetail(self.selected.removeprefix(_RUN).partition(" ")[2])
        emitter = self.tower.view.state.emitters.get(self.selected)
        if emitter is None:
            return None
        if (
            emitter.approval_id is not None
            and emitter.approval_id in self.tower.view.state.approvals
        ):
            from tapui.tower.requests.request_detail import RequestDetail

            return RequestDetail(emitter.approval_id)
        from tapui.tower.emitters.emitter_detail import EmitterDetail

        return EmitterDetail(self.selected, self.shown_keys)

    def action_run_now(self) -> None:
        emitter = self._emitter("run_now")
        if emitter is None:
            return
        if words.is_active(emitter):
            self.tower.send(EmitterRun(emitter_id=emitter.id))
        else:
            self.tower.send(EmitterStart(emitter_id=emitter.id))

    def action_pause(self) -> None:
        emitter = self._emitter("pause")
        if emitter is None:
            return
        if emitter.state == "paused":
            self.tower.send(EmitterResume(emitter_id=emitter.id))
        else:
            self.tower.send(EmitterPause(emitter_id=emitter.id))

    def action_stop(self) -> None:
        emitter = self._emitter("stop")
        if emitter is None:
            return
        is_running = emitter.state == "running" and not words.is_prompt(emitter)
        lines = [
            words.text_of(emitter),
            "What it runs is ended." if is_running else "It runs no more.",
            f"It stays here, and {self.tower.key_of('emitter-run')} starts it again.",
        ]
        stop = EmitterStop(emitter_id=emitter.id)
        confirm(self.app, f"Stop {emitter.name}?", lines, "stop", lambda: self.tower.send(stop))

    def action_edit_filter(self) -> None:
        emitter = self._emitter("edit_filter")
        if emitter is None:
            return
        emitter = self.tower.bodies.whole(emitter)
        if emitter.is_cut:
            self.app.notify("Its rules are being read: press the key again in a moment.")
            return
        from tapui.tower.emitters.emitter_filter import EmitterFilterScreen

        self.app.push_screen(EmitterFilterScreen(emitter))

    def action_lines(self) -> None:
        emitter = self._emitter("lines")
        if emitter is not None:
            self.app.call_later(self.tower.show_stream, words.stream_key(emitter))

    def _resume(self, emitter: Emitter) -> None:
        self.tower.send(InjectsResume(provider_id=emitter.id, session_id=emitter.session_id))

    def _switch_injector(self, emitter: Emitter) -> None:
        """Let what its stream's filter injects be sent to the agent, or be held; in the file."""
        wanted: Injector = "enabled" if emitter.injector == "disabled" else "disabled"
        self.tower.send(EmitterKeep(id=self._new_id(), emitter_id=emitter.id, injector=wanted))

    def _keep(self, emitter: Emitter) -> None:
        """Write what the agent has started into the folder's file, once the person confirmed."""
        lines = [
            words.text_of(emitter),
            f"Runs {words.schedule_of(emitter)}, with each session of {emitter.folder},",
            "with your rights, and without asking again.",
        ]
        question = f"Write {emitter.name} into the folder's file?"
        keep = EmitterKeep(id=self._new_id(), emitter_id=emitter.id)
        confirm(self.app, question, lines, "write", lambda: self.tower.send(keep))

    def _new_id(self) -> str:
        return f"keep-{next(self._ids)}"

    def rows(self, view: View) -> list[Row]:
        """Return what is wrong in folders' files, the emitters, folder by folder, in the order of
        their files, and the newest runs of all of them."""
        wrong = [
            _problem(f"problem {folder} {number}", one)
            for folder, problems in view.state.folder_problems.items()
            for number, one in enumerate(problems)
        ]
        rows = wrong + [_row(view, emitter) for emitter in view.state.emitters.values()]
        runs = view.emitter_log.recent(_RECENT_RUNS)
        if len(view.state.emitters) > 1 and runs and self.order_by is None:
            rows.append(heading("recent runs", heads_rows=True))
            rows += [_run(*one) for one in runs]
        return rows

    def first_steps(self) -> list[tuple[str, str]]:
        return [
            ("No emitter. One is a command or prompt that runs beside a session;", ""),
            ("its lines are filtered: stored, shown, or sent to the agent.", ""),
            ("", ""),
            ("In tap.config.json, in the session's folder:", ""),
            *((f"  {line}", "bold $primary") for line in EXAMPLE),
            ("", ""),
            ("You are asked before it runs. More, and without this screen:", ""),
            (f"  {invocation.command('emitters')}", "bold $primary"),
        ]

    def _emitter(self, can: str = "") -> Emitter | None:
        """Return the selected emitter; with `can`, only where that can be done to it."""
        emitter = self.tower.view.state.emitters.get(self.selected)
        return emitter if emitter is None or not can or can in self._can(emitter) else None


def _injector_words(emitter: Emitter) -> str:
    if emitter.injector == "disabled":
        return "injector on: send what its filter has for the agent (in the file)"
    return "injector off: hold what its filter has for the agent (in the file)"


def _problem(key: str, problem: FileProblem) -> Row:
    """Return the row of an entry that is wrong, or of the file where it is no entry's."""
    tone = "error" if problem.is_error else "warning"
    name = problem.name or problem.key or "file"
    glyph = "✗" if problem.is_error else "!"
    return Row(
        key,
        (
            Cell(name, tone, glyph, tone),
            Cell("wrong" if problem.is_error else "warning", tone),
            *[Cell("", "")] * 8,
            Cell(str(problem), tone),
        ),
        values={0: name, 1: "wrong", 3: float("inf"), 4: 0.0, 5: 0.0, 6: 0, 7: 0, 8: 0, 9: ""},
    )


def _run(emitter_id: str, span: Span) -> Row:
    """Return the row of a run that has ended."""
    mark = words.RUN_MARKS.get(span.status, words.RUN_MARKS["ok"])
    return Row(
        f"{_RUN}{span.span_id} {emitter_id}",
        (
            Cell(f"{span.emitter or ''} {span.run or ''}", "muted", mark.glyph, mark.tone),
            Cell(mark.word, mark.tone),
            *[Cell("", "")] * 2,
            Cell(words.run_words(span), "error" if span.status == "error" else "muted"),
            *[Cell("", "")] * 5,
            Cell(" ".join((span.error or "").split()), "error"),
        ),
    )


def _row(view: View, emitter: Emitter) -> Row:
    mark = marks.of_emitter(emitter)
    counts, quiet = emitter.counts, "" if words.is_active(emitter) else "muted"
    pace = view.emitter_log.rate(emitter.id, view.now)
    is_failure = emitter.last_status in ("failure", "lost")
    last = words.last_of(view, emitter)
    return Row(
        emitter.id,
        (
            Cell(emitter.name, quiet, mark.glyph, mark.tone),
            Cell(mark.word, mark.tone),
            Cell(words.schedule_of(emitter), quiet),
            Cell(words.next_of(emitter, view.now), quiet),
            Cell(last, "error" if is_failure else "muted"),
            Cell(rate(pace) if pace else "", quiet),
            Cell(_count(counts.kept + counts.surfaced), quiet),
            Cell(_count(counts.injected), quiet),
            Cell(_count(counts.held), "strong"),
            Cell(words.whose(view, emitter), "muted"),
            Cell(" ".join(words.text_of(emitter).split()), "muted"),
        ),
        values={
            0: emitter.name,
            1: mark.word,
            3: times.epoch(emitter.next_run_at) or float("inf"),
            4: -(times.epoch(emitter.last_run_at) or 0.0),
            5: pace,
            6: counts.kept + counts.surfaced,
            7: counts.injected,
            8: counts.held,
            9: words.whose(view, emitter),
        },
    )


def _count(number: int) -> str:
    return rate(number) if number else ""
