"""Where a service's token comes from: the person's environment, or the program that they signed in
with. Never a file of a repository."""

import base64
import os
import re
import subprocess
from collections.abc import Mapping
from pathlib import Path

from tapui.secret import Secret
from tapui.shipped.web.service import Authorize

_SECONDS = 5.0
_TOKEN = re.compile(r"[!-~]{1,4096}\Z")


def bearer(token: Secret) -> Secret:
    """Return the value of `Authorization` for a token."""
    return Secret(f"Bearer {token.reveal()}")


def basic(user: str, token: Secret) -> Secret:
    """Return the value of `Authorization` for a user and a token, as Jira has them."""
    return Secret(f"Basic {base64.b64encode(f'{user}:{token.reveal()}'.encode()).decode()}")


def of_environment(environ: Mapping[str, str], *names: str) -> Secret | None:
    """Return the first of the variables that has a token."""
    for name in names:
        token = environ.get(name, "").strip()
        if _TOKEN.match(token):
            return Secret(token)
    return None


def github(host: str, environ: Mapping[str, str]) -> Authorize:
    """Return what finds the token for a host of GitHub: `GITHUB_TOKEN` or `GH_TOKEN`, which belong
    to the address of the same environment, else the one of `gh auth token` for this host."""

    def find() -> Secret | None:
        token = of_environment(environ, "GITHUB_TOKEN", "GH_TOKEN") or _of_gh(host, environ)
        return None if token is None else bearer(token)

    return find


def _of_gh(host: str, environ: Mapping[str, str]) -> Secret | None:
    """Ask `gh`: the one on the person's path, not one that a folder has."""
    program = _found("gh", environ)
    if program is None:
        return None
    own = {name: one for name, one in environ.items() if not name.startswith("TAP_")}
    try:
        done = subprocess.run(
            [program, "auth", "token", "--hostname", host],
            cwd="/",
            env={**own, "GH_PROMPT_DISABLED": "1", "GH_NO_UPDATE_NOTIFIER": "1"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None  # without a token the service says what it needs
    token = done.stdout[:8_192].decode("utf-8", "replace").strip()
    return Secret(token) if done.returncode == 0 and _TOKEN.match(token) else None


def _found(program: str, environ: Mapping[str, str]) -> str | None:
    """Return a program of the path. Folders that are not absolute lie in the repository."""
    for folder in environ.get("PATH", "").split(os.pathsep):
        path = Path(folder, program)
        if path.is_absolute() and path.is_file() and os.access(path, os.X_OK):
            return str(path)
    return None
