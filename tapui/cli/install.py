"""`tapui install` and `tapui uninstall`: a way into tapui, put in place or removed."""

import argparse
from pathlib import Path

from tapui.cli import install_mcp, output
from tapui.cli.failure import Failure
from tapui.cli.starting import home
from tapui.hosts.copilot.extension_file import (
    EditedError,
    ExtensionFile,
    content,
    is_experimental,
)
from tapui.invocation import command


def run(args: argparse.Namespace) -> int:
    """Do what the command's name says; raises `Failure` for a file that a person has changed."""
    if args.what == "mcp":
        (install_mcp.uninstall if args.is_removal else install_mcp.install)(
            home(), is_dry=args.dry_run
        )
        return 0
    extension = ExtensionFile(home().copilot)
    try:
        if args.is_removal:
            _uninstall(extension, is_dry=args.dry_run)
        else:
            _install(extension, is_dry=args.dry_run)
    except EditedError as error:
        raise Failure(str(error)) from None
    return 0


def _install(extension: ExtensionFile, *, is_dry: bool) -> None:
    path = output.path_text(extension.path)
    extension.check()
    if extension.state() == "installed":
        output.say(f"{path} is installed already")
    elif is_dry:
        written = content()
        output.say(f"would write {path} (mode 0600, {len(written):,} bytes, only you can read it):")
        output.say(written.decode(), newlines=True)
        return
    else:
        extension.install()
        output.say(f"wrote {path}")
    if not is_experimental(extension.copilot_home):
        output.note(
            "Copilot CLI loads extensions only with its experimental features; switch them on "
            f"once with: {command('copilot --experimental')}"
        )
    output.note(
        "In each repository Copilot asks once whether the extension may register hooks and handle "
        "permission requests: its second choice is remembered."
    )


def _uninstall(extension: ExtensionFile, *, is_dry: bool) -> None:
    path = output.path_text(extension.path)
    extension.check()
    if extension.state() == "missing":
        output.say(f"{path} is not installed")
    elif is_dry:
        output.say(f"would remove {path}")
        for folder in filter(Path.is_dir, extension.folders()):
            output.say(f"would remove {output.path_text(folder)} if nothing else is in it")
    else:
        extension.uninstall()
        output.say(f"removed {path}; sessions that run keep it until they end")
