"""What `tapui emitters allow` shows of what a file, or an agent, wants to run."""

from tapui.cli.commands.emitters.allow import shown
from tapui.projection.requests.emitter_start import RIGHTS


def test_what_would_run_does_not_pass_itself_off_as_what_is_said_of_it() -> None:
    lines = shown(
        {
            "name": "one",
            "command": f"true\n  runs in: /safe\n  {RIGHTS}\n",
            "cwd": "/repo\n  shell: none",
            "env": {"A": "1\n  with B=2"},
            "rules": [["x\ny", "inject"]],
            "isOutside": True,
        },
    )
    said = [line for line in lines if not line.startswith("  │ ")]
    assert said == [
        "one",
        "  runs in: /repo\\x0a  shell: none",
        "  that is outside of the session's folder",
        "  with A=1\\x0a  with B=2",
        "  lines with x\\x0ay: sent to the agent",
        f"  {RIGHTS}",
    ]
    assert lines[1:4] == ["  │ true", "  │   runs in: /safe", f"  │   {RIGHTS}"]


def test_arguments_of_a_provider_are_told_apart() -> None:
    lines = shown({"name": "one", "command": "run", "args": ["a b", "", "c"], "kind": "provider"})
    assert lines[1] == "  │ run 'a b' '' c"
