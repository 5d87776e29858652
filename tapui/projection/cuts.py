"""Large fields of events: what of them is recorded and kept, and how the fold puts them together.

JSON and text from outside are recorded whole up to a limit (`records.inline`); above it a shortened
value stays in the field and `cuts` holds head, size and sha256 of what was there. A large field
that is repeated unchanged in the next event about the same thing is left out: its entry in `cuts`
then has an empty head, and the fold takes the value that it knows.

Of what was recorded the live state keeps a head: a snapshot carries the whole state, so its size
must not depend on what others sent. All of a value is read with `detail.read`.
"""

import hashlib
from typing import Any, TypeVar

import msgspec
from msgspec import Raw, Struct
from msgspec.structs import replace

from tapui.secret import without_begun
from tapui.wire import limits, subjects
from tapui.wire.codec import encode
from tapui.wire.criteria import Disposal
from tapui.wire.emitters import Emitter
from tapui.wire.events import Event
from tapui.wire.goals import Goal, GoalCriterion
from tapui.wire.message import Line
from tapui.wire.reviews import Finding, Review
from tapui.wire.steering import Order
from tapui.wire.subjects import Approval, Call, Cut, Gate, Provider, Session

E = TypeVar("E", bound=Event)
V = TypeVar("V", Session, Provider, Approval, Call, Gate, Emitter)

_REPEATED = frozenset({"metadata", "context", "sections", "detail", "command", "prompt", "rules"})
"""Fields that events about the same thing repeat: recorded again only when they changed."""
_NEVER = frozenset({"cuts", "workspace"})
_VIEWS = (Session, Provider, Approval, Call, Gate, Order, Emitter)
_REPEATING = (Provider, Approval, Emitter)
_LISTS = frozenset({"detail", "rules"})
"""Lists that may be large."""
_REMEMBERED = 1000
_HEAD = limits.CUT_HEAD


class Bounds:
    """Bounds a run's events: no field over `inline` bytes, large ones not repeated."""

    def __init__(self, inline: int) -> None:
        self._inline = inline
        self._written: dict[str, dict[str, Cut]] = {}
        """The large fields that were recorded last, by the thing's id, oldest first."""

    def bounded(self, event: E) -> E:
        """Return the event in the form that is recorded. Raises what encoding raises."""
        changes, cuts = self._cuts(event, None)
        for name in event.__struct_fields__:
            value = getattr(event, name)
            if not isinstance(value, (*_VIEWS, Line)):
                continue
            written = self._written_of(value.id) if isinstance(value, _REPEATING) else None
            inner, inner_cuts = self._cuts(value, written)
            if not inner_cuts:
                continue
            if isinstance(value, Line):  # it has no cuts of its own: it is what providers are sent
                cuts |= {f"{name}.{field}": kept for field, kept in inner_cuts.items()}
                changes[name] = replace(value, **inner)
            else:
                changes[name] = replace(value, cuts=inner_cuts, **inner)
        return replace(event, cuts=cuts, **changes) if changes else event

    def _written_of(self, id_: str) -> dict[str, Cut]:
        written = self._written.setdefault(id_, {})
        if len(self._written) > _REMEMBERED:
            del self._written[next(iter(self._written))]
        return written

    def _cuts(
        self, view: Struct, written: dict[str, Cut] | None
    ) -> tuple[dict[str, Any], dict[str, Cut]]:
        """Return what changes in a struct's own fields, and what they were before, by name."""
        cuts: dict[str, Cut] = {}
        changes: dict[str, Any] = {}
        for name in view.__struct_fields__:
            value = getattr(view, name)
            is_repeated = written is not None and name in _REPEATED
            data = None if name in _NEVER else _data(name, value)
            if data is None or len(data) <= (limits.DETAIL_BYTES if is_repeated else self._inline):
                if is_repeated and written is not None:
                    written.pop(name, None)
                continue
            kept = _kept(data)
            if is_repeated and written is not None:
                if written.get(name) == kept:
                    cuts[name], changes[name] = replace(kept, head=""), _nothing(value)
                    continue
                written[name] = kept
            if len(data) > self._inline:
                cuts[name], changes[name] = kept, _shortened(value, self._inline)
        return changes, cuts


def restored(view: V, known: V | None) -> V:
    """Return what an event tells, with the fields that it did not repeat as they are known.

    `known` is what the state keeps of the same thing: a large field's head may be all of it.
    """
    if not view.cuts:
        return view
    cuts, changes = dict(view.cuts), {}
    for name, kept in view.cuts.items():
        if kept.head or known is None:
            continue
        changes[name] = getattr(known, name)
        del cuts[name]
        if name in known.cuts:
            cuts[name] = known.cuts[name]
    if "is_cut" in view.__struct_fields__:
        changes["is_cut"] = bool(cuts) or getattr(known, "is_cut", False)
    return replace(view, cuts=cuts, **changes)


def _data(name: str, value: Any) -> bytes | None:
    """Return a field's bytes, or None for one that is never large."""
    if isinstance(value, str):
        return value.encode()
    if isinstance(value, Raw):
        return bytes(value)
    if isinstance(value, dict) or (name in _LISTS and isinstance(value, list)):
        return encode(value)
    return None


