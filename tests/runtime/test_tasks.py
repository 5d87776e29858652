"""Tasks that are ended by their owner, and work in threads: what went wrong in it is logged."""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from threading import Event

import pytest

from tapui.runtime.tasks import BackgroundTasks, cancelled, in_thread
from tests.rig.waiting import HUNG


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


async def _answer(work: object, **more: object) -> str:
    """Return what `in_thread` hands on."""
    loop = asyncio.get_running_loop()
    answered: asyncio.Future[str] = loop.create_future()
    in_thread(
        loop,
        work,  # type: ignore[arg-type]
        answered.set_result,
        otherwise=lambda: "nothing",
        about="the process behind connection 7",
    )
    async with asyncio.timeout(HUNG):
        return await answered


async def test_what_a_thread_returns_is_handed_on() -> None:
    assert await _answer(lambda: "found") == "found"


@pytest.mark.expects_error_log("failed: the process behind connection 7")
@pytest.mark.parametrize("error", [KeyError("x"), RecursionError(), SystemExit(1)])
async def test_work_in_a_thread_that_raises_is_answered_all_the_same(error: BaseException) -> None:
    def fails() -> str:
        raise error

    assert await _answer(fails) == "nothing"


async def test_work_that_never_began_is_answered_all_the_same() -> None:
    loop = asyncio.get_running_loop()
    goes_on = Event()
    executor = ThreadPoolExecutor(1)
    loop.set_default_executor(executor)
    blocking = loop.run_in_executor(None, goes_on.wait)
    answer = asyncio.create_task(_answer(lambda: "found"))
    await asyncio.sleep(0)
    executor.shutdown(wait=False, cancel_futures=True)
    assert await answer == "nothing"
    goes_on.set()
    await blocking


@pytest.mark.expects_error_log("a task failed: look")
async def test_a_background_task_that_fails_is_logged_and_told_to_its_owner() -> None:
    faults: list[BaseException] = []
    told = asyncio.Event()

    def on_fault(error: BaseException) -> None:
        faults.append(error)
        told.set()

    tasks = BackgroundTasks(on_fault)
    error = LookupError("boom")
    tasks.start(_fails(error), name="look")
    waits = tasks.start(asyncio.Event().wait())
    async with asyncio.timeout(HUNG):
        await told.wait()
    assert faults == [error]
    tasks.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waits
