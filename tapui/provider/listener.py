"""Who hears what becomes of a provider."""

from tapui.wire.message import ActiveSession


class Listener:
    """Hears what becomes of a provider, in words for the person. All of it may be overridden."""

    def waiting(self, why: str) -> None:
        """It is not bound, and tries again by itself."""

    def bound(self, sessions: list[ActiveSession]) -> None:
        """It is in these sessions now."""

    def noticed(self, text: str) -> None:
        """The gateway has refused something, or does not do a part of it."""
