"""What a folder's file says, where no gateway runs."""

from pathlib import Path

from tapui.cli import output
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
        plan = read.plan
        entry = entry_of(configuration, plan.name, is_provider=plan.kind == "provider")
        found.append(
            Emitter(
                id="",
                name=plan.name,
                folder=configuration.folder,
                session_id="",
                kind=plan.kind,
                state="configured",
                stream=f"{plan.stream}@tap",
                cwd=plan.cwd,
                command=plan.command,
                args=list(plan.args),
                prompt=plan.prompt,
                shell=plan.shell,
                every=plan.every,
                ownership=read.ownership,
                line=read.line,
                auto_start=plan.auto_start,
                include_stderr=plan.include_stderr,
                max_runs=plan.max_runs,
                rules=list(plan.rules),
                injector=plan.injector,
                delivery=plan.delivery,
                description=read.description,
                why=_standing(consents, configuration, entry),
            )
        )
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
