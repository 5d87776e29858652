"""The filter of an emitter: its rules, to be changed, and what they make of the lines so far."""

import re
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import count
from typing import ClassVar, Literal, NamedTuple

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Input, Static

from tapui import times
from tapui.projection.state import StreamKey
from tapui.projection.stream_words import OUTCOME_WORDS
from tapui.tower.app.view import View
from tapui.tower.emitters import emitter_words as words
from tapui.tower.keys.bindings import bindings
from tapui.tower.table.columns import Cell, Column, Piece, Row
from tapui.tower.table.table import Table
from tapui.tower.textual.sheet import LiveScreen
from tapui.tower.textual.widgets import SafeInput, plain, upper_edge
from tapui.tower.wording.marks import LEVEL, Mark
from tapui.tower.wording.words import quantity
from tapui.wire import limits
from tapui.wire.emitters import (
    Emitter,
    EmitterFilter,
    EmitterKeep,
    EmitterTried,
    EmitterTry,
    TriedSeq,
)
from tapui.wire.message import Error, Message
from tapui.wire.provider import FilterRule
from tapui.wire.tower import StreamRead

_trial_ids = count(1)
_AT_RULE = re.compile(r"rules\[(\d+)\](?:\.match)?: (.*)", re.DOTALL)


class _Trial(NamedTuple):
    """A question: its id, what it is about, and the rule that is tried alone."""

    id: str
    about: Literal["in force", "written", "one rule"]
    rule: int = 0


class FilterTrials:
    """Trials of one emitter's rules. `step()` takes the answer that has come, and asks on."""

    def __init__(
        self,
        emitter_id: str,
        in_force: Sequence[FilterRule],
        view: View,
        send: Callable[[Message], None],
    ) -> None:
        self._emitter_id = emitter_id
        self._view = view
        self._send = send
        self._in_force = list(in_force)
        self._written = list(in_force)
        self._pending: _Trial | None = None
        self._is_stale = True
        self._alone: list[int] = []
        self.before: dict[int, TriedSeq] | None = None
        """What the rules in force make of each line, by its number; None until that is known."""
        self.after: dict[int, TriedSeq] | None = None
        """What the rules as they were last tried would make of it."""
        self.slow: dict[int, int] = {}
        """By the index of a rule: for how many lines its pattern takes too long."""
        self.bad: dict[int, str] = {}
        """Why a rule's pattern is none."""
        self.fault = ""
        """Why nothing could be tried."""

    @property
    def is_done(self) -> bool:
        return not self._is_stale and (self._pending is None or self._pending.about == "one rule")

    def want(self, rules: Sequence[FilterRule]) -> None:
        """Try these rules, as soon as the question before is answered."""
        self._written = list(rules)
        self._is_stale = True
        self._alone.clear()
        self.slow.clear()
        self.bad.clear()
        self.fault = ""
        self.step()

    def step(self) -> None:
        """Take the answer that has come, and ask the next question."""
        trial = self._pending
        if trial is not None:
            answer = self._view.trials.take(trial.id)
            if answer is not None:
                self._pending = None
                self._take(trial, answer)
            elif self._view.trials.awaits(trial.id):
                return
            else:  # it was asked of a link that is gone
                self._pending, self._is_stale = None, True
        self._ask_next()

    def refused(self, error: Error) -> bool:
        """The gateway refuses to try; return whether it was asked here."""
        trial = self._pending
        if trial is None or error.reply_to != "emitter.try":
            return False
        self._pending = None
        at_rule = _AT_RULE.match(error.message)
        if trial.about == "written" and at_rule is not None:
            if not self._is_stale:
                self.bad[int(at_rule[1])] = at_rule[2]
        elif trial.about == "in force":
            self.before = {}
            self.fault = error.message
        elif trial.about == "written":
            self.fault = error.message
        self._ask_next()
        return True

    def _take(self, trial: _Trial, answer: EmitterTried) -> None:
        lines = {line.seq: line for line in answer.lines}
        if trial.about == "in force":
            self.before = lines
            self.fault = answer.error or ""
        elif trial.about == "written":
            self.after = lines
            self.fault = answer.error or ""
            if not self._is_stale and any(line.undecided for line in answer.lines):
                self._alone = list(range(len(self._written)))
        elif not self._is_stale:
            slow = sum(line.undecided for line in answer.lines)
            if slow:
                self.slow[trial.rule] = slow

    def _ask_next(self) -> None:
        if self.before is None:
            self._ask(_Trial(_new_id(), "in force"), self._in_force)
        elif self._is_stale:
            self._is_stale = False
            self._ask(_Trial(_new_id(), "written"), self._written)
        elif self._alone:
            index = self._alone.pop(0)
            self._ask(_Trial(_new_id(), "one rule", index), [self._written[index]])

    def _ask(self, trial: _Trial, rules: list[FilterRule]) -> None:
        self._pending = trial
        self._view.trials.expect(trial.id)
        self._send(EmitterTry(id=trial.id, emitter_id=self._emitter_id, rules=rules))


