"""One session, what happened in it, and what it used by model and by turn."""

from collections import Counter
from collections.abc import Sequence
from functools import partial

from rich.cells import cell_len

from tapui import times
from tapui.projection.approvals import by_whom
from tapui.projection.change_marks import LiveMarks
from tapui.projection.changed_files import NOT_WATCHED, file_name, line_counts, writer_words
from tapui.projection.goal_words import criteria_words
from tapui.projection.now import now_of
from tapui.projection.paragraphs import Paragraph, title, value
from tapui.projection.proof import (
    record_of,
    says_words,
    session_recorded_words,
    waits_for_shell,
)
from tapui.projection.requests.permissions import by_rule, rule_name
from tapui.projection.state import model_words, subagent_name
from tapui.projection.summary import within
from tapui.projection.turns import usage as used
from tapui.projection.turns.session import LiveTurns
from tapui.projection.turns.turn import files_of
from tapui.projection.words import (
    CONTEXT_HIGH,
    account_words,
    asks_there_words,
    became,
    context_parts_words,
    context_share,
    context_words,
    ledger_words,
    mode_words,
    model_wait_words,
    order_words,
    permission_words,
    quota_words,
    refused_mode,
    todo_words,
    tools_that_wait,
    warning_words,
)
from tapui.text import safe_text
from tapui.tower.app.view import View
from tapui.tower.calls.bodies import data_of
from tapui.tower.calls.call_detail import last_lines, newest_command
from tapui.tower.requests.request_detail import request_parts
from tapui.tower.requests.urgency import requests
from tapui.tower.requests.waiting_band import answered_row
from tapui.tower.table.columns import fit
from tapui.tower.textual.detail import DetailView, fact
from tapui.tower.turns import steps
from tapui.tower.wording import marks
from tapui.tower.wording.words import budget_words, name_of, quantity, sparkline
from tapui.wire import subjects
from tapui.wire.changes import ChangedFile
from tapui.wire.subjects import YOU
from tapui.wire.turns import Usage

_NAME, _TOKENS, _ANSWERS = 24, 13, 11
_PROMPT = 40
OTHER = "other models"


class UsageDetail(DetailView):
    """`key` is a session's id."""

    TOPICS = frozenset({"sessions", "life", "calls"})

    def show(self, view: View, dirty: frozenset[str]) -> None:
        del dirty
        session = view.state.sessions.get(self.key)
        if session is None:
            return
        turns = view.state.turns.get(session.id) or LiveTurns(session.id)
        whole = turns.used()
        mark = marks.SESSION[session.state]
        name = f"What {session.label or session.id} used"
        self.set_frame(mark, name, steps.tokens(whole) or "nothing yet")
        cached = f"{whole.cache_read:,} read, {whole.cache_write:,} written"
        parts = [
            *fact("model", session.model),
            *fact("context", context_words(session.context)),
            *fact("budget", budget_words(session.budget) if session.budget else None),
            *fact("tokens", tokens_words(whole)),
            *fact("cache", cached if whole.cache_read or whole.cache_write else None),
            *fact("charged", charged_words(whole)),
            *fact("sent back", _sent_back(turns)),
        ]
        if turns.models:
            parts += [Paragraph(""), title("by model")]
            parts += [value(_model(model, one)) for model, one in _most_first(turns.models)]
        of_turns = [turn for turn in reversed(turns.turns) if turn.usage != Usage()]
        if of_turns:
            parts += [Paragraph(""), title("by turn, the newest first")]
        for turn in of_turns:
            prompt = fit(_one_line(turn.prompt), _PROMPT)
            head = f"{turn.number:>4}  {times.moment(turn.started_at)}  {prompt}  "
            parts.append(value(head + _figures(turn.usage)))
        self.reader.set_parts(parts)


def tokens_words(usage: Usage) -> str | None:
    """Return what was read and written; None for nothing."""
    if usage == Usage():
        return None
    answers = f", {quantity(usage.calls, 'answer')}" if usage.calls else ""
    return f"{usage.input:,} in, {usage.output:,} out{answers}"


def _waited(turns: LiveTurns, now: float) -> str | None:
    """Return how long the newest turn waited for the person, and how long it took."""
    time = None if turns.latest is None else steps.time_of_turn(turns.latest, now)
    return None if time is None else time.words


def _sent_back(turns: LiveTurns) -> str | None:
    """Return what turns used after their agent was sent back; None where it never was."""
    found = [turn for turn in turns.turns if turn.sent_back]
    if not found:
        return None
    words = tokens_words(used.total(turn.again for turn in found)) or "nothing since"
    return f"{words}, of {quantity(len(found), 'turn')}"


