"""What a shell knows between two statements: its folder, its variables, its flags.

What the text changes in a way that is not followed is a doubt about all that comes later. What a
variable is to a check is read by its name and value: nothing, a part of what is run, or a doubt.
"""

import posixpath
import re
from collections.abc import Iterable
from typing import NamedTuple

from tapui.core.proof.statements import UNKNOWN
from tapui.policies.programs import KINDS

_QUIET = frozenset({"umask", "ulimit", "wait", "jobs", "history", "shift", "disown"})
"""Commands of the shell that change nothing for what follows."""
OWN = KINDS.change_the_shell - _QUIET - {"printf", "print"} | {
    *("cd", "pushd", "popd", "eval", "source", ".", "exec", "builtin", "exit", "return", "logout"),
    *("coproc", "suspend", "dirs"),
}
"""Commands of the shell that change what later words mean, or whether they run."""
_SET_FLAGS = {"e": "errexit", "u": "nounset", "x": "xtrace", "v": "verbose", "E": "errtrace"}
FOLDER_OF_PROGRAMS = (
    r"/usr(?:/local)?(?:/s?bin|/go/bin|/lib/[\w.-]+/bin)|/s?bin|/snap/bin|/opt/homebrew/bin"
    r"|/home/linuxbrew/\.linuxbrew/bin"
    r"|(?:~|/root|/home/[\w.-]+|/Users/[\w.-]+)/(?:\.local/bin|\.cargo/bin|go/bin|\.pyenv/shims"
    r"|\.pyenv/versions/[\w.-]+/bin|\.asdf/shims|\.bun/bin|\.deno/bin|\.rbenv/shims|\.dotnet"
    r"|\.nvm/versions/node/[\w.-]+/bin|\.local/share/(?:mise/shims|pnpm)|\.volta/bin)"
)
"""Folders of the system's programs, and of the person's tools."""
_HARMLESS = re.compile(
    r"CI|TERM|COLUMNS|LINES|LANG|LANGUAGE|LC_\w+|NO_COLOR|FORCE_COLOR|CLICOLOR(?:_FORCE)?|COLORTERM"
    r"|PY_COLORS|PYTHONUNBUFFERED|PYTHONDONTWRITEBYTECODE|PYTHONIOENCODING|PYTHONUTF8"
    r"|PYTHONFAULTHANDLER|NODE_NO_WARNINGS|NODE_DISABLE_COLORS|RUST_BACKTRACE|RUST_LOG"
    r"|CARGO_TERM_COLOR|CARGO_TERM_QUIET|CARGO_TERM_VERBOSE|CARGO_INCREMENTAL|DEBUG|VERBOSE"
    r"|LOG_LEVEL|LOGLEVEL|NEXT_TELEMETRY_DISABLED|TURBO_TELEMETRY_DISABLED|DO_NOT_TRACK|HUSKY"
    r"|ASTRO_TELEMETRY_DISABLED|DOTNET_NOLOGO|DOTNET_CLI_TELEMETRY_OPTOUT|PAGER|GIT_PAGER"
    r"|NG_CLI_ANALYTICS|NX_DAEMON|NPM_CONFIG_LOGLEVEL|NPM_CONFIG_COLOR|npm_config_loglevel"
    r"|UV_NO_PROGRESS|PIP_DISABLE_PIP_VERSION_CHECK|PYTHONHASHSEED|DEBIAN_FRONTEND",
    re.ASCII,
)
"""Variables that change what is printed, or how it is sent, and not what is run."""
_DOUBTED = re.compile(
    r"(?:PATH|CDPATH|IFS|ENV|HOME|PWD|OLDPWD|E?UID|PPID|SHELL|SHELLOPTS|BASHOPTS|GLOBIGNORE|EXECIGNORE|PS4|POSIXLY_CORRECT"
    r"|PATHEXT|COMSPEC|PYTHON\w*|PYTEST\w*|PY_IGNORE\w*|VIRTUAL_ENV|COVERAGE_\w+|TOX_?\w*|NOX\w*"
    r"|UNITTEST\w*|MYPY\w*|RUFF_\w+|PYLINT\w*|FLAKE8\w*|UV_\w+|POETRY_\w+|PIPENV_\w+|PDM_\w+"
    r"|HATCH_\w+|NODE_(?:OPTIONS|PATH|EXTRA\w*|V8\w*|TEST\w*)|npm_\w+|NPM_\w+|YARN_\w+|PNPM_\w+"
    r"|BUN_\w+|COREPACK_\w+|JEST_\w+|VITEST\w*|MOCHA\w*|ESLINT_\w+|TS_NODE_\w+|TSC_\w+|NX_\w+"
    r"|TURBO_\w+|LD_\w+|DYLD_\w+|BASH_\w*|MAKE\w*|MFLAGS|GNUMAKE\w*|GTEST_\w+|CTEST_\w+|CMAKE_\w+"
    r"|CARGO\w*|RUST\w*|GO[A-Z0-9_]+|JAVA\w*|_JAVA\w*|JDK_\w+|MAVEN_\w+|MVN\w*|GRADLE_\w+|SBT_\w+"
    r"|RUBY\w*|BUNDLE\w*|GEM_\w+|RAKE\w*|SPEC_OPTS|TESTOPTS?|PERL5?\w*|PROVE\w*|HARNESS_\w+|PHP\w*"
    r"|PHPUNIT\w*|COMPOSER_\w+|DOTNET_\w+|MSBUILD\w*|VSTEST\w*|DENO_\w+|GIT_\w+|XDG_\w+|NVM_DIR)\Z",
    re.ASCII,
)
"""Variables with which a program finds its parts, its options, or other programs."""
_CHOOSES = re.compile(
    r"(?:\w*_)?(?:SKIP|ONLY|FILTER|SHARD|EXCLUDE|INCLUDE|FOCUS|GREP|PATTERN|TAGS?|NODE_INDEX"
    r"|NODE_TOTAL|DRY_?RUN|FAST|QUICK|SUBSET|SPECS?|OPTS|OPTIONS|FLAGS|ARGS|SHELL|SUITES?)(?:_\w*)?"
    r"|(?:\w*_)?TESTS?_(?:PATHS?|LEVEL|MATCH|FILES?|DIRS?|NAMES?|TARGETS?|CASES?|GROUPS?|TYPES?|KIND"
    r"|MODULES?|SCOPE|SELECT\w*|LIST|DISABLED?|OFF)|(?:NO|WITHOUT|DISABLE|IGNORE)_(?:\w+_)?TESTS?"
    r"|TESTS?|PKGS?|PACKAGES?|MODULES?|FILES?|TARGETS?|SCOPE|COMPONENT|SERVICE|LEFTHOOK"
    r"|TEST(?:FLAGS|ARGS|OPTS)|(?:PRE_COMMIT|JUST|ROBOT|BATS|BEHAVE|KARMA|ORG_GRADLE_PROJECT)_\w+",
    re.ASCII,
)
"""Names of variables that say which of the checks are run, or how they are run."""
_FETCHES = re.compile(r"DOWNLOAD|BINARY|INSTALL|FIRST_TIME|ENV_VALIDATION|PREFLIGHT|COREPACK")
"""What is skipped then is no check."""
_RUNS = re.compile(r"(?:RUN|ENABLE|WITH|DO)_", re.ASCII)
_NO = re.compile(r"0|no|off|false|", re.IGNORECASE)
_PATH = r"(?!-)[\w./~@+-]+"
_OPTION_OF_NODE = (
    r"--(?:experimental-vm-modules|max[-_]old[-_]space[-_]size=\d+|no-warnings|no-deprecation|trace-\w+"
    r"|unhandled-rejections=strict|openssl-legacy-provider|enable-source-maps|stack-trace-limit=\d+"
    r"|experimental-strip-types|experimental-transform-types|dns-result-order=\w+)"
)
_FINE_VALUES = tuple(
    (re.compile(names, re.ASCII), re.compile(values, re.ASCII))
    for names, values in {
        # The one value that can only make the compiler stricter.
        "RUSTFLAGS": r"\s*-D\s*warnings\s*",
        "NODE_OPTIONS": rf"{_OPTION_OF_NODE}(?:\s+{_OPTION_OF_NODE})*",
        "PYTHONWARNINGS": r"error|default|always|once",
        "PYTHON(?:DEVMODE|NOUSERSITE|ASYNCIODEBUG|TRACEMALLOC|SAFEPATH|UNBUFFERED)": r"\d*",
        "PYTHONPYCACHEPREFIX|COVERAGE_FILE|(?:MYPY|RUFF|UV|PIP|YARN)_CACHE_(?:DIR|FOLDER)": _PATH,
        "npm_config_cache|NPM_CONFIG_CACHE|XDG_CACHE_HOME|GO(?:CACHE|TMPDIR)": _PATH,
        "CARGO_TARGET_DIR|DOTNET_CLI_HOME": _PATH,
        "UV_(?:LINK_MODE|OFFLINE|FROZEN|NO_SYNC|LOCKED|PYTHON)": r"[\w.]+",
        "CARGO_(?:NET_OFFLINE|BUILD_JOBS)|RUST_(?:TEST_THREADS|MIN_STACK)|GOMAXPROCS": r"\w+",
        "RUSTUP_TOOLCHAIN|GOTOOLCHAIN|GO111MODULE|GOPROXY|GOSUMDB|GOPRIVATE": r"[\w.:/,|-]+",
        "GOFLAGS": r"(?:\s*-(?:mod=(?:mod|vendor|readonly)|count=1|buildvcs=false|race|v))+",
        "JAVA_HOME|GRAALVM_HOME": (
            r"(?!.*\.\.)(?:/usr/|/opt/|/Library/|~/\.(?:sdkman|jdks)/)[\w./+-]*"
        ),
        "MAVEN_OPTS|GRADLE_OPTS": r"(?:\s*-(?:X[ms][sx]\w+|Dorg\.gradle\.\w+=\w+|XX:\w*=\w+))+",
        "RUBYOPT": r"-W(?::no-\w+|0|1)",
        r"COMPOSER_ALLOW_SUPERUSER|DOTNET_SKIP_\w+|YARN_ENABLE_IMMUTABLE_INSTALLS|NX_TUI": r"\w+",
        "NX_SKIP_NX_CACHE|TURBO_FORCE|PYTEST_XDIST_AUTO_NUM_WORKERS": r"\w+",
        "GIT_(?:TERMINAL_PROMPT|CONFIG_GLOBAL|CONFIG_SYSTEM)": r"0|/dev/null",
        "NVM_DIR": r"(?:~|/root|/home/[\w.-]+|/Users/[\w.-]+)/\.nvm|/usr/local/nvm",
    }.items()
)
"""Values of variables that are known otherwise, with which a check stays what it is."""
_IN_PATH = re.compile(
    rf"{FOLDER_OF_PROGRAMS}|(?:\./)?(?:[\w.-]+/)*(?:node_modules/\.bin|\.?v?env/bin|vendor/bin)",
    re.ASCII,
)
_MODULES_IN = re.compile(
    r"\.|(?:\./)?(?:[\w.-]+/)*(?:src|libs?|tests?|py|python|apps?|backend|server|api|core|common"
    r"|packages|services|scripts|tools)/?",
    re.ASCII,
)
"""Folders of a repository that have its own modules."""


