"""The goals of all sessions: how their criteria stand, and whether the agent is sent back."""

from collections import Counter
from functools import partial
from typing import ClassVar

from textual.binding import BindingType

from tapui import invocation, times
from tapui.projection.goal_words import (
    OPENER_WORDS,
    CriterionMark,
    closed_words,
    criteria_words,
    criterion_mark,
)
from tapui.projection.state import is_local, is_open
from tapui.tower.app.tower import RowAction
from tapui.tower.app.view import View
from tapui.tower.goals.goal_detail import GoalDetail, sent
from tapui.tower.goals.goal_orders import DROPS, HELP_WORDS, GoalOrders, ask_goal
from tapui.tower.keys.bindings import bindings
from tapui.tower.table.columns import Cell, Column, Piece, Row
from tapui.tower.table.table import Table
from tapui.tower.table.table_pane import TablePane
from tapui.tower.textual.detail import DetailView
from tapui.tower.wording import marks
from tapui.wire.goals import Goal
from tapui.wire.subjects import Session

_EACH = 8
"""Criteria that have a sign each; of more the signs are counted."""
_KINDS: tuple[CriterionMark, ...] = ("passed", "unknown", "failed")
"""One for each sign, in the order of the signs."""


class GoalsPane(TablePane):
    """Goals that are open first, in the order in which they were opened, then those that were
    closed last; goals of ended sessions come after all others."""

    SIGNS = marks.signs(*marks.GOAL.values(), *marks.CRITERION.values())

    TOPICS = frozenset({"sessions", "clock"})
    HELP = """\
A goal of a session has criteria, each with a check: a command, a file, a call, lines of a stream,
or your own yes. ✓ passed, ✗ failed, ○ not judged, unknown, or changed since it passed. A goal is
achieved when all have passed at one moment, or when you say so. With *send back* on, the agent
reads what is missing when it wants to end a turn that is about the goal, three times a turn at
most. Enter shows on what each criterion rests, and the goal's timeline.
"""
    BINDINGS: ClassVar[list[BindingType]] = bindings(
        *("stop", "goal-open", "goal-send-back", "goal-verify", "goal-note", "goal-achieved"),
        offers=DROPS,
    )
    COLUMNS = (
        Column("goal", 16, grows=True, half=True),
        Column("state", 8, 56, stays=True),
        Column("criteria", 8, 24),
        Column("send back", 4, 20),
        Column("session", 10, 28, rank=1, is_common=True, cuts_middle=True),
        Column("opened by", 5, 15, rank=2, is_spare=True, is_common=True),
    )

    def rows(self, view: View) -> list[Row]:
        goals = sorted(view.state.goals.values(), key=lambda one: one.closed_at or "", reverse=True)
        goals = [
            *(one for one in view.state.goals.values() if one.is_open),
            *(one for one in goals if not one.is_open),
        ]
        goals.sort(key=lambda one: not _is_of_open(view, one))
        return [_row(view, one) for one in goals]

    def first_steps(self) -> list[tuple[str, str]]:
        if self.tower.is_replay:
            return [("No goal at this moment.", "")]
        key = self.tower.key_of("goal-open")
        return [
            (f"No goal. {key} opens one: a command that is to end with exit code 0.", ""),
            ("", ""),
            ("A goal of a session says what is to be so, and how that is checked.", ""),
            ("Its agent can be sent back until it is. All kinds of checks:", ""),
            (f"  {invocation.command(HELP_WORDS)}", "bold $primary"),
        ]

    def set_empty(self, is_empty: bool) -> None:
        """Without rows the pane itself has the keys: one of them opens the first goal."""
        super().set_empty(is_empty)
        self.can_focus = is_empty
        if not is_empty and self.has_focus:
            self.screen.set_focus(None)  # the table gets it with the next frame

    def focus_inside(self) -> None:
        if self.has_class("-empty"):
            self.screen.set_focus(self, scroll_visible=False)
        else:
            super().focus_inside()

    # What can be done

    @property
    def _goal(self) -> Goal | None:
        return self.tower.view.state.goals.get(self.selected)

    @property
    def _orders(self) -> GoalOrders | None:
        goal = self._goal
        return None if goal is None else GoalOrders(self.tower, goal)

    def _session(self) -> Session | None:
        """Return the session that a new goal is for: that of the selected goal, else the one that
        is selected in Sessions, else the first; None where there is none."""
        view, goal = self.tower.view, self._goal
        if self.tower.is_replay or view.link.state != "up":
            return None
        wanted = goal.session_id if goal is not None else view.chosen_session
        there = [one for one in view.open_sessions if not is_local(one)]
        return next((one for one in there if one.id == wanted), next(iter(there), None))

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action == "open_goal":
            return self._session() is not None
        if action in ("goal", "stop"):
            orders = self._orders
            return orders is not None and orders.may(action, parameters)
        return super().check_action(action, parameters)

    @property
    def subject(self) -> str:
        goal = self._goal
        return goal.title if goal is not None else ""

    def row_actions(self) -> list[RowAction]:
        orders, session = self._orders, self._session()
        actions = orders.actions() if orders is not None else []
        if session is not None:
            opens = f"a new goal of {session.label or session.id}"
            actions.append(RowAction("o", opens, self.action_open_goal))
        return actions

    def action_open_goal(self) -> None:
        session = self._session()
        if session is not None:
            ask_goal(self.tower, session)

    def action_goal(self, order: str) -> None:
        if self._orders is not None:
            self._orders.order(order)

    def action_stop(self) -> None:
        self.action_goal("drop")

    def on_table_opened(self, event: Table.Opened) -> None:
        event.stop()
        self.open_shown()

    def shown(self) -> DetailView | None:
        return GoalDetail(self.selected, self.shown_keys) if self.selected else None


