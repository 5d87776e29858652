"""What a folder's file says, where no gateway runs."""

from pathlib import Path

from msgspec.structs import replace

from tapui.cli import output
from tapui.core.emitters import shown
from tapui.emitters.config.entries import Configuration, EmitterEntry, ProviderEntry
from tapui.emitters.consent.consents import Consented, EmitterConsents
from tapui.emitters.folder_file import reason
from tapui.station.emitters.shown import asking, folder_emitters
from tapui.wire.emitters import Emitter


def tell_problems(configuration: Configuration) -> None:
    """Name everything that is wrong in a file."""
    for problem in configuration.problems:
        output.note(f"{configuration.folder.rstrip('/')}/{problem}")


def entry_of(
    configuration: Configuration, name: str, *, is_provider: bool
) -> EmitterEntry | ProviderEntry | None:
    """Return what a configuration has under a name."""
    return configuration.provider(name) if is_provider else configuration.emitter(name)


def configured(configuration: Configuration, state: Path) -> list[Emitter]:
    """Return the emitters and providers of a file, each with whether it is allowed in `why`."""
    consents = EmitterConsents(state)
    found = []
    for read in folder_emitters(configuration.folder, configuration).entries:
        is_provider = read.plan.kind == "provider"
        entry = entry_of(configuration, read.plan.name, is_provider=is_provider)
        emitter = shown.configured(read, configuration.folder)
        found.append(replace(emitter, why=_standing(consents, configuration, entry)))
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