class ShellState(NamedTuple):
    """What the shell knows when a statement begins."""

    folder: str | None = ""
    sets: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    doubt: str = ""
    pipefail: bool | None = False
    errexit: bool | None = False


def joined(one: ShellState | None, other: ShellState | None) -> ShellState | None:
    """Return what holds in both states."""
    if one is None or other is None or one == other:
        return other if one is None else one
    doubt = one.doubt or other.doubt
    if one.sets != other.sets:
        doubt = doubt or "it may set a variable or not"
    return ShellState(
        one.folder if one.folder == other.folder else None,
        one.sets,
        tuple(dict.fromkeys([*one.files, *other.files])),
        doubt,
        one.pipefail if one.pipefail == other.pipefail else None,
        one.errexit if one.errexit == other.errexit else None,
    )


def moved(folder: str | None, step: str, *, is_physical: bool = False) -> str | None:
    """Return the folder to which a step leads; None where it is not known."""
    if folder is None or UNKNOWN in step or re.match(r"~[^/]", step):
        return None
    if is_physical and re.search(r"[^./][^/]*/+\.\.(?:/|$)", step):
        return None  # through a link, that may be elsewhere
    if step.startswith(("/", "~")):
        return posixpath.normpath(step)
    if is_physical and step.startswith("..") and folder:
        return None
    made = posixpath.normpath(posixpath.join(folder, step))
    return "" if made == "." else made


