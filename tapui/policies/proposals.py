"""The rules that would have allowed a request, and how they are written."""

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tapui.policies.requests import AskedFor
from tapui.policies.rules import PolicyRule, RuleKind, pattern_fault, url_parts

if TYPE_CHECKING:
    from tapui.policies.commands import CommandPart
    from tapui.policies.leads import Leads
    from tapui.policies.verdicts import Judgement

_MOST_RULES = 8
_LIMITS = re.compile(
    r"--(?:dry-run|check|check-only|list|no-act|noEmit|abort|just-print|diff|test)(?:=.*)?"
)
_SHORT_LIMITS = re.compile(r"-[A-Za-z]*[nlt][A-Za-z]*")
"""Options that may be what makes a command harmless: without them it is another."""


@dataclass(frozen=True, slots=True)
class ProposedRule:
    """A rule that does not exist yet. `folder` is where it is to hold, a real path."""

    kind: RuleKind
    pattern: str
    folder: str | None
    is_exact: bool = False

    def as_rule(self) -> PolicyRule:
        targets = (self.pattern,) if self.kind in ("write", "read") else ()
        return PolicyRule(
            "allow",
            self.kind,
            self.pattern,
            folder=self.folder,
            is_exact=self.is_exact,
            targets=targets,
        )

    @property
    def words(self) -> str:
        """Return it in words, but for the folder."""
        exactly = " and nothing behind it" if self.is_exact else ""
        return f"{self.kind} “{self.pattern}”{exactly}"

    def as_toml(self) -> str:
        lines = ["[[rules]]"]
        if self.kind != "shell":
            lines.append(f"kind = {_text(self.kind)}")
        lines.append(f"allow = {_text(self.pattern)}")
        if self.is_exact:
            lines.append("exact = true")
        if self.folder is not None:
            lines.append(f"folder = {_text(self.folder)}")
        return "\n".join(lines) + "\n"


def offered(asked: AskedFor, folder: str) -> tuple[list[ProposedRule], "Judgement"]:
    """Return the rules to propose for a request, and the verdict by them; none unless they would
    allow it."""
    from tapui.policies.guards import Guards
    from tapui.policies.verdicts import judge

    rules = proposed(asked, folder)
    verdict = judge(asked, [one.as_rule() for one in rules], folder, Guards())
    return rules if verdict.effect == "allow" else [], verdict


def proposed(asked: AskedFor, folder: str | None) -> list[ProposedRule]:
    """Return the narrow rules that would allow a request; none where no rule may.

    What a rule is not allowed to match is for `verdicts.judge` to say.
    """
    if folder is None:
        return []
    found = _of_shell(asked, folder) if asked.kind == "shell" else _of_other(asked, folder)
    return [one for one in found if not pattern_fault("allow", one.kind, one.pattern, one.folder)]


def _of_shell(asked: AskedFor, folder: str) -> list[ProposedRule]:
    from tapui.policies.commands import parsed

    command = parsed(asked.subject)
    if command.doubts or len(command.parts) > _MOST_RULES:
        return []
    found = (_of_part(part, asked.leads, folder) for part in command.parts)
    return list(dict.fromkeys(one for one in found if one is not None))


def _of_part(part: "CommandPart", leads: "Leads | None", folder: str) -> ProposedRule | None:
    """Return the rule for a part without its options; word for word where that hides more.

    None where not even that would allow the part.
    """
    from tapui.policies.programs import is_destructive
    from tapui.policies.verdicts import obstacle

    if part.words[0] == "cd":
        return ProposedRule("shell", "cd", folder)
    exact = ProposedRule("shell", _joined(part.words), folder, is_exact=True)
    told = None if is_destructive(part.words[0]) else _told(part.words)
    wide = [] if told is None else [ProposedRule("shell", _joined(told), folder)]
    for rule in (*wide, exact):
        # A star in a rule would stand for more than was seen.
        if "*" not in rule.pattern and obstacle(part, rule.as_rule(), leads, folder) == "":
            return rule
    return None


def _told(words: tuple[str, ...]) -> tuple[str, ...] | None:
    """Return the program with its verb: `npm ci`, `gh pr list`; with its operands, where it has no
    verbs and does more than to read; None where only all words together say what it does."""
    from tapui.policies.leads import reads_alone, takes_targets
    from tapui.policies.options import entry_of, may_lead, plain_places, verb_size, verb_table
    from tapui.policies.programs import base_name, inner_program

    start = inner_program(words)
    inner = words[start:]
    name = base_name(inner[0])
    if entry_of(name) is None:
        return None  # anything may be a verb
    plain = tuple(inner[at] for at in plain_places(name, inner))
    size, table = verb_size(name, plain), verb_table(name, plain)
    does_more = size is None or table is None or table.asked
    options = [word for word in inner if word[:1] == "-"] if not reads_alone(name) else []
    if any(_LIMITS.fullmatch(one) for one in options):
        return None
    if does_more and any(_SHORT_LIMITS.fullmatch(one) for one in options):
        return None
    if size is None:
        if takes_targets(name) and not all(may_lead(name, one) for one in options):
            return None
        size = 1 if reads_alone(name) else len(plain)
    elif does_more and not (table is not None and table.has_object):
        size = size and len(plain)
    return (*words[:start], *plain[:size]) if size else None


def _joined(words: tuple[str, ...]) -> str:
    import shlex

    return shlex.join(words)


def _of_other(asked: AskedFor, folder: str) -> list[ProposedRule]:
    match asked.kind:
        case "write" | "read":
            paths = dict.fromkeys(asked.real_paths or asked.subjects)
            is_plain = not any(set(path) & set("*?") for path in paths)
            return [ProposedRule(asked.kind, one, folder) for one in paths] if is_plain else []
        case "url":
            parts = url_parts(asked.subject)
            if parts is None:
                return []
            host = asked.subject.split("/", 3)[2]
            return [ProposedRule("url", f"{parts.scheme}://{host.lower()}/", folder)]
        case "mcp" | "tool" if "*" not in asked.subject:
            return [ProposedRule(asked.kind, asked.subject, folder)]
        case _:
            return []


def _text(text: str) -> str:
    """Return a text as TOML writes it: JSON, but DEL is escaped, too."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
