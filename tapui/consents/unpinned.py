"""Commands that fetch a program from a registry with each start, in its newest version."""

import re
from collections.abc import Sequence
from pathlib import PurePath

_NODE = frozenset({"npx", "bunx", "pnpx"})
_NODE_INNER = {"npm": ("exec", "x"), "pnpm": ("dlx",), "yarn": ("dlx",), "bun": ("x",)}
_PYTHON = frozenset({"uvx"})
_PYTHON_INNER = {"uv": ("tool", "run"), "pipx": ("run",)}
_CONTAINERS = frozenset({"docker", "podman", "nerdctl"})
_NODE_VALUES = frozenset({"-p", "--package", "-c", "--call", "-w", "--workspace"})
_PYTHON_VALUES = frozenset(
    {"--from", "--with", "-p", "--python", "--index", "--index-url", "--default-index", "--spec"}
)
_CONTAINER_VALUES = frozenset(
    {"-e", "--env", "-v", "--volume", "--mount", "--name", "-p", "--publish", "--network", "-u",
     "--user", "-w", "--workdir", "--env-file", "--entrypoint", "--platform", "-l", "--label"}
)  # fmt: skip
_EXACT_NODE = re.compile(r"v?\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?(\+[0-9A-Za-z.-]+)?\Z")
"""`1`, `1.2` and `1.x` are ranges there."""
_EXACT = re.compile(r"v?\d+(\.\d+)*([-.+]?[0-9A-Za-z.+-]+)?\Z")


def unpinned(command: str, args: Sequence[str]) -> str | None:
    """Return the package or image that is fetched without a fixed version; None for none."""
    program = _program(command)
    rest = list(args)
    if program in _CONTAINERS:
        return _image(rest)
    if inner := _NODE_INNER.get(program):
        return _node(rest[1:]) if rest[:1] and rest[0] in inner else None
    if program in _NODE:
        return _node(rest)
    if program in _PYTHON:
        return _python(rest)
    if (words := _PYTHON_INNER.get(program)) and tuple(rest[: len(words)]) == words:
        return _python(rest[len(words) :])
    return None


def _program(command: str) -> str:
    return PurePath(command).name.removesuffix(".cmd").removesuffix(".exe")


def _named(args: list[str], option: tuple[str, ...], takes_value: frozenset[str]) -> str | None:
    """Return what an option names, or else the first word that is no option."""
    skip = False
    for at, word in enumerate(args):
        if skip:
            skip = False
        elif word in option:
            return args[at + 1] if at + 1 < len(args) else None
        elif any(word.startswith(f"{one}=") for one in option if one.startswith("--")):
            return word.partition("=")[2]
        elif word in takes_value:
            skip = True
        elif not word.startswith("-"):
            return word
    return None


def _node(args: list[str]) -> str | None:
    package = _named(args, ("-p", "--package"), _NODE_VALUES)
    if package is None or package.startswith((".", "/", "~", "file:")):
        return None
    version = package[1:].partition("@")[2]
    return None if _EXACT_NODE.match(version) else package


def _python(args: list[str]) -> str | None:
    package = _named(args, ("--from", "--spec"), _PYTHON_VALUES)
    if package is None or package.startswith((".", "/", "~", "file:")):
        return None
    version = package.partition("==")[2] or package.partition("@")[2].strip()
    return None if _EXACT.match(version) else package


def _image(args: list[str]) -> str | None:
    if args[:1] != ["run"]:
        return None
    image = _named(args[1:], (), _CONTAINER_VALUES)
    if image is None or "@sha256:" in image:
        return None
    tag = image.rpartition("/")[2].partition(":")[2]
    return image if tag in ("", "latest") else None
