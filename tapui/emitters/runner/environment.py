"""The environment of emitters' commands."""

import re
from collections.abc import Iterable, Iterator, Mapping

from tapui.text import safe_text

_OWN = ("TAP_", "TAPUI_")
"""tapui's own variables, its providers' tokens first of all."""
_LOADER = ("LD_", "DYLD_", "BASH_FUNC_")
_LOADED = frozenset(
    {
        "BASHOPTS",
        "BASH_ENV",
        "ENV",
        "GCONV_PATH",
        "JAVA_TOOL_OPTIONS",
        "JDK_JAVA_OPTIONS",
        "NODE_OPTIONS",
        "PERL5DB",
        "PERL5OPT",
        "PROMPT_COMMAND",
        "PS4",
        "PYTHONHOME",
        "PYTHONINSPECT",
        "PYTHONSTARTUP",
        "RUBYOPT",
        "SHELLOPTS",
        "_JAVA_OPTIONS",
    }
)
"""Variables that have a program load, run or trace what its command does not name.

Search paths (`PYTHONPATH`, `NODE_PATH`, `CLASSPATH` …) are not among them: programs find with
these what they find in the person's own shell.
"""


_DECIDING = re.compile(
    r"""
    # What a program finds, and the files that it reads its settings from.
      .*(PATH|LIB) | .*_HOME | HOME | XDG_.* | ZDOTDIR | VIRTUAL_ENV | .*_CONFIG(_FILE|_DIR)?
    # What interpreters, loaders and shells run besides.
    | (LD|DYLD|BASH_FUNC|GLIBC|MALLOC|NODE|PYTHON|PERL|RUBY|DENO|JAVA|JDK|_JAVA|JULIA|LUA|PHP) .*
    | ENV | BASH_ENV | BASHOPTS | SHELLOPTS | SHELL | PS4 | PROMPT_COMMAND | IFS
    | OPENSSL_(CONF|MODULES|ENGINES) | CLASSPATH | (MAVEN|GRADLE|SBT)_.* | .*_OPTS | .*_OPTIONS
    # What git, make, compilers and pagers run.
    | GIT_.* | (GNU)?MAKE(FLAGS|FILES) | CC | CXX | RUSTC.* | (VISUAL|.*EDITOR|.*PAGER|BROWSER)
    | LESSOPEN | LESSCLOSE | .*_ASKPASS | SSH_AUTH_SOCK
    # Where packages and images are fetched from, and whom a connection trusts.
    | (NPM|PNPM|YARN|BUN|COREPACK|PIP|PIPX|UV|POETRY|CONDA|CARGO|RUSTUP|GEM|BUNDLE|HOMEBREW)_.*
    | GO(PROXY|FLAGS|PRIVATE|ROOT|ENV|BIN|TOOLCHAIN|(NO|IN)?(SUMDB|SECURE|NOPROXY).*)
    | (DOCKER|CONTAINER|BUILDKIT)_.* | .*_PROXY | .*_REGISTRY | .*_INDEX(_URL)? | .*_MIRROR
    | SSL_CERT_(FILE|DIR) | .*CA_(BUNDLE|CERTS?) | SSLKEYLOGFILE
    """,
    re.VERBOSE | re.IGNORECASE | re.DOTALL,
)
"""Names are compared without case: npm and curl read some of theirs in both, and Windows all."""


def decides_what_runs(name: str) -> bool:
    """Return whether a variable decides what programs find, load or run, or where it comes from,
    which no command names."""
    return name in _LOADED or _DECIDING.fullmatch(name) is not None


def deciding(names: Iterable[str]) -> Iterator[str]:
    """Yield a sentence for each variable that decides what runs, for the sheet of a request."""
    for name in names:
        if decides_what_runs(name):
            yield f"its variable {safe_text(name)} decides what runs, or where it comes from"


def command_environment(
    environ: Mapping[str, str], given: Mapping[str, str]
) -> tuple[dict[str, str], list[str]]:
    """Return a command's whole environment, and the names in `given` that were refused.

    It is `environ`, the gateway's, without tapui's own variables and without those that have
    programs load something, and what the emitter itself names. An emitter may name the latter kind,
    for the person has seen and allowed them; tapui's own it may not, nor what is no variable.
    """
    passed = {
        name: value
        for name, value in environ.items()
        if not name.startswith((*_OWN, *_LOADER)) and name not in _LOADED and _is_text(value)
    }
    refused = [
        name
        for name, value in given.items()
        if name.startswith(_OWN)
        or not name
        or "=" in name
        or "\0" in name + value
        or not _is_text(name + value)
    ]
    return passed | {name: given[name] for name in given if name not in refused}, sorted(refused)


def _is_text(value: str) -> bool:
    """Return whether this is UTF-8: other bytes in a variable cannot be handed on."""
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True
