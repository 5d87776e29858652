"""A shell text as the statements that bash makes of it: lists, chains, pipes and their commands.

The grammar's tree binds redirections and pipes otherwise than bash does: `a && b 2>&1 | tail` is
one pipe there. Only its leaves are taken, with the signs between them; they are joined here as
section 3.2 of bash's manual has it. What may be read in two ways is not read at all.
"""

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Literal, NamedTuple

from tapui.policies.commands import (
    DESCRIPTOR,
    GAP,
    MAX_COMMAND,
    REDIRECTS,
    UNPARSED,
    CommandReader,
    ParsedCommand,
    strange_character,
    syntax,
)

if TYPE_CHECKING:
    from tree_sitter import Node

UNKNOWN = "\0"
"""Begins what is not known of a word before it runs; behind it stands the text as written."""
_MAX_DEPTH = 60
_MAX_DOCUMENTS = 20
_MAX_TEXT = 256 * 1024
_JOINED = frozenset({"program", "list", "pipeline", "redirected_statement", "negated_command"})
_SIGNS = frozenset({"&&", "||", ";", "|", "|&", "&", "!", "\n"})
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
    tree = syntax(text)
    if isinstance(tree, str):
        raise UnreadTextError(tree)
    root, source = tree
    if root.has_error:
        raise UnreadTextError(UNPARSED)
    return _Reader(text, source).scope(root, 0)


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


# The tree's leaves, joined anew


class _Token(NamedTuple):
    sign: str
    node: "Node | None" = None
    is_redirect: bool = False


