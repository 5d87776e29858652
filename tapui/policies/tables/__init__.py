"""The tables of programs, as TOML: data for the rules, which a person can read and edit.

`git`, `files`, `building`, `node` and `network` say which options of well-known programs do no more
than their program's name says: a table is a program (`[git]`) or a verb of one (`[git.log]`, or
`log = {…}` among the keys of `[git]`), and a verb `--` is what may stand behind that word. Its keys
are those of `ProgramTable`. Its options are in one text:

    -x --all        options without a value
    -n:             an option with a value, in the same word or the next
    --color?        an option that may have a value, in the same word only
    -s:ort|ours|x*  only these values; * stands for any characters
    -march=*        any option that begins so
    -#              a number, as in `head -20`

`asked-options` run something else or write elsewhere: they are asked, unless the rule names them.
They are listed where their value may stand in the next word. `--help` and `--version` are known for
all programs. An option that is not listed is asked, however it is written: programs guess it from
its beginning, the table does not.

What the tables of `programs`, `same_effect` and `leads` are stands in these, as comments.
"""

import pkgutil
import re
import tomllib
from typing import Any, TypeVar

import msgspec

_T = TypeVar("_T")
_BARE = re.compile(r"[A-Za-z0-9_-]+")
_PLACE = re.compile(r"`(?:\$\.)?([\w-]+)[^`]*`$")


class TableError(Exception):
    """A table that is not written as it must be: file, line and key. No rule is judged by it."""


class WordList(tuple[str, ...]):
    """In a table, a text of words."""

    __slots__ = ()


class OptionList(tuple[str, ...]):
    """In a table, a text of options."""

    __slots__ = ()


class WordSet(frozenset[str]):
    """In a table, a text of words whose order means nothing."""


class PhraseList(tuple[tuple[str, ...], ...]):
    """In a table, a text of phrases with commas between them."""

    __slots__ = ()


class OptionSet(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="kebab"):
    """Options, as a table at `[sets.NAME]` gathers them for several programs."""

    options: OptionList = OptionList()
    asked_options: OptionList = OptionList()


class ProgramTable(OptionSet, frozen=True):
    """What is known of a program, or of one of its verbs."""

    also: WordList = WordList()
    """Other names of the same, with all its verbs."""
    sets: WordList = WordList()
    """Sets of the file whose options it has."""
    asked: bool = False
    """A verb that only a rule with it in its words allows."""
    exact: bool = False
    """A rule that is proposed for the verb has all words of the command."""
    has_object: bool = False
    """The next word belongs to the verb, as that of `npm run build`."""
    most_operands: int | None = None
    """At most so many words that are no options."""
    verbs: PhraseList = PhraseList()
    """Verbs that have no table of their own: of their options none is known."""
    asked_verbs: PhraseList = PhraseList()
    verbs_of: WordList = WordList()
    """A program in the same file that has the `shared_verbs`, too."""
    shared_verbs: PhraseList = PhraseList()
    asked_words: re.Pattern[str] | None = None
    """Words which are no options and still more than names: settings, files of options, remote
    programs. They are asked. The settings of a program hold for its verbs, too."""
    asked_first_word: re.Pattern[str] | None = None
    """What is asked of the first such word only."""

    # These are of programs alone.

    leading: OptionList = OptionList()
    """Options that may stand before what a rule names: flags that the program takes there, and
    that never take the next word."""
    asked_values: re.Pattern[str] | None = None
    """Values that are asked, of all its options."""
    one_dash: bool = False
    """Its options are words behind one dash, which are not bundled: `-name x`, `-o=x`, `-DX`."""
    bundles: bool = True
    """False where a bundle is an option of its own, or is read in several ways."""
    bundle_first: bool = False
    """Its first word is a bundle of options, also without a dash: `tar xzf a.tgz`."""


class TableFile:
    """A file of tables, by its name without the ending. Raises `TableError`, as its methods do."""

    def __init__(self, name: str, text: str | None = None) -> None:
        self._name = f"{name}.toml"
        if text is None:
            # As modules are, the file is read from wherever the package lies.
            data = pkgutil.get_data(__name__, self._name)
            if not data:  # without it, no option of a program would be asked
                raise TableError(f"{self._name} is not there")
            text = data.decode()
        self._lines = text.split("\n")
        try:
            self.tables = tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            raise TableError(f"{self._name}: {error}") from error

    def as_type(self, table: object, kind: type[_T], *path: str) -> _T:
        """Return the table at a path as a Struct."""
        try:
            return msgspec.convert(table, kind, dec_hook=_value)
        except msgspec.ValidationError as error:
            raise self.error(str(error), *path) from error

    def error(self, why: str, *path: str) -> TableError:
        """Return the error of a table at a path; `why` may end with the key, as msgspec has it."""
        found = _PLACE.search(why)
        keys = [*path, found[1]] if found is not None else [*path]
        written = [key if _BARE.fullmatch(key) else f'"{key}"' for key in keys]
        line = size = 0
        for end in range(len(path), 0, -1):  # `[git.log]`, or `log = {…}` below `[git]`
            if (header := f"[{'.'.join(written[:end])}]") in self._lines:
                line, size = self._lines.index(header), end
                break
        for end in range(len(keys), size, -1):
            begins = ".".join(written[size:end]) + " "
            if at := [at for at, one in enumerate(self._lines) if one.startswith(begins)]:
                line = next((one for one in at if one > line), line)
                break
        return TableError(f"{self._name}, line {line + 1}: {' '.join(path)}: {why}")


def read(name: str, kind: type[_T]) -> _T:
    """Return a file's tables as one Struct. Raises `TableError`."""
    file = TableFile(name)
    return file.as_type(file.tables, kind)


def _value(kind: Any, text: object) -> Any:
    if not isinstance(text, str):
        raise TypeError("a text is expected")
    if kind in (WordList, WordSet, OptionList, PhraseList):
        phrases = [tuple(one.split()) for one in text.split(",")]
        words = phrases if kind is PhraseList else text.split()
        if not words or () in phrases:
            raise ValueError("a word is missing")
        if kind is OptionList and (wrong := [one for one in words if one[0] != "-"]):
            raise ValueError(f"{wrong[0]} is no option")
        return kind(words)
    try:
        return re.compile(text)
    except re.error as error:
        raise ValueError(str(error)) from error
