"""Programs that run others: what a rule must name of them before it may allow anything.

The tables hold what agents and people use; a program that is not in them is taken to do only what
its name says. What a build tool runs of its own accord is not to be seen from here.
"""

import re

from tapui.policies.options import unknown_option

RUNNERS = frozenset(
    """env xargs sudo doas su pkexec runuser run0 command builtin noglob nocorrect exec eval
    source . nohup nice ionice time timeout gtimeout watch parallel setsid stdbuf chrt taskset
    strace ltrace script ssh mosh sshpass autossh unshare chroot nsenter systemd-run
    systemd-inhibit at batch crontab entr watchexec nodemon hyperfine busybox toybox coproc
    flock caffeinate arch setarch linux32 linux64 unbuffer expect tclsh rlwrap proxychains
    proxychains4 torsocks firejail bwrap proot fakeroot faketime dbus-run-session xvfb-run
    direnv chpst daemonize start-stop-daemon screen zellij dtach abduco nc ncat netcat socat gdb
    lldb rr valgrind perf catchsegv sg setpriv runcon choom prlimit numactl schedtool cgexec
    capsh gosu su-exec tini dumb-init s6-setuidgid apptainer singularity flatpak distrobox
    toolbox wine cross-env dotenv dotenvx concurrently foreman honcho""".split()  # noqa: SIM905 - readable
)
"""They run a program or a text among their words."""
CHANGE_THE_SHELL = frozenset(
    [
        "alias",
        "unalias",
        "hash",
        "enable",
        "trap",
        "set",
        "shopt",
        "bind",
        "complete",
        "export",
        "declare",
        "typeset",
        "readonly",
        "local",
        "unset",
        "fc",
        "history",
        "mapfile",
        "readarray",
        "read",
        "getopts",
        "let",
        "printf",
        "ulimit",
        "umask",
        "compgen",
        "compopt",
        "print",
        "zmodload",
        "autoload",
        "emulate",
        "zle",
    ]
)
"""They change what later words mean, or where they are put."""
_TAKE_A_SCRIPT = frozenset(
    [
        "awk",
        "gawk",
        "mawk",
        "nawk",
        "sed",
        "gsed",
        "ed",
        "ex",
        "vi",
        "vim",
        "nvim",
        "view",
        "emacs",
        "nano",
        "pico",
        "less",
        "more",
        "most",
        "man",
        "dc",
        "bc",
        "jq",
        "osascript",
        "gnuplot",
        "sqlite3",
        "psql",
        "mysql",
        "ftp",
        "sftp",
        "lftp",
        "telnet",
    ]
)
"""They run commands out of their words or of what is typed in them."""
_TAKE_A_SCRIPT_SAFELY = frozenset({"jq", "bc", "less", "more"})
SHELLS = frozenset(
    "sh bash rbash dash zsh ksh mksh ash fish csh tcsh nu elvish xonsh pwsh".split()  # noqa: SIM905
)
INTERPRETER = re.compile(
    r"(?:python|pypy|node|nodejs|ruby|perl|php|lua|luajit|deno|bun|tsx|ts-node|Rscript|R|julia|"
    r"ghci|scala|groovy|swift|erl|elixir|iex|clojure|racket|guile|java|jshell|tclsh|wish)"
    r"[0-9.]*(?:w|\.exe)?"
)
LAUNCHERS: tuple[tuple[str, ...], ...] = (
    ("npx",),
    ("bunx",),
    ("uvx",),
    ("npm", "exec"),
    ("npm", "x"),
    ("npm", "init"),
    ("npm", "innit"),
    ("npm", "create"),
    ("npm", "explore"),
    ("pnpm", "create"),
    ("yarn", "create"),
    ("bun", "create"),
    ("pnpm", "exec"),
    ("pnpm", "dlx"),
    ("yarn", "exec"),
    ("yarn", "dlx"),
    ("bun", "x"),
    ("uv", "run"),
    ("uv", "tool", "run"),
    ("pipx", "run"),
    ("poetry", "run"),
    ("pdm", "run"),
    ("hatch", "run"),
    ("rye", "run"),
    ("pixi", "run"),
    ("conda", "run"),
    ("pipenv", "run"),
    ("bundle", "exec"),
    ("mise", "exec"),
    ("mise", "x"),
    ("asdf", "exec"),
    ("nix", "run"),
    ("nix", "shell"),
    ("nix", "develop"),
    ("nix-shell",),
    ("docker", "exec"),
    ("docker", "run"),
    ("podman", "exec"),
    ("podman", "run"),
    ("docker", "compose", "exec"),
    ("docker", "compose", "run"),
    ("docker-compose", "exec"),
    ("docker-compose", "run"),
    ("kubectl", "exec"),
    ("kubectl", "run"),
    ("git", "bisect", "run"),
    ("git", "submodule", "foreach"),
    ("git", "filter-branch"),
    ("git", "for-each-repo"),
    ("git", "difftool"),
    ("git", "mergetool"),
    ("git", "config"),
    ("go", "run"),
    ("go", "generate"),
    ("deno", "run"),
    ("dotnet", "exec"),
    ("cargo", "run"),
    ("swift", "run"),
    ("tmux",),
)
"""Words that begin a command which runs another program, or may."""
CONTAINERS = frozenset({"docker", "podman", "nerdctl", "kubectl", "oc", "docker-compose", "lxc"})
INTO_CONTAINER = frozenset({"exec", "run", "debug", "shell", "create"})
"""Verbs of these behind which a command stands."""
GIT_RUNS = frozenset({"-x", "--exec", "foreach", "run", "filter-branch", "--tree-filter"})
FIND_RUNS = re.compile(r"-(?:exec|ok)(?:dir)?|-[xX]|--exec(?:-batch)?")
LAUNCHER_NAMES = frozenset(one[0] for one in LAUNCHERS if len(one) == 1)
LAUNCHING: dict[str, set[str]] = {"hatch": {"run"}, "vagrant": {"ssh"}, "uv": {"pip"}}
"""Verbs of programs behind which a command stands."""
for _one in LAUNCHERS:
    if len(_one) > 1 and _one[0] != "git" and _one[0] not in CONTAINERS:
        LAUNCHING.setdefault(_one[0], set()).add(_one[-1])
