"""A shell text as the tree of its statements, and what rules that allow make of it.

What is not understood to its end becomes a doubt, and a command in doubt is never allowed by a
rule: shells have more ways to hide a program than a list of them would have entries.
"""

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import TYPE_CHECKING

from tapui.policies.programs import scripts_within
from tapui.text import is_invisible

if TYPE_CHECKING:
    from tree_sitter import Language, Node, Parser

MAX_COMMAND = 8 * 1024
"""Characters up to which a command is parsed."""
_LETTER = ord("X")
MAX_STRUCTURE = 400
"""Signs that join and nest commands, up to which a command is parsed: the parser's time may grow
with their square, and the gateway waits for it."""
MAX_BLANKS = 1_000
"""Blanks, which part words, up to which a command is parsed: each word takes its time."""
_MAX_NODES = 1_600
"""Parts of the tree up to which it is gone through."""
_MAX_DEPTH = 200
_MAX_NESTED = 4
"""How many shells within shells are looked into."""
_BLANK = re.compile(rb"(?:(?:[ \t]|\\\n)*[ \t](?:[ \t]|\\\n)*)?")
"""What may stand between the words of a command. A newline after a backslash joins, by itself."""
_GAP = re.compile(rb"(?:(?:[ \t\n]|\\\n)*[ \t\n](?:[ \t\n]|\\\n)*)?")
"""What may stand between commands."""
_STRUCTURE = re.compile(r"[|&;<>(){}`\[\n]")
_BRACES = re.compile(r"\{.*(?:,|\.\.)", re.DOTALL)
_EXPANDS = re.compile(r"(?:''|\"\"|\\\n)*[*?\[]")
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)
_ESCAPED_IN_QUOTES = re.compile(r"\\([\\\"$`])")
_NAIVE = re.compile(r"[;&|()`{}\n]+")
_JOINING = frozenset({"list", "pipeline", "negated_command", "redirected_statement"})
"""Nodes that join others. They bind otherwise than bash does: `a && b 2>&1 | tail` is one pipe."""
_LISTED = frozenset({"program", "subshell", "compound_statement"})
_WORDS = frozenset({"word", "number", "string", "raw_string", "concatenation"})
_AS_WRITTEN = frozenset(
    {"export", "declare", "typeset", "local", "readonly", "unset", "unsetenv", "variable_name"}
)
_PATTERNS = frozenset({"extglob_pattern", "regex"})
_PARTS = frozenset(
    {"command_name", "string", "concatenation", "simple_expansion", "translated_string", "word"}
    | {"arithmetic_expansion", "subscript", "heredoc_body"}
)
"""Nodes within words and redirections that may have statements in them, and are none."""
_ON_A_LINE = frozenset(
    {"command", "declaration_command", "unset_command", "redirected_statement", "file_redirect"}
    | {"variable_assignments"}
)
_CHAINS = frozenset({"&&", "||", "|", "|&"})
_BRACKETS = frozenset({"(", ")", "{", "}", "$(", "<(", ">(", "`"})
JOINTS = frozenset({"&&", "||", ";", "|", "|&", "&", "!", "\n"})
REDIRECTS = frozenset({">", "<", ">>", "&>", "&>>", ">&", "<&", ">|", ">&-", "<&-"})
WRITING = REDIRECTS - {"<", "<&", ">&-", "<&-"}
_PLAIN = re.compile(r"[\w@%+=:,./-]+", re.ASCII)
"""Words in which a shell sees nothing but themselves."""
DESCRIPTOR = re.compile(r"[0-9]+")
_NOWHERE = "/dev/null"
_PLAIN_COMMENT = re.compile(r"#(?!!)(?:[^;&|$()<>`\\'\"!{}*?\[\]\n-]|(?<=\w)-)*")
_END = r"\$(?:\?|\{PIPESTATUS\[[0-9]\]\})"
_TOLD_END = re.compile(rf'echo +(?:{_END}|"[\w .,:=-]*{_END}[\w .,:=-]*")')
UNPARSED = "it cannot be parsed"
"""The doubt about a text of which the grammar makes no command."""
_TOO_MANY = "it has too many parts"
PASSED_OVER = "it has a form that the parser passes over"
_WHY = {
    "command_substitution": "it runs a command for its output",
    "process_substitution": "it runs a command for its output",
    "simple_expansion": "it uses a variable",
    "expansion": "it uses a variable",
    "arithmetic_expansion": "it computes a value",
    "ansi_c_string": "it has an encoded text ($'…')",
    "translated_string": 'it has a translated text ($"…")',
    "heredoc_redirect": "it has a here-document",
    "herestring_redirect": "it has a here-string",
    "variable_assignment": "it sets a variable",
    "variable_assignments": "it sets variables",
    "declaration_command": "it sets a variable",
    "function_definition": "it defines a function",
    "test_command": "it has a test",
    "while_statement": "it has a loop",
    "for_statement": "it has a loop",
    "c_style_for_statement": "it has a loop",
    "if_statement": "it has conditions",
    "case_statement": "it has conditions",
    "comment": "it has a comment",
    "ERROR": UNPARSED,
}
"""Nodes that are not listed, in words."""


