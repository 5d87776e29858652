"""What runs beside the gateway: in order, each one's faults its own, all of it ended."""

import asyncio
from pathlib import Path

import pytest

from tapui.settings.rule_files import RuleFiles
from tapui.station.options import Options
from tapui.station.parts.part import GatewayAccess, Part
from tapui.station.running_gateway import RunningGateway, chosen_parts
from tests.station.running import options_in


class Steps:
    """A part that keeps what was done with it, and can fail at each step."""

    def __init__(self, name: str, steps: list[str], *, fails: str = "") -> None:
        self.name = name
        self._steps = steps
        self._fails = fails

    def _step(self, word: str) -> None:
        self._steps.append(f"{self.name} {word}")
        if self._fails == word:
            raise ValueError(f"no {word}")

    def start(self, access: GatewayAccess) -> None:
        self._step("start")
        access.spawn(self._work())

    async def _work(self) -> None:
        self._step("work")
        try:
            await asyncio.Event().wait()
        finally:
            self._steps.append(f"{self.name} work ends")

    async def stop(self) -> None:
        self._step("stop")
        if self._fails == "stop in time":
            await asyncio.Event().wait()


async def lived(
    root: Path, parts: list[Part], *, part_seconds: float = 3.0
) -> list[tuple[str, str]]:
    """Run a gateway with these parts from its start to its end; return what the person is told."""
    told: list[tuple[str, str]] = []
    running = RunningGateway(
        options_in(root),
        lambda text, level: told.append((level, text)),
        lambda: None,
        parts=parts,
        part_seconds=part_seconds,
    )
    await running.start()
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    await running.stop(0.0)
    return told


async def test_parts_start_in_order_and_stop_in_reverse(tmp_path: Path) -> None:
    steps: list[str] = []
    parts: list[Part] = [Steps("a", steps), Steps("b", steps)]
    assert await lived(tmp_path, parts) == []
    assert steps == [
        *("a start", "b start", "a work", "b work"),
        *("b stop", "b work ends", "a stop", "a work ends"),
    ]


@pytest.mark.expects_error_log("b failed")
@pytest.mark.parametrize("step", ["start", "work"])
async def test_a_part_that_fails_is_told_and_the_others_go_on(
    tmp_path: Path, step: str, caplog: pytest.LogCaptureFixture
) -> None:
    steps: list[str] = []
    parts: list[Part] = [Steps("a", steps), Steps("b", steps, fails=step), Steps("c", steps)]
    told = await lived(tmp_path, parts)
    assert told == [("error", f"b failed: no {step}; restart tapui")]
    assert {"a work ends", "c work ends", "c stop", "b stop", "a stop"} <= set(steps)
    assert [record.getMessage() for record in caplog.records] == ["b failed"]


@pytest.mark.parametrize(
    ("step", "logged"),
    [
        pytest.param(
            "stop",
            "b failed while it was stopped",
            marks=pytest.mark.expects_error_log("b failed while it was stopped"),
        ),
        ("stop in time", "b did not end within 0 s"),
    ],
)
async def test_a_part_that_cannot_be_stopped_holds_nobody_up(
    tmp_path: Path,
    step: str,
    logged: str,
    caplog: pytest.LogCaptureFixture,
) -> None:
    steps: list[str] = []
    parts: list[Part] = [Steps("a", steps), Steps("b", steps, fails=step)]
    assert await lived(tmp_path, parts, part_seconds=0.0) == []
    assert steps[-3:] == ["b work ends", "a stop", "a work ends"]
    assert logged in [record.getMessage() for record in caplog.records]


def test_the_options_choose_the_parts(tmp_path: Path) -> None:
    def names(options: Options) -> list[str]:
        return [part.name for part in chosen_parts(options, RuleFiles(tmp_path / "config.toml"))]

    always = ["the built-in tools", "the emitters", "the MCP servers", "the export of spans"]
    always += ["the index", "the token for tools", "the way to Copilot sessions"]
    first = ["the rules", "the ledgers"]
    assert names(options_in(tmp_path)) == [*first, "the local session", *always]
    assert names(options_in(tmp_path, local_session=False)) == [*first, *always]
