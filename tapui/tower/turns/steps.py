"""Turns and steps as the person reads them: marks, words and keys; which of them failed, and
which to show."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import msgspec

from tapui import times
from tapui.projection.approvals import by_whom
from tapui.projection.proof import turn_mark
from tapui.projection.requests.kinds import KINDS
from tapui.projection.state import is_unsettled
from tapui.projection.summary import one_line, within
from tapui.projection.turns.programs import has_failed
from tapui.projection.turns.turn import COUNTED, LiveStep, LiveTurn
from tapui.projection.words import ENDED, alarms_of, how_often, source_words
from tapui.tower.app.view import Happening, View
from tapui.tower.table.filter import Filter, parse
from tapui.tower.wording import marks
from tapui.tower.wording.marks import Mark
from tapui.tower.wording.words import quantity, rate
from tapui.wire.message import BUILTIN_PROVIDER, UPDATE_MARK
from tapui.wire.subjects import Call
from tapui.wire.turns import StepState, Usage

_ITEM = re.compile(r" ⏎ - stream=\S+ emitter=([^\s/]+)/[a-z]+: (.*?)(?= ⏎ |$)")
"""A line in the prompt of emitters' lines (`tapui/wire/README.md`), all of it on one line here."""


class EmitterPrompt(NamedTuple):
    """Which emitters began a turn, and what they said, as far as the turn's head has it."""

    names: tuple[str, ...]
    said: tuple[str, ...]


def emitter_prompt(view: View, turn: LiveTurn) -> EmitterPrompt | None:
    """Return what emitters sent to begin a turn; None where none did."""
    if (turn.source.kind, turn.source.name) != ("provider", BUILTIN_PROVIDER):
        return None
    if turn.prompt.startswith(UPDATE_MARK):
        lines = _ITEM.findall(turn.prompt)
        names = tuple(dict.fromkeys(name for name, _text in lines))
        return EmitterPrompt(names, tuple(text for _name, text in lines)) if lines else None
    for emitter in view.state.emitters.values():
        if emitter.prompt and one_line(emitter.prompt) == turn.prompt:
            return EmitterPrompt((emitter.name,), (turn.prompt,))
    return None


MINUS = "\N{MINUS SIGN}"
_TOKENS = re.compile(r"(\d{1,16}) → (\d{1,16})\Z")
_LABELS = {
    "message": "says",
    "prompt": "prompt",
    "mode": "mode",
    "model": "model",
    "compaction": "compact",
    "error": "error",
    "gate": "gate",
    "subagent": "task",
    "event": "event",
}
_SAID = frozenset({"message", "prompt"})
_QUIET = Mark("·", "", "muted")
_GATE = Mark("?", "gate", "primary")


class StepPlace(NamedTuple):
    """A step with the turn it is in, and the subagent's step that it belongs to, if it does."""

    turn: LiveTurn
    step: LiveStep
    agent: LiveStep | None = None


# Keys: JSON, since ids come from outside


def keyed_turns(view: View, session_id: str) -> list[tuple[str, LiveTurn]]:
    """Return the turns of a session with their keys, newest first. A key stays the same when turns
    of earlier runs are put before it."""
    known = view.state.turns.get(session_id)
    turns = known.turns if known is not None else []
    seen: dict[str, int] = {}
    return [(_key(seen, (session_id, one.started_at)), one) for one in turns][::-1]


def keyed_steps(turn_key: str, turn: LiveTurn) -> Iterator[tuple[str, StepPlace]]:
    """Yield the steps of a turn with their keys, each before those within it."""
    keys = StepKeys(turn_key)
    for step, agent in nested(turn):
        name = name_of(step)
        yield keys.key(name, keys.count(name)), StepPlace(turn, step, agent)


def nested(turn: LiveTurn) -> Iterator[tuple[LiveStep, LiveStep | None]]:
    """Yield the steps of a turn, each before those within it, with the subagent's step that they
    belong to."""
    for step in turn.steps:
        yield step, None
        for inner in step.steps or ():
            yield inner, step