class _Reader:
    def __init__(self, text: str, source: bytes) -> None:
        self._text = text
        self._source = source
        self._nested = 0

    def scope(self, node: "Node", depth: int) -> Statement:
        """Take a program, or what stands in brackets."""
        if depth > _MAX_DEPTH:
            raise UnreadTextError("it is nested too deeply")
        tokens = list(self._tokens(node, 0))
        if node.type != "program":
            self._gaps(node)
            tokens = tokens[1:-1]
        else:
            self._blank(0, tokens[0].node.start_byte if tokens and tokens[0].node else 0)
        return _Joiner(self, tokens, depth).list_()

    def _gaps(self, node: "Node") -> None:
        text = self._of(node)
        is_closed = text[:1] + text[-1:] in ("()", "{}")
        if not is_closed or (text[0] == "{" and not text[1:2].isspace()) or text[:2] == "((":
            raise UnreadTextError("it has a form that is not read")

    def _of(self, node: "Node") -> str:
        return self._text[node.start_byte : node.end_byte]

    def _blank(self, start: int, end: int) -> bool:
        """Return whether a line ends in a gap between two leaves."""
        if not GAP.fullmatch(self._source, start, max(start, end)):
            raise UnreadTextError("it has a form that the parser passes over")
        return b"\n" in self._source[start:end].replace(b"\\\n", b"")

    def _tokens(self, node: "Node", depth: int) -> Iterator[_Token]:
        """Yield the leaves and signs, with the ends of lines."""
        if depth > _MAX_DEPTH * 3:
            raise UnreadTextError("it is nested too deeply")
        at = node.start_byte
        for child in node.children:
            if child.is_missing:
                raise UnreadTextError(UNPARSED)
            if self._blank(at, child.start_byte):
                yield _Token("\n")
            at = child.end_byte
            if child.type in _JOINED:
                yield from self._tokens(child, depth + 1)
            elif child.type == "comment":
                before = self._text[: child.start_byte][-1:]
                if before not in ("", *" \t\n;|&()") or "\n" in self._of(child):
                    raise UnreadTextError("it has a form that is not read")
            elif child.type == "file_redirect":
                yield _Token("", child, is_redirect=True)
            elif child.type == "herestring_redirect":
                continue
            elif child.type == "heredoc_redirect":
                raise UnreadTextError("it has a here-document that is not read")
            elif child.is_named:
                yield _Token("", child)
            elif child.type in _SIGNS or child.type in "(){}":
                yield _Token(child.type, child)
            else:
                raise UnreadTextError(f"it has a sign that is not read ({child.type})")
        if self._blank(at, node.end_byte):
            yield _Token("\n")

    def operand(self, node: "Node", depth: int) -> Statement:
        """Take a leaf."""
        kind = node.type
        if kind in _COMMANDS:
            command, writes = self._command(node)
            return Statement("command", command=command, writes=writes)
        text = self._of(node)
        if kind == "subshell" or (kind == "compound_statement" and text[:2] != "(("):
            within = self.scope(node, depth + 1)
            return Statement("subshell" if kind == "subshell" else "braces", (within,))
        if kind not in _REASONS:
            raise UnreadTextError(f"it has a form that is not read ({kind})")
        below = tuple(self._below(node))
        names = [one for one in node.children if one.type == "variable_name"]
        sets = tuple((self._of(one), UNKNOWN) for one in names)
        if kind == "function_definition":
            return Statement("function", below=below, why=_REASONS[kind])
        writes = tuple(self._writes_below(node))
        return Statement("opaque", (), SimpleCommand((), sets), below, _REASONS[kind], writes)

    def _below(self, node: "Node") -> list[SimpleCommand]:
        """Return each command that stands anywhere below a node."""
        self._nested += 1
        if self._nested > _MAX_DEPTH:
            raise UnreadTextError("it is nested too deeply")
        found: list[SimpleCommand] = []
        waiting = list(reversed(node.children))
        while waiting:
            one = waiting.pop()
            if one.type == "function_definition":
                raise UnreadTextError("it defines a function within another statement")
            if one.type in _COMMANDS:
                found.append(self._command(one)[0])
            elif one.type == "heredoc_redirect":
                raise UnreadTextError("it has a here-document that is not read")
            else:
                waiting.extend(reversed(one.children))
        self._nested -= 1
        return found

    def _writes_below(self, node: "Node") -> Iterator[str]:
        waiting = list(node.children)
        while waiting:
            one = waiting.pop()
            waiting.extend(one.children)
            if one.type == "file_redirect":
                yield from self.writes(one)

    def _command(self, node: "Node") -> tuple[SimpleCommand, tuple[str, ...]]:
        if node.type == "test_command":
            text = self._of(node)
            is_plain = not re.search(r"[$`'\"\\]", text)
            tested = tuple(text.split()) if is_plain else ("[", UNKNOWN + text)
            return SimpleCommand(tested, below=tuple(self._below(node))), ()
        words: list[str] = []
        sets: list[tuple[str, str]] = []
        writes: list[str] = []
        doubts: list[str] = []
        if node.type == "variable_assignment":
            return SimpleCommand((), (self._assignment(node),), below=tuple(self._below(node))), ()
        self._check(node)
        for child in node.children:
            if child.type == "variable_assignment":
                name, value = self._assignment(child)
                if node.type == "declaration_command":
                    words.append(f"{name}={value}")
                else:
                    sets.append((name, value))
            elif child.type == "file_redirect":
                writes += self.writes(child)
            elif child.type == "heredoc_redirect":
                raise UnreadTextError("it has a here-document that is not read")
            elif child.type == "command_name" and len(child.children) == 1:
                words.append(self._word(child.children[0], doubts))
            elif node.type != "command" and (child.type == "variable_name" or not child.is_named):
                words.append(self._of(child))
            elif child.type != "herestring_redirect":
                words.append(self._word(child, doubts))
        first = next((one for one in words if one not in ("time", "-p")), "")
        if first in _RESERVED:  # the grammar takes `! { cd web; }` for a command `{`
            raise UnreadTextError("it has a form that is not read")
        below = self._below(node)
        doubt = doubts[0] if doubts else ""
        return SimpleCommand(tuple(words), tuple(sets), doubt, tuple(below)), tuple(writes)

    def _check(self, node: "Node") -> None:
        found = ParsedCommand()
        CommandReader(self._text, self._source, found).check_gaps(node)
        if found.doubts:
            raise UnreadTextError(found.doubts[0])

    def _assignment(self, node: "Node") -> tuple[str, str]:
        name, sign, *values = node.children
        if name.type != "variable_name" or sign.type != "=" or len(values) > 1:
            return self._of(name), UNKNOWN + self._of(node)
        return self._of(name), self._word(values[0], []) if values else ""

    def _word(self, node: "Node", doubts: list[str]) -> str:
        """Return a word's value, or behind `UNKNOWN` its text."""
        text = self._of(node)
        found = ParsedCommand()
        word = CommandReader(self._text, self._source, found).word(node)
        if _EXPANDS.match(text):
            found.doubt("a pattern may become an option")
        if not found.doubts:
            return word
        for pattern, value in _KNOWN_VALUES:
            if pattern.fullmatch(text):
                return pattern.sub(value, text)
        doubts += found.doubts
        return UNKNOWN + text

    def writes(self, node: "Node") -> list[str]:
        """Return the files that a redirection writes."""
        self._check(node)
        sign = ""
        targets: list[Node] = []
        for one in node.children:
            is_odd = one.type == "file_descriptor" and not DESCRIPTOR.fullmatch(self._of(one))
            if one.is_missing or is_odd:
                raise UnreadTextError("it has a redirection that is not read")
            if not one.is_named:
                sign = one.type
            elif one.type != "file_descriptor":
                targets.append(one)
        if sign not in REDIRECTS or len(targets) > 1:
            raise UnreadTextError("it has a redirection that is not read")
        if not targets or sign in ("<", "<&", ">&-", "<&-"):
            return []
        if targets[0].type == "number" and sign == ">&":
            return []
        if targets[0].type == "process_substitution":
            return []
        return [self._word(targets[0], [])]


class _Joiner:
    """Joins the leaves by bash's precedence: pipes, then chains, then lists."""

    def __init__(self, reader: _Reader, tokens: list[_Token], depth: int) -> None:
        self._reader = reader
        self._tokens = [*tokens, _Token("end")]
        self._at = 0
        self._depth = depth

    def _sign(self) -> str:
        return self._tokens[self._at].sign

    def _lines(self) -> None:
        while self._sign() == "\n":
            self._at += 1

    def list_(self) -> Statement:
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
        token = self._tokens[self._at]
        if token.node is None or token.sign:
            raise UnreadTextError("it has a form that is not read")
        if token.is_redirect:
            made = Statement("command")
        else:
            made = self._reader.operand(token.node, self._depth)
            self._at += 1
        while self._tokens[self._at].is_redirect:
            node = self._tokens[self._at].node
            assert node is not None
            below = (*made.below, *self._reader._below(node))  # noqa: SLF001 - one concept
            made = made._replace(writes=(*made.writes, *self._reader.writes(node)), below=below)
            self._at += 1
        return made
