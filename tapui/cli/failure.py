"""The exit codes, and the one error with which a command ends itself."""

FAILED = 1
WRONG_USE = 2
NO_GATEWAY = 3
UNTRUSTED = 4
DENIED = 5
INTERRUPTED = 130


class Failure(Exception):  # noqa: N818 - a command that failed, not a fault in it
    """The command cannot do what was asked; the text is for the person, the code for the shell."""

    def __init__(self, text: str, code: int = FAILED) -> None:
        super().__init__(text)
        self.code = code
