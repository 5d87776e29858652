"""The entry point: finds the command, runs it, and turns every way to end into an exit code."""

import io
import os
import sys
from collections.abc import Sequence

from tapui import update
from tapui.cli.failure import FAILED, INTERRUPTED, NO_GATEWAY, WRONG_USE, Failure, silence


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command line and return its exit code.

    0 done, 1 failed, 2 wrong use or no terminal, 3 no gateway, 130 interrupted. A reader that
    closes the pipe early has read enough: that is 0. Faults are printed on stderr, never as a
    traceback, unless `TAPUI_DEBUG` is set.
    """
    update.watch()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    try:
        code = _run(list(sys.argv[1:] if argv is None else argv))
    except KeyboardInterrupt:
        code = INTERRUPTED
    except BrokenPipeError:
        code = 0
    except update.UpdatedError as error:  # what tells faults may be gone as well
        sys.stderr.write(f"tapui: {error}\n")
        code = FAILED
    except SystemExit as end:  # argparse ends so after its help, and after wrong use
        code = end.code if isinstance(end.code, int) else FAILED
    return _flushed(code)


def _run(argv: list[str]) -> int:
    from tapui.cli.parser import parse

    try:
        args = parse(argv)
        code: int = args.run(args)
    except (BrokenPipeError, update.UpdatedError):
        raise
    except Failure as error:
        return _told(str(error), error.code)
    except Exception as error:
        if os.environ.get("TAPUI_DEBUG"):
            raise
        return _known_fault(error)
    return code


def _known_fault(error: Exception) -> int:
    from tapui.client.gateways import GatewayError, NoGateway, Refused
    from tapui.settings.loading import ConfigError

    if isinstance(error, ConfigError):
        return _told(str(error), WRONG_USE)
    if isinstance(error, NoGateway):
        return _told(str(error), NO_GATEWAY)
    if isinstance(error, Refused) and error.code == "UNAUTHORIZED":
        return _told("\n".join([str(error), *_other_settings()]), FAILED)
    if isinstance(error, GatewayError):
        return _told(str(error), FAILED)
    if isinstance(error, OSError):
        where = f"{error.filename}: " if error.filename else ""
        return _told(f"{where}{error.strerror or error}", FAILED)
    return _told(
        f"internal error: {type(error).__name__}: {error}\nset TAPUI_DEBUG=1 to see where", FAILED
    )


def _other_settings() -> list[str]:
    """Return which gateways go by other settings than the files have now: what was refused may be
    allowed there."""
    import argparse

    from tapui.cli.context import loaded, other_settings
    from tapui.settings.loading import ConfigError

    try:
        found = loaded(argparse.Namespace())
        return [f"{told}; apply these with {line}" for told, line in other_settings(found)]
    except (ConfigError, OSError):
        return []  # the same refusal comes later, with its reason


def _told(text: str, code: int) -> int:
    """Tell a fault, after what was printed before it."""
    from tapui.cli.output import fail

    code = _flushed(code)
    fail(text)
    return code


def _flushed(code: int) -> int:
    """Let what was printed leave; a full disk is a failure, a reader that has gone is none."""
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        silence(sys.stdout)
    except OSError as error:
        silence(sys.stdout)
        return _told(f"stdout: {error.strerror}", code or FAILED)
    return code


if __name__ == "__main__":
    sys.exit(main())
