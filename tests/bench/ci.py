"""A look of the provider `ci` that finds nothing: its CPU, with the service in another process."""

import asyncio
import multiprocessing
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from pathlib import Path

from tapui.shipped.ci.github_actions import GitHubActions
from tapui.shipped.ci.watcher import CiWatcher
from tests.shipped.github_server import GitHubServer
from tests.shipped.test_ci import Turns, checkout

RUNS = 30
"""Runs that the branch has."""
LOOKS = 300


def look() -> float:
    """Return the milliseconds of CPU that a look takes, deployments at each third among them."""
    with tempfile.TemporaryDirectory() as folder, _service() as environ:
        checkout(Path(folder))
        return asyncio.run(_looked(folder, environ))


async def _looked(folder: str, environ: dict[str, str]) -> float:
    turns = Turns()
    watcher = CiWatcher(
        lambda where, tell: GitHubActions.of_folder(where, environ, tell),
        sleep=turns.sleep,
        now=lambda: turns.now,
    )
    async with watcher.provider.test(cwd=folder, patience=60):
        await turns.look(3)
        before = time.process_time()
        await turns.look(LOOKS)
        return (time.process_time() - before) / LOOKS * 1e3


@contextmanager
def _service() -> Iterator[dict[str, str]]:
    ours, theirs = multiprocessing.Pipe()
    process = multiprocessing.get_context("spawn").Process(target=_serve, args=(theirs,))
    process.start()
    try:
        yield ours.recv()
    finally:
        ours.send(None)
        process.join()


def _serve(pipe: Connection) -> None:
    with GitHubServer().serving() as hub:
        for _ in range(RUNS):
            hub.run("success")
        pipe.send(hub.environ)
        pipe.recv()
