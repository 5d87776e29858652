"""Rules that the person's own answers suggest: the list, and one in full, to take or refuse."""

import asyncio
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, ClassVar

from textual import work
from textual.binding import Binding, BindingType
from textual.widget import Widget
from textual.widgets import Static

from tapui.projection.paragraphs import Paragraph, title, value
from tapui.tower.app.services import EarlierFault, RuleSuggestions
from tapui.tower.app.view import View
from tapui.tower.keys.bindings import bindings
from tapui.tower.requests.answer_fields import Letter, Letters
from tapui.tower.table.columns import Cell, Column, Row
from tapui.tower.textual.detail import DetailView
from tapui.tower.textual.dialogs import FilteredListScreen
from tapui.tower.textual.sheet import Sheet
from tapui.tower.textual.widgets import plain
from tapui.tower.wording.marks import Mark
from tapui.tower.wording.words import quantity

if TYPE_CHECKING:
    from tapui.policies.suggestions import SuggestedRules

_MOST_SHOWN = 200
"""Requests that a suggestion names."""
_LOOKING = "In the records: looking …"
_NONE = "None: no request was allowed three times that a rule may answer.    Esc back"
_DOES = {"make-rule": "make the rule", "never": "never suggest it again"}
_ENTER = {"make-rule": "writes the rule", "never": "has it never suggested again"}


class SuggestionDetail(DetailView):
    """A suggestion in full; a letter chooses what becomes of it, Enter does that.

    `suggestions` are all of the list, by key. `acts` do what is chosen, and return why that failed,
    or None.
    """

    HELP = (
        "A rule that your answers suggest, with the folders where it would hold, what would be "
        "written, and the requests that it would have answered. A letter chooses, Enter decides."
    )
    REVEALS = True
    DEFAULT_CSS = "SuggestionDetail Static { height: auto; width: 1fr; margin-top: 1; }"
    BINDINGS: ClassVar[list[BindingType]] = [
        *bindings("make-rule", "never-suggest"),
        Binding("enter", "decide", "Decide", show=False),
    ]

    def __init__(
        self,
        key: str,
        suggestions: "Mapping[str, SuggestedRules]",
        acts: "Mapping[str, Callable[[SuggestedRules], str | None]]",
    ) -> None:
        super().__init__(key, lambda: list(suggestions))
        self._suggestions = suggestions
        self._acts = acts
        self._chosen: str | None = None
        self._trouble = ""

    def below(self) -> Iterable[Widget]:
        yield Letters()
        yield Static("", classes="prompt", markup=False)

    def show(self, view: View, dirty: frozenset[str]) -> None:
        del view, dirty
        suggestion = self._suggestions[self.key]
        self.set_frame(Mark("·", "suggested", "muted"), " and ".join(suggestion.patterns), "")
        rule, *about = suggestion.lines()
        shown = suggestion.requests[:_MOST_SHOWN]
        more = len(suggestion.requests) - len(shown)
        self.reader.set_parts(
            [
                value(rule, "strong"),
                *(Paragraph(line) for line in about),
                Paragraph(""),
                title("Folders"),
                *(value(folder) for folder in suggestion.folders),
                Paragraph(""),
                title("What would be written"),
                value(suggestion.as_toml().rstrip("\n"), is_laid_out=True),
                Paragraph(""),
                title("Requests that it would have answered"),
                *(value(f"{times:>4}×  {text}") for text, times in shown),
                *([Paragraph(f"and {more:,} more", "muted")] if more > 0 else []),
            ]
        )
        self._prompt()

    def go_to(self, key: str) -> None:
        self._chosen, self._trouble = None, ""
        super().go_to(key)

    def close_topmost(self) -> bool:
        chosen, self._chosen = self._chosen, None
        self._prompt()
        return chosen is not None

    def on_letters_clicked(self, event: Letters.Clicked) -> None:
        event.stop()
        self.action_choose(event.answer)

    def action_choose(self, answer: str) -> None:
        if self._hears():
            self._chosen = answer
        self._prompt()

    def action_decide(self) -> None:
        if self._hears() and self._chosen is None:
            self._trouble = "Choose by a letter first."
        elif self._hears() and self._chosen is not None:
            fault = self._acts[self._chosen](self._suggestions[self.key])
            if fault is None:
                self.leave()
                return
            self._chosen, self._trouble = None, fault
        self._prompt()

    def _hears(self) -> bool:
        """Return whether a key counts now: nothing is decided unseen, by what was typed ahead."""
        is_alone = self.tower.typed.is_alone
        self._trouble = "" if is_alone else "Pressed with other keys, so it does not count."
        return is_alone

    def _prompt(self) -> None:
        key_of = self.tower.key_of
        letters = [
            Letter(answer, key_of(name), _DOES[answer])
            for answer, name in (("make-rule", "make-rule"), ("never", "never-suggest"))
        ]
        self.query_one(Letters).set_letters(letters, self._chosen)
        line = plain(f"{self._trouble}  " if self._trouble else "", "bold $error", limit=300)
        if self._chosen is not None:
            line += plain(f"Enter {_ENTER[self._chosen]}", "bold $success")
            line += plain("    Esc back", "$text-muted")
        else:
            line += plain("A letter, then Enter.", "$text-muted")
        self.query_one(".prompt", Static).update(line)