def _is_of_open(view: View, goal: Goal) -> bool:
    session = view.state.sessions.get(goal.session_id)
    return session is not None and is_open(session)


def _row(view: View, goal: Goal) -> Row:
    mark = marks.GOAL[goal.status]
    is_here = _is_of_open(view, goal)
    quiet = "" if goal.is_open and is_here else "muted"
    closed = closed_words(goal, partial(times.when, now=view.now))
    name = view.session_name(goal.session_id)
    passed = sum(criterion_mark(one) == "passed" for one in goal.criteria)
    return Row(
        goal.id,
        (
            Cell(goal.title, quiet or "strong", mark.glyph, mark.tone if is_here else "muted"),
            Cell(mark.word, mark.tone, rest=((f" {closed}", "muted"),) if closed else ()),
            Cell(criteria_words(goal), quiet, rest=_signs(goal)),
            _back(goal, quiet),
            Cell(name if is_here else f"{name}, ended", "muted"),
            Cell(OPENER_WORDS[goal.opened_by], "muted"),
        ),
        values={
            0: goal.title,
            1: mark.word,
            2: passed / len(goal.criteria) if goal.criteria else -1.0,
            3: goal.sent_back.times,
            4: name,
            5: goal.opened_by,
        },
    )


def _back(goal: Goal, quiet: str) -> Cell:
    if not goal.criteria:
        return Cell("")
    times_ = sent(goal)
    is_on = goal.unproven == "send back"
    rest: tuple[Piece, ...] = ((f"  {times_}", "muted"),) if times_ else ()
    return Cell("on" if is_on else "off", quiet if is_on else "muted", rest=rest)


def _signs(goal: Goal) -> tuple[Piece, ...]:
    """Return the signs of the criteria, or how many there are of each, those that passed first:
    where room is short the first pieces go."""
    found = [criterion_mark(one) for one in goal.criteria]
    counts = Counter(marks.CRITERION[one].glyph for one in found)
    tones = {marks.CRITERION[one].glyph: marks.CRITERION[one].tone for one in _KINDS}
    return tuple(
        (f" {glyph * counts[glyph] if len(found) <= _EACH else f'{glyph}{counts[glyph]}'}", tone)
        for glyph, tone in tones.items()
        if counts[glyph]
    )
