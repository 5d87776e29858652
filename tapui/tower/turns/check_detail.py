"""Prove it now: what would run, and once the person lets it, its output and its verdict."""

from typing import ClassVar

from textual.binding import Binding, BindingType

from tapui.projection.paragraphs import Paragraph, title, value
from tapui.projection.words import OUTCOMES, plan_lines
from tapui.tower.app.tower import RowAction, Tower
from tapui.tower.app.view import View
from tapui.tower.textual.detail import DetailView
from tapui.tower.textual.dialogs import AskLineScreen
from tapui.tower.textual.sheet import Sheet, ask, confirm
from tapui.tower.turns.checks_run import CheckRunHere
from tapui.tower.wording.marks import Mark
from tapui.wire.message import Error
from tapui.wire.proving import ProofEnded
from tapui.wire.subjects import Session

_WAITS = Mark("○", "asks", "warning")
_RUNS = Mark("●", "runs", "accent")
_TONES = {"passed": "success", "failed": "error", "unknown": "muted"}


class CheckDetail(DetailView):
    """`key` is the session's id. Enter runs what is shown; nothing runs before."""

    TOPICS: ClassVar[frozenset[str]] = frozenset({"checks"})
    REVEALS = True
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "allow", "run it", key_display="Enter"),
        Binding("n", "name", "another command"),
        Binding("r", "send_back", "send it back"),
        Binding("x", "stop_check", "stop it"),
    ]

    def __init__(self, session_id: str) -> None:
        super().__init__(session_id)
        self._run: CheckRunHere | None = None

    def on_mount(self) -> None:
        self._run = self.tower.checks.order(self.key)

    def on_unmount(self) -> None:
        if self._run is not None:
            self.tower.checks.leave(self._run)

    def show(self, view: View, dirty: frozenset[str]) -> None:
        """Paint how far it is."""
        del dirty
        run = self._run
        if run is None:
            return
        name = f"Check of {view.session_name(self.key)}"
        if run.ended is not None:
            glyph, _, word = OUTCOMES[run.ended.outcome].partition(" ")
            self.set_frame(Mark(glyph, word, _TONES[run.ended.outcome]), name, word)
        elif run.began is not None:
            self.set_frame(_RUNS, name, "runs")
        else:
            self.set_frame(_WAITS, name, "not started")
        self.reader.set_parts(_parts(run))
        if run.began is not None and run.ended is None:
            self.reader.scroll_end(animate=False)
        self.refresh_bindings()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        run = self._run
        if action == "allow":
            return run is not None and run.plan is not None
        if action == "name":
            return run is not None and (run.is_over or run.plan is not None)
        if action == "send_back":
            return run is not None and run.ended is not None and run.ended.outcome != "passed"
        if action == "stop_check":
            return run is not None and run.began is not None and not run.is_over
        return super().check_action(action, parameters)

    def refused(self, error: Error) -> bool:
        return error.reply_to == "proof.run"

    def action_allow(self) -> None:
        if self._run is None:
            return
        if not self.tower.typed.is_alone:
            self.tower.notify("Pressed with other keys, so it does not count.", severity="warning")
            return
        self.tower.checks.allow(self._run)

    def action_name(self) -> None:
        """Let the person type the command; it is shown before it runs, too."""
        run = self._run
        shown = "" if run is None or run.plan is None else run.plan.command
        screen = AskLineScreen("Command that checks it, run in the session's folder", shown)
        ask(self.tower, screen, self._named)

    def _named(self, command: str) -> None:
        if self._run is not None:
            self.tower.checks.leave(self._run)
        self._run = self.tower.checks.order(self.key, command)
        self.show_anew()

    def action_send_back(self) -> None:
        session = self.tower.view.state.sessions.get(self.key)
        if session is not None:
            _send_back(self.tower, session)

    def action_stop_check(self) -> None:
        if self._run is not None:
            self.tower.checks.stop(self._run)


def _parts(run: CheckRunHere) -> list[Paragraph]:
    if run.fault:
        return [Paragraph(f"Not run: {run.fault}.", "warning"), Paragraph("n names a command.")]
    if run.plan is not None:
        command, *rest = plan_lines(run.plan)
        told = [
            Paragraph(one, "warning" if one.startswith(("of ", "not ")) else "") for one in rest
        ]
        keys = Paragraph("Enter runs it    n another command    Esc back", "muted")
        return [title("Would run"), value(command, "strong"), *told, Paragraph(""), keys]
    if run.began is None:
        return [Paragraph("Looking at the folder …", "muted")]
    parts = [value(run.began.command, "strong"), Paragraph(f"in {run.began.cwd}", "muted")]
    parts += _verdict(run.ended)
    if run.missed:
        parts.append(Paragraph(f"{run.missed:,} lines came too fast to be shown", "warning"))
    return [*parts, title("Output"), *(value(one, is_laid_out=True) for one in run.lines)]


def _verdict(ended: ProofEnded | None) -> list[Paragraph]:
    if ended is None:
        return [Paragraph("x stops it; it goes on when this sheet is closed", "muted")]
    words = f"{OUTCOMES[ended.outcome]}: {ended.text}"
    return [Paragraph(words, _TONES[ended.outcome])]


def check_actions(tower: Tower, session: Session) -> list[RowAction]:
    """Return what can be done about what a session's last turn has not proven."""
    return [
        RowAction("v", "prove it now: run its check", lambda: _prove(tower, session)),
        RowAction("r", "send it back: what is missing", lambda: _send_back(tower, session)),
    ]


def copy_action(tower: Tower, session: Session) -> RowAction:
    """Return what copies the report of a session, for others to see."""
    does = "copy what was recorded, as Markdown for a pull request"
    return RowAction("y", does, lambda: tower.proofs.order(session))


def _prove(tower: Tower, session: Session) -> None:
    tower.push_screen(Sheet(CheckDetail(session.id)))


def _send_back(tower: Tower, session: Session) -> None:
    """Ask whether the agent is to be sent what is missing; send it on *yes*."""
    name = session.label or session.id
    lines = ["It gets a prompt of yours with what was recorded of its last turn."]
    confirm(
        tower,
        f"Send {name} what is missing?",
        lines,
        "send it back",
        lambda: tower.orders.send_back(session.id),
    )
