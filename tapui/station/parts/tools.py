"""The built-in tools (`tap_…`), as a part."""

from functools import partial

from tapui.station.parts.part import GatewayAccess
from tapui.tools.builtin import BuiltinTools


class Tools:
    """Answers the calls of the built-in tools; its port closes with the gateway."""

    name = "the built-in tools"

    def start(self, access: GatewayAccess) -> None:
        timeouts = access.options.settings.timeouts
        BuiltinTools(partial(access.turn.open_port, is_builtin=True), timeouts)

    async def stop(self) -> None:
        """Leave the closing to the gateway: calls are answered until its end."""
