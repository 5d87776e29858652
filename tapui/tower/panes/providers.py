"""The providers: who is plugged in, how far they are trusted, and what they offer."""

from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.content import Content

from tapui import invocation, times
from tapui.tower import marks
from tapui.tower.panes.table_pane import TablePane
from tapui.tower.plain import facts, headline, plain
from tapui.tower.table import Cell, Column, Row, Table
from tapui.tower.view import View
from tapui.tower.words import name_of, quantity, session_of
from tapui.wire import events as ev
from tapui.wire.tower import InjectsResume, ProviderDisconnect

GONE_SHOWN = 60.0
"""How long a provider that went stays on screen, in seconds."""

_HELD = marks.Mark("‖", "held", "warning")


class ProvidersPane(TablePane):
    """Providers that are connected or just went."""

    TOPICS = frozenset({"providers", "sessions", "calls", "clock"})
    HELP = """\
`project` providers showed this user's token; `external` ones were paired from a web page and are
bound to its Origin. *Last* is the time since the last call or change. `held`: the provider prompted
its session three times without your input; further messages are held.
"""
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("m", "move", "Move", tooltip="Bind this provider to another session"),
        Binding("x", "disconnect", "Disconnect", tooltip="Close this provider's connection"),
        Binding("r", "resume", "Resume", tooltip="Send this provider's held messages"),
    ]
    COLUMNS = (
        Column("provider", 12, 64),
        Column("state", 9),
        Column("trust", 8, rank=3),
        Column("session", 8, 24, rank=2),
        Column("tools", 5, rank=4, right=True),
        Column("origin", 6, 28, rank=5),
        Column("last", 4, right=True),
    )

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """What cannot be done to the selected row is not offered."""
        del parameters
        provider = self._provider()
        if action in ("move", "disconnect"):
            return provider is not None and provider.state != "disconnected"
        if action == "resume":
            return provider is not None and bool(provider.paused)
        return True

    def on_table_opened(self, event: Table.Opened) -> None:
        """Show a provider's tools and what it was refused."""
        event.stop()
        if event.key in self.tower.view.state.providers:
            from tapui.tower.screens.provider import ProviderScreen

            self.app.push_screen(ProviderScreen(event.key))

    def action_move(self) -> None:
        """Ask for a session and move the provider there."""
        provider = self._provider()
        if provider is None:
            return
        from tapui.tower.screens.choose import Choice, ChooseScreen

        choices = [
            Choice(one.id, one.label or one.id, marks.SESSION[one.state].text)
            for one in self.tower.view.open_sessions
        ]

        def chosen(session_id: str | None) -> None:
            if session_id is not None and session_id != provider.session_id:
                self.tower.move(provider.id, session_id)

        title = f"Move {name_of(provider)} to"
        self.app.push_screen(ChooseScreen(title, choices, selected=provider.session_id), chosen)

    def action_disconnect(self) -> None:
        """Close the provider's connection, once the person confirmed."""
        provider = self._provider()
        if provider is None:
            return
        from tapui.tower.screens.confirm import ConfirmScreen

        calls = [
            one for one in self.tower.view.state.calls.values() if one.provider_id == provider.id
        ]
        consequence = f"{quantity(len(calls), 'running call')} will fail."

        def confirmed(is_sure: bool | None) -> None:
            if is_sure:
                self.send(ProviderDisconnect(provider_id=provider.id))

        title = f"Disconnect {name_of(provider)}?"
        self.app.push_screen(ConfirmScreen(title, [consequence], "disconnect"), confirmed)

    def action_resume(self) -> None:
        """Send the messages that the loop brake holds."""
        provider = self._provider()
        if provider is not None:
            for session_id in provider.paused:
                self.send(InjectsResume(provider_id=provider.id, session_id=session_id))

    def rows(self, view: View) -> list[Row]:
        """Connected providers, then those that just went."""
        rows = [_row(view, provider) for provider in view.providers]
        for provider in reversed(view.state.providers.values()):
            if provider.state == "disconnected":
                gone = times.since(view.gone.get(provider.id), view.now)
                if gone is not None and gone < GONE_SHOWN:
                    rows.append(_row(view, provider))
        return rows

    def about(self, view: View, key: str) -> list[Content]:
        """Return a provider in full."""
        provider = view.state.providers.get(key)
        if provider is None:
            return []
        tools = ", ".join(provider.tools[:20]) + (" …" if len(provider.tools) > 20 else "")
        return [
            headline(
                _mark(provider),
                name_of(provider),
                f"active {times.age(_last(view, provider))} ago",
            ),
            facts(
                [
                    provider.trust,
                    f"session {session_of(view, provider)}",
                    provider.origin or "local program",
                    provider.reason,
                ]
            ),
            plain("Further messages of it are held: r sends them", "$warning")
            if provider.paused
            else facts([tools or "offers no tools"]),
        ]

    def first_steps(self) -> list[tuple[str, str]]:
        """How a provider gets here."""
        command = "bold $primary"
        starts = invocation.command("demo")
        demo = [("", ""), ("To see a demonstration:", ""), (f"  {starts}", command)]
        return [
            ("No provider yet. A provider connects to the address above with the token in", ""),
            (f"  {self.tower.token_file}", command),
            ("or asks to pair from a web page; you are then asked under Approvals.", ""),
            *([] if self.tower.is_demo else demo),
        ]

    def _provider(self) -> ev.Provider | None:
        return self.tower.view.state.providers.get(self.selected)


def _mark(provider: ev.Provider) -> marks.Mark:
    return _HELD if provider.paused else marks.PROVIDER[provider.state]


def _last(view: View, provider: ev.Provider) -> float | None:
    return times.since(provider.last_activity or provider.connected_at, view.now)


def _row(view: View, provider: ev.Provider) -> Row:
    mark = _mark(provider)
    quiet = "muted" if provider.state == "disconnected" else ""
    return Row(
        provider.id,
        (
            Cell(name_of(provider), quiet or "strong"),
            Cell(mark.text, mark.tone),
            Cell(provider.trust, quiet or marks.TRUST_TONE[provider.trust]),
            Cell(session_of(view, provider), quiet),
            Cell(str(len(provider.tools)), quiet),
            Cell(provider.origin or "-", "muted"),
            Cell(times.age(_last(view, provider)), "muted"),
        ),
    )
