"""The verdict of rules on a request: deny goes before ask, ask before allow.

What the administrator's file says of something goes before what the other files say of it. A
request is only allowed when each of its parts is, and when nothing speaks against it.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from posixpath import join, normpath
from typing import TYPE_CHECKING

from tapui.policies import rules as patterns
from tapui.policies.guards import Guards, command_guard, path_guard, url_guard
from tapui.policies.requests import AskedFor
from tapui.policies.rules import PolicyRule, UrlParts, is_within
from tapui.wire.subjects import RuleEffect

if TYPE_CHECKING:
    from tapui.policies.command_meaning import Meant
    from tapui.policies.commands import CommandPart
    from tapui.policies.leads import Leads

_FIRST: dict[RuleEffect, int] = {"deny": 0, "ask": 1, "allow": 2}
_HEAD = 200
"""Characters of a command that is too long to be taken apart, as its only part."""
_POWERSHELL = "no rule allows what PowerShell runs: tapui does not read its language"
_MOVES = frozenset({"cd", "pushd", "popd", "chdir"})
_IDLE = frozenset({("true",), ("false",), (":",)})
_READ_GIT = frozenset({"git", "gh", "glab", "hub", "tig", "jj", "pre-commit", "lefthook"})
"""They run what a repository configures, which may be another one in a folder below."""


@dataclass(frozen=True, slots=True)
class JudgedPart:
    """A part of a request: the rule that fits it best; `why` says why none may allow it.

    `nearest` is the rule that `why` is about: of those that allow, one of which the most words
    fit. `redirections` and `writes` are those of a command's part.
    """

    text: str
    rule: PolicyRule | None = None
    why: str = ""
    redirections: str = ""
    writes: tuple[str, ...] = ()
    nearest: PolicyRule | None = None


@dataclass(frozen=True, slots=True)
class Judgement:
    """A verdict. `effect` None: no rule, so the person is asked.

    `why` says what keeps rules from allowing the request. `unkeepable` says why not even exactly
    this can be allowed until the session ends; "" where it can. `suspect` is a rule that denies or
    asks, made one that asks: the command may be what it means, but cannot be followed.
    """

    effect: RuleEffect | None
    rule: PolicyRule | None = None
    parts: list[JudgedPart] = field(default_factory=list)
    why: str = ""
    unkeepable: str = ""
    suspect: PolicyRule | None = None

    @property
    def is_automatic(self) -> bool:
        return self.effect in ("deny", "allow")


def judge(
    asked: AskedFor,
    rules: Sequence[PolicyRule],
    folder: str | None,
    guards: Guards,
) -> Judgement:
    """Judge a request. `folder` is the session's, without links; None while it is not known."""
    about = [one for one in rules if one.kind == asked.kind]
    if asked.kind is None or not asked.subject:
        why = "no rule is about such requests"
        return Judgement(None, why=why, unkeepable=why)
    if asked.kind == "shell":
        try:
            return _of_command(asked, about, folder, guards)
        except ImportError as error:  # what reads commands is gone: tapui was updated meanwhile
            return _unread([one for one in about if one.holds_in(folder)], str(error))
    return _of_one(asked, about, folder, guards)


def strictest(
    asked: Iterable[AskedFor], rules: Sequence[PolicyRule], folder: str | None
) -> PolicyRule | None:
    """Return the deny rule that applies to a call, even if others allow it; else the ask rule, else
    None."""
    asking: PolicyRule | None = None
    for one in asked:
        held = [rule for rule in rules if rule.kind == one.kind and rule.holds_in(folder)]
        strict = [rule for rule in held if rule.effect != "allow"]
        if not strict or not one.subject:
            continue
        if one.kind == "shell" and not one.is_powershell:
            sure, suspects = _meant(one.subject, strict)
            found = _best([rule for rule, _ in sure]) or _best(suspects)
            if found is None:
                continue
            if len(strict) == len(held):  # no rule allows it: the command need not be taken apart
                if found.effect == "deny":
                    return found
                asking = asking or found
                continue
        verdict = judge(one, held, folder, Guards())
        if verdict.effect == "deny":
            return verdict.rule
        asking = asking or (verdict.rule if verdict.effect == "ask" else verdict.suspect)
    return asking


