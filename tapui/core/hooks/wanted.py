"""What one provider wants of the calls, prompts and streams of a session. Data only."""

import re
from dataclasses import dataclass, field
from typing import Literal

from tapui.core.hooks.matching import Pattern
from tapui.wire.message import Level
from tapui.wire.provider import HookRule, Transform


@dataclass(slots=True, eq=False)
class ActiveRule:
    """A rule with its patterns compiled."""

    rule: HookRule
    args: Pattern | None
    file: re.Pattern[str] | None


Outcome = Level | Literal["drop"]
Filter = list[tuple[Pattern, Outcome]]
"""Patterns, each with what becomes of a line that it matches; the first that matches decides."""


@dataclass(slots=True)
class HookSet:
    """What one provider wants in one session: its rules, sections, contexts and filters."""

    rules: list[ActiveRule] = field(default_factory=list)
    transforms: dict[str, Transform] = field(default_factory=dict)
    context: str | None = None
    startup: str | None = None
    filters: dict[str, Filter] = field(default_factory=dict)
    """By the names of its streams, without `@provider`."""
    is_startup_told: bool = False
    """Whether the session has had the start-up context."""

    def copy(self) -> "HookSet":
        """Return the same for another session, where it may change on its own."""
        return HookSet(
            self.rules, dict(self.transforms), self.context, self.startup, dict(self.filters)
        )
