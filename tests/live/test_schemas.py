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
from tapui.hosts.copilot.session.known_events import LEFT_ASIDE, TAKEN
from tapui.hosts.copilot.session.translator import Translator
from tests.rig.copilot import VERSION

HOST = Path(__file__).parents[2] / "tapui" / "hosts" / "copilot"
_FOLD = HOST.parents[1] / "projection" / "turns" / "session_events.py"
"""Where the data of the events that are passed on is read."""
_KNOWN = HOST / "session" / "known_events.py"
_METHOD = re.compile(
    r'"(ping|tools\.list|session\.(?:send|log|abort)|session\.\w+(?:\.\w+)+)"', re.ASCII
)
"""Those that make, join, leave and delete sessions are not in the schema."""

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
    files = [path for path in sorted(HOST.rglob("*.py")) if path != _KNOWN]
    return "\n".join(path.read_text() for path in files)


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
    translated = set(Translator("s1", str.isspace).table)
    assert sorted(named - translated - TAKEN - LEFT_ASIDE) == [], "new in this version of the CLI"
    assert sorted((TAKEN | LEFT_ASIDE) - named) == [], "gone from this version of the CLI"
    assert sorted(LEFT_ASIDE & (translated | TAKEN)) == [], "left aside, and taken"
    assert sorted(name for name in TAKEN if f'"{name}"' not in source()) == [], "not taken"
    assert sorted(name for name in LEFT_ASIDE if f'"{name}"' in source()) == [], "taken"
    assert len(translated | TAKEN) > 50


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
    asked = set(_METHOD.findall(source()))
    assert len(asked) > 35
    assert sorted(asked - known) == []
