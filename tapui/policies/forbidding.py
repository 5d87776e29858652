"""What a rule that denies or asks means: the same effect by other words, and behind other programs.

Such a rule is the only guard where Copilot asks about nothing, so it rather catches too much than
too little. A text is only taken for a command where a program runs it: `echo "rm -rf x"` is none.
"""

import re
import shlex
from collections.abc import Iterator

from tapui.policies.commands import MAX_COMMAND, UNPARSED, naive_words, parsed
from tapui.policies.programs import base_name
from tapui.policies.rules import fits

_SYNONYMS: dict[tuple[str, str], tuple[str, ...]] = {
    ("git", "--force"): ("-f", "--force-with-lease", "--force-if-includes", "+?*"),
    ("git", "-f"): ("--force", "--force-with-lease", "--force-if-includes", "+?*"),
    ("rm", "-r"): ("-R", "--recursive"),
    ("rm", "-R"): ("-r", "--recursive"),
    ("rm", "-f"): ("--force",),
    ("rm", "--recursive"): ("-r", "-R"),
    ("rm", "--force"): ("-f",),
    ("cp", "-r"): ("-R", "-a", "--recursive", "--archive"),
    ("chmod", "-R"): ("--recursive",),
    ("chown", "-R"): ("--recursive",),
    ("docker", "-f"): ("--force",),
    ("docker", "--force"): ("-f",),
    ("npm", "-g"): ("--global", "--location=global"),
    ("npm", "--global"): ("-g", "--location=global"),
}
"""Other words for an option of a program. `?*` stands for what is not empty."""
_VERBS: dict[tuple[str, str], frozenset[str]] = {
    ("npm", "install"): frozenset(
        {"i", "in", "ins", "inst", "insta", "instal", "isnt", "isnta", "isntal", "isntall", "add"}
    ),
    ("npm", "uninstall"): frozenset({"unlink", "remove", "rm", "r", "un"}),
    ("npm", "run"): frozenset({"run-script", "rum", "urn"}),
    ("npm", "test"): frozenset({"tst", "t"}),
    ("npm", "exec"): frozenset({"x"}),
    ("pnpm", "install"): frozenset({"i", "add"}),
    ("pnpm", "remove"): frozenset({"rm", "uninstall", "un"}),
    ("docker", "rm"): frozenset({"remove"}),
    ("kubectl", "delete"): frozenset({"del"}),
}
_ABBREVIATE = frozenset({"npm", "pnpm", "hg", "svn", "ip", "nmcli", "apt", "systemctl"})
"""Programs that take the beginning of a verb for it."""
_WHOLE_OPTIONS = frozenset({"find", "gfind", "go", "java", "gcc", "cc", "terraform", "openssl"})
"""Programs of which `-name` is one option and no bundle of letters."""
_SHELLS = frozenset(
    [
        "sh",
        "bash",
        "dash",
        "zsh",
        "ksh",
        "mksh",
        "ash",
        "fish",
        "csh",
        "tcsh",
        "nu",
        "pwsh",
        "rbash",
    ]
)
_RUNNERS = frozenset(
    """env xargs sudo doas su pkexec runuser command builtin exec eval nohup nice ionice time
    timeout gtimeout watch parallel setsid stdbuf chrt taskset strace ltrace script ssh mosh
    unshare chroot nsenter systemd-run at batch entr busybox toybox coproc flock caffeinate arch
    setarch unbuffer expect rlwrap proxychains proxychains4 torsocks firejail bwrap fakeroot
    dbus-run-session xvfb-run direnv chpst daemonize start-stop-daemon
    screen tmux zellij dtach socat nc ncat trap valgrind perf gdb sg
    setpriv runcon choom prlimit cgexec faketime catchsegv gosu su-exec
    tini dumb-init s6-setuidgid sshpass autossh apptainer singularity nix-shell npx bunx uvx
    then do else""".split()  # noqa: SIM905 - readable
)
"""Programs that run others out of their words, or texts as commands."""
_CONTAINERS = frozenset({"docker", "podman", "nerdctl", "kubectl", "oc", "docker-compose", "lxc"})
_INTO_CONTAINER = frozenset({"exec", "run", "debug", "shell"})
_GIT_RUNS = frozenset({"-x", "--exec", "foreach", "run", "filter-branch", "--tree-filter"})
_LAUNCHING = {
    "npm": {"exec", "x"},
    "pnpm": {"exec", "dlx"},
    "yarn": {"exec", "dlx"},
    "uv": {"run"},
    "poetry": {"run"},
    "pipenv": {"run"},
    "bundle": {"exec"},
    "mise": {"exec", "x"},
    "nix": {"run", "shell", "develop"},
    "conda": {"run"},
}
_FIND_RUNS = re.compile(r"-(?:exec|ok)(?:dir)?|-[xX]|--exec(?:-batch)?")
_ATTACHED = re.compile(r"(?:--?[A-Za-z][\w-]*=|-[A-Za-z]|[A-Za-z_]\w*:?=)(.+)", re.DOTALL)
_READ_SCRIPTS = _SHELLS | frozenset({"at", "batch", "ssh", "parallel", "xargs", "su", "busybox"})
_QUOTED = re.compile(r"'([^']*)'|\"((?:[^\"\\]|\\.)*)\"")
_HERE = re.compile(
    r"<<-?[ \t]*['\"\\]?(\w+)['\"]?[^\n]{0,200}\n(.*?)(?:\n[ \t]*\1[ \t]*(?:\n|$)|$)", re.DOTALL
)
_ASSIGNED = re.compile(r"(?:^|[\s;&|(])([A-Za-z_]\w*)=('[^']*'|\"[^\"$`]*\"|[^\s;&|()'\"$`]+)")
_VARIABLE = re.compile(r"\$(?:\{(\w+)\}|(\w+))")
_BREAKS = re.compile(r"[\s;&|()`{}'\"\\]+")
_BUNDLE = re.compile(r"-[A-Za-z]+")
_MOST_TEXTS = 40
_MOST_COMMANDS = 1_000
_MOST_WORDS = 64
"""Words behind a program that runs others, from each of which a command may begin."""


