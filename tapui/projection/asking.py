"""What an approval asks and who asks it, on one line each (nothing here is made safe yet)."""

import re
import shlex
from collections.abc import Mapping
from typing import Any

from tapui.projection.state import State
from tapui.wire.codec import encode
from tapui.wire.events import CommandAsked
from tapui.wire.subjects import UNCHECKED, YOU, AppliedRule, Approval

SUBJECT = (
    "fullCommandText",
    "command",
    "fileName",
    "path",
    "url",
    "toolName",
    "fact",
    "wish",
    "intention",
)
"""Fields of a permission that say what it is about; the first that is there is shown."""
RIGHTS = (
    "Runs with your rights, without Copilot's questions; the files it runs may change, by the agent"
    " too."
)
"""What it means to allow a command that runs again without a question."""
_VERBS = {
    "shell": "run",
    "write": "write",
    "read": "read",
    "path": "open",
    "url": "fetch",
    "mcp": "call",
    "custom-tool": "call",
    "hook": "hook",
    "memory": "remember",
    "extension-permission-access": "allow",
    "extension-env-access": "allow",
    "extension-management": "extension",
    "pairing": "pair",
    "mode": "mode",
    "bindAll": "join all",
    "userInput": "question",
    "elicitation": "form",
    "emitter": "emitter",
    "mcpServer": "MCP",
    "terminal": "let in",
    "command": "let pass",
}
"""What is asked for, in a word, by the kind of permission or of approval."""
_CAPITAL = re.compile(r"(?<=[a-z])[A-Z]")
_WANTED = {
    "approve": "approve",
    "deny": "deny",
    "approval.decide": "decide",
    "approval.reveal": "show a pairing code",
    "session.mode": "switch the mode of session",
    "session.budget": "change the budget of session",
    "session.tell": "send a text to session",
    "session.stop": "stop the turn of session",
    "session.compact": "compact session",
    "session.set": "change session",
    "session.end": "end session",
    "session.start": "start a session",
    "provider.move": "move a provider to session",
    "injects.resume": "release held messages in session",
    "token.mint": "make a token for session",
    "emitter.start": "start an emitter",
    "emitter.stop": "stop an emitter",
    "emitter.pause": "pause an emitter",
    "emitter.resume": "resume an emitter",
    "emitter.run": "run an emitter",
    "emitter.filter": "change a filter",
    "emitter.keep": "keep an emitter",
}
"""What a message that only the person may send does, in words; of decisions by what is decided."""
_OTHERS = {
    "cli": "you, in Copilot",
    "cli-rule": "a rule of Copilot's own",
    "allow-all": "Copilot's allow-all",
}
_FORMER_NAME = "tapui"
"""How the person's towers and commands stand in records that were written before `you` did."""


def detail_of(approval: Approval) -> Mapping[str, Any]:
    """Return the approval's detail as a mapping, whatever was sent."""
    detail = approval.detail
    return detail if isinstance(detail, dict) else {"detail": detail}


def session_name(state: State, session_id: str | None) -> str:
    """Return a session's label, or its id where it has none; "" for no session."""
    if session_id is None:
        return ""
    session = state.sessions.get(session_id)
    return session.label or session_id if session else session_id


def subject(state: State, approval: Approval) -> str:
    """Return what is asked."""
    detail = detail_of(approval)
    said = _other_than_permission(approval, detail)
    if approval.kind == "mode":
        return f"{said} in {session_name(state, approval.session_id)}"
    if said is not None:
        return said
    for key in SUBJECT:
        if isinstance(detail.get(key), str) and detail[key]:
            return f"{detail.get('kind', '')} {detail[key]}".strip().replace("\n", " ⏎ ")
    return str(detail.get("kind") or "a permission")


def verb(approval: Approval) -> str:
    """Return in a word what is asked to be done: `run`, `write`, `mode`, `pair` …"""
    kind: object = approval.kind
    if kind == "permission":
        kind = detail_of(approval).get("kind") or "allow"
    elif is_budget(approval):
        return "budget"
    return _VERBS.get(str(kind), str(kind))


def is_budget(approval: Approval) -> bool:
    """Return whether the gateway asks because a session's budget is used up."""
    return approval.kind == "userInput" and detail_of(approval).get("kind") == "budget"


def request(approval: Approval) -> str:
    """Return what `verb` is done to, in full: the command, the path and how many lines change, the
    URL, the tool and its arguments, from mode to mode, the question."""
    return " ⏎ ".join(_request(approval, detail_of(approval)).strip().split("\n"))


