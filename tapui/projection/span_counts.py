"""How many spans were recorded, in which of them something failed, and how their export goes."""

from typing import Any

from tapui.projection.state import State
from tapui.wire.subjects import SpanExport


def told_spans(state: State, session_id: str | None = None) -> dict[str, int]:
    """Return the counts of a session, or of all that are known, for JSON: `spans` that were
    recorded, `errors` among them, and `dropped` ones, which were too many to be recorded."""
    counts = list(state.spans.values()) if session_id is None else [state.spans_of(session_id)]
    return {
        "spans": sum(one.spans for one in counts),
        "errors": sum(one.errors for one in counts),
        "dropped": sum(one.dropped for one in counts),
    }


def told_export(export: SpanExport | None) -> dict[str, Any] | None:
    """Return how the live export goes, for JSON; None while there is none."""
    if export is None:
        return None
    return {
        "endpoint": export.endpoint,
        "sent": export.sent,
        "dropped": export.dropped,
        "error": export.error,
    }


def export_trouble(export: SpanExport | None) -> str | None:
    """Return what is wrong with the live export; None for nothing."""
    if export is None or (export.error is None and not export.dropped):
        return None
    lost = f"{export.dropped:,} spans did not reach {export.endpoint}"
    return lost if export.error is None else f"{lost}: {export.error}"


def dropped_words(state: State) -> str | None:
    """Return how many spans were too many to be recorded; None for none."""
    dropped = told_spans(state)["dropped"]
    return f"{dropped:,} spans were too many to be recorded" if dropped else None
