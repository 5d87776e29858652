"""What fails a test: refusals of the gateway, exceptions, answers that stay out."""

import traceback
from collections import Counter

from tapui.text import safe_text
from tapui.wire.message import Error

_MOST_NOTES = 10
"""Other faults that are noted with the first."""


class ProviderFault(AssertionError):  # noqa: N818 - a failed test shows this name
    """The provider did something that its users would suffer from."""


class CallFailed(AssertionError):  # noqa: N818 - likewise
    """The test read the data of a call that has none: it failed."""


class NoAnswer(AssertionError):  # noqa: N818 - likewise
    """Something that the test waits for has not come within its patience."""


class Faults:
    """Keeps what went wrong until the test comes by, and fails it then."""

    def __init__(self) -> None:
        self._found: list[ProviderFault] = []

    def refused(self, error: Error) -> None:
        """The gateway refused a message of the provider."""
        what = f"its {error.reply_to}" if error.reply_to else "a message of it"
        self.add(f"the gateway refused {what}: {error.code}: {safe_text(error.message)}")

    def add(self, words: str, cause: BaseException | None = None) -> None:
        """Keep a fault; `cause` is shown with it."""
        fault = ProviderFault(words)
        fault.__cause__ = cause
        self._found.append(fault)

    def take(self) -> list[ProviderFault]:
        """Hand over what was found since the last time."""
        found, self._found = self._found, []
        return found

    def check(self) -> None:
        """Raise the first fault; the others are noted with it."""
        found = self.take()
        if found:
            others = Counter(str(other) for other in found[1:])
            for words, times in others.most_common(_MOST_NOTES):
                found[0].add_note(f"and: {words}" + (f" ({times} times)" if times > 1 else ""))
            raise found[0]


def in_a_line(error: BaseException) -> str:
    """Return an exception as the last line of its traceback has it, and what it came from."""
    line = traceback.format_exception_only(error)[0].strip()
    return line if error.__cause__ is None else f"{line} ({in_a_line(error.__cause__)})"
