"""What a rule that allows names of files, folders and addresses, and what else a command names.

A rule whose words hold an operand (a pattern, a path, a URL, a target, or any word of a program
that takes nothing else) is about these: each further operand must be one of them, too.
"""

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache

from tapui.policies.leads import Leads, readings
from tapui.policies.options import operand_places
from tapui.policies.programs import base_name, runs_scripts
from tapui.policies.rules import is_within, starred, word_fits

_SETTERS = frozenset({"make", "gmake", "bmake", "rake", "just", "task"})
"""To them a word with `=` sets a variable."""
_LOOKS_LIKE_A_PATH = re.compile(r"[/*?]|^\.{1,3}$|^~|^\[")
_TAKE_FILES = frozenset(
    """cat gcat tac rev nl head ghead tail gtail less more bat batcat wc ls dir vdir gls eza exa lsd
    tree stat gstat file du diff gdiff colordiff difft cmp comm join paste sort gsort uniq od
    hexdump hd xxd strings iconv split gsplit csplit md5sum sha1sum sha224sum sha256sum sha384sum
    sha512sum b2sum cksum shasum md5 base64 base32 readlink realpath cp gcp mv gmv rm grm rmdir
    unlink mkdir touch ln install tee truncate shred gzip gunzip zcat bzip2 bunzip2 bzcat xz unxz
    xzcat zstd unzstd zstdcat zipinfo unzip curl wget http https xh scp rsync""".split()  # noqa: SIM905 - readable
)
"""Programs whose words, beside options, are all files, folders or addresses."""
_TAKE_TARGETS = frozenset(
    """make gmake bmake mvn mvnw gradle gradlew ninja just task rake tox nox bazel ant kill pkill
    killall chmod chown chgrp docker-compose podman-compose""".split()  # noqa: SIM905 - readable
)
"""Programs each of whose words, beside options, is another thing to run or to change."""
_FILE_VALUE = re.compile(
    r"--(?:from-file|to-file|file|exclude-from|ignore-file|reference|url)(?=$|=)"
)
"""Harmless options whose value is a file or an address: it is read, or spoken to."""
_PATTERN_FILE = re.compile(r"-[A-Za-z]*f")
_READ_PATTERNS = frozenset({"grep", "egrep", "fgrep", "ggrep", "rg", "ripgrep", "file"})
_VALUE = re.compile(r"(?:[^=]*=|-[A-Za-z])(.+)", re.DOTALL)


@lru_cache(maxsize=1024)
def _named(rule: tuple[str, ...]) -> tuple[str, ...]:
    """Return the operands among the words of a rule."""
    name = base_name(rule[0])
    places = operand_places(name, rule)
    if runs_scripts(name):
        places = places[1:]  # the first is what it runs
    all_are = name in _TAKE_FILES or name in _TAKE_TARGETS or rule[1:2] == ("compose",)
    if rule[:2] == ("git", "push"):
        all_are = len(places) > 1  # a remote alone names no branch
    stars = starred(rule)
    return tuple(
        rule[at]
        for at in places
        if (at in stars or all_are or _LOOKS_LIKE_A_PATH.search(rule[at]))
        and not (name in _SETTERS and "=" in rule[at])
    )


def stray(
    words: tuple[str, ...], rule: tuple[str, ...], leads: Leads | None, folder: str | None
) -> str:
    """Return the first operand behind a rule's words that the rule does not name; "" where there
    is none, or where the rule holds no operand.

    What stands in a star's place must also be one where it leads to, as far as that is known.
    """
    named = _named(rule)
    if not named:
        return ""
    for one in _operands(words, len(rule)):
        if not _is_one(one, named):
            return one
    if leads is None or not any("*" in one for one in named):
        return ""
    named = tuple(leads.home + one[1:] if one.startswith("~/") else one for one in named)
    for word in words:
        for one in readings(word) if word not in rule else ():
            for path in leads.words.get(one, ()):
                is_below = folder is not None and is_within(path, folder)
                shown = path[len(folder or "") :].lstrip("/") if is_below else path
                if not any(_is_one(text, named) for text in (shown, f"./{shown}", path)):
                    return f"{one}, which leads to {path}"
    if leads.below:
        return f"{leads.below[0]}, to which a link leads"
    return ""


def _is_one(word: str, named: Sequence[str]) -> bool:
    return any(word_fits(one, word) for one in named)


def _operands(words: tuple[str, ...], covered: int) -> Iterator[str]:
    """Yield the operands behind so many words, and values of options that are or may be such."""
    name = base_name(words[0])
    places = frozenset(operand_places(name, words))
    for at in range(covered, len(words)):
        word, option = words[at], words[at] if words[at].startswith("-") else words[at - 1]
        if at in places:
            yield word
            continue
        is_file = _FILE_VALUE.match(option) or (
            name in _READ_PATTERNS and _PATTERN_FILE.match(option)
        )
        value: str = word
        if word.startswith("-"):
            found = _VALUE.fullmatch(word)
            value = found[1] if found is not None else ""
        if value and value != "/dev/null" and (is_file or _may_leave(value)):
            yield value


def _may_leave(value: str) -> bool:
    return "/" in value or value.startswith((".", "~"))
