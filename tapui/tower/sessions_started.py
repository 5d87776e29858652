"""The sessions that the person starts here: what became of each, and the draft of the next."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import count

from tapui.projection.feed import FeedItem, Link
from tapui.wire.message import Error, Message, Mode
from tapui.wire.starting import SessionStart, SessionStarted


@dataclass(frozen=True, slots=True)
class StartDraft:
    """What the person wrote of a session to be started."""

    folder: str = ""
    prompt: str = ""
    model: str = ""
    mode: Mode | None = None


OnStarted = Callable[[StartDraft, SessionStarted], None]
"""Is told what became of a start."""


class SessionsStarted:
    """Starts sessions over the tower's link. `told` is told how each start ended."""

    def __init__(self, send: Callable[[Message], None], told: OnStarted) -> None:
        self._send = send
        self._told = told
        self._ids = count(1)
        self._asked: dict[str, StartDraft] = {}
        self.draft = StartDraft()
        """What was written last and did not become a session."""

    def start(self, draft: StartDraft, *, trust_folder: bool = False) -> None:
        """Start a session."""
        id_ = f"start-{next(self._ids)}"
        self._asked[id_] = self.draft = draft
        self._send(
            SessionStart(
                id_,
                folder=draft.folder,
                prompt=draft.prompt or None,
                model=draft.model or None,
                mode=draft.mode,
                trust_folder=trust_folder,
            )
        )

    def take(self, item: FeedItem) -> None:
        """Take what the feed yields."""
        match item:
            case SessionStarted(id=id_):
                self._ended(id_, item)
            case Error(id=str(id_), reply_to="session.start"):
                self._asked.pop(id_, None)  # the refusal itself is told as any other
            case Link(state=state) if state != "up":
                self._asked.clear()
            case _:
                pass

    def _ended(self, id_: str, answer: SessionStarted) -> None:
        draft = self._asked.pop(id_, None)
        if draft is None:
            return
        if answer.session_id is not None and self.draft == draft:
            self.draft = replace(draft, prompt="")
        self._told(draft, answer)
