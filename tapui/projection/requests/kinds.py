"""The kinds of requests, by their names on the wire; a plan is a form there."""

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
from tapui.projection.requests.questions import FormRequest, PlanRequest, QuestionRequest
from tapui.projection.requests.request_kind import RequestKind, detail_of
from tapui.wire.subjects import Approval

KINDS: dict[str, RequestKind] = {
    "permission": PermissionRequest(),
    "mode": ModeSwitchRequest(),
    "userInput": QuestionRequest(),
    "elicitation": FormRequest(),
    "elicitation.plan": PlanRequest(),
    "pairing": PairingRequest(),
    "bindAll": BindAllRequest(),
    "terminal": TerminalRequest(),
    "command": CommandRequest(),
    "emitter": EmitterRequest(),
    "mcpServer": McpServerRequest(),
    "goal": GoalRequest(),
    "fileGoal": FileGoalRequest(),
}


def kind_name(approval: Approval) -> str:
    """Return the name of a request's kind."""
    is_plan = approval.kind == "elicitation" and "refusal" in detail_of(approval)
    return "elicitation.plan" if is_plan else approval.kind


def kind_of(approval: Approval) -> RequestKind:
    """Return the kind of a request; one of a later tapui is shown as a permission is."""
    return KINDS.get(kind_name(approval), KINDS["permission"])
