"""Which steps to show: what failed, what took long, and a text."""

import re
from dataclasses import dataclass

from tapui.tower.filter import Filter, parse

_FAILED = "failed"
_SLOWER = re.compile(r">(\d{1,6}(?:\.\d{1,3})?)(ms|s|m|h)?\Z")
_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, None: 1.0}


@dataclass(frozen=True, slots=True)
class StepFilter(Filter):
    """A filter of steps. `slower_than` is in seconds; the text is looked for besides."""

    only_failed: bool = False
    slower_than: float | None = None

    def may_show(self, *, has_failed: bool, seconds: float | None) -> bool:
        """Return whether a step is shown as far as its state and its duration tell."""
        if self.only_failed and not has_failed:
            return False
        return self.slower_than is None or (seconds is not None and seconds > self.slower_than)


def parse_steps(text: str) -> StepFilter | None:
    """Return the filter that `text` asks for, None for none.

    `failed` and `>10s` (`ms`, `s`, `m`, `h`) may stand first; what follows is as `parse` takes it.
    Raises FilterError.
    """
    only_failed, slower_than, rest = False, None, text
    while rest:
        word, _, after = rest.partition(" ")
        slower = _SLOWER.match(word)
        if word == _FAILED:
            only_failed = True
        elif slower is not None:
            slower_than = float(slower[1]) * _SECONDS[slower[2]]
        else:
            break
        rest = after.lstrip()
    found = parse(rest)
    if found is None and not only_failed and slower_than is None:
        return None
    needle, pattern = (found.needle, found.pattern) if found is not None else ("", None)
    return StepFilter(text, needle, pattern, only_failed, slower_than)
