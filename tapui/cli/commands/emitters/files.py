"""What a folder's file says, where no gateway runs."""

import contextlib
from collections.abc import Sequence
from pathlib import Path

from msgspec.structs import replace

from tapui.cli import output
from tapui.core.emitters import registry
from tapui.emitters.config.entries import Configuration, EmitterEntry, ProviderEntry
from tapui.emitters.config.reading import read
from tapui.emitters.consent.consents import Consented, EmitterConsents
from tapui.emitters.consent.named_files import named_files
from tapui.emitters.consent.startable import startable
from tapui.emitters.shell.plans import asking, file_problem, folder_emitters
from tapui.files.folder_file import reason
from tapui.wire.emitters import Emitter


def tell_problems(configuration: Configuration) -> None:
    """Name everything that is wrong in a file."""
    for problem in configuration.problems:
        output.note(str(file_problem(configuration.folder, problem)))


def entry_of(
    configuration: Configuration, name: str, *, is_provider: bool
) -> EmitterEntry | ProviderEntry | None:
    """Return what a configuration has under a name."""
    return configuration.provider(name) if is_provider else configuration.emitter(name)


def configured(configuration: Configuration, state: Path) -> list[Emitter]:
    """Return the emitters and providers of a file, each with whether it is allowed in `why`."""
    consents = EmitterConsents(state)
    found = []
    for one in folder_emitters(configuration.folder, configuration).entries:
        is_provider = one.plan.kind == "provider"
        entry = entry_of(configuration, one.plan.name, is_provider=is_provider)
        emitter = registry.configured(one, configuration.folder)
        found.append(replace(emitter, why=_standing(consents, configuration, entry)))
    if consents.damage:
        output.note(consents.damage)
    return found


def not_covered(listed: Sequence[Emitter]) -> list[list[str]]:
    """Return what consent to each does not cover; nothing of what no file has. Files are read."""
    found: list[list[str]] = []
    files = {one.folder: read(one.folder) for one in listed if one.source == "file"}
    for one in listed:
        found.append([])
        if one.source != "file":
            continue
        file = files[one.folder]
        entry = entry_of(file, one.name, is_provider=one.kind == "provider")
        with contextlib.suppress(OSError):  # it cannot run in its folder, which its state tells
            if entry is not None:
                found[-1] += named_files(file.folder, startable(file, entry)).uncovered
    return found


def _standing(
    consents: EmitterConsents,
    configuration: Configuration,
    entry: EmitterEntry | ProviderEntry | None,
) -> str:
    assert entry is not None, "it was read from this configuration"
    try:
        standing = consents.standing(configuration, entry)
    except OSError as error:
        return f"it cannot run in its folder: {reason(error)}"
    if isinstance(standing, Consented):
        return "allowed"
    changed = asking(standing, entry, configuration.path).why
    return f"not allowed any more: {changed}" if changed else "not allowed yet"
