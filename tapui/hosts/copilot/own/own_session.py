"""A session of our own server: made, or resumed, with the person's own model provider (BYOK).

The provider is needed twice: in the environment of the CLI's process, and by the session.
"""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from tapui.hosts.copilot.connection import (
    SPOKEN,
    AttachError,
    CliConnection,
    CliSession,
    Participation,
    text_of,
)
from tapui.wire.steering import EFFORTS, SessionStart, StartProblem

CLIENT_NAME = "tapui"
"""By which the CLI's lists name such sessions."""
SECTIONS = (
    "preamble",
    "identity",
    "tone",
    "tool_efficiency",
    "environment_context",
    "code_change_rules",
    "guidelines",
    "safety",
    "tool_instructions",
    "custom_instructions",
    "runtime_instructions",
    "last_instructions",
)
"""The sections of the CLI's system prompt, each of which it asks about."""
CREATE_TIME = 60.0
"""Seconds that making a session may take: MCP servers of the folder start with it."""


class StartError(AttachError):
    """A session cannot be started; the text says what to do."""

    def __init__(self, text: str, problem: StartProblem = "failed") -> None:
        super().__init__(text)
        self.problem = problem


@dataclass(frozen=True, slots=True)
class OwnSession:
    """How one session is joined: called by `AttachedSession` with the connection to our server.

    The MCP servers `without` do not start with it.
    """

    session_id: str
    folder: str
    order: SessionStart
    environ: Mapping[str, str]
    without: Sequence[str] = ()

    async def __call__(self, server: CliConnection, part: Participation) -> CliSession:
        """Make the session, or resume it. Raises `AttachError`."""
        order = self.order
        provider = provider_of(self.environ)
        if provider is not None and server.protocol != SPOKEN[0]:
            text = f"protocol {server.protocol} has another form for a provider of your own"
            raise StartError(f"{text}, which tapui does not know yet: prompts might go elsewhere")
        is_attended = not order.unattended
        given: dict[str, Any] = {
            "model": order.model or model_of(self.environ),
            "clientName": CLIENT_NAME,
            "reasoningEffort": order.effort,
            "systemMessage": {
                "mode": "customize",
                "sections": {name: {"action": "transform"} for name in SECTIONS},
            },
            "requestPermission": True,
            "requestUserInput": True if is_attended else None,
            "requestElicitation": is_attended,
            "requestExitPlanMode": is_attended,
            "workingDirectory": self.folder,
            "streaming": True,
            "provider": provider,
            "agent": order.agent,
            "enableConfigDiscovery": True,
            "enableFileHooks": True,
            "disabledMcpServers": list(self.without),
            "traceparent": order.traceparent,
        }
        if order.infinite is not None:
            given["infiniteSessions"] = {
                "enabled": True,
                "backgroundCompactionThreshold": order.infinite.background,
                "bufferExhaustionThreshold": order.infinite.exhaustion,
            }
        if order.resume is not None:
            given["disableResume"] = True
        else:
            given |= {"name": order.name, "trustWorkingDirectory": "session"}
        session = await server.join_checked(
            self.session_id,
            part,
            {name: value for name, value in given.items() if value is not None},
            partial(self._lacking, given),
            what="start the session",
            method="session.create" if order.resume is None else "session.resume",
            within=CREATE_TIME,
        )
        if order.mode is not None:
            await session.ask("set the mode", "session.mode.set", mode=order.mode)
        return session

    async def _lacking(self, given: Mapping[str, Any], session: CliSession) -> str:
        """Return what of the request the CLI did not understand, as far as it says."""
        if session.ui.get("elicitation", False) is not given["requestElicitation"]:
            return "its hooks, permissions and questions"
        snapshot = await session.ask("ask for its folder", "session.metadata.snapshot")
        if text_of(snapshot, "workingDirectory") != self.folder:
            return "its folder"
        current = await session.ask("ask for its model", "session.model.getCurrent")
        is_other = given["model"] is not None and text_of(current, "modelId") != given["model"]
        return "its model" if is_other else ""


def checked_folder(given: str) -> str:
    """Return a folder without links. Raises `StartError` where it is none."""
    if not given.startswith("/") or "\0" in given or not Path(given).is_dir():
        raise StartError(f"{given} is no folder" if given else "its folder is not known: name one")
    return os.path.realpath(given)


def checked_name(name: str) -> None:
    """Check the name of a new session, as the CLI does. Raises `StartError`."""
    is_plain = name.isprintable() and name == name.strip() and '"' not in name
    if not name or not is_plain:
        raise StartError("a name has no quotes, no line breaks, and no blank at its ends")


