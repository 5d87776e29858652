"""What the person can order of a session from its row: asked about, chosen, given."""

from collections.abc import Callable
from functools import partial
from typing import Literal

from textual.app import App

from tapui.tower.app.tower import RowAction, Tower
from tapui.tower.textual.dialogs import AskLineScreen, Choice, ChooseScreen
from tapui.tower.textual.sheet import LiveScreen, ask
from tapui.wire.steering import EFFORTS, Ability, ModelsList
from tapui.wire.subjects import Session


class SessionOrders:
    """The orders that can be given to one session."""

    def __init__(self, tower: Tower, app: App[object], session: Session) -> None:
        self._tower = tower
        self._app = app
        self._session = session
        self._session_name = session.label or session.id

    def actions(self) -> list[RowAction]:
        """Return them with their letters; what is not possible says why."""
        model = _with_now("model", self._session.model)
        effort = _with_now("reasoning effort", self._session.effort)
        return [
            self._action("o", "model", model, self._choose_model),
            self._action("e", "effort", effort, self._choose_effort),
            self._action("k", "compact", "compact the context", self._compact),
            self._action("n", "label", "rename", self._rename),
            *self._of_headless(),
        ]

    def _of_headless(self) -> list[RowAction]:
        if "close" not in self._session.can:
            return []
        tower, session = self._tower, self._session
        return [
            RowAction("h", "hand it over to a terminal", lambda: tower.hand_over(session)),
            RowAction("d", "end it", lambda: tower.end_session(session)),
        ]

    def _action(
        self, letter: str, ability: Ability, does: str, act: Callable[[], None]
    ) -> RowAction:
        if ability in self._session.can:
            return RowAction(letter, does, act)
        reason = self._session.cannot.get(ability) or "its host does not offer that"
        words = f"{does} (not possible: {reason})"
        return RowAction(letter, words, lambda: self._app.notify(words, severity="warning"))

    def _compact(self) -> None:
        self._tower.orders.compact(self._session.id)

    def _rename(self) -> None:
        question = f"New name of {self._session_name}"
        ask(self._app, AskLineScreen(question, self._session_name), partial(self._set, "label"))

    def _set(self, what: Literal["label", "model", "effort"], value: str) -> None:
        if value != getattr(self._session, what):
            self._tower.orders.set(self._session.id, what, value)

    def _choose_model(self) -> None:
        self._tower.orders.read_models(self._session.id, self._models_came)

    def _models_came(self, listed: ModelsList) -> None:
        title = f"Model of {self._session_name}"
        screen: LiveScreen[str]
        if listed.models:
            choices = [Choice(one.id, one.id, one.name or "") for one in listed.models]
            screen = ChooseScreen(title, choices, selected=self._session.model)
        else:
            hint = listed.error or "Its host names no models: any name may be tried."
            screen = AskLineScreen(title, self._session.model or "", hint)
        ask(self._app, screen, partial(self._set, "model"))

    def _choose_effort(self) -> None:
        if "model" in self._session.can:
            self._tower.orders.read_models(self._session.id, self._efforts_came)
        else:
            self._efforts_came(ModelsList(""))

    def _efforts_came(self, listed: ModelsList) -> None:
        current = self._session.model
        known = [one.efforts for one in listed.models or () if one.id == current and one.efforts]
        efforts = known[0] if known else EFFORTS
        title = f"Reasoning effort of {self._session_name}"
        choices = [Choice(one, one) for one in efforts]
        selected = self._session.effort or None
        chooser = ChooseScreen(title, choices, selected=selected)
        ask(self._app, chooser, partial(self._set, "effort"))


def _with_now(name: str, now: str | None) -> str:
    return f"{name} (now {now})" if now else name
