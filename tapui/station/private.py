"""A gateway that only this process uses: nobody else finds it, and it ends with what it is for."""

import contextlib
from collections.abc import AsyncIterator
from dataclasses import replace

from msgspec.structs import replace as with_settings

from tapui.client.gateways import FoundGateway, found_in
from tapui.home.paths import Home
from tapui.hosts.port import ReportLevel
from tapui.station.log_file import faults_logged
from tapui.station.options import Options
from tapui.station.running import RunningGateway

_STOP_SECONDS = 5.0


@contextlib.asynccontextmanager
async def private_gateway(options: Options) -> AsyncIterator[FoundGateway]:
    """Run a gateway while the context lasts. It starts sessions and attaches to none.

    Raises `OSError`, or `ListenError`.
    """
    settings = with_settings(
        options.settings,
        local_session=False,
        approvals=with_settings(options.settings.approvals, command_line="always"),
    )
    chosen = replace(
        options,
        settings=settings,
        attach=False,
        attach_port=None,
        port=0,
        port_is_explicit=True,
        is_private=True,
    )
    home = Home.at(options.home, options.copilot_home)
    running = RunningGateway(chosen, _not_told, lambda: None)
    with faults_logged(home, on_stderr=False):
        try:
            announced = await running.start()
            running.load()
            yield found_in(announced)
        finally:
            await running.stop(_STOP_SECONDS)


def _not_told(_text: str, _level: ReportLevel) -> None:
    """What matters of it comes to the one client as a notice."""
