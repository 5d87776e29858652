"""The ways in which a statement can end, seen from one of its parts.

An exit code leaves some of these ways; what they agree in is known of the part.
"""

from itertools import product
from typing import Literal, NamedTuple


class Ending(NamedTuple):
    """One way in which a step can end, seen from one part."""

    code: Literal["zero", "own", "other", "foreign"]
    """Whose code it is: 0, that part's, another part's, or that of no part, such as a loop."""
    has_left: bool
    """Whether the shell was left by it."""
    ran: Literal["not", "passed", "failed"]


ZERO = Ending("zero", False, "not")
OTHER = Ending("other", False, "not")
ANY = frozenset({ZERO, Ending("foreign", False, "not")})
"""Those of a statement that is no part."""
_ANY_PART = frozenset({ZERO, OTHER})
_STOPPING = frozenset({1, 2, 3, 9, 13, 14, 15, 24})
"""Signals with which others end a program. With the rest, such as 11, it crashed: it failed."""


class EndingStep(NamedTuple):
    """How the ends of a statement's steps make the end of the statement."""

    kind: Literal["part", "fixed", "all", "any", "list", "pipe", "lost"]
    steps: "tuple[EndingStep, ...]" = ()
    at: int = -1
    endings: frozenset[Ending] = ANY
    leaves: bool = False
    """Of a list: whether a failure may leave the shell (set -e)."""
    is_shell: bool = False
    """Whether leaving the shell within it ends only itself."""


def endings(step: EndingStep, at: int) -> frozenset[Ending]:
    """Return all ways in which a step can end, seen from one part."""
    match step.kind:
        case "part" if step.at == at:
            return frozenset({Ending("zero", False, "passed"), Ending("own", False, "failed")})
        case "part" | "fixed":
            return _ANY_PART if step.kind == "part" and step.endings is ANY else step.endings
        case "lost":
            ran = {one.ran for one in endings(step.steps[0], at)}
            left = {one.has_left for one in endings(step.steps[0], at)}
            codes: tuple[Literal["zero", "foreign"], ...] = ("zero", "foreign")
            return frozenset(Ending(*one) for one in product(codes, left, ran))
        case "all" | "any":
            first, second = (endings(one, at) for one in step.steps)
            goes_on = "zero" if step.kind == "all" else "other"
            return _behind(first, second, goes_on)
        case "pipe":
            return _piped([endings(one, at) for one in step.steps])
        case "list":
            made = frozenset({ZERO})
            for one in step.steps:
                made = _behind(made, endings(one, at), "")
                if step.leaves:
                    left_by = {end._replace(has_left=True) for end in made if end.code != "zero"}
                    made |= left_by
            if step.is_shell:
                made = frozenset(end._replace(has_left=False) for end in made)
            return made


def _behind(first: frozenset[Ending], second: frozenset[Ending], goes_on: str) -> frozenset[Ending]:
    """Return how two steps end of which the second runs behind the first."""
    made = set()
    for one in first:
        is_zero = one.code == "zero"
        if one.has_left or (goes_on and is_zero != (goes_on == "zero")):
            made.add(one)
        else:
            made |= {other if one.ran == "not" else other._replace(ran=one.ran) for other in second}
    return frozenset(made)


def _piped(stages: list[frozenset[Ending]]) -> frozenset[Ending]:
    """Return how a pipe ends of which the last code that is not 0 counts."""
    made = frozenset({ZERO})
    for stage in stages:
        made = frozenset(
            Ending(
                other.code if other.code != "zero" else one.code,
                False,
                other.ran if one.ran == "not" else one.ran,
            )
            for one, other in product(made, stage)
        )
    return made


def exit_step(rest: list[str]) -> EndingStep:
    code = rest[0] if len(rest) == 1 else ""
    left: set[Ending] = set()
    if not (code.isascii() and code.isdigit()) or int(code[:9]) % 256 == 0:
        left.add(Ending("zero", True, "not"))
    if not (code.isascii() and code.isdigit()) or int(code[:9]) % 256:
        left.add(Ending("foreign", True, "not"))
    return EndingStep("fixed", endings=frozenset(left))


def interruption(code: int) -> str:
    """Say how a command was ended before its end, by its code."""
    if code == 124:
        return "it was ended by a time limit (exit 124)"
    if code == 130:
        return "it was interrupted (exit 130)"
    if code - 128 in _STOPPING:
        return f"it was ended by signal {code - 128} (exit {code})"
    if code < 0 or code > 255:
        return f"it was ended from outside (exit {code})"
    return ""
