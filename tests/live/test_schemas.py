"""What the CLI says of its own events and methods, beside what the host takes and asks for.

A new version of the CLI fails here with the names of what is new in it: take it into the host, or
write it down as left aside.
"""

import json
import os
import re
import subprocess
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tapui.hosts.copilot.finding.past_events import OF_SESSION
from tapui.hosts.copilot.session.history import FOLDED
from tests.rig.copilot import VERSION

HOST = Path(__file__).parents[2] / "tapui" / "hosts" / "copilot"
_FOLD = HOST.parents[1] / "projection" / "turns" / "session_events.py"
"""Where the data of the events that are passed on is read."""
_METHOD = re.compile(r"\brpc\.([a-z_]+(?:\.[a-z_]+)+)\(")

LEFT_ASIDE = frozenset(
    [
        "agent.interrupted",
        "assistant.fusion_phase_activity",
        "assistant.fusion_phase_completed",
        "assistant.fusion_phase_failed",
        "assistant.fusion_phase_started",
        "assistant.message_start",
        "assistant.reasoning_delta",
        "assistant.server_tool_progress",
        "assistant.streaming_delta",
        "assistant.tool_call_delta",
        "assistant.turn_retry",
        "auto_mode_switch.completed",
        "auto_mode_switch.requested",
        "command.completed",
        "command.execute",
        "command.queued",
        "external_tool.completed",
        "hook.progress",
        "hook.start",
        "human_response.recorded",
        "mcp.headers_refresh_completed",
        "mcp.headers_refresh_required",
        "mcp.oauth_completed",
        "mcp.oauth_recovery_completed",
        "mcp.oauth_required",
        "mcp.prompts.list_changed",
        "mcp.resources.list_changed",
        "mcp.tools.list_changed",
        "mcp_app.tool_call_complete",
        "model.call_final_result",
        "model.call_finished",
        "model.call_start",
        "pending_messages.modified",
        "permission.assentDetected",
        "permission.carriedForward",
        "permission.contextualAuthorization",
        "permission.messageAuthorization",
        "permission.messageAuthorizationDegraded",
        "permission.messageAuthorizationRead",
        "prompt_cache_break",
        "sampling.completed",
        "sampling.requested",
        "sandbox.decision",
        "session.auto_mode_resolved",
        "session.auto_tier_recommendation",
        "session.auto_tier_switch_failed",
        "session.background_tasks_changed",
        "session.binary_asset",
        "session.canvas.closed",
        "session.canvas.opened",
        "session.canvas.recorded",
        "session.canvas.registry_changed",
        "session.canvas.removed",
        "session.canvas.unavailable",
        "session.completion_receipt",
        "session.context_cleared",
        "session.custom_notification",
        "session.extensions.attachments_pushed",
        "session.extensions_loaded",
        "session.fusion_change_checkpoint",
        "session.fusion_commit_started",
        "session.fusion_completed",
        "session.fusion_handoff",
        "session.fusion_resolved",
        "session.fusion_route_failed",
        "session.fusion_route_started",
        "session.handoff",
        "session.indexed_search",
        "session.managed_plugin_progress",
        "session.managed_settings_enforced",
        "session.managed_settings_resolved",
        "session.mcp_server_needs_reconnect",
        "session.mcp_server_removed",
        "session.mcp_server_status_changed",
        "session.mcp_server_tools_loaded",
        "session.memory_changed",
        "session.mode_notice_delivered",
        "session.model_deselected",
        "session.permission_recovery",
        "session.plan_changed",
        "session.quota_observation",
        "session.remote_steerable_changed",
        "session.request_body_compression_disabled",
        "session.schedule_cancelled",
        "session.schedule_created",
        "session.schedule_rearmed",
        "session.session_limits_changed",
        "session.skills_loaded",
        "session.task_complete",
        "session.tools_updated",
        "session.truncation",
        "session.usage_checkpoint",
        "session.workspace_file_changed",
        "session_limits_exhausted.completed",
        "session_limits_exhausted.requested",
        "skill.context_delivered",
        "skill.context_delivered_ref",
        "skill.invoked",
        "skill.invoked_ref",
        "subagent.configured",
        "subagent.deselected",
        "subagent.selected",
        "system.message",
        "tool.user_requested",
        "tool_search.activated",
        "ui.ephemeral_query",
        "workflow.run_settled",
        "workflow.run_started",
        "workflow.run_updated",
    ]
)
"""Events that say nothing to a person beside what other events tell, or that no account has had the
CLI send here (`tapui/hosts/copilot/README.md`)."""

