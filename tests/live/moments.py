"""A day with the real CLI, in keys: what the person does daily in the tower, at some sizes.

    python -m tests.live.moments [--size 160x45 …] [--into FOLDER] [--only NAME …]

Two CLIs work in two repositories, a scripted model answers them, and a tower is attached to both.
Each moment is prepared, then done by keys in the tower; counted are the keys, and the seconds from
what the person sees first to what they wanted. A text that is typed counts as no key; the Enter
that sends it counts, but for a note's: it is part of the note. Keys by which the person reads
(moving to a line, closing what was read) are not counted either.

Printed is a line for each moment, with the keys that it may take. It fails with the moments that
cannot be done, or take more. FOLDER gets a folder for each size: `tape.cast` (asciicast 2: what
stood on the terminal after each key, and the keys), and for each step a picture and its text.

"After lunch" needs five minutes without a key: they go by in real time.
"""

import argparse
import sys
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

from tapui.tower.app.digest import AWAY
from tapui.tower.requests.request_detail import DEAF_SECONDS
from tests.live.day import Day
from tests.live.test_subagents import LOOKUP, task
from tests.rig.model_server import ALWAYS, Rule
from tests.rig.provider_process import ProviderProcess
from tests.rig.tape import WITHIN
from tests.rig.waiting import until

SIZES = ("80x24", "120x36", "160x45", "200x50")
FOCUS_LEFT, FOCUS_CAME = "\x1b[O", "\x1b[I"
CHECK = "python3 -m unittest -q"
FLOOD = 20_000
"""Lines of a flood."""
_WAITS = r".*(waits|left)"
_ANSWERING = r"\A(?!(?:.|\n)*a answers it:)(?:.|\n)*d  deny"
"""A request that takes answers: a session's detail has one, too, that does not."""


def approves(day: Day) -> None:
    person = day.person
    command = "rm -rf build && mkdir build && echo rebuilt > build/out.txt"
    day.asks_to_run(day.shop, "rebuild it", command)
    with day.moment("a command to approve", 3):
        person.looks(f"rm -rf build{_WAITS}", "asked")
        person.presses("a", _ANSWERING, "request")
        person.answers("y", "Enter allows", "Nothing waits|rebuild it: over")
        until((day.shop.cwd / "build/out.txt").exists, what="the command ran")
    day.over(day.shop, "rebuild it")
    command = "\n".join(f"touch build/{number}" for number in range(1, 21))
    day.asks_to_run(day.shop, "write them", command)
    with day.moment("a command of 20 lines, without scrolling", 3):
        person.looks(f"touch build/1 {_WAITS}")
        person.presses("a", _ANSWERING)
        person.looks(r"lines? below|│ touch build/20\b", "20 lines")
        if person.screen.find("lines below"):
            person.presses("End", "y  allow once")
        person.answers("y", "Enter allows", "Nothing waits|write them: over")
        until((day.shop.cwd / "build/20").exists, what="the command ran")
    day.over(day.shop, "write them")


def approves_two(day: Day) -> None:
    person = day.person
    for number, prompt in enumerate(("shop first", "notes second")):
        call = ("bash", {"command": f"touch two-{number}", "description": prompt})
        rules = [Rule(calls=[call], when=prompt), Rule(text="both: over.", times=ALWAYS)]
        day.model.script(*rules)
        (day.shop, day.notes)[number].prompt(prompt)
        person.looks(f"touch two-{number}{_WAITS}")
    person.focus(FOCUS_LEFT)
    with day.moment("two while typing elsewhere", 5):
        person.looks(f"touch two-0{_WAITS}")
        person.focus(FOCUS_CAME)
        person.presses("a", _ANSWERING, "two requests")
        person.answers("y", "Enter allows", "Keep the notes asks to run(.|\n)*d  deny")
        person.answers("y", "Enter allows", "Nothing waits")
        for number, copilot in enumerate((day.shop, day.notes)):
            until((copilot.cwd / f"two-{number}").exists, what="the command ran")
    for copilot in (day.shop, day.notes):
        day.over(copilot, "both")


