"""Whether the arguments that are written fit, in one line."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from textual.content import Content

from tapui.schemas.arguments import Unfit
from tapui.tower.plain import plain
from tapui.tower.workbench.checking import Checked

_LENGTH = 300
"""Characters of what is said of one fault."""


class Fitness(NamedTuple):
    """What is known of the arguments: what is no value of its field's kind, by field ("" for all of
    them), and what the check found. `trouble` comes from a call that could not be made; `insists`
    that it is made all the same when `key` is pressed again."""

    key: str
    wrong: Mapping[str, str]
    checked: Checked | None = None
    trouble: str = ""
    insists: bool = False

    def told(self) -> Content:
        """Return the line."""
        if self.trouble:
            return plain(self.trouble, "bold $error", limit=_LENGTH)
        if self.wrong:
            return plain(
                _first([named(*one) for one in self.wrong.items()]), "$error", limit=_LENGTH
            )
        checked = self.checked
        if checked is None:
            return plain("checking …", "$text-muted")
        if unknown := checked.unusable or checked.unknown:
            return plain(f"not checked: {unknown}", "$text-muted", limit=_LENGTH)
        if not checked.faults:
            return plain("the arguments fit", "$success")
        said = _first([named(one.name, words_of(one)) for one in checked.faults])
        if self.insists:
            return plain(
                f"{self.key} again calls it all the same. {said}", "bold $error", limit=_LENGTH
            )
        return plain(said, "$error", limit=_LENGTH)


def named(name: str, said: str) -> str:
    """Return what is said of a field; its name is "" for the arguments as a whole."""
    return f"{name}: {said}" if name else said


def words_of(fault: Unfit) -> str:
    """Return what is wrong at a place."""
    return "is required" if fault.keyword == "required" else " ".join(fault.text.split())


def _first(said: Sequence[str]) -> str:
    return said[0] if len(said) == 1 else f"{said[0]} (and {len(said) - 1} more)"
