"""How a command ends without success: the exit codes, its one error, and a reader that has gone."""

import os
from typing import TextIO

FAILED = 1
WRONG_USE = 2
NO_GATEWAY = 3
UNTRUSTED = 4
DENIED = 5
UNPROVEN = 6
INTERRUPTED = 130


class Failure(Exception):  # noqa: N818 - a command that failed, not a fault in it
    """The command cannot do what was asked; the text is for the person, the code for the shell."""

    def __init__(self, text: str, code: int = FAILED) -> None:
        super().__init__(text)
        self.code = code


def silence(stream: TextIO) -> None:
    """Send the stream, and what is still in its buffer, to nowhere: its reader has gone."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)
