"""The panes: one table that the main screen, the keys, the tabs, the help and the palette follow.

A pane is added by an entry here (or in the `panes` that `TowerApp` is given); where it is seen is
in `app.layouts`.
"""

from collections.abc import Callable
from functools import partial
from pkgutil import resolve_name

from tapui.tower.app.view import View
from tapui.tower.table.pane import Pane, PaneKind
from tapui.tower.wording.words import short_count


def _class(path: str) -> Callable[[], type[Pane]]:
    """Return what imports a pane's class, given as `module:class` below `tapui.tower`."""
    return partial(resolve_name, f"tapui.tower.{path}")


def _unread(view: View) -> str:
    count = sum(ring.unread for ring in view.rings.values())
    return short_count(count)


def _failed_emitters(view: View) -> str:
    count = sum(bool(one.failures) for one in view.state.emitters.values())
    return f"✗{short_count(count)}" if count else ""


PANES: tuple[PaneKind, ...] = (
    PaneKind("sessions", "1", "Sessions", _class("sessions.sessions_pane:SessionsPane")),
    PaneKind("turns", "2", "Turns", _class("turns.turns_pane:TurnsPane")),
    PaneKind("streams", "3", "Streams", _class("streams.streams_pane:StreamsPane"), note=_unread),
    PaneKind("providers", "4", "Providers", _class("providers.providers_pane:ProvidersPane")),
    PaneKind("calls", "5", "Calls", _class("calls.calls_pane:CallsPane")),
    PaneKind(
        "emitters",
        "6",
        "Emitters",
        _class("emitters.emitters_pane:EmittersPane"),
        note=_failed_emitters,
        has_rows=lambda view: bool(view.state.emitters or view.state.folder_problems),
    ),
)
"""The panes in the order of their keys."""
