"""Whether the arguments fit the schema: checked beside the loop, the newest only, in one line."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

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

    def __init__(self, owner: Widget, schema: Raw, on_checked: Callable[[Checked], None]) -> None:
        self._owner = owner
        self._schema = schema
        self._on_checked = on_checked
        self._worker: Worker[None] | None = None

    def ask(self, arguments: Raw, *, rest: float = REST) -> None:
        """Check these arguments once the person has paused; a check under way is given up."""
        # It may be given up before it begins: then it must not be a coroutine yet.
        check = partial(self._check, arguments, rest)
        self._worker = self._owner.run_worker(check, group="schema", exclusive=True)

    async def _check(self, arguments: Raw, rest: float) -> None:
        await asyncio.sleep(rest)
        try:
            checked = Checked(tuple(await schemas.faults(self._schema, arguments)))
        except NotChecked as error:
            checked = Checked(unknown=str(error))
        except SchemaUnusable as error:
            checked = Checked(unusable=str(error))
        self._on_checked(checked)


_LENGTH = 300
"""Characters of what is said of one fault."""


def fitness_words(
    key: str,
    wrong: Mapping[str, str],
    checked: Checked | None = None,
    trouble: str = "",
    *,
    insists: bool = False,
) -> Content:
    """Return what is known of the arguments, in one line.

    `wrong` is what is no value of its field's kind, by field ("" for all of them), `checked` what
    the check found. `trouble` comes from a call that could not be made; `insists`: it is made all
    the same when `key` is pressed again.
    """
    if trouble:
        return plain(trouble, "bold $error", limit=_LENGTH)
    if wrong:
        return plain(_first([named(*one) for one in wrong.items()]), "$error", limit=_LENGTH)
    if checked is None:
        return plain("checking …", "$text-muted")
    if unknown := checked.unusable or checked.unknown:
        return plain(f"not checked: {unknown}", "$text-muted", limit=_LENGTH)
    if not checked.faults:
        return plain("the arguments fit", "$success")
    faults = _first([named(one.name, words_of(one)) for one in checked.faults])
    if insists:
        return plain(f"{key} again calls it all the same. {faults}", "bold $error", limit=_LENGTH)
    return plain(faults, "$error", limit=_LENGTH)


def named(name: str, fault: str) -> str:
    """Return a fault behind its field's name, which is "" for the arguments as a whole."""
    return f"{name}: {fault}" if name else fault


def words_of(fault: Unfit) -> str:
    return "is required" if fault.keyword == "required" else " ".join(fault.text.split())


def _first(faults: Sequence[str]) -> str:
    return faults[0] if len(faults) == 1 else f"{faults[0]} (and {len(faults) - 1} more)"
