"""Tab completes in the shells themselves."""

import subprocess

import pytest

from tapui.cli.commands.completion import SHELLS
from tests.conftest import program
from tests.rig.gateway import Home
from tests.rig.tmux import Tmux

STARTS = {
    "bash": (["bash", "--norc", "--noprofile", "-i"], 'eval "$(tapui completion bash)"'),
    "zsh": (
        ["zsh", "-f", "-i"],
        'autoload -U compinit; compinit -u -D; eval "$(tapui completion zsh)"',
    ),
    "fish": (["fish", "--no-config", "-i"], "tapui completion fish | source"),
}


@pytest.mark.parametrize("shell", SHELLS)
def test_tab_completes_commands_options_and_choices(tmux: Tmux, home: Home, shell: str) -> None:
    program(shell)
    home.root.mkdir(parents=True, exist_ok=True)
    argv, load = STARTS[shell]
    screen = tmux.start(argv, env=home.env(PS1="$ "), cwd=home.root)
    screen.type(f"{load}; echo loa''ded\n")
    screen.wait_for("^loaded")
    for typed, completed in (
        ("tapui stat", "tapui status"),
        ("tapui serve --det", "tapui serve --detach"),
        ("tapui completion fi", "tapui completion fish"),
    ):
        screen.type(typed)
        screen.keys("Tab")
        screen.wait_for(rf"{completed}\b")
        screen.keys("C-u")


@pytest.mark.parametrize("shell", SHELLS)
def test_the_script_is_one_that_the_shell_can_read(home: Home, shell: str) -> None:
    program(shell)
    script = home.root / "script"
    home.root.mkdir(parents=True, exist_ok=True)
    done = home.run("completion", shell)
    assert (done.returncode, done.stderr) == (0, "")
    script.write_text(done.stdout)
    checked = subprocess.run(
        [shell, "-n", str(script)],
        env=home.env(),
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    assert (checked.returncode, checked.stderr) == (0, "")