@dataclass(frozen=True, slots=True)
class ShellWord:
    """A word: `text` is without quotes and escapes, `unquoted` what of it stands outside of quotes.

    What is not known of it before it runs stands in `text` as it was written, and is a doubt. Of a
    hole nothing is known: it may become several words, or none.
    """

    text: str
    written: str
    unquoted: str
    doubts: tuple[str, ...] = ()
    is_hole: bool = False


@dataclass(slots=True)
class Redirection:
    """A redirection; of a here-document, the targets are its text, and `written` is its first line.
    `written` is "" where it stands in the text of its command, or in such a line."""

    operator: str
    descriptor: str
    targets: tuple[ShellWord, ...]
    written: str
    doubts: list[str] = field(default_factory=list)

    def copies(self, target: ShellWord) -> bool:
        """Return whether a target is a descriptor. The parser's numbers are wider than bash's:
        `>&0x1` makes a file `0x1`."""
        return self.operator.endswith("&") and bool(DESCRIPTOR.fullmatch(target.written))

    def writes(self) -> Iterator[str]:
        """Yield the files that it writes."""
        for target in self.targets if self.operator in WRITING else ():
            if target.written != _NOWHERE and not self.copies(target):
                yield target.text


@dataclass(slots=True)
class ShellStatement:
    """A simple command, or by its `kind` in the grammar what holds others, in bash's precedence.

    `signs` join it to the statement before it, `ends` stand behind the last one of `inner`. These
    are the statements in its brackets, and those of substitutions in its words. `doubts` are those
    about itself and its words.
    """

    kind: str
    text: str
    start: int
    signs: list[str]
    words: list[ShellWord] = field(default_factory=list)
    assignments: list[tuple[str, ShellWord]] = field(default_factory=list)
    redirections: list[Redirection] = field(default_factory=list)
    inner: "list[ShellStatement]" = field(default_factory=list)
    ends: list[str] = field(default_factory=list)
    doubts: list[str] = field(default_factory=list)

    def all(self) -> "Iterator[ShellStatement]":
        """Yield it and all statements in it, in the order in which they begin."""
        yield self
        for inner in self.inner:
            yield from inner.all()


@dataclass(frozen=True, slots=True)
class CommandPart:
    """One simple command. `text` is as it was written, `words` are without quotes and escapes.

    `redirections` is what follows it, or the list that it ends, as it was written. `writes` are the
    files that redirections write, without quotes and escapes.
    """

    text: str
    words: tuple[str, ...]
    expanding: frozenset[int] = frozenset()
    """The places of words that begin with a pattern of file names."""
    redirections: str = ""
    writes: tuple[str, ...] = ()


@dataclass(slots=True)
class ParsedCommand:
    """A command. `parts` are what runs in order; `all` are all programs that are seen in it.

    Those of substitutions, functions and texts that are handed to a shell come with `all`, also
    of a command that cannot be parsed.
    """

    tree: ShellStatement | None = None
    parts: list[CommandPart] = field(default_factory=list)
    doubts: list[str] = field(default_factory=list)
    is_vast: bool = False
    """It is too large to be taken apart: nothing else is known of it."""
    all: list[tuple[str, ...]] = field(default_factory=list)


@lru_cache(maxsize=1)
def _language() -> "Language":
    import tree_sitter_bash
    from tree_sitter import Language

    return Language(tree_sitter_bash.language())


def _parser() -> "Parser":
    """Return a parser of one's own: the gateway and the tower parse in threads of theirs."""
    from tree_sitter import Parser

    return Parser(_language())


@lru_cache(maxsize=64)
def parsed(text: str) -> ParsedCommand:
    """Take a command apart. It is never an error: what is not understood is a doubt."""
    return _parse(text, 0)


