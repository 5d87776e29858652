"""Which options of a command are known to do no more than its program's name and verb say.

They stand in `tables`. What is not there is not known: programs take the beginnings of long
options, bundles, and values in several places, and a list of what is dangerous would have to know
all of that.
"""

import re
from dataclasses import dataclass, field
from functools import lru_cache

from tapui.policies.rules import fits
from tapui.policies.tables import OptionSet, ProgramTable

_MOST_NAME = 100
_NUMBERED = re.compile(r"[0-9.]*(?:-[0-9.]+)?$")
_OPTION = re.compile(r"(--?[^:?*]*)([:?]?)(.*)", re.DOTALL)
_NUMBER = re.compile(r"[-+]?[0-9]+")
_EVERYWHERE = frozenset({"--help", "--version"})
_HARMLESS = _EVERYWHERE | {"-", "--"}
_PLAIN = ProgramTable()


@dataclass(slots=True)
class _Option:
    """An option. Its value may be the next word (`spaced`), be in the same (`joined`), and there
    without a sign between (`glued`, of options behind one dash)."""

    is_harmless: bool = True
    spaced: bool = False
    joined: bool = False
    glued: bool = False
    values: tuple[str, ...] = ()

    def takes(self, value: str) -> bool:
        return not self.values or any(fits(one, value) for one in self.values)


@dataclass(slots=True)
class KnownVerb:
    """What is known of a program, or of one of its verbs."""

    name: str
    table: ProgramTable = _PLAIN
    options: dict[str, _Option] = field(default_factory=dict)
    beginnings: dict[str, bool] = field(default_factory=dict)
    """Beginnings of options of one dash, and whether they are harmless."""
    verbs: "dict[str, KnownVerb]" = field(default_factory=dict)
    is_risky: bool = False
    """It has options that are never harmless."""

    def option(self, name: str) -> _Option | None:
        if name in _EVERYWHERE and name not in self.options:
            return _Option()
        return self.options.get(name)

    def add(self, options: OptionSet) -> None:
        for option in options.options:
            self._add(option, is_harmless=True)
        for option in options.asked_options:
            self._add(option, is_harmless=False)
            self.is_risky = True

    def _add(self, text: str, *, is_harmless: bool) -> None:
        found = _OPTION.fullmatch(text)
        assert found is not None, text
        name, mark, values = found.groups()
        if not mark and values == "*":
            self.beginnings[name] = is_harmless
            return
        before = self.options.get(name)
        option = _Option(
            is_harmless=is_harmless,
            spaced=mark == ":",
            joined=bool(mark),
            glued=mark == "?",
            values=tuple(values.split("|")) if values else (),
        )
        if before is not None and before.is_harmless == option.is_harmless:
            option.spaced = option.spaced or before.spaced
            option.glued = option.glued or before.glued
        self.options[name] = option


def known_programs() -> list[str]:
    from tapui.policies.known_options import KNOWN

    return list(KNOWN)


@lru_cache(maxsize=512)
def entry_of(name: str) -> KnownVerb | None:
    """Return what is known of a program, also of `pip3.11` and `gcc-12`."""
    from tapui.policies.known_options import KNOWN

    if name not in KNOWN and len(name) < _MOST_NAME:
        name = _NUMBERED.sub("", name)
    if name not in KNOWN:
        return None
    root = KnownVerb(name)
    for path, (table, sets) in KNOWN[name].items():
        entry = root
        for number, verb in enumerate(path[1:], 2):
            entry = entry.verbs.setdefault(verb, KnownVerb(" ".join(path[:number])))
        entry.table = table
        for options in (*sets, table):
            entry.add(options)
    return root


def verb_size(name: str, words: tuple[str, ...]) -> int | None:
    """Return how many words are a program and its verb: three of `gh pr list`, `npm run build`.

    None of a program that is not known or has no verbs; 0 where only all words together say it.
    """
    entry = entry_of(name)
    if entry is None or not entry.verbs.keys() - {"--"}:
        return None
    size = 1
    while entry.verbs.keys() - {"--"}:
        verb = entry.verbs.get(words[size]) if size < len(words) else None
        if verb is None:
            return 0
        entry, size = verb, size + 1
    if entry.table.exact:
        return 0
    if entry.table.has_object:
        has_object = size < len(words) and not words[size].startswith("-")
        return size + 1 if has_object else 0
    return size