def checked_model(order: SessionStart, environ: Mapping[str, str]) -> None:
    """Check that a provider of the person's own gets a model. Raises `StartError`."""
    if provider_of(environ) is not None and not (order.model or model_of(environ)):
        raise StartError("the provider needs a model: name one, or set COPILOT_MODEL")


def checked_effort(order: SessionStart) -> None:
    """Check the reasoning effort, of which the CLI takes any word. Raises `StartError`."""
    if order.effort is not None and order.effort not in EFFORTS:
        raise StartError(f"there is no effort {order.effort}; there are: {', '.join(EFFORTS)}")


_PREFIX = "COPILOT_PROVIDER_"
_PLAIN = {"modelId": "MODEL_ID", "wireModel": "WIRE_MODEL", "transport": "TRANSPORT"}
_NUMBERS = {"maxPromptTokens": "MAX_PROMPT_TOKENS", "maxOutputTokens": "MAX_OUTPUT_TOKENS"}
_NO_KEY = "tapui-sends-no-key-to-this-provider"
"""Stands for the key of a provider that wants none. The CLI masks a key wherever it occurs in its
output: a short one would spoil other words."""


def provider_of(environ: Mapping[str, str]) -> dict[str, Any] | None:
    """Return the provider for a session; None where Copilot's own models are used."""

    def given(name: str) -> str | None:
        return environ.get(_PREFIX + name) or None

    url = given("BASE_URL")
    if url is None:
        return None
    kind = given("TYPE") or "openai"
    provider: dict[str, Any] = {"type": kind, "baseUrl": url}
    if kind != "anthropic":
        provider["wireApi"] = given("WIRE_API") or "completions"
    if (version := given("AZURE_API_VERSION")) is not None and kind == "azure":
        provider["azure"] = {"apiVersion": version}
    for name, variable in _PLAIN.items():
        if (value := given(variable)) is not None:
            provider[name] = value
    for name, variable in _NUMBERS.items():
        value = given(variable)
        if value is not None and value.isdecimal():
            provider[name] = int(value)
    if (headers := given("HEADERS")) is not None:
        provider["headers"] = headers_of(headers)
    if (command := given("API_KEY_COMMAND")) is not None:
        provider["apiKeyCommand"] = command
        return provider
    token = given("BEARER_TOKEN")
    if token is not None:
        provider["bearerToken"] = token
    else:
        provider["apiKey"] = given("API_KEY") or _NO_KEY
    return provider


def headers_of(text: str) -> dict[str, str]:
    """Return HTTP headers, one "Name: value" a line; what is none is left out.

    A backslash and an n end a line as well: the CLI has it so, for shells.
    """
    found = {}
    for line in text.replace("\\n", "\n").splitlines():
        name, is_header, value = line.partition(":")
        if is_header and name.strip():
            found[name.strip()] = value.strip()
    return found


def with_provider(
    environ: Mapping[str, str], *, url: str, kind: str, key: str, headers: str, model: str
) -> dict[str, str]:
    """Return an environment with the provider and the model of the settings, where it has none."""
    found = dict(environ)
    if url and not found.get(f"{_PREFIX}BASE_URL"):
        found |= {f"{_PREFIX}BASE_URL": url, f"{_PREFIX}TYPE": kind}
        if key:
            found[f"{_PREFIX}API_KEY"] = key
        if headers:
            found[f"{_PREFIX}HEADERS"] = headers
    if model and not found.get("COPILOT_MODEL"):
        found["COPILOT_MODEL"] = model
    return found


def with_telemetry(
    environ: Mapping[str, str],
    *,
    endpoint: str,
    exporter: str,
    file: str,
    source: str,
    captures: bool,
) -> dict[str, str]:
    """Return an environment in which the CLI exports its spans as the settings say. Without an
    endpoint and a file it is unchanged."""
    if not (endpoint or file):
        return dict(environ)
    found = dict(environ) | {
        "COPILOT_OTEL_ENABLED": "true",
        "COPILOT_OTEL_EXPORTER_TYPE": exporter or ("otlp-http" if endpoint else "file"),
        "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT": "true" if captures else "false",
    }
    if endpoint:
        found["OTEL_EXPORTER_OTLP_ENDPOINT"] = endpoint
    if file:
        found["COPILOT_OTEL_FILE_EXPORTER_PATH"] = file
    if source:
        found["COPILOT_OTEL_SOURCE_NAME"] = source
    return found


def model_of(environ: Mapping[str, str]) -> str | None:
    return environ.get("COPILOT_MODEL") or None
