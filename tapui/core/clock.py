"""The time of the input that is being handled."""

from tapui.core.mint import Mint


class Clock:
    """`now` is set by the gateway with each input, in seconds of the shell's steady clock."""

    __slots__ = ("_mint", "_stamp", "_stamped", "now")

    def __init__(self, mint: Mint) -> None:
        self._mint = mint
        self.now = 0.0
        self._stamped, self._stamp = -1.0, ""

    def timestamp(self, later: float = 0.0) -> str:
        """Return the time `later` seconds from now as RFC 3339."""
        if later:
            return self._mint.timestamp(self.now + later)
        if self.now != self._stamped:
            self._stamped, self._stamp = self.now, self._mint.timestamp(self.now)
        return self._stamp
