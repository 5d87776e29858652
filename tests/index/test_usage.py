"""What models used: added up from the records, with what the host told of the time before."""

from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tapui.index.search import Search
from tapui.index.update import bring_up_to_date
from tapui.index.usage import ModelUse, SessionUse, usage_of_sessions
from tapui.projection.fold import fold
from tapui.projection.state import State
from tapui.projection.turns.usage import added, less, total
from tapui.wire import events as ev
from tapui.wire.turns import Usage
from tests.index.played import raw
from tests.records.turns import Writer, closed, opened, stamp

Used = Callable[..., list[SessionUse]]


def answer(tokens: int, model: str = "gpt-5", session_id: str = "s1", **more: Any) -> Any:
    data = {"model": model, "inputTokens": tokens, "outputTokens": 1, **more}
    return ev.SessionHappened(session_id, "assistant.usage", raw(data))


def totals(*models: dict[str, Any], session_id: str = "s1") -> Any:
    return ev.SessionHappened(session_id, "session.usage", raw({"models": list(models)}))


def of_model(tokens: int, calls: int, model: str = "gpt-5", **more: Any) -> dict[str, Any]:
    return {"model": model, "inputTokens": tokens, "outputTokens": calls, "calls": calls, **more}


@pytest.fixture
def used(state: Path) -> Iterator[Used]:
    search = Search(state)

    def found(**options: Any) -> list[SessionUse]:
        assert bring_up_to_date(state, 30) == "current"
        return usage_of_sessions(search, **options)

    yield found
    search.close()


@pytest.fixture
def writer(state: Path, workspace: Path) -> Iterator[Writer]:
    with Writer(state) as made:
        made.turn(opened("s1", workspace))
        yield made


def test_answers_are_added_up_by_session_and_model(writer: Writer, used: Used) -> None:
    writer.turn(opened("s2"))
    writer.turn(answer(10, cost=1, cacheReadTokens=4), answer(20, cost=0.5))
    writer.turn(answer(5, "opus"), answer(7, session_id="s2"))
    second, first = sorted(used(), key=lambda one: one.session_id, reverse=True)
    assert first.models == [
        ModelUse("gpt-5", Usage(30, 2, 1.5, cache_read=4, calls=2)),
        ModelUse("opus", Usage(5, 1, calls=1)),
    ]
    assert (first.usage.input, first.history) == (35, Usage())
    assert second.usage == Usage(7, 1, calls=1)
    assert [one.session_id for one in used(session_id="s2")] == ["s2"]


def test_what_turns_used_after_they_were_sent_back_is_named(writer: Writer, used: Used) -> None:
    writer.turn(ev.SessionHappened("s1", "user.message", raw({"content": "mend it"})), answer(10))
    writer.turn(ev.TurnSentBack("s1", ["g-1"], 1, 3, "not proven yet"), answer(20), answer(5, "o"))
    writer.turn(totals(of_model(30, 2), of_model(5, 1, "o")))
    writer.turn(ev.SessionHappened("s1", "session.idle", raw({})))
    writer.turn(ev.SessionHappened("s1", "user.message", raw({"content": "more"})), answer(7))
    (one,) = used()
    assert (one.usage.input, one.again) == (42, Usage(25, 2, calls=2))
    assert {model.model: model.again.input for model in one.models} == {"gpt-5": 20, "o": 5}
    assert used(since=0.0)[0].again == one.again


def test_what_was_used_before_tapui_came_is_named(writer: Writer, used: Used) -> None:
    writer.turn(totals(of_model(1_000, 9, requests=3.0)))
    writer.turn(answer(10, cost=1))
    (one,) = used()
    assert one.models == [
        ModelUse("gpt-5", Usage(1_010, 10, 1.0, 3.0, calls=10), Usage(1_000, 9, calls=9))
    ]
    # After the turn the session tells its sum again: nothing is counted twice.
    writer.turn(totals(of_model(1_010, 10, requests=4.0)))
    (one,) = used()
    assert one.usage == Usage(1_010, 10, 1.0, 4.0, calls=10)
    assert (one.history.input, one.history.calls) == (1_000, 9)


def test_what_was_used_while_tapui_was_away_is_history(
    state: Path, workspace: Path, used: Used
) -> None:
    with Writer(state) as writer:
        writer.turn(opened("s1", workspace), totals())
        writer.turn(answer(10), totals(of_model(10, 1)), closed("s1"))
    with Writer(state, "r2") as writer:
        writer.seq = 100
        writer.turn(opened("s1", workspace), totals(of_model(500, 6)))
        writer.turn(answer(5))
    (one,) = used()
    assert (one.usage.input, one.usage.calls) == (505, 7)
    assert (one.history.input, one.history.calls) == (490, 5)


def test_since_counts_what_was_seen_from_then_on(writer: Writer, used: Used) -> None:
    times = [f"2026-01-0{day}T12:00:00.000000Z" for day in (1, 2, 3)]
    writer.turn_at(times[0], totals(of_model(1_000, 9, requests=3.0)))
    writer.turn_at(times[0], answer(10), totals(of_model(1_010, 10, requests=4.0)))
    writer.turn_at(times[2], answer(20, cost=2), totals(of_model(1_030, 11, requests=6.0)))
    (one,) = used(since=1767351600)  # the second day
    assert one.models == [ModelUse("gpt-5", Usage(20, 1, 2.0, 2.0, calls=1))]
    (one,) = used(since=0)
    assert (one.usage.input, one.usage.requests) == (30, 3.0)
    assert used(since=1768000000) == []


