"""The environment of emitters' commands."""

from collections.abc import Mapping

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


_FOUND = frozenset({"HOME", "PATH", "XDG_CONFIG_HOME", "ZDOTDIR"})


def decides_what_runs(name: str) -> bool:
    """Return whether programs find, load or run by a variable what no command names."""
    return (
        name.startswith((*_LOADER, "GIT_"))
        or name.endswith(("PATH", "LIB"))
        or name in _LOADED | _FOUND
    )


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