class StepKeys:
    """Makes the keys of the steps of one turn, asked for in their order."""

    def __init__(self, turn_key: str) -> None:
        self._start = tuple(msgspec.json.decode(turn_key))
        self._seen: dict[str, int] = {}

    def count(self, name: str) -> int:
        """Count a step of a name; return which of this name it is, the first being 1."""
        count = self._seen[name] = self._seen.get(name, 0) + 1
        return count

    def key(self, name: str, count: int) -> str:
        """Return the key of the step that is this one of its name."""
        return _encoded((*self._start, name if count == 1 else f"{name} {count}"))


def turn_key_of(key: str) -> str:
    """Return the key of the turn that a step's key belongs to; a turn's own key unchanged."""
    session_id, started_at, *_ = msgspec.json.decode(key)
    return _key({}, (session_id, started_at))


def turn_of(view: View, key: str) -> LiveTurn | None:
    """Return the turn that a key, or a key of one of its steps, means."""
    session_id, *_ = msgspec.json.decode(key)
    wanted = turn_key_of(key)
    return next((turn for one, turn in keyed_turns(view, session_id) if one == wanted), None)


def place_of(view: View, key: str) -> StepPlace | None:
    """Return the step that a key means, and where it is; None once it is kept no longer."""
    turn = turn_of(view, key)
    if turn is None:
        return None
    places = keyed_steps(turn_key_of(key), turn)
    return next((place for one, place in places if one == key), None)


def name_of(step: LiveStep) -> str:
    """Return what its key is made of."""
    call_id = step.call.id if step.call is not None else step.call_id
    return call_id if call_id is not None else f"{step.at} {step.kind}"


def _key(seen: dict[str, int], parts: tuple[str, ...]) -> str:
    """Return a key of these parts; of several with the same parts each has a number."""
    last = parts[-1]
    count = seen[last] = seen.get(last, 0) + 1
    if count > 1:
        parts = (*parts[:-1], f"{last} {count}")
    return _encoded(parts)


def _encoded(parts: tuple[str, ...]) -> str:
    return msgspec.json.encode(parts).decode()


# Marks


def mark_of(view: View, step: LiveStep) -> Mark:
    """Return a step's mark: amber only where it waits for the person, and not for a provider."""
    if step.state == "waiting":
        approval = view.state.approvals.get(step.approval_id or "")
        if approval is not None and is_unsettled(approval):
            is_recorded = approval.state == "deciding"
            return marks.APPROVAL["deciding"] if is_recorded else marks.STEP["waiting"]
        return _GATE
    if step.state == "done" and step.kind in _LABELS and step.kind not in ("subagent", "gate"):
        return _QUIET
    return marks.STEP[step.state]


def alarm_of_turn(view: View, turn: LiveTurn) -> Mark | None:
    """Return the mark of the alarm about a turn under way; None where there is none."""
    turns = view.state.turns.get(turn.session_id)
    if turns is None or turns.running is not turn:
        return None
    raised = {one.kind: one for one in alarms_of(view.state, turn.session_id)}
    if "failing" in raised:
        return Mark("↻", how_often(raised["failing"]), "error")
    return marks.NO_EVENT if "quiet" in raised else None


def mark_of_turn(view: View, turn: LiveTurn) -> Mark:
    """Return a turn's mark: an alarm about it, or what was recorded of it, goes before; then what
    failed in it and did not pass later, also where the turn itself ended well."""
    raised = alarm_of_turn(view, turn)
    if raised is not None:
        return raised
    state, _ended_at = turn.told_state()
    recorded = turn_mark(turn)
    if turn.proof is None and state == "done" and turn.failed:
        left = turn.failures_left()
        if left is None:
            return marks.PROOF["unknown"]
        if left:
            return marks.STEP["failed"]._replace(word=f"{left} failed")
    if recorded is not None:
        return marks.PROOF[recorded]
    if state == "waiting":
        waiting = [mark_of(view, step) for step in turn.all_steps() if step.state == "waiting"]
        if marks.STEP["waiting"] not in waiting:
            return marks.TURN["running"]
    return marks.TURN[state]


# Words


def asker_words(view: View, turn: LiveTurn) -> str:
    sent = emitter_prompt(view, turn)
    return source_words(turn.source) if sent is None else f"emitter {', '.join(sent.names)}"


def prompt_words(view: View, turn: LiveTurn) -> str:
    words = _prompt_words(view, turn)
    return f"undone: {words}" if turn.undone else words