def test_the_first_turn_of_a_fresh_session_counts_its_requests(writer: Writer, used: Used) -> None:
    writer.turn(totals())
    writer.turn(answer(10), totals(of_model(10, 1, requests=1.0)))
    (one,) = used(since=0)
    assert one.usage == Usage(10, 1, None, 1.0, calls=1)
    assert used()[0].history == Usage()


def test_what_is_deleted_is_no_longer_counted(writer: Writer, used: Used, workspace: Path) -> None:
    writer.turn(answer(10))
    assert len(used()) == 1
    (workspace / "files" / "tap" / "sessions.jsonl").unlink()
    assert used() == []


@pytest.mark.parametrize(
    "data",
    [{}, {"models": 5}, {"models": [7, None]}, {"models": [{"model": [], "calls": "x"}]},
     {"inputTokens": -4, "outputTokens": "many", "cost": float("1e308")}, {"inputTokens": True}],
)  # fmt: skip
@pytest.mark.parametrize("name", ["session.usage", "assistant.usage"])
def test_data_of_another_form_costs_nobody_anything(
    writer: Writer, used: Used, name: str, data: Any
) -> None:
    writer.turn(answer(10))
    writer.turn(ev.SessionHappened("s1", name, raw(data)))
    (one,) = used()
    assert (one.usage.input, one.usage.output) == (10, 1)


def test_an_index_made_bit_by_bit_counts_the_same(writer: Writer, used: Used, state: Path) -> None:
    for number in range(10):
        writer.turn(answer(number), totals(of_model(100 + number, number)))
        used()
    bit_by_bit = used()
    (state / "index" / "records.sqlite").unlink()
    assert used() == bit_by_bit


USAGES = st.builds(
    Usage, *[st.integers(0, 2**53)] * 2, *[st.none() | st.floats(0, 1e9)] * 2,
    *[st.integers(0, 2**53)] * 2, st.none() | st.floats(0, 1e9), st.integers(0, 2**53),
)  # fmt: skip


@given(st.lists(USAGES, max_size=4), USAGES)
@settings(max_examples=60, deadline=None)
def test_adding_up_neither_overflows_nor_invents(usages: list[Usage], one: Usage) -> None:
    whole = total(usages)
    for name in ("cost", "requests", "credits"):
        is_told = any(getattr(usage, name) is not None for usage in usages)
        assert (getattr(whole, name) is not None) == is_told
    assert whole.input <= 2**53
    rest = less(added(whole, one), one)
    assert rest.input <= whole.input
    assert min(rest.input, rest.output, rest.calls) >= 0


MODELS = ("gpt-5", "opus", "haiku")
_ANSWERS = st.tuples(
    st.sampled_from(MODELS),
    st.integers(0, 5_000),
    st.integers(0, 40).map(lambda quarters: quarters / 4),
)
_TURNS = st.lists(
    st.tuples(st.lists(_ANSWERS, max_size=4), st.lists(_ANSWERS, max_size=2), st.booleans()),
    min_size=1, max_size=6,
)  # fmt: skip
"""Of each turn: its answers, what the session used beside it, and whether its host then tells all
that was used since the session began."""


@settings(max_examples=20, deadline=None)
@given(turns=_TURNS)
def test_a_budget_looks_at_the_same_sum_as_the_view(turns: Any) -> None:
    events: list[Any] = []
    sums: dict[str, tuple[int, int, float]] = dict.fromkeys(MODELS, (0, 0, 0.0))

    def use(model: str, tokens: int, cost: float) -> None:
        calls, before, spent = sums[model]
        sums[model] = calls + 1, before + tokens, spent + cost

    for answers, unseen, tells in turns:
        events.append(ev.SessionHappened("s1", "user.message", raw({"content": "go"})))
        for model, tokens, cost in answers:
            use(model, tokens, cost)
            events.append(answer(tokens, model, cost=cost))
        if tells:  # else what came beside the answers is known to nothing
            for one in unseen:
                use(*one)
            told = [of_model(tokens, calls, model, cost=cost)
                    for model, (calls, tokens, cost) in sums.items()]  # fmt: skip
            events.append(totals(*told))
        events.append(ev.SessionHappened("s1", "session.idle", raw({})))
    live = State()
    with TemporaryDirectory() as folder:
        state = Path(folder)
        with Writer(state) as writer:
            for event in (opened("s1"), *events):
                writer.turn(event)
                fold(live, event, stamp(writer.seq))
        assert bring_up_to_date(state, 30) == "current"
        search = Search(state)
        found = usage_of_sessions(search)
        sql = "SELECT sum(input), sum(output), sum(cost), sum(calls) FROM usage"
        view = search.viewed().execute(sql).fetchone()
        search.close()
    budget = live.turns["s1"].used()
    of_session = found[0].usage if found else Usage()
    assert (budget.input, budget.output, budget.calls) == (
        of_session.input, of_session.output, of_session.calls,
    )  # fmt: skip
    assert (budget.cost or 0.0) == pytest.approx(of_session.cost or 0.0)
    assert (view[0] or 0, view[1] or 0, view[3] or 0) == (
        budget.input, budget.output, budget.calls,
    )  # fmt: skip
    assert (view[2] or 0.0) == pytest.approx(budget.cost or 0.0)
