"""The table of all actions that have a key, and the keys that the person chose in `[keys]`."""

import difflib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from tapui.tower.keys.names import key_name, textual_key

Area = Literal[
    "everywhere",
    "screen",
    "list",
    "pane",
    "sessions",
    "streams",
    "emitters",
    "changes",
    "goals",
    "detail",
    "sheet",
    "tell",
    "replay",
]
"""Where a key works. `screen` is the main screen, `pane` any pane, `list` the rows in focus,
`detail` what stands in full beside the lists, `sheet` the same alone and other screens,
`tell` the line in which something is said to a session, `replay` the panes of `tapui replay`."""

AREAS: dict[Area, str] = {
    "screen": "The main screen",
    "pane": "In a pane",
    "list": "In a list",
    "sessions": "Sessions",
    "streams": "Streams",
    "emitters": "Emitters",
    "changes": "Changes",
    "goals": "Goals",
    "detail": "In the detail beside the lists",
    "sheet": "In a sheet",
    "tell": "In the Tell line",
    "replay": "In a replay",
    "everywhere": "Everywhere",
}
"""The areas in the order of the help, with their titles."""

_PANES: frozenset[Area] = frozenset(
    {
        "everywhere",
        "screen",
        "pane",
        "list",
        "sessions",
        "streams",
        "emitters",
        "changes",
        "goals",
        "replay",
    }
)
_MEET: dict[Area, frozenset[Area]] = {
    "everywhere": frozenset(AREAS),
    "screen": _PANES,
    "pane": _PANES,
    "list": _PANES | {"detail", "sheet"},
    "sessions": _PANES - {"streams", "emitters", "changes", "goals"},
    "streams": _PANES - {"sessions", "emitters", "changes", "goals"},
    "emitters": _PANES - {"sessions", "streams", "changes", "goals"},
    "changes": _PANES - {"sessions", "streams", "emitters", "goals"},
    "goals": _PANES - {"sessions", "streams", "emitters", "changes"},
    "replay": _PANES,
    "detail": frozenset({"everywhere", "list", "detail"}),
    "sheet": frozenset({"everywhere", "list", "sheet"}),
    "tell": frozenset({"everywhere", "tell"}),
}


@dataclass(frozen=True, slots=True)
class KeyAction:
    """An action with a key. `keys` are Textual's names, separated by commas; `""` is none.

    `does` is said in help and palette. `offer` is the word in the footer, `""` for what is never
    offered there; `brief` is used where room is short. `action` is Textual's action.
    """

    id: str
    keys: str
    action: str
    area: Area
    does: str
    offer: str = ""
    brief: str = ""


