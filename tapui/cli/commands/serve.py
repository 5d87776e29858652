"""`tapui serve`: the gateway without a screen, here or in the background."""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from tapui.cli import output
from tapui.cli.arguments import CommandParser, add_attach, add_port
from tapui.cli.context import home, options
from tapui.cli.failure import Failure
from tapui.invocation import command
from tapui.text import safe_text

COMMANDS = """
10 serve: run the gateway without a screen
"""

READY_WITHIN = 30.0
"""Seconds that a gateway in the background may take to be ready."""
_POLL = 0.05
_LOG_SHOWN = 4096
_LOGS_KEPT = 10


def arguments(serve: CommandParser) -> None:
    serve.runs(
        run,
        "It stays until `tapui stop`, SIGTERM or Ctrl-C. With --json it prints one line\n"
        "when it is ready:\n"
        '  {"event":"ready","url":...,"pid":...,"tokenFile":...,"internalTokenFile":...}',
    )
    add_attach(serve)
    add_port(serve, "the gateway's port (9400); 0 takes a free one")
    serve.add_argument("--json", action="store_true", help="print one line of JSON when ready")
    serve.add_argument(
        "--detach",
        action="store_true",
        help="run in the background; returns when the gateway is ready",
    )
    serve.add_argument(
        "--exit-when-idle",
        action="store_true",
        help="end 30 s after the last session ended",
    )


def run(args: argparse.Namespace) -> int:
    """Serve until stopped; with `--detach`, return when the gateway in the background is ready."""
    from tapui.cli.person import refuse_agents

    chosen = options(args)
    refuse_agents(args)
    if args.detach:
        return _detach(args)
    from tapui.station import headless

    return headless.run(chosen)


def _detach(args: argparse.Namespace) -> int:
    log = _new_log()
    with log.open("wb") as file:
        process = subprocess.Popen(
            _argv(args),
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    ready = _wait(process, log)
    if ready is None:
        code = process.returncode
        text = _end_of(log) or f"the gateway ended with exit code {code}, and said nothing"
        sys.stderr.write(text if text.endswith("\n") else f"{text}\n")
        log.unlink()
        return code if code in (1, 2) else 1
    if args.json:
        output.say_json(ready)
    else:
        output.say(f"serving {ready['url']} (pid {ready['pid']})")
        output.note(f"`{command('stop')}` ends it; log: {output.path_text(log)}")
    return 0


def _argv(args: argparse.Namespace) -> list[str]:
    """Return the same command for the background: in the foreground there, with its ready line."""
    # By its own script where there is one, so that its hints name that.
    is_script = Path(sys.argv[0]).is_file() and Path(sys.argv[0]).name == "tapui"
    program = [sys.argv[0]] if is_script else ["-P", "-m", "tapui"]
    argv = [sys.executable, *program, "serve", "--json"]
    if hasattr(args, "port"):
        argv += ["--port", str(args.port)]
    if hasattr(args, "attach"):
        argv += ["--attach", str(args.attach)] if args.attach else ["--attach"]
    if hasattr(args, "no_attach"):
        argv.append("--no-attach")
    if args.exit_when_idle:
        argv.append("--exit-when-idle")
    return argv


def _new_log() -> Path:
    folder = home().state / "log"
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    logs = sorted(folder.glob("serve-*.log"), key=lambda log: log.stat().st_mtime)
    for log in logs[: -(_LOGS_KEPT - 1)]:
        log.unlink(missing_ok=True)
    handle, name = tempfile.mkstemp(prefix="serve-", suffix=".log", dir=folder)
    os.close(handle)
    return Path(name)


def _wait(process: "subprocess.Popen[bytes]", log: Path) -> dict[str, Any] | None:
    """Return the ready line, or None when the process ended without one."""
    deadline = time.monotonic() + READY_WITHIN
    while True:
        has_ended = process.poll() is not None
        if (ready := _ready_line(log)) is not None:
            return ready
        if has_ended:
            return None
        if time.monotonic() > deadline:
            process.terminate()
            process.wait()
            raise Failure(f"the gateway was not ready after {READY_WITHIN:g} s:\n{_end_of(log)}")
        time.sleep(_POLL)


def _ready_line(log: Path) -> dict[str, Any] | None:
    for line in log.read_bytes().splitlines(keepends=True):
        if line.startswith(b"{") and line.endswith(b"\n"):
            try:
                found = json.loads(line)
            except ValueError:
                continue  # some other line that begins with a brace
            if found.get("event") == "ready":
                return dict(found)
    return None


def _end_of(log: Path) -> str:
    text = log.read_bytes()[-_LOG_SHOWN:].decode("utf-8", "replace").strip()
    return safe_text(text, newlines=True)
