"""Other words for the same: what a rule that denies or asks means beside its own words."""

import posixpath
import re
from fnmatch import fnmatchcase

import msgspec

from tapui.policies.options import entry_of
from tapui.policies.rules import fits
from tapui.policies.shell_words import HOLE, QUOTED
from tapui.policies.tables import PhraseList, WordList, WordSet, read


class SameEffect(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Words of a program that do what the words of another do; `unsure` where it is rather for the
    person to say."""

    words: WordList
    does: WordList
    unsure: bool = False


class _SameEffects(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="kebab"):
    """The file says what each table is."""

    names: PhraseList
    abbreviate: WordSet
    whole_options: WordSet
    need_operands: WordSet
    same: list[SameEffect]
    options: dict[str, dict[str, WordList]]
    verbs: dict[str, dict[str, WordSet]]


_TABLES = read("same_effect", _SameEffects)
_GROUP_OF = {name: group for group in _TABLES.names for name in group}
_SYNONYMS = {
    (program, option): others
    for program, options in _TABLES.options.items()
    for option, others in options.items()
}
_VERBS = {
    (program, verb): others
    for program, verbs in _TABLES.verbs.items()
    for verb, others in verbs.items()
}
_Rows = dict[str, list[tuple[tuple[str, ...], tuple[str, ...]]]]
SAME: _Rows = {}
LIKE: _Rows = {}
"""The same of what is unsure."""
for _one in _TABLES.same:
    _rows = LIKE if _one.unsure else SAME
    _rows.setdefault(_one.words[0], []).append((_one.words[1:], _one.does))
_MOST_NAME = 100
"""Characters of a name or path that is looked at closely."""
_NUMBERED = re.compile(r"[0-9.]*(?:-[0-9.]+)?$")
_VERSION = re.compile(r"(?<=.)@.*$")
_BUNDLE = re.compile(r"-[A-Za-z]+")


def program_names(word: str) -> tuple[str, ...]:
    """Return the names that a program goes by, without its folder, version and ending."""
    base = word.rpartition("/")[2].lower().removesuffix(".exe")
    if base.isalpha():
        group = _GROUP_OF.get(base)
        return (base,) if group is None else (base, *group)
    if len(base) > _MOST_NAME:
        return (base,)
    base = _VERSION.sub("", base).removesuffix("-cli.js").removesuffix(".cmd")
    short = _NUMBERED.sub("", base) or base
    also = _GROUP_OF.get(base) or _GROUP_OF.get(short) or ()
    return tuple(dict.fromkeys((base, short, base.partition(".")[0] or base, *also)))


class Words:
    """A program's words, of which many rules may be asked."""

    __slots__ = (
        "_has_paths",
        "_is_read",
        "_letters",
        "_options",
        "_set",
        "holes",
        "name",
        "plain",
        "words",
    )

    def __init__(self, words: tuple[str, ...]) -> None:
        self.words = words
        self.name = words[0].rpartition("/")[2].lower()
        self._is_read = False

    def _read(self) -> None:
        self._is_read = True
        self.plain = rest = self.words[1:]
        self._set = frozenset(rest)
        self.holes = [one for one in rest if HOLE in one or QUOTED in one]
        self._options = [one for one in self._set if one[:1] in ("-", "+") or "=" in one]
        self._has_paths = any(_PATH_SIGN.search(one) for one in rest)
        self._letters = set("".join(one for one in self._options if _BUNDLE.match(one)))

    def has_program(self, pattern: str) -> bool:
        """Return whether the program is a pattern's, or would be one of its files' names."""
        if "*" in pattern:
            return fits(pattern, self.words[0]) or fits(pattern, self.name)
        wanted = pattern.rpartition("/")[2].lower()
        return wanted in program_names(self.words[0])

    def mean(self, pattern: tuple[str, ...]) -> bool:
        """Return whether they run the pattern's program with its other words.

        Options may stand in any order, in bundles or apart, abbreviated or in another word for the
        same; the other words in the pattern's order.
        """
        if not self._is_read:
            self._read()
        name, at = _named(pattern), 0
        verb = next((one for one in pattern[1:] if not one.startswith("-")), "")
        entry = entry_of(name)
        has_verb = entry is None or bool(entry.verbs)
        for wanted in pattern[1:]:
            if _is_option(wanted):
                if not self._has_option(name, verb, wanted):
                    return False
            else:
                found = self._place(name, wanted, at, is_verb=has_verb and at == 0)
                if found < 0:
                    return False
                at = found + 1
        return True

    def could_mean(self, pattern: tuple[str, ...]) -> bool:
        """Return whether they may be the pattern's, with what is not known of them."""
        if not self._is_read:
            self._read()
        wild = any(one.startswith(HOLE) for one in self.holes)
        name = _named(pattern)
        room = len(self.holes)
        wanted = [one for one in pattern[1:] if not _is_option(one)]
        verb = wanted[0] if wanted else ""
        if wanted:
            place = self._first_word(name, wanted[0])
            if place is None:
                return False
            if HOLE in self.plain[place] or QUOTED in self.plain[place]:
                if wild:
                    return True
                room -= 1
            for one in wanted[1:]:
                found = self._place(name, one, place + 1)
                if found < 0:
                    room -= 1
        missing = [
            one for one in pattern[1:] if _is_option(one) and not self._has_option(name, verb, one)
        ]
        if missing:
            fitting = [one for one in self.holes if one[0] in f"-+{HOLE}{QUOTED}"]
            if not fitting or (not wild and name in _TABLES.need_operands and self._operands() < 2):
                return False
            are_letters = all(_BUNDLE.fullmatch(one) for one in missing)
            room -= 1 if are_letters else len(missing)
        return wild or room >= 0

    def _operands(self) -> int:
        return sum(not one.startswith("-") for one in self.plain)

    def _first_word(self, name: str, wanted: str) -> int | None:
        """Return the place of the first word that may be a verb, if it may be this one."""
        before = self.words[0]
        for place, one in enumerate(self.plain):
            if one[0:1] == "-":
                before = one
                continue
            if one[:1] in (HOLE, QUOTED) or _is_word(name, wanted, one):
                return place
            if (HOLE in one or QUOTED in one) and wanted.startswith(re.split(_HOLES, one)[0]):
                return place
            if not before.startswith("-") or "=" in before:
                return None
            before = one
        return None

    def _place(self, name: str, wanted: str, at: int, *, is_verb: bool = False) -> int:
        if "*" not in wanted and name not in _TABLES.abbreviate and not self._has_paths:
            same = {wanted, *_VERBS.get((name, wanted), ())} & self._set
            if not same:
                return -1
        for place in range(at, len(self.plain)):
            word = self.plain[place]
            if _is_word(name, wanted, word) or (not is_verb and _is_path(wanted, word)):
                return place
        return -1

    def _has_option(self, name: str, verb: str, wanted: str) -> bool:
        if wanted in self._set:
            return True
        if "*" in wanted:
            return any(fits(wanted, one) for one in self._options)
        is_bundle = _BUNDLE.fullmatch(wanted) is not None and name not in _TABLES.whole_options
        if is_bundle and len(wanted) > 2:
            return all(self._has_option(name, verb, f"-{letter}") for letter in wanted[1:])
        also = (*_SYNONYMS.get((name, wanted), ()), *_SYNONYMS.get((f"{name} {verb}", wanted), ()))
        if wanted == "-D" and name == "git":
            also = ()  # it is both of them
            if self._has_option(name, verb, "--delete") and self._has_option(name, "", "--force"):
                return True
        return any(self._is_there(name, one) for one in (wanted, *also))

    def _is_there(self, name: str, wanted: str) -> bool:
        if wanted == "+?*":
            return any(
                (one.startswith("+") and len(one) > 1) or "=+" in one for one in self._options
            )
        if wanted in self._set:
            return True
        if "*" in wanted:
            return any(fits(wanted, one) for one in self._options)
        if wanted.startswith("--"):
            for one in self._options:
                given = one.partition("=")[0]
                if given == wanted or (
                    len(given) > 2 and given.startswith("--") and wanted.startswith(given)
                ):
                    return True
            return False
        is_bundle = len(wanted) == 2 and name not in _TABLES.whole_options and wanted[1].isalpha()
        if not is_bundle:
            return any(one.partition("=")[0].removeprefix("-") == wanted for one in self._options)
        return wanted[1] in self._letters and any(
            _BUNDLE.match(one) is not None and wanted[1] in one[1:] for one in self._options
        )


_PATH_SIGN = re.compile(r"[/*?\[]|^[.~]")
_SHAPE = re.compile(r"[*?\[]")
_HOLES = re.compile(f"[{HOLE}{QUOTED}]")


def _named(pattern: tuple[str, ...]) -> str:
    name = pattern[0].rpartition("/")[2].lower()
    group = _GROUP_OF.get(name)
    return name if group is None else group[0]


def _is_option(wanted: str) -> bool:
    return wanted.startswith("-") and len(wanted) > 1


def _is_word(name: str, wanted: str, word: str) -> bool:
    if fits(wanted, word) or word in _VERBS.get((name, wanted), ()):
        return True
    return name in _TABLES.abbreviate and len(word) >= 2 and wanted.startswith(word)


def _is_path(wanted: str, word: str) -> bool:
    """Return whether a word may be the path of a rule, in another spelling or by a pattern of the
    shell's; all of a folder is the folder."""
    if not word or len(word) > _MOST_NAME or not _PATH_SIGN.search(word):
        return False
    path, shape = _path(wanted), _path(word)
    if fits(path, shape) or (word.endswith("/*") and fits(path, _path(word[:-1]))):
        return True
    return _SHAPE.search(shape) is not None and fnmatchcase(path, shape)


def _path(word: str) -> str:
    """Return a path without `.` and empty names."""
    path = posixpath.normpath(word)
    return path[1:] if path.startswith("//") else path


def may_be_program(pattern: str, word: str) -> bool:
    """Return whether a word with holes, or with signs of a shell's pattern, may be a program."""
    base = word.rpartition("/")[2].lower()
    if not base or "*" in pattern or len(base) > _MOST_NAME:
        return True
    shape = _HOLES.sub("*", base)
    wanted = pattern.rpartition("/")[2].lower()
    return fnmatchcase(wanted, shape) or (_HOLES.search(base) is not None and shape[:1] == "*")