def _new_id() -> str:
    return f"try-{next(_trial_ids)}"


_OUTCOMES: tuple[Literal["inject", "surface", "keep", "drop"], ...] = (
    "inject",
    "surface",
    "keep",
    "drop",
)
_MARKS: dict[str, Mark] = {**LEVEL, "drop": Mark("×", OUTCOME_WORDS["drop"], "muted")}
_RULES = (
    Column("", 3, 3, right=True),
    Column("outcome", 7, 17),
    Column("pattern", 12, grows=True),
    Column("lines", 5, 6, right=True),
)
_LINES = (
    Column("time", 8, 8, rank=1),
    Column("now", 7, 19),
    Column("then", 7, 19),
    Column("line", 12, grows=True),
)
_LOW = 20
"""Lines of the terminal below which there is no line to spare."""
_ids = count(1)


class EmitterFilterScreen(LiveScreen[None]):
    """Rules in their order, the first that matches decides. Nothing is applied before Enter."""

    CSS_PATH = "emitter_filter.tcss"
    TOPICS: ClassVar[frozenset[str]] = frozenset({"emitters", "streams"})
    BINDINGS: ClassVar[list[BindingType]] = bindings(
        "rule-add",
        "rule-edit",
        "rule-remove",
        "rule-outcome",
        "rule-up",
        "rule-down",
        "rule-write",
    )

    def __init__(self, emitter: Emitter) -> None:
        super().__init__()
        self._emitter = emitter
        self._in_force = list(emitter.rules)
        self.rules = list(emitter.rules)
        self._tried = list(range(len(self.rules)))
        """The indexes of the rules that are tried: one without a pattern yet is not."""
        self._edited: int | None = None
        """The index of the rule whose pattern is being written."""
        self._is_new = False
        self._is_sent = False
        self._trouble = ""
        self._drops_changes = False

    def compose(self) -> ComposeResult:
        with Vertical(classes="sheet"):
            with Vertical(classes="rules"):
                yield Table(_RULES)
            yield SafeInput(classes="pattern", max_length=limits.MAX_PATTERN, select_on_focus=False)
            yield Static("", classes="counts", markup=False)
            with Vertical(classes="lines"):
                yield Table(_LINES)
            yield Static("", classes="prompt", markup=False)

    def on_mount(self) -> None:
        self._pattern.display = False
        key = words.stream_key(self._emitter)
        if key in self.tower.view.state.streams:
            read_id = f"filter-{next(_ids)}"
            self.tower.view.expect_lines(read_id, key)
            self.tower.send(
                StreamRead(id=read_id, stream=key[1], session_id=key[0], last=limits.STREAM_LINES)
            )
        self._trials = FilterTrials(
            self._emitter.id, self._in_force, self.tower.view, self.tower.send
        )
        super().on_mount()
        self._table.focus()

    @property
    def _table(self) -> Table:
        return self.query_one(".rules Table", Table)

    @property
    def _pattern(self) -> SafeInput:
        return self.query_one(".pattern", SafeInput)

    @property
    def _at(self) -> int | None:
        return self._table.cursor if self.rules else None

    # What is shown

    def show(self, view: View, dirty: frozenset[str]) -> None:
        del dirty
        now = view.state.emitters.get(self._emitter.id)
        self._trials.step()
        if self._is_sent and now is not None and (now.is_cut or list(now.rules) == self.rules):
            self.dismiss(None)
            return
        self._paint(view)

    def _paint(self, view: View) -> None:
        trials = self._trials
        after = trials.after or {}
        decided = Counter(one.rule for one in after.values())
        table = self._table
        rows = [self._rule_row(index, rule, decided) for index, rule in enumerate(self.rules)]
        height = max(self.size.height // 3, 3)
        self.query_one(".rules").styles.height = min(len(rows), height) + 1
        table.set_rows(rows)
        self.query_one(".counts", Static).update(self._counts(after))
        self.query_one(".lines Table", Table).set_rows(self._line_rows(view, after))
        frame = self.query_one(".sheet", Vertical)
        frame.set_class(self.app.size.height < _LOW, "-low")
        name = plain("Filter of ", "bold") + plain(self._emitter.name, "bold", limit=200)
        note = "the first rule that matches decides"
        frame.border_title = upper_edge(name, note, "muted", self.app.size.width)
        frame.border_subtitle = plain(self.way_back, "$text-muted")
        self._prompt()

    def _rule_row(self, index: int, rule: FilterRule, decided: Counter[int | None]) -> Row:
        trials, mark = self._trials, _MARKS[rule.outcome]
        at = self._tried.index(index) if index in self._tried else None
        rest: list[Piece] = []
        count_ = 0
        if at is not None:
            if at in trials.bad:
                rest.append((f"   {trials.bad[at]}", "error"))
            elif at in trials.slow:
                lines = quantity(trials.slow[at], "line")
                rest.append((f"   takes too long for {lines}", "warning"))
            count_ = decided[at] if trials.is_done else 0
        return Row(
            f"rule-{index}",
            (
                Cell(f"{index + 1}", "muted"),
                Cell(mark.word, mark.tone),
                Cell(rule.match, "strong", rest=tuple(rest)),
                Cell(f"{count_}" if count_ else "", "muted"),
            ),
        )

    def _counts(self, after: dict[int, TriedSeq]) -> Content:
        trials = self._trials
        if trials.before is None or (not after and not trials.is_done):
            return plain("Trying the rules …", "$text-muted")
        if not after:
            text = "Its stream has no lines of it yet: nothing to try the rules on."
            return plain(text, "$text-muted")
        outcomes = Counter(one.outcome for one in after.values())
        changed = sum(self._is_changed(seq, one) for seq, one in after.items())
        counts = ", ".join(
            f"{outcomes[one]:,} {_MARKS[one].word}" for one in _OUTCOMES if outcomes[one]
        )
        lead = f"{quantity(len(after), 'line')}: {counts}"
        more = f"   {changed:,} would change" if changed else ""
        tone = "" if trials.is_done else "$text-muted"
        return plain(lead, tone) + plain(more, "bold")

    def _is_changed(self, seq: int, after: TriedSeq) -> bool:
        known = (self._trials.before or {}).get(seq)
        return known is not None and known.outcome != after.outcome

    def _line_rows(self, view: View, after: dict[int, TriedSeq]) -> list[Row]:
        key: StreamKey = words.stream_key(self._emitter)
        ring = view.rings.get(key)
        texts = {line.seq: line for line in ring.lines} if ring is not None else {}
        before = self._trials.before or {}
        rows = []
        for seq, one in reversed(after.items()):
            line, was = texts.get(seq), before.get(seq)
            is_changed = self._is_changed(seq, one)
            mark = _MARKS[was.outcome if was is not None else one.outcome]
            then = _MARKS[one.outcome]
            slow: tuple[Piece, ...] = (("   a pattern takes too long", "warning"),)
            rows.append(
                Row(
                    f"line-{seq}",
                    (
                        Cell(times.moment(line.ts) if line is not None else "", "muted"),
                        Cell(mark.word, mark.tone, mark.glyph, mark.tone),
                        Cell(then.word, then.tone, then.glyph, then.tone)
                        if is_changed
                        else Cell(""),
                        Cell(
                            line.event if line is not None else f"line {seq}",
                            "" if is_changed else "muted",
                            rest=slow if one.undecided else (),
                        ),
                    ),
                )
            )
        return rows

    def _prompt(self) -> None:
        prompt = self.query_one(".prompt", Static)
        trouble = self._trouble or self._trials.fault
        if trouble:
            prompt.update(plain(trouble, "bold $error", limit=300))
        elif self._is_sent:
            prompt.update(plain("sent, waiting for the gateway …", "$text-muted"))
        elif self._edited is not None:
            prompt.update(plain("Enter takes the pattern    Esc back", "$text-muted"))
        elif self.rules == self._in_force:
            text = "Nothing is changed." if self.rules else "No rule: every line is kept."
            prompt.update(plain(text, "$text-muted"))
        else:
            write = self.tower.key_of("rule-write")
            kept = f"    {write} writes them into the file, too" if self._can_write else ""
            text = "Enter applies these rules to the lines that follow"
            prompt.update(plain(text, "bold $success") + plain(kept, "$text-muted"))

    # Rules

    def action_add_rule(self) -> None:
        if len(self.rules) >= limits.MAX_HOOK_RULES:
            self._say(f"A filter has at most {limits.MAX_HOOK_RULES} rules.")
            return
        at = 0 if self._at is None else self._at + 1
        self.rules.insert(at, FilterRule("", "inject"))
        self._is_new = True
        self._edit(at)

    def action_edit_rule(self) -> None:
        if self._at is not None:
            self._is_new = False
            self._edit(self._at)

    def _edit(self, at: int) -> None:
        self._trouble, self._edited = "", at
        self._before_edit = self.rules[at]
        self._paint(self.tower.view)
        self._table.select(f"rule-{at}")
        field = self._pattern
        field.value = self.rules[at].match
        field.cursor_position = len(field.value)
        field.display = True
        field.focus()
        self.refresh_bindings()

    def on_input_changed(self, event: Input.Changed) -> None:
        if self._edited is None or event.value == self.rules[self._edited].match:
            return
        outcome = self.rules[self._edited].outcome
        self.rules[self._edited] = FilterRule(event.value, outcome)
        self._changed()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Take the pattern; an empty one is no rule."""
        event.stop()
        if self._edited is not None and not self.rules[self._edited].match:
            self._say("A pattern has at least one character    Esc back")
            return
        self._end_edit()

    def _end_edit(self, *, is_dropped: bool = False) -> None:
        at, self._edited = self._edited, None
        self._table.focus()
        self._pattern.display = False
        self._trouble = ""
        if is_dropped:
            self._changed()
        else:
            self._paint(self.tower.view)  # it was tried as it was written
        if at is not None and self.rules:
            self._table.select(f"rule-{min(at, len(self.rules) - 1)}")
        self.refresh_bindings()

    def action_remove_rule(self) -> None:
        if self._at is not None:
            del self.rules[self._at]
            self._changed()

    def action_next_outcome(self) -> None:
        at = self._at
        if at is not None:
            rule = self.rules[at]
            after = _OUTCOMES[(_OUTCOMES.index(rule.outcome) + 1) % len(_OUTCOMES)]
            self.rules[at] = FilterRule(rule.match, after)
            self._changed()

    def action_move_rule(self, step: int) -> None:
        at = self._at
        there = at + step if at is not None else -1
        if at is not None and 0 <= there < len(self.rules):
            self.rules[at], self.rules[there] = self.rules[there], self.rules[at]
            self._changed()
            self._table.select(f"rule-{there}")

    def _changed(self) -> None:
        self._trouble, self._is_sent, self._drops_changes = "", False, False
        self._tried = [index for index, one in enumerate(self.rules) if one.match]
        self._trials.want([self.rules[index] for index in self._tried])
        self._paint(self.tower.view)

    # Applying

    def on_table_opened(self, event: Table.Opened) -> None:
        event.stop()
        if self._may_apply():
            self._apply()

    def action_write_rules(self) -> None:
        """Apply the rules, and write them into the folder's file; what came of that is a notice."""
        if self._can_write and self._may_apply():
            self._apply()
            id_, emitter_id = f"filter-{next(_ids)}", self._emitter.id
            self.tower.send(EmitterKeep(id=id_, emitter_id=emitter_id, rules=self.rules))

    def _apply(self) -> None:
        self._is_sent = True
        self.tower.send(EmitterFilter(emitter_id=self._emitter.id, rules=self.rules))
        self._prompt()

    @property
    def _can_write(self) -> bool:
        return self._emitter.source == "file"

    def _may_apply(self) -> bool:
        """Return whether the rules can be applied; close where there is nothing to apply."""
        if self._is_sent or self._edited is not None:
            return False
        if self.rules == self._in_force:
            self.dismiss(None)
            return False
        for at, why in self._trials.bad.items():
            self._say(f"Rule {self._tried[at] + 1} is no pattern: {why}")
            return False
        return True

    def refused(self, error: Error) -> bool:
        """The gateway did not try the rules, or did not take them."""
        if self._trials.refused(error):
            self._paint(self.tower.view)
            return True
        if error.reply_to not in ("emitter.filter", "emitter.keep"):
            return False
        self._is_sent = False
        self._say(error.message)
        return True

    def _say(self, text: str) -> None:
        self._trouble = text
        self._prompt()

    def action_close(self) -> None:
        """Drop the pattern that is being written; else close, with changes at the second time."""
        at = self._edited
        if at is not None:
            if self._is_new:
                del self.rules[at]
            else:
                self.rules[at] = self._before_edit
            self._end_edit(is_dropped=True)
        elif self.rules == self._in_force or self._drops_changes or self._is_sent:
            self.dismiss(None)
        else:
            self._drops_changes = True
            closes = self.tower.key_of("close-sheet").partition(" ")[0]
            self._say(f"The rules are changed and not applied: {closes} again drops that.")

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action in ("edit_rule", "remove_rule", "next_outcome", "move_rule"):
            return bool(self.rules) and self._edited is None
        if action == "add_rule":
            return self._edited is None
        if action == "write_rules":
            return self._can_write and self._edited is None and self.rules != self._in_force
        return super().check_action(action, parameters)

    def copied(self) -> str:
        return "\n".join(f"{rule.outcome} {rule.match}" for rule in self.rules)
