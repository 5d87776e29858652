"""Bars in a row: lines a second, tokens a turn, how full a context was."""

import pytest
from msgspec.structs import replace
from textual.renderables.sparkline import Sparkline

from tapui.projection.state import State
from tapui.projection.turns.session import LiveTurns
from tapui.tower.wording.words import sparkline
from tapui.wire import events as ev
from tapui.wire.subjects import ContextUse
from tapui.wire.turns import SessionTurns, TurnHead, TurnSource, Usage
from tests.tower.running import running
from tests.tower.scripted import at, session


@pytest.mark.parametrize(
    ("values", "bars"),
    [([], ""), ([0, 0], ""), ([1], "█"), ([0, 1, 7], "▁▂█"), ([1, 9, 2, 3, 0, 0], "█▃▁")],
)
def test_bars(values: list[float], bars: str) -> None:
    assert sparkline(values, 3) == bars


def test_bars_are_those_of_textual() -> None:
    values = [float(at % 7) for at in range(20)]
    assert set(sparkline(values, 20)) <= set(Sparkline.BARS)
    assert sparkline([1, 2], 9, top=7.0) == "▂▃", "against a whole that is known"


async def test_a_session_has_bars_for_its_turns_and_its_context() -> None:
    state = State()
    use = ContextUse(60_000, 128_000, 100_000)
    state.sessions["s1"] = session("s1", "Fix it", context=use)
    heads = [
        TurnHead(n, "s1", at(100 - n), "done", TurnSource("person"), usage=Usage(n, 1))
        for n in (1, 3, 6)
    ]
    state.turns["s1"] = LiveTurns.of(SessionTurns("s1", heads, None))
    async with running(state, size=(160, 45)) as rig:
        for tokens in (10_000, 50_000, 60_000):
            now = replace(state.sessions["s1"], context=ContextUse(tokens, 128_000, 100_000))
            rig.feed.happen(ev.SessionUpdated("s1", now))
        await rig.settle()
        assert "▃▅█  10 in, 3 out" in rig.text, "tokens of each turn"
        assert "▁▄▅  60%: 60,000 of" in rig.text
