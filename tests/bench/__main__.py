"""All benchmarks, one table: `python -m tests.bench [--seconds 2] [--only NAME …] [--mib 1024]`.

Latencies are milliseconds, CPU is the gateway's microseconds a call. Compare figures of one run
with each other: on a shared machine they move with the neighbours. The target column holds what
the design asks of a quiet machine.
"""

import argparse
import json
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import psutil

from tapui.tower.app.buffers import Ring
from tapui.tower.streams.lines import Lines
from tapui.tower.table.filter import FilterError, parse
from tapui.wire.message import Line
from tests.bench import (
    beside_emitters,
    bridging,
    ci,
    crowd,
    disk_lag,
    echo,
    emitting,
    filtering,
    folder_states,
    frame_cost,
    in_memory,
    indexing,
    inspecting,
    judging,
    library_docs,
    looking,
    past_proofs,
    proving,
    querying,
    reloading,
    replaying,
    roundtrip,
    running,
    streaming,
    tail_lag,
    terminal,
    using,
    verifying,
    ways,
)
from tests.bench import kit as kit_costs
from tests.bench.roundtrip import Rate
from tests.rig.copilot import Copilot, find_cli
from tests.rig.gateway import Gateway, Home
from tests.rig.model_server import ModelServer
from tests.rig.tmux import Tmux
from tests.rig.waiting import until

SMALL, LARGE = 100, 1024 * 1024
IDLE_SECONDS = 2.0
INDEXED_MIB = 96
"""MiB of records that are indexed and replayed, unless another size is asked for: the targets are
for 1024, which take minutes."""
ASKED_RECORDS = 100_000
"""Records that questions are asked about, unless another number is given: the targets are for a
million, which take minutes."""
HISTORY_MIB = 50
LEDGER_ENTRIES = 100_000
ENDS = 60
"""Ends of turns, each of which edits the first file of another folder."""
VERIFIES = 50
DELTAS_PER_SECOND = 2_000
FLOOD = 10_000
"""Lines a second."""
SAVES = 10
"""Saves of a file whose reloading is measured."""
MERGED = 4
"""Streams that one tail shows together."""
LINES_PER_SECOND = 1_000
CALLS_PER_SECOND = 500
ALL_PANES = (200, 50)
"""A terminal on which all panes are in sight."""
STREAMS_KEY = b"3"
"""The tower's key for the pane with the tail."""
Row = tuple[str, str, str]
"""What was measured, the figures, the target."""


@contextmanager
def scratch() -> Iterator[Home]:
    """A home that is removed afterwards."""
    root = Path(tempfile.mkdtemp(prefix="tapui-bench-"))
    try:
        yield Home(root)
    finally:
        shutil.rmtree(root, ignore_errors=True)


def _calls(rate: Rate, *, cpu: bool = True) -> str:
    used = f"  cpu {rate.cpu:6.1f} µs" if cpu else ""
    return f"{rate.per_second:9,.0f}/s  p50 {rate.p50:7.3f}  p99 {rate.p99:7.3f} ms{used}"


def calls(seconds: float) -> Iterator[Row]:
    """Tool calls through `tapui serve`, and between the same processes without it."""
    targets = {
        (SMALL, 1): "at most 0.150 ms added",
        (SMALL, 64): "cpu ≤ 20 µs, ≥ 40,000/s",
    }
    for size in (SMALL, LARGE):
        name = "100 B" if size == SMALL else "1 MiB"
        for in_flight in (1, 64) if size == SMALL else (1, 8):
            with scratch() as home, Gateway(home, "--no-attach") as gateway:
                rate = roundtrip.through(gateway, size, in_flight, seconds)
            yield (
                f"call {name}, {in_flight} in flight",
                _calls(rate),
                targets.get((size, in_flight), ""),
            )
            plain = roundtrip.direct(size, in_flight, min(seconds, 1.0))
            added = f"  added {rate.p50 - plain.p50:.3f} ms" if in_flight == 1 else ""
            yield "  without a gateway", _calls(plain, cpu=False) + added, ""


def stock(seconds: float) -> Iterator[Row]:
    """The gateway with its records against a relay written the stock way, by turns."""
    for in_flight in (1, 64):
        ours, theirs = [], []
        for _ in range(3):
            with scratch() as home, Gateway(home, "--no-attach") as gateway:
                ours.append(roundtrip.through(gateway, SMALL, in_flight, seconds / 3))
            theirs.append(roundtrip.stock(SMALL, in_flight, seconds / 3))
        ours.sort(key=lambda rate: rate.cpu)
        theirs.sort(key=lambda rate: rate.cpu)
        yield f"stock relay, {in_flight} in flight", _calls(theirs[1]), ""
        ratio = f"  cpu x {ours[1].cpu / theirs[1].cpu:.2f}"
        target = "cpu ≤ 0.4 x stock" if in_flight > 1 else ""
        yield f"gateway with records, {in_flight} in flight", _calls(ours[1]) + ratio, target


