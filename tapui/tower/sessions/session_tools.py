"""The tools of a session: what their descriptions cost, how often they were called, on or off."""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import ClassVar, NamedTuple

from textual.binding import BindingType
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Static

from tapui.projection.paragraphs import Paragraph
from tapui.tower.app.view import View
from tapui.tower.keys.bindings import bindings
from tapui.tower.table.columns import Cell, Column, Row
from tapui.tower.table.table import Table
from tapui.tower.textual.detail import DetailView, Keys, alone
from tapui.tower.textual.widgets import plain, show_in, tone_style
from tapui.tower.wording import marks
from tapui.tower.wording.words import quantity
from tapui.wire.message import BUILTIN_PROVIDER, OfferedTool
from tapui.wire.tower import ToolsList, ToolsSwitch

_COLUMNS = (
    Column("tool", 16, grows=True),
    Column("", 3, 16),
    Column("tokens", 6, 9, right=True),
    Column("calls", 5, 6, right=True),
)
_PROVIDER, _TOOL, _OWN = "provider ", "tool ", "own "
_CHARS_A_TOKEN = 4


class _Tool(NamedTuple):
    """A tool as the sheet lists it; one that is not offered now has no `tokens`."""

    name: str
    tokens: int | None


def tokens_of(tool: OfferedTool) -> int:
    """Return about how many tokens a tool's name, description and schema are: characters ÷ 4."""
    schema = bytes(tool.parameters).decode("utf-8", "replace")
    return (len(tool.name) + len(tool.description) + len(schema)) // _CHARS_A_TOKEN


class SessionToolsDetail(DetailView):
    """`key` is a session's id. One key switches the tool, or all of the provider, under the cursor.

    The list is read when it opens, and again when a provider has other tools.
    """

    TOPICS = frozenset({"sessions", "providers", "calls"})
    DEFAULT_CSS = """
    SessionToolsDetail Reader { display: none; }
    SessionToolsDetail .facts { height: auto; max-height: 5; width: 1fr; padding: 0 1; }
    """
    BINDINGS: ClassVar[list[BindingType]] = bindings("switch-tool")

    def __init__(self, key: str, keys: Keys = alone) -> None:
        super().__init__(key, keys)
        self._begin()

    def _begin(self) -> None:
        self._list: ToolsList | None = None
        self._tools: dict[str, list[_Tool]] = {}
        """By provider, in order of registration."""
        self._read_for: list[tuple[str, list[str]]] | None = None
        """What providers had when the list was asked for."""

    def below(self) -> Iterable[Widget]:
        yield Static("", classes="facts", markup=False)
        yield Table(_COLUMNS)

    def focus_inside(self) -> None:
        self.screen.set_focus(self.query_one(Table))

    def go_to(self, key: str) -> None:
        self._begin()
        super().go_to(key)

    # What is shown

    def show(self, view: View, dirty: frozenset[str]) -> None:
        del dirty
        session = view.state.sessions.get(self.key)
        if session is None:
            return
        self._read(view)
        off = view.state.tools_off.get(self.key, {})
        groups = self._groups(off)
        on = [one for provider, tools in groups.items() for one in _on(tools, off.get(provider))]
        cost = sum(one.tokens or 0 for one in on)
        count = sum(one.tokens is not None for tools in groups.values() for one in tools)
        note = f"{len(on)} of {count} on, ~{cost:,} tokens" if self._list is not None else ""
        name = f"Tools of {session.label or session.id}"
        self.set_frame(marks.SESSION[session.state], name, note)
        lines = [plain(one.text, tone_style(one.tone)) for one in self._facts(view)]
        show_in(self.query_one(".facts", Static), Content("\n").join(lines))
        self.query_one(Table).set_rows(self._rows(view, groups, off))
        self.refresh_bindings()

    def _read(self, view: View) -> None:
        """Ask for the list where it may have changed; take it once it has come."""
        had = [
            (one.id, one.tools)
            for one in view.state.providers.values()
            if one.state == "bound" and one.session_id in (self.key, "all")
        ]
        if had != self._read_for:
            self._read_for = had
            self.tower.calls_made.read_tools(self.key, all_of_them=True)
        listed = self.tower.calls_made.listed(self.key)
        if listed is not None and listed is not self._list:
            self._list = listed
            self._tools = {}
            for tool in listed.tools:
                one = _Tool(tool.name, tokens_of(tool))
                self._tools.setdefault(tool.provider, []).append(one)

    def _groups(self, off: Mapping[str, list[str]]) -> dict[str, list[_Tool]]:
        """Return the tools by provider, with those that are off and not offered now."""
        groups = {provider: list(tools) for provider, tools in self._tools.items()}
        for provider, names in off.items():
            known = groups.setdefault(provider, [])
            there = {one.name for one in known}
            known += [_Tool(name, None) for name in names if name not in there]
        return groups

    def _facts(self, view: View) -> list[Paragraph]:
        if self._list is None:
            refusal = self.tower.calls_made.refusals.get(self.key)
            if refusal:
                return [Paragraph(f"They cannot be read: {refusal}", "warning")]
            return [Paragraph("Reading the tools …", "muted")]
        about = "Tokens: characters of name, description and schema ÷ 4; each request has them."
        own = self._list.own
        whose = (
            "The host does not name the session's own tools."
            if own is None
            else f"{quantity(len(own), 'tool')} of the session's own: shown, not switched."
        )
        return [
            Paragraph(about, "muted"),
            Paragraph(whose, "muted"),
            Paragraph(_counted(view, self.key), "muted"),
        ]

    def _rows(
        self, view: View, groups: Mapping[str, list[_Tool]], off: Mapping[str, list[str]]
    ) -> list[Row]:
        calls = _calls(view, self.key)
        servers = {one.name for one in view.state.mcp_servers.values() if self.key in one.sessions}
        rows = []
        for provider, tools in groups.items():
            names = off.get(provider)
            is_off = names is not None and not names
            kind = "MCP server" if provider in servers else "provider"
            kind = "tapui's own" if provider == BUILTIN_PROVIDER else kind
            cost = sum(one.tokens or 0 for one in _on(tools, names))
            total = sum(calls[one.name] for one in tools)
            cells = (
                Cell(f"{provider}  {kind}", "strong", *_sign(is_off=is_off)),
                Cell("all off" if is_off else "" if tools else "not here"),
                Cell(f"{cost:,}", "muted"),
                Cell(f"{total:,}" if total else "", "muted"),
            )
            rows.append(Row(_PROVIDER + provider, cells))
            for one in tools:
                is_tool_off = names is not None and (not names or one.name in names)
                rows.append(_tool_row(one, provider, calls, is_off=is_tool_off))
        own = self._list.own if self._list is not None else None
        for name in own or ():
            cells = (
                Cell(name, "muted", "·", "muted"),
                Cell("its own", "muted"),
                Cell("", "muted"),
                Cell(f"{calls[name]:,}" if calls[name] else "", "muted"),
            )
            rows.append(Row(_OWN + name, cells))
        return rows

    def copied(self) -> str:
        rows = ("  ".join(row.texts).rstrip() for row in self.query_one(Table).rows)
        return "\n".join([*(one.text for one in self._facts(self.tower.view)), *rows])

    # What the person does

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action == "switch_tool":
            return self._wanted() is not None
        return super().check_action(action, parameters)

    def action_switch_tool(self) -> None:
        wanted = self._wanted()
        if wanted is not None:
            self.tower.send(wanted)

    def _wanted(self) -> ToolsSwitch | None:
        """Return the order that switches what is under the cursor the other way."""
        selected = self.query_one(Table).selected or "" if self.is_mounted else ""
        off = self.tower.view.state.tools_off.get(self.key, {})
        if selected.startswith(_PROVIDER):
            provider = selected.removeprefix(_PROVIDER)
            names = off.get(provider)
            return ToolsSwitch(self.key, provider, names is not None and not names)
        for provider, tools in self._groups(off).items():
            names = off.get(provider)
            for name in (one.name for one in tools):
                if selected == _tool_key(provider, name):
                    is_off = names is not None and (not names or name in names)
                    return ToolsSwitch(self.key, provider, is_off, name)
        return None

    def on_table_opened(self, event: Table.Opened) -> None:
        event.stop()

    def on_table_moved(self) -> None:
        self.refresh_bindings()


