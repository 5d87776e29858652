"""Sections of the system prompt and contexts: what a provider may change of a prompt.

Provider Interface v2 "Protected prompt sections", "Transform rules".
"""

from collections.abc import Iterable, Mapping

from tapui.core.hooks.wanted import HookSet
from tapui.core.model import ConnectedProvider, OpenSession
from tapui.core.trust.grants import Capability, Grant, require
from tapui.wire import limits
from tapui.wire.errors import ErrorCode, WireError
from tapui.wire.provider import Transform

PROTECTED_SECTIONS = frozenset({"safety", "identity"})


def check_transforms(transforms: dict[str, Transform | None]) -> None:
    """Check transforms by themselves.

    Raises `WireError`: `INVALID_JSON` for one without content, `UNAUTHORIZED` for a protected
    section that is not only appended to.
    """
    for section, transform in transforms.items():
        if transform is None:
            continue
        if transform.action != "callback" and transform.content is None:
            raise WireError(ErrorCode.INVALID_JSON, f"transforms.{section}.content: missing")
    for section, transform in transforms.items():
        if transform and section in PROTECTED_SECTIONS and transform.action != "append":
            raise WireError(ErrorCode.UNAUTHORIZED, f"section '{section}' can only be appended to")


def require_transforms(grant: Grant, transforms: Mapping[str, Transform | None]) -> None:
    """Check what a token allows of transforms. Raises `WireError` (`UNAUTHORIZED`)."""
    if any(one is not None and one.action != "append" for one in transforms.values()):
        require(grant, Capability.TRANSFORMS)


def check_room(hooks: HookSet, changes: Mapping[str, Transform | None]) -> None:
    """Check that a provider changes not too many sections, one update after the other, nor with
    too much text.

    Raises `WireError` (`PAYLOAD_TOO_LARGE`).
    """
    given = {section: one for section, one in changes.items() if one is not None}
    texts = [one.content or "" for one in (hooks.transforms | given).values()]
    if sum(map(len, texts)) > limits.MAX_DECLARED_BYTES:
        raise WireError(
            ErrorCode.PAYLOAD_TOO_LARGE,
            f"transforms: at most {limits.MAX_DECLARED_BYTES:,} characters together",
        )
    if len(texts) > limits.MAX_SECTIONS:
        raise WireError(
            ErrorCode.PAYLOAD_TOO_LARGE,
            f"transforms: a provider may change at most {limits.MAX_SECTIONS} sections",
        )


def section_warnings(provider: ConnectedProvider, sessions: Iterable[OpenSession]) -> list[str]:
    """Return what to tell a provider whose transforms have no effect in some of the sessions."""
    texts = []
    without = provider.sessions_without_sections()
    for session in sessions:
        if session in without:
            is_sure = session.applies_sections is False
            has, does = ("have", "apply") if is_sure else ("may have", "say that it applies")
            texts.append(
                f"transforms {has} no effect in session {session.id}: its host "
                f"'{session.view.host}' does not {does} changed sections of the system prompt"
            )
    return texts


def check_context(text: str | None, field_name: str) -> None:
    """Check the length of a context. Raises `WireError` (`PAYLOAD_TOO_LARGE`)."""
    if text is not None and len(text) > limits.MAX_CONTEXT:
        raise WireError(
            ErrorCode.PAYLOAD_TOO_LARGE,
            f"{field_name}: at most {limits.MAX_CONTEXT} characters",
        )
