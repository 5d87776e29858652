"""Other words for the same: what a rule that denies or asks means beside its own words."""

import re
from fnmatch import fnmatchcase

from tapui.policies.rules import fits
from tapui.policies.shell_words import HOLE, QUOTED

SYNONYMS: dict[tuple[str, str], tuple[str, ...]] = {
    ("git", "--force"): ("-f", "--force-with-lease", "--force-if-includes", "+?*"),
    ("git", "-f"): ("--force", "--force-with-lease", "--force-if-includes", "+?*"),
    ("git", "-D"): ("--delete", "-d"),
    ("git", "-d"): ("--delete",),
    ("git", "--delete"): ("-d", "-D"),
    ("git", "-A"): ("--all",),
    ("git", "--all"): ("-A", "-a"),
    ("git", "-a"): ("--all",),
    ("git", "-x"): ("--exec",),
    ("git", "-i"): ("--interactive",),
    ("git", "--interactive"): ("-i",),
    ("git", "--mirror"): (),
    ("git commit", "--no-verify"): ("-n", "core.hooksPath=*", "-ccore.hooksPath=*"),
    ("rm", "-r"): ("-R", "--recursive"),
    ("rm", "-R"): ("-r", "--recursive"),
    ("rm", "-f"): ("--force",),
    ("rm", "--recursive"): ("-r", "-R"),
    ("rm", "--force"): ("-f",),
    ("cp", "-r"): ("-R", "-a", "--recursive", "--archive"),
    ("cp", "-f"): ("--force",),
    ("mv", "-f"): ("--force",),
    ("ln", "-f"): ("--force",),
    ("chmod", "-R"): ("--recursive",),
    ("chown", "-R"): ("--recursive",),
    ("chgrp", "-R"): ("--recursive",),
    ("docker", "-f"): ("--force",),
    ("docker", "--force"): ("-f",),
    ("docker", "-a"): ("--all",),
    ("docker", "--all"): ("-a",),
    ("docker", "-v"): ("--volumes", "--volume"),
    ("docker", "--volumes"): ("-v",),
    ("npm", "-g"): ("--global", "--location=global"),
    ("npm", "--global"): ("-g", "--location=global"),
    ("npm", "-f"): ("--force",),
    ("npm", "--force"): ("-f",),
    ("pip", "-U"): ("--upgrade",),
    ("pip", "--upgrade"): ("-U",),
    ("kubectl", "--all"): ("-A",),
    ("kill", "-9"): ("-KILL", "-SIGKILL", "KILL", "SIGKILL", "--signal=KILL", "--signal=9"),
    ("pkill", "-9"): ("-KILL", "-SIGKILL", "--signal=KILL", "--signal=9", "KILL", "SIGKILL"),
    ("killall", "-9"): ("-KILL", "-SIGKILL", "--signal=KILL", "--signal=9", "KILL", "SIGKILL"),
    ("terraform", "-auto-approve"): ("--auto-approve", "-auto-approve=true"),
    ("sed", "-i"): ("--in-place",),
    ("curl", "-k"): ("--insecure",),
    ("curl", "--insecure"): ("-k",),
}
"""Other words for an option of a program, or of its verb. `?*` stands for what is not empty."""
VERBS: dict[tuple[str, str], frozenset[str]] = {
    ("npm", "install"): frozenset(
        {"i", "in", "ins", "inst", "insta", "instal", "isnt", "isnta", "isntal", "isntall", "add"}
    ),
    ("npm", "uninstall"): frozenset({"unlink", "remove", "rm", "r", "un"}),
    ("npm", "run"): frozenset({"run-script", "rum", "urn"}),
    ("npm", "test"): frozenset({"tst", "t"}),
    ("npm", "exec"): frozenset({"x"}),
    ("npm", "update"): frozenset({"up", "upgrade", "udpate"}),
    ("npm", "ci"): frozenset({"clean-install", "ic", "install-clean", "isntall-clean"}),
    ("npm", "link"): frozenset({"ln"}),
    ("npm", "unpublish"): frozenset(),
    ("pnpm", "install"): frozenset({"i", "add"}),
    ("pnpm", "remove"): frozenset({"rm", "uninstall", "un"}),
    ("docker", "rm"): frozenset({"remove"}),
    ("kubectl", "delete"): frozenset({"del"}),
    ("cargo", "build"): frozenset({"b"}),
    ("cargo", "run"): frozenset({"r"}),
    ("cargo", "test"): frozenset({"t"}),
    ("cargo", "check"): frozenset({"c"}),
    ("brew", "uninstall"): frozenset({"remove", "rm"}),
    ("apt", "remove"): frozenset({"purge", "autoremove"}),
    ("chmod", "777"): frozenset({"0777", "00777", "a+rwx", "a=rwx", "ugo+rwx", "ugo=rwx", "+rwx"}),
    ("git", "push"): frozenset({"send-pack"}),
    ("hg", "update"): frozenset({"up", "checkout", "co"}),
    ("svn", "commit"): frozenset({"ci"}),
    ("svn", "delete"): frozenset({"del", "remove", "rm"}),
}
ABBREVIATE = frozenset({"npm", "pnpm", "hg", "svn", "ip", "nmcli", "apt", "systemctl", "nft"})
"""Programs that take the beginning of a verb for it."""
_WHOLE_OPTIONS = frozenset({"find", "gfind", "go", "java", "gcc", "cc", "terraform", "openssl"})
"""Programs of which `-name` is one option and no bundle of letters."""
_NEED_OPERANDS = frozenset({"rm", "chmod", "chown", "cp", "mv", "kill", "ln"})
"""Programs that do nothing with options alone."""
_GROUPS = (
    ("pip", "pip3"),
    ("python", "python3"),
    ("node", "nodejs"),
    ("apt", "apt-get", "aptitude"),
    ("docker-compose", "docker-compose-v1"),
    ("terraform", "tofu"),
    ("npm", "npm-cli.js"),
    ("yarn", "yarnpkg"),
    ("rm", "grm"),
    ("find", "gfind"),
    ("make", "gmake"),
    ("git", "hub"),
)
_GROUP_OF: dict[str, tuple[str, ...]] = {name: group for group in _GROUPS for name in group}
SAME: dict[str, list[tuple[tuple[str, ...], tuple[str, ...]]]] = {
    "find": [(("-delete",), ("rm", "-r", "-f"))],
    "gfind": [(("-delete",), ("rm", "-r", "-f"))],
    "unlink": [((), ("rm",))],
    "shred": [((), ("rm", "-f"))],
    "srm": [((), ("rm", "-f"))],
    "rimraf": [((), ("rm", "-r", "-f"))],
    "del-cli": [((), ("rm", "-r", "-f"))],
    "docker-compose": [((), ("docker", "compose"))],
    "pnpm": [(("publish",), ("npm", "publish"))],
    "yarn": [(("publish",), ("npm", "publish")), (("npm", "publish"), ("npm", "publish"))],
    "bun": [(("publish",), ("npm", "publish"))],
    "lerna": [(("publish",), ("npm", "publish"))],
    "np": [((), ("npm", "publish"))],
    "git": [
        (("update-ref", "-d"), ("git", "branch", "-D")),
        (("remote-https",), ("git", "push")),
        (("http-push",), ("git", "push")),
        (("stage",), ("git", "add")),
    ],
    "terraform": [(("apply", "-destroy"), ("terraform", "destroy"))],
    "tofu": [(("apply", "-destroy"), ("terraform", "destroy"))],
    "poweroff": [((), ("shutdown",))],
    "halt": [((), ("shutdown",))],
    "reboot": [((), ("shutdown", "-r"))],
    "init": [
        (("0",), ("shutdown", "-h")),
        (("6",), ("shutdown", "-r")),
        (("0",), ("poweroff",)),
        (("6",), ("reboot",)),
    ],
    "telinit": [(("0",), ("shutdown", "-h")), (("6",), ("shutdown", "-r")), (("6",), ("reboot",))],
    "systemctl": [
        (("poweroff",), ("shutdown",)),
        (("poweroff",), ("poweroff",)),
        (("halt",), ("shutdown",)),
        (("reboot",), ("shutdown", "-r")),
        (("reboot",), ("reboot",)),
        (("kexec",), ("reboot",)),
    ],
    "shutdown": [(("-r",), ("reboot",)), (("-h",), ("poweroff",)), (("-P",), ("poweroff",))],
    "doas": [((), ("sudo",))],
    "pkexec": [((), ("sudo",))],
    "run0": [((), ("sudo",))],
    "su": [((), ("sudo",))],
    "docker": [(("rmi",), ("docker", "image", "rm")), (("image", "rm"), ("docker", "rmi"))],
    "mke2fs": [((), ("mkfs",))],
}
"""What programs do with certain words, as the words of another."""
LIKE: dict[str, list[tuple[tuple[str, ...], tuple[str, ...]]]] = {
    "git": [
        (("clean", "-f"), ("rm", "-r", "-f")),
        (("rm", "-r"), ("rm", "-r", "-f")),
        (("push", "--mirror"), ("git", "push", "--force")),
    ],
    "rsync": [(("--delete",), ("rm", "-r", "-f"))],
    "rclone": [(("purge",), ("rm", "-r", "-f")), (("delete",), ("rm", "-r", "-f"))],
    "podman": [((), ("docker",))],
    "nerdctl": [((), ("docker",))],
}
"""The same, where it is rather for the person to say."""
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

    __slots__ = ("_is_read", "_letters", "_options", "_set", "holes", "name", "plain", "words")

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
        for wanted in pattern[1:]:
            if _is_option(wanted):
                if not self._has_option(name, verb, wanted):
                    return False
            else:
                found = self._place(name, wanted, at)
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
            if not fitting or (not wild and name in _NEED_OPERANDS and self._operands() < 2):
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

    def _place(self, name: str, wanted: str, at: int) -> int:
        if "*" not in wanted and name not in ABBREVIATE and wanted[:1] not in "/~.":
            same = {wanted, *VERBS.get((name, wanted), ())} & self._set
            if not same:
                return -1
        for place in range(at, len(self.plain)):
            if _is_word(name, wanted, self.plain[place]):
                return place
        return -1

    def _has_option(self, name: str, verb: str, wanted: str) -> bool:
        if wanted in self._set:
            return True
        if "*" in wanted:
            return any(fits(wanted, one) for one in self._options)
        is_bundle = _BUNDLE.fullmatch(wanted) is not None and name not in _WHOLE_OPTIONS
        if is_bundle and len(wanted) > 2:
            return all(self._has_option(name, verb, f"-{letter}") for letter in wanted[1:])
        also = (*SYNONYMS.get((name, wanted), ()), *SYNONYMS.get((f"{name} {verb}", wanted), ()))
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
        is_bundle = len(wanted) == 2 and name not in _WHOLE_OPTIONS and wanted[1].isalpha()
        if not is_bundle:
            return any(one.partition("=")[0].removeprefix("-") == wanted for one in self._options)
        return wanted[1] in self._letters and any(
            _BUNDLE.match(one) is not None and wanted[1] in one[1:] for one in self._options
        )