def with_settings(flow: ShellState, given: tuple[tuple[str, str], ...]) -> ShellState:
    # A variable of small letters that is only set is one of the script's own.
    own = [one for one in given if not re.fullmatch(r"[a-z][a-z0-9_]*", one[0])]
    doubts = [setting(one[0], "")[1] for one in given if one not in own]
    sets, doubt = settings(own)
    doubt = next(filter(None, doubts), doubt)
    return flow._replace(
        sets=tuple(dict.fromkeys([*flow.sets, *sets])),
        files=(*flow.files, *modules_before(given)),
        doubt=flow.doubt or doubt,
    )


def with_flags(flow: ShellState, words: list[str]) -> ShellState:
    """Return the state behind `set`, of which only few flags leave in doubt nothing."""
    given = iter(words)
    for word in given:
        if word == "--":
            break
        is_on = word[:1] == "-"
        if word[:1] not in ("-", "+") or len(word) < 2:
            return flow._replace(doubt=flow.doubt or "set changes what the shell does")
        for letter in word[1:]:
            name = next(given, "") if letter == "o" else _SET_FLAGS.get(letter, "")
            if name == "pipefail":
                flow = flow._replace(pipefail=is_on)
            elif name == "errexit":
                flow = flow._replace(errexit=is_on)
            elif name not in _SET_FLAGS.values():
                return flow._replace(doubt=flow.doubt or "set changes what the shell does")
    return flow