def _on(tools: list[_Tool], off: list[str] | None) -> list[_Tool]:
    """Return those that are offered; `off` are the names that are not, none of them is all."""
    there = [one for one in tools if one.tokens is not None]
    if off is None:
        return there
    return [one for one in there if one.name not in off] if off else []


def _calls(view: View, session_id: str) -> Counter[str]:
    """Return how often each tool was called in the turns that are known here."""
    turns = view.state.turns.get(session_id)
    steps = (one for turn in turns.turns for one in turn.all_steps()) if turns is not None else ()
    names = (
        (one.tool if one.call is None else one.call.tool) for one in steps if one.kind == "call"
    )
    return Counter(names)


def _counted(view: View, session_id: str) -> str:
    """Return which calls are counted: of a long session the steps of its newest turns alone are
    known here."""
    turns = view.state.turns.get(session_id)
    whole = [one for one in turns.turns if one.is_whole] if turns is not None else []
    newest = turns.latest.number if turns is not None and turns.latest is not None else 0
    if len(whole) >= newest:
        return f"Calls: of all {quantity(newest, 'turn')}."
    return f"Calls: in the last {len(whole):,} of {newest:,} turns."


def _sign(*, is_off: bool) -> tuple[str, str]:
    return ("×", "warning") if is_off else ("✓", "success")


def _tool_key(provider: str, name: str) -> str:
    """Return the key of a tool's row: one that is off may have the name of another provider's."""
    return f"{_TOOL}{provider}\0{name}"


def _tool_row(tool: _Tool, provider: str, calls: Counter[str], *, is_off: bool) -> Row:
    state = "off" if is_off else "on"
    cells = (
        Cell(tool.name, "muted" if is_off else "", *_sign(is_off=is_off)),
        Cell(state if tool.tokens is not None else f"{state}, not here", "muted"),
        Cell("" if tool.tokens is None else f"{tool.tokens:,}"),
        Cell(f"{calls[tool.name]:,}" if calls[tool.name] else ""),
    )
    return Row(_tool_key(provider, tool.name), cells, indent=2, under=_PROVIDER + provider)
