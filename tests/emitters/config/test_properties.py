"""Whatever stands in a file or is saved: no error but the typed ones, and nothing gets lost."""

import json
import tempfile
from pathlib import Path
from typing import Any

import msgspec
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tapui.core.emitters.plans import Schedule
from tapui.emitters.config.document import JsonDocument
from tapui.emitters.config.entries import EmitterEntry, StreamEntry, normalised_name
from tapui.emitters.config.reading import FoundFile, configuration_of, read
from tapui.emitters.config.saving import SaveError, remove_emitter, save_emitter, save_stream
from tapui.text import safe_text
from tapui.wire.emitters import ScheduleKind
from tapui.wire.provider import FilterRule

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
SCALARS = st.none() | st.booleans() | st.integers(-(10**6), 10**6) | TEXT | st.floats(-1e6, 1e6)
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3)
)
KEYS = st.sampled_from(
    [
        *("name", "command", "prompt", "description", "stream", "channel", "runInterval", "every"),
        *("runSchedule", "cron", "cwd", "shell", "env", "autoStart", "includeStderr", "ownership"),
        *("managedBy", "lifespan", "scope", "maxRuns", "eventFilter", "classifier", "rules"),
        *("includePattern", "excludePattern", "notifyPattern", "metadata", "sessionInjector"),
        *("subscription", "args", "match", "outcome", "enabled", "delivery", "comand"),
        *("title", "criteria", "check", "kind", "text", "agent", "deadline", "unproven", "id"),
    ]
)
LIKELY = st.sampled_from(
    [
        "ran",
        "file",
        "e",
        "E!",
        "./x",
        "30s",
        "every 5m",
        "idle",
        "oneTime",
        "modelOwned",
        "user",
        "drop",
        "inject",
    ]
)
RULES = st.lists(
    st.fixed_dictionaries({"match": TEXT | LIKELY, "outcome": LIKELY | VALUES}), max_size=3
)
ENTRIES = st.dictionaries(
    KEYS, LIKELY | VALUES | RULES | st.dictionaries(KEYS, LIKELY | VALUES | RULES), max_size=7
)
LISTS = st.dictionaries(
    st.sampled_from(["emitters", "monitors", "streams", "channels", "providers", "goals", "x"]),
    st.lists(ENTRIES | VALUES, max_size=4) | VALUES,
)


def said_by(data: bytes) -> Any:
    return configuration_of(FoundFile("/folder", "tap.config.json", data))


@given(
    st.binary(max_size=200) | st.text(alphabet='{}[]",:/*\\ \n1ean', max_size=60).map(str.encode)
)
@settings(max_examples=200, deadline=None)
@example(b'"\\')
@example(b"/*/")
def test_any_bytes_are_read_or_refused_with_a_place(data: bytes) -> None:
    found = said_by(data)
    assert found.is_readable or (found.problems[0].line >= 1 and found.problems[0].column >= 1)


@given(LISTS)
@settings(max_examples=120, deadline=None)
def test_any_values_are_read_or_refused_entry_by_entry(value: Any) -> None:
    found = said_by(json.dumps(value).encode())
    assert found.is_readable
    for one in (*found.emitters, *found.streams):
        assert one.name == normalised_name(one.name) != ""
    for entry in found.emitters:
        assert (entry.command is None) != (entry.prompt is None)
    assert all(str(problem) == safe_text(str(problem)) for problem in found.problems)


NOISE = st.lists(
    st.sampled_from([" ", "\n", "\t", '// , ] } "\n', '/* , ] } " // */', "/**/", "\r\n"]),
    max_size=3,
).map("".join)


