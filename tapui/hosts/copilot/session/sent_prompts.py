"""Who had prompts sent through this host: the CLI tells of all of them as of the user's."""

from collections import OrderedDict, deque
from dataclasses import dataclass

_REMEMBERED = 100
"""So many texts are awaited as prompts; the oldest is forgotten beyond that."""


@dataclass(frozen=True, slots=True)
class Sent:
    """Who had a prompt sent: a provider, or the person at a tower."""

    by: str
    is_person: bool


class SentPrompts:
    """The texts that were sent into a session and have not become its prompts yet."""

    def __init__(self) -> None:
        self._awaited: OrderedDict[str, deque[Sent]] = OrderedDict()
        """By text, in the order in which they were sent."""

    def by_provider(self, prompt: str, provider: str = "") -> None:
        """Note a prompt that is sent for a provider."""
        self._note(prompt, Sent(provider, is_person=False))

    def by_person(self, text: str, tower: str) -> None:
        """Note a text that is sent for the person, who is at a tower."""
        self._note(text, Sent(tower, is_person=True))

    def withdraw(self, text: str) -> None:
        """Forget a text of the person: it will not become a prompt."""
        sent = self._awaited.get(text)
        mine = next((one for one in sent or () if one.is_person), None)
        if sent is not None and mine is not None:
            sent.remove(mine)
            if not sent:
                del self._awaited[text]

    def take(self, text: str) -> Sent | None:
        """Return who had a prompt sent that the session has now; None where nobody had."""
        sent = self._awaited.get(text)
        if sent is None:
            return None
        first = sent.popleft()
        if not sent:
            del self._awaited[text]
        return first

    def _note(self, text: str, sent: Sent) -> None:
        self._awaited.setdefault(text, deque()).append(sent)
        if len(self._awaited) > _REMEMBERED:
            self._awaited.popitem(last=False)
