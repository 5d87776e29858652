"""Arguments held against a schema while they are typed: beside the loop, the newest only."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from msgspec import Raw
from textual.widget import Widget
from textual.worker import Worker

from tapui.schemas import arguments as schemas
from tapui.schemas.arguments import NotChecked, SchemaUnusable, Unfit

REST = 0.3
"""Seconds without a change before a check begins: it takes a process."""


@dataclass(frozen=True, slots=True)
class Checked:
    """What a check found. `unusable` says why the schema cannot be applied, `unknown` why nobody
    knows whether the arguments fit."""

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
