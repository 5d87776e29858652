"""Verdicts of rules on requests, in a few words."""

from tapui.policies.guarded import Guards
from tapui.policies.judging import Judgement, judge
from tapui.policies.requests import of_permission
from tapui.policies.rules import PolicyRule, RuleKind

FOLDER = "/home/me/src/app"
GUARDS = Guards(frozenset({18282, 9400}), ("/home/me/.local/state/tapui", "/opt/copilot-home"))


def allow(*patterns: str, kind: RuleKind = "shell", **more: object) -> list[PolicyRule]:
    return [PolicyRule("allow", kind, one, **more) for one in patterns]  # type: ignore[arg-type]


def ask(*patterns: str, kind: RuleKind = "shell", **more: object) -> list[PolicyRule]:
    return [PolicyRule("ask", kind, one, **more) for one in patterns]  # type: ignore[arg-type]


def deny(*patterns: str, kind: RuleKind = "shell", **more: object) -> list[PolicyRule]:
    return [PolicyRule("deny", kind, one, **more) for one in patterns]  # type: ignore[arg-type]


def on_command(text: str, rules: list[PolicyRule], **detail: object) -> Judgement:
    given = {"kind": "shell", "fullCommandText": text, **detail}
    return judge(of_permission(given, FOLDER), rules, FOLDER, GUARDS)


def on(rules: list[PolicyRule], **detail: object) -> Judgement:
    return judge(of_permission(detail, FOLDER), rules, FOLDER, GUARDS)