def _meant(
    command: str, strict: Sequence[PolicyRule]
) -> tuple[list[tuple[PolicyRule, "Meant"]], list[PolicyRule]]:
    """Return which rules that deny or ask mean a command, and those by which the person is asked
    whether they do."""
    try:
        from tapui.policies.command_meaning import meaning, programs_of
    except ImportError as error:  # see `judge`
        return [], [_suspect(rule, str(error)) for rule in strict]
    sure: list[tuple[PolicyRule, Meant]] = []
    suspects: list[PolicyRule] = []
    if not strict:
        return sure, suspects
    read = meaning(command, programs_of(rule.words for rule in strict))
    for rule in strict:
        found = read.of(rule.words)
        if found is not None and found.is_unsure:
            suspects.append(_suspect(rule, found.why))
        elif found is not None:
            sure.append((rule, found))
    return sure, suspects


def _best(rules: Iterable[PolicyRule]) -> PolicyRule | None:
    """Return the rule that decides: the administrator's first, then the strictest."""
    return min(rules, key=lambda one: (one.source != "managed", _FIRST[one.effect]), default=None)


def _kept(asked: AskedFor, rules: Iterable[PolicyRule]) -> PolicyRule | None:
    """Return the session's own rule for exactly this request."""
    if not asked.key:
        return None
    return next(
        (one for one in rules if one.source == "session" and one.pattern == asked.key), None
    )


def _settled(
    asked: AskedFor, rules: Sequence[PolicyRule], parts: list[JudgedPart], guard: str, why: str
) -> Judgement:
    """Return the verdict on a request of judged parts."""
    found = [part.rule for part in parts if part.rule is not None]
    for effect in ("deny", "ask"):
        strict = next((one for one in found if one.effect == effect), None)
        if strict is not None:
            named = f"rule “{strict.pattern}”" if effect == "deny" else "asked each time by a rule"
            return Judgement(effect, strict, parts, "", named)
    if (kept := _kept(asked, rules)) is not None and not guard:
        return Judgement("allow", kept, parts)
    unkeepable = guard or ("" if asked.key else "no two such requests are the same")
    if guard or why or len(found) < len(parts) or any(part.why for part in parts) or not parts:
        return Judgement(None, None, parts, guard or why, unkeepable)
    return Judgement("allow", found[-1], parts, "", unkeepable)


# Commands


def _of_command(
    asked: AskedFor, about: Sequence[PolicyRule], folder: str | None, guards: Guards
) -> Judgement:
    """Judge a command; `about` are the rules about commands, of all folders."""
    from tapui.policies.command_meaning import means
    from tapui.policies.commands import parsed

    rules = [one for one in about if one.holds_in(folder)]
    if asked.is_powershell:
        return _of_powershell(asked, rules, guards)
    command = parsed(asked.subject)
    strict = [one for one in rules if one.effect != "allow"]
    allowing = [one for one in about if one.effect == "allow" and one.source != "session"]
    places = _places(command.parts, asked.leads, folder)
    judged = {
        one: _of_part(one, strict, allowing, asked.leads, folder, places=places)
        for one in set(command.parts)
    }
    parts = _without_idle(command.parts, [judged[one] for one in command.parts], places)
    sure, suspects = _meant(asked.subject, strict)
    for rule, found in sure:
        if not any(means(part.words, rule.words) for part in judged):
            parts.append(JudgedPart(" ".join(found.words), rule))
    if command.is_vast:
        strictest = _best(part.rule for part in parts if part.rule is not None)
        part = JudgedPart(asked.subject[:_HEAD], strictest)
        verdict = _settled(asked, rules, [part], command.doubts[0], "")
    else:
        guard = command_guard(asked, command, guards, folder)
        why = command.doubts[0] if command.doubts else ""
        why = why or _disagreement(asked, command.parts)
        verdict = _settled(asked, rules, parts, guard, why)
    if verdict.effect is None and suspects:
        return replace(verdict, suspect=_best(suspects))
    return verdict


def _without_idle(
    parts: Sequence["CommandPart"], judged: list[JudgedPart], places: set[str] | None
) -> list[JudgedPart]:
    """Return the parts without those that do nothing, and need no rule: `true`, and a move within
    the folder where all other rules hold there, too."""
    holds = places is not None and (
        not places or all(one.rule is None or one.rule.folder is not None for one in judged)
    )
    kept = [
        one
        for part, one in zip(parts, judged, strict=True)
        if one.rule is not None
        or not (part.words in _IDLE or (holds and part.words[:1] and part.words[0] in _MOVES))
    ]
    return kept or judged


