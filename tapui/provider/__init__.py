"""The provider kit: functions of yours as tools, gates and events of live Copilot sessions."""

from tapui.provider.context import Allow, Context, Deny, GateCall
from tapui.provider.errors import DeclarationError, GatewayRefusal, ToolError
from tapui.provider.provider import Provider
from tapui.provider.results import File, Image
from tapui.provider.session import Session, SessionNews
from tapui.wire.provider import Concurrency

__all__ = [
    "Allow",
    "Concurrency",
    "Context",
    "DeclarationError",
    "Deny",
    "File",
    "GateCall",
    "GatewayRefusal",
    "Image",
    "Provider",
    "Session",
    "SessionNews",
    "ToolError",
]
