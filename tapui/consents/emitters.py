"""Consent to an emitter or provider of a folder's file: all that decides what runs and is sent."""

import time
from collections.abc import Callable
from pathlib import Path

import msgspec

from tapui.consents.consents import (
    Changes,
    Consented,
    ConsentFile,
    Consents,
    Proposal,
    names_of,
    was,
)
from tapui.consents.named_files import NamedFiles, ReadCommand, named_files
from tapui.core.emitters.plans import EmitterPlan
from tapui.emitters.config.entries import Configuration, EmitterEntry, ProviderEntry
from tapui.files.foreign_file import real_path
from tapui.folder_tools.files import FolderRefusedError, read_files
from tapui.text import safe_text

FOLDER = "emitters"
"""Where consents and claims are, below the state folder."""
_SHOWN = 100


class EmitterConsents(Consents[EmitterPlan]):
    """All consents to emitters and project providers."""

    def __init__(self, state: Path, clock: Callable[[], float] = time.time) -> None:
        super().__init__(state, FOLDER, _DECODER, _CHANGES, clock)

    def allow(self, proposal: Proposal[EmitterPlan], *, later_versions: bool = False) -> None:
        """As `Consents.allow`; of a folder's tools each content is allowed by itself."""
        is_later = later_versions and not proposal.entry.is_folder_tools
        super().allow(proposal, later_versions=is_later)

    def standing(
        self, configuration: Configuration, entry: EmitterEntry | ProviderEntry
    ) -> Consented[EmitterPlan] | Proposal[EmitterPlan]:
        """Return whether an entry of a configuration may be started.

        Raises `ValueError` for an entry of another configuration, `OSError` for a folder to run in
        that cannot be, and for tool files that cannot be covered.
        """
        if entry not in (*configuration.emitters, *configuration.providers):
            raise ValueError("the entry is not of this configuration")
        wanted = plan_of(configuration, entry)
        return self.of(configuration.folder, wanted, lambda: files_of(configuration.folder, wanted))


def files_of(folder: str, entry: EmitterPlan) -> NamedFiles:
    """Find and read the files that an entry names. Not on a loop. Raises `OSError` for a folder's
    tools that cannot be covered."""
    if entry.is_folder_tools:
        return _tool_files(folder)
    args = entry.args if entry.is_provider else None
    return named_files(folder, ReadCommand(entry.command, entry.cwd, args, entry.shell, entry.env))


def _tool_files(folder: str) -> NamedFiles:
    """Return all files of `tools/`, and what they import from elsewhere."""
    try:
        found = read_files(folder)
    except FolderRefusedError as error:
        raise OSError(0, str(error)) from None
    if found is None:
        raise OSError(0, "it has no tools/")
    return NamedFiles(found.digests, found.uncovered)


def plan_of(configuration: Configuration, entry: EmitterEntry | ProviderEntry) -> EmitterPlan:
    """Return what would be started of an entry. Raises `OSError` for a cwd that cannot be."""
    cwd = real_path(Path(configuration.folder, entry.cwd or ""))
    env = tuple(sorted(entry.env.items()))
    if isinstance(entry, ProviderEntry):
        return EmitterPlan(
            kind="provider",
            name=entry.name,
            command=entry.command,
            args=entry.args,
            cwd=cwd,
            env=env,
            auto_start=entry.auto_start,
            is_folder_tools=entry.is_folder_tools,
        )
    stream = configuration.stream(entry.stream)
    return EmitterPlan(
        kind="emitter",
        name=entry.name,
        command=entry.command,
        prompt=entry.prompt,
        shell=entry.shell,
        cwd=cwd,
        env=env,
        schedule=entry.schedule,
        max_runs=entry.max_runs,
        auto_start=entry.auto_start,
        include_stderr=entry.include_stderr,
        stream=entry.stream,
        injector=stream.injector,
        delivery=stream.delivery,
        rules=entry.rules,
    )


def _shown(text: str | None) -> str:
    return "the usual one" if text is None else safe_text(text, limit=_SHOWN)


def _runs(most: int | None) -> str:
    return "no limit" if most is None else f"at most {most:,}"


_CHANGES: Changes = {
    "command": "another command",
    "args": "other arguments",
    "prompt": "another prompt",
    "rules": "another filter",
    "shell": was("shell:", _shown),
    "cwd": was("runs in", _shown),
    "env": names_of("other variables", lambda one: str(one[0]), _SHOWN),
    "schedule": was("runs", str),
    "max_runs": was("runs:", _runs),
    "auto_start": lambda _, now: "starts by itself" if now else "does not start by itself",
    "include_stderr": lambda _, now: f"its error output is {'read' if now else 'left out'}",
    "stream": was("stream:", _shown),
    "injector": was("injector:", str),
    "delivery": was("delivery:", str),
}
_DECODER = msgspec.json.Decoder(ConsentFile[EmitterPlan])
