"""Release notes: a question, a form, a mode switch, and a turn that fails."""

from tapui.cli.demo.script import (
    Enquire,
    Fail,
    Intend,
    Mode,
    OneOf,
    Replace,
    Say,
    Scene,
    Script,
    Use,
    run,
)

_FILE = "CHANGELOG.md"
_TEXT = "# Changes\n\n## 1.2\n\n- Streams can be paused.\n"
_OLD = "# Changes\n"
_NEW = "# Changes\n\n## 1.3\n\n- Approvals are answered by keyboard.\n- Pairing waits for events.\n"
_FORM = {
    "type": "object",
    "properties": {
        "version": {"type": "string", "title": "Version"},
        "prerelease": {"type": "boolean", "title": "Is it a pre-release?"},
    },
    "required": ["version"],
}

SCRIPT = Script(
    session="demo-release",
    label="Release notes (demo)",
    folder="release",
    begins=0.6,
    tokens=3_000,
    turns=(
        Scene(
            ("Write the release notes.", "What has changed since the last tag?"),
            (
                Intend("Comparing the tags v1.2 and v1.3"),
                run("git log --oneline v1.2..v1.3", 0.8, "17 commits"),
                Enquire(
                    "Who reads these notes?",
                    ("users", "operators", "both"),
                    then=(Say("I write for this audience: {answer}."),),
                    otherwise=(Say("No answer came, so I write for users."),),
                ),
                Replace(
                    _FILE,
                    _TEXT,
                    _OLD,
                    _NEW,
                    "Add the section of 1.3",
                    then=(Say("The section of 1.3 is in CHANGELOG.md."),),
                    otherwise=(
                        Say("I leave the file alone: “Approvals are answered by keyboard.”"),
                    ),
                ),
            ),
            rest=5.0,
        ),
        Scene(
            ("Go through the open issues, too.",),
            (
                Intend("Going through the list of issues"),
                Use("glob", {"pattern": "issues/*.md"}, 0.3, "12 files"),
                Mode(
                    "autopilot",
                    "to finish the list",
                    then=(run("make links", 3.0, "all links are good"),),
                    otherwise=(Say("Then I ask before each of the twelve."),),
                ),
                Use("view", {"path": "issues/007.md"}, 0.8, "18 lines"),
                OneOf(
                    (
                        (Say("Three of twelve issues belong into the notes."),),
                        (Fail("model", "the scripted model stops in the middle of this turn"),),
                    )
                ),
            ),
            rest=6.0,
        ),
        Scene(
            ("Make the release.",),
            (
                Mode("interactive", "the list is finished"),
                Enquire(
                    "How is the release to be called?",
                    schema=_FORM,
                    then=(Say("It is noted: {answer}."),),
                    otherwise=(Say("Without a version there is no release yet."),),
                ),
            ),
            rest=12.0,
        ),
    ),
)