def _places(
    parts: Sequence["CommandPart"], leads: "Leads | None", folder: str | None
) -> set[str] | None:
    """Return the folders below its own into which a command moves; None if it may go elsewhere."""
    found: set[str] = set()
    for words in (part.words for part in parts if part.words[:1] and part.words[0] in _MOVES):
        if leads is None or folder is None or len(words) != 2:
            return None
        place = "" if found - {folder} else folder  # behind a move only absolute ones are known
        word = leads.home + words[1][1:] if words[1].startswith("~") else words[1]
        found.update(leads.words.get(words[1]) or [normpath(join(place, word))])
        if not all(is_within(one, folder) and one in leads.folders for one in found):
            return None
    return found - {folder or ""}


def _unread(rules: Sequence[PolicyRule], why: str) -> Judgement:
    """Return the verdict on a command that cannot be read: no rule allows it, and where one could
    deny it the person is asked."""
    strict = _best(one for one in rules if one.effect != "allow")
    suspect = None if strict is None else _suspect(strict, why)
    return Judgement(None, why=why, unkeepable=why, suspect=suspect)


def _suspect(rule: PolicyRule, why: str) -> PolicyRule:
    """Return the rule by which the person is asked about what may be what another forbids."""
    pattern = rule.pattern if len(rule.pattern) <= _HEAD else f"{rule.pattern[:_HEAD]}…"
    reason = f"this may be what your rule “{pattern}” is about, and tapui cannot follow it: {why}"
    return replace(rule, effect="ask", reason=reason)


def _of_powershell(asked: AskedFor, rules: Sequence[PolicyRule], guards: Guards) -> Judgement:
    """Judge a command that is not taken apart: only rules that deny and ask are looked for in it,
    wherever their words stand, in capitals or not."""
    from tapui.policies.commands import parsed

    text = asked.subject.casefold()
    strict = _best(
        one
        for one in rules
        if one.effect != "allow"
        and patterns.occurs(text, tuple(word.casefold() for word in one.words))
    )
    guard = command_guard(asked, parsed(asked.subject), guards)
    return _settled(asked, rules, [JudgedPart(asked.subject[:_HEAD], strict)], guard, _POWERSHELL)


def _of_part(
    part: "CommandPart",
    strict: list[PolicyRule],
    allowing: list[PolicyRule],
    leads: "Leads | None",
    folder: str | None,
    *,
    places: set[str] | None,
) -> JudgedPart:
    from tapui.policies.command_meaning import means
    from tapui.policies.programs import base_name

    fitting = [one for one in strict if means(part.words, one.words)]
    nearest, why, near = None, "", (0, False)
    for rule in allowing:
        if rule.words[:1] != part.words[:1]:
            continue
        holds, hidden = rule.holds_in(folder), obstacle(part, rule, leads, folder)
        is_elsewhere = places is None or (places and base_name(part.words[0]) in _READ_GIT)
        if is_elsewhere and rule.folder is not None and part.words[0] not in _MOVES:
            hidden = hidden or "the command changes its folder before"
        hidden = hidden or ("" if holds else f"it only holds in {rule.folder}")
        size = patterns.fitting_size(part.words, rule.words)
        if not hidden:
            fitting.append(rule)
        elif (size, holds) > near:
            nearest, why, near = rule, hidden, (size, holds)
    best = _best(fitting)
    if best is not None:
        nearest, why = None, ""
    return JudgedPart(part.text, best, why, part.redirections, part.writes, nearest)


def obstacle(
    part: "CommandPart", rule: PolicyRule, leads: "Leads | None", folder: str | None
) -> str:
    """Say why a rule for a part's program does not allow it; "" where it does."""
    from tapui.policies.leads import stray
    from tapui.policies.programs import KINDS, aligned, base_name, escape, unknown_beside

    words, whole = part.words, rule.words
    size = patterns.fitting_size(words, whole)
    if rule.is_exact and len(whole) == size < len(words):
        return f"it is exact, and {words[size]} follows"
    # A star at the end stands for any number of operands.
    ends_open = not rule.is_exact and len(whole) > 1 and whole[-1] == "*"
    wanted = whole[:-1] if ends_open and size < len(whole) else whole
    if size >= len(wanted):
        places: tuple[int, ...] = tuple(range(len(wanted)))
        hidden = escape(words, len(wanted), part.expanding, patterns.starred(wanted))
    elif not rule.is_exact and (found := aligned(words, wanted)) is not None:
        places = found
        hidden = unknown_beside(words, places, wanted, part.expanding)
    else:
        others = f", not {words[size]}" if size < len(words) else ", too"
        return f"it names {whole[size]}{others}"
    if hidden and base_name(words[0]) in KINDS.runners:
        return hidden
    word = stray(words, whole, places, leads, folder)
    return f"it does not name {word}" if word else hidden


