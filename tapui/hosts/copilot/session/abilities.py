"""What can be ordered of a session: what the SDK has, and the CLI has not refused to know."""

from collections.abc import Mapping
from operator import attrgetter
from typing import TYPE_CHECKING

from tapui.hosts.copilot.sdk import PACKAGE
from tapui.invocation import install_line
from tapui.wire.steering import Ability

if TYPE_CHECKING:
    from copilot import CopilotSession

METHODS: Mapping[Ability, tuple[str, ...]] = {
    "tell": ("send", "rpc.queue.pending_items", "rpc.metadata.is_processing"),
    "now": ("send",),
    "stop": ("abort", "rpc.metadata.is_processing"),
    "compact": ("rpc.history.compact",),
    "model": ("rpc.model.switch_to", "rpc.model.list"),
    "effort": ("rpc.model.set_reasoning_effort",),
    "label": ("rpc.name.set",),
}
"""What each order needs of the SDK's session."""
_OLD_SDK = "this Copilot SDK has no %s; update it: %s"
_OLD_CLI = "this Copilot CLI does not know the request; update it: copilot update"


class Abilities:
    """What can be ordered of one session, as far as is known."""

    def __init__(self) -> None:
        self.can: list[str] = []
        self.cannot: dict[str, str] = {}

    def look(self, session: "CopilotSession") -> None:
        """Find out what the SDK has."""
        self.can = []
        for ability, methods in METHODS.items():
            lacking = next((one for one in methods if not _has(session, one)), None)
            if lacking is not None:
                update = install_line(PACKAGE, "--upgrade")
                self.cannot[ability] = _OLD_SDK % (lacking, update)
            elif ability not in self.cannot:
                self.can.append(ability)

    def refused(self, ability: Ability) -> None:
        """The CLI does not know the request behind an order."""
        if ability in self.can:
            self.can.remove(ability)
        self.cannot[ability] = _OLD_CLI


def _has(session: "CopilotSession", method: str) -> bool:
    try:
        return callable(attrgetter(method)(session))
    except AttributeError:
        return False