def _kept(data: bytes | memoryview) -> Cut:
    head = bytes(data[: _HEAD * 4]).decode("utf-8", "ignore")[:_HEAD]
    return Cut(head=without_begun(head), size=len(data), sha256=hashlib.sha256(data).hexdigest())


def _nothing(value: Any) -> Any:
    if isinstance(value, str):
        return ""
    if isinstance(value, dict):
        return {}
    return [] if isinstance(value, list) else None


def _shortened(value: Any, inline: int) -> Any:
    """Return what stays in a field: its text cut, or its JSON with each long text in it cut."""
    if isinstance(value, str):
        return _short(value)
    if isinstance(value, Raw):
        shorter = Raw(encode(_leaves(msgspec.json.decode(value))))
        return shorter if len(memoryview(shorter)) <= inline else None
    shorter_value = _leaves(value)
    return shorter_value if len(encode(shorter_value)) <= inline else _nothing(value)


def _leaves(value: Any) -> Any:
    if isinstance(value, str):
        return _short(value)
    if isinstance(value, dict):
        return {_short(key): _leaves(one) for key, one in value.items()}
    if isinstance(value, list):
        return [_leaves(one) for one in value]
    return value


def _short(text: str) -> str:
    return text if len(text) <= _HEAD else without_begun(text[:_HEAD]) + "…"


Whole = TypeVar(
    "Whole",
    subjects.Session,
    subjects.Provider,
    subjects.Call,
    subjects.Approval,
    subjects.Gate,
    Order,
    Emitter,
)


def cut(raw: Raw, limit: int) -> tuple[Raw | None, subjects.Cut | None]:
    """Return the JSON whole if it has at most `limit` bytes, else what is kept of it."""
    data = memoryview(raw)
    return (raw, None) if data.nbytes <= limit else (None, _kept(data))


def head_of(text: str) -> str:
    """Return the text, cut with `…` where it is longer than `limits.HEAD_BYTES` characters."""
    return text if len(text) <= limits.HEAD_BYTES else text[: limits.HEAD_BYTES] + "…"


def session_head(session: subjects.Session) -> subjects.Session:
    if any(_is_long(one) for one in session.subagents):
        session = replace(session, subagents=[_subagent_head(one) for one in session.subagents])
    return _with_heads(session, ("label", "cwd", "model", "workspace", "reason"))


def _is_long(subagent: subjects.Subagent) -> bool:
    names = (subagent.id, subagent.agent, subagent.tool_call_id or "")
    return any(len(name) > limits.MAX_NAME for name in names)


def _subagent_head(subagent: subjects.Subagent) -> subjects.Subagent:
    call = subagent.tool_call_id
    return replace(
        subagent,
        id=subagent.id[: limits.MAX_NAME],
        agent=subagent.agent[: limits.MAX_NAME],
        tool_call_id=call[: limits.MAX_NAME] if call else call,
    )


def order_head(order: Order) -> Order:
    return _with_heads(order, ("text", "error"))


def provider_head(provider: subjects.Provider) -> subjects.Provider:
    """Return what the state keeps of a provider; `is_cut` when that is not all."""
    kept = _with_heads(provider, ("origin", "reason", "context"))
    if kept.metadata is not None and len(memoryview(kept.metadata)) > limits.DETAIL_BYTES:
        kept = replace(kept, metadata=msgspec.Raw(_json(_part(kept.metadata))), is_cut=True)
    if any(len(name) > limits.MAX_NAME for name in kept.sections):
        sections = {name[: limits.MAX_NAME]: what for name, what in kept.sections.items()}
        kept = replace(kept, sections=sections, is_cut=True)
    return kept


def call_head(call: subjects.Call) -> subjects.Call:
    """Return what the state keeps of a call; `is_cut` when that is not all."""
    if call.args is not None and len(memoryview(call.args)) > limits.DETAIL_BYTES:
        args, args_cut = cut(call.args, limits.DETAIL_BYTES)
        call = replace(call, args=args, args_cut=args_cut, is_cut=True)
    if call.data is not None and len(memoryview(call.data)) > limits.DETAIL_BYTES:
        data, data_cut = cut(call.data, limits.DETAIL_BYTES)
        call = replace(call, data=data, data_cut=data_cut, is_cut=True)
    if (shell := call.shell) is not None and len(shell.head) + len(shell.tail) > limits.HEAD_BYTES:
        shell = replace(shell, head="", tail=shell.tail[-limits.HEAD_BYTES :])
        call = replace(call, shell=shell, is_cut=True)
    if len(call.output) > limits.MAX_LIVE_OUTPUT:
        call = replace(call, output=call.output[-limits.MAX_LIVE_OUTPUT :])
    if call.context is not None and sum(map(len, call.context)) > limits.HEAD_BYTES:
        call = replace(call, context=_Part().of(call.context), is_cut=True)
    if call.progress is None and call.error is None:
        return call
    return _with_heads(call, ("progress", "error"))


