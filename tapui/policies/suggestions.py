"""Rules that a person's own answers suggest: what was allowed time and again, and never denied."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

import msgspec

from tapui.policies.guards import Guards
from tapui.policies.leads import Leads
from tapui.policies.proposals import ProposedRule, offered, proposed
from tapui.policies.requests import AskedFor, of_permission
from tapui.policies.rules import PolicyRule
from tapui.policies.tables import PhraseList, read
from tapui.policies.verdicts import judge, strictest

LEAST = 3
"""Like answers that suggest a rule."""
MOST = 20
"""Suggestions at a time."""
_EACH_TIME = frozenset({"agentId", "intention", "toolCallId", "wish"})


@dataclass(slots=True)
class AnsweredRequest:
    """What a session in `folder`, a real path, asked for, and how often the person answered so."""

    asked: AskedFor
    folder: str
    allowed: int = 0
    denied: int = 0


@dataclass(frozen=True, slots=True)
class SuggestedRules:
    """Rules that would allow requests which the person allowed.

    `allowed` is how often they allowed just what the rules are proposed for, `answers` how many of
    the `looked_at` requests that they answered the rules would have, and `requests` which these
    are, the commonest first.
    """

    rules: tuple[ProposedRule, ...]
    allowed: int
    answers: int
    looked_at: int
    requests: tuple[tuple[str, int], ...]

    @property
    def patterns(self) -> tuple[str, ...]:
        """Return the rules without their folders."""
        return tuple(sorted({rule.words for rule in self.rules}))

    @property
    def key(self) -> str:
        """Return what is the same for a suggestion as long as its rules are."""
        return "\n".join(self.patterns)

    @property
    def folders(self) -> tuple[str, ...]:
        return tuple(sorted({rule.folder for rule in self.rules if rule.folder is not None}))

    def lines(self) -> list[str]:
        """Return what was allowed, and what the rules would have answered, in words."""
        places = len(self.folders)
        where = f"in {places} folders" if places > 1 else f"in {''.join(self.folders)}"
        answers = f"answered {self.answers:,} of your last {self.looked_at:,} requests"
        return [
            f"allow {' and '.join(self.patterns)} {where}",
            f"You allowed this {self.allowed:,} times and never denied it.",
            f"The rule would have {answers}, and none that you denied.",
        ]

    def as_toml(self) -> str:
        return "\n".join(rule.as_toml() for rule in self.rules)


@dataclass(slots=True)
class _Group:
    """Requests for which the same rules are proposed."""

    rules: dict[ProposedRule, None] = field(default_factory=dict)
    allowed: int = 0


def answered(
    permissions: Iterable[tuple[Mapping[str, Any], str, bool]],
) -> list[AnsweredRequest]:
    """Count answers by what was asked. Each is the request's detail, the folder of its session, and
    whether it was allowed; those alike in nothing are left out."""
    found: dict[tuple[str, bytes], AnsweredRequest] = {}
    for detail, folder, is_allowed in permissions:
        # What differs each time is no part of what is asked for.
        same = {name: value for name, value in detail.items() if name not in _EACH_TIME}
        key = folder, msgspec.json.encode(same)
        request = found.get(key)
        if request is None:
            asked = of_permission(detail, folder)
            request = found[key] = AnsweredRequest(asked, folder)
        request.allowed += is_allowed
        request.denied += not is_allowed
    return [request for request in found.values() if request.asked.key]


def suggested(
    requests: Sequence[AnsweredRequest],
    rules: Sequence[PolicyRule],
    refused: Collection[str] = (),
) -> list[SuggestedRules]:
    """Return the rules that would spare the person most, beside the `rules` in force.

    Requests for the same in the same folder are counted in one. `refused` are the keys of what the
    person does not want to see again. None of the suggestions, nor all together, allows what was
    denied in any folder.
    """
    asked = [one for one in requests if _effect(one, rules) != "allow"]
    groups: dict[frozenset[str], _Group] = {}
    for request in asked:
        new = suggestible(request, rules) if request.allowed else []
        if new:
            group = groups.setdefault(frozenset(rule.words for rule in new), _Group())
            group.allowed += request.allowed
            group.rules |= dict.fromkeys(new)
    often = [one for one in groups.values() if one.allowed >= LEAST]
    wrong = {rule.words for rule in _allowing_denied(often, requests, rules)}
    looked_at = sum(one.allowed + one.denied for one in requests)
    found = [
        _preview(group, asked, rules, looked_at)
        for patterns, group in groups.items()
        if group.allowed >= LEAST and wrong.isdisjoint(patterns)
    ]
    best: list[SuggestedRules] = []
    taken: set[ProposedRule] = set()
    for one in sorted(found, key=lambda one: (-one.answers, len(one.rules), one.key)):
        if one.key not in refused and not taken.issuperset(one.rules) and len(best) < MOST:
            best.append(one)
            taken.update(one.rules)
    return best


def _effect(request: AnsweredRequest, rules: Sequence[PolicyRule]) -> str | None:
    """Return the verdict of rules; a command without a record of its words' places is asked."""
    if request.asked.kind == "shell" and request.asked.leads is None:
        return None
    return judge(request.asked, rules, request.folder, Guards()).effect