FIELDS: dict[str, tuple[str, str]] = {
    "session.start": (
        "context selectedModel version",
        (
            "alreadyInUse autoTier autoTierManaged contextTier contextTierManaged copilotVersion "
            "detachedFromSpawningParentSessionId githubMcpToolConfig producer providerId "
            "reasoningEffort reasoningEffortManaged reasoningEffortModel reasoningSummary "
            "remoteSteerable sessionId sessionLimits startTime verbosity"
        ),
    ),
    "session.resume": (
        "context selectedModel",
        (
            "alreadyInUse autoTier autoTierManaged contextTier contextTierManaged "
            "continuePendingWork eventCount eventsFileSizeBytes providerId reasoningEffort "
            "reasoningEffortManaged reasoningEffortModel reasoningSummary remoteSteerable "
            "resumeTime sessionLimits sessionWasActive verbosity"
        ),
    ),
    "session.context_changed": (
        "cwd gitRoot",
        "baseCommit branch headCommit hostType pendingGitContext repository repositoryHost",
    ),
    "session.model_change": (
        "newModel previousModel",
        (
            "autoTier autoTierManaged cause contextTier contextTierManaged previousAutoTier "
            "previousProviderId previousReasoningEffort previousReasoningSummary previousVerbosity "
            "providerId reasoningEffort reasoningEffortManaged reasoningEffortModel "
            "reasoningSummary source verbosity"
        ),
    ),
    "session.mode_changed": (
        "newMode previousMode",
        "",
    ),
    "session.usage_record": (
        "usage",
        "",
    ),
    "session.compaction_complete": (
        "preCompactionTokens success tokensRemoved",
        (
            "activeWorkflowSummary behaviorModelId checkpointNumber checkpointPath "
            "compactionAttemptId compactionTokensUsed conversationTokens customInstructions error "
            "failureReason initialModel messagesRemoved model outcome outcomeReason "
            "postCompactionTokens preCompactionMessagesLength requestId responsesReasoning "
            "serviceRequestId statusCode summaryContent switchTargetModel systemTokens "
            "targetPromptTokenLimit tokenAccountingBasis tokenLimit toolDefinitionsTokens trigger"
        ),
    ),
    "session.error": (
        "errorType message",
        (
            "eligibleForAutoSwitch errorCode originatingMessageId providerCallId "
            "providerErrorParam providerErrorType remediation serviceRequestId stack statusCode url"
        ),
    ),
    "user.message": (
        "content delivery isAutopilotContinuation source",
        (
            "agentMode attachments interactionId messageId nativeDocumentPathFallbackPaths "
            "parentAgentTaskId responsesReasoning supportedNativeDocumentMimeTypes "
            "transformedContent turnId"
        ),
    ),
    "assistant.message": (
        "content toolRequests",
        (
            "apiCallId chunkCount chunkIndex citations clientRequestId encryptedContent fusion "
            "interactionId messageId model originatingMessageId outputTokens parentToolCallId "
            "phase providerId reasoningBlocks reasoningOpaque reasoningText reasoningWireField "
            "requestId rte serverTools serviceRequestId turnId"
        ),
    ),
    "tool.execution_start": (
        "arguments mcpServerName mcpToolName toolCallId toolName",
        (
            "displayVerbatim fusion mcpConfigServerName mcpConfigSource mcpTransport model "
            "parentToolCallId rte shellToolInfo toolDescription toolTitle turnId"
        ),
    ),
    "tool.execution_complete": (
        "error fileEdits result shellExecution success toolCallId",
        (
            "fusion interactionId isUserRequested mcpMeta model parentToolCallId rte sandboxed "
            "toolDescription toolTelemetry toolUsage turnId"
        ),
    ),
}
"""Of events that become rows of `tapui query --past`: the fields of their data that are read, and
those that are left aside."""


