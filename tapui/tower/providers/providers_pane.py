"""The providers: who is plugged in, how far they are trusted, and what they offer."""

from collections.abc import Sequence
from functools import partial
from typing import ClassVar

from textual.binding import BindingType

from tapui import times
from tapui.tower.app.tower import RowAction
from tapui.tower.app.view import View
from tapui.tower.keys.bindings import bindings
from tapui.tower.table.columns import Cell, Column, Row
from tapui.tower.table.table import Table
from tapui.tower.table.table_pane import TablePane
from tapui.tower.textual.detail import DetailView
from tapui.tower.textual.sheet import ask, confirm
from tapui.tower.wording import marks
from tapui.tower.wording.words import name_of, quantity, session_of
from tapui.wire.subjects import Provider, Session
from tapui.wire.tower import InjectsResume, ProviderDisconnect

GONE_SHOWN = 60.0
"""How long a provider that went stays on screen, in seconds."""

_HELD = marks.Mark("‖", "held", "strong")


class ProvidersPane(TablePane):
    """Providers that are connected or just went."""

    SIGNS = marks.signs(*marks.PROVIDER.values())

    TOPICS = frozenset({"providers", "sessions", "calls", "clock"})
    HELP = """\
`project` providers showed this user's token; `external` ones were paired from a web page and are
bound to its Origin. *Last* is the time since the last call or change. `held`: the provider prompted
its session three times without your input; further messages are held.
"""
    BINDINGS: ClassVar[list[BindingType]] = bindings("stop")
    COLUMNS = (
        Column("provider", 12, 64, cuts_middle=True),
        Column("state", 8, 12, rank=1, is_common=True, stays=True),
        Column("trust", 8, rank=4, is_spare=True, is_common=True),
        Column("session", 8, 64, rank=5, is_spare=True, grows=True, cuts_middle=True),
        Column("tools", 5, 9, rank=2, right=True),
        Column("origin", 6, 40, rank=6, is_spare=True, is_common=True),
        Column("last", 4, 7, rank=3, is_spare=True, right=True),
    )

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action == "stop":
            provider = self._provider()
            return provider is not None and provider.state != "disconnected"
        return super().check_action(action, parameters)

    @property
    def subject(self) -> str:
        provider = self._provider()
        return name_of(provider) if provider is not None else ""

    def row_actions(self) -> list[RowAction]:
        provider = self._provider()
        if provider is None or provider.state == "disconnected":
            return []
        actions = []
        sessions = [one for one in self.tower.view.open_sessions if provider.id in one.providers]
        if self.tower.can_call and provider.tools and sessions:
            call = partial(self._call, provider, sessions)
            actions.append(RowAction("c", "call a tool of it", call))
        actions.append(RowAction("i", "inspect its conversation", partial(self._inspect, provider)))
        actions.append(RowAction("m", "move to another session", partial(self._move, provider)))
        if provider.paused:
            resume = partial(self._resume, provider)
            actions.append(RowAction("r", "send the messages of it that are held", resume))
        return [*actions, RowAction("d", "disconnect", self.action_stop)]

    def _inspect(self, provider: Provider) -> None:
        from tapui.tower.providers.inspector import InspectorScreen

        self.app.push_screen(InspectorScreen(name_of(provider), provider_id=provider.id))

    def on_table_opened(self, event: Table.Opened) -> None:
        event.stop()
        self.open_shown()

    def shown(self) -> DetailView | None:
        if self.selected not in self.tower.view.state.providers:
            return None
        from tapui.tower.providers.provider_detail import ProviderDetail

        return ProviderDetail(self.selected, self.shown_keys)

    def _call(self, provider: Provider, sessions: Sequence[Session]) -> None:
        from tapui.tower.workbench.tools import call_tool

        call_tool(self.tower, sessions, provider=provider.name)

    def _move(self, provider: Provider) -> None:
        from tapui.tower.textual.dialogs import Choice, ChooseScreen

        choices = [
            Choice(one.id, one.label or one.id, marks.SESSION[one.state].text)
            for one in self.tower.view.open_sessions
        ]

        def move(session_id: str) -> None:
            if session_id != provider.session_id:
                self.tower.move(provider.id, session_id)

        title = f"Move {name_of(provider)} to"
        ask(self.app, ChooseScreen(title, choices, selected=provider.session_id), move)

    def action_stop(self) -> None:
        provider = self._provider()
        if provider is None:
            return
        calls = [
            one for one in self.tower.view.state.calls.values() if one.provider_id == provider.id
        ]
        disconnect = ProviderDisconnect(provider_id=provider.id)
        confirm(
            self.app,
            f"Disconnect {name_of(provider)}?",
            [f"{quantity(len(calls), 'running call')} will fail."],
            "disconnect",
            lambda: self.tower.send(disconnect),
        )

    def _resume(self, provider: Provider) -> None:
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

    def _provider(self) -> Provider | None:
        return self.tower.view.state.providers.get(self.selected)


def _mark(provider: Provider) -> marks.Mark:
    return _HELD if provider.paused else marks.PROVIDER[provider.state]


def _last(view: View, provider: Provider) -> float | None:
    return times.since(provider.last_activity or provider.connected_at, view.now)


def _row(view: View, provider: Provider) -> Row:
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