@st.composite
def with_noise(draw: st.DrawFn, value: Any) -> str:
    """Return a value's text with comments, blanks and trailing commas wherever they may stand."""
    before, after = draw(NOISE), draw(NOISE)
    if isinstance(value, dict | list) and value:
        inner = []
        for one in value:
            text = draw(with_noise(value[one] if isinstance(value, dict) else one))
            name = f"{draw(NOISE)}{json.dumps(one)}{draw(NOISE)}:"
            inner.append(name + text if isinstance(value, dict) else text)
        text = ",".join(inner) + draw(st.sampled_from(["", ",", ", // x\n"]))
        text = f"{{{text}{draw(NOISE)}}}" if isinstance(value, dict) else f"[{text}{draw(NOISE)}]"
    else:
        text = json.dumps(value, ensure_ascii=draw(st.booleans()))
    return before + text + after


@given(VALUES.flatmap(lambda value: st.tuples(st.just(value), with_noise(value))))
@settings(max_examples=100, deadline=None)
def test_comments_and_trailing_commas_change_no_value(case: tuple[Any, str]) -> None:
    value, text = case
    document = JsonDocument(text.encode())
    assert document.value == value
    for path in paths(value):
        start, end = document.span(path) or (0, 0)
        part = value
        for step in path:
            part = part[step]
        assert JsonDocument(document.text[start:end]).value == part


def paths(value: Any, above: tuple[str | int, ...] = ()) -> Any:
    """Yield the paths of all that is in a value."""
    pairs = (
        value.items()
        if isinstance(value, dict)
        else enumerate(value)
        if isinstance(value, list)
        else ()
    )
    for step, inner in pairs:
        yield (*above, step)
        yield from paths(inner, (*above, step))


NAMES = st.sampled_from(["a", "b", "new.one", "x-y"])
RULE = st.builds(
    FilterRule,
    st.sampled_from(["a", "b+", ".*", "ü", '"', "\\d"]),
    st.sampled_from(["drop", "keep", "surface", "inject"]),
)
KINDS: dict[ScheduleKind, Schedule] = {
    "continuous": Schedule("continuous"),
    "timed": Schedule("timed", 90),
    "oneTime": Schedule("oneTime"),
    "idle": Schedule("idle"),
}


@st.composite
def emitters(draw: st.DrawFn) -> EmitterEntry:
    is_prompt = draw(st.booleans())
    text = draw(TEXT.filter(lambda one: bool(one.strip()) and "\0" not in one))
    kinds: list[ScheduleKind] = ["timed", "oneTime", "idle" if is_prompt else "continuous"]
    kind = draw(st.sampled_from(kinds))
    schedule = Schedule(kind)
    if kind == "timed":
        cron = st.sampled_from(["*/15 9-17 * * 1-5", "0 0 L * *"])
        schedule = draw(
            st.builds(Schedule, st.just(kind), st.integers(1, 10**6))
            | st.builds(lambda one: Schedule("timed", cron=one), cron)
        )
    name = draw(NAMES)
    return EmitterEntry(
        name=name,
        command=None if is_prompt else text,
        prompt=text if is_prompt else None,
        schedule=schedule,
        stream=draw(st.sampled_from([name, "ops"])),
        cwd=draw(st.sampled_from([None, "sub/dir", "/x"])),
        shell=draw(st.sampled_from([None, "zsh"])),
        env=draw(st.dictionaries(st.sampled_from(["A", "B_1"]), TEXT.map(no_nul), max_size=2)),
        auto_start=draw(st.booleans()),
        include_stderr=draw(st.booleans()),
        ownership=draw(st.sampled_from(["userOwned", "modelOwned"])),
        max_runs=draw(st.none() | st.integers(1, 50)),
        rules=tuple(draw(st.lists(RULE, max_size=3))),
        filter_ownership=draw(st.sampled_from(["userOwned", "modelOwned"])),
        description=draw(TEXT),
        metadata=draw(st.none() | VALUES.filter(lambda one: one is not None).map(compact)),
    )


def no_nul(text: str) -> str:
    return text.replace("\0", "")


def compact(value: Any) -> str:
    return msgspec.json.encode(value).decode()


