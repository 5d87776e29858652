"""The rules that would have allowed a request, and how they are written."""

import json
from dataclasses import dataclass

from tapui.policies.requests import AskedFor
from tapui.policies.rules import PolicyRule, RuleKind, pattern_fault, url_parts

_MOST_RULES = 8


@dataclass(frozen=True, slots=True)
class ProposedRule:
    """A rule that does not exist yet. `folder` is where it is to hold, a real path."""

    kind: RuleKind
    pattern: str
    folder: str | None
    is_exact: bool = False

    def as_rule(self) -> PolicyRule:
        """Return it as a rule that allows."""
        targets = (self.pattern,) if self.kind in ("write", "read") else ()
        return PolicyRule(
            "allow",
            self.kind,
            self.pattern,
            folder=self.folder,
            is_exact=self.is_exact,
            targets=targets,
        )

    def as_toml(self) -> str:
        """Return it as a table of the configuration file."""
        lines = ["[[rules]]"]
        if self.kind != "shell":
            lines.append(f"kind = {_text(self.kind)}")
        lines.append(f"allow = {_text(self.pattern)}")
        if self.is_exact:
            lines.append("exact = true")
        if self.folder is not None:
            lines.append(f"folder = {_text(self.folder)}")
        return "\n".join(lines) + "\n"


def proposed(asked: AskedFor, folder: str | None) -> list[ProposedRule]:
    """Return the narrow rules that would allow a request; none where no rule may.

    What a rule is not allowed to match is for `judging.judge` to say.
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
    return list(dict.fromkeys(_of_words(part.words, folder) for part in command.parts))


def _of_words(words: tuple[str, ...], folder: str) -> ProposedRule:
    """Return the rule for a program and what it is told to do; word for word where that hides more.

    Only words of letters are taken for what it is told to do: `npm ci`, not `rm build`.
    """
    from tapui.policies.programs import escape, is_destructive

    taken = 2 if len(words) > 1 and _is_verb(words[1]) else 1
    if words[0] == "cd":
        return ProposedRule("shell", "cd", folder)
    if taken < len(words) and (taken == 1 or is_destructive(words[0]) or escape(words, taken)):
        return ProposedRule("shell", _joined(words), folder, is_exact=True)
    return ProposedRule("shell", _joined(words[:taken]), folder, is_exact=is_destructive(words[0]))


def _is_verb(word: str) -> bool:
    return word.isascii() and word.replace("-", "").replace(":", "").isalpha() and word[0] != "-"


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
