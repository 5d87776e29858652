"""What can go wrong between a host and the CLI that it attaches to."""

NO_CLI = "Copilot CLI was not found on PATH; install it with: npm install -g @github/copilot"


class AttachError(Exception):
    """A session cannot be reached, or a call to the CLI failed; the text says what to do."""


class UnknownMethodError(AttachError):
    """The CLI does not know what it was asked: it is of another version."""


class NoAnswerError(AttachError):
    """The CLI did not answer in time; it may be stopped, and the connection may still be good."""


class NoCliError(AttachError):
    """There is no Copilot CLI to start."""
