"""A page in a browser, as the gateway sees it: an Origin and no token, so it asks to pair."""

import asyncio
import os

from tapui.cli.demo.line import URL, Line, run

ORIGIN = "https://dashboard.example"
PAUSE = 20.0
"""Seconds until a visitor that was turned away asks again."""


async def visit() -> None:
    """Ask to pair, again and again. Nobody sits at this page to type the code, so it never can."""
    while True:
        line = await Line.open(os.environ[URL], {"mode": "pair"}, origin=ORIGIN)
        try:
            await line.until("error")
        finally:
            await line.close()
        await asyncio.sleep(PAUSE)


if __name__ == "__main__":
    run(visit())
