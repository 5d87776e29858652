"""The live export of spans, where the settings name an endpoint for them."""

import asyncio

from tapui.records.masking import Masks
from tapui.runtime.system import RegexMatcher
from tapui.station.parts.part import GatewayAccess
from tapui.telemetry.endpoint import Endpoint
from tapui.telemetry.exporter import ExportTiming, SpanExporter
from tapui.wire.subjects import SpanExport


class TelemetryPart:
    """Hands the spans of each turn to an exporter."""

    name = "the export of spans"

    def __init__(self, timing: ExportTiming | None = None) -> None:
        self._timing = timing
        self._exporter: SpanExporter | None = None

    def start(self, access: GatewayAccess) -> None:
        settings = access.options.settings
        address = settings.telemetry.otlp_endpoint
        if not address:
            return
        patterns = [RegexMatcher().compile(pattern) for pattern in settings.records.mask]
        loop, turn = asyncio.get_running_loop(), access.turn

        is_failing = False

        def on_change(export: SpanExport) -> None:
            nonlocal is_failing
            if export.error is not None and not is_failing:
                why = f"{export.endpoint}: {export.error}"
                access.report(f"spans do not reach {why}; the records have them", "warning")
            is_failing = export.error is not None
            try:
                loop.call_soon_threadsafe(turn.tell, turn.gateway.traces.exported, export)
            except RuntimeError:  # the loop has closed: nothing is recorded any more
                return

        self._exporter = SpanExporter(
            Endpoint.of(address), Masks(patterns).masked_text, on_change, self._timing
        )
        self._exporter.start()
        turn.on_events = self._exporter.offer

    async def stop(self) -> None:
        """Send what is left, for a second at most."""
        if self._exporter is not None:
            await asyncio.to_thread(self._exporter.stop)