def _request(approval: Approval, detail: Mapping[str, Any]) -> str:
    said = _other_than_permission(approval, detail)
    if said is not None:
        return said
    field = next((key for key in SUBJECT if isinstance(detail.get(key), str) and detail[key]), None)
    if field is None:
        return _named(detail)
    if field == "toolName":
        given = detail.get("args") or detail.get("toolArgs")
        return f"{detail[field]} {_arguments(detail)}" if given else str(detail[field])
    return f"{detail[field]}{changed_lines(approval)}"


def _named(detail: Mapping[str, Any]) -> str:
    """Return the fields of a request of an unknown kind, each with its name in words."""
    return "; ".join(
        f"{_CAPITAL.sub(_lower, key)}: {_value(given)}"
        for key, given in detail.items()
        if key != "kind" and given is not None
    )


def _lower(found: "re.Match[str]") -> str:
    return f" {found[0].lower()}"


def _value(given: object) -> str:
    if isinstance(given, str):
        return given
    if isinstance(given, list) and not any(isinstance(one, dict | list) for one in given):
        return ", ".join(map(_value, given))
    return encode(given).decode("utf-8", "replace")


def _arguments(detail: Mapping[str, Any]) -> str:
    """Return the arguments of a call: of one that a hook asks about, the command if it runs one."""
    args = detail.get("args")
    if not args:
        args = detail.get("toolArgs")
        command = args.get("command") if isinstance(args, Mapping) else None
        if isinstance(command, str):
            return command
    return encode(args).decode("utf-8", "replace")


def _other_than_permission(approval: Approval, detail: Mapping[str, Any]) -> str | None:
    """Return what is asked, in a word or a sentence; None for a permission."""
    match approval.kind:
        case "pairing":
            return str(detail.get("origin") or "local program")
        case "mode":
            return f"{detail.get('from') or '?'} → {detail.get('to') or '?'}"
        case "bindAll":
            return str(detail.get("name") or approval.provider or "a provider")
        case "userInput" | "elicitation":
            return str(detail.get("question") or detail.get("message") or "asks for an answer")
        case "emitter":
            return _emitter(detail)
        case "mcpServer":
            return _mcp_server(detail)
        case "terminal":
            return _terminal(detail)
        case "command":
            return _command(detail)
        case "permission":
            return None


def _emitter(detail: Mapping[str, Any]) -> str:
    """Return what an emitter is, in one line: its name, when it runs, and what."""
    text = emitter_text(detail)
    schedule = str(detail.get("schedule") or "").removeprefix("runs ").partition(",")[0]
    said = f"{detail.get('name') or '?'}  {schedule}".rstrip()
    return f"{said}: {text}" if text else said


def _mcp_server(detail: Mapping[str, Any]) -> str:
    """Return what is asked of an MCP server in one line: what starts, or which tools changed."""
    name = detail.get("name") or "?"
    if detail.get("purpose") == "tools":
        tools = detail.get("tools")
        count = len(tools) if isinstance(tools, list) else 0
        return f"{name}: {count} tool{'s' * (count != 1)} changed"
    return f"{name}: {server_text(detail)}"


def _terminal(detail: Mapping[str, Any]) -> str:
    """Return what runs in a terminal: `zsh in tmux, opened after s1 began`."""
    holder = f" in {detail['holder']}" if detail.get("holder") else ""
    return f"{detail.get('program')}{holder}, opened after {detail.get('after')} began"


def _command(detail: Mapping[str, Any]) -> str:
    """Return a command's process and what it wants: `tapui 4711: approve a-3`."""
    line = detail.get("line")
    process = line[0] if isinstance(line, list) and line else "a process"
    return f"{process}: {wanted_words(detail)}"


def wanted_words(detail: Mapping[str, Any]) -> str:
    """Return what a command wants to do, in words: `approve a-3`, `send a text to session s1`."""
    wanted = str(detail.get("wanted"))
    words = _WANTED.get(str(detail.get("decision") or wanted), wanted)
    if detail.get("tool"):
        words = f"call {detail['tool']} in session"
    return f"{words} {detail['about']}" if detail.get("about") else words


def server_text(detail: Mapping[str, Any]) -> str:
    """Return the command that would be started, with its arguments, or the address that would be
    called."""
    if isinstance(detail.get("command"), str):
        return emitter_text(detail)
    return str(detail.get("url") or detail.get("host") or "")


def given_values(detail: Mapping[str, Any], key: str) -> list[str]:
    """Return the `variables` or `headers` of a server as its file has them, one a line, each with
    where the rest of its value comes from."""
    texts = detail.get(f"{key.removesuffix('s')}Texts")
    lines = []
    given = detail.get(key)
    for one in given if isinstance(given, list) else ():
        name, sources = one if isinstance(one, list | tuple) and len(one) == 2 else (one, "")
        text = texts.get(name) if isinstance(texts, Mapping) and isinstance(name, str) else None
        said = f"{name}" if text is None else f"{name}={text}"
        lines.append(f"{said}, filled in from {sources}" if sources else said)
    return lines