def shell_tree(text: str) -> ShellStatement | str:
    """Return the tree of a text, or why it is not parsed."""
    if len(text) > MAX_COMMAND:
        return f"it is longer than {MAX_COMMAND:,} characters"
    if len(_STRUCTURE.findall(text)) > MAX_STRUCTURE:
        return f"it has more than {MAX_STRUCTURE:,} signs that join and nest commands"
    if sum(map(text.count, " \t")) > MAX_BLANKS:
        return f"it has more than {MAX_BLANKS:,} blanks"
    source = _stand_in(text)
    root = _parser().parse(source).root_node
    if root.descendant_count > _MAX_NODES:
        return _TOO_MANY
    try:
        tree = _TreeReader(text, source).statement(root, [], 0)
    except _TooDeepError:
        return _TOO_MANY
    tree.doubts[:0] = [UNPARSED] if root.has_error else []
    return tree


def strange_character(text: str) -> str:
    """Say which character of a text does not show, or shows as another; "" where there is none."""
    strange = next((one for one in text if _is_strange(one)), None)
    return f"it has the character U+{ord(strange):04X}, which does not show" if strange else ""


def _parse(text: str, nesting: int) -> ParsedCommand:
    tree = shell_tree(text)
    if isinstance(tree, str):
        return ParsedCommand(doubts=[tree], is_vast=True)
    found = ParsedCommand(tree, doubts=list(filter(None, [strange_character(text)])))
    _list(found, tree)
    found.doubts = list(dict.fromkeys(found.doubts))
    if not found.parts and not found.doubts:
        found.doubts.append("it names no program")
    found.all += naive_words(text) if UNPARSED in tree.doubts else ()
    commands = (one for one in tree.all() if one.kind == "command" and one.words)
    for words in dict.fromkeys(map(_program, commands)):
        found.all.append(words)
        for script in scripts_within(words) if nesting < _MAX_NESTED else ():
            found.all += _all_within(script, nesting + 1)
    found.all = list(dict.fromkeys(found.all))
    return found


def _program(command: ShellStatement) -> tuple[str, ...]:
    """Return the words of a command, with what it reads of a here-string."""
    given = (one.targets for one in command.redirections if one.operator == "<<<")
    return tuple(word.text for words in (command.words, *given) for word in words)


def _list(found: ParsedCommand, statement: ShellStatement) -> None:
    """Add what stands in nothing but lists, pipes and brackets, and the doubts about it."""
    found.doubts += (reason(sign) for sign in statement.signs if sign not in JOINTS)
    before = len(found.parts)
    if _changes_nothing(statement):
        return
    if statement.kind == "command":
        found.doubts += statement.doubts
        words = [word for word in statement.words if not word.is_hole]
        expanding = (at for at, word in enumerate(words) if _EXPANDS.match(word.written))
        texts = tuple(word.text for word in words)
        found.parts.append(CommandPart(statement.text, texts, frozenset(expanding)))
    elif statement.kind in _LISTED:
        found.doubts += statement.doubts
        for inner in statement.inner:
            _list(found, inner)
        found.doubts += (reason(sign) for sign in statement.ends if sign not in JOINTS)
    else:
        found.doubts.append(reason(statement.kind))
    redirections = statement.redirections
    found.doubts += (doubt for one in redirections for doubt in one.doubts)
    if len(found.parts) > before or (before and not _CHAINS.isdisjoint(statement.signs)):
        last = found.parts[-1]
        written = filter(None, (last.redirections, *(one.written for one in redirections)))
        writes = (*last.writes, *(file for one in redirections for file in one.writes()))
        found.parts[-1] = replace(last, redirections=" ".join(written).strip(), writes=writes)


def _changes_nothing(statement: ShellStatement) -> bool:
    """Return whether a statement is a comment in which no shell sees a sign, also one to which `#`
    is a word, or says how the command before it ended."""
    if statement.kind == "comment":
        return _PLAIN_COMMENT.fullmatch(statement.text) is not None
    is_told = statement.kind == "command" and not statement.redirections
    return is_told and _TOLD_END.fullmatch(statement.text) is not None


def _stand_in(text: str) -> bytes:
    """Return what is parsed in a text's place, one byte for each character.

    To the shell every character beyond ASCII is like a letter. The parser's scanner reads beyond
    its tables for some of them, which ends the process.
    """
    return bytes(ord(one) if one < "\x80" else _LETTER for one in text)


@lru_cache(256)
def _all_within(script: str, nesting: int) -> tuple[tuple[str, ...], ...]:
    """Return all programs of a text. Kept: substitutions within texts come once for each level."""
    return tuple(_parse(script, nesting).all)


