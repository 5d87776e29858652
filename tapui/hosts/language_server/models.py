"""The models that the server offers to agents (`copilot/models`), and the one of a conversation.

Each turn names its model: the server has no default of its own.
"""

from dataclasses import dataclass
from typing import Any

from tapui.hosts.language_server.server import ServerError
from tapui.wire import limits
from tapui.wire.steering import ModelChoice

METHOD = "copilot/models"
_SCOPE = "agent-panel"
"""The server's word for models that can call tools."""
_OFF = frozenset({"disabled", "unconfigured"})


@dataclass(frozen=True, slots=True)
class OfferedModels:
    """Models as the server lists them; `default` is its own choice, "" for none."""

    choices: list[ModelChoice]
    default: str


def offered(answer: Any) -> OfferedModels:
    """Read the server's answer; what has another shape is left out."""
    choices, marked = [], []
    for one in answer if isinstance(answer, list) else ():
        choice = _choice(one)
        if choice is not None:
            choices.append(choice)
            if one.get("isChatDefault") is True:
                marked.append(choice.id)
    default = next(iter([*marked, *(one.id for one in choices)]), "")
    return OfferedModels(choices[: limits.MAX_MODELS], default)


def _choice(one: Any) -> ModelChoice | None:
    if not isinstance(one, dict):
        return None
    id_, name = one.get("id"), one.get("modelName")
    scopes, policy = one.get("scopes"), one.get("modelPolicy")
    if not isinstance(id_, str) or not 0 < len(id_) <= limits.MAX_ID:
        return None
    if not isinstance(scopes, list) or _SCOPE not in scopes:
        return None
    if isinstance(policy, dict) and policy.get("state") in _OFF:
        return None
    shown = name[: limits.MAX_ID] if isinstance(name, str) else None
    return ModelChoice(id_, shown)


def checked(model: str, found: OfferedModels) -> str:
    """Return a model's name, which may be one of another provider, as `PROVIDER/ID`.

    Raises `ServerError` for one that the server does not offer.
    """
    known = [one.id for one in found.choices]
    if "/" not in model and known and model not in known:
        raise ServerError(f"there is no model {model}; there are: {', '.join(known)}")
    return model


def info(model: str) -> dict[str, str]:
    """Return a model as a turn names it."""
    provider, _, id_ = model.rpartition("/")
    return {"id": id_, "providerName": provider} if provider else {"id": model}
