"""A program of a sample, at a gateway that has another port than 9400."""

import subprocess
import sys
from pathlib import Path
from types import TracebackType
from typing import Self

from tests.rig.gateway import Gateway
from tests.rig.node import node, package
from tests.rig.waiting import until

PROGRAMS = Path(__file__).parent / "programs"
_ADDRESS = "localhost:9400"


def sample(name: str, port: int) -> str:
    """Return a program, in which nothing but the port is another one."""
    text = (PROGRAMS / name).read_text()
    assert text.count(_ADDRESS) == 1
    return text.replace(_ADDRESS, f"localhost:{port}")


class Running:
    """A program with the project's token, unless it gets another; a context manager."""

    def __init__(self, gateway: Gateway, folder: Path, name: str, token: str | None = None) -> None:
        folder.mkdir()
        file = folder / name
        file.write_text(sample(name, gateway.port))
        if file.suffix == ".js":
            (folder / "package.json").write_text('{"type": "module"}')
            package("ws", folder)
        program = node() if file.suffix == ".js" else sys.executable
        self._out = folder / "out"
        with self._out.open("wb") as out:
            self.process = subprocess.Popen(
                [program, name],
                cwd=folder,
                env=gateway.home.env(TAP_PROVIDER_TOKEN=token or gateway.token),
                stdout=out,
                stderr=out,
            )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.process.kill()
        self.process.wait()

    @property
    def out(self) -> str:
        """What it has printed, to either output."""
        return self._out.read_text()

    def says(self, part: str, *, times: int = 1) -> None:
        """Wait until it has printed `part`, so many times."""
        until(lambda: self.out.count(part) >= times, what=lambda: f"{part!r} in {self.out[:2000]}")
