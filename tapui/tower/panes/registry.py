"""The panes: one table that the main screen, the keys, the tabs, the help and the palette follow.

A pane is added by an entry here (or in the `panes` that `TowerApp` is given), and nowhere else.
"""

from tapui.tower.panes.pane import Pane, PaneKind
from tapui.tower.view import View
from tapui.tower.words import rate


def _sessions() -> type[Pane]:
    from tapui.tower.panes.sessions import SessionsPane

    return SessionsPane


def _providers() -> type[Pane]:
    from tapui.tower.panes.providers import ProvidersPane

    return ProvidersPane


def _calls() -> type[Pane]:
    from tapui.tower.panes.calls import CallsPane

    return CallsPane


def _streams() -> type[Pane]:
    from tapui.tower.panes.streams import StreamsPane

    return StreamsPane


def _approvals() -> type[Pane]:
    from tapui.tower.panes.approvals import ApprovalsPane

    return ApprovalsPane


def _running(view: View) -> str:
    return f"({len(view.state.calls)})" if view.state.calls else ""


def _unread(view: View) -> str:
    count = sum(ring.unread for ring in view.rings.values())
    return f"({rate(count)})" if count else ""


def _waiting(view: View) -> str:
    return f"({len(view.waiting)}!)" if view.waiting else ""


APPROVALS = PaneKind(
    "approvals",
    "5",
    "Approvals",
    _approvals,
    column=1,
    share=2,
    note=_waiting,
    alert=lambda view: bool(view.waiting),
)
PANES: tuple[PaneKind, ...] = (
    PaneKind("sessions", "1", "Sessions", _sessions, column=0),
    PaneKind("providers", "2", "Providers", _providers, column=0),
    PaneKind("calls", "3", "Calls", _calls, column=1, share=3, note=_running),
    PaneKind("streams", "4", "Streams", _streams, column=2, note=_unread),
    APPROVALS,
)
"""The panes in the order of their keys."""
