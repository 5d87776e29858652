"""The keys of emitters, streams and providers, in all their spellings, checked: filters first.

Documented keys go before their older spellings; each entry is refused or taken by itself.
"""

import re
from collections.abc import Sequence
from typing import Any, get_args

import msgspec

from tapui.core.emitters.plans import Schedule
from tapui.core.hooks.matching import PatternError
from tapui.cron import MAX_CRON, fault
from tapui.emitters.config.entries import (
    MAIN_STREAM,
    MAX_ARGUMENTS,
    MAX_METADATA,
    MAX_PATTERN_CHARACTERS,
    MAX_PROMPT,
    MAX_VALUE,
    EmitterEntry,
    IntervalError,
    ProviderEntry,
    StreamEntry,
    normalised_name,
    schedule_of,
)
from tapui.emitters.config.fields import Fields, quoted
from tapui.policies.commands import MAX_COMMAND
from tapui.runtime.system import RegexMatcher
from tapui.wire import limits
from tapui.wire.emitters import Delivery, Injector, Lifespan, Ownership, Rules
from tapui.wire.limits import MAX_NAME, MAX_PATH
from tapui.wire.provider import FilterRule

FILTER_KEYS = ("eventFilter", "classifier")
"""The documented key of a filter, and the old one."""
PATTERN_KEYS = ("includePattern", "excludePattern", "notifyPattern")
FLAT_KEYS = ("rules", *PATTERN_KEYS)
"""What a filter as an object has, and an emitter itself may have."""
_OUTCOMES = get_args(FilterRule.__annotations__["outcome"])
_LEAST_COUNTED = 32

Filter = tuple[tuple[FilterRule, ...], Ownership]
"""The rules in their order, and who may change them."""


class PatternCheck:
    """Checks patterns with the interface's engine, and how many characters they have together."""

    def __init__(self) -> None:
        self._left = MAX_PATTERN_CHARACTERS
        self._matcher = RegexMatcher(ignore_case=True)

    def fault(self, pattern: str) -> str | None:
        """Return why a pattern cannot be used, None where it can."""
        if len(pattern) > limits.MAX_PATTERN:
            return f"a pattern has at most {limits.MAX_PATTERN:,} characters"
        self._left -= max(len(pattern), _LEAST_COUNTED)
        if self._left < 0:
            return f"all patterns together have at most {MAX_PATTERN_CHARACTERS:,} characters"
        try:
            self._matcher.compile(pattern)
        except PatternError as error:
            return str(error)
        return None


def filter_of(entry: Fields, patterns: PatternCheck) -> Filter:
    """Return an emitter's filter: `eventFilter` before `classifier` before its own keys.

    Raises `EntryRefusedError` for a rule that cannot be used.
    """
    flat = {name: entry.value(name) for name in FLAT_KEYS}
    is_flat = any(value is not None for value in flat.values())
    key = entry.key(*FILTER_KEYS)
    if key is None:
        return _of_object(Fields(flat, entry.path, entry.problems), patterns, "userOwned")
    if is_flat:
        name = next(name for name, value in flat.items() if value is not None)
        entry.warn(name, f"not used: {key} goes first")
    given = entry.values[key]
    path = (*entry.path, key)
    if isinstance(given, list):
        return _rules(Fields({key: given}, entry.path, entry.problems), key, patterns), "userOwned"
    if isinstance(given, dict):
        inner = Fields(given, path, entry.problems)
        found = _of_object(inner, patterns, inner.ownership("userOwned"))
        inner.tell_unknown()
        return found
    raise entry.refuse(key, "a filter is a list of rules: [{match, outcome}]")


def _of_object(given: Fields, patterns: PatternCheck, owner: Ownership) -> Filter:
    three = {name: _pattern(given, name, patterns) for name in PATTERN_KEYS}
    if given.key("rules") is None:
        return _of_patterns(three), owner
    if other := next((name for name, value in three.items() if value is not None), None):
        given.warn(other, "not used: rules go first")
    return _rules(given, "rules", patterns), owner