def charged_words(usage: Usage, *, is_brief: bool = False) -> str:
    """Return cost, premium requests and credits, as far as they are known."""
    premium = "premium" if is_brief else "premium requests"
    words = []
    if usage.cost is not None:
        words.append(f"cost {usage.cost:g}")
    if usage.requests is not None:
        words.append(f"{usage.requests:g} {premium}")
    if usage.credits is not None:
        words.append(f"{usage.credits:g} credits")
    return ", ".join(words)


def _most_first(models: used.Used) -> list[tuple[str, Usage]]:
    return sorted(models.items(), key=lambda item: -used.tokens(item[1]))


def _model(name: str, usage: Usage) -> str:
    return f"{fit(_one_line(name) or OTHER, _NAME)}  {_figures(usage)}"


def _figures(usage: Usage) -> str:
    answers = quantity(usage.calls, "answer") if usage.calls else ""
    charged = charged_words(usage, is_brief=True)
    return f"{fit(steps.tokens(usage), _TOKENS)} {fit(answers, _ANSWERS)} {charged}".rstrip()


def _one_line(text: str) -> str:
    return safe_text(" ".join(text.split()))


SHOWN_EVENTS = 60
SHOWN_ORDERS = 8
SHOWN_FILES = 5
SHOWN_ANSWERS = 8
_RULES = 3
"""Rules that are named with how often they answered."""
_FILE = 40
"""Cells of a file's name."""
_LINES = 6
"""Lines of its newest command that a session's detail shows."""


class SessionDetail(DetailView):
    """A session's facts, then its own events, newest first."""

    SIGNS = marks.signs(*marks.SESSION.values(), *marks.PROOF.values(), marks.SHELL_RUNS)

    TOPICS = frozenset({"sessions", "providers", "life", "approvals", "calls", "changes", "clock"})

    _output: Sequence[Paragraph] = ()
    """The last lines of its newest command."""

    @property
    def step_key(self) -> tuple[str, str]:
        return self.key, ""  # no step: the session

    def show(self, view: View, dirty: frozenset[str]) -> None:
        session = view.state.sessions.get(self.key)
        if session is None:
            return
        age = times.lasting(times.since(session.opened_at, view.now))
        name = view.session_name(session.id)
        turns = view.state.turns.get(session.id) or LiveTurns(session.id)
        record = record_of(view.state, session)
        mark = marks.SESSION[session.state] if record is None else marks.of_record(record)
        if record is None and waits_for_shell(view.state, session):
            mark = marks.SHELL_RUNS
        self.set_frame(mark, name, f"{mark.word}, open for {age}")
        command = newest_command(view, session.id)
        shown = [] if command is None else last_lines(self.tower.bodies, command, _LINES)
        is_anew = shown != self._output
        self._output = shown
        if not is_anew and not dirty - {"calls", "clock"}:
            return
        known = [view.state.providers.get(one) for one in session.providers]
        providers = [one for one in known if one is not None]
        actions = self.tower.key_of("actions")
        clock, names = partial(times.when, now=view.now), f"{actions} v"
        says = next((one for one in reversed(turns.turns) if one.says), None)
        asked = [one.approval for one in requests(view) if one.approval.session_id == session.id]
        parts = [*request_parts(self.tower, asked[0]), Paragraph("")] if asked else []
        tone = "muted" if record is None else mark.tone
        changed = _changed(view, session, turns)
        mends = []
        if record is not None and record.mark in ("unchecked", "failed"):
            mends += [f"{actions} v  run its check here", f"{actions} r  send it back"]
        if changed:
            mends.append("7  changes")
        context = _with(context_words(session.context), _contexts(view, session))
        is_high = (share := context_share(session.context)) is not None and share >= CONTEXT_HIGH
        compacts = f"   {actions} k  compact" if is_high and "compact" in session.can else ""
        does = now_of(view.state, session.id)
        shells = ""
        if does is not None and does.kind == "shell":
            shells = f"{does.text}, since {clock(does.since)}"
        parts += [
            *fact("says", says_words(says), ""),
            *fact("recorded", session_recorded_words(turns, clock, names), tone),
            *fact("", "   ".join(mends), ""),
            *changed,
            *fact("ledger", ledger_words(view.state, session.id, clock)),
            *fact("waits", asks_there_words(session) or model_wait_words(session)),
            *fact("waits", shells),
            *fact("todo", todo_words(session)),
            *fact("waited", _waited(turns, view.now)),
            *fact("lately", _lately(view, session)),
            *fact("warning", warning_words(session, clock)),
            *fact("folder", session.cwd),
            *fact("branch", self.tower.heads.of(session.cwd).branch),
            *fact("mode", mode_words(view.state, session)),
            *fact(
                "permission",
                permission_words(session),
                "error" if session.permissions == "allow-all" else "",
            ),
            *fact("mode refused", refused_mode(view.state, session)),
            *fact("model", model_words(session)),
            *fact("context", context and f"{context}{compacts}", marks.context_tone(share)),
            *fact("filled by", context_parts_words(session.context)),
            *fact("account", account_words(session.account)),
            *fact("quota", quota_words(session, clock)),
            *fact("used", _with(_used(view, session), _tokens_of_turns(turns))),
            *fact("providers", ", ".join(one.name for one in providers)),
            *fact("tools", tools_that_wait(view.state, session)),
            *fact("reason", session.reason),
            *fact("host", session.host),
            *fact("runs", _headless(session)),
            *fact("program", session.program),
            *fact("id", session.id),
            *fact("workspace", session.workspace),
        ]
        parts += [Paragraph(""), *self._output] if self._output else []
        parts += _goals(view, session)
        parts += _answers(view, session)
        parts += _subagents(view, session)
        parts += _wanted(providers)
        parts += _ordered(view, session)
        life = list(view.life.get(session.id, ()))[-SHOWN_EVENTS:]
        parts += [
            Paragraph(""),
            title("events" if life else "Nothing has happened since tapui attached"),
        ]
        for one in reversed(life):
            data = data_of(one)
            parts.append(
                Paragraph(f"{times.moment(one.ts)}  {' '.join(one.event.split())}", "primary")
            )
            if data is not None:
                parts.append(value(data))
        self.reader.set_parts(parts)