def _disagreement(asked: AskedFor, parts: Sequence["CommandPart"]) -> str:
    """Say where the CLI sees other parts in a command than tapui does."""
    from tapui.policies.commands import parsed

    if asked.segments is None:
        return ""
    ours = [part.words for part in parts]
    theirs = [part.words for text in asked.segments for part in parsed(text).parts]
    return "" if ours == theirs else "Copilot sees other commands in it than tapui does"


# Everything else


def _of_one(
    asked: AskedFor, about: Sequence[PolicyRule], folder: str | None, guards: Guards
) -> Judgement:
    """Judge what is no command; `about` are the rules about its kind, of all folders."""
    guard = ""
    if asked.kind in ("write", "read"):
        guard = path_guard(asked, guards)
        fitting, why = _fitting_paths(asked, about)
    elif asked.kind == "url":
        guard = url_guard(asked, guards)
        fitting, why = _fitting_url(asked, about)
    else:
        fitting, why = [one for one in about if _fits_any(one, asked)], ""
    rules = [one for one in about if one.holds_in(folder)]
    rule = _best(one for one in fitting if one.source != "session" and one.holds_in(folder))
    part = JudgedPart(asked.subject, rule)
    if rule is None and not why:
        allowing = (one for one in about if one.effect == "allow" and one.source != "session")
        ways = ((one, _in_the_way_of_one(asked, one, one in fitting)) for one in allowing)
        nearest, hidden = next((found for found in ways if found[1]), (None, ""))
        part = replace(part, nearest=nearest, why=hidden)
    return _settled(asked, rules, [part], guard, why)


def _in_the_way_of_one(asked: AskedFor, rule: PolicyRule, is_fitting: bool) -> str:
    """Say why a rule that is about a request, or nearly, does not allow it; "" for any other."""
    if is_fitting:
        return f"it only holds in {rule.folder}"
    if asked.kind == "url":
        url = patterns.url_parts(asked.subject)
        is_host = url is not None and url.host == patterns.host_of(rule.pattern)
        return "its scheme, port or path is another" if is_host else ""
    paths = dict.fromkeys((*asked.subjects, *asked.real_paths))
    others = [one for one in paths if not any(patterns.path_fits(t, one) for t in rule.targets)]
    return f"it is not about {others[0]}" if 0 < len(others) < len(paths) else ""


def _fits_any(rule: PolicyRule, asked: AskedFor) -> bool:
    return any(patterns.fits(rule.pattern, one) for one in asked.subjects)


def _fitting_paths(asked: AskedFor, rules: Sequence[PolicyRule]) -> tuple[list[PolicyRule], str]:
    """Return the rules for files: a strict one for any of them, an allowing one for all of them.

    What may be written is decided by where the file really is.
    """
    every = (*asked.subjects, *asked.real_paths)
    why = ""
    if asked.is_relative:
        why = "its path is relative"
    elif not asked.real_paths:
        why = "it is not known where its path leads"
    elif not all(map(patterns.is_straight, every)):
        why = "its path climbs"
    fitting = []
    for rule in rules:
        by_path = [any(patterns.path_fits(one, path) for one in rule.targets) for path in every]
        if rule.effect == "allow":
            if not why and all(by_path):
                fitting.append(rule)
        elif any(by_path):
            fitting.append(rule)
    return fitting, why


def _fitting_url(asked: AskedFor, rules: Sequence[PolicyRule]) -> tuple[list[PolicyRule], str]:
    url: UrlParts | None = patterns.url_parts(asked.subject)
    if url is None:
        # A rule that forbids is not got round by an odd way of writing.
        written = asked.subject.casefold()
        strict = [
            one
            for one in rules
            if one.effect != "allow" and patterns.host_of(one.pattern) in written
        ]
        return strict, "programs may read its URL in different ways"
    return [
        one
        for one in rules
        if patterns.url_fits(one.pattern, url, is_generous=one.effect != "allow")
    ], ""