STREAMS = st.builds(
    StreamEntry,
    name=NAMES,
    description=TEXT,
    injector=st.sampled_from(["enabled", "disabled"]),
    delivery=st.sampled_from(["surface", "important", "all"]),
    ownership=st.sampled_from(["userOwned", "modelOwned"]),
)


def bare(entry: Any) -> Any:
    return msgspec.structs.replace(entry, line=None, index=None)


PLAIN = st.builds(
    lambda name, own: {"name": name, "comand": own, "command": "x"},
    st.sampled_from(["Good", "a", "B!", "x y"]),
    VALUES,
)
FILES = st.fixed_dictionaries(
    {},
    optional={
        "own": VALUES,
        "emitters": st.lists(PLAIN | ENTRIES, max_size=3),
        "monitors": st.lists(PLAIN | ENTRIES, max_size=3),
        "streams": st.lists(ENTRIES, max_size=2),
    },
).flatmap(lambda value: st.tuples(st.just(value), with_noise(value)))


@given(FILES, st.lists(emitters() | STREAMS, min_size=1, max_size=2))
@settings(max_examples=40, deadline=None)
def test_whatever_is_saved_reads_back_and_all_else_stays(
    file: tuple[Any, str], entries: list[Any]
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "tap.config.json")
        path.write_bytes(file[1].encode())
        for entry in entries:
            before, text = read(folder), path.read_bytes()
            save = save_emitter if isinstance(entry, EmitterEntry) else save_stream
            found = save(folder, entry)
            assert found == read(folder)
            kind = "emitters" if isinstance(entry, EmitterEntry) else "streams"
            after = {one.name: bare(one) for one in getattr(found, kind)}
            assert after.pop(entry.name) == entry
            others = {one.name: bare(one) for one in getattr(before, kind)}
            if others.pop(entry.name, None) is None:
                assert only_added(text, path.read_bytes())
            assert after == others
            once = path.read_bytes()
            save(folder, entry)
            assert path.read_bytes() == once
        assert foreign(path.read_bytes()) == foreign(file[1].encode())


def foreign(data: bytes) -> tuple[Any, list[Any]]:
    """Return what is nobody's: a key of the file, and a key in its entries."""
    value = JsonDocument(data).value
    listed = value.get("emitters")
    listed = value.get("monitors") if listed is None else listed
    return value.get("own"), [one["comand"] for one in listed or () if "comand" in one]


def only_added(before: bytes, after: bytes) -> bool:
    """Return whether one text became the other by putting something in at one place.

    A comma may be put in before a comment that stands there.
    """
    start = common(before, after)
    end = common(before[start:][::-1], after[start:][::-1])
    return before[start : len(before) - end].strip() in after


def common(one: bytes, other: bytes) -> int:
    """Return with how many equal bytes both begin."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((at for at, (a, b) in pairs if a != b), min(len(one), len(other)))


REMOVABLE = st.fixed_dictionaries(
    {"emitters": st.lists(PLAIN, min_size=1, max_size=4, unique_by=lambda one: one["name"])},
    optional={"own": VALUES},
).flatmap(lambda value: st.tuples(st.just(value), with_noise(value), st.integers(0, 3)))


@given(REMOVABLE)
@settings(max_examples=60, deadline=None)
def test_a_removed_emitter_is_gone_and_the_others_stay(case: tuple[Any, str, int]) -> None:
    value, text, at = case
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "tap.config.json")
        path.write_bytes(text.encode())
        gone = value["emitters"].pop(at % len(value["emitters"]))
        remove_emitter(folder, normalised_name(gone["name"]))
        assert JsonDocument(path.read_bytes()).value == value


@given(st.binary(max_size=60), emitters())
@settings(max_examples=50, deadline=None)
def test_a_file_of_any_bytes_is_saved_into_or_left_alone(data: bytes, entry: EmitterEntry) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "tap.config.json")
        path.write_bytes(data)
        is_readable = read(folder).is_readable
        try:
            save_emitter(folder, entry)
        except SaveError:
            assert path.read_bytes() == data
        else:
            assert is_readable
