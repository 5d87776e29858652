"""What an emitter's filter would make of the lines that its stream has, asked of the gateway.

One question at a time: first what the rules in force make of them, then the rules as they are
written, and where a pattern took too long, each rule by itself, to find which one.
"""

import re
from collections.abc import Callable, Sequence
from itertools import count
from typing import Literal, NamedTuple

from tapui.tower.view import View
from tapui.wire.emitters import EmitterTried, EmitterTry, TriedSeq
from tapui.wire.message import Error, Message
from tapui.wire.provider import FilterRule

_ids = count(1)
_AT_RULE = re.compile(r"rules\[(\d+)\](?:\.match)?: (.*)", re.DOTALL)


class _Asked(NamedTuple):
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
        self._asked: _Asked | None = None
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
        """Whether what is known is about the rules as they are written."""
        return not self._is_stale and (self._asked is None or self._asked.about == "one rule")

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
        """Take the answer that has come, and ask what is to be asked next."""
        asked = self._asked
        if asked is not None:
            answer = self._view.take_trial(asked.id)
            if answer is not None:
                self._asked = None
                self._take(asked, answer)
            elif self._view.awaits_trial(asked.id):
                return
            else:  # it was asked of a link that is gone
                self._asked, self._is_stale = None, True
        self._ask_next()

    def refused(self, error: Error) -> bool:
        """The gateway refuses to try; return whether it was asked here."""
        asked = self._asked
        if asked is None or error.reply_to != "emitter.try":
            return False
        self._asked = None
        found = _AT_RULE.match(error.message)
        if asked.about == "written" and found is not None:
            if not self._is_stale:
                self.bad[int(found[1])] = found[2]
        elif asked.about == "in force":
            self.before = {}
            self.fault = error.message
        elif asked.about == "written":
            self.fault = error.message
        self._ask_next()
        return True

    def _take(self, asked: _Asked, answer: EmitterTried) -> None:
        lines = {line.seq: line for line in answer.lines}
        if asked.about == "in force":
            self.before = lines
            self.fault = answer.error or ""
        elif asked.about == "written":
            self.after = lines
            self.fault = answer.error or ""
            if not self._is_stale and any(line.undecided for line in answer.lines):
                self._alone = list(range(len(self._written)))
        elif not self._is_stale:
            slow = sum(line.undecided for line in answer.lines)
            if slow:
                self.slow[asked.rule] = slow

    def _ask_next(self) -> None:
        if self.before is None:
            self._ask(_Asked(_new_id(), "in force"), self._in_force)
        elif self._is_stale:
            self._is_stale = False
            self._ask(_Asked(_new_id(), "written"), self._written)
        elif self._alone:
            index = self._alone.pop(0)
            self._ask(_Asked(_new_id(), "one rule", index), [self._written[index]])

    def _ask(self, asked: _Asked, rules: list[FilterRule]) -> None:
        self._asked = asked
        self._view.expect_trial(asked.id)
        self._send(EmitterTry(id=asked.id, emitter_id=self._emitter_id, rules=rules))


def _new_id() -> str:
    return f"try-{next(_ids)}"