def naive_words(text: str) -> Iterator[tuple[str, ...]]:
    """Yield what may be commands of a text that cannot be parsed."""
    for segment in _NAIVE.split(text):
        words = tuple(word.strip("\"'") for word in segment.split())
        if words:
            yield words


def _is_strange(character: str) -> bool:
    """Return whether a character does not show, or shows as something that it is not."""
    if character in " \t\n" or "!" <= character <= "~":
        return False
    return unicodedata.category(character)[0] in "CZ" or is_invisible(character)


class _TooDeepError(Exception):
    """A text is nested too deeply."""


class _TreeReader:
    """Reads the grammar's tree. `source` is what was parsed in the text's place."""

    def __init__(self, text: str, source: bytes) -> None:
        self._whole = text
        self._source = source

    def _text(self, node: "Node") -> str:
        return self._whole[node.start_byte : node.end_byte]

    def statement(self, node: "Node", signs: list[str], depth: int) -> ShellStatement:
        made = ShellStatement(node.type, self._text(node), node.start_byte, signs)
        if made.kind == "variable_assignment":
            self._assign(made, node, depth)
        else:
            self._fill(made, node, depth)
        if made.kind == "compound_statement" and not made.text[1:2].isspace():
            made.doubts.append(reason(made.kind))
        return made

    def _fill(self, made: ShellStatement, node: "Node", depth: int) -> None:
        """Add what is in a node; what is in nodes that only join stands side by side."""
        if node.child_count:
            self._check_gaps(made, node)
        words = _WORDS | _AS_WRITTEN | _PATTERNS if made.kind not in _LISTED else ()
        at, before = node.start_byte, len(made.inner)
        for child in node.children:
            if b"\n" in self._source[at : child.start_byte].replace(b"\\\n", b""):
                made.ends.append("\n")
            at = child.end_byte
            if child.type in _JOINING:
                self._fill(made, child, _deeper(depth))
            elif child.type.endswith("_redirect"):
                is_own = made.kind == "command"
                owners = [one for one in made.inner[before:] if one.kind != "ERROR"]
                if not is_own and not owners:  # `> x` alone
                    alone = node.type if child.type == "file_redirect" else child.type
                    owners = [ShellStatement(alone, "", at, made.ends)]
                    made.inner += owners
                    made.ends = []
                owner = made if is_own else owners[-1]
                self._redirect(owner, child, depth, is_own=is_own)
                made.doubts += owner.redirections[-1].doubts if is_own else ()
            elif made.kind in _ON_A_LINE and child.type == "variable_assignment":
                self._assign(made, child, depth)
            elif made.kind in _ON_A_LINE or child.type in words:
                self._add_word(made, child, depth)
            elif not child.is_named:
                made.ends += () if child.type in _BRACKETS else (child.type,)
            elif child.child_count or made.kind in _LISTED:
                made.inner.append(self.statement(child, made.ends, _deeper(depth)))
                made.ends = []
        if b"\n" in self._source[at : node.end_byte].replace(b"\\\n", b""):
            made.ends.append("\n")

    def _check_gaps(self, made: "ShellStatement | Redirection", node: "Node") -> None:
        """Doubt what the parser passed over between the nodes."""
        at = node.start_byte if node.type != "program" else 0
        blank = _BLANK if node.type in _ON_A_LINE else _GAP
        ends = [(one.start_byte, one.end_byte) for one in node.children]
        for start, end in [*ends, (node.end_byte, node.end_byte)]:
            if not blank.fullmatch(self._source, at, max(at, start)):
                made.doubts.append(PASSED_OVER)
            at = max(at, end)

    def _within(self, made: ShellStatement, node: "Node", depth: int) -> None:
        """Add the statements within a word, or what is such a one."""
        if node.type in _PARTS:
            for child in node.children:
                self._within(made, child, _deeper(depth))
        elif node.is_named and node.child_count:
            made.inner.append(self.statement(node, [], _deeper(depth)))

    def _assign(self, made: ShellStatement, node: "Node", depth: int) -> None:
        sign, *values = node.children[1:]
        name = self._whole[node.start_byte : sign.end_byte - 1]
        made.assignments.append((name, self._word(values[0]) if values else ShellWord("", "", "")))
        made.doubts.append(reason(node.type))
        for child in node.children:
            self._within(made, child, depth)

    def _add_word(self, made: ShellStatement, node: "Node", depth: int) -> None:
        is_name = node.type == "command_name" and len(node.children) == 1
        word = self._word(node.children[0] if is_name else node)
        made.doubts += word.doubts
        if is_name:
            word = replace(word, is_hole=False)
            if not word.text.isascii() or not word.text or not set("*?[").isdisjoint(word.text):
                made.doubts.append("the name of its program is a pattern or looks like another")
        made.words.append(word)
        self._within(made, node, depth)

    def _redirect(self, made: ShellStatement, node: "Node", depth: int, *, is_own: bool) -> None:
        """Add a redirection. One of a command's own stands in its text."""
        named = [one for one in node.children if one.is_named]
        descriptor = "".join(self._text(one) for one in named if one.type == "file_descriptor")
        written = "" if is_own else self._text(node)
        if node.type == "heredoc_redirect":
            named = [one for one in named if one.type == "heredoc_body"]
            written = written.partition("\n")[0]
        operator = next((one.type for one in node.children if not one.is_named), "")
        targets = tuple(self._word(one) for one in named if one.type != "file_descriptor")
        found = Redirection(operator, descriptor, targets, written)
        if node.type == "file_redirect":
            self._check_gaps(found, node)
        is_closing = operator.endswith("-") and not targets
        if (
            operator not in REDIRECTS
            or (descriptor and not DESCRIPTOR.fullmatch(descriptor))
            or (len(targets) != 1 and not is_closing)
        ):
            found.doubts.append(reason(node.type))
        elif targets and targets[0].written != _NOWHERE and not found.copies(targets[0]):
            is_read = operator.startswith("<")
            found.doubts.append("it reads from a file" if is_read else "it writes to a file")
        if operator in WRITING:
            found.doubts += (doubt for word in targets for doubt in word.doubts)
        made.redirections.append(found)
        for child in node.children:
            if child.type == "file_redirect":  # in the line of a here-document
                self._redirect(made, child, depth, is_own=True)
            else:
                self._within(made, child, depth)

    def _word(self, node: "Node") -> ShellWord:
        """Return a word, with the doubts about what the shell makes of it."""
        written = self._text(node)
        if node.type in _AS_WRITTEN or (node.type == "word" and _PLAIN.fullmatch(written)):
            return ShellWord(written, written, written)
        doubts: list[str] = []
        text = self._decoded(node, doubts)
        unquoted = "".join(self._unquoted(node))
        if _BRACES.search(unquoted):
            doubts.append("it has alternatives in braces")
        if "!" in unquoted:
            doubts.append("it may recall an earlier command (!)")
        if unquoted.startswith("~") and not re.match(r"~(?:/|$)", unquoted):
            doubts.append("it names another user's folder (~)")
        return ShellWord(text, written, unquoted, tuple(doubts), node.type not in _WORDS)

    def _decoded(self, node: "Node", doubts: list[str]) -> str:
        text = self._text(node)
        match node.type:
            case "number":
                return text
            case "word":
                if node.named_child_count:
                    doubts += (reason(child.type) for child in node.named_children)
                elif "\n" in text or '"' in text or "'" in text:
                    doubts.append(PASSED_OVER)
                return _ESCAPED.sub(r"\1", text)
            case "raw_string":
                return text[1:-1]
            case "string":
                kinds = (child.type for child in node.children)
                doubts += (reason(kind) for kind in kinds if kind not in ("string_content", '"'))
                inner = text[1:-1]
                if "\\\n" in inner or "$" in _ESCAPED.sub("", inner) or "`" in inner:
                    doubts.append("it uses a variable")
                return _ESCAPED_IN_QUOTES.sub(r"\1", inner)
            case "concatenation":
                at = node.start_byte
                for child in node.children:
                    doubts += [PASSED_OVER] if child.start_byte != at else ()
                    at = child.end_byte
                return "".join(self._decoded(child, doubts) for child in node.children)
            case kind:
                doubts.append(reason(kind))
                return text

    def _unquoted(self, node: "Node") -> Iterator[str]:
        if node.type == "concatenation":
            for child in node.children:
                yield from self._unquoted(child)
        elif node.type in _PATTERNS | {"word", "number", "expansion"} or not node.is_named:
            yield _ESCAPED.sub("", self._text(node))


def _deeper(depth: int) -> int:
    if depth >= _MAX_DEPTH:
        raise _TooDeepError
    return depth + 1


def reason(kind: str) -> str:
    """Say why no rule allows a node of the grammar."""
    return _WHY.get(kind, f"it has a form that rules do not know ({kind})")