def _prompt_words(view: View, turn: LiveTurn) -> str:
    if turn.is_outside:
        return "without a prompt"
    sent = emitter_prompt(view, turn)
    if sent is not None:
        more = f" and {len(sent.said) - 1} more" if len(sent.said) > 1 else ""
        return f"{', '.join(sent.names)}: “{sent.said[0]}”{more}"
    if turn.source.kind == "host":
        return f"{source_words(turn.source)}: {turn.prompt}"  # what happened, and no prompt
    if turn.prompt:
        return f"{source_words(turn.source)}: “{turn.prompt}”"
    if turn.source.kind == "unknown" and not turn.source.name:
        return "a prompt that was not seen"
    return f"{source_words(turn.source)}: (its prompt was not seen)"


def label_of(step: LiveStep) -> str:
    """Return what kind of step it is: a call's tool, else a word."""
    step.condense()
    if step.kind == "call":
        return step.tool or "call"
    if step.kind == "gate":
        return KINDS[step.tool].word if step.tool in KINDS else "gate"
    return _LABELS[step.kind]


def step_words(step: LiveStep, folder: str) -> str:
    """Return what a step is about, and why it failed; paths in the session's folder without it."""
    step.condense()
    words = within(step.summary, folder)
    if step.kind in _SAID:
        words = f"“{words}”"
    elif step.kind == "subagent":
        words = f"{step.tool}: “{words}”" if words else step.tool
    elif step.kind == "compaction" and (sizes := _TOKENS.match(words)):
        words = f"{rate(int(sizes[1]))} → {rate(int(sizes[2]))} tokens"
    elif step.kind == "event" or (step.kind == "gate" and step.tool not in KINDS):
        words = "   ".join(one for one in (step.tool, words) if one)
    return "   ".join(one for one in (words, step.error) if one)


def lines_changed(added: int | None, removed: int | None) -> str:
    """Return `+84 −12`; "" where none is known."""
    return f"+{added or 0} {MINUS}{removed or 0}" if added or removed else ""


def turn_lines(turn: LiveTurn) -> str:
    """Return how many lines a turn changed, or how many files where none is known."""
    files, more = turn.files.values(), turn.more_files
    added = sum(one.added or 0 for one in files) + more.added
    removed = sum(one.removed or 0 for one in files) + more.removed
    count = quantity(len(files) + more.files, "file") if files else ""
    return lines_changed(added, removed) or count


def tokens(usage: Usage | None) -> str:
    """Return `↑46k ↓420`: tokens in and out; "" for none."""
    if usage is None or not (usage.input or usage.output):
        return ""
    return f"↑{rate(usage.input)} ↓{rate(usage.output)}"


def sent_back(turn: LiveTurn) -> str:
    """Return how often the agent was sent back in a turn, and what it used since: `sent back 2×
    ↑38k ↓2k`; "" for never."""
    words = f"sent back {turn.sent_back}×" if turn.sent_back else ""
    return "  ".join(filter(None, (words, tokens(turn.again))))


def counts_of(counted: Mapping[StepState, int]) -> list[Mark]:
    """Return how many steps ended other than well, for each way: `2 failed`, `1 denied`. Only what
    failed has the tone of an error."""
    return [
        marks.STEP[state]._replace(word=f"{counted[state]} {marks.STEP[state].word}")
        for state in COUNTED
        if counted.get(state)
    ]


def note_of(view: View, step: LiveStep) -> tuple[str, str]:
    """Return what is to be said of how a step stands, beside its glyph, and its tone."""
    mark = mark_of(view, step)
    if step.exit_code and step.state in ("done", "failed"):
        return f"exit {step.exit_code}", mark.tone if step.state == "failed" else "muted"
    if step.state == "waiting" and mark is _GATE:
        return f"asks {step.provider}" if step.provider else "gate", "primary"
    is_bare = step.state == "failed" and not step.error
    if is_bare or step.state in ("waiting", "denied", "cancelled", "stopped", "timedOut"):
        return mark.word, mark.tone
    return "", "muted"


def waited_within(view: View, session_id: str, step: LiveStep) -> float:
    """Return for how many milliseconds of its time a step waited for the person. The duration of a
    session's own call holds that wait, of others it does not."""
    step.condense()
    session = view.state.sessions.get(session_id)
    is_own = session is not None and step.provider == session.host
    return step.asked or 0.0 if is_own or step.is_open else 0.0


