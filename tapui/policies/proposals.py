"""The rules that would have allowed a request, and how they are written."""

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tapui.policies.requests import AskedFor
from tapui.policies.rules import PolicyRule, RuleKind, pattern_fault, url_parts

if TYPE_CHECKING:
    from tapui.policies.verdicts import Judgement

_MOST_RULES = 8


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
    found = (_of_words(part.words, part.expanding, folder) for part in command.parts)
    return list(dict.fromkeys(one for one in found if one is not None))


def _of_words(
    words: tuple[str, ...], expanding: frozenset[int], folder: str
) -> ProposedRule | None:
    """Return the rule for a program and its verb; word for word where that hides more.

    None where not even that would allow the command.
    """
    from tapui.policies.programs import escape, is_destructive

    if words[0] == "cd":
        return ProposedRule("shell", "cd", folder)
    taken = None if is_destructive(words[0]) else _told(words)
    is_seen = taken is not None and not any("*" in word for word in words[:taken])
    if taken is not None and is_seen and not escape(words, taken, expanding):
        return ProposedRule("shell", _joined(words[:taken]), folder)
    if escape(words, len(words), expanding) or any("*" in word for word in words):
        return None  # a star in a rule would stand for more than was seen
    return ProposedRule("shell", _joined(words), folder, is_exact=True)


def _told(words: tuple[str, ...]) -> int | None:
    """Return how many words are the program and its verb: two of `npm ci`, three of
    `gh pr list`; None where that is not known, or is all of them."""
    from tapui.policies.leads import reads_alone
    from tapui.policies.options import entry_of, verb_size
    from tapui.policies.programs import base_name, inner_program

    at = inner_program(words)
    name, inner = base_name(words[at]), words[at:]
    known = verb_size(name, inner)
    if known is not None:
        return at + known if known else None
    # Of a program that is not known, anything may be a verb.
    is_plain = entry_of(name) is not None and (at > 0 or reads_alone(name) or len(words) == 1)
    return at + 1 if is_plain else None


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
