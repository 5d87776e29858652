"""What became of a text that was sent to several sessions, in one place."""

from collections import Counter

from tapui.projection.paragraphs import Paragraph, title, value
from tapui.projection.words import WAYS
from tapui.text import cut
from tapui.tower.app.view import View
from tapui.tower.sessions.sent_orders import DeliveryState
from tapui.tower.table.columns import fit
from tapui.tower.textual.detail import DetailView, fact
from tapui.tower.wording.marks import Mark
from tapui.tower.wording.words import quantity

_NAME = 28
_MARKS: dict[DeliveryState, Mark] = {
    "done": Mark("✓", "delivered", "success"),
    "waits": Mark("◌", "on their way", "muted"),
    "failed": Mark("✗", "not delivered", "error"),
}


class DeliveriesDetail(DetailView):
    """Of the last text to several sessions; a session has a line, in the order of the list."""

    TOPICS = frozenset({"sessions"})

    def __init__(self) -> None:
        super().__init__("")

    def show(self, view: View, dirty: frozenset[str]) -> None:
        del dirty
        told = self.tower.orders.told
        if told is None:
            return
        count = Counter(one.state for one in told.deliveries.values())
        note = ", ".join(f"{count[one]} {mark.word}" for one, mark in _MARKS.items() if count[one])
        mark = next(mark for one, mark in reversed(_MARKS.items()) if count[one])
        self.set_frame(mark, f"To {quantity(len(told.deliveries), 'session')}", note)
        parts = [*fact("text", told.text), *fact("way", WAYS[told.way]), Paragraph("")]
        parts.append(title("deliveries"))
        for id_, one in told.deliveries.items():
            mark = _MARKS[one.state]
            name = fit(cut(view.session_name(id_), _NAME), _NAME)
            tone = mark.tone if one.state == "failed" else ""
            parts.append(value(f"{mark.glyph} {name}  {one.words}", tone))
        self.reader.set_parts(parts)
