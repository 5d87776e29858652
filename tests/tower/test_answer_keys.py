"""What was typed ahead or pasted answers nothing, whoever asks, and the sheet says so."""

import pytest
from textual.events import Paste

from tapui.tower.requests.approval_sheet import ApprovalScreen
from tapui.tower.textual.sheet import ConfirmScreen
from tapui.wire.tower import CallCancel
from tests.tower.running import Running, running
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
            sheet = ApprovalScreen(name)
            rig.app.push_screen(sheet)
            await rig.settle()
            await rig.turn(1)
            for read in TYPED_AHEAD:
                await rig.type(*read)
                assert not rig.feed.sent, (name, read)
                assert "Pressed with other keys" in rig.text, (name, read)
            for text in ("y\n", "d\r"):
                await paste(rig, text)
                assert not rig.feed.sent, (name, text)
            sheet.set_focus(sheet.reader)
            await paste(rig, "y\n")
            assert "A paste is not an answer" in rig.text, name
            await rig.press("enter")
            assert not rig.feed.sent, f"{name}: nothing was chosen"
            sheet.dismiss(None)
            await rig.settle()


@pytest.mark.parametrize("keys", [["5", "x"], ["4", "x"], ["q"]], ids=["call", "provider", "quit"])
async def test_no_question_is_answered_yes_by_keys_of_one_read_or_by_a_paste(
    keys: list[str],
) -> None:
    async with running(world()) as rig:
        *goes, asks = keys
        await rig.press(*goes)
        for yes in ("y", "enter"):
            await rig.type(asks, yes)
            assert isinstance(rig.app.screen, ConfirmScreen), "it asks, and waits for an answer"
            assert "Pressed with other keys" in rig.text
            await paste(rig, "y\n")
            assert "A paste is not an answer" in rig.text
            assert not rig.feed.sent
            await rig.press("n")
            assert not isinstance(rig.app.screen, ConfirmScreen)
        if asks == "x" and goes == ["5"]:
            await rig.press("x", "y")
            assert [type(one) for one in rig.feed.sent] == [CallCancel]
