"""The Copilot host, as a part: it looks for running Copilot CLIs and attaches to them."""

from typing import TYPE_CHECKING

from tapui.station.parts.part import GatewayAccess

if TYPE_CHECKING:
    from tapui.hosts.copilot.host import CopilotHost


class Copilot:
    """Attaches to Copilot sessions until it is stopped; it then leaves them as they were."""

    name = "the search for Copilot sessions"

    def __init__(self) -> None:
        self._host: CopilotHost | None = None

    def start(self, access: GatewayAccess) -> None:
        """Begin to look."""
        from tapui.hosts.copilot.host import CopilotHost

        port = access.options.attach_port
        self._host = CopilotHost(
            access.turn.open_port,
            copilot_home=access.home.copilot,
            port=port,
            discover=port is None,
            report=access.report,
        )
        access.spawn(self._host.run())

    async def stop(self) -> None:
        """Leave every session; the CLIs go on."""
        if self._host is not None:
            await self._host.stop()