def approval_head(approval: subjects.Approval) -> subjects.Approval:
    """Return what the state keeps of an approval; `is_cut` when that is not all."""
    kept = _with_heads(approval, ("reason", "provider"))
    if len(_json(kept.detail)) > limits.DETAIL_BYTES:
        kept = replace(kept, detail=_Part().of(kept.detail), is_cut=True)
    return kept


def gate_head(gate: subjects.Gate) -> subjects.Gate:
    return _with_heads(gate, ("tool", "reason"))


def emitter_head(emitter: Emitter) -> Emitter:
    """Return what the state keeps of an emitter; `is_cut` when that is not all."""
    kept = _with_heads(
        emitter,
        ("cwd", "folder", "command", "prompt", "shell", "description", "error", "why"),
    )
    if sum(map(len, kept.args)) > limits.DETAIL_BYTES:
        kept = replace(kept, args=[head_of(" ".join(kept.args))], is_cut=True)
    if sum(len(rule.match) for rule in kept.rules) <= limits.DETAIL_BYTES:
        return kept
    room, rules = limits.DETAIL_BYTES, []
    for rule in kept.rules:
        room -= len(rule.match)
        if room < 0:
            break
        rules.append(rule)
    return replace(kept, rules=rules, is_cut=True)


def goal_head(goal: Goal) -> Goal:
    """Return what the state keeps of a goal; `is_cut` when that is not all."""
    if len(_json(goal)) <= limits.DETAIL_BYTES:
        return goal
    criteria = [_criterion_head(one) for one in goal.criteria[: limits.MAX_CRITERIA]]
    return replace(goal, criteria=criteria, note=_brief(goal.note), is_cut=True)


def _criterion_head(one: GoalCriterion) -> GoalCriterion:
    verdict = one.verdict and replace(one.verdict, reason=_brief(one.verdict.reason), pointers=[])
    changed = [replace(file, diff="") for file in one.changed]
    return replace(one, text=_brief(one.text), check=None, verdict=verdict, changed=changed)


def review_head(review: Review) -> Review:
    """Return what the state keeps of a review; `is_cut` when that is not all. Each finding stays
    with its title and how it stands."""
    if len(_json(review)) <= limits.DETAIL_BYTES:
        return review
    findings = [finding_head(one) for one in review.findings]
    whole = {"observed": _brief(review.observed), "reason": _brief(review.reason)}
    short = {"evidence": [], "actions": [], "next": None, "findings": findings}
    return replace(review, **whole, **short, is_cut=True)


def finding_head(finding: Finding) -> Finding:
    """Return a finding without its body and its lines; `detail` is in the records."""
    verdict = finding.verdict and replace(
        finding.verdict, reason=_brief(finding.verdict.reason), pointers=[]
    )
    disposed, proposed = _disposal_head(finding.disposed), _disposal_head(finding.proposed)
    return replace(finding, body="", quote="", verdict=verdict, disposed=disposed,
                   proposed=proposed)  # fmt: skip


def _disposal_head(disposal: Disposal | None) -> Disposal | None:
    return disposal and replace(disposal, reason=_brief(disposal.reason))


def _brief(text: str) -> str:
    return text if len(text) <= limits.MAX_SUMMARY else text[: limits.MAX_SUMMARY] + "…"


def line_head(line: Line) -> Line:
    """Return what the state keeps of a stream's last line."""
    if line.metadata is None and len(line.event) <= limits.HEAD_BYTES:
        return line
    return replace(line, event=head_of(line.event), metadata=None)


def _with_heads(whole: Whole, fields: tuple[str, ...]) -> Whole:
    changes: dict[str, Any] = {}
    for name in fields:
        text = getattr(whole, name)
        if text is not None and len(text) > limits.HEAD_BYTES:
            changes[name] = head_of(text)
    if not changes:
        return whole
    if "is_cut" in whole.__struct_fields__:
        changes["is_cut"] = True
    return replace(whole, **changes)


def _json(value: Any) -> bytes:
    return msgspec.json.encode(value)


def _part(raw: Raw) -> Any:
    return _Part().of(msgspec.json.decode(raw))


class _Part:
    """Makes a value small: long strings are cut, and what comes after the first
    `limits.DETAIL_BYTES` is left out."""

    def __init__(self) -> None:
        self._room = limits.DETAIL_BYTES

    def of(self, value: Any) -> Any:
        """Return the value, or a part of it of the same kind."""
        if isinstance(value, str):
            kept = head_of(value)[: max(self._room, 1)]
            self._room -= len(kept)
            return kept if kept == value or kept.endswith("…") else kept + "…"
        if isinstance(value, dict):
            made = {}
            for name, inner in value.items():
                if self._room <= 0:
                    break
                short = str(name)[: limits.MAX_NAME]
                self._room -= len(short) + 4
                made[short] = self.of(inner)
            return made
        if isinstance(value, list):
            items = []
            for inner in value:
                if self._room <= 0:
                    break
                self._room -= 2
                items.append(self.of(inner))
            return items
        self._room -= 8
        return value
