"""Ten questions, answered by SQL over the views and by a plain fold over the JSONL: equal."""

import tempfile
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from tapui.wire import events as ev
from tapui.wire.turns import FileChange
from tests.index.asked import audited, goal, records, rows, span, verified
from tests.index.played import call, idle, line, permission, prompt, raw
from tests.records.turns import Writer, closed, opened

Record = dict[str, Any]
Rows = list[tuple[Any, ...]]
SESSIONS = ("s1", "s2")
NAMES = ("bash", "edit", "view", "größe", "a b")


def _calls(found: list[Record]) -> Iterator[Record]:
    """Yield calls with what their ends told."""
    calls: dict[tuple[str, str], Record] = {}
    for one in found:
        if one["kind"] == "call.started":
            calls[one["sessionId"], one["call"]["id"]] = dict(one["call"])
        elif one["kind"] == "call.finished":
            known = calls.setdefault((one["sessionId"], one["call"]["id"]), {})
            known.update(one["call"])
    yield from calls.values()


def calls_by_tool(found: list[Record]) -> Rows:
    counts: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    for one in _calls(found):
        counts[one["tool"]][0] += 1
        is_over = one["state"] in ("done", "failed")
        counts[one["tool"]][1] += is_over and bool(one.get("exitCode") or one["state"] == "failed")
    return [(name, *both) for name, both in counts.items()]


def longest(found: list[Record]) -> Rows:
    most: dict[str, float] = {}
    for one in _calls(found):
        if one.get("duration") is not None:
            most[one["provider"]] = max(most.get(one["provider"], 0.0), one["duration"])
    return list(most.items())


def decisions(found: list[Record]) -> Rows:
    states: dict[tuple[str, str], Record] = {}
    for one in found:
        if one["kind"].startswith("approval."):
            states[one["run"], one["approval"]["id"]] = one["approval"]
    counts = Counter((one["state"], one.get("decidedBy")) for one in states.values())
    return [(*both, count) for both, count in counts.items()]


def lines_by_stream(found: list[Record]) -> Rows:
    texts: dict[tuple[str, str], list[str]] = defaultdict(list)
    for one in found:
        if one["kind"] == "stream.posted":
            texts[one["stream"], one["sessionId"]].append(one["line"]["event"])
    return [(*both, len(each), "|".join(each)) for both, each in texts.items()]


def used(found: list[Record]) -> Rows:
    """What sessions used of models: the last total and the answers after it."""
    answers: dict[tuple[str, str], list[int]] = defaultdict(lambda: [0, 0])
    for one in found:
        data = one.get("data") or {}
        if one.get("event") == "assistant.usage":
            known = answers[one["sessionId"], data["model"]]
            known[0] += data["inputTokens"]
            known[1] += data["outputTokens"]
        elif one.get("event") == "session.usage":
            for model in data["models"]:
                key = one["sessionId"], model["model"]
                answers[key] = [model["inputTokens"], model["outputTokens"]]
    return [(*both, *sums) for both, sums in answers.items()]


def errors_by_code(found: list[Record]) -> Rows:
    counts = Counter(one["code"] for one in found if one["kind"] == "error.sent")
    return list(counts.items())


def spans_by_name(found: list[Record]) -> Rows:
    sums: dict[tuple[str, str], list[float]] = defaultdict(lambda: [0, 0.0])
    for one in found:
        if one["kind"] == "span.ended":
            known = sums[one["span"]["name"], one["span"].get("status", "ok")]
            known[0] += 1
            known[1] += one["span"]["duration"]
    return [(*both, count, round(ms, 3)) for both, (count, ms) in sums.items()]


def changed_files(found: list[Record]) -> Rows:
    counts: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    for one in _calls(found):
        for change in one.get("changes") or [] if one["state"] == "done" else []:
            counts[change["path"]][0] += 1
            counts[change["path"]][1] += change.get("added") or 0
    return [(path, *both) for path, both in counts.items()]


def prompts(found: list[Record]) -> Rows:
    asked: dict[str, list[str]] = defaultdict(list)
    for one in found:
        if one.get("event") == "user.message":
            asked[one["sessionId"]].append(one["data"]["content"])
    return [(session, len(texts), "|".join(texts)) for session, texts in asked.items()]


