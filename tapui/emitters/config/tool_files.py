"""The files of a folder's `tools/` as a provider beside those of its configuration."""

import sys

from msgspec.structs import replace

from tapui.core.emitters.plans import FOLDER_TOOLS
from tapui.emitters.config.entries import ConfigProblem, Configuration, ProviderEntry
from tapui.folder_tools.reading import read_folder
from tapui.shipped import ARGUMENTS
from tapui.text import safe_text

ENTRY = ProviderEntry(
    name=FOLDER_TOOLS,
    command=sys.executable,
    args=(*ARGUMENTS, FOLDER_TOOLS),
    description="the tool files in tools/",
    is_folder_tools=True,
)
_TAKEN = "tools/ has tool files, but a provider of this name is in the folder's file: rename that"


def with_tools(configuration: Configuration) -> Configuration:
    """Return a configuration with the provider of the folder's tool files, where it has any, and
    what is wrong with them. A process is waited for: not on a loop."""
    found = read_folder(configuration.folder)
    if found is None:
        return configuration
    problems = [
        ConfigProblem(
            safe_text(one.path),
            one.line,
            1,
            "SCHEMA",
            safe_text(one.text),
            is_error=one.is_error,
            name=safe_text(one.path.rpartition("/")[2].removesuffix(".py")),
        )
        for one in found.faults
    ]
    providers = configuration.providers
    if configuration.provider(FOLDER_TOOLS) is not None:
        problems.append(ConfigProblem("tools", 1, 1, "name", _TAKEN, name=FOLDER_TOOLS))
    else:
        providers = (*providers, ENTRY)
    return replace(
        configuration, providers=providers, problems=(*configuration.problems, *problems)
    )
