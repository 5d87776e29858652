"""A session of our own server: made, or gone on with, in the words of the SDK."""

import asyncio
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tapui.hosts.copilot import sdk
from tapui.hosts.copilot.errors import AttachError
from tapui.hosts.copilot.own.own_model import model_of, provider_of
from tapui.hosts.copilot.session.joining import left_open
from tapui.wire.message import Mode
from tapui.wire.steering import SessionStart, StartProblem

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
    """Check that a provider of the person's own is told a model. Raises `StartError`."""
    if provider_of(environ) is not None and not (order.model or model_of(environ)):
        raise StartError("the provider needs a model: name one, or set COPILOT_MODEL")