def many(seconds: float) -> Iterator[Row]:
    """The same call alone and among as many providers and tools as a gateway takes; a hello."""
    for in_flight in (1, 64):
        with (
            scratch() as one_home,
            scratch() as many_home,
            Gateway(one_home, "--no-attach") as one,
            Gateway(many_home, "--no-attach") as full,
        ):
            alone, crowded, ratio = crowd.calls(one, full, in_flight, seconds)
        yield f"1 provider, {in_flight} in flight", _calls(alone), ""
        yield (
            f"{crowd.PROVIDERS} x {crowd.TOOLS} tools, {in_flight} in flight",
            f"{_calls(crowded)}  x {ratio:.2f}",
            "cpu ≤ 1.2 x one provider",
        )
    with scratch() as home, Gateway(home, "--no-attach") as gateway:
        without, with_tools = (crowd.hello(gateway, count) for count in (0, crowd.TOOLS))
    yield "a provider comes and goes, no tools", f"cpu {without:5.2f} ms", ""
    yield f"  with {crowd.TOOLS} tools in its hello", f"cpu {with_tools:5.2f} ms", "hello < 2 ms"


def kit(seconds: float) -> Iterator[Row]:
    """The provider kit: its import, and a call against providers written without it."""
    spent, memory = kit_costs.importing()
    yield "import tapui.provider", f"cpu {spent:5.1f} ms  {memory:5.1f} MB", "< 80 ms, 25 MB"
    for in_flight in (1, 64):
        with scratch() as home, Gateway(home, "--no-attach") as gateway:
            found = kit_costs.calls(gateway, in_flight, seconds)
        lean = found["sockets"]
        for way, cost in found.items():
            figures = f"cpu {cost.own:6.1f} µs, with the gateway {cost.together:6.1f} µs"
            ratios = f"  x {cost.own / found['by-hand'].own:.2f} of by-hand"
            ratios += f", all x {cost.together / lean.together:.2f} of sockets"
            yield f"a provider, {way}, {in_flight} in flight", figures + ratios, ""


def memory_call(seconds: float) -> Iterator[Row]:
    """Tests of providers, in memory: a call, and a session around it."""
    for way, (p50, p99) in in_memory.latencies(seconds).items():
        yield f"a call in memory, {way}", f"p50 {p50:7.3f}  p99 {p99:7.3f} ms", "p50 < 0.5 ms"
    yield "a session in memory, opened and closed", f"{in_memory.opening():7.3f} ms", ""


def bridge(seconds: float) -> Iterator[Row]:
    """A call of an MCP server's tool through the bridge, beside the package's own client."""
    with scratch() as home, Gateway(home, "--no-attach") as gateway:
        found = bridging.p50s(gateway, max(seconds, 5.0))
    client, bridged, lean = found["client"], found["bridge"], found["by-hand"]
    yield "an MCP call: the package's own client", f"p50 {client:6.2f} ms", ""
    figures = f"p50 {bridged:6.2f} ms; without the gateway {bridged - lean - client:+.2f} ms"
    yield "the same over the gateway and the bridge", figures, "< +1 ms"


def reload(_seconds: float) -> Iterator[Row]:
    """`tapui provider dev`: from a save to the session's new list of tools."""
    with scratch() as home, Gateway(home, "--no-attach") as gateway:
        found = reloading.saves(gateway, home.root, SAVES)
    figures = f"p50 {found[len(found) // 2]:5.2f}  max {found[-1]:5.2f} s"
    yield "a save is in the session", figures, "< 1 s"


