"""What every part of the core is given."""

from tapui.core.clock import Clock
from tapui.core.deadlines import Deadlines
from tapui.core.mint import Mint
from tapui.core.output import Output
from tapui.core.tickets import Tickets


class CoreContext:
    """The time of the input, what the turn brings forth, time-outs, ids, and the shell's answers.

    A part takes from it what it uses.
    """

    __slots__ = ("clock", "deadlines", "mint", "out", "tickets")

    def __init__(self, run: str, mint: Mint, inline_bytes: int) -> None:
        self.mint = mint
        self.clock = Clock(mint)
        self.out = Output(run, self.clock, inline_bytes)
        self.deadlines = Deadlines()
        self.tickets = Tickets()