# Variables


def setting(name: str, value: str) -> tuple[str, str]:
    """Return what a variable adds to the command, "" where it is harmless, and the doubt."""
    if _HARMLESS.fullmatch(name):
        return "", ""
    if any(names.fullmatch(name) and values.fullmatch(value) for names, values in _FINE_VALUES):
        return "", ""
    if name == "PATH" and _is_known_path(value):
        return "", ""
    if name == "PYTHONPATH" and _folders_of_modules(value):
        return "", ""  # with the files of `modules_before`
    is_known = _DOUBTED.match(name) or (_CHOOSES.fullmatch(name) and not _FETCHES.search(name))
    if is_known or not name.isidentifier() or (_RUNS.match(name) and _NO.fullmatch(value)):
        return "", f"it sets {name.partition('[')[0]}"
    if UNKNOWN in value:
        return "", f"it sets {name} to what is not known"
    return f"{name}={value}", ""


def settings(given: Iterable[tuple[str, str]]) -> tuple[tuple[str, ...], str]:
    """Return what variables add to a command, and the first doubt."""
    kept, doubts = zip(*(setting(*one) for one in given), strict=True) if given else ((), ())
    return tuple(filter(None, kept)), next(filter(None, doubts), "")


def _entries(value: str, name: str) -> list[str] | None:
    """Return the folders of a list beside what the variable was before; None where there is more
    that is not known."""
    text = value.removeprefix(UNKNOWN).replace('"', "")
    text = re.sub(r"\$(?:HOME|\{HOME\})(?=/)", "~", text)
    text = re.sub(r"\$(?:PWD|\{PWD\}|\(pwd\))(?=[/:]|\Z)", ".", text)
    entries = re.sub(rf"\$(?:{name}\b|\{{{name}(?::[-+][^}}]*)?\}})", "", text).split(":")
    return None if any(sign in one for one in entries for sign in "$`(") else entries


def _is_known_path(value: str) -> bool:
    """Return whether `PATH` only gets folders of programs that are installed."""
    entries = _entries(value, "PATH")
    if entries is None or not re.search(r"\$\{?PATH\b", value):
        return False
    return all(not one or _IN_PATH.fullmatch(one) for one in entries)


def _folders_of_modules(value: str) -> list[str]:
    """Return the folders below that `PYTHONPATH` names; none where it names others, too."""
    entries = _entries(value, "PYTHONPATH") or []
    if any(one and (not _MODULES_IN.fullmatch(one) or ".." in one) for one in entries):
        return []
    return [one.removeprefix("./").rstrip("/") or "." for one in entries if one]


def modules_before(given: Iterable[tuple[str, str]]) -> tuple[str, ...]:
    """Return the files that Python, pytest or its parts would be in the folders of `PYTHONPATH`."""
    folders = (
        one for name, value in given if name == "PYTHONPATH" for one in _folders_of_modules(value)
    )
    return tuple(
        f"{folder}/{module}{end}"
        for folder in folders
        for module in ("sitecustomize", "usercustomize", "pytest", "_pytest", "pluggy")
        for end in (".py", "/__init__.py")
    )