def rules(seconds: float) -> Iterator[Row]:
    """Verdicts of the person's rules on commands."""
    found = judging.times(seconds)
    p50, p99 = found[len(found) // 2], found[len(found) * 99 // 100]
    what = f"a command judged by {len(judging.RULES)} rules"
    yield what, f"p50 {p50:7.3f}  p99 {p99:7.3f} ms of CPU", "p99 below 2 ms"
    yield "the longest commands, 4 to 16 KiB", f"{judging.longest():7.3f} ms of CPU", "below 10 ms"
    what = "the same, by rules that deny alone"
    yield what, f"{judging.longest_of_calls():7.3f} ms of CPU", "below 10 ms"


def filters(seconds: float) -> Iterator[Row]:
    """Lines through a filter of ten rules, none of which matches."""
    core = filtering.core(seconds)
    yield f"{len(filtering.RULES)} filter rules, core alone", _lines(core), "20,000 lines/s"
    with scratch() as home, Gateway(home, "--no-attach") as gateway:
        relayed = filtering.relayed(gateway, seconds)
    what = f"  {filtering.PROVIDERS} providers x {filtering.SESSIONS} sessions, on disk"
    yield what, _lines(relayed), ""


def emitters(seconds: float) -> Iterator[Row]:
    """Commands in the runner's helper process."""
    together, apart = emitting.filters(seconds)
    figures = f"cpu {together:6.2f} µs a line = {1e6 / together:,.0f} lines/s of CPU"
    yield f"{len(filtering.RULES)} rules under one limit for many lines", figures, "100,000 lines/s"
    yield "  under a limit for each match", f"cpu {apart:6.2f} µs a line", ""
    for what, rate, line_rules, target in (
        (
            f"{emitting.WANTED:,} lines/s through an emitter",
            emitting.WANTED,
            emitting.KEEPING,
            "cpu < 100 %",
        ),
        ("  a flood", 0, emitting.KEEPING, ""),
        ("  a flood without rules", 0, [], ""),
    ):
        found = emitting.poured(rate, 2 * seconds, line_rules)
        used = f"cpu {found.helper:.0%} of a core, gateway {found.gateway:.1%}"
        memory = " → ".join(f"{one:.1f}" for one in found.memory)
        figures = f"{found.per_second:9,.0f}/s  {found.kept:.1%} kept  {used}  {memory} MB"
        yield what, figures, target
    crowd_found = emitting.crowded(seconds)
    used = f"cpu {crowd_found.helper:.2%} of a core, gateway {crowd_found.gateway:.2%}"
    figures = f"{used}  {crowd_found.memory:.1f} MB"
    yield f"{emitting.EMITTERS} commands that are silent", figures, "< 1 %"
    yield "  a command is started and ends", f"{crowd_found.run:7.2f} ms of the helper's CPU", ""
    took, used_memory = emitting.began()
    yield "a first command runs", f"{took:7.0f} ms  helper {used_memory:.1f} MB", ""
    with scratch() as home:
        without, beside = beside_emitters.beside_calls(home, 2 * seconds, CALLS_PER_SECOND)
    yield f"{CALLS_PER_SECOND} calls/s without an emitter", _calls(without), ""
    ratio = f"  p99 x {beside.p99 / without.p99:.2f}"
    yield f"  beside {emitting.WANTED:,} lines/s of one", _calls(beside) + ratio, "p99 as without"
    with scratch() as home:
        found_idle = beside_emitters.waiting(home, seconds)
    figures = f"cpu gateway {found_idle.gateway:.2%}, helper {found_idle.helper:.2%} of a core"
    yield f"{emitting.EMITTERS} on a schedule that wait", figures, "< 1 %"
    with scratch() as home:
        kept = beside_emitters.kept(home, seconds)
    memory = " → ".join(f"{one:.1f}" for one in kept.memory)
    yield "a flood that is kept", f"{kept.per_second:9,.0f}/s  gateway {memory} MB", "flat"


def _lines(lines: filtering.Lines) -> str:
    used = f"cpu {lines.cpu:6.1f} µs a line = {1e6 / lines.cpu:,.0f} lines/s of CPU"
    return f"{lines.per_second:9,.0f}/s  {used}"


def pushes(seconds: float) -> Iterator[Row]:
    """Stream lines posted and on disk."""
    with scratch() as home, Gateway(home, "--no-attach") as gateway:
        rate, lines = roundtrip.posted(gateway, seconds)
    yield "pushes persisted (tap_post, 64 in flight)", f"{_calls(rate)}  {lines:,} on disk", ""


def lag(seconds: float) -> Iterator[Row]:
    """Loop lag of a visible tail."""
    for events in (100, 1_000, 10_000):
        found = tail_lag.measure(events, seconds, (120, 36))
        figures = f"p50 {found.p50:7.2f}  p99 {found.p99:7.2f}  max {found.longest:7.2f} ms"
        lost = f"  {found.posted - found.seen} unseen, {found.behind} behind"
        target = "p99 < 10 ms" if events == 10_000 else ""
        yield f"loop lag, {events:,} events/s", f"{figures}  cpu {found.cpu:.0%}{lost}", target
        painted = (
            f"{found.frame:7.1f} ms cpu  {found.frames:5.1f}/s  {found.painting:.0%} of the time"
        )
        yield f"  a frame, {events:,} events/s", painted, "painting ≤ 25 % of the time"


def frame(seconds: float) -> Iterator[Row]:
    """What a frame of the tower costs with all panes in sight."""
    for what, cost in frame_cost.costs(seconds):
        figures = f"{cost.paint:7.2f} ms cpu  the fold of its events {cost.fold:5.2f} ms"
        yield f"a frame, {what}", figures, ""
    moved = frame_cost.moving()
    figures = f"p50 {moved.p50:7.2f}  p99 {moved.p99:7.2f} ms cpu"
    yield f"the next of {moved.rows:,} rows of Turns, its detail", figures, "p99 < 33 ms"
    opened = frame_cost.opening()
    figures = f"{opened.files:7.2f} ms  its first diff {opened.diff:5.2f} ms"
    yield f"changes of {frame_cost.OPENED} files on the screen", figures, "< 300 ms"


def merged(seconds: float) -> Iterator[Row]:
    """Loop lag of a tail that shows several streams together, with all panes in sight."""
    for streams in (1, MERGED):
        found = tail_lag.measure(FLOOD, seconds, ALL_PANES, streams)
        what = "1 stream" if streams == 1 else f"{streams} streams together"
        figures = f"p50 {found.p50:7.2f}  p99 {found.p99:7.2f}  max {found.longest:7.2f} ms"
        cost = f"  a frame {found.frame:5.1f} ms cpu  {found.painting:.0%}, {found.behind} behind"
        yield f"loop lag, {what}, {FLOOD:,} lines/s", figures + cost, "p99 < 30 ms"


def typed(seconds: float) -> Iterator[Row]:
    """What is typed is painted: how long that takes beside a flooding tail."""
    for rate in (0, FLOOD):
        found = echo.measure(rate, seconds)
        p50, p99 = found[len(found) // 2], found[int(len(found) * 0.99)]
        figures = f"p50 {p50:7.2f}  p99 {p99:7.2f} ms  {len(found)} letters"
        yield f"a letter is painted, {rate:,} lines/s", figures, "p99 < 60 ms" if rate else ""


def inspection(seconds: float) -> Iterator[Row]:
    """What an inspection costs the calls of the provider that is inspected."""
    for in_flight in (1, 64):
        with scratch() as home, Gateway(home, "--no-attach") as gateway:
            off, on = inspecting.measure(gateway, SMALL, in_flight, 2 * seconds)
        yield f"a tower reads, {in_flight} in flight", _calls(off), ""
        added = f"  + {on.cpu - off.cpu:.1f} µs"
        yield f"  it inspects the provider, {in_flight} in flight", _calls(on) + added, ""


def disk(seconds: float) -> Iterator[Row]:
    """Loop lag while records are synced, sessions come and go and their folders are made."""
    folders: dict[str, Path | None] = {"loop lag, records on disk": None}
    if disk_lag.MEMORY.is_dir():
        folders["  the same, records in memory"] = disk_lag.MEMORY
    for what, folder in folders.items():
        found = disk_lag.measure(seconds, folder)
        figures = f"p50 {found.p50:7.2f}  p99 {found.p99:7.2f}  max {found.longest:7.2f} ms"
        waits = f"  a turn's write waits {found.blocked_p99:.2f}, max {found.blocked_longest:.2f}"
        yield what, figures + waits, "" if folder else "p99 < 5 ms"


def patterns(_seconds: float) -> Iterator[Row]:
    """A pattern for the tail that takes exponential time: the person waits for its refusal."""
    ring = Ring()
    for seq in range(1, 13):
        ring.append(Line(seq=seq, ts="", level="keep", event="a" * 50 + "!"))
    lines = Lines()
    lines.open({("s1", "ci@ci"): ring})
    began = time.perf_counter()
    try:
        lines.set_filter(parse(r"re:^(a|aa|a?a)+$"))
        outcome = "taken"
    except FilterError as error:
        outcome = f"refused: {error}"
    took = 1000 * (time.perf_counter() - began)
    yield "a slow pattern for the tail", f"{took:7.1f} ms  {outcome}", "< 500 ms, refused"


def screen(seconds: float) -> Iterator[Row]:
    """What a tower that paints a tail of 1,000 lines/s costs tool calls, against `serve`.

    Both get the same calls and the same lines, by turns; the median of three is quoted.
    """
    for name, in_flight, per_second, target in (
        ("500 a second", 0, 500, "p99 ≤ 1.5 x serve or + 2.5 ms"),
        ("64 in flight", 64, 0, "p99 ≤ 2 x serve"),
    ):
        served, shown = [], []
        for _ in range(3):
            with scratch() as home, Gateway(home, "--no-attach") as gateway:
                tokens = (gateway.token, gateway.internal_token)
                served.append(
                    _beside_lines(gateway.url, gateway.pid, tokens, in_flight, seconds, per_second)
                )
            with scratch() as home, terminal.tower(home, "--no-attach") as running:
                announced = _announced(home)
                tokens = _tokens(announced)
                running.press(STREAMS_KEY)
                shown.append(
                    _beside_lines(
                        announced["url"],
                        running.tower.pid,
                        tokens,
                        in_flight,
                        seconds,
                        per_second,
                    )
                )
        one, other = (sorted(rates, key=lambda rate: rate.p99)[1] for rates in (served, shown))
        yield f"serve, {name}, 1,000 lines/s", _calls(one), ""
        ratio = f"  p99 x {other.p99 / one.p99:.2f} (+ {other.p99 - one.p99:.2f} ms)"
        yield f"tower on, {name}, 1,000 lines/s", _calls(other) + ratio, target


def turns(seconds: float) -> Iterator[Row]:
    """What 500 calls a second cost that Turns and Calls show, both in sight, against `serve`."""
    yield from _beside_panes("shown in Turns and Calls", seconds)


def by_tool(seconds: float) -> Iterator[Row]:
    """The same with Calls by tool: each frame counts the calls that the tower holds."""
    yield from _beside_panes("shown in Turns and by tool", seconds, b"5v")


def _beside_panes(where: str, seconds: float, keys: bytes = b"") -> Iterator[Row]:
    served, shown, used = [], [], []
    for _ in range(3):
        with scratch() as home, Gateway(home, "--no-attach") as gateway:
            served.append(
                roundtrip.through(gateway, SMALL, 0, seconds, per_second=CALLS_PER_SECOND)
            )
        with scratch() as home, terminal.tower(home, "--no-attach", size=ALL_PANES) as running:
            announced = _announced(home)
            pid = running.tower.pid
            running.press(keys)
            cpu, began = roundtrip.cpu_seconds(pid), time.perf_counter()
            rate = roundtrip.relayed(
                announced["url"],
                pid,
                _tokens(announced),
                SMALL,
                0,
                seconds,
                per_second=CALLS_PER_SECOND,
            )
            spent = time.perf_counter() - began
            used.append((roundtrip.cpu_seconds(pid) - cpu) / spent)
            shown.append(rate)
    one, other = (sorted(rates, key=lambda rate: rate.p99)[1] for rates in (served, shown))
    what = f"{CALLS_PER_SECOND} calls/s"
    yield f"serve, {what}", _calls(one), ""
    ratio = f"  p99 x {other.p99 / one.p99:.2f}  {sorted(used)[1]:.0%} of a core"
    yield f"{what} {where}", _calls(other) + ratio, "p99 ≤ serve + 2.5 ms"


def _tokens(announced: dict[str, str]) -> tuple[str, str]:
    files = (announced["tokenFile"], announced["internalTokenFile"])
    provider, internal = (Path(one).read_text().strip() for one in files)
    return provider, internal


def _beside_lines(
    url: str,
    pid: int,
    tokens: tuple[str, str],
    in_flight: int,
    seconds: float,
    per_second: int,
) -> Rate:
    with roundtrip.lines(url, tokens[1], LINES_PER_SECOND):
        return roundtrip.relayed(url, pid, tokens, SMALL, in_flight, seconds, per_second=per_second)


def _announced(home: Home) -> dict[str, str]:
    file = until(lambda: next(home.tapui.glob("run/*/gateway.json"), None), what="gateway.json")
    said: dict[str, str] = json.loads(file.read_text())
    return said


def copilot(seconds: float) -> Iterator[Row]:
    """Attaching, with a played CLI; text that an agent streams; its history."""
    with scratch() as home, Gateway(home) as gateway, ExitStack() as playing:
        for what, target in (("first CLI: the host starts", ""), ("another CLI", "< 1 s")):
            took = playing.enter_context(streaming.played(gateway, what.split()[0]))
            yield f"{what}, its row is whole", f"{took:7.2f} s", target
    with scratch() as home, Gateway(home) as gateway:
        before, beside = streaming.beside_deltas(gateway, seconds, DELTAS_PER_SECOND)
    what = f"{CALLS_PER_SECOND} calls/s"
    yield f"{what}, a session attached", _calls(before), ""
    ratio = f"  p99 x {beside.p99 / before.p99:.2f}"
    yield f"  that streams {DELTAS_PER_SECOND:,} pieces/s", _calls(beside) + ratio, "p99 as it is"
    with scratch() as home:
        took, turns = streaming.read_history(home.root, HISTORY_MIB)
    what = f"{turns} turns at the end of {HISTORY_MIB} MiB"
    yield what, f"{took:7.1f} ms", "< 500 ms"


def index(_seconds: float, mib: int = INDEXED_MIB) -> Iterator[Row]:
    """A large journal: making the index, and finding in it."""
    with scratch() as home:
        indexing.write(home.root, mib * 2**20)
        made = indexing.index(home.root)
        size = f"{made.bytes / 2**20:,.0f} MiB"
        rates = f"{made.rate:6.1f} MB/s  {made.bytes / made.cpu / 1e6:6.1f} MB a second of CPU"
        yield f"index of {size}", f"{rates}  {made.ratio:.2f} x the records", ""
        for what, first, whole, hits in indexing.searches(home.root):
            figures = f"first hits {first:7.1f} ms  the newest of all {whole:7.1f} ms  {hits} hits"
            yield f"  find {what}", figures, "first hits < 100 ms"
        yield "  a look that finds nothing new", f"{indexing.update(home.root):7.1f} ms", ""
    with scratch() as home:
        using.write(home.root)
        answers = f"{using.SESSIONS * using.ANSWERS:,} answers of models"
        for what, took in using.added_up(home.root):
            yield f"  usage of {answers}, {what}", f"{took:7.1f} ms", "< 1 s"


def query(_seconds: float, records: int = ASKED_RECORDS) -> Iterator[Row]:
    """Stock questions over many records, and what the index for them costs."""
    with scratch() as home:
        made = querying.index(home.root, querying.write(home.root, records))
        rates = f"{made.records / made.cpu:9,.0f} records/s of CPU"
        ratio = f"{made.bytes / made.cpu / 1e6:6.1f} MB/s  {made.size / made.bytes:.2f} x"
        yield f"index of {made.records:,} records", f"{rates}  {ratio}", "1.0 x the records"
        for name, warm, whole in querying.asked(home.root):
            figures = f"p95 {warm:7.1f} ms  with its process {whole:7.1f} ms"
            yield f"  {name}", figures, "p95 < 100 ms"
        size, cpu = querying.catch_up(home.root)
        yield "  catching up", f"{size / cpu / 1e6:6.1f} MB a second of CPU", "10 MB/s"


def folders(_seconds: float) -> Iterator[Row]:
    """What is changed in a repository: the first look and the following ones, beside git's own."""
    for files, times in folder_states.sizes():
        with scratch() as home:
            root = home.root / "repository"
            folder_states.repository(root, files)
            for edited in (0, 50):
                folder_states.edit(root, edited)
                found = folder_states.looks(root, times)
                ours = f"cold {found.cold:7.1f}  warm {found.warm:7.1f}"
                then = f"after a commit {found.committed:7.1f}  git status {found.git:7.1f} ms"
                figures = f"{ours}  {then}  {found.memory:4.0f} MB"
                target = "warm ≤ 50 ms" if files <= 1_000 else ""
                yield f"folder states, {files:,} files, {found.files} changed", figures, target


def changes(_seconds: float) -> Iterator[Row]:
    """What a session changed: all files with their lines, and one file's."""
    with scratch() as home:
        root = home.root / "repository"
        folder_states.repository(root, 1_000)
        for number, file in enumerate(sorted(root.glob("p*/m*/*.py"))[:500]):
            lines = file.read_text().splitlines()
            lines[number % 20] = f"edited = {number}"
            file.write_text("\n".join([*lines, "more = 1", ""]))
        found = folder_states.comparisons(root, 9)
    figures = f"listed {found.listed:7.1f}  one file's lines {found.lines:7.1f} ms"
    yield f"changes, {found.files} files", figures, "listed < 300 ms"


def proof(_seconds: float) -> Iterator[Row]:
    """What is recorded of commands, and the verdicts over that."""
    found = proving.measure(LEDGER_ENTRIES)
    yield "facts of a call, folded", f"{found.call:7.2f} µs", "< 2 µs"
    size = f"a ledger of {LEDGER_ENTRIES:,} entries"
    yield size, f"read {found.read:7.0f} ms  folded {found.folded:7.0f} ms", ""
    figures = f"first {found.first:7.1f}  p50 {found.p50:7.2f}  p95 {found.p95:7.2f} ms"
    yield "  a verdict over it", figures, "p95 < 50 ms"
    yield "  a turn's line over it", f"p95 {found.line:7.2f} ms", "p95 < 50 ms"


def goals(_seconds: float) -> Iterator[Row]:
    """The end of a turn with a goal that sends back, and a verify of many files."""
    with scratch() as home, Gateway(home, "--no-attach") as gateway:
        root = home.root / "repository"
        folder_states.repository(root, 1_000)
        found = verifying.ends(gateway, root, ENDS)
    figures = f"p50 {found.p50:7.1f}  p95 {found.p95:7.1f} ms"
    yield "a turn's end is answered, 1,000 files", figures, "p50 ≤ the look + 100 ms"
    figures = f"p50 {found.look:7.1f}  p95 {found.look_p95:7.1f} ms"
    yield "  a look at the folder alone", figures, ""
    with scratch() as home:
        checked = verifying.verified(home.root, VERIFIES)
    figures = f"p50 {checked.p50:7.1f}  longest {checked.longest:7.1f} ms"
    yield f"{verifying.CHECKS} files are verified", figures, "≤ 1 s"
    for what, held in (("beside it", checked.beside), ("at rest", checked.quiet)):
        late = f"late p99 {held.late_p99:5.2f}  longest {held.late:5.2f} ms"
        target = "cpu ≤ 5 ms" if held is checked.beside else ""
        yield f"  the loop {what}", f"{late}  cpu at once at most {held.cpu:5.2f} ms", target


def past(_seconds: float, mib: int = INDEXED_MIB) -> Iterator[Row]:
    """The CLI's stored sessions, read for turns that ended without a check, and as rows."""
    with scratch() as home:
        past_proofs.store(home.copilot, mib)
        found = past_proofs.read(home.copilot)
        rate = past_proofs.fill(home.tapui, home.copilot)
        answer = past_proofs.answer(home.env())
    figures = f"{found.rate:7.1f} MiB/s  first turn {found.first:6.3f} s  {found.turns:,} turns"
    yield f"past proofs in {mib:,} MiB", figures, "≥ 51.2 MiB/s, first < 2 s"
    yield "  as rows of a question", f"{rate:7.1f} MiB/s", "≥ 51.2 MiB/s"
    asked = f"first {answer.first:6.3f} s  whole {answer.whole:6.3f} s"
    yield "  tapui query --past on a terminal", asked, "first < 2 s"


def docs(seconds: float) -> Iterator[Row]:
    """Documents of installed packages, of the provider `docs`."""
    with scratch() as home:
        found = library_docs.index(home, seconds)
        took = library_docs.questions(home)
        began = library_docs.start(home)
    yield f"documents of {found.packages} packages indexed", f"{found.took:7.1f} s", "< 20 s"
    yield f"  {CALLS_PER_SECOND} calls/s without", _calls(found.without), ""
    ratio = f"  p99 x {found.beside.p99 / found.without.p99:.2f}"
    yield "  beside it", _calls(found.beside) + ratio, ""
    figures = f"p50 {took[len(took) // 2]:7.1f} ms  longest of 30 {took[-1]:7.1f} ms"
    yield "  a question", figures, "< 200 ms"
    yield "provider docs, started", f"{began.cpu:7.0f} ms CPU  {began.memory:5.1f} MB", "150, 35"


def polls(_seconds: float) -> Iterator[Row]:
    """A look of the provider `ci` that finds nothing."""
    yield f"provider ci, {ci.RUNS} runs, none new", f"{ci.look():7.2f} ms CPU", "< 5 ms"


def replay(_seconds: float, mib: int = INDEXED_MIB) -> Iterator[Row]:
    """A large session: opening its replay, reading all of it, going to a moment."""
    with scratch() as home:
        indexing.write(home.root, mib * 2**20, sessions=1)
        found = replaying.replay(home.root)
    size = f"{found.bytes / 2**20:,.0f} MiB, {found.events:,} events"
    yield f"replay of {size}: the end is shown", f"{found.opened * 1e3:7.0f} ms", "< 1 s"
    yield "  all of it was read, beside the screen", f"{found.surveyed:7.1f} s", ""
    yield "  any moment in it", f"at most {found.moment * 1e3:7.0f} ms", ""


def start(seconds: float) -> Iterator[Row]:
    """First frames."""
    with scratch() as home:
        bare, ours = terminal.first_frames(home, max(int(seconds), 3))
    yield "first frame, bare Textual app", f"{bare.wall:7.0f} ms  cpu {bare.cpu:5.0f} ms", ""
    ratio = f"  x {ours.wall / bare.wall:.2f}"
    yield (
        "first frame, tapui",
        f"{ours.wall:7.0f} ms  cpu {ours.cpu:5.0f} ms{ratio}",
        "≤ 1.3 x bare",
    )


def run(_seconds: float) -> Iterator[Row]:
    """`tapui run` through a gateway, whose host answers at once."""
    with scratch() as home:
        status, took = running.measure(home)
    yield "tapui status", f"{status:7.0f} ms", ""
    yield "tapui run", f"{took:7.0f} ms  + {took - status:.0f}", "≤ status + 50 ms"


def person(_seconds: float) -> Iterator[Row]:
    """What the question who is the person costs."""
    with looking.terminal() as pid:
        alone = looking.took(pid)
        with looking.crowd(looking.CROWD):
            beside = looking.took(pid)
    yield "who asks, p50", f"{alone:7.2f} ms", ""
    yield f"  beside {looking.CROWD:,} processes", f"{beside:7.2f} ms", "< 15 ms"


def both_ways(seconds: float) -> Iterator[Row]:
    """The gateway's CPU for a call by the Unix socket against one over TCP; calls beside looks."""
    for in_flight in (1, 64):
        with scratch() as home, Gateway(home, "--no-attach") as gateway:
            found = ways.compare(gateway, SMALL, in_flight, seconds / ways.TURNS)
        yield f"over TCP, {in_flight} in flight", _calls(found.tcp), ""
        ratio = f"  cpu x {found.ratio:.2f}"
        yield f"by the Unix socket, {in_flight} in flight", _calls(found.unix) + ratio, "cpu ≤ TCP"
    asking = {"TAPUI_APPROVALS_COMMAND_LINE": "person"}
    with scratch() as home, Gateway(home, "--no-attach", env=asking) as gateway:
        alone, beside = ways.beside_looks(gateway, SMALL, seconds / ways.TURNS)
    yield f"{ways.CALLS_PER_SECOND} calls/s", _calls(alone), ""
    ratio = f"  p99 x {beside.p99 / alone.p99:.2f}"
    yield f"  beside {ways.LOOKS_PER_SECOND} looks/s at a process", _calls(beside) + ratio, ""


def memory(_seconds: float) -> Iterator[Row]:
    """Resident memory, idle."""
    with scratch() as home, Gateway(home, "--no-attach") as gateway:
        time.sleep(IDLE_SECONDS)
        yield "memory, serve", f"{terminal.rss(gateway.pid):7.1f} MB", ""
        kept = home.tapui / "index" / "records.sqlite"
        until(kept.exists, what="the index")
        (keeper,) = psutil.Process(gateway.pid).children()
        used = f"{keeper.memory_info().rss / 1e6:7.1f} MB"
        yield "  while something is recorded, its process of the index", used, ""
    with scratch() as home, terminal.tower(home, "--no-attach") as running:
        time.sleep(IDLE_SECONDS)
        yield "memory, tower", f"{terminal.rss(running.tower.pid):7.1f} MB", "< 70 MB"
        parent = psutil.Process(running.process.pid).memory_full_info().pss
        yield "  its parent, which the shell waits for (its share)", f"{parent / 1e6:7.1f} MB", ""
    if not _has_copilot():
        yield "memory, tower with Copilot attached", "not measured: needs tmux and the CLI", ""
        return
    with _attached() as running:
        time.sleep(IDLE_SECONDS)
        used = f"{terminal.rss(running.tower.pid):7.1f} MB"
        yield "memory, tower with Copilot attached", used, "< 120 MB"


def idle(seconds: float) -> Iterator[Row]:
    """What tapui's processes use while a session rests and emitters wait."""
    if not _has_copilot():
        yield "idle, Copilot attached", "not measured: needs tmux and the CLI", ""
        return
    with _attached(beside_emitters.RESTING) as running:
        time.sleep(IDLE_SECONDS)
        used = terminal.cpu_of_tree(running.process.pid, 10 * seconds)
    figures = ", ".join(f"{name} {share:.2%}" for name, share in used.items())
    whole = f"cpu {sum(used.values()):.2%} of a core: {figures}"
    yield "idle, Copilot attached, two emitters", whole, "≤ 1 %"


def _has_copilot() -> bool:
    return find_cli() is not None and shutil.which("tmux") is not None


@contextmanager
def _attached(emitters: Sequence[dict[str, Any]] = ()) -> Iterator[terminal.OnPty]:
    """Run the tower beside a Copilot CLI that it is attached to, with emitters in its folder."""
    with ExitStack() as stack:
        home = stack.enter_context(scratch())
        folder = beside_emitters.folder_with(home, *emitters, name="work")
        model = stack.enter_context(ModelServer())
        copilot = Copilot(
            stack.enter_context(Tmux()),
            home=home.root,
            cache=home.root / "cache",
            cwd=Path(folder),
            model_url=model.url,
        )
        running = stack.enter_context(terminal.tower(home))

        until(
            lambda: copilot.session_id in home.run("status", "--json").stdout,
            within=30,
            what="attached",
        )
        yield running


BENCHES: dict[str, Callable[[float], Iterator[Row]]] = {
    "calls": calls,
    "stock": stock,
    "many": many,
    "filters": filters,
    "emitters": emitters,
    "kit": kit,
    "memory-call": memory_call,
    "bridge": bridge,
    "reload": reload,
    "rules": rules,
    "pushes": pushes,
    "screen": screen,
    "turns": turns,
    "by-tool": by_tool,
    "frame": frame,
    "lag": lag,
    "merged": merged,
    "typed": typed,
    "inspection": inspection,
    "disk": disk,
    "patterns": patterns,
    "copilot": copilot,
    "index": index,
    "query": query,
    "past proofs": past,
    "docs": docs,
    "ci": polls,
    "folder states": folders,
    "changes": changes,
    "proof": proof,
    "goals": goals,
    "replay": replay,
    "start": start,
    "run": run,
    "person": person,
    "ways": both_ways,
    "memory": memory,
    "idle": idle,
}


def main() -> int:
    """Print the table, a row as soon as it is known."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description=__doc__)
    parser.add_argument("--seconds", type=float, default=3.0, help="per measurement (at most 8)")
    parser.add_argument("--only", nargs="+", choices=BENCHES, default=list(BENCHES))
    parser.add_argument(
        "--mib",
        type=int,
        default=INDEXED_MIB,
        help=f"records in index, past and replay ({INDEXED_MIB})",
    )
    parser.add_argument(
        "--records",
        type=int,
        default=ASKED_RECORDS,
        help=f"records that questions are asked about ({ASKED_RECORDS:,})",
    )
    options = parser.parse_args()
    benches = {
        **BENCHES,
        "index": partial(index, mib=options.mib),
        "query": partial(query, records=options.records),
        "past proofs": partial(past, mib=options.mib),
        "replay": partial(replay, mib=options.mib),
    }
    machine = f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}"
    print(f"Python {sys.version.split()[0]}, {machine}, {time.strftime('%Y-%m-%d %H:%M')}\n")
    for name in options.only:
        for what, figures, target in benches[name](min(options.seconds, 8.0)):
            print(f"{what:<42} {figures:<72} {target}".rstrip(), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
