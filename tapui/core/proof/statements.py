"""A shell text as the statements that bash makes of it: lists, chains, pipes and their commands.

The statements of a tree, which stand side by side there with the signs between them, are joined as
section 3.2 of bash's manual has it. What may be read in two ways is not read at all.
"""

import re
from collections.abc import Iterator
from typing import Literal, NamedTuple

from tapui.policies.commands import (
    MAX_COMMAND,
    PASSED_OVER,
    UNPARSED,
    WRITING,
    ShellStatement,
    ShellWord,
    reason,
    shell_tree,
    strange_character,
)

UNKNOWN = "\0"
"""Begins what is not known of a word before it runs; behind it stands the text as written."""
_MAX_DEPTH = 60
_MAX_DOCUMENTS = 20
_MAX_TEXT = 256 * 1024
_COMMANDS = frozenset(
    {"command", "variable_assignment", "variable_assignments", "declaration_command"}
    | {"unset_command", "test_command"}
)
_REASONS = {
    "if_statement": "it stands in an if, which takes its exit code",
    "while_statement": "it stands in a loop",
    "for_statement": "it stands in a loop",
    "c_style_for_statement": "it stands in a loop",
    "case_statement": "it stands in a case",
    "function_definition": "it stands in a function",
    "compound_statement": "it computes a value",
}
_RESERVED = frozenset(
    {"!", "{", "}", "[[", "]]", "case", "coproc", "do", "done", "elif", "else", "esac", "fi", "for"}
    | {"function", "if", "in", "select", "then", "until", "while"}
)
_QUOTED = re.compile(r"(<<-?[ \t]*)?('[^'\n]*'|\"(?:[^\"`$\\\n]|\\[^\n]|\$(?![({]))*\")|\\.")
"""A quoted text, or a sign that a backslash quotes: it does not begin one."""
_DOCUMENT = re.compile(r"(?<!<)<<(?!<)(-?)[ \t]*(['\"]?)([A-Za-z_]\w*)\2(?=[\s;|&>]|\Z)", re.ASCII)
_MESSAGE = re.compile(r"\"\$\(cat[ \t]*<<(-?)[ \t]*(['\"]?)([A-Za-z_]\w*)\2[ \t]*\Z", re.ASCII)
"""`git commit -m "$(cat <<'EOF'`, as agents write messages of several lines."""
_UNPLAIN = re.compile(r"['\"`\\#()]")
_WITH_COUNT = re.compile(r"([\w=-]*)\"?\$\(nproc\)\"?", re.ASCII)
_IN_HOME = re.compile(r"\"?\$(?:HOME|\{HOME\})((?:/[\w.-]+)*/?)\"?", re.ASCII)
_IN_FOLDER = re.compile(r"\"?(?:\$PWD|\$\{PWD\}|\$\(pwd\))((?:/[\w.-]+)*/?)\"?", re.ASCII)
_OF_NVM = re.compile(r"\"?\$(?:NVM_DIR|\{NVM_DIR\})(/nvm\.sh)\"?", re.ASCII)
"""`NVM_DIR` is a doubt where it is set to another folder than the one in the person's home."""
_EXPANDS = re.compile(r"(?:''|\"\"|\\\n)*[*?\[]")
_KNOWN_VALUES = (
    (_WITH_COUNT, r"\1N"),
    (_IN_HOME, r"~\1"),
    (_IN_FOLDER, r".\1"),
    (_OF_NVM, r"~/.nvm\1"),
)


Kind = Literal[
    "command",
    "list",
    "background",
    "and",
    "or",
    "pipe",
    "subshell",
    "braces",
    "opaque",
    "function",
]


class SimpleCommand(NamedTuple):
    """A simple command: words with their quotes taken off, and what it assigns before it runs."""

    words: tuple[str, ...]
    sets: tuple[tuple[str, str], ...] = ()
    doubt: str = ""
    """Why a word of it is not known."""
    below: "tuple[SimpleCommand, ...]" = ()
    """Commands of its substitutions."""


class Statement(NamedTuple):
    """A command, or statements that are joined. `writes` are the files of its redirections."""

    kind: Kind
    within: "tuple[Statement, ...]" = ()
    command: SimpleCommand = SimpleCommand(())
    below: tuple[SimpleCommand, ...] = ()
    """Commands of an opaque statement."""
    why: str = ""
    """Why the exit code of an opaque statement says nothing about those."""
    writes: tuple[str, ...] = ()


class UnreadTextError(Exception):
    """A text is not read; its message says why."""


