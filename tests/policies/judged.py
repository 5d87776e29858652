"""Verdicts of rules on requests, in a few words."""

from tapui.policies.guards import Guards
from tapui.policies.leads import Leads
from tapui.policies.requests import AskedFor, of_permission
from tapui.policies.rules import PolicyRule, RuleKind
from tapui.policies.verdicts import Judgement, judge

FOLDER = "/home/me/src/app"
GUARDS = Guards(frozenset({18282, 9400}), ("/home/me/.local/state/tapui", "/opt/copilot-home"))

LEADS = Leads(folders=(FOLDER,), home="/home/me")
"""Every word leads where it says, into a folder without configuration."""


def allow(*patterns: str, kind: RuleKind = "shell", **more: object) -> list[PolicyRule]:
    return [PolicyRule("allow", kind, one, **more) for one in patterns]  # type: ignore[arg-type]


def ask(*patterns: str, kind: RuleKind = "shell", **more: object) -> list[PolicyRule]:
    return [PolicyRule("ask", kind, one, **more) for one in patterns]  # type: ignore[arg-type]


def deny(*patterns: str, kind: RuleKind = "shell", **more: object) -> list[PolicyRule]:
    return [PolicyRule("deny", kind, one, **more) for one in patterns]  # type: ignore[arg-type]


def command(text: str, **detail: object) -> AskedFor:
    """Return a command in a folder without links in it, unless `leads` says otherwise."""
    given = {"kind": "shell", "fullCommandText": text, "leads": LEADS.as_detail(), **detail}
    return of_permission(given, FOLDER)


def on_command(text: str, rules: list[PolicyRule], **detail: object) -> Judgement:
    return judge(command(text, **detail), rules, FOLDER, GUARDS)


def on(rules: list[PolicyRule], **detail: object) -> Judgement:
    return judge(of_permission(detail, FOLDER), rules, FOLDER, GUARDS)
