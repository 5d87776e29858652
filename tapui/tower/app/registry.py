"""The panes: one table that the main screen, the keys, the tabs, the help and the palette follow.

A pane is added by an entry here (or in the `panes` that `TowerApp` is given); where it is seen is
in `app.layouts`.
"""

from collections.abc import Callable
from functools import partial
from pkgutil import resolve_name

from tapui.projection.goal_words import criterion_mark
from tapui.tower.app.view import View
from tapui.tower.table.pane import Pane, PaneKind
from tapui.tower.wording.words import short_count


def _class(path: str) -> Callable[[], type[Pane]]:
    """Return what imports a pane's class, given as `module:class` below `tapui.tower`."""
    return partial(resolve_name, f"tapui.tower.{path}")


def _signed(*counts: tuple[str, int]) -> str:
    """Return the first sign whose count is not zero, with the count; "" for none."""
    return next((f"{sign}{short_count(count)}" for sign, count in counts if count), "")


def _unseen_lines(view: View) -> str:
    rings = view.rings.values()
    shown = sum(ring.levels.get("surface", 0) for ring in rings)
    return _signed(("▲", shown), ("→", sum(ring.levels.get("inject", 0) for ring in rings)))


def _providers(view: View) -> str:
    bound = sum(one.state == "bound" for one in view.providers)
    return _signed(("✓", bound), ("○", len(view.providers)))


def _running_calls(view: View) -> str:
    return _signed(("●", len(view.state.calls)))


def _emitters(view: View) -> str:
    emitters = view.state.emitters.values()
    return _signed(
        ("!", sum(one.state == "asking" for one in emitters)),
        ("✗", sum(bool(one.failures) for one in emitters)),
    )


def _open_goals(view: View) -> str:
    """Return how many goals are open, and whether a criterion of one has failed."""
    goals = [one for one in view.state.goals.values() if one.is_open]
    failed = sum(any(criterion_mark(one) == "failed" for one in goal.criteria) for goal in goals)
    return _signed(("✗", failed), ("○", len(goals)))


def _changed_files(view: View) -> str:
    """Return how many files the session in view changed that the person has not seen."""
    found = view.changed.get(view.shown_session)
    if found is None:
        return ""
    marks = view.state.marks.get(view.shown_session)
    seen = sum(map(marks.has_seen, found.files)) if marks is not None else 0
    count = len(found.files) + found.more - seen
    return f"+{short_count(count)}" if count else ""


PANES: tuple[PaneKind, ...] = (
    PaneKind("sessions", "1", "Sessions", _class("sessions.sessions_pane:SessionsPane")),
    PaneKind("turns", "2", "Turns", _class("turns.turns_pane:TurnsPane")),
    PaneKind(
        "streams", "3", "Streams", _class("streams.streams_pane:StreamsPane"), sign=_unseen_lines
    ),
    PaneKind(
        "providers",
        "4",
        "Providers",
        _class("providers.providers_pane:ProvidersPane"),
        sign=_providers,
    ),
    PaneKind("calls", "5", "Calls", _class("calls.calls_pane:CallsPane"), sign=_running_calls),
    PaneKind(
        "emitters",
        "6",
        "Emitters",
        _class("emitters.emitters_pane:EmittersPane"),
        sign=_emitters,
        has_rows=lambda view: bool(view.state.emitters or view.state.folder_problems),
    ),
    PaneKind(
        "changes",
        "7",
        "Changes",
        _class("changes.changes_pane:ChangesPane"),
        sign=_changed_files,
    ),
    PaneKind(
        "goals",
        "8",
        "Goals",
        _class("goals.goals_pane:GoalsPane"),
        sign=_open_goals,
        has_rows=lambda view: bool(view.state.goals),
    ),
)
"""The panes in the order of their keys."""
