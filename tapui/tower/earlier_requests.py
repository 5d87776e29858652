"""What rules would have allowed of all that was recorded: what the tower needs for it."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tapui.projection import asking
from tapui.tower.words import quantity
from tapui.wire.subjects import Approval

if TYPE_CHECKING:
    from tapui.policies.rules import PolicyRule

MOST = 2_000
"""Records of requests and answers that are looked at, the newest."""
_MOST_SHOWN = 4

EarlierRequests = Callable[[str, int], Iterable[Approval]]
"""Yields the permissions that sessions in a folder asked for, the newest first; it looks at so many
records at most. Called on a thread of its own; raises `EarlierFault`."""


class EarlierFault(Exception):  # noqa: N818 - in words, for the person
    """What was asked earlier cannot be told, and why."""


@dataclass(frozen=True, slots=True)
class Matched:
    """What rules would have allowed. `texts` are what was asked, and how often."""

    looked_at: int
    allowed: int
    texts: list[str]

    def words(self, where: str) -> str:
        """Return it as the person reads it."""
        if not self.looked_at:
            return f"{where} nothing else was asked."
        shown = ", ".join(self.texts[:_MOST_SHOWN])
        more = len(self.texts) - _MOST_SHOWN
        rest = f" and {more} more" if more > 0 else ""
        found = f"{self.allowed}: {shown}{rest}" if self.allowed else "none of them"
        return f"{where} of {quantity(self.looked_at, 'request')} it would have allowed {found}"


NOTHING = Matched(0, 0, [])


def matched(asked: Iterable[Approval], rules: "Sequence[PolicyRule]", folder: str) -> Matched:
    """Judge what was asked by rules alone, as if nothing were guarded."""
    from tapui.policies.guarded import Guards
    from tapui.policies.judging import judge
    from tapui.policies.requests import of_permission

    found: Counter[str] = Counter()
    looked_at = 0
    for one in asked:
        looked_at += 1
        request = of_permission(asking.detail_of(one), folder)
        if judge(request, rules, folder, Guards()).effect == "allow":
            found[asking.request(one)] += 1
    texts = [f"{text} ({times}×)" for text, times in found.most_common()]
    return Matched(looked_at, found.total(), texts)