def means(words: tuple[str, ...], pattern: tuple[str, ...]) -> bool:
    """Return whether words run the pattern's program, by whatever path, with its other words.

    Options may stand in any order, in bundles or apart, abbreviated or in another word for the
    same; the other words in the pattern's order.
    """
    if not words or not words[0]:
        return False
    name = base_name(words[0])
    if not (fits(pattern[0], words[0]) or fits(pattern[0], name)):
        return False
    rest = words[1:]
    others = iter(rest)
    for wanted in pattern[1:]:
        if wanted.startswith("-") and len(wanted) > 1:
            if not _has_option(name, wanted, rest):
                return False
        elif not any(_is_word(name, wanted, word) for word in others):
            return False
    return True


def _is_word(name: str, wanted: str, word: str) -> bool:
    if fits(wanted, word) or word in _VERBS.get((name, wanted), ()):
        return True
    return name in _ABBREVIATE and len(word) >= 3 and wanted.startswith(word)


def _has_option(name: str, wanted: str, words: tuple[str, ...]) -> bool:
    if any(fits(wanted, word) for word in words):
        return True
    is_bundle = _BUNDLE.fullmatch(wanted) is not None and name not in _WHOLE_OPTIONS
    if is_bundle and len(wanted) > 2:
        return all(_has_option(name, f"-{letter}", words) for letter in wanted[1:])
    also = _SYNONYMS.get((name, wanted), ())
    return any(_is_option(name, one, word) for one in (wanted, *also) for word in words)


def _is_option(name: str, wanted: str, word: str) -> bool:
    if wanted == "+?*":
        return word.startswith("+") and len(word) > 1
    if not word.startswith("-"):
        return False
    if wanted.startswith("--"):
        given = word.partition("=")[0]
        return wanted in (word, given) or (len(given) > 2 and wanted.startswith(given))
    is_bundle = len(wanted) == 2 and name not in _WHOLE_OPTIONS
    return word == wanted or (
        is_bundle and _BUNDLE.match(word) is not None and wanted[1] in word[1:]
    )


def every_command(text: str) -> Iterator[tuple[str, ...]]:
    """Yield the words of all commands that a text may run, also behind other programs.

    What goes beyond the bounds of nesting, or cannot be parsed, is cut into words at blanks, quotes
    and signs, and from each of them a command may begin.
    """
    texts, seen_texts = [text], {text}
    seen: set[tuple[str, ...]] = set()
    values = {name: value.strip("'\"") for name, value in _ASSIGNED.findall(text)}
    while texts:
        if len(seen_texts) > _MOST_TEXTS or len(seen) > _MOST_COMMANDS:
            yield from _roughly(texts)
            return
        one = texts.pop()
        if len(one) > MAX_COMMAND:
            continue
        if UNPARSED in parsed(one).doubts:
            yield from _roughly([one])  # a shell may read it otherwise than the grammar does
        waiting = list(_of_text(one, values))
        readers = False
        while waiting:
            words = waiting.pop()
            if not words or words in seen:
                readers = readers or (bool(words) and base_name(words[0]) in _READ_SCRIPTS)
                continue
            seen.add(words)
            yield words
            readers = readers or base_name(words[0]) in _READ_SCRIPTS
            commands, scripts = _inside(words)
            waiting += commands
            texts += [script for script in scripts if script not in seen_texts]
            seen_texts.update(scripts)
        if readers:
            given = [script for script in _given(one) if script not in seen_texts]
            texts += given
            seen_texts.update(given)