def unknown_option(
    name: str, words: tuple[str, ...], named: frozenset[int], expanding: frozenset[int]
) -> str:
    """Say what in a command is not known to be harmless; "" where all is.

    `name` is the program's, without its folder. `named` are the places of words that a rule has to
    the letter; `expanding` those of words that become names of files.
    """
    entry = entry_of(name)
    if entry is None:
        others = (word for at, word in enumerate(words) if at not in named)
        odd = next((one for one in others if one[:1] == "-" and one not in _HARMLESS), "")
        if odd or expanding - named:
            odd = odd or "a file's name that becomes an option"
            return f"{odd} is not known to be harmless: tapui does not know {name}"
        return ""
    try:
        _Walk(entry, words, named, expanding).go()
    except _UnknownError as unknown:
        return str(unknown)
    return ""


def operand_places(name: str, words: tuple[str, ...]) -> list[int]:
    """Return the places of words that are no options, no values of known ones, and no verbs."""
    entry = entry_of(name)
    if entry is None:
        return [at for at in range(1, len(words)) if not words[at].startswith("-")]
    walk = _Walk(entry, words, frozenset(range(len(words))), frozenset())
    walk.go()
    return walk.operands


def plain_places(name: str, words: tuple[str, ...]) -> list[int]:
    """Return the places of the program, its verbs and operands before `--`: of words that are no
    options, and no values of known ones."""
    entry = entry_of(name)
    if entry is None:
        return [0]
    walk = _Walk(entry, words, frozenset(range(len(words))), frozenset())
    walk.go()
    end = words.index("--") if "--" in words else len(words)
    return [0, *sorted(at for at in (*walk.verbs, *walk.operands) if at < end)]


def verb_table(name: str, words: tuple[str, ...]) -> ProgramTable | None:
    """Return what is known of the verb in a command; None where program or verb are not known."""
    entry = entry_of(name)
    if entry is None:
        return None
    walk = _Walk(entry, words, frozenset(range(len(words))), frozenset())
    walk.go()
    has_verbs = bool(entry.verbs.keys() - {"--"})
    return None if has_verbs and walk.verb is entry and walk.operands else walk.verb.table


def may_lead(name: str, option: str) -> bool:
    """Return whether an option may stand before what a rule names."""
    entry = entry_of(name)
    return entry is not None and any(
        fits(one.replace("?*", "*"), option) for one in entry.table.leading
    )


def _is_odd(value: str) -> bool:
    """Return whether a program may take a value for an option, or one that it hands it to."""
    return value.startswith("-") and value != "-" and not _NUMBER.fullmatch(value)


class _UnknownError(Exception):
    """Something in a command is not known to be harmless."""


