"""What happens while the person looks elsewhere is in sight, or announced."""

import asyncio
import re
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from tapui.projection.state import State
from tapui.wire import events as ev
from tapui.wire.message import Level
from tapui.wire.subjects import Approval, Line
from tests.tower.running import Running, running
from tests.tower.scripted import approval, at, call, session

SESSIONS = ("s0", "s1", "s2")
LEVELS: dict[str, Level] = {"kept": "keep", "shown": "surface", "sent": "inject"}
HAPPENINGS = st.lists(
    st.tuples(st.sampled_from(["asks", "answered", "fails", *LEVELS]), st.sampled_from(SESSIONS)),
    min_size=1,
    max_size=20,
)


class Happened:
    """What was told to the tower, and what of it the person has to hear of."""

    def __init__(self, rig: Running) -> None:
        self._rig = rig
        self.waiting: dict[str, Approval] = {}
        self.failed = 0
        self.shown = self.sent = 0
        self._number = 0

    def happen(self, what: str, session_id: str) -> None:
        self._number += 1
        number, feed = self._number, self._rig.feed
        if what == "asks":
            detail = {"kind": "shell", "fullCommandText": f"echo {number}"}
            asked = approval(f"a{number}", "permission", detail, session_id=session_id)
            self.waiting[asked.id] = asked
            feed.happen(ev.ApprovalRequested(approval=asked))
        elif what == "answered" and self.waiting:
            _, asked = self.waiting.popitem()
            feed.happen(ev.ApprovalDecided(approval=replace(asked, state="denied")))
        elif what == "fails":
            self.failed += 1
            made = call(f"c{number}", "bash", session_id=session_id, started_at=at(1))
            ended = replace(made, state="failed", error="broken", duration=1.0)
            feed.happen(
                ev.CallStarted(session_id=session_id, call=made),
                ev.CallFinished(session_id=session_id, call=ended),
                ts=at(-60),
            )
        elif level := LEVELS.get(what):
            self.shown += what == "shown"
            self.sent += what == "sent"
            line = Line(number, at(), level, f"line {number}")
            feed.happen(ev.StreamPosted(session_id, "builds@ci", line))


def counted(pattern: str, text: str) -> int:
    return sum(int(found.replace(",", "")) for found in re.findall(pattern, text))


def check(rig: Running, happened: Happened) -> None:
    header, tabs, *_ = rig.text.splitlines()
    waiting = len(happened.waiting)
    assert counted(r"! (\d+) waiting", header) == waiting
    assert counted(r"✗ (\d+)", header) == happened.failed
    *_, last = rig.text.splitlines()[:-1]
    band = [line for line in rig.text.splitlines() if line.startswith(" ! ")]
    assert len(band) + counted(r"(\d+) more", "\n".join(band)) == waiting or not waiting
    assert waiting or "Nothing waits" in last
    sign = f"▲{happened.shown}" if happened.shown else f"→{happened.sent}"
    assert not (happened.shown or happened.sent) or re.search(f"Stre(?:ams)? {sign}\\b", tabs)


async def told(size: tuple[int, int], happenings: Sequence[tuple[str, str]]) -> None:
    state = State()
    for id_ in SESSIONS:
        state.sessions[id_] = session(id_, f"Session {id_}", state="busy")
    async with running(state, size=size) as rig:
        happened = Happened(rig)
        for what, session_id in happenings:
            happened.happen(what, session_id)
        await rig.settle()
        check(rig, happened)


@pytest.mark.parametrize("size", [(80, 24), (100, 30)], ids=str)
def test_what_happens_is_in_sight_or_announced(size: tuple[int, int]) -> None:
    @settings(max_examples=25)
    @given(HAPPENINGS)
    def holds(happenings: list[tuple[str, str]]) -> None:
        asyncio.run(told(size, happenings))

    holds()