TABLE: tuple[KeyAction, ...] = (
    KeyAction("open", "enter", "open", "list", "open the selected row", "open"),
    KeyAction("answer", "a", "answer", "screen", "open the most urgent request", "answer"),
    KeyAction(
        "next-failure", "e", "next_failure", "screen", "next failure", "next failure", "failure"
    ),
    KeyAction(
        "tell", "t", "tell", "screen", "tell the session, or those marked, something", "tell"
    ),
    KeyAction("start-session", "plus", "start_session", "screen", "start a session here"),
    KeyAction("demo", "d", "demo", "screen", "see the demonstration", "demo"),
    KeyAction("stop", "x", "stop", "pane", "stop what is under the cursor (asks first)", "stop"),
    KeyAction(
        "actions", "full_stop", "actions", "pane", "all actions of the selected row", "actions"
    ),
    KeyAction(
        "mark-session",
        "space",
        "mark_session",
        "sessions",
        "mark a session, to tell several something",
        "mark",
    ),
    KeyAction("pause", "space", "pause", "streams", "stop the display, or go on", "pause"),
    KeyAction("older", "o", "older", "streams", "read older lines from the records", "older"),
    KeyAction(
        "mark-stream", "m", "mark", "streams", "show this stream together with others", "together"
    ),
    KeyAction(
        "levels",
        "i",
        "levels",
        "streams",
        "all lines, those shown to you, or the agent's alone",
        "levels",
    ),
    KeyAction(
        "next-inject",
        "semicolon",
        "stands_out(1)",
        "streams",
        "next line sent on, or failure, in the tail",
    ),
    KeyAction(
        "previous-inject",
        "comma",
        "stands_out(-1)",
        "streams",
        "previous line sent on, or failure, in the tail",
    ),
    KeyAction(
        "go-to-time", "w", "go_to_time", "pane", "go to a time, in a stream or a replay", "time"
    ),
    KeyAction(
        "hide-above",
        "ctrl+l",
        "hide_above",
        "streams",
        "hide the lines above, here alone; again: show them",
    ),
    KeyAction("wrap", "y", "wrap", "streams", "wrap long lines, or cut them"),
    KeyAction(
        "emitter-run", "i", "run_now", "emitters", "run it now; start it again", "run now", "run"
    ),
    KeyAction("emitter-pause", "space", "pause", "emitters", "pause it, or go on", "pause"),
    KeyAction(
        "emitter-filter",
        "m",
        "edit_filter",
        "emitters",
        "edit its filter, with what it makes of the lines so far",
        "edit filter",
        "filter",
    ),
    KeyAction("emitter-lines", "y", "lines", "emitters", "its lines, in Streams", "lines"),
    KeyAction(
        "changes-since",
        "i",
        "since",
        "changes",
        "compare with its beginning, a turn, or a commit",
        "since",
    ),
    KeyAction(
        "changes-editor",
        "o",
        "edit",
        "changes",
        "open the file in your editor, at this line",
        "edit",
    ),
    KeyAction(
        "changes-seen", "space", "seen", "changes", "mark the file as seen, or not seen", "seen"
    ),
    KeyAction(
        "changes-note",
        "t",
        "note",
        "changes",
        "keep a note on the file, the hunk or the line",
        "note",
    ),
    KeyAction(
        "changes-tell",
        "m",
        "tell_notes",
        "changes",
        "send all notes to the agent",
        "send notes",
        "send",
    ),
    KeyAction(
        "goal-open", "o", "open_goal", "goals", "open a goal of yours: a command", "new goal", "new"
    ),
    KeyAction(
        "goal-send-back",
        "space",
        "goal('send back')",
        "goals",
        "send the agent back for it, or tell only",
        "send back",
        "back",
    ),
    KeyAction(
        "goal-verify",
        "i",
        "goal('verify')",
        "goals",
        "judge its criteria now",
        "verify now",
        "verify",
    ),
    KeyAction("goal-note", "m", "goal('note')", "goals", "note something at it", "note"),
    KeyAction(
        "goal-achieved", "y", "goal('achieved')", "goals", "it is achieved (asks first)", "achieved"
    ),
    KeyAction("filter", "slash", "filter", "pane", "filter this list", "filter"),
    KeyAction("workbench", "r", "workbench", "screen", "run a tool yourself", "run a tool", "run"),
    KeyAction("call", "ctrl+r", "call", "sheet", "workbench: call the tool", "call"),
    KeyAction(
        "as-json",
        "ctrl+t",
        "as_json",
        "sheet",
        "workbench: write the arguments as JSON, or by the form",
        "form or JSON",
    ),
    KeyAction(
        "copy-line",
        "ctrl+l",
        "copy_line",
        "sheet",
        "workbench: copy the call as a line for the shell",
        "copy the line",
    ),
    KeyAction("find", "f,ctrl+f", "find", "screen", "find in all that was recorded", "find"),
    KeyAction(
        "stored",
        "ctrl+o",
        "stored",
        "screen",
        "stored sessions: find one, resume it, go to it, delete it",
    ),
    KeyAction("by-tool", "v", "by_tool", "pane", "Calls: by tool, or call by call", "by tool"),
    KeyAction("undo-move", "u", "undo_move", "screen", "undo a provider's last move", "undo move"),
    KeyAction("start-here", "b", "start_here", "screen", "start a gateway here", "start a gateway"),
    KeyAction("zoom", "z", "zoom", "screen", "give this pane all the room, or end that", "zoom"),
    KeyAction(
        "help",
        "question_mark,f1",
        "help",
        "everywhere",
        "this help, and what the signs say",
        "help",
    ),
    KeyAction("quit", "q", "leave", "everywhere", "quit", "quit"),
    KeyAction(
        "commands", "colon,ctrl+p", "command_palette", "everywhere", "every command", "commands"
    ),
    KeyAction("next-pane", "tab", "next_pane(1)", "screen", "next pane"),
    KeyAction("previous-pane", "shift+tab", "next_pane(-1)", "screen", "previous pane"),
    KeyAction("up", "up,k", "move(-1)", "list", "up"),
    KeyAction("down", "down,j", "move(1)", "list", "down"),
    KeyAction("page-up", "pageup", "page(-1)", "list", "a page up"),
    KeyAction("page-down", "pagedown", "page(1)", "list", "a page down"),
    KeyAction("first", "home", "edge(0)", "list", "first row"),
    KeyAction("newest", "g", "newest", "list", "first row; in Turns: the newest, and follow"),
    KeyAction("last", "end,G", "edge(-1)", "list", "last row; in a stream: follow"),
    KeyAction("next-match", "n", "match(1)", "pane", "next match of the filter"),
    KeyAction("previous-match", "N", "match(-1)", "pane", "previous match of the filter"),
    KeyAction("sort", "s", "sort", "pane", "sort by the next column"),
    KeyAction("reverse", "S", "reverse", "pane", "turn the order round"),
    KeyAction("copy", "c", "copy", "list", "copy the selected row, or the selected text"),
    KeyAction("previous-stream", "left_square_bracket", "step(-1)", "streams", "previous stream"),
    KeyAction("next-stream", "right_square_bracket", "step(1)", "streams", "next stream"),
    KeyAction("left", "left,h", "shift(-1)", "streams", "move the text to the left"),
    KeyAction("right", "right,l", "shift(1)", "streams", "move the text to the right"),
    KeyAction("close", "escape", "close_topmost", "screen", "close the topmost thing"),
    KeyAction(
        "into-detail",
        "right",
        "into_detail",
        "screen",
        "into the detail, to read or copy",
        "detail",
    ),
    KeyAction("out-of-detail", "left", "out_of_detail", "detail", "back to the list", "back"),
    KeyAction(
        "previous-item", "left", "turn(-1)", "sheet", "previous item of the list", "previous"
    ),
    KeyAction("next-item", "right", "turn(1)", "sheet", "next item of the list", "next"),
    KeyAction(
        "export", "e", "export", "sheet", "an answer of the records: write it into a file", "export"
    ),
    KeyAction("raw", "v", "raw", "sheet", "the raw record, or the sheet again", "record"),
    KeyAction(
        "trace",
        "w",
        "trace",
        "sheet",
        "where its time went, span by span; again: its text",
        "trace",
    ),
    KeyAction("allow", "y", "choose('allow')", "sheet", "a request: choose to allow it"),
    KeyAction(
        "keep",
        "s",
        "choose('keep')",
        "sheet",
        "a request: allow exactly this until the session or tapui ends",
    ),
    KeyAction(
        "make-rule",
        "r",
        "choose('make-rule')",
        "sheet",
        "a request, or suggested: choose to make a rule of it",
    ),
    KeyAction(
        "never-suggest",
        "n",
        "choose('never')",
        "sheet",
        "a suggested rule: choose never to see it again",
    ),
    KeyAction("deny", "d", "choose('deny')", "sheet", "a request: choose to deny it"),
    KeyAction(
        "deny-and-tell",
        "m",
        "choose('deny-and-tell')",
        "sheet",
        "a request: choose to deny it, and write why",
    ),
    KeyAction("rule-add", "a", "add_rule", "sheet", "a filter: add a rule", "add"),
    KeyAction("rule-edit", "e", "edit_rule", "sheet", "a filter: write the pattern anew", "edit"),
    KeyAction("rule-remove", "x", "remove_rule", "sheet", "a filter: remove the rule", "remove"),
    KeyAction(
        "rule-outcome",
        "space",
        "next_outcome",
        "sheet",
        "a filter: the rule's next outcome",
        "outcome",
    ),
    KeyAction(
        "switch-tool",
        "space",
        "switch_tool",
        "sheet",
        "switch a tool, or all of a provider, off or on",
        "on or off",
    ),
    KeyAction(
        "rule-up",
        "left_square_bracket",
        "move_rule(-1)",
        "sheet",
        "a filter: move the rule up",
        "up",
    ),
    KeyAction(
        "rule-down",
        "right_square_bracket",
        "move_rule(1)",
        "sheet",
        "a filter: move the rule down",
        "down",
    ),
    KeyAction(
        "rule-write",
        "w",
        "write_rules",
        "sheet",
        "a filter: apply it, and write it into the folder's file",
        "write",
    ),
    KeyAction(
        "one-by-one",
        "o",
        "one_by_one",
        "sheet",
        "a request: emitters of one file together, or one by one",
    ),
    KeyAction(
        "event-back", "less_than_sign", "replay_event(-1)", "replay", "an event back", "event"
    ),
    KeyAction("event-on", "greater_than_sign", "replay_event(1)", "replay", "an event on", "event"),
    KeyAction(
        "turn-back", "left_curly_bracket", "replay_turn(-1)", "replay", "a turn back", "turn"
    ),
    KeyAction("turn-on", "right_curly_bracket", "replay_turn(1)", "replay", "a turn on", "turn"),
    KeyAction("play", "p", "replay_play", "replay", "play, or stop", "play"),
    KeyAction("slower", "left_parenthesis", "replay_speed(-1)", "replay", "play slower"),
    KeyAction("faster", "right_parenthesis", "replay_speed(1)", "replay", "play faster"),
    KeyAction("tell-send", "enter", "submit", "tell", "send the text", "send"),
    KeyAction(
        "tell-way",
        "tab",
        "other_way",
        "tell",
        "after this turn, now, or stop, then send",
        "another way",
        "way",
    ),
    KeyAction("new-line", "alt+enter,ctrl+j", "new_line", "tell", "a line more, as in each text"),
    KeyAction("tell-keep", "escape", "keep_draft", "tell", "back; the draft is kept", "back"),
    KeyAction("topics", "t", "topics", "sheet", "the help: pages about topics", "topics"),
    KeyAction("close-sheet", "escape,q", "close", "sheet", "back: close the sheet", "back"),
)
"""All of them; the footer offers them in this order."""

