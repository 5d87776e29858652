"""Programs that run others: what a rule must name of them before it may allow anything.

The tables (`tables/programs.toml`) hold what agents and people use; a program that is not in them
is taken to do only what its name says. What a build tool runs of its own accord is not to be seen
from here.
"""

import re

import msgspec

from tapui.policies.options import may_lead, plain_places, unknown_option
from tapui.policies.rules import starred, word_fits
from tapui.policies.tables import PhraseList, WordList, WordSet, read


class ProgramKinds(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="kebab"):
    """Programs by what they do with their words. The file says what each kind is."""

    runners: WordSet
    operand_first: WordSet
    rarely_runners: WordSet
    join_words: WordSet
    read_commands: WordSet
    read_input: WordSet
    change_the_shell: WordSet
    evaluate_words: WordSet
    take_a_script: WordSet
    take_a_script_safely: WordSet
    shells: WordSet
    interpreters: WordList
    launchers: PhraseList
    launching: PhraseList
    never_by_beginning: WordSet
    options_behind: PhraseList
    containers: WordSet
    into_container: WordSet
    plain_words: WordSet
    destroy: WordSet


KINDS = read("programs", ProgramKinds)
INTERPRETER = re.compile(
    f"(?:{'|'.join(map(re.escape, KINDS.interpreters))})" + r"[0-9.]*(?:w|\.exe)?"
)
GIT_RUNS = frozenset({"-x", "--exec", "foreach", "run", "filter-branch", "--tree-filter"})
FIND_RUNS = re.compile(r"-(?:exec|ok)(?:dir)?|-[xX]|--exec(?:-batch)?")
LAUNCHER_NAMES = frozenset(one[0] for one in KINDS.launchers if len(one) == 1)
LAUNCHING: dict[str, set[str]] = {}
"""Verbs of programs behind which a command stands."""
for _one in (*KINDS.launchers, *KINDS.launching):
    if len(_one) > 1 and _one[0] != "git" and _one[0] not in KINDS.containers:
        LAUNCHING.setdefault(_one[0], set()).add(_one[-1])
_WORD_BY_WORD = KINDS.runners | KINDS.change_the_shell | KINDS.take_a_script
_ONLY_TOLD = frozenset({"--version", "-V", "-v", "--help", "-h"})
_INPUTS = frozenset({"-", "-s", "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"})
_MOST_WORDS = 64
"""How many words behind a program that runs others are looked at."""


def base_name(word: str) -> str:
    return word.rpartition("/")[2]


def runs_scripts(name: str) -> bool:
    """Return whether a program is a shell or an interpreter: its first word is what it runs."""
    return name in KINDS.shells or INTERPRETER.fullmatch(name) is not None


def is_destructive(word: str) -> bool:
    """Return whether a rule for a program had better name all of its words."""
    return base_name(word) in KINDS.destroy


def escape(
    words: tuple[str, ...],
    covered: int,
    expanding: frozenset[int] = frozenset(),
    starred: frozenset[int] = frozenset(),
) -> str:
    """Say what a command may run beside the words that a rule names; "" where nothing is known.

    `covered` is how many of its words the rule names, `starred` are the places of those that stars
    in it stand for. Who names all of them to the letter means all of them. `expanding` are the
    places of words that become any file names, such as `-exec`.
    """
    name = base_name(words[0])
    if _runs_what_it_reads(name, words):
        return f"{name} runs what it reads"
    if covered < len(words):
        if name in KINDS.runners:
            return f"{name} runs what follows it"
        if name in KINDS.change_the_shell:
            return f"{name} changes what later commands do"
        if name in KINDS.take_a_script and name not in KINDS.take_a_script_safely:
            return f"{name} runs commands out of its words"
    elif not starred:
        return ""
    for launcher in KINDS.launchers:
        if name == launcher[0]:
            why = _launched(words, covered, launcher, expanding, starred)
            if why is not None:
                return why
    has_script = runs_scripts(name)
    if has_script and not set(words[1:]) <= _ONLY_TOLD and (why := _script(words, covered)):
        return f"{name} {why}"
    if has_script and words[1:2] == ("-m",):
        words, covered = words[2:], covered - 2
        expanding, starred = _behind(expanding, 2), _behind(starred, 2)
        name = words[0] if words else ""
    named = frozenset(range(covered)) - starred
    return unknown_option(name, words, named, expanding)