@cache
def source() -> str:
    """Return all of the host's source."""
    return "\n".join(path.read_text() for path in sorted(HOST.rglob("*.py")))


@pytest.fixture(scope="module")
def schemas(cli: Path, cli_cache: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the schemas, which the CLI unpacks with itself."""
    home = tmp_path_factory.mktemp("home")
    (home / ".cache").symlink_to(cli_cache)
    env = {**os.environ, "HOME": str(home), "COPILOT_AUTO_UPDATE": "false"}
    subprocess.run([str(cli), "--version"], env=env, check=True, capture_output=True, timeout=120)
    (found,) = cli_cache.glob(f"copilot/pkg/*/{VERSION}/schemas")
    return found


def events_of(schema: dict[str, Any]) -> set[str]:
    """Return the names of the events that a schema describes."""
    definitions = schema["definitions"]
    names = set()
    for one in definitions["SessionEvent"]["anyOf"]:
        event = definitions[one["$ref"].rpartition("/")[2]]
        names.add(event["properties"]["type"]["const"])
    return names


def fields_of(schema: dict[str, Any], name: str) -> set[str]:
    """Return the names of the fields of an event's data."""
    definitions = schema["definitions"]
    for one in definitions["SessionEvent"]["anyOf"]:
        properties = definitions[one["$ref"].rpartition("/")[2]]["properties"]
        if properties["type"]["const"] == name:
            data = properties["data"]
            return set(definitions.get(data.get("$ref", "").rpartition("/")[2], data)["properties"])
    return set()


def methods_of(schema: Any) -> set[str]:
    """Return the names of the methods that a schema describes."""
    if isinstance(schema, list):
        return set().union(*map(methods_of, schema))
    if not isinstance(schema, dict):
        return set()
    own = {schema["rpcMethod"]} if isinstance(schema.get("rpcMethod"), str) else set()
    return own.union(*map(methods_of, schema.values()))


def test_every_event_of_the_cli_is_taken_or_left_aside(schemas: Path) -> None:
    named = events_of(json.loads((schemas / "session-events.schema.json").read_text()))
    taken = {name for name in named if f'"{name}"' in source()}
    assert sorted(named - taken - LEFT_ASIDE) == [], "new in this version of the CLI"
    assert sorted(LEFT_ASIDE - named) == [], "gone from this version of the CLI"
    assert sorted(LEFT_ASIDE & taken) == [], "left aside, and taken"
    assert len(taken) > 50


def test_what_is_read_of_stored_sessions_is_what_the_cli_stores(schemas: Path) -> None:
    schema = json.loads((schemas / "session-events.schema.json").read_text())
    reading = source() + _FOLD.read_text()
    assert sorted((FOLDED | OF_SESSION) - events_of(schema)) == [], "gone from this version"
    assert sorted(set(FIELDS) - FOLDED - OF_SESSION) == [], "not read"
    for name, (read, aside) in FIELDS.items():
        known = fields_of(schema, name)
        assert sorted(known - {*read.split(), *aside.split()}) == [], f"new in {name}"
        assert sorted({*read.split(), *aside.split()} - known) == [], f"gone from {name}"
        assert sorted(one for one in read.split() if f'"{one}"' not in reading) == [], name


def test_every_method_that_the_host_asks_for_is_the_clis(schemas: Path) -> None:
    known = methods_of(json.loads((schemas / "api.schema.json").read_text()))
    asked = {_camel(one) for one in _METHOD.findall(source())}
    assert len(asked) > 25
    assert sorted(one for one in asked if not {one, f"session.{one}"} & known) == []


def _camel(name: str) -> str:
    return re.sub(r"_([a-z])", lambda found: found[1].upper(), name)
