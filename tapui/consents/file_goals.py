"""Consent to the goals of a folder's file: to all of their text. They run nothing."""

import time
from collections.abc import Callable
from pathlib import Path

import msgspec

from tapui.consents.consents import Changes, Consented, ConsentFile, Consents, Proposal, was
from tapui.consents.named_files import NamedFiles
from tapui.core.emitters.plans import GoalPlan
from tapui.text import safe_text

FOLDER = "goals"
"""Where these consents are, below the state folder."""
_SHOWN = 100


class GoalConsents(Consents[GoalPlan]):
    """All consents to goals."""

    def __init__(self, state: Path, clock: Callable[[], float] = time.time) -> None:
        super().__init__(state, FOLDER, _DECODER, _CHANGES, clock)

    def standing(self, folder: str, plan: GoalPlan) -> Consented[GoalPlan] | Proposal[GoalPlan]:
        """Return whether a goal of a folder, whose path has no links, may be opened."""
        return self.of(folder, plan, NamedFiles)

    def allow_plan(self, folder: str, plan: GoalPlan) -> None:
        """Keep the consent to what was shown. Raises `OSError`: it is not kept then."""
        self.allow(Proposal(folder, plan, (), (), ()))


def _shown(text: str | None) -> str:
    return "none" if text is None else safe_text(text, limit=_SHOWN)


_CHANGES: Changes = {
    "criteria": "other criteria",
    "agent": was("agent:", _shown),
    "deadline": was("deadline:", _shown),
}
_DECODER = msgspec.json.Decoder(ConsentFile[GoalPlan])
