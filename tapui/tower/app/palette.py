"""The palette: every action of the panes and of the app, by its words."""

import asyncio
from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, cast

from textual.actions import parse
from textual.command import DiscoveryHit, Hit, Hits, Provider
from textual.content import Content

from tapui.text import safe_text
from tapui.tower.app.services import AnswerFault, KnownQuestion
from tapui.tower.keys.key_table import TABLE
from tapui.tower.textual.widgets import plain

if TYPE_CHECKING:
    from tapui.tower.app.base_app import BaseApp

Command = tuple[str, str, Callable[[], object]]
"""Name, help, act."""


def commands(app: "BaseApp") -> Iterator[Command]:
    """Yield what can be done now: panes, the row under the cursor, every action, themes."""
    for kind in app.pane_kinds:
        go = partial(app.run_action, f"go_to_pane('{kind.id}')")
        yield f"Go to {kind.title}", f"key {kind.key}", go
    pane = app.main.current_pane
    for row in pane.row_actions():
        about = f"{pane.subject}, keys {app.key_of('actions')} {row.letter}"
        yield row.does[:1].upper() + row.does[1:], safe_text(about, limit=100), row.act
    for one in TABLE:
        run = _runner(app, one.action)
        if run is not None and one.id != "commands":
            yield one.does[:1].upper() + one.does[1:], f"key {app.keys_of(one.id)}", run
    if app.check_action("answers", ()):
        answers = partial(app.run_action, "answers")
        yield "Answers that were given", "also by rules, in Copilot", answers
    if app.check_action("away", ()):
        yield "While you were away", "what happened, by session", partial(app.run_action, "away")
    if app.check_action("query", ()):
        ask = partial(app.run_action, "query")
        yield "Query: ask the records", "query NAME KEY=VALUE …, or query SELECT …", ask
    if app.check_action("suggest", ()):
        suggest = partial(app.run_action, "suggest")
        yield "Suggest rules", "rules that your own answers suggest", suggest
    if app.check_action("deliveries", ()):
        deliveries = partial(app.run_action, "deliveries")
        yield "Deliveries of the last text to several sessions", "", deliveries
    yield "Next theme", "", app.themes.next
    for name in app.themes.names:
        yield f"Theme: {name}", "", partial(app.themes.choose, name)


def _runner(app: "BaseApp", action: str) -> Callable[[], object] | None:
    """Return what does an action where it can be done now: in the pane, on the screen, here."""
    _, name, parameters = parse(action)
    for place in (app.main.current_pane, app.main, app):
        if hasattr(place, f"action_{name}") and place.check_action(name, parameters):
            return partial(app.run_action, action, place)
    return None


def _takes(question: KnownQuestion) -> str:
    return " ".join(f"{name}={default}" for name, default, _about in question.takes)


class TowerCommands(Provider):
    """What can be done, whether a key is bound to it or not; `query …` asks the records."""

    _typed = ""
    """The question that was typed last."""

    def _ask(self, text: str) -> None:
        """Ask what a hit says. Typed fast, Enter can come before the hit of the whole text is on
        the list: then it is the text that counts, not its beginning."""
        typed = self._typed
        cast("BaseApp", self.app).ask_records(typed if typed.startswith(text) else text)

    async def _asked(self, question: str) -> list[Hit]:
        """Return what asks a question as typed, and the questions whose names begin so."""
        app = cast("BaseApp", self.app)
        if not app.check_action("query", ()) or app.questions is None:
            return []
        try:
            known = await asyncio.to_thread(app.questions().known)
        except AnswerFault:
            known = []  # the sheet says it
        begun = [one for one in known if one.name.startswith(question) and one.name != question]
        whole = next((one for one in known if one.name == question.split(maxsplit=1)[0]), None)
        about = _takes(whole) if whole is not None else "ask the records"
        hits = [(one.name, f"{one.about} {_takes(one)}") for one in begun]
        hits.insert(0 if whole is not None else len(hits), (question, about))
        return [
            Hit(
                float(len(hits) - at),
                plain(f"query {text}", limit=200),
                partial(self._ask, text),
                text=safe_text(f"query {text}"),
                help=safe_text(help_, limit=200),
            )
            for at, (text, help_) in enumerate(hits)
        ]

    def _commands(self) -> Iterator[Command]:
        return commands(cast("BaseApp", self.app))

    async def discover(self) -> Hits:
        for name, about, act in self._commands():
            yield DiscoveryHit(Content(name), act, text=name, help=about)

    async def search(self, query: str) -> Hits:
        word, _, question = query.partition(" ")
        self._typed = question.strip() if word.lower() == "query" else ""
        if self._typed:
            for hit in await self._asked(self._typed):
                yield hit
            return
        matcher = self.matcher(query)
        for name, about, act in self._commands():
            score = matcher.match(name)
            if score > 0:
                yield Hit(score, matcher.highlight(name), act, text=name, help=about)
