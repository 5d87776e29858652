"""The part of an approval that is a rule: what would be written, and what it would have allowed."""

import asyncio
from collections.abc import Sequence

from textual.content import Content
from textual.widgets import Static

from tapui.tower.earlier_requests import MOST, EarlierFault, EarlierRequests, matched
from tapui.tower.plain import plain
from tapui.tower.rule_proposal import RuleProposal


class RulePanel(Static):
    """Rules that would allow a request. Where there are records, it looks them through meanwhile.

    `earlier` reads what was asked in the rules' folder; it is called on a thread.
    """

    def __init__(self, made: RuleProposal, earlier: EarlierRequests | None) -> None:
        looks = "In the records: looking …" if earlier is not None else ""
        super().__init__(_lines(made.lines(looks)))
        self._made = made
        self._earlier = earlier

    def on_mount(self) -> None:
        """Look the records through."""
        if self._earlier is not None:
            self.run_worker(self._look_back(self._earlier), group="proposal")

    async def _look_back(self, earlier: EarlierRequests) -> None:
        told = await asyncio.to_thread(_recorded, earlier, self._made)
        self.update(_lines(self._made.lines(told)))


def _lines(texts: Sequence[str]) -> Content:
    return Content("\n").join([plain(one, limit=300) for one in texts])


def _recorded(earlier: EarlierRequests, made: RuleProposal) -> str:
    """Return what rules would have allowed of what was recorded. Blocks for as long as it takes."""
    try:
        found = matched(earlier(made.folder, MOST), made.given, made.folder)
    except EarlierFault as fault:
        return str(fault)
    return found.words("In the records of this folder")