def waited_of(view: View, call: Call) -> float:
    """Return for how many milliseconds of its time a call waited for the person, as far as its step
    is here; 0 for a provider's, which begins only then."""
    turns = view.state.turns.get(call.session_id)
    if turns is None or not marks.is_own_tool(call):
        return 0.0
    step = turns.open.get(call.id)
    if step is None:
        began = (turn for turn in reversed(turns.turns) if turn.started_at <= call.started_at)
        turn = next(began, None)
        found = turn.all_steps() if turn is not None else ()
        step = next(
            (one for one in found if call.id in (one.call_id, one.call and one.call.id)), None
        )
    return step.asked or 0.0 if step is not None else 0.0


def seconds_of(view: View, session_id: str, step: LiveStep) -> float | None:
    """Return how long a step took, or takes by now, without what it waited for the person; how long
    it waits for them already, while it does. None where that is not known."""
    if step.is_open:
        passed = times.since(step.at, view.now)
    else:
        passed = None if step.duration is None else step.duration / 1000
    return None if passed is None else max(passed - waited_within(view, session_id, step) / 1000, 0)


class TimeSpent(NamedTuple):
    """Seconds: all that something took, or takes by now, and what of it waited for the person."""

    whole: float
    waited: float

    @property
    def without(self) -> float:
        return max(self.whole - self.waited, 0.0)

    @property
    def words(self) -> str | None:
        """Return `44s for you, of 3m 02s`; None where it did not wait."""
        if self.waited < 0.0005:
            return None
        return f"{lasted(self.waited)} for you, of {lasted(self.whole)}"


def time_of_turn(turn: LiveTurn, now: float) -> TimeSpent | None:
    """Return how long a turn took, or takes by now; None where that is not known."""
    state, ended_at = turn.told_state()
    if ended_at is None and state not in ("running", "waiting"):
        return None
    until = now if ended_at is None else times.epoch(ended_at)
    whole = None if until is None else times.since(turn.started_at, until)
    if until is None or whole is None:
        return None
    return TimeSpent(whole, turn.waited / 1000 + (times.since(turn.waits_since, until) or 0.0))


def seconds_of_turn(turn: LiveTurn, now: float) -> float | None:
    """Return that time without what waited for the person."""
    time = time_of_turn(turn, now)
    return None if time is None else time.without


def lasted(seconds: float | None) -> str:
    """Return a duration: `30ms`, `3.4s`, `31s`, `2m 40s`; "" for none."""
    if seconds is None:
        return ""
    if seconds < 0.9995:
        return f"{round(seconds * 1000)}ms"
    return f"{seconds:.1f}s" if seconds < 9.95 else times.lasting(seconds)


def allowed_by(step: LiveStep) -> str:
    """Return who decided on a step, "" where no decision was needed or it is not known."""
    if step.rule or step.decided_by:
        return step.rule or by_whom(step.decided_by or "")
    is_native = step.kind == "call" and step.state in ("done", "failed") and step.call_id
    return "not known: Copilot did not ask here" if is_native and step.provider == "copilot" else ""


def reason_of(view: View, session_id: str, step: LiveStep) -> str:
    """Return what the host said of why it decided on a step, "" where that is not known."""
    approval = view.state.approvals.get(step.approval_id or "")
    if approval is not None:
        return approval.reason or ""
    for event in view.life.get(session_id, ()):
        if event.event == "permission.completed":
            data = _data(event)
            reason = data.get("reason")
            if data.get("toolCallId") == step.call_id and isinstance(reason, str):
                return reason
    return ""


# What the events said, as far as the tower keeps them


def events_at(view: View, session_id: str, at: str) -> list[Happening]:
    return [one for one in view.life.get(session_id, ()) if one.ts == at]


def content_at(view: View, session_id: str, at: str) -> str:
    """Return all of a message or prompt of this time; "" where only its beginning is kept."""
    texts = (_data(event).get("content") for event in events_at(view, session_id, at))
    return next((text for text in texts if isinstance(text, str)), "")


def _data(event: Happening) -> dict[str, Any]:
    """Return the data of a session's event; nothing where it is kept cut, or no object."""
    try:
        data = msgspec.json.decode(event.data) if event.data is not None else None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return {}
    return data if isinstance(data, dict) else {}


