"""A session of our own server: made, or resumed, with the person's own model provider (BYOK).

The provider is needed twice: in the environment of the CLI's process, and by the session in the
SDK's words.
"""

import asyncio
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tapui.hosts.copilot import sdk
from tapui.hosts.copilot.sdk import AttachError, left_open
from tapui.wire.message import Mode
from tapui.wire.steering import EFFORTS, SessionStart, StartProblem

if TYPE_CHECKING:
    from copilot import CopilotClient, CopilotSession
    from copilot.session import SectionOverride, SessionHooks, SystemMessageSection
    from copilot.session_events import SessionEvent as CopilotEvent

CLIENT_NAME = "tapui"
"""By which the CLI's lists name such sessions."""
CREATE_TIME = 60.0
"""Seconds that making a session may take: MCP servers of the folder start with it."""


class StartError(AttachError):
    """A session cannot be started; the text says what to do."""

    def __init__(self, text: str, problem: StartProblem = "failed") -> None:
        super().__init__(text)
        self.problem = problem


@dataclass(frozen=True, slots=True)
class OwnSession:
    """How one session is joined: called by `AttachedSession` with the client of our server.

    The MCP servers `without` do not start with it.
    """

    session_id: str
    folder: str
    order: SessionStart
    environ: Mapping[str, str]
    without: Sequence[str] = ()

    async def __call__(
        self,
        client: "CopilotClient",
        *,
        hooks: "SessionHooks",
        sections: "dict[SystemMessageSection, SectionOverride]",
        on_event: Callable[["CopilotEvent"], None],
    ) -> "CopilotSession":
        """Make the session, or resume it. Raises `AttachError`."""
        order = self.order
        given: dict[str, Any] = {
            "working_directory": self.folder,
            "client_name": CLIENT_NAME,
            "model": order.model or model_of(self.environ),
            "provider": provider_of(self.environ),
            "streaming": True,
            "include_sub_agent_streaming_events": False,
            "enable_config_discovery": True,
            "enable_file_hooks": True,
            "disabled_mcp_servers": list(self.without),
            "tools": [],
            "hooks": hooks,
            "system_message": {"mode": "customize", "sections": sections},
            "on_event": on_event,
            "on_permission_request": left_open,
        }
        if order.agent is not None:
            given["agent"] = order.agent
        if order.effort is not None:
            given["reasoning_effort"] = order.effort
        if order.infinite is not None:
            given["infinite_sessions"] = {
                "enabled": True,
                "background_compaction_threshold": order.infinite.background,
                "buffer_exhaustion_threshold": order.infinite.exhaustion,
            }
        if not order.unattended:
            given |= {
                "on_user_input_request": _never,
                "on_exit_plan_mode_request": _never,
                "on_elicitation_request": _never,
            }
        sdk.check_connected(client)
        if order.resume is not None:
            making = client.resume_session(order.resume, suppress_resume_event=True, **given)
        else:
            making = client.create_session(
                session_id=self.session_id,
                name=order.name,
                trust_working_directory="session",
                **given,
            )
        with sdk.trace_context(order.traceparent):
            session = await sdk.call("start the session", making, within=CREATE_TIME)
        if order.mode is not None:
            await _set_mode(session, order.mode)
        return session


async def _set_mode(session: "CopilotSession", mode: Mode) -> None:
    from copilot.rpc import ModeSetRequest
    from copilot.session_events import SessionMode

    request = ModeSetRequest(mode=SessionMode(mode))
    await sdk.call("set the mode", session.rpc.mode.set(request))


async def _never(_request: Any, _invocation: Any = None) -> Any:
    """Answer nothing here: questions, too, are answered by their id. The CLI then gives this up
    with the session."""
    await asyncio.Event().wait()


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
    provider: dict[str, Any] = {"type": kind, "base_url": url}
    if kind != "anthropic":
        provider["wire_api"] = given("WIRE_API") or "completions"
    if (version := given("AZURE_API_VERSION")) is not None and kind == "azure":
        provider["azure"] = {"api_version": version}
    for name in ("model_id", "wire_model", "transport"):
        if (value := given(name.upper())) is not None:
            provider[name] = value
    for name in ("max_prompt_tokens", "max_output_tokens"):
        value = given(name.upper())
        if value is not None and value.isdecimal():
            provider[name] = int(value)
    if (headers := given("HEADERS")) is not None:
        provider["headers"] = headers_of(headers)
    if (command := given("API_KEY_COMMAND")) is not None:
        provider["api_key_command"] = command
        return provider
    token = given("BEARER_TOKEN")
    if token is not None:
        provider["bearer_token"] = token
    else:
        provider["api_key"] = given("API_KEY") or _NO_KEY
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
    """Return an environment in which the CLI exports its spans as the settings say: the variables
    that the SDK makes of a `TelemetryConfig`. Without an endpoint and a file it is unchanged."""
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
