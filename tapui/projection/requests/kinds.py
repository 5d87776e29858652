"""The kinds of requests, by their name on the wire."""

from tapui.projection.requests.access import (
    BindAllRequest,
    CommandRequest,
    PairingRequest,
    TerminalRequest,
)
from tapui.projection.requests.emitter_start import EmitterRequest
from tapui.projection.requests.goals import FileGoalRequest, GoalRequest
from tapui.projection.requests.mcp_server_start import McpServerRequest
from tapui.projection.requests.permissions import ModeSwitchRequest, PermissionRequest
from tapui.projection.requests.questions import FormRequest, QuestionRequest
from tapui.projection.requests.request_kind import RequestKind
from tapui.wire.subjects import Approval

KINDS: dict[str, RequestKind] = {
    "permission": PermissionRequest(),
    "mode": ModeSwitchRequest(),
    "userInput": QuestionRequest(),
    "elicitation": FormRequest(),
    "pairing": PairingRequest(),
    "bindAll": BindAllRequest(),
    "terminal": TerminalRequest(),
    "command": CommandRequest(),
    "emitter": EmitterRequest(),
    "mcpServer": McpServerRequest(),
    "goal": GoalRequest(),
    "fileGoal": FileGoalRequest(),
}


def kind_of(approval: Approval) -> RequestKind:
    """Return the kind of a request; one of a later tapui is shown as a permission is."""
    return KINDS.get(approval.kind, KINDS["permission"])