def loops(day: Day) -> None:
    check = ("bash", {"command": CHECK, "description": "tests"})
    day.model.script(
        Rule(calls=[check], when="mend it"),
        Rule(calls=[check], role="tool", when="exit code 1", times=2),
        Rule(text="mend it: over.", times=ALWAYS),
    )
    day.shop.prompt("mend it")
    for then in ("2nd try, failed once", "3rd try, failed twice"):
        day.tower.approve("python3")  # what it runs is cut at 80 columns
        day.person.looks(then)
    with day.moment("a looping test", 0):
        day.person.looks("3rd try, failed twice", "looping")
    day.tower.approve("python3")
    day.over(day.shop, "mend it")


def proves(day: Day) -> None:
    person, first = day.person, "return sum(prices)"
    day.changes_cart("make it right", "return 0", first)
    day.shop.screen.wait_for("all tests pass", within=WITHIN)
    for name, most in (
        ("the agent says done → proven, the first time", 3),
        ("the agent says done → proven", 2),
    ):
        day.select(day.shop)
        with day.moment(name, most):
            person.looks("done ○", "says done")
            person.presses(".", "prove it now")
            if most == 3:
                person.presses("v", r"runs with your rights|Enter runs", "what would run")
                time.sleep(DEAF_SECONDS)
                person.presses("Enter", "✓ passed")
            else:
                person.presses("v", "✓ passed")
        person.rest()
        person.looks("done ✓", "proven")
        if most == 3:
            day.changes_cart("say it otherwise", first, f"{first}  # of all")
            day.shop.screen.wait_for("say it otherwise(.|\n)*all tests pass", within=WITHIN)


def reads_changes(day: Day) -> None:
    day.select(day.shop)
    with day.moment("what changed yesterday", 2):
        day.person.presses("7", r"cart\.py", "changes")
        day.person.presses("Enter", r"\+.*return sum\(prices\)")


def notes_on_a_diff(day: Day) -> None:
    person = day.person
    day.model.script(Rule(text="noted: over.", times=ALWAYS))
    day.select(day.shop)
    person.moves("7", r"cart\.py")
    person.moves("Enter", r"\+.*return sum\(prices\)")
    with day.moment("two notes on a diff → back to the agent", 2 * 1 + 2):
        for move, text in (("Down", "why not math.fsum"), ("Down", "say what of")):
            person.moves(move, r"cart\.py")
            person.presses("t", "Note on")
            person.types(text)
            person.moves("Enter", f"note.*{text}", "note")
        sends_notes(day)
    sent = day.model.wait_for(lambda one: "math.fsum" in one.text).text
    assert "say what of" in sent, sent
    day.over(day.shop, "noted")


def sends_notes(day: Day) -> None:
    day.person.presses("m", "2 notes, ", "notes to send")
    day.person.presses("Enter", r"\? help|commands")
    day.model.wait_for(lambda one: "math.fsum" in one.text)


def asks_as_subagent(day: Day) -> None:
    person = day.person
    call = ("bash", {"command": "touch reviewed", "description": "reviews"})
    day.model.script(
        Rule(calls=task("KIDONE", "reviewer", "background"), when="^(?!.*KID).*review it"),
        Rule(calls=[call], when="KIDONE"),
        Rule(text="review: over.", times=ALWAYS),
    )
    with ProviderProcess(
        day.tower.url,
        day.tower.token,
        name="orders",
        tools=[LOOKUP],
        session=day.shop.session_id,
    ):
        day.shop.prompt("review it")
        with day.moment("a subagent asks", 3):
            person.looks(f"touch reviewed{_WAITS}", "subagent asks")
            person.presses("a", "reviewer(.|\n)*d  deny")
            person.answers("y", "Enter allows", "Nothing waits")
            until((day.shop.cwd / "reviewed").exists, what="the command ran")
    # It is told in a turn of its own that its agent is done: what is typed before would be in that.
    completed = r"Background agent .* completed(.|\n)*review: over"
    day.shop.screen.wait_for(completed, within=WITHIN)


def stops(day: Day) -> None:
    person, held = day.person, threading.Event()
    day.model.script(
        Rule(text="later", when="install it", until=held),
        Rule(text="pnpm: over.", times=ALWAYS),
    )
    day.shop.prompt("install it")
    day.model.wait_for(lambda one: "install it" in one.text)
    day.select(day.shop)
    with day.moment("“stop, use pnpm”", 2):
        person.looks("busy", "busy")
        person.presses("x", r"stop\?", "stop")
        person.types("use pnpm")
        person.presses("Enter", r"\? help|commands")
        day.model.wait_for(lambda one: one.text.endswith("use pnpm"))
    held.set()
    day.over(day.shop, "pnpm")