def suggestible(request: AnsweredRequest, rules: Sequence[PolicyRule] = ()) -> list[ProposedRule]:
    """Return the rules to propose for a request, without those that are not needed beside `rules`;
    none where one of them is never suggested, as it deletes, publishes, and the like."""
    asked = request.asked
    if asked.kind == "shell" and (asked.leads is None or _is_grave(asked.subject)):
        return []
    kept, _ = offered(asked, request.folder)
    for rule in kept if rules else ():
        others = [one for one in kept if one is not rule]
        if _effect(request, [*rules, *(one.as_rule() for one in others)]) == "allow":
            kept = others
    return kept if all(map(_says_enough, kept)) else []


class _Never(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    never: PhraseList


@lru_cache(maxsize=1)
def _never() -> list[PolicyRule]:
    phrases = read("suggestions", _Never).never
    return [PolicyRule("deny", "shell", " ".join(words)) for words in phrases]


def _is_grave(command: str) -> bool:
    """Return whether a command deletes, publishes, fetches and runs, or changes rights, or may."""
    return strictest([AskedFor("shell", (command,), "")], _never(), None) is not None


def _says_enough(rule: ProposedRule) -> bool:
    """Return whether a rule names the verb, where its program has or may have any."""
    from tapui.policies.options import entry_of
    from tapui.policies.programs import base_name

    if rule.kind != "shell":
        return True
    words = rule.as_rule().words
    at = 2 if words[1:2] == ("-m",) else 0
    entry = entry_of(base_name(words[at]))
    if entry is None:
        return rule.is_exact or words == ("cd",)
    return len(words) > at + 1 or not entry.verbs.keys() - {"--"}


def is_written_wider(rule: PolicyRule) -> bool:
    """Return whether a rule that allows a command would be proposed only to the letter today."""
    if (rule.effect, rule.kind, rule.is_exact) != ("allow", "shell", False) or "*" in rule.pattern:
        return False
    written = proposed(AskedFor("shell", (rule.pattern,), ""), rule.folder or "/")
    return all(one.is_exact for one in written)


def _allowing_denied(
    groups: list[_Group], requests: Iterable[AnsweredRequest], rules: Sequence[PolicyRule]
) -> set[ProposedRule]:
    """Return the rules of groups, without their folders, that allow something which was denied."""
    every = {
        (new := replace(rule, folder=None)).as_rule(): new for one in groups for rule in one.rules
    }
    wrong: set[ProposedRule] = set()
    for request in requests:
        # What is not recorded of it speaks for no rule.
        leads = request.asked.leads or Leads(folders=(request.folder,))
        asked = replace(request.asked, leads=leads, segments=None)
        while request.denied:
            held = [rule for rule, new in every.items() if new not in wrong]
            verdict = judge(asked, [*held, *rules], request.folder, Guards())
            guilty = {every[part.rule] for part in verdict.parts if part.rule in every}
            if verdict.effect != "allow" or not guilty:
                break
            wrong |= guilty
    return wrong


def _preview(
    group: _Group, asked: Iterable[AnsweredRequest], rules: Sequence[PolicyRule], looked_at: int
) -> SuggestedRules:
    """Judge what was asked by the rules in force and those of a group."""
    new = [rule.as_rule() for rule in group.rules]
    firsts = {rule.words[0] for rule in new if rule.kind == "shell"}
    spared: Counter[str] = Counter()
    for request in asked:
        text = request.asked.subject
        is_about = request.asked.kind != "shell" or any(first in text for first in firsts)
        if request.allowed and is_about and _effect(request, [*rules, *new]) == "allow":
            spared[text] += request.allowed
    return SuggestedRules(
        tuple(group.rules), group.allowed, spared.total(), looked_at, tuple(spared.most_common())
    )
