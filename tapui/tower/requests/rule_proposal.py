"""The rules that would allow a request: what they are, what else they would have allowed, and
whether the person has allowed that time and again."""

from dataclasses import dataclass, field

from tapui.policies.rules import PolicyRule
from tapui.projection.approvals import by_whom
from tapui.projection.requests.request_kind import detail_of
from tapui.tower.app.services import NOTHING, Matched, matched
from tapui.tower.app.view import View
from tapui.wire.subjects import YOU, Approval, RequestPart

_MOST_ANSWERS = 50
"""Answers of a session that are compared with a request, the newest."""
_MOST_TEXT = 500
"""Characters of a command that is compared: a longer one takes long to be taken apart."""


@dataclass(frozen=True, slots=True)
class RuleProposal:
    """Rules as TOML and in words, and the requests of this session that they would have allowed.

    `fault` says why there are none.
    """

    fault: str = ""
    toml: str = ""
    rules: list[str] = field(default_factory=list)
    policy_rules: tuple[PolicyRule, ...] = ()
    """The rules themselves."""
    folder: str = ""
    here: Matched = NOTHING
    """Of what this session asked for, as far as the tower has it."""

    def lines(self, recorded: str = "") -> list[str]:
        """Return what the person is shown; `recorded` is what the records say."""
        shown = [f"allow {one}" for one in self.rules]
        return [*shown, self.here.words("In this session"), *filter(None, [recorded])]


def proposal(view: View, approval: Approval) -> RuleProposal:
    """Return the rules that would allow a request, and no others that rules allow already."""
    from tapui.policies.proposals import offered
    from tapui.policies.requests import of_permission

    session = view.state.sessions.get(approval.session_id or "")
    folder = session.cwd if session is not None else None
    if folder is None:
        return RuleProposal("The session has ended.")
    if approval.judged is not None and approval.judged.why:
        return RuleProposal(f"No rule may allow this: {approval.judged.why}.")
    proposals, verdict = offered(of_permission(detail_of(approval), folder), folder)
    if not proposals:
        own = (
            one for one in verdict.parts if one.nearest and one.text.startswith(one.nearest.pattern)
        )
        why = verdict.why or next((part.why for part in own), "")
        return RuleProposal(f"No rule may allow this: {why or 'it is asked each time'}.")
    rules = [one.as_rule() for one in proposals]
    known = {part.text for part in _allowed(approval)}
    new = [
        one
        for one in proposals
        if not any(
            part.rule is not None and part.rule.pattern == one.pattern and part.text in known
            for part in verdict.parts
        )
    ]
    earlier = [
        one
        for one in view.state.approvals.values()
        if one.kind == "permission"
        and one.session_id == approval.session_id
        and one.id != approval.id
    ]
    return RuleProposal(
        toml="\n".join(one.as_toml() for one in new or proposals),
        rules=[f"{one.words} in {one.folder}" for one in new or proposals],
        policy_rules=tuple(rules),
        folder=folder,
        here=matched(earlier, rules, folder),
    )


def spared(view: View, approval: Approval, key: str) -> str:
    """Return that a rule, by this key, would spare the person the next such request, where they
    allowed like ones in this session (the same rules would be proposed) as often as suggests one,
    and denied none; else ""."""
    session = view.state.sessions.get(approval.session_id or "")
    if session is None or approval.kind != "permission" or approval.rule is not None:
        return ""
    own = [
        one
        for one in view.decided
        if one.kind == "permission"
        and one.session_id == session.id
        and one.state in ("approved", "denied")
        and by_whom(one.decided_by or "") == YOU
    ][:_MOST_ANSWERS]
    if not own:
        return ""
    from tapui.policies.requests import of_permission
    from tapui.policies.suggestions import LEAST, AnsweredRequest, answered, suggestible

    folder = session.cwd
    rules = set(suggestible(AnsweredRequest(of_permission(detail_of(approval), folder), folder)))
    if not rules:
        return ""
    alike = [
        request
        for request in answered((detail_of(one), folder, one.state == "approved") for one in own)
        if len(request.asked.subject) <= _MOST_TEXT and set(suggestible(request)) == rules
    ]
    times = sum(request.allowed for request in alike)
    if times < LEAST or any(request.denied for request in alike):
        return ""
    return f"You allowed this {times} times in this session: {key} makes a rule of it."


def _allowed(approval: Approval) -> list[RequestPart]:
    parts = approval.judged.parts if approval.judged is not None else []
    return [one for one in parts if one.rule is not None and one.rule.effect == "allow"]