_HOLES = re.compile(f"[{HOLE}{QUOTED}]")


def _named(pattern: tuple[str, ...]) -> str:
    name = pattern[0].rpartition("/")[2].lower()
    group = _GROUP_OF.get(name)
    return name if group is None else group[0]


def _is_option(wanted: str) -> bool:
    return wanted.startswith("-") and len(wanted) > 1


def _is_word(name: str, wanted: str, word: str) -> bool:
    if fits(wanted, word) or word in VERBS.get((name, wanted), ()):
        return True
    is_path = wanted[:1] in ("/", "~", ".") and len(word) <= _MOST_NAME
    if is_path and re.sub(r"(?<=/)(?:\./|/)*\.?\*?$|/+$", "", word) in (
        wanted,
        wanted.rstrip("/"),
    ):
        return bool(word)
    return name in ABBREVIATE and len(word) >= 2 and wanted.startswith(word)


def may_be_program(pattern: str, word: str) -> bool:
    """Return whether a word with holes, or with signs of a shell's pattern, may be a program."""
    base = word.rpartition("/")[2].lower()
    if not base or "*" in pattern or len(base) > _MOST_NAME:
        return True
    shape = _HOLES.sub("*", base)
    wanted = pattern.rpartition("/")[2].lower()
    return fnmatchcase(wanted, shape) or (_HOLES.search(base) is not None and shape[:1] == "*")
