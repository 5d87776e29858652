"""Whether the arguments fit the schema: checked beside the loop, the newest only, in one line."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

from msgspec import Raw
from textual.content import Content
from textual.widget import Widget
from textual.worker import Worker

from tapui.schemas import arguments as schemas
from tapui.schemas.arguments import NotChecked, SchemaUnusable, Unfit
from tapui.tower.textual.widgets import plain

REST = 0.3
"""Seconds without a change before a check begins: it takes a process."""


@dataclass(frozen=True, slots=True)
class Checked:
    """What a check found. `unusable`: why the schema cannot be applied; `unknown`: why it is
    open whether the arguments fit."""

    faults: tuple[Unfit, ...] = ()
    unusable: str = ""
    unknown: str = ""


class Checker:
    """Checks arguments for a widget, whose end is the check's end, too. `told` gets the answer to
    the last question."""

    def __init__(self, owner: Widget, schema: Raw, told: Callable[[Checked], None]) -> None:
        self._owner = owner
        self._schema = schema
        self._told = told
        self._worker: Worker[None] | None = None

    def ask(self, arguments: Raw, *, rest: float = REST) -> None:
        """Check these arguments once the person has paused; a check under way is given up."""
        # It may be given up before it begins: then it must not be a coroutine yet.
        check = partial(self._check, arguments, rest)
        self._worker = self._owner.run_worker(check, group="schema", exclusive=True)

    async def _check(self, arguments: Raw, rest: float) -> None:
        await asyncio.sleep(rest)
        try:
            found = Checked(tuple(await schemas.faults(self._schema, arguments)))
        except NotChecked as error:
            found = Checked(unknown=str(error))
        except SchemaUnusable as error:
            found = Checked(unusable=str(error))
        self._told(found)


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
    return "is required" if fault.keyword == "required" else " ".join(fault.text.split())


def _first(said: Sequence[str]) -> str:
    return said[0] if len(said) == 1 else f"{said[0]} (and {len(said) - 1} more)"
