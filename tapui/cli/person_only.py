"""Commands that only the person may give, where no gateway can tell who asks."""

import argparse
import os
import sys

import psutil

from tapui.cli.failure import Failure
from tapui.cli.starting import home, loaded
from tapui.core.trust.command_line import ALWAYS
from tapui.emitters.runner.processes import MARK
from tapui.hosts.copilot.stored import stored_sessions


def need_person(
    args: argparse.Namespace, way: str = "allow it in the tower or in a terminal"
) -> None:
    """Refuse whom a gateway would refuse, as far as that can be told without one.

    `way` says how the person can do it. Raises `Failure`.
    """
    if loaded(args).settings.approvals.command_line == ALWAYS:
        return
    why = None
    if MARK in os.environ or "TAP_PROVIDER_TOKEN" in os.environ:
        why = "it was started by an emitter or a provider"
    elif not _has_terminal():
        why = "it has no terminal"
    else:
        line = {os.getpid(), *(one.pid for one in psutil.Process().parents())}
        above = [one for one in stored_sessions(home().copilot) if one.pid in line]
        why = f"it was started by session {above[0].id}" if above else None
    if why is not None:
        raise Failure(
            f'{why}: {way} of your own (the setting approvals.command-line = "{ALWAYS}" allows it)'
        )


def _has_terminal() -> bool:
    """Return whether a terminal controls this process."""
    try:
        os.close(os.open("/dev/tty", os.O_RDWR | os.O_NOCTTY))
    except OSError:
        return False
    return sys.stdin.isatty()