def prompt_whole(view: View, turn: LiveTurn) -> str:
    return content_at(view, turn.session_id, turn.started_at) or turn.prompt


class FailedItem(NamedTuple):
    """Something that failed: its place in time (the larger, the later; what was not seen counts
    from when it failed, the rest from when it began), its session, its key in Turns or Calls."""

    at: tuple[int, str]
    session_id: str
    key: str
    is_step: bool

    @property
    def is_unseen(self) -> bool:
        return self.at[0] > 0


def failed_key(step: LiveStep) -> str:
    """Return the key of a step as `FailedEvent` has it."""
    step.condense()
    return step.at if step.call_id is None else step.call_id


def failures(view: View) -> list[FailedItem]:
    """Return what has failed, what was not seen first, the newest first. A turn whose steps are not
    here stands for those of them."""
    failed: list[FailedItem] = []
    calls: set[str | None] = set()
    unseen = {(one.session_id, one.key): place for place, one in enumerate(view.failures, 1)}
    for session_id in view.state.turns:
        for key, turn in keyed_turns(view, session_id):
            if not turn.is_whole:
                if turn.failed:
                    place = _unseen_within(view, turn)
                    at = (place, turn.started_at)
                    failed.append(FailedItem(at, session_id, key, True))
                continue
            for step_key, (_turn, step, _agent) in keyed_steps(key, turn):
                name = failed_key(step)
                calls.add(name)
                if step.state == "failed":
                    at = (unseen.get((session_id, name), 0), step.at)
                    failed.append(FailedItem(at, session_id, step_key, True))
    failed += [
        FailedItem(
            (unseen.get((one.session_id, one.id), 0), one.started_at), one.session_id, one.id, False
        )
        for one in view.state.recent_calls.values()
        if one.id not in calls and has_failed(one)
    ]
    return sorted(failed, key=lambda one: one.at, reverse=True)


def _unseen_within(view: View, turn: LiveTurn) -> int:
    """Return the place of the newest failure in a turn that was not seen, from 1; 0 for none."""
    began, ended = times.epoch(turn.started_at) or 0.0, times.epoch(turn.ended_at)
    places = (
        place
        for place, one in enumerate(view.failures, 1)
        if one.session_id == turn.session_id
        and began <= one.at <= (one.at if ended is None else ended)
    )
    return max(places, default=0)


_STATES: Mapping[str, StepState] = {words: state for state, words in ENDED.items()}
"""How steps ended other than well, by their words."""
_SLOWER = re.compile(r">(\d{1,6}(?:\.\d{1,3})?)(ms|s|m|h)?\Z")
_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, None: 1.0}


@dataclass(frozen=True, slots=True)
class StepFilter(Filter):
    """A filter of steps. `states` are those of which one is wanted, if there are any; `slower_than`
    is in seconds; the text is looked for besides."""

    states: frozenset[StepState] = frozenset()
    slower_than: float | None = None

    def may_show(self, *, state: str, seconds: float | None) -> bool:
        if self.states and state not in self.states:
            return False
        return self.slower_than is None or (seconds is not None and seconds > self.slower_than)


def parse_steps(text: str) -> StepFilter | None:
    """Return the filter that `text` asks for, None for none.

    `failed`, `denied`, `cancelled`, `stopped`, `timed out` and `>10s` (`ms`, `s`, `m`, `h`) may
    stand first; what follows is as `parse` takes it. Raises FilterError.
    """
    states: set[StepState] = set()
    slower_than, rest = None, text
    while rest:
        word, _, after = rest.partition(" ")
        slower = _SLOWER.match(word)
        named = next((one for one in _STATES if f"{rest} ".startswith(f"{one} ")), None)
        if named is not None:
            states.add(_STATES[named])
            after = rest.removeprefix(named)
        elif slower is not None:
            slower_than = float(slower[1]) * _SECONDS[slower[2]]
        else:
            break
        rest = after.lstrip()
    parsed = parse(rest)
    if parsed is None and not states and slower_than is None:
        return None
    needle, pattern = (parsed.needle, parsed.pattern) if parsed is not None else ("", None)
    return StepFilter(text, needle, pattern, frozenset(states), slower_than)