class SuggestionsScreen(FilteredListScreen[None]):
    """What would spare the person most is first; the list is made anew after each that is taken or
    refused."""

    COLUMNS = (
        Column("rule", 16, grows=True, half=True),
        Column("where", 9, 40, rank=1, cuts_middle=True),
        Column("allowed", 7, 7, right=True),
        Column("would have answered", 19, 19, right=True),
    )

    def __init__(self, service: RuleSuggestions) -> None:
        super().__init__()
        self._service = service
        self._found: dict[str, SuggestedRules] = {}
        self._said = ""
        """What stands below in place of the keys: that it is looking, or why there is nothing."""

    def heading(self) -> str:
        return "Rules that your answers suggest"

    def on_mount(self) -> None:
        super().on_mount()
        self._look()

    @work(group="suggestions", exclusive=True)
    async def _look(self) -> None:
        self._found, self._said = {}, _LOOKING
        self.fill()
        try:
            found = await asyncio.to_thread(self._service.found)
        except EarlierFault as fault:
            self._said = f"{fault}    Esc back"
        else:
            self._found = {suggestion.key: suggestion for suggestion in found}
            self._said = "" if found else _NONE
        self.fill()

    def fill(self) -> None:
        count = self.set_rows([_row(suggestion) for suggestion in self._found.values()])
        self.say(self._said or f"{count}    Enter shows one in full    Esc back")

    def choose(self, key: str) -> None:
        acts = {"make-rule": self._take, "never": self._refuse}
        self.app.push_screen(Sheet(SuggestionDetail(key, self._found, acts)))

    def _take(self, suggestion: "SuggestedRules") -> str | None:
        return self._done(self._service.take(suggestion), "The rule is written.")

    def _refuse(self, suggestion: "SuggestedRules") -> str | None:
        return self._done(self._service.refuse(suggestion), "It is never suggested again.")

    def _done(self, fault: str | None, said: str) -> str | None:
        if fault is None:
            self.notify(said, timeout=5)
            self._look()
        return fault


def _row(suggestion: "SuggestedRules") -> Row:
    folders = suggestion.folders
    where = quantity(len(folders), "folder") if len(folders) > 1 else "".join(folders)
    return Row(
        suggestion.key,
        (
            Cell(" and ".join(suggestion.patterns), "strong"),
            Cell(where, "muted"),
            Cell(f"{suggestion.allowed:,}×"),
            Cell(f"{suggestion.answers:,} of {suggestion.looked_at:,}", "muted"),
        ),
    )
