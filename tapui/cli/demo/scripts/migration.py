"""A migration: tests that fail in a loop, slow tools of a provider, prompts of `ci-watch`, and an
emitter, which runs once it is allowed."""

from tapui.cli.demo.script import Intend, OneOf, Provided, Say, Scene, Script, Use, run

_TEST = "pnpm test --filter @acme/gateway -- --runInBand"
_WATCH = """\
#!/bin/sh
# What the log of a database may say.
count=0
while sleep 2; do
  count=$((count + 1))
  case $((count % 8)) in
    3) echo "slow: SELECT * FROM sessions took $((count + 800)) ms" ;;
    6) echo "error: deadlock found, a transaction was rolled back" ;;
    *) echo "a query took $((count % 5 + 3)) ms" ;;
  esac
done
"""
_EMITTERS = """\
{
  "emitters": [
    {
      "name": "queries",
      "description": "The log of the database",
      "command": "sh watch_queries.sh",
      "eventFilter": [
        { "match": "^error", "outcome": "inject" },
        { "match": "^slow", "outcome": "surface" }
      ]
    }
  ]
}
"""
_FAILS = run(_TEST, 1.2, "1 failed, 248 passed", 1)

SCRIPT = Script(
    session="demo-migration",
    label="Gateway migration (demo)",
    folder="migration",
    begins=0.2,
    tokens=47_000,
    files={"watch_queries.sh": _WATCH},
    later_files={"tap.config.json": _EMITTERS},
    turns=(
        Scene(
            ("Make the tests of the gateway pass.", "Is the migration done? Run its tests."),
            (
                Intend("Running the tests of the gateway"),
                Provided("run_tests", {"subject": "gateway"}),
                _FAILS,
                Use("view", {"path": "packages/gateway/src/store.ts"}, 0.4, "212 lines"),
                _FAILS,
                _FAILS,
                Say("The same test fails each time: the store is opened twice."),
                _FAILS,
                OneOf(
                    (
                        (
                            run("git bisect run pnpm test", 3.0, "found the commit"),
                            Say("The commit that opens the store twice is found."),
                        ),
                        (
                            run("grep -rn openStore packages", 0.3, "", 1),
                            Say("Nothing else opens the store. I need another idea."),
                        ),
                    )
                ),
            ),
            rest=5.0,
        ),
        Scene(
            ("Move the builds to the new store.",),
            (
                Intend("Moving the builds"),
                Provided("migrate", {"subject": "builds"}, gives_up=7.0),
                Provided("yearly_report", {"subject": "2025"}),
                Say("The report took too long and the move was given up: both need smaller steps."),
            ),
            rest=7.0,
        ),
    ),
    woken=(
        Intend("Finding the commit that broke the build"),
        run("git log --oneline -5", 0.4, "5 commits"),
        run("pnpm test --filter @acme/quota", 2.0, "1 failed", 1),
        Say("One test of the quota fails since the last commit."),
    ),
)
