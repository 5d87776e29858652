"""What was typed ahead or pasted answers nothing, whoever asks, and the sheet says so."""

import signal
from collections.abc import Iterator

import pytest
from textual.events import Key, Paste

from tapui.tower.requests.request_detail import RequestDetail
from tapui.tower.textual.inside import ContinuingDriver
from tapui.tower.textual.sheet import ConfirmScreen, Sheet
from tapui.wire.tower import CallCancel
from tests.tower.running import Running, on_top, running
from tests.tower.scripted import approval, at, world
from tests.tower.test_snapshots import ASKED

PAIRING = {"origin": "https://board.example.org", "transport": "websocket", "address": "127.0.0.1"}
QUESTIONS = {
    **ASKED,
    "free question": ("userInput", {"question": "Which branch?"}),
    # In a form of several fields Enter goes on to the next one; in the last it answers.
    "form": ("elicitation", {"requestedSchema": {"properties": {"count": {"type": "integer"}}}}),
    "pairing": ("pairing", PAIRING),
}
TYPED_AHEAD = (["y", "enter"], ["m", "enter"])


async def paste(rig: Running, text: str) -> None:
    rig.app.post_message(Paste(text))
    await rig.settle()


async def test_no_request_is_answered_by_keys_of_one_read_or_by_a_paste() -> None:
    state = world()
    state.approvals = {
        name: approval(name, kind, detail, session_id="s1", expires_at=at(-90_000))
        for name, (kind, detail) in QUESTIONS.items()
    }
    async with running(state) as rig:
        for name in QUESTIONS:
            sheet = RequestDetail(name)
            rig.app.push_screen(Sheet(sheet))
            await rig.settle()
            await rig.turn(1)
            for read in TYPED_AHEAD:
                await rig.type(*read)
                assert not rig.feed.sent, (name, read)
                assert "Pressed with other keys" in rig.text, (name, read)
            for text in ("y\n", "d\r"):
                await paste(rig, text)
                assert not rig.feed.sent, (name, text)
            sheet.screen.set_focus(sheet.reader)
            await paste(rig, "y\n")
            assert "A paste is not an answer" in rig.text, name
            await rig.press("enter")
            assert not rig.feed.sent, f"{name}: nothing was chosen"
            sheet.leave()
            await rig.settle()


@pytest.fixture
def driver_signals() -> Iterator[None]:
    """Give the signals back that Textual's driver takes."""
    taken = {one: signal.getsignal(one) for one in (signal.SIGTSTP, signal.SIGCONT)}
    yield
    for one, handler in taken.items():
        signal.signal(one, handler)


@pytest.mark.usefixtures("driver_signals")
async def test_a_key_is_as_early_as_it_was_read_however_late_it_is_handled() -> None:
    async with running(world()) as rig:
        driver = ContinuingDriver(rig.app, size=(80, 24))

        async def read(key: str, *, handled_after: float) -> None:
            driver.process_message(Key(key, key))
            rig.clock.turn(handled_after)  # the loop is busy
            await rig.settle()

        await rig.press("a")
        assert isinstance(on_top(rig.app), RequestDetail)
        await rig.turn(0.4)
        await read("y", handled_after=5.0)
        assert "Too early" in rig.text
        await read("y", handled_after=5.0)
        assert "Too early" not in rig.text
        await rig.press("enter")
        assert len(rig.feed.sent) == 1


async def test_no_question_is_answered_yes_by_keys_of_one_read_or_by_a_paste() -> None:
    async with running(world()) as rig:
        for *goes, asks in ("4x", "q", "5x"):
            await rig.press(*goes)
            for yes in ("y", "enter"):
                await rig.type(asks, yes)
                assert isinstance(rig.app.screen, ConfirmScreen), "it asks, and waits for an answer"
                assert "Pressed with other keys" in rig.text, goes
                await paste(rig, "y\n")
                assert "A paste is not an answer" in rig.text, goes
                assert not rig.feed.sent, goes
                await rig.press("n")
                assert not isinstance(rig.app.screen, ConfirmScreen), goes
        await rig.press("x", "y")
        assert [type(one) for one in rig.feed.sent] == [CallCancel]