def statement(text: str) -> Statement:
    """Return a text's statement, which is a list. Raises `UnreadTextError`."""
    text = _without_documents(text)
    if len(text) > MAX_COMMAND:  # before each character is looked at
        raise UnreadTextError(f"it is longer than {MAX_COMMAND:,} characters")
    if strange := strange_character(text):
        raise UnreadTextError(strange)
    tree = shell_tree(text)
    if isinstance(tree, str) or UNPARSED in tree.doubts:
        raise UnreadTextError(tree if isinstance(tree, str) else UNPARSED)
    return _Joiner(text, 0).scope(tree)


# Here-documents


def _without_documents(text: str) -> str:
    """Return a text without its here-documents, as far as their ends are beyond doubt.

    They are data, and often longer than all that is parsed; the grammar hides what follows one on
    its line. From the first line on that is not plain, nothing is taken out.
    """
    if "<<" not in text:
        return text
    if len(text) > _MAX_TEXT:
        raise UnreadTextError(f"it is longer than {_MAX_TEXT:,} characters")
    lines = text.split("\n")
    made: list[str] = []
    at = found = 0
    is_message = False
    while at < len(lines):
        line = lines[at]
        if len(line) > MAX_COMMAND:
            return "\n".join([*made, *lines[at:]])
        begin = 0
        if is_message:
            if not line.startswith(')"'):
                raise UnreadTextError("it has a here-document that is not read")
            begin = 2
        plain = line[:begin] + _QUOTED.sub(_blanked, line[begin:])
        one = _MESSAGE.search(plain)
        is_message = one is not None
        one = one or _DOCUMENT.search(plain)
        rest = plain[begin:] if one is None else plain[begin : one.start()] + plain[one.end() :]
        if _UNPLAIN.search(rest):
            return "\n".join([*made, *lines[at:]])
        at += 1
        if one is None:
            made.append(line)
            continue
        found += 1
        if "<<" in rest.replace("<<<", "") or found > _MAX_DOCUMENTS:
            raise UnreadTextError("it has a here-document that is not read")
        at = _after(lines, at, one[3], has_tabs=bool(one[1]), is_quoted=bool(one[2]))
        made.append(line[: one.start()] + ('"$(cat' if is_message else " ") + line[one.end() :])
    return "\n".join(made)


def _blanked(found: re.Match[str]) -> str:
    """Return as many plain letters for a quoted text; the end of a here-document is kept."""
    return "Q" * len(found[0]) if found[2] and not found[1] else found[0]


def _after(lines: list[str], at: int, end: str, *, has_tabs: bool, is_quoted: bool) -> int:
    """Return the line behind a here-document."""
    for number in range(at, len(lines)):
        line = lines[number].lstrip("\t") if has_tabs else lines[number]
        if line == end:
            return number + 1
        # Bash joins this line with the next one, which may be the end; and in a substitution it
        # also takes `EOF)` for the end.
        if (not is_quoted and line.endswith("\\")) or line.startswith((f"{end})", f"{end}`")):
            break
    raise UnreadTextError("it has a here-document that is not read")


# The tree's statements, joined


class _Token(NamedTuple):
    sign: str
    statement: ShellStatement | None = None


def _check(statement: ShellStatement) -> None:
    if PASSED_OVER in statement.doubts:
        raise UnreadTextError(PASSED_OVER)


def _below(statement: ShellStatement) -> Iterator[SimpleCommand]:
    """Yield each command that stands anywhere in a statement."""
    for inner in statement.inner:
        if inner.kind == "function_definition":
            raise UnreadTextError("it defines a function within another statement")
        _check_documents(inner)
        if inner.kind in _COMMANDS:
            yield _command(inner)
        else:
            yield from _below(inner)


def _command(statement: ShellStatement) -> SimpleCommand:
    _check_documents(statement)
    if statement.kind == "test_command":
        text = statement.text
        is_plain = not re.search(r"[$`'\"\\]", text)
        tested = tuple(text.split()) if is_plain else ("[", UNKNOWN + text)
        return SimpleCommand(tested, below=tuple(_below(statement)))
    _check(statement)
    doubts: list[str] = []
    words = [_value(word, doubts) for word in statement.words]
    sets = [
        (name, _value(value, []))
        if name.isidentifier()
        else (name.rstrip("+"), f"{UNKNOWN}{name}={value.written}")
        for name, value in statement.assignments
    ]
    below = [SimpleCommand((), (one,)) for one in sets if statement.kind != "variable_assignment"]
    if statement.kind == "declaration_command":
        words += [f"{name}={value}" for name, value in sets]
        sets = []
    first = next((one for one in words if one not in ("time", "-p")), "")
    if first in _RESERVED:  # the grammar takes `! { cd web; }` for a command `{`
        raise UnreadTextError("it has a form that is not read")
    doubt = doubts[0] if doubts else ""
    return SimpleCommand(tuple(words), tuple(sets), doubt, (*below, *_below(statement)))