def fills_context(day: Day) -> None:
    """What the CLI says to its model fills most of the second session's small context."""
    person = day.person
    with day.moment("context from 80 % on is seen", 0):
        person.looks(r"\b[89]\d%", "context")
    day.model.script(Rule(text="All that was said.", times=ALWAYS))
    day.select(day.notes)
    with day.moment("a full context is compacted", 2):
        person.presses(".", "compact the context", "compact")
        person.presses("k", "compact.*(ordered|delivered|done|compact)")
        day.model.wait_for(lambda one: "summar" in one.text.lower())


def floods(day: Day) -> None:
    person = day.person
    person.moves("3", "Streams")
    person.rest()
    with (
        ProviderProcess(
            day.tower.url,
            day.tower.token,
            name="ci",
            session=day.shop.session_id,
        ) as provider,
        day.moment("a flooding stream", 0),
    ):
        before = person.looks(r"\A.*(\d\d:\d\d:\d\d)$")[1]
        for number in range(FLOOD):
            provider.push(f"line {number} of the build", stream="build")
        person.tape.picture(person.screen, "flood")
        until(lambda: not person.screen.find(rf"\A.*{before}$"), what="the clock goes on")
        if day.size[0] >= 100:
            person.looks("build@ci")
        person.looks("Nothing waits")


def link_drops(day: Day) -> None:
    command = "touch kept"
    day.asks_to_run(day.shop, "keep it", command)
    day.person.looks(f"{command}{_WAITS}")
    with day.moment("the ssh link drops", 0):
        day.person.screen.close()
        day.open_tower(day.tower.gateway["port"])
        day.person.screen = day.tower.screen
        day.person.looks(f"{command}{_WAITS}", "back")
    # A tower in a terminal that the agent may have opened is not heard: answer in Copilot's own.
    day.shop.choose_first("Do you want to run this command")
    day.over(day.shop, "keep it")


def comes_back(day: Day) -> None:
    """Lunch: one asks, one is done without a check."""
    person = day.person
    left = time.monotonic()
    person.focus(FOCUS_LEFT)
    day.changes_cart("over lunch", "return not prices", "return len(prices) == 0")
    day.shop.screen.wait_for("over lunch(.|\n)*all tests pass", within=WITHIN)
    day.asks_to_run(day.notes, "meanwhile", "touch lunch")
    person.looks(f"touch lunch{_WAITS}")
    time.sleep(max(left + AWAY + 1 - time.monotonic(), 0.0))
    with day.moment("after lunch", 1):
        person.focus(FOCUS_CAME)
        person.looks("While you were away", "away")
        person.presses("a", "touch lunch(.|\n)*d  deny")
    day.tower.approve("touch lunch")
    day.over(day.notes, "meanwhile")


MOMENTS: dict[str, Callable[[Day], None]] = {
    "approve": approves,
    "two": approves_two,
    "loop": loops,
    "done": proves,
    "changes": reads_changes,
    "notes": notes_on_a_diff,
    "subagent": asks_as_subagent,
    "stop": stops,
    "context": fills_context,
    "flood": floods,
    "lunch": comes_back,
    "link": link_drops,
}


def main() -> int:
    """Do the moments at each size; 1 if one cannot be done, or takes more keys than it may."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--size", nargs="+", default=list(SIZES), metavar="COLUMNSxLINES")
    parser.add_argument("--into", type=Path, default=Path("moments"), metavar="FOLDER")
    parser.add_argument("--only", nargs="+", choices=MOMENTS, default=list(MOMENTS))
    options = parser.parse_args()
    bad: list[str] = []
    for size in options.size:
        columns, _, lines = size.partition("x")
        print(size, flush=True)
        with ExitStack() as stack:
            day = Day(stack, (int(columns), int(lines)), options.into / size)
            day.person.tape.picture(day.person.screen, "begin")
            for name in options.only:
                day.do(name, MOMENTS[name])
        bad += [f"{size}: {one.name}" for one in day.done if not one.is_fine]
    print(f"not done, or with more keys: {', '.join(bad)}" if bad else "all done")
    return int(bool(bad))


if __name__ == "__main__":
    sys.exit(main())