def emitter_text(detail: Mapping[str, Any]) -> str:
    """Return what would run, of a provider with its arguments, or the prompt that would be sent."""
    command, args = detail.get("command"), detail.get("args")
    if isinstance(command, str) and isinstance(args, list) and args:
        return shlex.join((command, *map(str, args)))
    return str(command if command is not None else detail.get("prompt") or "")


def changed_lines(approval: Approval) -> str:
    """Return how many lines a diff that is known whole adds and removes, two spaces before it;
    empty for none."""
    diff = detail_of(approval).get("diff")
    if not isinstance(diff, str) or approval.is_cut:
        return ""
    lines = diff.split("\n")
    added = sum(line.startswith("+") and not line.startswith("+++ ") for line in lines)
    removed = sum(line.startswith("-") and not line.startswith("--- ") for line in lines)
    return f"  +{added} \N{MINUS SIGN}{removed}" if added or removed else ""


def reason(approval: Approval) -> str:
    """Return why whoever asks wants it, in their own words; empty where they gave none."""
    detail = detail_of(approval)
    given = detail.get("reason") if approval.kind == "mode" else detail.get("intention")
    return " ".join(given.split()) if isinstance(given, str) else ""


def by_rule(approval: Approval) -> bool:
    """Return whether a rule decided, in the person's place."""
    return approval.rule is not None and approval.decided_by == "rule"


def rule_name(rule: AppliedRule | None) -> str:
    """Return a rule by its pattern and place: `rule “npm ci” (config.toml:7)`."""
    if rule is None:
        return ""
    if rule.source == "session":
        return "what you allowed until the session ends"
    place = f" ({rule.place})" if rule.place else ""
    return f"rule “{rule.pattern}”{place}"


def by_whom(name: str) -> str:
    """Return who decided or called, by the name on record: the person is `you`, wherever."""
    if name.partition(" ")[0] == _FORMER_NAME:
        return YOU
    return _OTHERS.get(name, name)


def is_tower(name: str) -> bool:
    """Return whether a caller on record is a tower or a command, and not a session's host."""
    return by_whom(name) in (YOU, UNCHECKED) or name.startswith("process ")


def outcome(approval: Approval) -> str:
    """Return how a settled approval ended, and by whom: `approved by you`, `timed out`."""
    by = by_whom(approval.decided_by or "")
    if by_rule(approval):
        by = rule_name(approval.rule)
    if approval.state == "expired":
        return "timed out"
    if approval.state == "deciding":
        return "a decision is being recorded"
    if approval.state == "withdrawn":
        return f"answered by {by}" if by else "withdrawn"
    if approval.state == "failed":
        return f"failed: {approval.reason}" if approval.reason else "failed"
    return f"{approval.state} by {by}" if by else approval.state


def who(state: State, approval: Approval) -> str:
    """Return who asks: a session, a provider, or a terminal."""
    if approval.kind in ("terminal", "command"):
        return str(detail_of(approval).get("device") or "-")
    if approval.kind == "mode":
        asker = detail_of(approval).get("asker")
        return str(asker or approval.provider or session_name(state, approval.session_id))
    if approval.session_id is not None:
        return session_name(state, approval.session_id)
    return approval.provider or "-"


def asker(state: State, approval: Approval) -> str:
    """Return who asks, and in which session where that is not the same."""
    name, session = who(state, approval), session_name(state, approval.session_id)
    return f"{name} in {session}" if session not in ("", name) else name


def agent_of(state: State, approval: Approval) -> str | None:
    """Return the id of the subagent that asks, None where the session itself does."""
    detail = detail_of(approval)
    agent = detail.get("agentId")
    if not isinstance(agent, str):
        call = state.calls.get(str(detail.get("toolCallId")))
        agent = call.agent_id if call is not None else None
    return agent


def command_line(asked: CommandAsked) -> str:
    """Return who wanted what: `tapui approve refused: process 4711 has no terminal (sh 4711)`."""
    who = "an unknown process"
    if asked.asker is not None:
        line = [f"{asked.asker.name} {asked.asker.pid}"]
        who = " < ".join(line + [f"{one.name} {one.pid}" for one in asked.asker.ancestors])
    told = f"{asked.command} refused: {asked.refused}" if asked.refused else asked.command
    return f"{told} ({who})"
