"""A command as shells may read it, for rules that deny and ask: rather too much than too little.

It knows no grammar but where words and commands end, so nothing is too odd to be read: keywords,
functions, loops and brackets only part commands. What is not known before it runs is a hole in a
word. Its time is linear, and it gives up beyond its bounds (`VastCommandError`).
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import product

MAX_READ = 16 * 1024
"""Characters up to which a command is read."""
MAX_COMMANDS = 250
"""Commands in one, and words with quotes and holes in it, up to which it is read."""
_MAX_PIECES = 1_200
_MAX_DEPTH = 6
_MAX_VARIANTS = 8
_MAX_BRACES = 64
MAX_WORDS = 1_000
"""Words of one command that are looked at; those behind them are a hole."""
HOLE = "\ue000"
"""What is not known: any words where it begins a word, else a part of that word."""
QUOTED = "\ue001"
"""What is not known, but stays in one word."""
_VARIABLE, _QUOTED_VARIABLE, _END, _BRACE, _BLANK = "\ue002\ue003\ue004\ue005\ue006"
_MARKS = re.compile("[\ue000-\ue00f]")
_NAMED = re.compile(f"([{_VARIABLE}{_QUOTED_VARIABLE}])([^{_END}]*){_END}")
_SAFE = r"[\w@%+=:,./~^*?\[\]!-]"
_RUN = re.compile(rf"{_SAFE}++(?:[ \t]++{_SAFE}++)*+", re.ASCII)
"""Words without quotes, holes and signs: they are taken at once."""
_ENDS = frozenset(" \t\n;|&()")
_PLAIN = re.compile(r"[^\s'\"\\$`;|&()<>{#\ue000-\ue00f]+")
_IN_QUOTES = re.compile(r'[^"\\$`]+')
_LINES = re.compile(r"(?:\s+|#[^\n]*)+")
_BLANKS = re.compile(r"(?:[ \t\r\f\v]|\\\n)+")
_REDIRECT = re.compile(r"(?:<<<|<<-?|<>|<&|>&|>>|>\||&>>?|<(?!\()|>(?!\())")
_NAME = re.compile(r"[A-Za-z_]\w*")
_ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)(?:\[[^]]*\])?(\+?)=(.*)", re.DOTALL)
_CURLY = re.compile("[{}]")
_BRACED = re.compile(f"{_BRACE}([^{_BRACE}}}]*)}}")
_RESERVED = frozenset(
    {"if", "then", "elif", "else", "while", "until", "do", "done", "fi", "esac", "!", "}", _BRACE}
)
_DECLARE = frozenset({"export", "declare", "typeset", "local", "readonly", "env", "set"})
_READ = frozenset({"read", "printf", "mapfile", "readarray", "getopts", "let", "declare", "local"})
"""Builtins that set a variable to what is not known."""
_PATHS = frozenset(
    {"HOME", "PWD", "OLDPWD", "TMPDIR", "USER", "LOGNAME", "HOSTNAME", "SHELL", "UID", "RANDOM"}
)
"""Variables that are set before: they are a path or a name, and no option or program."""
_TELLS = frozenset(
    {
        ("pwd",),
        ("whoami",),
        ("nproc",),
        ("mktemp",),
        ("mktemp", "-d"),
        ("git", "branch", "--show-current"),
        ("git", "rev-parse", "HEAD"),
        ("git", "rev-parse", "--short", "HEAD"),
        ("git", "rev-parse", "--abbrev-ref", "HEAD"),
        ("git", "rev-parse", "--show-toplevel"),
        ("git", "symbolic-ref", "--short", "HEAD"),
    }
)
"""Commands of which the output is a name or a path, and no option or program."""
_ESCAPE = re.compile(
    r"\\(?:x([0-9a-fA-F]{1,2})|u([0-9a-fA-F]{1,4})|U([0-9a-fA-F]{1,8})|([0-7]{1,3})|c(.)|(.))",
    re.DOTALL,
)
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "e": "\x1b", "E": "\x1b"}


class VastCommandError(Exception):
    """A command is beyond the bounds."""


@dataclass(slots=True)
class ShellCommand:
    """A simple command: its words, with holes, and what it is given as its input.

    `given` are here-documents and here-strings. `feeds` says where its input comes from: "" of the
    shell's own, "text" of those, "file", or "pipe", then of the command `before` where that is one
    simple command.
    """

    words: list[str] = field(default_factory=list)
    given: list[str] = field(default_factory=list)
    feeds: str = ""
    before: "ShellCommand | None" = None
    writes: list[str] = field(default_factory=list)
    assigned: list[tuple[str, str]] = field(default_factory=list)
    place: int = 0


@dataclass(slots=True)
class _Here:
    """A here-document of which the text stands behind the line."""

    command: ShellCommand
    end: str
    has_tabs: bool
    is_quoted: bool


class ShellText:
    """A text as its commands, in the order in which they end. Raises `VastCommandError`."""

    def __init__(self, text: str) -> None:
        if len(text) > MAX_READ:
            raise VastCommandError
        self._text = _MARKS.sub(lambda one: one[0] if one[0] in (HOLE, QUOTED) else HOLE, text)
        self._at = 0
        self._depth = 0
        self._pieces = 0
        self._here: list[_Here] = []
        self._values: dict[str, set[str]] = {}
        self._since: dict[str, int] = {}
        self._unknown: set[str] = set()
        self.commands: list[ShellCommand] = []
        while self._at < len(self._text):
            self._commands()
        self._set_variables()

    def _count(self) -> None:
        self._pieces += 1
        if self._pieces > _MAX_PIECES:
            raise VastCommandError

    # Words and commands

    def _commands(self) -> None:
        """Read commands up to a bracket that was not opened here, or to the end."""
        text, command, parens, cases = self._text, ShellCommand(), 0, 0
        self._depth += 1
        if self._depth > _MAX_DEPTH:
            raise VastCommandError
        while self._at < len(text):
            sign = text[self._at]
            if blanks := _BLANKS.match(text, self._at):
                self._at = blanks.end()
            elif sign == "#":
                end = text.find("\n", self._at)
                self._at = len(text) if end < 0 else end
            elif (
                found := _REDIRECT.match(text, self._at) if sign in "<>&" else None
            ) and found.end() > self._at:
                self._redirect(command, found[0])
            elif sign in "\n;|&()":
                cases += self._case(command)
                if sign == ")" and not parens and not cases:
                    self._at += 1
                    self._end(command)
                    break
                parens += {"(": 1, ")": -1 if parens else 0}.get(sign, 0)
                command = self._sign(command, sign)
            elif (run := _RUN.match(text, self._at)) and self._take(command, run):
                pass
            else:
                command.words.append(self._word())
        else:
            self._end(command)
            self._bodies()
        self._depth -= 1

    def _take(self, command: ShellCommand, run: re.Match[str]) -> bool:
        """Take words that have nothing special in them, but for one that goes on."""
        words, end = run[0], run.end()
        if end < len(self._text) and self._text[end] not in _ENDS:
            size = max(words.rfind(" "), words.rfind("\t"))
            if size < 0:
                return False
            words, end = words[:size], run.start() + size
        command.words += words.split()
        self._at = end
        return True

    @staticmethod
    def _case(command: ShellCommand) -> int:
        """Count the brackets of which the patterns of a `case` have no first one."""
        first = command.words[0] if command.words else ""
        return {"case": 1, "esac": -1}.get(first, 0)

    def _sign(self, command: ShellCommand, sign: str) -> ShellCommand:
        """End a command at a sign that parts them; return the next."""
        self._at += 1
        self._count()
        if sign == "\n" and (lines := _LINES.match(self._text, self._at)) and not self._here:
            self._at = lines.end()
        is_pipe = sign == "|" and self._text[self._at : self._at + 1] != "|"
        if sign in "|&;" and self._text[self._at : self._at + 1] in ("|", "&", ";"):
            self._at += 1
        has_words = bool(command.words)
        self._end(command)
        after = ShellCommand()
        if is_pipe:
            is_one = has_words and command.words[:1] and command.words[0] not in _RESERVED
            after.feeds, after.before = "pipe", command if is_one else None
        if sign == "\n":
            self._bodies()
        return after

    def _end(self, command: ShellCommand) -> None:
        words = command.words
        while words and words[0] in _RESERVED:
            words.pop(0)
        if words[:1] == ["function"]:
            del words[:2]
            while words and words[0] in _RESERVED:
                words.pop(0)
        while words and (found := _ASSIGNMENT.fullmatch(words[0])):
            command.assigned.append((found[1], (found[2] and HOLE) or found[3]))
            words.pop(0)
        if len(words) > MAX_WORDS:
            words[MAX_WORDS:] = [HOLE]
        if words or command.assigned or command.given:
            self.commands.append(command)
            if len(self.commands) > MAX_COMMANDS:
                raise VastCommandError

    def _redirect(self, command: ShellCommand, sign: str) -> None:
        if command.words and command.words[-1].isdigit() and self._text[self._at - 1].isdigit():
            command.words.pop()
        self._at += len(sign)
        if blanks := _BLANKS.match(self._text, self._at):
            self._at = blanks.end()
        begin = self._at
        word = self._word() if self._text[begin : begin + 1] not in ("", "\n") else ""
        match sign:
            case "<<" | "<<-":
                is_quoted = any(one in self._text[begin : self._at] for one in "'\"\\")
                self._here.append(_Here(command, word, sign == "<<-", is_quoted))
                command.feeds = "text"
            case "<<<":
                command.given.append(word)
                command.feeds = "text"
            case "<" | "<>" if word != "/dev/null":
                command.feeds = "file"
            case _ if sign[-1] in ">|" or sign == ">&":
                command.writes.append(word)

    def _bodies(self) -> None:
        """Read the here-documents that begin behind a line.

        One that does not end may be read otherwise by a shell: its lines are commands, too.
        """
        waiting, self._here = self._here, []
        for here in waiting:
            found = self._ending(here)
            end, after = found or (len(self._text), self._at)
            body = self._text[self._at : end].removesuffix("\n")
            self._at = after
            if here.has_tabs:
                body = re.sub(r"^\t+", "", body, flags=re.MULTILINE)
            here.command.given.append(body if here.is_quoted else self._in_quotes_of(body))

    def _ending(self, here: _Here) -> tuple[int, int] | None:
        """Return where the last line of a here-document begins and ends."""
        text, at = self._text, self._at
        while here.end and (found := text.find(here.end, at)) >= 0:
            self._count()
            begin, after = found, found + len(here.end)
            while here.has_tabs and text[begin - 1 : begin] == "\t":
                begin -= 1
            is_line = begin == self._at or text[begin - 1] == "\n"
            if is_line and (text[after : after + 1] in ("", "\n", ")", "`", "\r")):
                return begin, after
            at = found + 1
        return None

    def _in_quotes_of(self, body: str) -> str:
        """Read a text in which only variables and substitutions mean something."""
        if "$" not in body and "`" not in body:
            return body
        outer, at, self._text, self._at = self._text, self._at, body, 0
        self._depth += 1
        if self._depth > _MAX_DEPTH:
            raise VastCommandError
        made = ""
        while self._at < len(self._text):
            made += self._double()
            if self._at < len(self._text) + 1 and self._text[self._at - 1 : self._at] == '"':
                made += '"'
        self._depth -= 1
        self._text, self._at = outer, at
        return made

    # Pieces of words

    def _word(self) -> str:
        """Read a word; at a sign that is none, take that sign."""
        text, made = self._text, ""
        begin = self._at
        while self._at < len(text):
            self._count()
            if found := _PLAIN.match(text, self._at):
                made += found[0]
                self._at = found.end()
                continue
            sign = text[self._at]
            if sign in "<>" and text[self._at + 1 : self._at + 2] == "(":
                self._at += 2
                first = len(self.commands)
                self._commands()
                for reads in self.commands[first:] if sign == ">" else ():
                    reads.feeds = reads.feeds or "pipe"  # of what is written there
                made += f"/dev/fd/{QUOTED}"
            elif sign in " \t\n\r\f\v;|&()<>":
                break
            else:
                self._at += 1
                made += self._piece(sign)
        if self._at == begin:
            self._at += 1
        return made

    def _piece(self, sign: str) -> str:
        text = self._text
        match sign:
            case "'":
                end = text.find("'", self._at)
                end = len(text) if end < 0 else end
                made, self._at = text[self._at : end], end + 1
                return made
            case '"':
                return self._double()
            case "\\":
                made, self._at = text[self._at : self._at + 1], self._at + 1
                return "" if made == "\n" else made
            case "$":
                return self._dollar(HOLE)
            case "`":
                return self._backticks(HOLE)
            case "{":
                return _BRACE
            case _:
                return sign

    def _double(self) -> str:
        text, made = self._text, ""
        while self._at < len(text):
            self._count()
            if found := _IN_QUOTES.match(text, self._at):
                made += found[0]
                self._at = found.end()
                continue
            sign = text[self._at]
            self._at += 1
            if sign == '"':
                break
            if sign == "\\":
                after, self._at = text[self._at : self._at + 1], self._at + 1
                made += "" if after == "\n" else after if after in '"\\$`' else f"\\{after}"
            else:
                made += self._dollar(QUOTED) if sign == "$" else self._backticks(QUOTED)
        return made

    def _backticks(self, hole: str) -> str:
        found = re.compile(r"(?:[^`\\]|\\.)*", re.DOTALL).match(self._text, self._at)
        assert found is not None
        inner = re.sub(r"\\([\\`$])", r"\1", found[0])
        outer, end, self._text, self._at = self._text, found.end() + 1, inner, 0
        made = self._output(hole)
        self._text, self._at = outer, end
        return made

    def _output(self, hole: str) -> str:
        """Read the commands of a substitution; return what may come out of it."""
        first = len(self.commands)
        self._commands()
        inside = self.commands[first:]
        if len(inside) == 1 and (told := told_by(inside[0])) is not None:
            name = f" {len(self._values)}"
            self._values[name] = {told}
            return f"{_VARIABLE if hole == HOLE else _QUOTED_VARIABLE}{name}{_END}"
        return hole

    def _dollar(self, hole: str) -> str:
        text = self._text
        sign = text[self._at : self._at + 1]
        mark = _VARIABLE if hole == HOLE else _QUOTED_VARIABLE
        if sign == "(":
            self._at += 1
            return self._output(hole)
        if sign == "{":
            return self._braces(hole, mark)
        if sign == "'" and hole == HOLE:
            found = re.compile(r"((?:[^'\\]|\\.)*)'?", re.DOTALL).match(text, self._at + 1)
            assert found is not None
            self._at = found.end()
            return _ESCAPE.sub(_unescaped, found[1])
        if sign == '"' and hole == HOLE:
            self._at += 1
            return self._double()
        if found := _NAME.match(text, self._at):
            self._at = found.end()
            return f"{mark}{found[0]}{_END}"
        if sign and (sign.isdigit() or sign in "@*-?#$!"):
            self._at += 1
            return "1" if sign in "?#$!" else HOLE if sign in "@*" else hole
        return "$"

    def _braces(self, hole: str, mark: str) -> str:
        """Read `${…}`: a variable, or what is made of one."""
        text, depth, end = self._text, 0, len(self._text)
        for found in _CURLY.finditer(text, self._at):
            depth += 1 if found[0] == "{" else -1
            if not depth:
                end = found.start()
                break
        inner, self._at = text[self._at + 1 : end], end + 1
        if _NAME.fullmatch(inner):
            return f"{mark}{inner}{_END}"
        if "$" in inner or "`" in inner:
            self._in_quotes_of(inner)
        if inner.startswith("#"):
            return "1"
        return HOLE if "@" in inner or "*" in inner else hole

    # Variables

    def _set_variables(self) -> None:
        for place, command in enumerate(self.commands):
            words, command.place = command.words, place
            name = words[0] if words else ""
            pairs = list(command.assigned)
            if name in _DECLARE:
                pairs += [(one[1], one[3]) for one in map(_ASSIGNMENT.fullmatch, words) if one]
            if name == "for" and words[2:3] == ["in"]:
                pairs += [(words[1], one) for one in words[3:]]
            elif name in ("for", "select") or name in _READ:
                self._unknown.update(words[1:])
            for variable, value in pairs:
                self._values.setdefault(variable, set()).add(value)
                self._since.setdefault(variable, place)

    def variants(self, command: ShellCommand) -> Iterator[tuple[str, ...]]:
        """Yield the words of a command, with each value that its variables may have."""
        names = list(
            dict.fromkeys(one[2] for word in command.words for one in _NAMED.finditer(word))
        )
        chosen = [self._choices(name) for name in names]
        for name, one in zip(names, chosen, strict=True):
            if self._since.get(name, -1) >= command.place and HOLE not in one:
                one.append(HOLE)
        size = 1
        for one in chosen:
            size *= len(one)
        if size > _MAX_VARIANTS:
            chosen = [[HOLE] for _ in names]
        for values in product(*chosen):
            by_name = dict(zip(names, values, strict=True))
            words: list[str] = []
            for word in command.words:
                made = self.filled(word, by_name) if names else word
                parts = made.split(_BLANK) if _BLANK in made else [made]
                parts = [one for one in parts if one] if made != word else parts
                for part in parts:
                    words += _expanded(part) if _BRACE in part else [part]
            if words:
                yield tuple(words)

    def _choices(self, name: str, depth: int = 3) -> list[str]:
        if name == "IFS":
            return [_BLANK]
        found = [
            self.filled(one, {}, depth) if _NAMED.search(one) else one
            for one in sorted(self._values.get(name, ()))
        ]
        if name not in self._values:
            found = ["/home"] if name in _PATHS else [HOLE]
        elif name in self._unknown and HOLE not in found:
            found.append(HOLE)
        return found

    def filled(self, word: str, values: dict[str, str], depth: int = 3) -> str:
        """Return a word with the values of its variables in their places."""

        def value(found: re.Match[str]) -> str:
            quoted = found[1] == _QUOTED_VARIABLE
            given = values.get(found[2])
            if given is None:
                choices = self._choices(found[2], depth - 1) if depth else [HOLE]
                given = choices[0] if len(choices) == 1 else HOLE
            if given == HOLE:
                return QUOTED if quoted else HOLE
            return given if quoted else re.sub(r"\s+", _BLANK, given)

        return _NAMED.sub(value, word)

    def plain(self, text: str) -> str:
        """Return a text with the values of its variables, or holes."""
        return self.filled(text, {}).replace(_BLANK, " ").replace(_BRACE, "{")


def told_by(command: ShellCommand) -> str | None:
    """Return what a command prints, where that stands in it; a name for what is a name or path."""
    words = command.words
    if command.feeds == "pipe" or command.assigned or not words:
        return None
    if tuple(words) in _TELLS:
        return "name"
    match words[0]:
        case "which" | "command" if len(words) == 2 + (words[0] == "command"):
            return f"/bin/{words[-1]}"
        case "echo":
            rest = words[1:]
            if any(one.startswith("-") and "e" in one for one in rest[:1]) or "\\" in "".join(rest):
                return None
            return " ".join(rest[1:] if rest[:1] in (["-n"], ["-E"]) else rest)
        case "printf":
            rest = words[1:]
            if (
                rest[:1]
                and rest[0] in ("%s", "%s\\n", "%b", "%s ")
                and "\\" not in "".join(rest[1:])
            ):
                return " ".join(rest[1:])
            made = rest[0].removesuffix("\\n") if len(rest) == 1 else "%"
            return None if "%" in made or "\\" in made else made
        case "cat" if len(words) == 1 and len(command.given) == 1:
            return command.given[0]
        case _:
            return None


def _expanded(word: str) -> list[str]:
    waiting, made = [word], []
    if word.count(_BRACE) > _MAX_BRACES // 4:
        return [HOLE]
    while waiting:
        one = waiting.pop()
        found = _BRACED.search(one)
        if found is None:
            made.append(one.replace(_BRACE, "" if len(one) > 1 else "{"))
        elif "," in found[1]:
            before, after = one[: found.start()], one[found.end() :]
            waiting += [f"{before}{part}{after}" for part in reversed(found[1].split(","))]
        else:
            inner = HOLE if ".." in found[1] else f"{{{found[1]}}}"
            waiting.append(one[: found.start()] + inner + one[found.end() :])
        if len(waiting) + len(made) > _MAX_BRACES:
            return [HOLE]
    return made


def _unescaped(found: re.Match[str]) -> str:
    byte, short, long, octal, control, other = found.groups()
    if digits := byte or short or long:
        number = int(digits, 16)
        return chr(number) if number < 0x110000 else HOLE
    if octal:
        return chr(int(octal, 8) & 0xFF)
    return chr(ord(control) & 0x1F) if control else _ESCAPES.get(other, other)