def _pattern(given: Fields, name: str, patterns: PatternCheck) -> str | None:
    value = given.text(name, most=limits.MAX_PATTERN, what="a pattern")
    if value is not None and (fault := patterns.fault(value)):
        raise given.refuse(name, fault)
    return value


def _of_patterns(three: dict[str, str | None]) -> tuple[FilterRule, ...]:
    """Return three patterns as rules: with an include, all that it does not match is dropped."""
    found = []
    if (exclude := three["excludePattern"]) is not None:
        found.append(FilterRule(exclude, "drop"))
    if (notify := three["notifyPattern"]) is not None:
        found.append(FilterRule(notify, "inject"))
    if (include := three["includePattern"]) is not None:
        found += [FilterRule(include, "keep"), FilterRule(".*", "drop")]
    return tuple(found)


def patterns_of(rules: Sequence[FilterRule]) -> dict[str, str | None] | None:
    """Return rules as the three patterns that they come from; None for rules of other forms."""
    found: dict[str, str | None] = dict.fromkeys(PATTERN_KEYS)
    for key, outcome in zip(PATTERN_KEYS, ("keep", "drop", "inject"), strict=True):
        found[key] = next((rule.match for rule in rules if rule.outcome == outcome), None)
        if outcome == "drop" and found[key] == ".*":
            found[key] = None  # what an include leaves over
    return found if _of_patterns(found) == tuple(rules) else None


def merged_patterns(rules: Sequence[FilterRule], given: dict[str, str | None]) -> Rules | None:
    """Return the rules of three patterns, of which those that are not given stay as they are in
    `rules`; None where these have another form."""
    former = patterns_of(rules)
    if former is None:
        return None
    return list(_of_patterns({key: given.get(key) or former[key] for key in PATTERN_KEYS}))


def _rules(given: Fields, key: str, patterns: PatternCheck) -> tuple[FilterRule, ...]:
    rules = given.values[key]
    if not isinstance(rules, list):
        raise given.refuse(key, "rules are a list of {match, outcome}")
    if len(rules) > limits.MAX_HOOK_RULES:
        raise given.refuse(key, f"a filter has at most {limits.MAX_HOOK_RULES} rules")
    place = (*given.path, key)
    found = [
        _rule(rule, Fields({}, place, given.problems), at, patterns)
        for at, rule in enumerate(rules)
    ]
    return tuple(rule for rule in found if rule is not None)


def _rule(rule: Any, place: Fields, at: int, patterns: PatternCheck) -> FilterRule | None:
    path = (*place.path, at)
    if not isinstance(rule, dict):
        raise Fields({}, path, place.problems).refuse(None, "a rule is {match, outcome}")
    given = Fields(rule, path, place.problems)
    outcome = given.value("outcome")
    if outcome not in _OUTCOMES:
        said = "has no outcome" if outcome is None else f"has the outcome {quoted(outcome)}"
        what = f"rule {at + 1} {said}: it is one of {', '.join(_OUTCOMES)}"
        raise given.refuse(None if outcome is None else "outcome", what)
    match = given.value("match")
    given.tell_unknown()
    if match is None:
        place.problems.warning(path, f"rule {at + 1} has no match: it never matches")
        return None
    if not isinstance(match, str):
        raise given.refuse("match", f"rule {at + 1}: a match is a text, not {quoted(match)}")
    if fault := patterns.fault(match):
        raise given.refuse("match", f"rule {at + 1}: {fault}")
    return FilterRule(match, outcome)


INTERVAL_KEYS = ("runInterval", "every")
CRON_KEY = "cron"
STREAM_KEYS = ("stream", "channel")
INJECTOR_KEYS = ("sessionInjector", "subscription")
_SHELL = re.compile(r"(?!-)[A-Za-z0-9._+-]+|/[^\x00-\x1f\x7f-\x9f]*")
_PROVIDER_NAME = re.compile(r"[A-Za-z0-9._-]{1,64}")
_RESERVED = "tap"
_SCHEDULES = ("continuous", "timed", "oneTime", "idle")
_DELIVERIES: tuple[Delivery, ...] = ("surface", "important", "all")
_MOST_SPELLED = 1_000
"""Characters of a name before it is normalised."""


