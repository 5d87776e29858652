"""The sessions that can be seen and not reached, each with the command that makes it reachable."""

import shlex
from collections.abc import Iterable
from pathlib import Path

from tapui.hosts.copilot.finding.discovery import Cli
from tapui.hosts.copilot.install.extension_file import ExtensionFile
from tapui.wire import limits
from tapui.wire.subjects import Unattached

START_TIME = 3.0
"""Seconds that a CLI has to open its port before it counts as one without."""


def unattached(
    found: Iterable[Cli], copilot_home: Path, *, with_ports: bool = True
) -> list[Unattached]:
    """Return the sessions of the CLIs that have no way in, as many as may be told.

    Those of a headless server are left out: nobody can resume them while it runs.
    Where there is another way in than a port, `tapui copilot` chooses it.
    """
    has_extension = ExtensionFile(copilot_home).path.exists()
    start = "copilot --ui-server" if with_ports and not has_extension else "tapui copilot"
    told = [
        Unattached(id_, cli.cwd, cli.process.pid, f"{start} --resume {word}")
        for cli in found
        if not (cli.is_attachable or cli.is_headless) and cli.age > START_TIME
        for id_, word in ((id_, shlex.quote(id_)) for id_ in cli.sessions)
    ]
    return told[: limits.MAX_UNATTACHED]