BY_ID: dict[str, KeyAction] = {one.id: one for one in TABLE}


def meet(one: Area, other: Area) -> bool:
    """Return whether keys of both areas can work at the same time."""
    return other in _MEET[one]


def replay_keys() -> list[KeyAction]:
    return [one for one in TABLE if one.area == "replay" or one.id == "go-to-time"]


def faults(chosen: Mapping[str, object]) -> dict[str, str]:
    """Return what is wrong with the settings under `[keys]`, by action; nothing if all can be used.

    A value is one key, or several with spaces between them (`"/ ctrl+f"`).
    """
    problems: dict[str, str] = {}
    sound: dict[str, str] = {}
    for name, value in chosen.items():
        if name not in BY_ID:
            near = difflib.get_close_matches(name, BY_ID, n=1, cutoff=0.6)
            problems[name] = "there is no such action"
            problems[name] += f"; did you mean {near[0]}?" if near else ""
        elif not isinstance(value, str) or not value.split():
            problems[name] = f'write a key, such as "{key_name(_first(BY_ID[name]))}"'
        else:
            wrong = [one for one in value.split() if textual_key(one) is None]
            if wrong:
                problems[name] = f"{wrong[0]} is no key"
            else:
                sound[name] = _keys(value)
    return problems | _clashes(sound, set(problems))