def emitter_of(
    given: Fields,
    patterns: PatternCheck,
    *,
    ownership: Ownership = "userOwned",
    is_file: bool = True,
) -> EmitterEntry:
    """Return an emitter; raises `EntryRefusedError`.

    `ownership` is whose it is where nothing is said. What stands in a file is persistent.
    """
    name = emitter_name(given)
    command = given.text("command", most=MAX_COMMAND, what="a command")
    prompt = given.text("prompt", most=MAX_PROMPT, what="a prompt")
    if command is None and prompt is None:
        raise given.refuse(None, "an emitter must define either a command or a prompt")
    if command is not None and prompt is not None:
        raise given.refuse("prompt", "an emitter cannot define both a command and a prompt")
    rules, filter_ownership = filter_of(given, patterns)
    entry = EmitterEntry(
        name=name,
        command=command,
        prompt=prompt,
        schedule=_schedule(given, is_prompt=prompt is not None),
        stream=stream_name(given, name),
        cwd=given.folder(),
        shell=_shell(given),
        env=given.env(),
        auto_start=given.flag("autoStart"),
        include_stderr=given.flag("includeStderr"),
        ownership=given.ownership(ownership),
        lifespan=_lifespan(given, is_file=is_file),
        max_runs=given.max_runs(),
        rules=rules,
        filter_ownership=filter_ownership,
        description=given.description(),
        metadata=_metadata(given),
    )
    if is_file:
        given.tell_unknown()
    return entry


def stream_of(given: Fields) -> StreamEntry:
    """Return a stream; one without a name is `main`. Raises `EntryRefusedError`."""
    name = normalised_name(_spelled(given, "name", "name") or "") or MAIN_STREAM
    _check_length(given, "name", name)
    injector: Injector = "unset"
    delivery: Delivery = "surface"
    ownership: Ownership = "userOwned"
    if (key := given.key(*INJECTOR_KEYS)) is not None:
        value = given.values[key]
        if not isinstance(value, dict):
            raise given.refuse(key, f"{key} is an object: {{enabled, delivery, ownership}}")
        inner = Fields(value, (*given.path, key), given.problems)
        injector = "enabled" if _is_enabled(inner) else "disabled"
        delivery = delivery_of(inner)
        ownership = inner.ownership("userOwned")
        inner.tell_unknown(also=("lifespan", "scope"))
    entry = StreamEntry(
        name=name,
        description=given.description(),
        injector=injector,
        delivery=delivery,
        ownership=ownership,
    )
    given.tell_unknown()
    return entry


def provider_of(given: Fields) -> ProviderEntry:
    """Return a provider of the project; raises `EntryRefusedError`."""
    name = given.text("name", most=MAX_NAME, what="a name")
    if name is None:
        raise given.refuse(None, "a provider must have a name")
    if not _PROVIDER_NAME.fullmatch(name) or name == _RESERVED:
        what = "a provider's name has letters, digits, dots, - and _, and is not tap"
        raise given.refuse("name", f"{what}: {quoted(name)}")
    command = given.text("command", most=MAX_PATH, what="a command")
    if command is None:
        raise given.refuse(None, "a provider must have a command: the program that is started")
    entry = ProviderEntry(
        name=name,
        command=command,
        args=_arguments(given),
        env=given.env(),
        cwd=given.folder(),
        auto_start=given.flag("autoStart"),
        description=given.description(),
    )
    given.tell_unknown()
    return entry


def emitter_name(given: Fields) -> str:
    """Return an emitter's name; raises `EntryRefusedError`."""
    spelled = _spelled(given, "name", "name")
    if spelled is None:
        raise given.refuse(None, "an emitter must have a name")
    name = normalised_name(spelled)
    if not name:
        raise given.refuse(
            "name",
            f"nothing remains of the name {quoted(spelled)}: letters, digits, dots, - and _ do",
        )
    _check_length(given, "name", name)
    return name


def _spelled(given: Fields, key: str, what: str) -> str | None:
    return given.text(key, most=_MOST_SPELLED, what=f"a {what}")


def _check_length(given: Fields, key: str, name: str) -> None:
    if len(name) > MAX_NAME:
        raise given.refuse(key, f"a name has at most {MAX_NAME} characters")