def proofs(found: list[Record]) -> Rows:
    goals: dict[str, str] = {}
    checks: Counter[str] = Counter()
    claims: Counter[str] = Counter()
    names = {"pass": "passed", "fail": "failed"}
    for one in found:
        if "goal" in one:
            goals[one["goal"]["id"]] = one["goal"]["status"]
        for check in one.get("report", {}).get("checks", ()):
            checks[names.get(check["status"], check["status"])] += 1
        for claim in one.get("audit", {}).get("claims", ()):
            claims[claim["verdict"]] += 1
    kinds = (("goal", Counter(goals.values())), ("check", checks), ("claim", claims))
    return [(kind, state, count) for kind, counts in kinds for state, count in counts.items()]


QUESTIONS: dict[str, tuple[str, Callable[[list[Record]], Rows]]] = {
    "calls by tool": (
        "SELECT tool, count(*), sum(is_failed) FROM calls GROUP BY tool",
        calls_by_tool,
    ),
    "the longest call": (
        "SELECT provider, max(duration) FROM calls WHERE duration IS NOT NULL GROUP BY provider",
        longest,
    ),
    "decisions": (
        "SELECT state, decided_by, count(*) FROM approvals GROUP BY state, decided_by",
        decisions,
    ),
    "lines": (
        (
            "SELECT stream, session, count(*), group_concat(text, '|') FROM"
            " (SELECT * FROM lines ORDER BY id) GROUP BY stream, session"
        ),
        lines_by_stream,
    ),
    "usage": (
        "SELECT session, model, sum(input), sum(output) FROM usage GROUP BY session, model",
        used,
    ),
    "errors": (
        "SELECT code, count(*) FROM errors GROUP BY code",
        errors_by_code,
    ),
    "spans": (
        "SELECT name, status, count(*), round(sum(duration), 3) FROM spans GROUP BY name, status",
        spans_by_name,
    ),
    "files": (
        "SELECT path, count(*), coalesce(sum(added), 0) FROM files GROUP BY path",
        changed_files,
    ),
    "prompts": (
        (
            "SELECT session, count(*), group_concat(prompt, '|') FROM"
            " (SELECT * FROM turns WHERE source <> 'unknown' ORDER BY id) GROUP BY session"
        ),
        prompts,
    ),
    "proofs": (
        (
            "SELECT 'goal', status, count(*) FROM goals GROUP BY status"
            " UNION ALL SELECT 'check', state, count(*) FROM checks GROUP BY state"
            " UNION ALL SELECT 'claim', verdict, count(*) FROM claims GROUP BY verdict"
        ),
        proofs,
    ),
}

_texts = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=30)
_words = _texts.filter(lambda text: text.strip() == text and text.isprintable())


@st.composite
def _action(draw: st.DrawFn) -> list[Any]:
    kind = draw(st.sampled_from(list(_KINDS)))
    return _KINDS[kind](draw, draw(st.sampled_from(SESSIONS)))


_ids = iter(range(10**9))


def _a_call(draw: st.DrawFn, session: str) -> list[Any]:
    fields: dict[str, Any] = {"duration": draw(st.none() | st.floats(0, 1e6))}
    if draw(st.booleans()):
        fields["exit_code"] = draw(st.sampled_from((0, 1, 2, 130)))
    elif draw(st.booleans()):
        fields |= {"state": "failed", "error": draw(_texts), "error_code": "HANDLER_ERROR"}
    else:
        paths = draw(st.lists(st.sampled_from(("/code/a.py", "/b")), unique=True))
        fields["changes"] = [FileChange(path, draw(st.integers(0, 9)), 0) for path in paths]
    tool = draw(st.sampled_from(NAMES))
    made = call(f"c{next(_ids)}", tool, {"command": "make"}, "x", session, **fields)
    return made if draw(st.integers(0, 9)) else made[:1]


def _a_turn(draw: st.DrawFn, session: str) -> list[Any]:
    return [prompt(draw(_words), session), idle(session)]


