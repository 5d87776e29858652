"""tapui as a process: `tapui serve` without a screen, and the command line."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import msgspec

from tapui.client import gateways
from tapui.client.glance import glance
from tapui.home.local_socket import SOCKET_FILE
from tapui.home.run_folder import GatewayFile
from tests.rig import faults
from tests.rig.waiting import HUNG, until


def tapui_argv(*args: str) -> list[str]:
    """Return the command line that runs this environment's `tapui` with `args`."""
    script = Path(sys.executable).with_name("tapui")
    if script.exists():
        return [str(script), *args]
    return [sys.executable, "-m", "tapui.cli.main", *args]


ANYBODY = '[approvals]\ncommand-line = "always"\n'
"""Settings: commands of a test have no terminal of a person, and are taken with this."""


@dataclass(frozen=True)
class Home:
    """The scratch folders of one tapui: nothing of the person's own is read or written.

    Errors in the logs of its processes fail the test that caused them (`tests.rig.faults`).
    `user` is the HOME of its processes, with `.copilot`; by default `root`.
    """

    root: Path
    user: Path | None = None

    def __post_init__(self) -> None:
        faults.follow(self.root, "serve-*.err", "tapui/**/*.log*")

    @property
    def tapui(self) -> Path:
        """What `TAPUI_HOME` names."""
        return self.root / "tapui"

    @property
    def copilot(self) -> Path:
        """What `COPILOT_HOME` names."""
        return (self.user or self.root) / ".copilot"

    def settle(self, settings: str) -> None:
        """Add a table to the person's settings, unless it is there."""
        file = self.tapui / "config.toml"
        found = file.read_text() if file.exists() else ""
        if settings not in found:
            self.tapui.mkdir(mode=0o700, parents=True, exist_ok=True)
            file.write_text(f"{found}{settings}")

    def env(self, **more: str) -> dict[str, str]:
        """Return the whole environment of a tapui process in this home."""
        return {
            "HOME": str(self.user or self.root),
            "TAPUI_HOME": str(self.tapui),
            "COPILOT_HOME": str(self.copilot),
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
            "LANG": "C.UTF-8",
            "TERM": "xterm-256color",
            **more,
        }

    def state(self) -> dict[str, Any]:
        """The state of the gateway that runs, as `tapui status --json` has it; empty without one.

        It is asked for from here: a process for each look at what is waited for takes half a core.
        """
        for file in self.tapui.glob("run/*/gateway.json"):
            try:
                found = gateways.found_in(msgspec.json.decode(file.read_bytes(), type=GatewayFile))
                state = glance(found, name="a test", seconds=HUNG).state
            except (OSError, msgspec.DecodeError, gateways.NoGateway, gateways.GatewayLost):
                continue  # it begins, or it has ended
            told: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(state))
            return told
        return {}

    def listed(self, name: str) -> list[dict[str, Any]]:
        """Wait until the state has entries under this name; return them.

        An empty list is not sent, and a gateway that has no time for another client sends nothing.
        """
        return until(lambda: self.state().get(name), what=lambda: f"{name}: {self.state()}")

    def run(
        self,
        *args: str,
        within: float = HUNG,
        env: Mapping[str, str] | None = None,
        cwd: str | None = None,
    ) -> "subprocess.CompletedProcess[str]":
        """Run `tapui` with `args` to its end, without a terminal."""
        done = subprocess.run(
            tapui_argv(*args),
            cwd=cwd,
            env=dict(env or self.env()),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=within,
            check=False,
        )
        for fault in faults.errors_in(done.stderr, f"tapui {' '.join(args)}"):
            faults.note(fault)
        return done


TAKES = '[approvals]\nnew-terminals = "take"\n'
"""Settings: shells of terminals are taken as if the person had let them in."""
PERSON = {"TAPUI_APPROVALS_COMMAND_LINE": "person"}
"""The environment of a gateway that takes what the person sends alone."""


class Gateway:
    """A `tapui serve` process that is ready; used as a context manager.

    `args` go behind `serve --port N --json`; the port is a free one unless it is given.
    """

    def __init__(
        self,
        home: Home,
        *args: str,
        port: int = 0,
        env: Mapping[str, str] | None = None,
        within: float = HUNG,
    ) -> None:
        home.root.mkdir(parents=True, exist_ok=True)
        if env is None or not env.items() >= PERSON.items():
            home.settle(ANYBODY)
        self.home = home
        stem = f"serve-{len(list(home.root.glob('serve-*.out')))}"
        self._out = home.root / f"{stem}.out"
        self._err = home.root / f"{stem}.err"
        with self._out.open("wb") as out, self._err.open("wb") as err:
            self._process = subprocess.Popen(
                tapui_argv("serve", "--port", str(port), "--json", *args),
                env={**home.env(), **(env or {})},
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                start_new_session=True,
            )
        try:
            self.ready: dict[str, Any] = self._wait_ready(within)
        except BaseException:
            self.kill()
            raise

    def _wait_ready(self, within: float) -> dict[str, Any]:
        def line() -> str | None:
            if self._process.poll() is not None:
                raise AssertionError(
                    f"tapui serve ended with {self._process.returncode}: {self.stderr}"
                )
            text = self._out.read_text()
            return text.partition("\n")[0] if "\n" in text else None

        first = until(line, within=within, what=lambda: f"the ready line; {self.stderr}")
        ready: dict[str, Any] = json.loads(first or "")
        assert ready["event"] == "ready", ready
        return ready

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.kill()

    @property
    def url(self) -> str:
        """The gateway's address."""
        return str(self.ready["url"])

    @property
    def port(self) -> int:
        """The gateway's port."""
        return int(self.url.rpartition(":")[2].strip("/"))

    @property
    def socket(self) -> Path:
        """The gateway's Unix socket."""
        return self.home.tapui / f"run/{self.port}/{SOCKET_FILE}"

    @property
    def pid(self) -> int:
        """The gateway's process id."""
        return int(self.ready["pid"])

    @property
    def token(self) -> str:
        """The provider token (`ptk-`)."""
        return Path(self.ready["tokenFile"]).read_text().strip()

    @property
    def internal_token(self) -> str:
        """The token of hosts and towers (`itk-`)."""
        return Path(self.ready["internalTokenFile"]).read_text().strip()

    @property
    def stderr(self) -> str:
        """What the process has written to standard error."""
        return self._err.read_text(errors="replace")

    @property
    def stdout(self) -> str:
        """What the process has written to standard output."""
        return self._out.read_text(errors="replace")

    def signal(self, number: signal.Signals) -> None:
        """Send a signal."""
        self._process.send_signal(number)

    def wait(self, *, within: float = HUNG) -> int:
        """Wait for the end; return the exit code (negative for a signal)."""
        return self._process.wait(within)

    def stop(self, *, within: float = HUNG) -> int:
        """End it with SIGTERM and wait; return the exit code."""
        if self._process.poll() is None:
            self._process.terminate()
        return self.wait(within=within)

    def kill(self) -> None:
        """End it with SIGKILL, if it still runs."""
        if self._process.poll() is None:
            self._process.kill()
        self._process.wait()
        faults.look()
