"""Gateways that a station's tests run: options for a scratch home, and a thread beside the test."""

import asyncio
from pathlib import Path
from typing import Self

from tapui.client import gateways
from tapui.home.paths import Home
from tapui.runtime.websocket.listening import open_loopback
from tapui.settings.settings import Settings
from tapui.station.faults import log_path
from tapui.station.gateway_host import GatewayHost
from tapui.station.options import Options
from tests.rig.waiting import HUNG


def options_in(root: Path, *, port: int = 0, **settings: object) -> Options:
    """Return options for a gateway below `root` that attaches to nothing."""
    return Options(
        settings=Settings(**settings),  # type: ignore[arg-type]
        home=root / "tapui",
        copilot_home=root / ".copilot",
        config_path=root / "config.toml",
        attach=False,
        attach_port=None,
        port=port,
        port_is_explicit=True,
        theme="tapui-dark",
    )


def left_behind(root: Path) -> list[Path]:
    """Return what a gateway removes at its end and that is still there."""
    return [*(root / "tapui").glob("run/*/[!.]*"), *(root / ".copilot").rglob(".provider-token")]


class AppPlayed:
    """What the gateway's thread has an app do."""

    def __init__(self) -> None:
        self.notices: list[str] = []
        self.reasons: asyncio.Queue[str] = asyncio.Queue()

    def notify(self, message: str, **_more: object) -> None:
        self.notices.append(message)

    def leave(self, reason: str) -> None:
        self.reasons.put_nowait(reason)

    async def left(self) -> str:
        """Wait until the app was told to leave; return why."""
        async with asyncio.timeout(HUNG):
            return await self.reasons.get()


class Behind:
    """A gateway in a thread, behind an app that is played; used as a context manager."""

    def __init__(self, root: Path, options: Options | None = None) -> None:
        self.root = root
        self.options = options or options_in(root)
        self.app = AppPlayed()
        self.home = Home.at(self.options.home, self.options.copilot_home)
        self.host: GatewayHost

    async def __aenter__(self) -> Self:
        self.sockets = await open_loopback(self.options.port)
        self.host = GatewayHost(self.options, self.sockets, log_path(self.home, 0))
        self.port: int = self.sockets[0].getsockname()[1]
        self.host.begin(self.app)  # type: ignore[arg-type]
        return self

    async def __aexit__(self, *_fault: object) -> None:
        await self.host.end()

    def found(self) -> gateways.FoundGateway:
        """Return the gateway as clients find it; raises `NoGateway`."""
        return gateways.find(self.home, self.port, is_explicit=True)

    @property
    def provider_token(self) -> str:
        return (self.options.copilot_home / "extensions/tap/.provider-token").read_text()