def _an_answer(draw: st.DrawFn, session: str) -> list[Any]:
    tokens = st.integers(0, 10**6)
    data = {"model": draw(st.sampled_from(("m", "größer"))), "inputTokens": draw(tokens),
            "outputTokens": draw(tokens)}  # fmt: skip
    return [ev.SessionHappened(session, "assistant.usage", raw(data))]


def _a_total(draw: st.DrawFn, session: str) -> list[Any]:
    tokens = st.integers(0, 10**7)
    models = [
        {"model": name, "inputTokens": draw(tokens), "outputTokens": draw(tokens)}
        for name in ("m", "größer")
    ]
    return [ev.SessionHappened(session, "session.usage", raw({"models": models}))]


def _a_span(draw: st.DrawFn, _session: str) -> list[Any]:
    status = draw(st.sampled_from(("ok", "error", "denied")))
    name = draw(st.sampled_from(("gate", "provider", "emitter")))
    return [span(name, float(draw(st.integers(0, 10**6))), status=status)]


def _a_permission(draw: st.DrawFn, session: str) -> list[Any]:
    made = permission(f"a{next(_ids)}", draw(_words), session)
    return made if draw(st.booleans()) else made[:1]


_KINDS: dict[str, Callable[[st.DrawFn, str], list[Any]]] = {
    "call": _a_call,
    "turn": _a_turn,
    "answer": _an_answer,
    "total": _a_total,
    "span": _a_span,
    "permission": _a_permission,
    "line": lambda draw, session: [
        line(draw(_texts), draw(st.sampled_from(("log@ci", "größe@x"))), session)
    ],
    "error": lambda draw, _: [
        ev.ErrorSent(draw(st.sampled_from(("NOT_FOUND", "INVALID_JSON"))), draw(_texts))
    ],
    "goal": lambda draw, _: [
        ev.GoalOpened("s1", goal(draw(st.sampled_from(("g-1", "g-2"))), "active"))
    ],
    "verify": lambda draw, _: [
        verified(f"g-{next(_ids)}", *draw(st.lists(st.sampled_from(("pass", "fail", "unknown")))))
    ],
    "claim": lambda draw, _: [
        audited(f"au-{next(_ids)}", *draw(st.lists(st.sampled_from(("supported", "unsupported")))))
    ],
}


def _same(one: Rows, other: Rows) -> None:
    assert sorted(map(repr, one)) == sorted(map(repr, other))


@given(st.lists(_action(), max_size=40), st.integers(0, 40))
@settings(max_examples=60, deadline=None)
def test_sql_and_a_plain_fold_say_the_same(actions: list[list[Any]], split: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        state = Path(folder) / "state"
        with Writer(state) as writer:
            for session in SESSIONS:
                writer.turn(opened(session))
            for number, events in enumerate(actions):
                for event in events:
                    writer.turn(event)
                if number == split:  # what is under way goes on in another batch
                    rows(state, "SELECT 1")
            writer.turn(closed("s1"))
        found = list(records(state))
        for sql, fold in QUESTIONS.values():
            _same(rows(state, sql), fold(found))


def test_the_ten_questions_have_answers(state: Path) -> None:
    with Writer(state) as writer:
        for session in SESSIONS:
            writer.turn(opened(session))
        writer.turn(
            prompt("one"), *call("c1", "bash", {"command": "make"}, exit_code=2, duration=1.0)
        )
        change = [FileChange("/code/a.py", 2, 0)]
        writer.turn(*call("c2", "edit", {"path": "a.py"}, changes=change), idle())
        writer.turn(*permission("a1", "ls"), line("x"), span("gate", 2.0))
        used_ = {"model": "m", "inputTokens": 5, "outputTokens": 1}
        writer.turn(ev.SessionHappened("s1", "assistant.usage", raw(used_)))
        writer.turn(ev.ErrorSent("NOT_FOUND", "no"), ev.GoalOpened("s1", goal("g", "active")))
    found = list(records(state))
    for name, (sql, fold) in QUESTIONS.items():
        answer = rows(state, sql)
        assert answer, name
        _same(answer, fold(found))