def _behind(places: frozenset[int], size: int) -> frozenset[int]:
    """Return places as they are counted behind the first words."""
    return frozenset(at - size for at in places if at >= size)


def _runs_what_it_reads(name: str, words: tuple[str, ...]) -> bool:
    """Return whether a program takes its commands from its input, as at the end of a pipe."""
    if name not in KINDS.read_commands and not runs_scripts(name):
        return False
    others = words[1:]
    if others and set(others) <= _ONLY_TOLD:
        return False
    inputs = _INPUTS if name in KINDS.shells else _INPUTS - {"-s"}
    return not set(others).isdisjoint(inputs) or all(word.startswith("-") for word in others)


def _launched(
    words: tuple[str, ...],
    covered: int,
    launcher: tuple[str, ...],
    expanding: frozenset[int],
    starred: frozenset[int],
) -> str | None:
    """Say what a launcher may run that the rule does not name; None where it is not this one."""
    size = len(launcher)
    title = " ".join(launcher)
    if words[1:size] != launcher[1:]:
        others = iter(words[1:])
        if size > 1 and all(any(word == wanted for word in others) for wanted in launcher[1:]):
            return f"{title} runs another program"
        return None
    if launcher[0] in KINDS.never_by_beginning:
        return f"{title} runs another program"
    if covered <= size or words[size].startswith("-"):
        return f"{title} runs a program that the rule does not name"
    own = words[covered : words.index("--") if "--" in words else len(words)]
    if launcher in KINDS.options_behind and any(word.startswith("-") for word in own):
        return f"{title} takes options of its own behind the program"
    return escape(words[size:], covered - size, _behind(expanding, size), _behind(starred, size))


def _script(words: tuple[str, ...], covered: int) -> str:
    if covered < 2:
        return "runs a script that the rule does not name"
    if words[1] == "-m":
        return "" if covered > 2 else "runs a module that the rule does not name"
    return "runs code out of its words" if words[1].startswith("-") else ""


def inner_program(words: tuple[str, ...]) -> int:
    """Return the place of the program that a launcher, or `python -m`, runs; 0 where there is none
    behind it."""
    sizes = [len(one) for one in KINDS.launchers if words[: len(one)] == one]
    if runs_scripts(base_name(words[0])) and words[1:2] == ("-m",):
        sizes.append(2)
    return next((size for size in sizes if size < len(words)), 0)


def aligned(words: tuple[str, ...], rule: tuple[str, ...]) -> tuple[int, ...] | None:
    """Return the places of words that a rule's words stand for, where harmless options stand
    between these; None where they do not so.

    Programs that run others are only taken word by word, and so are rules with options.
    """
    start = inner_program(words)
    inner = words[start:]
    name = base_name(inner[0])
    if any(word[:1] == "-" for word in rule[start:]) or rule[:start] != words[:start]:
        return None
    if name in _WORD_BY_WORD or runs_scripts(name):
        return None
    plain = plain_places(name, inner)
    others = tuple(inner[at] for at in plain)
    if any(others[: len(launcher)] == launcher for launcher in KINDS.launchers):
        return None
    wanted = rule[start:]
    if len(others) < len(wanted) or not all(map(word_fits, wanted, others)):
        return None
    places = plain[: len(wanted)]
    last = max(at for at, word in zip(places, wanted, strict=True) if word != "*")
    before = (inner[at] for at in range(last) if at not in places)
    if not all(may_lead(name, option) for option in before):
        return None
    return (*range(start), *(start + at for at in places))


def unknown_beside(
    words: tuple[str, ...],
    places: tuple[int, ...],
    rule: tuple[str, ...],
    expanding: frozenset[int],
) -> str:
    """Say which option is not known to be harmless beside the words at places, which are a rule's;
    "" where all are."""
    start = inner_program(words)
    stars = starred(rule)
    named = frozenset(at for number, at in enumerate(places) if number not in stars)
    inner = words[start:]
    return unknown_option(
        base_name(inner[0]), inner, _behind(named, start), _behind(expanding, start)
    )


def scripts_within(words: tuple[str, ...]) -> list[str]:
    """Return the words that a shell, or a program that runs others, may run as a text."""
    names = {base_name(word) for word in words[:_MOST_WORDS]}
    if names.isdisjoint(KINDS.shells) and base_name(words[0]) not in KINDS.runners:
        return []
    return [word for word in words[1:_MOST_WORDS] if any(map(str.isspace, word))]
