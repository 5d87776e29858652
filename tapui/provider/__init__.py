"""The provider kit: functions of yours as tools, gates and events of live Copilot sessions."""

from tapui.provider.context import Context
from tapui.provider.errors import DeclarationError, GatewayRefusal, ToolError
from tapui.provider.gates import Allow, Deny, GateCall
from tapui.provider.news import SessionNews
from tapui.provider.provider import Provider
from tapui.provider.results import File, Image
from tapui.provider.session import Session
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