_BARS = 24
"""Turns, or changes of the context, that have a bar each at most."""


def _changed(view: View, session: subjects.Session, turns: LiveTurns) -> list[Paragraph]:
    """Return the files that it changed, the newest first: as its folder was read last, else as its
    turns tell it."""
    read = view.changed.get(session.id)
    if read is not None:
        seen = view.state.marks.get(session.id) or LiveMarks()
        newest = sorted(read.files, key=lambda one: one.by[0].at if one.by else "", reverse=True)
        lines = [_file_line(view, session, one, seen) for one in newest[:SHOWN_FILES]]
        count = len(read.files) + read.more
    else:
        known, count = files_of(turns.turns)
        shown = list(known.values())[: -SHOWN_FILES - 1 : -1]
        lines = [
            (within(one.path, session.cwd), steps.lines_changed(one.added, one.removed))
            for one in shown
        ]
    width = min(max((cell_len(name) for name, _ in lines), default=0), _FILE)
    texts = [f"{fit(name, width, cuts_middle=True)}  {about}".rstrip() for name, about in lines]
    if count > len(lines):
        texts.append(f"and {count - len(lines):,} more")
    return [line for at, text in enumerate(texts) for line in fact("" if at else "changed", text)]


def _file_line(
    view: View, session: subjects.Session, file: ChangedFile, seen: LiveMarks
) -> tuple[str, str]:
    newest = file.by[0] if file.by else None
    words = (
        " ".join(filter(None, line_counts(file))),
        NOT_WATCHED if newest is None else writer_words(newest),
        times.when(newest.at, view.now) if newest is not None and newest.at else "",
        "seen" if seen.has_seen(file) else "not seen",
    )
    return file_name(file, session.cwd), "   ".join(filter(None, words))


def _settled(view: View, session: subjects.Session) -> list[subjects.Approval]:
    return [one for one in view.decided if one.session_id == session.id]


def _lately(view: View, session: subjects.Session) -> str:
    """Return how often rules and the person answered it, as far as the tower keeps answers."""
    rules = Counter[str]()
    yours = Counter[str]()
    for one in _settled(view, session):
        if by_rule(one):
            rules[rule_name(one.rule)] += 1
        elif by_whom(one.decided_by or "") == YOU:
            yours[one.state] += 1
    words = [f"{name} {count}×" for name, count in rules.most_common(_RULES)]
    if yours:
        words.append(f"you allowed {yours['approved']}, denied {yours['denied']}")
    return "   ".join(words)


def _answers(view: View, session: subjects.Session) -> list[Paragraph]:
    """Return how its last requests were answered, the newest first."""
    settled = _settled(view, session)
    if not settled:
        return []
    lines = []
    for one in settled[:SHOWN_ANSWERS]:
        when, outcome, _name, about = (cell.text for cell in answered_row(view, one).cells)
        lines.append(value("  ".join(filter(None, (when, outcome, about)))))
    if more := len(settled) - len(lines):
        lines.append(value(f"{more:,} more: :answers"))
    return [Paragraph(""), title("answers"), *lines]