class _Walk:
    """Goes through the words of a command."""

    def __init__(
        self,
        entry: KnownVerb,
        words: tuple[str, ...],
        named: frozenset[int],
        expanding: frozenset[int],
    ) -> None:
        self._program = entry
        self._entry = entry
        self.verb = entry
        self._words = words
        self._named = named
        self._expanding = expanding
        self._asked = [entry.table.asked_words]
        self._at = 1
        self._seen = 0
        self.operands: list[int] = []
        """Places of words that are no options, no values of known ones, and no verbs."""
        self.verbs: list[int] = []

    def go(self) -> None:
        """Go through all of them. Raises `_UnknownError`."""
        behind = False
        if self._program.table.bundle_first:
            self._old_bundle()
        while self._at < len(self._words):
            at, word = self._at, self._words[self._at]
            self._at += 1
            if self._entry.is_risky and at in self._expanding:
                raise _UnknownError(f"{self._program.name} may take a file's name for an option")
            if word == "--" and not behind:
                behind = True
                self._entry = self._entry.verbs.get("--") or KnownVerb(
                    self._entry.name, self._entry.table
                )
            elif word.startswith("-") and word != "-":
                self._option(at, word)
            else:
                self._plain(at, word, behind=behind)

    def _refuse(self, word: str) -> None:
        raise _UnknownError(f"{self._entry.name} {word} may run or write something else")

    def _plain(self, at: int, word: str, *, behind: bool) -> None:
        """Take a word that is no option: a verb, or what the program works on."""
        is_named = at in self._named
        verbs = self._entry.verbs
        if not behind and (verb := verbs.get(word)) is not None and word != "--":
            if verb.table.asked and not is_named:
                raise _UnknownError(f"{verb.name} does what the rule does not name")
            self._entry = self.verb = verb
            self.verbs.append(at)
            self._asked.append(verb.table.asked_words)
            return
        self.operands.append(at)
        if not behind and verbs.keys() - {"--"}:
            if not is_named:
                raise _UnknownError(f"{self._entry.name} {word} is nothing that tapui knows")
            self._entry = KnownVerb(f"{self._entry.name} {word}")
            return
        self._seen += 1
        if is_named:
            return
        table = self._entry.table
        is_many = self._seen > (table.most_operands or 0) or at in self._expanding
        if table.most_operands is not None and is_many:
            raise _UnknownError(f"{self._entry.name} may write to {word}")
        first = table.asked_first_word if self._seen == 1 else None
        if any(one is not None and one.search(word) for one in (*self._asked, first)):
            raise _UnknownError(f"{self._entry.name} takes {word} for more than a name")

    def _option(self, at: int, word: str) -> None:
        is_named = at in self._named
        option, value = self._read(word)
        if option is None:
            if not is_named:
                self._refuse(word)
            if "=" not in word:
                self._skip_value(word)
            return
        if not option.is_harmless and not is_named:
            self._refuse(word)
        if value is not None:
            if not is_named and (_is_odd(value) or not self._may_have(option, value)):
                self._refuse(word)
        elif option.spaced:
            self._value(word, option)

    def _skip_value(self, word: str) -> None:
        """Go past the value of an option that only the rule knows, where the rule has it, too."""
        if self._at not in self._named:
            if self._at < len(self._words):
                raise _UnknownError(f"{word} may take the next word, which the rule does not name")
            return
        value = self._words[self._at]
        if not value.startswith("-") and value not in self._entry.verbs:
            self.operands.append(self._at)  # it may be no value
            self._at += 1

    def _value(self, word: str, option: _Option) -> None:
        if self._at >= len(self._words):
            return
        at, value = self._at, self._words[self._at]
        self._at += 1
        if at in self._named:
            return
        if _is_odd(value) or not option.is_harmless or at in self._expanding:
            self._refuse(f"{word} {value}")
        if not self._may_have(option, value):
            self._refuse(f"{word} {value}")

    def _may_have(self, option: _Option, value: str) -> bool:
        asked = self._program.table.asked_values
        return option.takes(value) and not (asked is not None and asked.search(value))

    def _read(self, word: str) -> tuple[_Option | None, str | None]:
        """Return the option that a word is, and the value in it; None for one not known.

        A bundle is its first option that is not harmless, or else its last.
        """
        entry = self._entry
        if (option := entry.option(word)) is not None:
            return option, None
        if _NUMBER.fullmatch(word) and (option := entry.option("-#")) is not None:
            return option, None
        name, sign, value = word.partition("=")
        option = entry.option(name) if sign else None
        one_dash = self._program.table.one_dash
        if option is not None and (word.startswith("--") or one_dash):
            return (option, value) if option.joined else (None, None)
        if word.startswith("--") and not one_dash:
            return None, None
        if one_dash:
            return self._read_one_dash(word)
        return self._read_bundle(word)

    def _read_one_dash(self, word: str) -> tuple[_Option | None, str | None]:
        kinds = {
            is_harmless
            for one, is_harmless in self._entry.beginnings.items()
            if word.startswith(one)
        }
        if kinds:
            return _Option(is_harmless=all(kinds)), None
        option = self._entry.options.get(word[:2])
        return (option, word[2:]) if option is not None and option.glued else (None, None)

    def _read_bundle(self, word: str) -> tuple[_Option | None, str | None]:
        for place in range(1, len(word)):
            option = self._entry.options.get(f"-{word[place]}")
            if option is None:
                return None, None
            rest = word[place + 1 :]
            if option.joined:
                return option, rest or None
            if not option.is_harmless or not rest:
                return option, None
            if not self._program.table.bundles:
                return None, None
        return None, None

    def _old_bundle(self) -> None:
        """Take a first word without a dash as a bundle, the values of which follow it."""
        bundle = self._words[1] if len(self._words) > 1 else "-"
        if bundle.startswith("-"):
            return
        for letter in bundle:
            option = self._entry.options.get(f"-{letter}")
            if (option is None or not option.is_harmless) and 1 not in self._named:
                self._refuse(bundle)
        self._at = 2
