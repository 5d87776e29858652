"""A shell command as its parts: the programs that it names, each with its words.

What is not understood to its end becomes a doubt, and a command in doubt is never allowed by a
rule: shells have more ways to hide a program than a list of them would have entries.
"""

import re
import unicodedata
from collections.abc import Iterator, Sequence
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
GAP = re.compile(rb"(?:(?:[ \t\n]|\\\n)*[ \t\n](?:[ \t\n]|\\\n)*)?")
"""What may stand between commands."""
_STRUCTURE = re.compile(r"[|&;<>(){}`\[\n]")
_BRACES = re.compile(r"\{.*(?:,|\.\.)", re.DOTALL)
_EXPANDS = re.compile(r"(?:''|\"\"|\\\n)*[*?\[]")
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)
_ESCAPED_IN_QUOTES = re.compile(r"\\([\\\"$`])")
_NAIVE = re.compile(r"[;&|()`{}\n]+")
_LISTED = frozenset(
    {"program", "list", "pipeline", "subshell", "compound_statement", "negated_command"}
)
"""Nodes that only join commands."""
_JOINTS = frozenset({"&&", "||", ";", "|", "|&", "&", "(", ")", "{", "}", "!", "\n"})
REDIRECTS = frozenset({">", "<", ">>", "&>", "&>>", ">&", "<&", ">|", ">&-", "<&-"})
_WRITING = REDIRECTS - {"<", "<&", ">&-", "<&-"}
_PLAIN = re.compile(r"[\w@%+=:,./-]+", re.ASCII)
"""Words in which a shell sees nothing but themselves."""
DESCRIPTOR = re.compile(r"[0-9]+")
_NOWHERE = "/dev/null"
UNPARSED = "it cannot be parsed"
"""The doubt about a text of which the grammar makes no command."""
_WORDS = {
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

    parts: list[CommandPart] = field(default_factory=list)
    doubts: list[str] = field(default_factory=list)
    is_vast: bool = False
    """It is too large to be taken apart: nothing else is known of it."""
    all: list[tuple[str, ...]] = field(default_factory=list)

    def doubt(self, why: str) -> None:
        """Add a reason why no rule may allow the command."""
        if why not in self.doubts:
            self.doubts.append(why)


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


def syntax(text: str) -> "tuple[Node, bytes] | str":
    """Return a command's tree with what was parsed in its place, or why it is not parsed."""
    if len(text) > MAX_COMMAND:
        return f"it is longer than {MAX_COMMAND:,} characters"
    if len(_STRUCTURE.findall(text)) > MAX_STRUCTURE:
        return f"it has more than {MAX_STRUCTURE:,} signs that join and nest commands"
    if sum(map(text.count, " \t")) > MAX_BLANKS:
        return f"it has more than {MAX_BLANKS:,} blanks"
    source = _stand_in(text)
    root = _parser().parse(source).root_node
    return "it has too many parts" if root.descendant_count > _MAX_NODES else (root, source)


def strange_character(text: str) -> str:
    """Say which character of a text does not show, or shows as another; "" where there is none."""
    strange = next((one for one in text if _is_strange(one)), None)
    return f"it has the character U+{ord(strange):04X}, which does not show" if strange else ""


def _parse(text: str, nesting: int) -> ParsedCommand:
    found = ParsedCommand()
    tree = syntax(text)
    if isinstance(tree, str):
        found.doubt(tree)
        found.is_vast = True
        return found
    root, source = tree
    if strange := strange_character(text):
        found.doubt(strange)
    if root.has_error:
        found.doubt(_WORDS["ERROR"])
        found.all += naive_words(text)
    CommandReader(text, source, found).statement(root, 0)
    for words in dict.fromkeys(_all_commands(root, text, source)):
        _add(found, words, nesting)
    found.all = list(dict.fromkeys(found.all))
    if not found.parts and not found.doubts:
        found.doubt("it names no program")
    return found


def _stand_in(text: str) -> bytes:
    """Return what is parsed in a text's place, one byte for each character.

    To the shell every character beyond ASCII is like a letter. The parser's scanner reads beyond
    its tables for some of them, which ends the process.
    """
    return bytes(ord(one) if one < "\x80" else _LETTER for one in text)


def _add(found: ParsedCommand, words: tuple[str, ...], nesting: int) -> None:
    """Add a program, and those of a text that a shell is given."""
    found.all.append(words)
    if nesting < _MAX_NESTED:
        for script in scripts_within(words):
            found.all += _all_within(script, nesting + 1)


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


class CommandReader:
    """Collects the parts of a command, and the doubts.

    `source` is what was parsed in the text's place (`syntax`).
    """

    def __init__(self, text: str, source: bytes, found: ParsedCommand) -> None:
        self._whole = text
        self._source = source
        self._found = found

    def text(self, node: "Node") -> str:
        return self._whole[node.start_byte : node.end_byte]

    def _doubt(self, node: "Node") -> None:
        kind = node.type
        words = UNPARSED if node.is_missing else _WORDS.get(kind)
        self._found.doubt(words or f"it has a form that rules do not know ({kind})")

    def check_gaps(self, node: "Node", blank: re.Pattern[bytes] = _BLANK) -> None:
        """Doubt what the parser passed over between the nodes."""
        at = node.start_byte
        ends = [(one.start_byte, one.end_byte) for one in node.children]
        for start, end in [*ends, (node.end_byte, node.end_byte)]:
            if not blank.fullmatch(self._source, at, max(at, start)):
                self._found.doubt("it has a form that the parser passes over")
            at = max(at, end)

    def statement(self, node: "Node", depth: int) -> None:
        """Take a statement, which may be several."""
        if depth > _MAX_DEPTH or node.is_missing:
            self._doubt(node)
        elif node.type in _LISTED:
            self.check_gaps(node, GAP)
            if node.type == "compound_statement" and not self.text(node)[1:2].isspace():
                self._doubt(node)
            for child in node.children:
                if child.is_named:
                    self.statement(child, depth + 1)
                elif child.type not in _JOINTS or child.is_missing:
                    self._doubt(child)
        elif node.type == "redirected_statement":
            self.check_gaps(node)
            if all(child.type == "file_redirect" for child in node.children):
                self._doubt(node)
            before = len(self._found.parts)
            for child in node.children:
                if child.type == "file_redirect":
                    self._redirect(child)
                else:
                    self.statement(child, depth + 1)
            if len(self._found.parts) > before:
                redirects = [one for one in node.children if one.type.endswith("_redirect")]
                self._redirected(redirects, " ".join(map(self._head, redirects)))
        elif node.type == "command":
            self._command(node)
        else:
            self._doubt(node)

    def _redirect(self, node: "Node") -> None:
        """Take a redirection: to nowhere or to another descriptor, else it is a doubt."""
        self.check_gaps(node)
        operator = next((one.type for one in node.children if not one.is_named), "")
        targets = [one for one in node.children if one.is_named and one.type != "file_descriptor"]
        if operator not in REDIRECTS or any(map(self._is_no_part, node.children)):
            self._doubt(node)
        elif not targets:
            if not operator.endswith("-"):
                self._doubt(node)
        elif len(targets) > 1:
            self._doubt(node)
        elif targets[0].type == "number" and operator.endswith("&"):
            # The parser's numbers are wider than bash's descriptors: `>&0x1` makes a file `0x1`.
            if not DESCRIPTOR.fullmatch(self.text(targets[0])):
                self._found.doubt("it writes to a file")
        elif targets[0].type != "word" or self.text(targets[0]) != _NOWHERE:
            is_read = operator.startswith("<")
            self._found.doubt("it reads from a file" if is_read else "it writes to a file")

    def _redirected(self, redirects: Sequence["Node"], text: str) -> None:
        """Add redirections to the part before them."""
        last = self._found.parts[-1]
        self._found.parts[-1] = replace(
            last,
            redirections=f"{last.redirections} {text}".strip(),
            writes=(*last.writes, *(name for one in redirects for name in self._written(one))),
        )

    def _head(self, redirect: "Node") -> str:
        """Return a redirection as it was written, of a here-document its first line."""
        text = self.text(redirect)
        return text.partition("\n")[0] if redirect.type == "heredoc_redirect" else text

    def _written(self, node: "Node") -> Iterator[str]:
        """Yield the files that a redirection writes; one behind a here-document is within that."""
        for child in node.children:
            if child.type == "file_redirect":
                yield from self._written(child)
        operator = next((one.type for one in node.children if not one.is_named), "")
        if node.type != "file_redirect" or operator not in _WRITING:
            return
        for target in node.children:
            text = self.text(target)
            if not target.is_named or target.type == "file_descriptor" or text == _NOWHERE:
                continue
            if not (operator.endswith("&") and DESCRIPTOR.fullmatch(text)):
                yield self._decoded(target)

    def _is_no_part(self, node: "Node") -> bool:
        """Return whether a part of a redirection is not what the parser takes it for."""
        is_word = node.type == "file_descriptor" and not DESCRIPTOR.fullmatch(self.text(node))
        return node.is_missing or is_word

    def _command(self, node: "Node") -> None:
        self.check_gaps(node)
        words: list[str] = []
        expanding: set[int] = set()
        for child in node.children:
            if child.type in ("word", "concatenation") and _EXPANDS.match(self.text(child)):
                expanding.add(len(words))
            if child.type == "command_name" and len(child.children) == 1:
                word = self.word(child.children[0])
                if "*" in word or "?" in word or "[" in word or not word.isascii() or not word:
                    self._found.doubt("the name of its program is a pattern or looks like another")
                words.append(word)
            elif child.type in ("word", "number", "string", "raw_string", "concatenation"):
                words.append(self.word(child))
            elif child.type == "file_redirect":
                self._redirect(child)
            else:
                self._doubt(child)
        self._found.parts.append(CommandPart(self.text(node), tuple(words), frozenset(expanding)))
        self._redirected([one for one in node.children if one.type == "file_redirect"], "")

    def word(self, node: "Node") -> str:
        """Return a word without quotes and escapes; doubt what the shell makes of it."""
        text = self.text(node)
        if node.type == "word" and _PLAIN.fullmatch(text):
            return text
        word = self._decoded(node)
        plain = "".join(self._unquoted(node))
        if _BRACES.search(plain):
            self._found.doubt("it has alternatives in braces")
        if "!" in plain:
            self._found.doubt("it may recall an earlier command (!)")
        if plain.startswith("~") and not re.match(r"~(?:/|$)", plain):
            self._found.doubt("it names another user's folder (~)")
        return word

    def _decoded(self, node: "Node") -> str:
        text = self.text(node)
        match node.type:
            case "number":
                return text
            case "word":
                if node.named_child_count or "\n" in text or '"' in text or "'" in text:
                    self._doubt_word(node)
                return _ESCAPED.sub(r"\1", text) if "\\" in text else text
            case "raw_string":
                return text[1:-1]
            case "string":
                for child in node.children:
                    if child.type not in ("string_content", '"') or child.is_missing:
                        self._doubt(child)
                inner = text[1:-1]
                if _PLAIN.fullmatch(inner):
                    return inner
                if "\\\n" in inner or "$" in _ESCAPED.sub("", inner) or "`" in inner:
                    self._found.doubt("it uses a variable")
                return _ESCAPED_IN_QUOTES.sub(r"\1", inner)
            case "concatenation":
                at = node.start_byte
                for child in node.children:
                    if child.start_byte != at:
                        self._found.doubt("it has a form that the parser passes over")
                    at = child.end_byte
                return "".join(map(self._decoded, node.children))
            case _:
                self._doubt(node)
                return text

    def _doubt_word(self, node: "Node") -> None:
        for child in node.named_children:
            self._doubt(child)
        if not node.named_child_count:
            self._found.doubt("it has a form that the parser passes over")

    def _unquoted(self, node: "Node") -> Iterator[str]:
        if node.type == "concatenation":
            for child in node.children:
                yield from self._unquoted(child)
        elif node.type in ("word", "{", "}", "!"):
            text = self.text(node)
            yield _ESCAPED.sub("", text) if "\\" in text else text


def _all_commands(root: "Node", text: str, source: bytes) -> Iterator[tuple[str, ...]]:
    """Yield the words of every simple command in a tree, wherever it stands."""
    reader = CommandReader(text, source, ParsedCommand())
    waiting = [root]
    while waiting:
        node = waiting.pop()
        waiting.extend(reversed(node.children))
        if node.type != "command":
            continue
        words = []
        for child in node.children:
            if child.type == "command_name":
                words.append("".join(map(reader._decoded, child.children)))  # noqa: SLF001
            elif child.is_named and child.type not in ("variable_assignment", "file_redirect"):
                words.append(reader._decoded(child))  # noqa: SLF001
        if words:
            yield tuple(words)
