"""The built-in tools (`tap_…`), as a part."""

from functools import partial

from tapui.station.parts.part import GatewayAccess
from tapui.tools.builtin import BuiltinTools


class Tools:
    """Answers the calls of the built-in tools; its port closes with the gateway."""

    name = "the built-in tools"

    def start(self, access: GatewayAccess) -> None:
        """Offer the tools in every session."""
        mode_approval = access.options.settings.timeouts.mode_approval
        BuiltinTools(partial(access.turn.open_port, is_builtin=True), mode_approval)

    async def stop(self) -> None:
        """Leave the closing to the gateway: calls are answered until its end."""
