"""Which parts run beside a gateway. A new part is one more line here."""

from tapui.settings.rule_files import RuleFiles
from tapui.station.options import Options
from tapui.station.parts.copilot import Copilot
from tapui.station.parts.emitters import EmittersPart
from tapui.station.parts.index import Index
from tapui.station.parts.local_session import LocalSession
from tapui.station.parts.mcp_servers import McpServersPart
from tapui.station.parts.part import Part
from tapui.station.parts.rules import Rules
from tapui.station.parts.tools import Tools
from tapui.station.parts.tools_token import ToolsToken


def chosen_parts(options: Options, rule_files: RuleFiles) -> list[Part]:
    """Return the parts that the options ask for, in the order of their start."""
    parts: list[Part] = [Rules(rule_files)]
    if options.settings.local_session:
        parts.append(LocalSession())
    parts.append(Tools())
    parts.append(EmittersPart())
    if not options.is_demo:
        parts.append(McpServersPart())
    parts.append(Index())
    if not (options.is_demo or options.is_private):
        parts.append(ToolsToken())
    if not options.is_demo:
        parts.append(Copilot())
    return parts
