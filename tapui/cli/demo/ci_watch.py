"""A provider without tools: it watches builds, and says what it sees at several levels."""

import asyncio
import itertools

from tapui.cli.demo.line import GatewayLine, pace, post_until_farewell, provide, run

SESSION = "demo-migration"
PAUSE = 0.6
LEAST_PAUSE = 0.15
"""The gateway takes ten lines a second of a provider."""
STEPS = ("checkout", "install", "lint", "type check", "unit tests", "package")


async def watch() -> None:
    line = await provide("ci-watch", SESSION, [])
    try:
        await post_until_farewell(line, _push(line))
    finally:
        await line.close()


async def _push(line: GatewayLine) -> None:
    await line.send("push", level="surface", stream="alerts", event="watching the builds of main")
    for build in itertools.count(511):
        for number, step in enumerate(STEPS, 1):
            await line.send(
                "push",
                level="keep",
                stream="builds",
                event=f"build {build}: {step}",
                metadata={"build": build, "step": number, "of": len(STEPS)},
            )
            if number == 3:
                await line.send(
                    "push", level="keep", stream="agents", event=f"runner-{build % 4} is at 71 °C"
                )
            await asyncio.sleep(max(PAUSE * pace(), LEAST_PAUSE))
        if build % 4 == 3:
            await line.send(
                "push",
                level="inject",
                stream="alerts",
                event=f"Build {build} failed in “unit tests”. What changed?",
                metadata={"build": build, "failed": ["test_resume", "test_quota"]},
            )
        else:
            await line.send(
                "push", level="surface", stream="alerts", event=f"build {build} is green"
            )


if __name__ == "__main__":
    run(watch())
