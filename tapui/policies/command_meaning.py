"""What a rule that denies or asks means: the same effect by other words, and behind other programs.

Such a rule is the only guard where Copilot asks about nothing, so it rather catches too much than
too little. A text is only taken for a command where a program runs it: `echo "rm -rf x"` is none.
What cannot be followed and may be what a rule is about is not denied: the person is asked.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from itertools import dropwhile, pairwise

from tapui.policies.inner_commands import (
    ODD,
    RUN,
    RUN_OPTION,
    begins,
    deletes_files,
    git_texts,
    is_program,
    is_special,
    loosened,
    operands,
    option_texts,
    pushes_by_setting,
    runs_programs,
    takes_text,
    texts_of,
    texts_within,
)
from tapui.policies.options import entry_of
from tapui.policies.programs import (
    FIND_RUNS,
    INTERPRETER,
    KINDS,
    LAUNCHER_NAMES,
    LAUNCHING,
    base_name,
)
from tapui.policies.rules import occurs
from tapui.policies.same_effect import LIKE, SAME, Words, may_be_program, program_names
from tapui.policies.shell_words import (
    HOLE,
    MAX_READ,
    QUOTED,
    ShellCommand,
    ShellText,
    VastCommandError,
    told_by,
)

_WITH_VALUE = frozenset({"-u", "-g", "-n", "-k", "-s", "-w", "-p", "-I", "-P", "-L", "-h", "-a"})
_SSH_VALUES = frozenset("bcDEeFIiJLlmOopQRSWw")
_INPUT_VALUES = frozenset("nPdILsEajNSJ")
_RUN_VARIABLES = frozenset({"BROWSER", "VISUAL", "PS4", "SHELL", "GIT_EXTERNAL_DIFF", "LESSOPEN"})
_BEGINNING = frozenset({"BASH_ENV", "ENV"})
"""Variables that name a file which a shell runs first."""
_SUBSCRIPT = re.compile(r"\[[^\]\s]*(?:\$\(|`)")
_SUBSTITUTION = re.compile(r"\$\(|`")
_BREAKS = re.compile(r"[\s;&|()`{}\[\],'\"\\!:]+")
_SEPARATORS = re.compile(r"[;&|()`{}\n]+")
_HOLES_OF = re.compile(f"[{HOLE}{QUOTED}]")
_TEXTS_MOST = 40
_MODULE = re.compile(r"-m(\S+)")
_MOST_RUNS = 600
_MOST_GUESSES = 150
_MOST_WORDS = 64
"""Words of a command that is only guessed at."""


@dataclass(frozen=True, slots=True)
class Meant:
    """What was found for a rule: the words, and whether it is only that they may be what it means.

    `why` says what cannot be followed.
    """

    words: tuple[str, ...]
    is_unsure: bool = False
    why: str = ""


def means(words: tuple[str, ...], pattern: tuple[str, ...]) -> bool:
    """Return whether words, as they stand, run the pattern's program with its other words."""
    if not words or not words[0]:
        return False
    found = Words(words)
    return found.has_program(pattern[0]) and found.mean(pattern)


@lru_cache(maxsize=64)
def meaning(text: str, programs: frozenset[str] | None) -> "Meaning":
    """Return what a command may run of these programs; None means any."""
    return Meaning(text, programs)


def programs_of(patterns: Iterable[tuple[str, ...]]) -> frozenset[str] | None:
    """Return the programs that have a part in what patterns mean; None for any."""
    firsts = {pattern[0] for pattern in patterns}
    if any("*" in one for one in firsts):
        return None
    return (
        frozenset(SAME) | frozenset(LIKE) | {name for one in firsts for name in program_names(one)}
    )