def _value(word: ShellWord, doubts: list[str]) -> str:
    """Return a word's value, or behind `UNKNOWN` its text."""
    found = list(word.doubts)
    if _EXPANDS.match(word.written):
        found.append("a pattern may become an option")
    if not found:
        return word.text
    for pattern, value in _KNOWN_VALUES:
        if pattern.fullmatch(word.written):
            return pattern.sub(value, word.written)
    doubts += found
    return UNKNOWN + word.written


def _check_documents(statement: ShellStatement) -> None:
    for one in statement.redirections:
        if one.operator.startswith("<<") and one.operator != "<<<":
            raise UnreadTextError("it has a here-document that is not read")


def _writes(statement: ShellStatement) -> Iterator[str]:
    """Yield the files that the redirections of a statement write."""
    _check_documents(statement)
    for one in statement.redirections:
        if reason("file_redirect") in one.doubts or PASSED_OVER in one.doubts:
            raise UnreadTextError("it has a redirection that is not read")
        for target in one.targets if one.operator in WRITING else ():
            if not one.copies(target) and not target.written.startswith((">(", "<(")):
                yield _value(target, [])


class _Joiner:
    """Joins statements by bash's precedence: pipes, then chains, then lists."""

    def __init__(self, text: str, depth: int) -> None:
        self._text = text
        self._depth = depth
        self._tokens: list[_Token] = []
        self._at = 0

    def scope(self, statement: ShellStatement) -> Statement:
        """Take a program, or what stands in brackets."""
        if self._depth > _MAX_DEPTH:
            raise UnreadTextError("it is nested too deeply")
        _check(statement)
        own = statement.text
        is_closed = own[:1] + own[-1:] in ("()", "{}") and (own[0] != "{" or own[1:2].isspace())
        if statement.kind != "program" and (not is_closed or own[:2] == "(("):
            raise UnreadTextError("it has a form that is not read")
        for inner in statement.inner:
            self._tokens += map(_Token, inner.signs)
            if inner.kind != "comment":
                self._tokens.append(_Token("", inner))
            elif self._text[: inner.start][-1:] not in ("", *" \t\n;|&()") or "\n" in inner.text:
                raise UnreadTextError("it has a form that is not read")
        self._tokens += map(_Token, (*statement.ends, "end"))
        return self._list()

    def _sign(self) -> str:
        return self._tokens[self._at].sign

    def _lines(self) -> None:
        while self._sign() == "\n":
            self._at += 1

    def _list(self) -> Statement:
        items: list[Statement] = []
        self._lines()
        while self._sign() != "end":
            one = self._chain()
            sign = self._sign()
            if sign == "&":
                one = Statement("background", (one,), why="it runs in the background")
            if sign in ("&", ";", "\n"):
                self._at += 1
            elif sign != "end":
                raise UnreadTextError("it has a form that is not read")
            items.append(one)
            self._lines()
        return Statement("list", tuple(items))

    def _chain(self) -> Statement:
        made = self._pipe()
        while (sign := self._sign()) in ("&&", "||"):
            self._at += 1
            self._lines()
            made = Statement("and" if sign == "&&" else "or", (made, self._pipe()))
        return made

    def _pipe(self) -> Statement:
        is_turned = False
        while self._sign() == "!":
            is_turned = True
            self._at += 1
        stages = [self._stage()]
        while self._sign() in ("|", "|&"):
            self._at += 1
            self._lines()
            stages.append(self._stage())
        made = stages[0] if len(stages) == 1 else Statement("pipe", tuple(stages))
        if is_turned:
            return Statement("opaque", (made,), why="! turns its exit code round")
        return made

    def _stage(self) -> Statement:
        statement = self._tokens[self._at].statement
        if statement is None:
            raise UnreadTextError("it has a form that is not read")
        self._at += 1
        kind, writes = statement.kind, tuple(_writes(statement))
        if kind in _COMMANDS:
            return Statement("command", command=_command(statement), writes=writes)
        if kind == "subshell" or (kind == "compound_statement" and statement.text[:2] != "(("):
            within = _Joiner(self._text, self._depth + 1).scope(statement)
            return Statement(
                "subshell" if kind == "subshell" else "braces", (within,), writes=writes
            )
        below = tuple(_below(statement))
        if kind == "redirected_statement":  # redirections alone
            return Statement("command", below=below, writes=writes)
        if kind not in _REASONS:
            raise UnreadTextError(f"it has a form that is not read ({kind})")
        if kind == "function_definition":
            return Statement("function", below=below, why=_REASONS[kind], writes=writes)
        sets = tuple((one.text, UNKNOWN) for one in statement.words[: kind == "for_statement"])
        every = tuple(file for one in statement.all() for file in _writes(one))
        return Statement("opaque", (), SimpleCommand((), sets), below, _REASONS[kind], every)
