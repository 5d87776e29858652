"""What the person sets in a session: model, reasoning effort, name, a smaller context.

Everything here raises `AttachError`, which says why it could not be done.
"""

from typing import TYPE_CHECKING, Any

from tapui.hosts.copilot import sdk
from tapui.hosts.copilot.errors import AttachError
from tapui.wire import limits
from tapui.wire.message import Mode
from tapui.wire.steering import EFFORTS, ModelChoice

if TYPE_CHECKING:
    from copilot import CopilotSession

COMPACT_TIME = 570.0
"""Seconds that a compaction may take: a model writes a summary. The gateway waits longer."""


async def set_mode(session: "CopilotSession", mode: Mode) -> None:
    """Switch the mode, now."""
    from copilot.rpc import ModeSetRequest
    from copilot.session_events import SessionMode

    request = ModeSetRequest(mode=SessionMode(mode))
    result = await sdk.call("switch the mode", session.rpc.mode.set(request))
    if result.confirmation is not None or result.mode_applied is False:
        raise AttachError(
            f"the CLI did not switch to {mode} ({result.message or result.status}): "
            "switch it there (Shift+Tab)"
        )


async def compact(session: "CopilotSession") -> None:
    """Make the context smaller."""
    compacting = session.rpc.history.compact()
    result = await sdk.call("compact the context", compacting, within=COMPACT_TIME)
    if not result.success:
        raise AttachError("compact the context: the CLI could not")


async def switch_model(session: "CopilotSession", model: str) -> bool:
    """Switch to a model; return whether that waits for the turn's end."""
    from copilot.rpc import ModelSwitchToRequest

    known = [one.id for one in await models(session)]
    if known and model not in known:
        raise AttachError(f"there is no model {model}; there are: {', '.join(known)}")
    switching = session.rpc.model.switch_to(ModelSwitchToRequest(model_id=model))
    result = await sdk.call("switch the model", switching)
    if result.confirmation is not None:
        raise AttachError("the context is too large for it: choose it in the CLI (/model)")
    return result.deferred is True


async def set_effort(session: "CopilotSession", effort: str) -> None:
    """Set the reasoning effort, which must be one that the model knows."""
    from copilot.rpc import ModelSetReasoningEffortRequest

    current = await sdk.call("ask for the model", session.rpc.model.get_current())
    listed = await models(session)
    of_model = next((one.efforts for one in listed if one.id == current.model_id), None)
    known = of_model or EFFORTS  # the CLI itself takes any word
    if effort not in known:
        raise AttachError(f"there is no effort {effort}; there are: {', '.join(known)}")
    request = ModelSetReasoningEffortRequest(reasoning_effort=effort)
    setting = session.rpc.model.set_reasoning_effort(request)
    await sdk.call("set the reasoning effort", setting)


async def rename(session: "CopilotSession", name: str) -> None:
    """Give the session another name."""
    from copilot.rpc import NameSetRequest

    await sdk.call("rename the session", session.rpc.name.set(NameSetRequest(name=name)))


async def models(session: "CopilotSession") -> list[ModelChoice]:
    """Return the models that the session can be switched to; none where the CLI names none."""
    listed = await sdk.call("ask for the models", session.rpc.model.list())
    return _choices(listed.list)


def _choices(listed: Any) -> list[ModelChoice]:
    """Return the models that the CLI tells; what is not as it should be is left out."""
    choices = []
    for one in listed:
        about = one if isinstance(one, dict) else {}
        id_, name = about.get("id"), about.get("name")
        if not isinstance(id_, str) or len(id_) > limits.MAX_ID:
            continue
        efforts = about.get("supportedReasoningEfforts")
        known = [str(effort) for effort in efforts] if isinstance(efforts, list) else None
        shown = name[: limits.MAX_ID] if isinstance(name, str) else None
        choices.append(ModelChoice(id_, shown, known[: limits.MAX_ABILITIES] if known else None))
    return choices[: limits.MAX_MODELS]