def _of_text(text: str, values: dict[str, str]) -> Iterator[tuple[str, ...]]:
    """Yield the commands of a text, with the variables that are set in it."""
    for words in parsed(text).all:
        yield words
        if values and any("$" in word for word in words):
            filled: list[str] = []
            for word in words:
                made = _VARIABLE.sub(lambda v: values.get(v[1] or v[2], v[0]), word)
                filled += made.split() if made != word else [word]
            yield tuple(filled)


def _inside(words: tuple[str, ...]) -> tuple[list[tuple[str, ...]], list[str]]:
    """Return the commands that a program may run out of its words, and the texts that it runs."""
    name = base_name(words[0])
    rest = words[1:]
    begins: list[int] = []
    if name in _RUNNERS:
        begins = list(range(1, min(len(words), _MOST_WORDS)))
    elif name in _CONTAINERS and not _INTO_CONTAINER.isdisjoint(rest):
        at = next(n for n, word in enumerate(words) if n and word in _INTO_CONTAINER)
        begins = list(range(at + 1, min(len(words), at + _MOST_WORDS)))
    elif name in _LAUNCHING and not _LAUNCHING[name].isdisjoint(rest):
        at = next(n for n, word in enumerate(words) if n and word in _LAUNCHING[name])
        begins = list(range(at + 1, min(len(words), at + _MOST_WORDS)))
    elif name in ("find", "gfind", "fd", "fdfind"):
        begins = [n + 1 for n, word in enumerate(words) if _FIND_RUNS.fullmatch(word)]
    elif name == "git":
        begins = [n + 1 for n, word in enumerate(words) if word in _GIT_RUNS]
    commands = [words[at : at + _MOST_WORDS] for at in begins if at < len(words)]
    scripts: list[str] = []
    if name in _SHELLS or name in _RUNNERS:
        scripts += _texts(rest)
        if name in ("eval", "ssh", "watch", "su", "trap"):
            scripts.append(" ".join(rest))
    elif name == "git":
        for word in rest:
            alias = re.match(r"(?:-c)?alias\.[^=]+=(!?)(.*)", word, re.DOTALL)
            if alias:
                scripts.append(alias[2] if alias[1] else f"git {alias[2]} {' '.join(rest)}")
            elif word.startswith("--exec="):
                scripts.append(word.partition("=")[2])
        scripts += [words[at] for at in begins if at < len(words)]
    elif begins:
        scripts += _texts(words[begins[0] :])
    elif name in ("make", "gmake"):
        scripts += _texts(rest)
    return commands, [one for one in scripts if one.strip()]


def _texts(words: tuple[str, ...]) -> Iterator[str]:
    """Yield the words that may be a command as a whole, also behind the option that they are of."""
    for word in words[:_MOST_WORDS]:
        if any(sign.isspace() or sign in ";|&$`(<'\"" for sign in word):
            yield word
        if (attached := _ATTACHED.fullmatch(word)) and any(map(str.isspace, attached[1])):
            yield attached[1]


def _given(text: str) -> Iterator[str]:
    """Yield the texts that a shell in a command may be given as its input."""
    for found in _HERE.finditer(text):
        yield found[2]
    if "|" not in text and "<" not in text:
        return
    for found in _QUOTED.finditer(text):
        yield (found[1] if found[1] is not None else re.sub(r'\\([\\"$`])', r"\1", found[2]))
    try:
        whole = shlex.split(text)
    except ValueError:
        whole = []
    for word in whole:  # texts in quotes of several kinds that stand together
        if any(map(str.isspace, word)):
            yield word.lstrip("<")
    for words in parsed(text).all:
        if base_name(words[0]) in ("echo", "printf", "cat") and len(words) > 1:
            yield " ".join(words[1:])


def _roughly(texts: list[str]) -> Iterator[tuple[str, ...]]:
    for text in texts:
        yield from naive_words(text)
        words = tuple(one for one in _BREAKS.split(text[:MAX_COMMAND]) if one)
        for at in range(min(len(words), _MOST_COMMANDS)):
            yield words[at : at + _MOST_WORDS]
