"""The entry point: finds the command, runs it, and turns every way to end into an exit code."""

import contextlib
import importlib
import io
import os
import sys
from collections.abc import Sequence

from tapui.cli.failure import FAILED, INTERRUPTED, NO_GATEWAY, WRONG_USE, Failure


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command line and return its exit code.

    0 done, 1 failed, 2 wrong use or no terminal, 3 no gateway, 130 interrupted. A reader that
    closes the pipe early has read enough: that is 0. Faults are told on stderr, never as a
    traceback, unless `TAPUI_DEBUG` is set.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    try:
        code = _run(list(sys.argv[1:] if argv is None else argv))
        sys.stdout.flush()
    except KeyboardInterrupt:
        code = INTERRUPTED
    except BrokenPipeError:
        code = 0
        _silence(sys.stdout)
    except SystemExit as end:
        code = _flushed(end)
    return code


def _run(argv: list[str]) -> int:
    if argv[:1] == ["copilot"] and argv[1:2] not in (["-h"], ["--help"]):
        # Everything after the word belongs to Copilot, options too.
        argv = ["copilot", "--", *argv[2 if argv[1:2] == ["--"] else 1 :]]
    from tapui.cli import parser

    args = parser.build().parse_args(argv)
    try:
        command = importlib.import_module(f"tapui.cli.{args.command}")
        code: int = command.run(args)
    except BrokenPipeError:
        raise
    except Failure as error:
        return _told(str(error), error.code)
    except Exception as error:
        if os.environ.get("TAPUI_DEBUG"):
            raise
        return _known_fault(error)
    return code


def _known_fault(error: Exception) -> int:
    """Tell an error that a command let through."""
    from tapui.cli.config import ConfigError
    from tapui.client.errors import GatewayError, NoGateway

    if isinstance(error, ConfigError):
        return _told(str(error), WRONG_USE)
    if isinstance(error, NoGateway):
        return _told(str(error), NO_GATEWAY)
    if isinstance(error, GatewayError):
        return _told(str(error), FAILED)
    if isinstance(error, OSError):
        where = f"{error.filename}: " if error.filename else ""
        return _told(f"{where}{error.strerror or error}", FAILED)
    return _told(
        f"internal error: {type(error).__name__}: {error}\nset TAPUI_DEBUG=1 to see where", FAILED
    )


def _told(text: str, code: int) -> int:
    from tapui.cli.output import fail

    with contextlib.suppress(BrokenPipeError):
        sys.stdout.flush()
    fail(text)
    return code


def _flushed(end: SystemExit) -> int:
    """Return the exit code of argparse, which prints help and ends by itself."""
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        _silence(sys.stdout)
    return end.code if isinstance(end.code, int) else FAILED


def _silence(stream: object) -> None:
    """Send what is still buffered to nowhere, so that the interpreter's exit stays quiet."""
    if isinstance(stream, io.TextIOWrapper):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)


if __name__ == "__main__":
    sys.exit(main())
