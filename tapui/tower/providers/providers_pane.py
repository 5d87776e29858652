"""The providers: who is plugged in, how far they are trusted, and what they offer."""

from typing import ClassVar

from textual.binding import BindingType

from tapui import times
from tapui.tower.app.tower import RowAction
from tapui.tower.app.view import View
from tapui.tower.keys.bindings import bindings
from tapui.tower.table.columns import Cell, Column, Row
from tapui.tower.table.table import Table
from tapui.tower.table.table_pane import TablePane
from tapui.tower.wording import marks
from tapui.tower.wording.words import name_of, quantity, session_of
from tapui.wire import subjects
from tapui.wire.tower import InjectsResume, ProviderDisconnect

GONE_SHOWN = 60.0
"""How long a provider that went stays on screen, in seconds."""

_HELD = marks.Mark("‖", "held", "strong")


class ProvidersPane(TablePane):
    """Providers that are connected or just went."""

    TOPICS = frozenset({"providers", "sessions", "calls", "clock"})
    HELP = """\
`project` providers showed this user's token; `external` ones were paired from a web page and are
bound to its Origin. *Last* is the time since the last call or change. `held`: the provider prompted
its session three times without your input; further messages are held.
"""
    BINDINGS: ClassVar[list[BindingType]] = bindings("stop")
    COLUMNS = (
        Column("provider", 12, 64, cuts_middle=True),
        Column("state", 8, 12, rank=1, is_common=True),
        Column("trust", 8, rank=4, is_spare=True, is_common=True),
        Column("session", 8, 64, rank=5, is_spare=True, grows=True, cuts_middle=True),
        Column("tools", 5, 9, rank=2, right=True),
        Column("origin", 6, 40, rank=6, is_spare=True, is_common=True),
        Column("last", 4, 7, rank=3, is_spare=True, right=True),
    )

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """What cannot be done to the selected row is not offered."""
        if action == "stop":
            provider = self._provider()
            return provider is not None and provider.state != "disconnected"
        return super().check_action(action, parameters)

    @property
    def subject(self) -> str:
        provider = self._provider()
        return name_of(provider) if provider is not None else ""

    def row_actions(self) -> list[RowAction]:
        """Call a tool of it, inspect it, move it, resume its injects, disconnect it."""
        provider = self._provider()
        if provider is None or provider.state == "disconnected":
            return []
        found = []
        if self.tower.can_call and self._sessions(provider):
            found.append(RowAction("c", "call a tool of it", self._call))
        found.append(RowAction("i", "inspect its conversation", self._inspect))
        found.append(RowAction("m", "move to another session", self._move))
        if provider.paused:
            found.append(RowAction("r", "send the messages of it that are held", self._resume))
        return [*found, RowAction("d", "disconnect", self.action_stop)]

    def _inspect(self) -> None:
        provider = self._provider()
        if provider is not None:
            from tapui.tower.providers.inspector import InspectorScreen

            self.app.push_screen(InspectorScreen(name_of(provider), provider_id=provider.id))

    def on_table_opened(self, event: Table.Opened) -> None:
        event.stop()
        if event.key in self.tower.view.state.providers:
            from tapui.tower.providers.provider_sheet import ProviderScreen

            self.app.push_screen(ProviderScreen(event.key, self.shown_keys))

    def _sessions(self, provider: subjects.Provider) -> list[subjects.Session]:
        if not provider.tools:
            return []
        return [one for one in self.tower.view.open_sessions if provider.id in one.providers]

    def _call(self) -> None:
        provider = self._provider()
        if provider is not None and (sessions := self._sessions(provider)):
            from tapui.tower.workbench.tools import call_tool

            call_tool(self.tower, sessions, provider=provider.name)

    def _move(self) -> None:
        provider = self._provider()
        if provider is None:
            return
        from tapui.tower.textual.dialogs import Choice, ChooseScreen

        choices = [
            Choice(one.id, one.label or one.id, marks.SESSION[one.state].text)
            for one in self.tower.view.open_sessions
        ]

        def chosen(session_id: str | None) -> None:
            if session_id is not None and session_id != provider.session_id:
                self.tower.move(provider.id, session_id)

        title = f"Move {name_of(provider)} to"
        self.app.push_screen(ChooseScreen(title, choices, selected=provider.session_id), chosen)

    def action_stop(self) -> None:
        provider = self._provider()
        if provider is None:
            return
        from tapui.tower.textual.sheet import ConfirmScreen

        calls = [
            one for one in self.tower.view.state.calls.values() if one.provider_id == provider.id
        ]
        consequence = f"{quantity(len(calls), 'running call')} will fail."

        def confirmed(is_sure: bool | None) -> None:
            if is_sure:
                self.tower.send(ProviderDisconnect(provider_id=provider.id))

        title = f"Disconnect {name_of(provider)}?"
        self.app.push_screen(ConfirmScreen(title, [consequence], "disconnect"), confirmed)

    def _resume(self) -> None:
        provider = self._provider()
        if provider is not None:
            for session_id in provider.paused:
                self.tower.send(InjectsResume(provider_id=provider.id, session_id=session_id))

    def rows(self, view: View) -> list[Row]:
        """Connected providers, then those that just went."""
        rows = [_row(view, provider) for provider in view.providers]
        for provider in reversed(view.state.providers.values()):
            if provider.state == "disconnected":
                gone = times.since(view.gone.get(provider.id), view.now)
                if gone is not None and gone < GONE_SHOWN:
                    rows.append(_row(view, provider))
        return rows

    def first_steps(self) -> list[tuple[str, str]]:
        command = "bold $primary"
        return [
            ("No provider yet. One connects to", ""),
            (f"  {self.tower.feed.address}", command),
            ("", ""),
            ("with the token in", ""),
            (f"  {self.tower.token_file}", command),
            ("", ""),
            ("or asks to pair from a web page; you are then asked above.", ""),
        ]

    def _provider(self) -> subjects.Provider | None:
        return self.tower.view.state.providers.get(self.selected)


def _mark(provider: subjects.Provider) -> marks.Mark:
    return _HELD if provider.paused else marks.PROVIDER[provider.state]


def _last(view: View, provider: subjects.Provider) -> float | None:
    return times.since(provider.last_activity or provider.connected_at, view.now)


def _row(view: View, provider: subjects.Provider) -> Row:
    mark = _mark(provider)
    quiet = "muted" if provider.state == "disconnected" else ""
    return Row(
        provider.id,
        (
            Cell(name_of(provider), quiet, mark.glyph, mark.tone),
            Cell(mark.word, quiet),
            Cell(provider.trust, quiet or marks.TRUST_TONE[provider.trust]),
            Cell(session_of(view, provider), quiet),
            Cell(str(len(provider.tools)), quiet),
            Cell(provider.origin or "", "muted"),
            Cell(times.lasting(_last(view, provider)), "muted"),
        ),
        values={
            0: name_of(provider),
            1: mark.word,
            3: session_of(view, provider),
            4: len(provider.tools),
            6: _last(view, provider) or 0.0,
        },
    )
