"""Tasks that are ended by their owner: what went wrong in them is logged."""

import asyncio

import pytest

from tapui.runtime.tasks import cancelled


async def _fails(error: Exception) -> None:
    raise error


@pytest.mark.expects_error_log("a task failed: watch the CLI", "a task failed: late")
async def test_a_task_that_had_failed_is_logged_with_its_name() -> None:
    async def late() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            raise LookupError("while it was cancelled")

    loop = asyncio.get_running_loop()
    tasks = [
        loop.create_task(_fails(RuntimeError("boom")), name="watch the CLI"),
        loop.create_task(_fails(ConnectionResetError()), name="push"),
        loop.create_task(late(), name="late"),
        loop.create_task(asyncio.Event().wait(), name="waits"),
    ]
    await asyncio.sleep(0)
    await cancelled(tasks, expected=(ConnectionError,))
    assert [task.done() for task in tasks] == [True] * 4
    assert tasks[3].cancelled()
