"""The hosts and the built-in tools, as parts."""

import os
from functools import partial
from pathlib import Path

from tapui.files.foreign_file import decoded
from tapui.home.paths import typed_path
from tapui.hosts.copilot.launcher import CopilotLauncher
from tapui.hosts.copilot.own.own_session import with_provider, with_telemetry
from tapui.hosts.local import LocalHost
from tapui.station.parts.part import GatewayAccess
from tapui.tools.builtin import BuiltinTools


class LocalSession:
    """Keeps the session `local` open; its port closes with the gateway."""

    name = "the local session"

    def start(self, access: GatewayAccess) -> None:
        """Open the session, in the folder that tapui was started in."""
        LocalHost(access.turn.open_port, _folder())

    async def stop(self) -> None:
        """Leave the closing to the gateway, which ends every session."""


def _folder() -> Path:
    """Return the working folder; the home folder where that was removed or may not be read."""
    try:
        return Path.cwd()
    except OSError:
        return Path.home()


class Tools:
    """Answers the calls of the built-in tools; its port closes with the gateway."""

    name = "the built-in tools"

    def start(self, access: GatewayAccess) -> None:
        timeouts = access.options.settings.timeouts
        BuiltinTools(partial(access.turn.open_port, is_builtin=True), timeouts)

    async def stop(self) -> None:
        """Leave the closing to the gateway: calls are answered until its end."""


class Copilot:
    """Attaches to Copilot sessions until it is stopped; it then leaves them as they were.

    Sessions that were started here end with it.
    """

    name = "the way to Copilot sessions"

    def __init__(self) -> None:
        self._launcher: CopilotLauncher | None = None

    def start(self, access: GatewayAccess) -> None:
        self._launcher = CopilotLauncher(
            access.turn.open_port,
            url=access.announced.url,
            token_file=Path(access.announced.internal_token_file),
            socket=access.announced.socket,
            copilot_home=access.home.copilot,
            environ=_environ(access),
            port=access.options.attach_port,
            attaches=access.options.attach,
            with_ports=access.options.settings.copilot.port != "never",
            report=access.report,
        )
        access.spawn(self._launcher.run())

    async def stop(self) -> None:
        """Leave every session; the CLIs keep running."""
        if self._launcher is not None:
            await self._launcher.stop()


def _environ(access: GatewayAccess) -> dict[str, str]:
    """Return the environment of sessions that are started here, with what the settings say."""
    given = access.options.settings.copilot

    def text_of(setting: str, path: str) -> str:
        try:
            return decoded(typed_path(path).read_bytes()).strip() if path else ""
        except (OSError, UnicodeDecodeError) as error:
            access.report(f"copilot.{setting} cannot be read: {error}", "warning")
            return ""

    telemetry = access.options.settings.telemetry
    return with_provider(
        with_telemetry(
            os.environ,
            endpoint=telemetry.otlp_endpoint,
            exporter=telemetry.exporter_type,
            file=str(typed_path(telemetry.file_path)) if telemetry.file_path else "",
            source=telemetry.source_name,
            captures=telemetry.capture_content,
        ),
        url=given.provider_url,
        kind=given.provider_type,
        key=text_of("key-file", given.key_file),
        headers=text_of("headers-file", given.headers_file),
        model=given.model,
    )