OPERAND_FIRST = frozenset(
    {"timeout", "gtimeout", "ssh", "mosh", "flock", "su", "sg", "chroot", "taskset", "chrt"}
    | {"nsenter", "script", "runuser", "sshpass"}
)
"""Runners of which the first word is no program."""
_NEVER_BY_BEGINNING = frozenset(
    {"git", "docker", "podman", "docker-compose", "kubectl", "tmux", "mise", "nix", "nix-shell"}
)
"""Launchers of these are only allowed word for word: what they run does not stand right behind."""
_OPTIONS_BEHIND = frozenset({("npm", "exec"), ("npm", "x"), ("yarn", "exec")})
"""Launchers that take options of their own also behind the program that they run."""
_READ_COMMANDS = frozenset({"xargs", "parallel", "at", "batch", "source", ".", "crontab"})
_ONLY_TOLD = frozenset({"--version", "-V", "-v", "--help", "-h"})
_INPUTS = frozenset({"-", "-s", "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"})
_DESTROY = frozenset(
    [
        "rm",
        "rmdir",
        "unlink",
        "shred",
        "dd",
        "mkfs",
        "mv",
        "cp",
        "ln",
        "install",
        "chmod",
        "chown",
        "chgrp",
        "truncate",
        "kill",
        "pkill",
        "killall",
        "tee",
        "touch",
        "mkdir",
        "reboot",
        "shutdown",
        "halt",
    ]
)
"""What they do is in their words; a rule that is proposed for one names all of them."""
_MOST_WORDS = 64
"""How many words behind a program that runs others are looked at."""


def base_name(word: str) -> str:
    return word.rpartition("/")[2]


def runs_scripts(name: str) -> bool:
    """Return whether a program is a shell or an interpreter: its first word is what it runs."""
    return name in SHELLS or INTERPRETER.fullmatch(name) is not None


def is_destructive(word: str) -> bool:
    """Return whether a rule for a program had better name all of its words."""
    return base_name(word) in _DESTROY


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
        if name in RUNNERS:
            return f"{name} runs what follows it"
        if name in CHANGE_THE_SHELL:
            return f"{name} changes what later commands do"
        if name in _TAKE_A_SCRIPT and name not in _TAKE_A_SCRIPT_SAFELY:
            return f"{name} runs commands out of its words"
    elif not starred:
        return ""
    for launcher in LAUNCHERS:
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
    if name not in _READ_COMMANDS and not runs_scripts(name):
        return False
    others = words[1:]
    if others and set(others) <= _ONLY_TOLD:
        return False
    inputs = _INPUTS if name in SHELLS else _INPUTS - {"-s"}
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
    if launcher[0] in _NEVER_BY_BEGINNING:
        return f"{title} runs another program"
    if covered <= size or words[size].startswith("-"):
        return f"{title} runs a program that the rule does not name"
    own = words[covered : words.index("--") if "--" in words else len(words)]
    if launcher in _OPTIONS_BEHIND and any(word.startswith("-") for word in own):
        return f"{title} takes options of its own behind the program"
    return escape(words[size:], covered - size, _behind(expanding, size), _behind(starred, size))


def _script(words: tuple[str, ...], covered: int) -> str:
    if covered < 2:
        return "runs a script that the rule does not name"
    if words[1] == "-m":
        return "" if covered > 2 else "runs a module that the rule does not name"
    return "runs code out of its words" if words[1].startswith("-") else ""


def scripts_within(words: tuple[str, ...]) -> list[str]:
    """Return the words that a shell, or a program that runs others, may run as a text."""
    names = {base_name(word) for word in words[:_MOST_WORDS]}
    if names.isdisjoint(SHELLS) and base_name(words[0]) not in RUNNERS:
        return []
    return [word for word in words[1:_MOST_WORDS] if any(map(str.isspace, word))]
