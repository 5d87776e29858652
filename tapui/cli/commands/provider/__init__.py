"""Providers: files of an author's, tool files of a folder, notes and findings of shipped ones."""

from tapui.cli.arguments import CommandParser
from tapui.cli.commands.provider import authoring, findings, memory
from tapui.cli.commands.provider import tools as tool_files

COMMANDS = """
130 provider: write a provider: start one from a template, run it, reload it on save, check it
132 tools: list, check, call or serve the tool files of a folder's tools/
134 memory: list, show, edit or delete the notes that agents have saved
136 findings: list, show and decide about what security scanners found in a folder
"""


def arguments(
    provider: CommandParser, tools: CommandParser, notes: CommandParser, found: CommandParser
) -> None:
    authoring.arguments(provider)
    tool_files.arguments(tools)
    memory.arguments(notes)
    findings.arguments(found)