def stream_name(given: Fields, name: str) -> str:
    """Return the stream of an emitter, `name` where none is given; raises `EntryRefusedError`."""
    key = given.key(*STREAM_KEYS)
    if key is None:
        return name
    stream = normalised_name(_spelled(given, key, "stream's name") or "") or MAIN_STREAM
    _check_length(given, key, stream)
    return stream


def _schedule(given: Fields, *, is_prompt: bool) -> Schedule:
    asked = given.value("runSchedule")
    if asked is not None and asked not in _SCHEDULES:
        given.warn("runSchedule", f"it is one of {', '.join(_SCHEDULES)}: not used")
        asked = None
    found = _cron_schedule(given) or _interval_schedule(given, is_prompt=is_prompt)
    if asked is None or asked == found.kind:
        return found
    if asked == "oneTime" and found.kind == "continuous":
        return Schedule("oneTime")
    given.warn("runSchedule", f"not used: what else it says means that it runs {found}")
    return found


def _cron_schedule(given: Fields) -> Schedule | None:
    """Return the schedule of a cron expression, None without one."""
    cron = given.text(CRON_KEY, most=MAX_CRON, what="a cron expression")
    if cron is None:
        return None
    if (interval := given.key(*INTERVAL_KEYS)) is not None:
        text = f"it has {interval} as well: give an interval, or a cron expression"
        raise given.refuse(CRON_KEY, text)
    cron = " ".join(cron.split())
    if (wrong := fault(cron)) is not None:
        raise given.refuse(CRON_KEY, wrong)
    return Schedule("timed", cron=cron)


def _interval_schedule(given: Fields, *, is_prompt: bool) -> Schedule:
    key = given.key(*INTERVAL_KEYS)
    value = "" if key is None else given.values[key]
    if not isinstance(value, str):
        raise given.refuse(key, f"an interval is a text such as 30s or 5m, not {quoted(value)}")
    try:
        return schedule_of(value, is_prompt=is_prompt)
    except IntervalError as error:
        raise given.refuse(key, str(error)) from None


def _shell(given: Fields) -> str | None:
    shell = given.text("shell", most=MAX_PATH, what="a shell")
    if shell is not None and not _SHELL.fullmatch(shell):
        raise given.refuse("shell", "a shell is the name of a program, or its absolute path")
    return shell


def _lifespan(given: Fields, *, is_file: bool) -> Lifespan:
    value = given.value("lifespan", "scope")
    is_persistent = isinstance(value, str) and value.strip().lower() == "persistent"
    return "persistent" if is_file or is_persistent else "temporary"


def _metadata(given: Fields) -> str | None:
    value = given.value("metadata")
    if value is None:
        return None
    text = msgspec.json.encode(value).decode()
    if len(text) > MAX_METADATA:
        given.warn("metadata", f"not used: it has more than {MAX_METADATA:,} characters")
        return None
    return text


def _is_enabled(given: Fields) -> bool:
    value = given.value("enabled")
    if value is not None and not isinstance(value, bool):
        given.warn("enabled", f"neither true nor false: {quoted(value)} counts as false")
    return value is True


def delivery_of(given: Fields) -> Delivery:
    """Return what of a stream its injector sends: `surface` where nothing is said."""
    value: Any = given.value("delivery")
    if value is None:
        return "surface"
    said = value.strip().lower() if isinstance(value, str) else ""
    found = next((one for one in _DELIVERIES if one == said), None)
    if found is None:
        what = f"it is one of {', '.join(_DELIVERIES)}: {quoted(value)} counts as surface"
        given.warn("delivery", what)
    return found or "surface"


def _arguments(given: Fields) -> tuple[str, ...]:
    value = given.value("args")
    if value is None:
        return ()
    if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
        raise given.refuse("args", "args is a list of texts")
    if len(value) > MAX_ARGUMENTS:
        raise given.refuse("args", f"there are at most {MAX_ARGUMENTS} arguments")
    if any(len(one) > MAX_VALUE or "\0" in one for one in value):
        raise given.refuse("args", f"an argument has at most {MAX_VALUE:,} characters, none NUL")
    return tuple(value)