def _with(words: str | None, bars: str) -> str | None:
    return f"{bars}  {words}" if words and bars else words


def _tokens_of_turns(turns: LiveTurns) -> str:
    """Return a bar for the tokens of each of the last turns; "" for one alone."""
    spent = [float(used.tokens(one.usage)) for one in turns.turns[-_BARS:]]
    return sparkline(spent, _BARS) if len(spent) > 1 else ""


def _contexts(view: View, session: subjects.Session) -> str:
    """Return bars for how full the context was, a whole one for where it is compacted; "" where
    tapui has not seen it change."""
    use, seen = session.context, list(view.contexts.get(session.id, ()))
    if use is None or len(seen) < 2:
        return ""
    return sparkline([float(one) for one in seen[-_BARS:]], _BARS, top=use.compacts_at or use.limit)


def _used(view: View, session: subjects.Session) -> str | None:
    turns = view.state.turns.get(session.id)
    if turns is None:
        return None
    whole = turns.used()
    words = (tokens_words(whole), charged_words(whole))
    return ", ".join(one for one in words if one) or None


def _goals(view: View, session: subjects.Session) -> list[Paragraph]:
    """Return its open goals, each with how many of its criteria have passed."""
    found = [one for one in view.state.goals_of(session.id) if one.is_open]
    if not found:
        return []
    lines = []
    for goal in found:
        back = "sends back" if goal.unproven == "send back" else ""
        mark = marks.GOAL[goal.status]
        words = (f"{mark.glyph} {goal.title}", criteria_words(goal), back)
        lines.append(value("   ".join(filter(None, words))))
    return [Paragraph(""), title("open goals"), *lines]


def _subagents(view: View, session: subjects.Session) -> list[Paragraph]:
    """Return its subagents, newest first: how each stands, how full it is, what it used."""
    turns = view.state.turns.get(session.id)
    of_agent = {
        step.agent: step
        for turn in (turns.turns if turns is not None else ())
        for step in turn.steps
        if step.kind == "subagent"
    }
    parts: list[Paragraph] = []
    if session.subagents:
        parts += [Paragraph(""), title("subagents")]
    for one in reversed(session.subagents):
        step = of_agent.get(one.id)
        words = (
            f"{times.moment(one.started_at)}  {' '.join(subagent_name(one).split())}",
            "" if subagent_name(one).casefold() == one.agent.casefold() else f"({one.agent})",
            _state_of(one),
            f"context {context_words(one.context)}" if one.context is not None else "",
            quantity(step.calls, "call") if step is not None else "",
            steps.tokens(step.usage) if step is not None else "",
            f"“{step.summary}”" if step is not None and step.summary else "",
        )
        parts.append(value("  ".join(word for word in words if word)))
    return parts


def _headless(session: subjects.Session) -> str:
    if not session.headless:
        return ""
    by = f", started by {by_whom(session.started_by)}" if session.started_by else ""
    unattended = ", unattended" if session.unattended else ""
    return f"headless{by}{unattended}"


def _ordered(view: View, session: subjects.Session) -> list[Paragraph]:
    orders = [one for one in view.state.orders.values() if one.session_id == session.id]
    parts: list[Paragraph] = []
    if orders:
        parts += [Paragraph(""), title("what you ordered")]
    for order in orders[-SHOWN_ORDERS:][::-1]:
        outcome = f"{order_words(order)}: {became(order)}"
        parts.append(value(f"{times.moment(order.at)}  {' '.join(outcome.split())}"))
    return parts


def _wanted(providers: list[subjects.Provider]) -> list[Paragraph]:
    """Return what providers add to prompts, and who changes which section, in their order."""
    parts: list[Paragraph] = []
    contexts = [one for one in providers if one.context]
    if contexts:
        parts += [Paragraph(""), title("context in force")]
        for one in contexts:
            parts += [Paragraph(f"from {' '.join(name_of(one).split())}", "primary")]
            parts += [value(one.context or "")]
    changes = [
        f"{section}: {action} by {name_of(one)}"
        for one in providers
        for section, action in one.sections.items()
    ]
    if changes:
        parts += [Paragraph(""), title("sections of the system prompt")]
        parts += [value(" ".join(change.split())) for change in changes]
    return parts


def _state_of(subagent: subjects.Subagent) -> str:
    if subagent.state != "failed":
        return subagent.state
    return f"failed: {' '.join(subagent.error.split())}" if subagent.error else "stopped or failed"
