"""How often an agent is sent back whose claim is true: over 500 replayed ends of turns.

Each is one of the true stories, whose check is a goal's, with harmless work around it: commands
that read, a run that failed first, a commit, documents, an earlier turn. Those of which the exit
code does not tell (`HELD_UP`) are left out.
"""

import posixpath
import re
import shlex
from random import Random

from tapui.core.proof.checks import check
from tapui.core.proof.deciding import read
from tests.core.harness import Conversation, Json
from tests.core.proof.endings.played import ROOT, SESSION, PlayedSession
from tests.core.proof.endings.steps import Edit, Prompt, Shell, Step, TurnStory
from tests.core.proof.endings.true_endings import HELD_UP, TRUE_ENDINGS

ENDINGS = 500
MOST_SENT_BACK = 2

READING = ("ls -la", "git status --short", "git diff --stat", "cat README.md", "rg -n total .")
BEHIND = (
    Shell("git add -A && git commit -qm 'Mend the cart'"),
    Shell("git log --oneline -3"),
    Shell("git push", 1, "fatal: no upstream\n"),
    Edit("README.md"),
    Edit("docs/notes.md"),
)
BEFORE_IT = ("timeout 600 {}", "CI=1 {}", "time {}", "nice -n 10 {}", "{}")
AFTER_IT = ("{} 2>&1", "{} > /tmp/out.log 2>&1", "{} && echo passed", "{} && git diff --stat", "{}")
OF_A_SHELL = re.compile(r"[;|&<>\n()$]|^(?:\.|cd|set|export|source|time|pushd|[A-Z_]+=\S*)\b|^\. ")


class GoalSession(PlayedSession):
    """A session with a goal that sends back: what its agent is told at each end of a turn."""

    def __init__(self, told: TurnStory, goal: Json) -> None:
        self._goal = goal
        self.decisions: list[str] = []
        self.why = ""
        super().__init__(told)

    def _begun(self, ledgers: dict[str, bytes]) -> Conversation:
        talk = super()._begun(ledgers)
        talk.tower().ask(
            {
                "type": "goal.open",
                "id": "g",
                "sessionId": SESSION,
                "unproven": "send back",
                "criteria": [{"check": self._goal}],
            }
        )
        return talk

    def _idle(self) -> None:
        self._host.hear()
        self._host.say({"type": "turn.ending", "id": "e1", "sessionId": SESSION})
        answer = self._host.hear_one("turn.end")
        self.decisions.append(answer["decision"])
        self.why = answer.get("reason", "")
        super()._idle()


def goal_of(told: TurnStory) -> tuple[int, Json] | None:
    """Return the step that checks, and what a person names who wants that check."""
    found = None
    for at, step in enumerate(told.steps):
        if not isinstance(step, Shell) or step.code != 0:
            continue
        for part in read(step.text, step.shell).parts:
            what = check(part.words)
            if what is not None and what.kind == "tests":
                root = posixpath.normpath(posixpath.join(ROOT, step.cwd, part.folder))
                command = " ".join([*map(shlex.quote, part.sets), shlex.join(part.words)])
                found = at, {"kind": "ran", "command": command, "root": root}
    return found


def varied(told: TurnStory, at: int, dice: Random) -> TurnStory:
    """Return the story with harmless work around its check, which is the step `at`."""
    run = told.steps[at]
    assert isinstance(run, Shell)
    text = run.text
    if OF_A_SHELL.search(text) is None and run.shell == "bash":
        text = dice.choice(AFTER_IT).format(dice.choice(BEFORE_IT).format(text))
    before: list[Step] = [Shell(one) for one in dice.sample(READING, dice.randint(0, 2))]
    edits = [one for one in told.steps[:at] if isinstance(one, Edit)]
    if edits and dice.random() < 0.3:
        before += [run._replace(code=1, output="", writes={}), edits[-1]._replace(content="mended")]
    behind = dice.sample(BEHIND, dice.randint(0, 2))
    first = [Edit("shop/earlier.py"), Prompt()] if dice.random() < 0.2 else []
    steps = (*first, *told.steps[:at], *before, run._replace(text=text), *told.steps[at + 1 :])
    return told._replace(steps=(*steps, *behind))


KNOWN = [
    (one, goal)
    for one in TRUE_ENDINGS
    if one.shown and one not in HELD_UP and (goal := goal_of(one)) is not None
]


def test_of_500_true_endings_at_most_2_are_sent_back() -> None:
    assert len(KNOWN) > 100
    sent_back = []
    for number in range(ENDINGS):
        told, (at, goal) = KNOWN[number % len(KNOWN)]
        story = varied(told, at, Random(number))
        session = GoalSession(story, goal)
        if session.decisions[-1] != "end":
            sent_back.append((told.name, session.why))
    assert len(sent_back) <= MOST_SENT_BACK, sent_back


def test_the_same_endings_with_a_later_edit_are_sent_back() -> None:
    known = [one for one in KNOWN if not any(isinstance(step, Prompt) for step in one[0].steps)]
    for number, (told, (at, goal)) in enumerate(known[:: len(known) // 20]):
        story = varied(told, at, Random(number))
        edit = next(step for step in told.steps if isinstance(step, Edit))
        later = Edit(posixpath.join(posixpath.dirname(edit.path), "later.py"))
        session = GoalSession(story._replace(steps=(*story.steps, later)), goal)
        assert session.decisions[-1] == "again", told.name
        assert "later.py changed since" in session.why
