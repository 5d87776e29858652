"""The built-in session `local`, as a part."""

from pathlib import Path

from tapui.hosts.local import LocalHost
from tapui.station.parts.part import GatewayAccess


class LocalSession:
    """Keeps the session `local` open; its port closes with the gateway."""

    name = "the local session"

    def start(self, access: GatewayAccess) -> None:
        """Open the session, in the folder that tapui was started in."""
        LocalHost(access.turn.open_port, _folder())

    async def stop(self) -> None:
        """Leave the closing to the gateway, which ends every session."""


def _folder() -> Path:
    """Return the working folder; the home folder where that was removed or may not be read."""
    try:
        return Path.cwd()
    except OSError:
        return Path.home()
