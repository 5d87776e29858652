"""Which session is meant by what the person typed: an id, or a beginning that fits only one."""

from collections.abc import Iterable

from tapui.cli.failure import Failure

_SHOWN = 20
"""Ids that are named where several fit."""


def session_meant(ids: Iterable[str], wanted: str, *, otherwise: str) -> str:
    """Return the id that is meant; raises `Failure`, with `otherwise` where none fits."""
    every = list(ids)
    if wanted in every:
        return wanted
    found = [one for one in every if wanted and one.startswith(wanted)]
    if len(found) == 1:
        return found[0]
    if found:
        raise Failure(f"{wanted} fits several sessions: {', '.join(found[:_SHOWN])}")
    raise Failure(otherwise)
