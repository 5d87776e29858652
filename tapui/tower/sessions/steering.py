"""What the person can order of a session from its row: asked about, chosen, given."""

from collections.abc import Callable

from textual.app import App

from tapui.projection.words import can_stop
from tapui.tower.app.tower import RowAction, Tower
from tapui.tower.sessions import session_status
from tapui.tower.textual.dialogs import AskLineScreen, Choice, ChooseScreen
from tapui.tower.textual.sheet import ConfirmScreen
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
        return [
            self._action("o", "model", self._model_words(), self.choose_model),
            self._action("e", "effort", self._effort_words(), self.choose_effort),
            self._action("k", "compact", "compact the context", self.compact),
            self._action("n", "label", "rename", self.rename),
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

    def _model_words(self) -> str:
        model = self._session.model
        return f"model (now {model})" if model else "model"

    def _effort_words(self) -> str:
        effort = self._session.effort
        return f"reasoning effort (now {effort})" if effort else "reasoning effort"

    def _action(
        self, letter: str, ability: Ability, does: str, act: Callable[[], None]
    ) -> RowAction:
        if ability in self._session.can:
            return RowAction(letter, does, act)
        reason = self._session.cannot.get(ability) or "its host does not offer that"
        words = f"{does} (not possible: {reason})"
        return RowAction(letter, words, lambda: self._app.notify(words, severity="warning"))

    def ask_stop(self) -> None:
        """Ask whether the turn is to be stopped; stop it on *yes*."""
        view, session = self._tower.view, self._session
        stands = session_status.of_session(view.state, session, None, 0)

        def answered(is_sure: bool | None) -> None:
            now = view.state.sessions.get(session.id)
            if is_sure and now is not None and can_stop(now):
                self._tower.orders.stop(session.id)
            elif is_sure:
                self._app.notify(
                    f"The turn of {self._session_name} has ended already.", markup=False
                )

        lines = [one for one in (stands.now,) if one]
        lines.append("What waits for the turn's end is dropped. Detached commands go on.")
        question = f"Stop the turn of {self._session_name}?"
        self._app.push_screen(ConfirmScreen(question, lines, "stop the turn"), answered)

    def compact(self) -> None:
        self._tower.orders.compact(self._session.id)

    def rename(self) -> None:
        def named(label: str | None) -> None:
            if label is not None and label != self._session.label:
                self._tower.orders.set(self._session.id, "label", label)

        self._app.push_screen(
            AskLineScreen(f"New name of {self._session_name}", self._session_name), named
        )

    def choose_model(self) -> None:
        self._tower.orders.read_models(self._session.id, self._models_came)

    def _models_came(self, listed: ModelsList) -> None:
        title = f"Model of {self._session_name}"
        if not listed.models:
            hint = listed.error or "Its host names no models: any name may be tried."
            screen = AskLineScreen(title, self._session.model or "", hint)
            self._app.push_screen(screen, self._model_chosen)
            return
        choices = [Choice(one.id, one.id, one.name or "") for one in listed.models]
        chooser = ChooseScreen(title, choices, selected=self._session.model)
        self._app.push_screen(chooser, self._model_chosen)

    def _model_chosen(self, model: str | None) -> None:
        if model is not None and model != self._session.model:
            self._tower.orders.set(self._session.id, "model", model)

    def choose_effort(self) -> None:
        if "model" in self._session.can:
            self._tower.orders.read_models(self._session.id, self._efforts_came)
        else:
            self._efforts_came(ModelsList(""))

    def _efforts_came(self, listed: ModelsList) -> None:
        current = self._session.model
        known = [one.efforts for one in listed.models or () if one.id == current and one.efforts]
        efforts = known[0] if known else EFFORTS

        def chosen(effort: str | None) -> None:
            if effort is not None:
                self._tower.orders.set(self._session.id, "effort", effort)

        title = f"Reasoning effort of {self._session_name}"
        choices = [Choice(one, one) for one in efforts]
        selected = self._session.effort or None
        self._app.push_screen(ChooseScreen(title, choices, selected=selected), chosen)
