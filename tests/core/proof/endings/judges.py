"""The stories judged by other ways, played as these are documented, beside what tapui shows.

`python -m tests.documents` writes the table into `docs/proof.md`.
"""

import re
from collections.abc import Callable, Iterator

from tapui.core.proof.checks import may_check
from tests.core.proof.endings.false_endings import FALSE_ENDINGS
from tests.core.proof.endings.played import PlayedSession
from tests.core.proof.endings.steps import Edit, Ended, Shell, Stated, Step, TurnStory
from tests.core.proof.endings.true_endings import TRUE_ENDINGS

_FAILED = re.compile(r"[1-9]\d* failed|^FAIL\b|FAILED|Fatal Python error", re.MULTILINE)
_PASSED = re.compile(r"\d+ (?:passed|examples)|^ok\b|^OK\b|All checks passed|SUCCESS", re.MULTILINE)


def believes(told: TurnStory) -> bool:
    """A judge of the transcript that believes the last claim unless the newest result denies it.

    Results are outputs that tell of tests, and the exit codes of commands that name a check: what
    the agent has seen. All of the stories' last words claim.
    """
    results = [result for _, result in _results(told.steps)]
    return not results or results[-1]


def asks_for_a_result(told: TurnStory) -> bool:
    """One that also wants a passed result to be in the transcript, behind the last edit there."""
    edits = [at for at, step in enumerate(told.steps) if isinstance(step, Edit)]
    results = list(_results(told.steps))
    return bool(results) and results[-1][1] and results[-1][0] > max(edits, default=-1)


def reruns(told: TurnStory) -> bool:
    """A hook that runs the folder's one command at the end, and goes by its exit code."""
    return told.rerun == 0


def recorded(told: TurnStory) -> bool:
    """What tapui shows: whether it is checked."""
    return (PlayedSession(told).shown or "").startswith("checked")


def _results(steps: tuple[Step, ...]) -> Iterator[tuple[int, bool]]:
    for at, step in enumerate(steps):
        if not isinstance(step, Shell | Ended | Stated):
            continue
        is_check = not isinstance(step, Ended) and may_check(step.text)
        code = None if isinstance(step, Stated) else step.code
        if _FAILED.search(step.output) or (is_check and code not in (0, None)):
            yield at, False
        elif _PASSED.search(step.output) or (is_check and code == 0):
            yield at, True


_WAYS: tuple[tuple[str, str, Callable[[TurnStory], bool]], ...] = (
    (
        "a judge of the transcript, who believes",
        "a model's call at each end; runs nothing",
        believes,
    ),
    (
        "the same, who asks for a result after the last edit",
        "a model's call at each end; runs nothing",
        asks_for_a_result,
    ),
    (
        "a hook that runs one command again",
        "the command, written by you; all of its time at each end, unasked",
        reruns,
    ),
    ("tapui", "the agent runs its checks itself; no model, runs nothing", recorded),
)


def table() -> str:
    """Return the table of `docs/proof.md`."""
    claims = [one for one in TRUE_ENDINGS if one.shown is not None]
    counts = f"of {len(FALSE_ENDINGS)} false endings let pass | of {len(claims)} true ones held up"
    rows = [f"| way | needs | {counts} |", "|---|---|---|---|"]
    for name, needs, way in _WAYS:
        passed = sum(map(way, FALSE_ENDINGS))
        held = sum(not way(one) for one in claims)
        rows.append(f"| {name} | {needs} | {passed} | {held} |")
    return "\n".join(rows)
