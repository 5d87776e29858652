"""The Copilot host, as a part: it attaches to running Copilot CLIs, and starts sessions."""

import os
from pathlib import Path

from tapui.hosts.copilot.launcher import CopilotLauncher
from tapui.station.parts.part import GatewayAccess


class Copilot:
    """Attaches to Copilot sessions until it is stopped; it then leaves them as they were.

    Sessions that were started here end with it.
    """

    name = "the way to Copilot sessions"

    def __init__(self) -> None:
        self._launcher: CopilotLauncher | None = None

    def start(self, access: GatewayAccess) -> None:
        """Begin to look, where that is wanted."""
        self._launcher = CopilotLauncher(
            access.turn.open_port,
            url=access.announced.url,
            token_file=Path(access.announced.internal_token_file),
            copilot_home=access.home.copilot,
            environ=os.environ,
            port=access.options.attach_port,
            attaches=access.options.attach,
            with_ports=access.options.settings.copilot.port != "never",
            report=access.report,
        )
        access.spawn(self._launcher.run())

    async def stop(self) -> None:
        """Leave every session; the CLIs go on."""
        if self._launcher is not None:
            await self._launcher.stop()
