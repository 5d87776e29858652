"""Where things are: `TAPUI_HOME`, `COPILOT_HOME`, the folders that providers may write to."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tapui.files.locked_folder import folder_name
from tapui.files.private_file import private_folder

MANAGED = Path("/etc/tapui/managed.toml")
"""The administrator's file: it goes before every other, and must be root's alone."""


def typed_path(text: str) -> Path:
    """Return a path as a shell reads it: `~` is a home, unless there is no such user."""
    return Path(os.path.expanduser(text))  # noqa: PTH111 - that of `Path` raises for such a user


def short_path(path: Path) -> str:
    """Return a path as people write it, with `~` for their home."""
    home = Path.home()
    return f"~/{path.relative_to(home)}" if path.is_relative_to(home) else str(path)


@dataclass(frozen=True, slots=True)
class Home:
    """The folders of one person's tapui; none of them need exist."""

    config: Path
    """Holds `config.toml` and `themes/`."""
    state: Path
    """Holds `run/` and the records of sessions without a workspace."""
    copilot: Path
    """`COPILOT_HOME`: the provider token, persistDirs, Copilot's own state."""

    @classmethod
    def of(cls, environ: Mapping[str, str]) -> "Home":
        """Return the folders that `TAPUI_HOME` and `COPILOT_HOME` (or their defaults) name."""
        given = environ.get("TAPUI_HOME")
        copilot = environ.get("COPILOT_HOME")
        return cls.at(
            typed_path(given).absolute() if given else None,
            typed_path(copilot).absolute() if copilot else None,
        )

    @classmethod
    def at(cls, root: Path | None, copilot: Path | None = None) -> "Home":
        """Return the folders below `root` (None: the platform's) and `copilot` (None: ~/.copilot).

        A root is configuration and state in one.
        """
        copilot = copilot or Path.home() / ".copilot"
        if root is not None:
            return cls(root, root, copilot)
        import platformdirs

        return cls(
            platformdirs.user_config_path("tapui", appauthor=False),
            platformdirs.user_state_path("tapui", appauthor=False),
            copilot,
        )

    def run_folder(self, port: int) -> Path:
        """Return where the gateway on `port` keeps its files."""
        return self.state / "run" / str(port)


def is_split(environ: Mapping[str, str]) -> bool:
    """Return whether the environment names the folder of the configuration, or that of the state,
    apart from the other: they may be of different persons' making."""
    if environ.get("TAPUI_HOME"):
        return False
    usual = {"XDG_CONFIG_HOME": ".config", "XDG_STATE_HOME": ".local/state"}
    return any(
        Path(environ[one]) != Path.home() / folder
        for one, folder in usual.items()
        if environ.get(one)
    )


def persist_dir(home: Home, provider: str) -> Path:
    """Make and return a provider's persistDir (0700); raises `OSError`, also if it is a link."""
    return private_folder(home.copilot, "providers", folder_name(provider))
