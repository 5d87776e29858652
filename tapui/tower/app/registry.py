"""The panes: one table that the main screen, the keys, the tabs, the help and the palette follow.

A pane is added by an entry here (or in the `panes` that `TowerApp` is given); where it is seen is
in `tower.layouts`.
"""

from tapui.tower.app.view import View
from tapui.tower.table.pane import Pane, PaneKind
from tapui.tower.wording.words import short_count


def _sessions() -> type[Pane]:
    from tapui.tower.sessions.sessions_pane import SessionsPane

    return SessionsPane


def _turns() -> type[Pane]:
    from tapui.tower.turns.turns_pane import TurnsPane

    return TurnsPane


def _streams() -> type[Pane]:
    from tapui.tower.streams.streams_pane import StreamsPane

    return StreamsPane


def _providers() -> type[Pane]:
    from tapui.tower.providers.providers_pane import ProvidersPane

    return ProvidersPane


def _calls() -> type[Pane]:
    from tapui.tower.calls.calls_pane import CallsPane

    return CallsPane


def _emitters() -> type[Pane]:
    from tapui.tower.emitters.emitters_pane import EmittersPane

    return EmittersPane


def _unread(view: View) -> str:
    count = sum(ring.unread for ring in view.rings.values())
    return short_count(count)


def _failed_emitters(view: View) -> str:
    count = sum(bool(one.failures) for one in view.state.emitters.values())
    return f"✗{short_count(count)}" if count else ""


PANES: tuple[PaneKind, ...] = (
    PaneKind("sessions", "1", "Sessions", _sessions),
    PaneKind("turns", "2", "Turns", _turns),
    PaneKind("streams", "3", "Streams", _streams, note=_unread),
    PaneKind("providers", "4", "Providers", _providers),
    PaneKind("calls", "5", "Calls", _calls),
    PaneKind(
        "emitters",
        "6",
        "Emitters",
        _emitters,
        note=_failed_emitters,
        has_rows=lambda view: bool(view.state.emitters or view.state.folder_problems),
    ),
)
"""The panes in the order of their keys."""
