"""How a session is joined: a person's is resumed beside them, others are made."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

from tapui.hosts.copilot import sdk

if TYPE_CHECKING:
    from copilot import CopilotClient, CopilotSession
    from copilot.session import (
        PermissionNoResult,
        SectionOverride,
        SessionHooks,
        SystemMessageSection,
    )
    from copilot.session_events import SessionEvent as CopilotEvent


class Joining(Protocol):
    """How a session is joined where it is no person's: it is made, say."""

    async def __call__(
        self,
        client: "CopilotClient",
        *,
        hooks: "SessionHooks",
        sections: "dict[SystemMessageSection, SectionOverride]",
        on_event: "Callable[[CopilotEvent], None]",
    ) -> "CopilotSession":
        """Join it. Raises `AttachError`."""


async def join(
    client: "CopilotClient",
    session_id: str,
    *,
    hooks: "SessionHooks",
    on_event: "Callable[[CopilotEvent], None]",
    by_extension: bool,
) -> "CopilotSession":
    """Join a person's session, without tools. Raises `AttachError`."""
    sdk.check_connected(client)
    return await sdk.call(
        "attach to the session",
        client.resume_session(
            session_id,
            tools=[],
            hooks=hooks,
            suppress_resume_event=True,
            include_sub_agent_streaming_events=False,
            on_event=on_event,
            # An extension hears of permissions, and may answer them, only if it handles them;
            # the CLI asks the person all the same. Elsewhere a handler takes their dialog away.
            on_permission_request=left_open if by_extension else None,
        ),
    )


def left_open(_request: object, _invocation: object) -> "PermissionNoResult":
    """Leave a permission request to whoever answers it: the person there, or `Permissions`."""
    from copilot.session import PermissionNoResult

    return PermissionNoResult()
