"""`get_changed_files`: what git has as staged, unstaged and untracked.

git runs no program of the repository's: no filter, hook, monitor or difference tool that its own
configuration names, and it fetches nothing.
"""

import json
import os
import subprocess
from typing import Any

from tapui.provider import Context, Provider, ToolError
from tapui.provider.errors import INVALID_ARGS
from tapui.wire.errors import CallError

SECONDS = 15.0
"""For each question to git."""
MAX_NAMES = 2_000
"""Files that a section names; the others are counted."""
STATES = ("all", "staged", "unstaged", "untracked")
DESCRIPTION = "Get the list of changed, staged, or untracked files from git."
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "repositoryPath": {
            "type": "string",
            "description": "Path to the git repository. Defaults to workspace root.",
        },
        "sourceControlState": {
            "type": "string",
            "enum": list(STATES),
            "description": "Filter by state: 'all' (default), 'staged', 'unstaged', 'untracked'.",
        },
    },
    "required": [],
}
_DIFF = ("diff", "--name-only", "-z", "--no-ext-diff", "--no-textconv", "--no-renames")
_SECTIONS = (
    ("staged", "## Staged files", (*_DIFF, "--ignore-submodules=dirty", "--cached")),
    ("unstaged", "## Unstaged changes", (*_DIFF, "--ignore-submodules=dirty")),
    ("untracked", "## Untracked files", ("ls-files", "--others", "--exclude-standard", "-z")),
)
_OFF = {"core.fsmonitor": "false", "core.hooksPath": os.devnull}
_NONE = "No changed files found."


def changed_files(given: dict[str, Any], root: str) -> str:
    """Return the files by section, as the documents have them. Raises `ToolError`."""
    state = given.get("sourceControlState") or "all"
    if state not in STATES:
        raise ToolError(INVALID_ARGS, f"sourceControlState is one of {', '.join(STATES)}")
    folder = _inside(given.get("repositoryPath") or root, root)
    git = _Git(folder)
    sections = []
    for name, title, words in _SECTIONS:
        if state in ("all", name) and (files := git.names(words)):
            sections.append("\n".join([title, *files]))
    return "\n\n".join(sections) or _NONE


def _inside(path: object, root: str) -> str:
    """Return a folder of the workspace, without links. Raises `ToolError`."""
    if not isinstance(path, str) or "\0" in path:
        raise ToolError(INVALID_ARGS, "repositoryPath is a path")
    real, base = os.path.realpath(os.path.join(root, path)), os.path.realpath(root)  # noqa: PTH118
    if real != base and not real.startswith(f"{base.rstrip('/')}/"):
        raise ToolError(INVALID_ARGS, "repositoryPath is outside of the workspace")
    if not os.path.isdir(real):  # noqa: PTH112 - text in
        raise ToolError(CallError.NOT_FOUND, f"there is no folder {path}")
    return real


class _Git:
    """git in a folder, with what a repository's configuration would run switched off."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._environ = {
            name: value for name, value in os.environ.items() if not name.startswith("GIT_")
        }
        self._environ |= {
            "GIT_OPTIONAL_LOCKS": "0",
            "GIT_NO_LAZY_FETCH": "1",
            "GIT_ALLOW_PROTOCOL": "none",
            "GIT_TERMINAL_PROMPT": "0",
            "LC_ALL": "C",
        }
        self._set(dict(_OFF))
        # Without this, git compares files outside of a repository, and knows no `--cached`.
        found = self._run(("rev-parse", "--git-dir"))
        if found.returncode:
            raise _failed(found)
        self._set(_OFF | self._filters())

    def _set(self, values: dict[str, str]) -> None:
        self._environ["GIT_CONFIG_COUNT"] = str(len(values))
        for at, (key, value) in enumerate(values.items()):
            self._environ[f"GIT_CONFIG_KEY_{at}"] = key
            self._environ[f"GIT_CONFIG_VALUE_{at}"] = value

    def _filters(self) -> dict[str, str]:
        """Return the filters that the repository's own configuration has, emptied: those of the
        person's are theirs."""
        words = ("config", "--show-scope", "--name-only", "-z", "--get-regexp", r"^filter\.")
        done = self._run(words)
        if done.returncode not in (0, 1):  # 1: there are none
            raise _failed(done)
        parts = done.stdout.decode("utf-8", "surrogateescape").split("\0")
        off: dict[str, str] = {}
        for scope, key in zip(parts[::2], parts[1::2], strict=False):
            if scope in ("local", "worktree"):
                name = key.rpartition(".")[0]
                off |= {f"{name}.{one}": "" for one in ("clean", "smudge", "process")}
                off[f"{name}.required"] = "false"
        return off

    def names(self, words: tuple[str, ...]) -> list[str]:
        """Return names of files, those with odd characters in quotes. Raises `ToolError`."""
        done = self._run(words)
        if done.returncode:
            raise _failed(done)
        listed = [one for one in done.stdout.split(b"\0") if one]
        names = [_shown(one) for one in listed[:MAX_NAMES]]
        if (more := len(listed) - MAX_NAMES) > 0:
            names.append(f"({more:,} more)")
        return names

    def _run(self, words: tuple[str, ...]) -> "subprocess.CompletedProcess[bytes]":
        try:
            return subprocess.run(
                ["git", *words],
                cwd=self._folder,
                env=self._environ,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=SECONDS,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise ToolError(
                CallError.TIMEOUT, f"git took more than {SECONDS:g} s", retryable=True
            ) from None
        except OSError as error:
            raise ToolError(CallError.INTERNAL, f"git cannot run: {error.strerror}") from None


def _failed(done: "subprocess.CompletedProcess[bytes]") -> ToolError:
    text = done.stderr.decode("utf-8", "replace").strip().partition("\n")[0]
    return ToolError(CallError.INTERNAL, text or f"git ended with exit code {done.returncode}")


def _shown(name: bytes) -> str:
    text = name.decode("utf-8", "backslashreplace")
    is_plain = text.isprintable() and '"' not in text and text == text.strip()
    return text if is_plain else json.dumps(text)


def provider() -> Provider:
    """Return the provider."""
    made = Provider("changed-files")

    def call(arguments: dict[str, Any], context: Context) -> str:
        return changed_files(arguments, context.session.folder or os.getcwd())  # noqa: PTH109

    made.tool(
        name="get_changed_files", description=DESCRIPTION, timeout=4 * SECONDS, parameters=SCHEMA
    )(call)
    return made