class Meaning:
    """All commands that a text may run, also behind other programs."""

    def __init__(self, text: str, programs: frozenset[str] | None) -> None:
        self._programs = programs
        self._sure: dict[str, list[Words]] = {}
        self._unsure: dict[str, list[Words]] = {}
        self._unknown: list[Words] = []
        self._why = ""
        self._waiting: list[str] = []
        self._seen: set[str] = set()
        self._done: set[tuple[str, ...]] = set()
        self._told: ShellText | None = None
        self._size = 0
        self._runs = 0
        self._guesses = 0
        self._aliases: dict[str, tuple[str, ...]] = {}
        self._vast = ""
        try:
            self._add_text(text)
            while self._waiting:
                self._read(self._waiting.pop())
        except VastCommandError:
            self._give_up("it is too long, or has too many parts")
            self._vast = text
            self._read_roughly(text[:MAX_READ])
            self._read_roughly(text[-MAX_READ // 4 :])

    def of(self, pattern: tuple[str, ...]) -> Meant | None:
        """Return what a rule with a pattern means of it."""
        for found in self._named(self._sure, pattern[0]):
            if found.mean(pattern):
                return Meant(found.words)
        for found in self._unknown:
            first = found.words[0]
            is_known = not _HOLES_OF.search(first) and may_be_program(pattern[0], first)
            if is_known and found.mean(pattern):
                return Meant(found.words)
        if self._vast and occurs(self._vast, pattern):
            return Meant(pattern)
        why = self._why or "a part of it is not known before it runs"
        for found in self._named(self._unsure, pattern[0]):
            if found.mean(pattern) or found.could_mean(pattern):
                return Meant(found.words, is_unsure=True, why="it may do the same")
        for found in self._named(self._sure, pattern[0]):
            if found.holes and found.could_mean(pattern):
                return Meant(found.words, is_unsure=True, why=why)
        for found in self._unknown:
            first = found.words[0]
            if may_be_program(pattern[0], first) and (
                first.startswith(HOLE) or found.could_mean(pattern)
            ):
                return Meant(found.words, is_unsure=True, why=why)
        return None

    def _named(self, found: dict[str, list[Words]], program: str) -> Iterable[Words]:
        if "*" in program:
            return [one for many in found.values() for one in many if one.has_program(program)]
        return found.get(base_name(program).lower(), ())

    # Texts

    def _add_text(self, text: str) -> None:
        if text.strip() and text not in self._seen:
            self._seen.add(text)
            self._size += len(text)
            if len(self._seen) > _TEXTS_MOST or self._size > 2 * MAX_READ:
                raise VastCommandError
            self._waiting.append(text)

    def _give_up(self, why: str) -> None:
        """Take it that anything may run."""
        self._why = self._why or why
        self._unknown.append(Words((HOLE,)))

    def _read(self, text: str) -> None:
        shell = ShellText(text)
        writes = {
            base_name(shell.plain(one)) for command in shell.commands for one in command.writes
        }
        for command in shell.commands:
            if command.words and base_name(command.words[0]) == "tee":
                writes.update(map(base_name, command.words[1:]))
        for command in shell.commands:
            self._evaluated(command, shell, _SUBSTITUTION if "@P}" in text else _SUBSCRIPT)
            for name, value in command.assigned:
                if RUN_OPTION.search(name) or name in _RUN_VARIABLES:
                    self._add_text(shell.plain(value))
                elif name in _BEGINNING:
                    self._give_up("a shell runs a file first")
                elif name.startswith("GIT_CONFIG"):
                    told = shell.plain(value)
                    self._add_text(told[1:] if told.startswith("!") else f"git {told}")
                    self._git(("git", told))
            for words in shell.variants(command):
                if words not in self._done or command.feeds or command.given:
                    self._done.add(words)
                    self._command(words, command, shell, writes)

    def _evaluated(
        self, command: ShellCommand, shell: ShellText, expanded: re.Pattern[str]
    ) -> None:
        """Take substitutions that stand in quotes, and are expanded once they are a value."""
        texts = [value for _, value in command.assigned]
        if command.words and base_name(command.words[0]) in KINDS.evaluate_words:
            texts += (*command.words[1:], *command.given)
        for text in texts:
            if expanded.search(text):
                self._add_text(f": {loosened(shell.plain(text))}")

    def _read_roughly(self, text: str) -> None:
        """Take each word of a text for the beginning of a command, up to a sign."""
        if self._programs is not None and not any(one in text for one in self._programs):
            return
        named = set(filter(self._is_named, set(_BREAKS.split(text))))
        for segment in _SEPARATORS.split(text) if named else ():
            words = tuple(one for one in _BREAKS.split(segment) if one)
            for at, word in enumerate(words):
                if word in named and self._guesses < _MOST_GUESSES:
                    self._guesses += 1
                    made = Words(words[at : at + _MOST_WORDS])
                    for name in program_names(word):
                        self._sure.setdefault(name, []).append(made)

    def _is_named(self, word: str) -> bool:
        if self._programs is None:
            return True
        base = base_name(word).lower()
        return base in self._programs or not base.isalpha()

    # Commands

    def _add(self, words: tuple[str, ...], found: dict[str, list[Words]]) -> None:
        first = words[0]
        if not first or not self._is_named(first):
            return
        self._runs += 1
        if self._runs > _MOST_RUNS:
            raise VastCommandError
        made = Words(words)
        if ODD.search(first):
            self._unknown.append(made)
            first = ODD.sub("", first)
            if not first:
                return
        for name in program_names(first):
            found.setdefault(name, []).append(made)
        for table, into in ((SAME, found), (LIKE, self._unsure)):
            for needed, same in table.get(made.name, ()):
                is_there = not needed or needed[0][:1] == "-" or needed[0] in words
                if is_there and made.mean((made.name, *needed)):
                    other = Words((*same, *words[1:]))
                    for name in program_names(same[0]):
                        into.setdefault(name, []).append(other)
        if made.name == "docker" and "container" in words:
            rest = tuple(one for one in words if one != "container")
            found.setdefault("docker", []).append(Words(rest))

    def _command(
        self, words: tuple[str, ...], command: ShellCommand, shell: ShellText, writes: set[str]
    ) -> None:
        """Take a command, and all that it runs out of its words and its input."""
        if words[0] == HOLE:  # `$X rm a`: where X is empty, `rm a` runs
            first = next((at for at, word in enumerate(words) if word != HOLE), len(words))
            if first < len(words):
                self._command(words[first:], command, shell, writes)
        name = base_name(words[0])
        if name.startswith("git-") and len(name) > 4:  # as in git's own folder of programs
            words = ("git", name[4:], *words[1:])
            name = "git"
        if INTERPRETER.fullmatch(name) and (joined := _MODULE.match(words[1] if words[1:] else "")):
            words = (words[0], "-m", joined[1], *words[2:])
        if given := self._aliases.get(name):  # `alias x='rm -r'; x a`, `cp /bin/rm x; ./x a`
            words = (*given, *words[1:])
            name = base_name(words[0])
        if name in ("alias", "cp", "ln", "mv", "install", "hash"):
            self._alias(name, words)
        if name in ("find", "gfind", "fd", "fdfind"):
            # `find . -exec rm {} +` has a file in the place of {}; `find . -exec {} +` runs it.
            runs = zip(("", *words), words, strict=False)
            words = tuple(
                one.replace("{}", "./x")
                if one != "{}" or not (FIND_RUNS.fullmatch(before) or before == "-c")
                else QUOTED
                for before, one in runs
            )
        names = [base_name(one) for one in words[:64]]
        has_input = False  # whether the last word comes from the input: it is no program
        if "xargs" in names[:12] or ("parallel" in names[:12] and ":::" not in words):
            words = self._with_input(words, command)
            has_input = words[-1] == HOLE and any(
                is_program(words[at + 1]) for at in operands(words[1:-1], _INPUT_VALUES)
            )
            names = [base_name(one) for one in words[:64]]
        self._add(words, self._sure)
        places, is_sure = begins(name, words)
        skipped = name in KINDS.operand_first
        seen = {names[0]}
        # Each word from which on a command may stand: of `sudo -u me rm a` those after `sudo`.
        for at in places:
            word = words[at]
            is_odd = ODD.search(base_name(word)) is not None
            if is_odd and has_input and at == len(words) - 1:
                continue
            if is_odd and (skipped or words[at - 1] in _WITH_VALUE):
                # `timeout $N rm a`, `sudo -u $ME rm a`: a value, and no unknown program
                skipped = False
                continue
            if at and not word.startswith("-"):
                skipped = False
            if word.startswith("--") and "=" in word:  # `watchexec --exec=rm a`
                self._add((word.partition("=")[2], *words[at + 1 :]), self._sure)
            if word in seen or (word.startswith("-") and len(word) > 1):
                continue
            seen.add(word)
            if is_sure or not is_odd:
                self._add(words[at:], self._sure if is_sure else self._unsure)
        special: set[str] = set()
        for at in (0, *(places if is_sure else ())):
            if words[at] not in special:
                special.add(words[at])
                self._special(words, at, command, shell, writes)
        for one in option_texts(name, words):
            self._add_text(one)

    def _alias(self, name: str, words: tuple[str, ...]) -> None:
        """Keep what another name stands for from here on."""
        if name == "alias":  # `alias x='rm -r'`
            for word in words[1:]:
                alias, sign, value = word.partition("=")
                if sign and value.split():
                    self._aliases[alias] = tuple(value.split())
                    self._add_text(value)
            return
        # `ln -s /bin/rm x`; of `mv` the old name stays known, too
        others = [one for one in words[1:] if not one.startswith("-")]
        if len(others) == 2 and name != "mv":
            before, after = others
            if entry_of(base_name(before)) is not None or "/bin/" in before:
                self._aliases[base_name(after) or base_name(before)] = (base_name(before),)

    def _with_input(self, words: tuple[str, ...], command: ShellCommand) -> tuple[str, ...]:
        """Return the words of `xargs` or `parallel` with what they may get as their input."""
        told = told_by(command.before) if command.before is not None else None
        if command.feeds == "text" and len(command.given) == 1:
            told = command.given[0]
        comes_from = base_name(command.before.words[0]) if command.before is not None else ""
        for at, word in enumerate(words):
            if word in ("-I", "-J"):
                mark = words[at + 1] if at + 1 < len(words) else "{}"
            elif word[:2] in ("-I", "-i") and not word.startswith("--"):
                mark = word[2:] or "{}"
            elif word.startswith("--replace"):
                mark = word.partition("=")[2] or "{}"
            else:
                continue
            # `echo a | xargs -I F rm F`
            hole = told if told is not None else "./x" if comes_from == "find" else QUOTED
            return tuple(
                one.replace(mark, hole) if n > at + 1 else one for n, one in enumerate(words)
            )
        if told is not None:  # `echo a b | xargs rm`; `echo "rm a" | parallel`
            if base_name(words[0]) == "parallel" and not any(one[0] != "-" for one in words[1:]):
                self._add_text(told)
            return (*words, *told.split())
        return (*words, "./x") if comes_from == "find" else (*words, HOLE)

    def _special(
        self,
        words: tuple[str, ...],
        at: int,
        command: ShellCommand,
        shell: ShellText,
        writes: set[str],
    ) -> None:
        """Take what a program runs beside a command out of its words."""
        name = base_name(words[at])
        if at and name not in writes and not is_special(name):
            return
        rest = words[at + 1 :]
        runs_files = name in KINDS.shells or name in ("source", ".") or INTERPRETER.fullmatch(name)
        # `echo "rm a" > x; sh x`
        if name in writes or (runs_files and any(base_name(one) in writes for one in rest[:3])):
            self._written(name, shell)
        if name in KINDS.shells:
            self._shell(rest, command, shell)
        elif name in RUN or (name in LAUNCHER_NAMES and at == 0):
            for one in texts_within(rest):  # `watch "rm a"`
                self._add_text(one)
            if name in KINDS.join_words:  # `eval rm a`, `ssh host rm a`
                told = rest
                if name in ("ssh", "mosh"):  # behind its options and the host
                    told = rest[next(operands(rest, _SSH_VALUES), len(rest)) + 1 :]
                told = tuple(dropwhile(lambda one: one in (name, "--"), told))
                self._add_text(loosened(" ".join(told)))
            for option, one in pairwise(rest):  # `su -c $X`
                if one[:1] in (HOLE, QUOTED) and re.fullmatch(r"-[A-Za-z]*c|--command", option):
                    self._add_text(loosened(one))
            # `. /dev/stdin`
            if name in ("source", ".") and rest and rest[0].startswith("/dev/"):
                self._give_up(f"{name} runs what it reads")
            # `echo "rm a" | at now`; `ssh host` reads commands where none follows the host
            if name in KINDS.read_input and (command.feeds in ("text", "pipe")):
                is_told = name not in ("ssh", "su") or len(rest) < 2 or rest[-1].startswith("-")
                self._input(name, command, shell, must_follow=is_told)
        elif takes_text(name):  # `python -c CODE`
            self._code(name, rest, command, shell)
        elif name in ("make", "gmake"):  # `make CC="rm a"`, `make -f - <<< "x: ; rm a"`
            for one in (*texts_within(rest), *command.given):
                self._add_text(loosened(one))
        elif name == "git":
            self._git(words[at:])
        elif (at == 0 and name in KINDS.containers) or name in LAUNCHING:  # `npm exec -c "rm a"`
            for one in texts_within(rest):
                self._add_text(one)
        elif at == 0 and entry_of(name) is None and name not in KINDS.plain_words:
            for one in texts_within(rest):
                self._unsure_text(one)  # `unknown "rm a"`

    def _unsure_text(self, text: str) -> None:
        """Take a text that an unknown program may run."""
        self._guesses += 1
        if self._guesses > _TEXTS_MOST // 4:
            raise VastCommandError
        try:
            for command in ShellText(text).commands:
                if command.words:
                    self._add(tuple(command.words), self._unsure)
                break
        except VastCommandError:
            return

    def _git(self, words: tuple[str, ...]) -> None:
        """Take what the settings of git run, or make of a push."""
        for one in git_texts(words):
            self._add_text(one)
        if pushes_by_setting(words[1:]):
            for how in ("--force", "--delete"):
                self._add(("git", "push", how, "x", "y"), self._unsure)

    # Texts that are run

    def _shell(self, rest: tuple[str, ...], command: ShellCommand, shell: ShellText) -> None:
        """Take what a shell runs: a text, a file, or its input."""
        for one in texts_within(rest):
            self._add_text(loosened(one))
        has_text, operand = False, ""
        # `bash -e +o posix -c TEXT`: options may come before the -c, those of -o have a value.
        for at, word in enumerate(rest):
            if word.startswith("--") and len(word) > 2:
                continue
            if word[:1] in ("-", "+") and len(word) > 1:
                has_text = has_text or "c" in word[1:]
                continue
            if at and rest[at - 1][-1:] in ("o", "O") and rest[at - 1][:1] in ("-", "+"):
                continue
            operand = word
            break
        if has_text:
            if operand:
                self._add_text(loosened(operand))
            return
        # `bash -s`, `bash -`: it runs its input
        is_input = not operand or "-s" in rest or operand in ("-", "/dev/stdin")
        if operand.startswith(("/dev/", HOLE)):
            self._give_up("a shell runs what is not known before")
        if is_input and command.feeds:
            self._input("a shell", command, shell)

    def _input(
        self, name: str, command: ShellCommand, shell: ShellText, *, must_follow: bool = True
    ) -> None:
        """Take what a program runs of its input, as far as that can be known."""
        told = None
        if command.feeds == "text":
            for one in command.given:
                self._add_text(shell.plain(one))
            return
        if command.before is not None:
            told = told_by(command.before)
        if told is not None:
            self._add_text(loosened(shell.plain(told)))
            return
        self._all_texts(shell)
        if must_follow:
            self._give_up(f"{name} runs what it reads")

    def _all_texts(self, shell: ShellText) -> None:
        """Take each text that is printed or given anywhere, since any may be run."""
        if self._told is shell:
            return
        self._told = shell
        for command in shell.commands:
            for one in command.given:
                self._add_text(shell.plain(one))
            words = [shell.plain(one) for one in command.words]
            if words and base_name(words[0]) in ("echo", "printf", "cat"):
                self._add_text(" ".join(words[1:]))
                for one in words[1:]:
                    if " " in one:
                        self._add_text(one)

    def _written(self, name: str, shell: ShellText) -> None:
        """Take a script that the command itself writes, and then runs."""
        if INTERPRETER.fullmatch(name):
            for command in shell.commands:
                for one in command.given:
                    self._text_of(name, one)
            return
        self._all_texts(shell)
        for command in shell.commands:
            files = [one for one in command.writes if one not in ("/dev/null", "1", "2")]
            if files and command.words and told_by(command) is None:
                self._give_up("it runs a file that it writes")

    def _code(
        self, name: str, rest: tuple[str, ...], command: ShellCommand, shell: ShellText
    ) -> None:
        """Take a text for an interpreter: out of its words, or of its input."""
        texts, is_whole = texts_of(name, rest)
        if command.feeds == "text" and not (is_whole and INTERPRETER.fullmatch(name)):
            texts += map(shell.plain, command.given)
        elif not is_whole and command.feeds:
            told = told_by(command.before) if command.before is not None else None
            if told is None:
                self._give_up(f"{name} runs what it reads")
            else:
                texts.append(shell.plain(told))
        for one in texts:
            self._text_of(name, one)

    def _text_of(self, name: str, text: str) -> None:
        """Take a text for an interpreter: what runs programs, or deletes files, is asked about."""
        if text in (HOLE, QUOTED):
            self._give_up(f"{name} runs what is not known before")
            return
        if deletes_files(name, text):
            self._add(("rm", "-r", "-f", "x", "y"), self._unsure)
        if runs_programs(name, text):
            self._read_roughly(text)
            for one in re.findall(r"'([^']*)'|\"([^\"]*)\"|`([^`]*)`", text):
                self._read_roughly("".join(one))
            words = tuple(one for one in _BREAKS.split(text) if one)[:200]
            for at, word in enumerate(words):
                if word.isalpha() and len(words) - at > 1:
                    self._add(words[at : at + 24], self._sure)
            self._give_up(f"{name} runs programs out of a text")