def keymap(chosen: Mapping[str, str]) -> dict[str, str]:
    """Return the chosen keys as Textual takes them, by action. They have no faults."""
    return {name: _keys(value) for name, value in chosen.items()}


def _keys(value: str) -> str:
    return ",".join(filter(None, map(textual_key, value.split())))


def _first(action: KeyAction) -> str:
    return action.keys.split(",")[0] or "f5"


def _clashes(sound: Mapping[str, str], skipped: set[str]) -> dict[str, str]:
    """Return the chosen keys that another action has at the same place."""
    in_force = {
        one.id: set((sound.get(one.id) or one.keys).split(","))
        for one in TABLE
        if one.id not in skipped
    }
    clashes: dict[str, str] = {}
    for name in sound:
        for other in TABLE:
            if other.id == name or other.id not in in_force or may_share(name, other.id):
                continue
            if meet(BY_ID[name].area, other.area) and (
                both := (in_force[name] & in_force[other.id]) - {""}
            ):
                key = key_name(min(both))
                clashes[name] = f"{key} is the key of {other.id} already ({other.does})"
    digits = {
        name: digit for name, keys in sound.items() for digit in keys.split(",") if digit.isdigit()
    }
    for name, digit in digits.items():
        if meet(BY_ID[name].area, "screen"):
            clashes.setdefault(name, f"{digit} goes to a pane")
    return clashes


def may_share(one: str, other: str) -> bool:
    """Return whether two actions have a key in common by design: `q` closes a sheet or quits; a
    stream's line is moved where no detail has all of it; a filter's rules, a session's tools, what
    has spans and an answer of the records are different sheets; on a changed file the key of Tell
    keeps a note for the agent."""
    return {one, other} in (
        {"close-sheet", "quit"},
        {"into-detail", "right"},
        {"rule-outcome", "switch-tool"},
        {"rule-edit", "export"},
        {"rule-write", "trace"},
        {"tell", "changes-note"},
    )
