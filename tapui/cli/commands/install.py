"""`tapui install` and `tapui uninstall`: a way into tapui, put in place or removed."""

import argparse
from pathlib import Path

from tapui.cli import output
from tapui.cli.commands import install_mcp
from tapui.cli.context import home
from tapui.cli.failure import Failure
from tapui.files.sealed_file import EditedError, SealedFile
from tapui.hosts.copilot.install.extension_file import ExtensionFile, is_experimental
from tapui.hosts.copilot.install.skill_files import skill_files
from tapui.invocation import command


def run(args: argparse.Namespace) -> int:
    """Do what the command's name says; raises `Failure` for files that a person has changed, once
    the others are done."""
    if args.what == "mcp":
        (install_mcp.uninstall if args.is_removal else install_mcp.install)(
            home(), is_dry=args.dry_run
        )
        return 0
    faults: list[str] = []
    copilot = home().copilot
    files: list[SealedFile] = (
        [*skill_files(copilot)] if args.what == "skills" else [ExtensionFile(copilot)]
    )
    act = _uninstall if args.is_removal else _install
    for file in files:
        try:
            act(file, is_dry=args.dry_run)
        except EditedError as error:
            faults.append(str(error))
    if args.what == "extension" and not args.is_removal and not (args.dry_run or faults):
        _tell_of_experiments(copilot)
    if faults:
        raise Failure("\n".join(faults))
    return 0


def _install(file: SealedFile, *, is_dry: bool) -> None:
    path = output.path_text(file.path)
    file.check()
    if file.state() == "installed":
        output.say(f"{path} is installed already")
    elif is_dry:
        written = file.content()
        output.say(f"would write {path} (mode 0600, {len(written):,} bytes, only you can read it):")
        output.say(written.decode(), newlines=True)
    else:
        file.install()
        output.say(f"wrote {path}")


def _tell_of_experiments(copilot_home: Path) -> None:
    if not is_experimental(copilot_home):
        output.note(
            "Copilot CLI loads extensions only with its experimental features; switch them on "
            f"once with: {command('copilot --experimental')}"
        )
    output.note(
        "In each repository Copilot asks whether the extension may “skip tool permission prompts, "
        "register hooks, handle permission requests”; its second choice is remembered. Prompts are "
        "skipped for tapui's own tools alone, where they only read or tapui guards them itself; "
        "Copilot goes on asking about those of providers."
    )


def _uninstall(file: SealedFile, *, is_dry: bool) -> None:
    path = output.path_text(file.path)
    file.check()
    if file.state() == "missing":
        output.say(f"{path} is not installed")
    elif is_dry:
        output.say(f"would remove {path}")
        for folder in filter(Path.is_dir, file.folders()):
            output.say(f"would remove {output.path_text(folder)} if nothing else is in it")
    else:
        file.uninstall()
        output.say(f"removed {path}; sessions that run keep it until they end")
