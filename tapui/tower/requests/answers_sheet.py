"""The answers that were given, by the person, by rules and in Copilot; one opens its request."""

from tapui.tower.requests.request_detail import RequestDetail
from tapui.tower.requests.waiting_band import answered_row
from tapui.tower.table.columns import Column
from tapui.tower.textual.dialogs import FilteredListScreen
from tapui.tower.textual.sheet import Sheet


class AnswersScreen(FilteredListScreen[None]):
    """The newest first, as far back as the tower keeps them."""

    TOPICS = frozenset({"approvals", "sessions"})
    COLUMNS = (
        Column("when", 8, 8),
        Column("answer", 9, 32),
        Column("session", 10, 32, rank=1, cuts_middle=True),
        Column("asked for", 10, grows=True, half=True),
    )

    def heading(self) -> str:
        return "Answers"

    def on_mount(self) -> None:
        super().on_mount()
        self.fill()

    def fill(self) -> None:
        view = self.tower.view
        count = self.set_rows([answered_row(view, one) for one in view.decided])
        self.say(f"{count}    Enter the request    Esc back" if view.decided else "None yet.")

    def choose(self, key: str) -> None:
        self.app.push_screen(Sheet(RequestDetail(key)))
