"""`tapui copilot`: by the extension, by the port after a question, or not at all."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from tapui.cli.commands.copilot import FLAG, way_in
from tapui.cli.failure import Failure
from tapui.home.paths import Home as Folders
from tapui.hosts.copilot.install.own_files import ExtensionFile
from tests.rig.gateway import Home

PRINTS = '#!/bin/sh\necho "$@"\n'


class Machine:
    """A machine with other users, and a person who answers each question."""

    def __init__(self, folder: Path, *people: str) -> None:
        self.home = Folders.at(folder / "tapui", folder / "copilot")
        self.people = people
        self.answer = True
        self.asked: list[str] = []

    def asks(self, question: str) -> bool:
        self.asked.append(question)
        return self.answer

    def starts(self, *given: str, rule: str = "ask") -> Sequence[str]:
        return way_in(given, rule, self.home, people=lambda: self.people, asks=self.asks)

    def install(self) -> None:
        ExtensionFile(self.home.copilot).install()

    def switch_on(self) -> None:
        (self.home.copilot / "settings.json").write_text('{"experimental": true}')


@pytest.fixture
def shared(tmp_path: Path) -> Machine:
    """A machine that others use."""
    return Machine(tmp_path, "ada")


def test_alone_on_the_machine_nothing_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    machine = Machine(tmp_path)
    assert machine.starts("--resume") == [FLAG]
    assert machine.starts(FLAG, "--port", "1") == []
    assert machine.asked == []
    assert capsys.readouterr().err == ""


def test_where_others_have_accounts_it_is_said_and_asked_once(
    shared: Machine, capsys: pytest.CaptureFixture[str]
) -> None:
    assert shared.starts() == [FLAG]
    (told,) = capsys.readouterr().err.splitlines()
    assert "has no password" in told
    assert "install extension" in told
    assert shared.starts() == [FLAG]
    assert len(shared.asked) == 1
    assert "ada" in shared.asked[0]
    shared.people = ("ada", "grace")
    shared.answer = False
    with pytest.raises(Failure, match="not started"):
        shared.starts()
    with pytest.raises(Failure, match="not started"):
        shared.starts(FLAG)
    assert len(shared.asked) == 3


def test_the_setting_answers_it(shared: Machine) -> None:
    assert shared.starts(rule="always") == [FLAG]
    for given in ([], [FLAG]):
        with pytest.raises(Failure, match=r"copilot\.port forbids .*install extension"):
            shared.starts(*given, rule="never")
    shared.install()
    with pytest.raises(Failure, match="copilot --experimental"):
        shared.starts(rule="never")
    assert shared.asked == []


@pytest.mark.parametrize("rule", ["ask", "always", "never"])
def test_the_extension_goes_first_once_it_is_loaded(shared: Machine, rule: str) -> None:
    shared.install()
    assert shared.starts("--experimental", rule=rule) == []
    shared.switch_on()
    assert shared.starts(rule=rule) == []
    assert shared.asked == []


def test_it_starts_copilot_with_what_was_given(home: Home) -> None:
    bin_ = home.root / "bin"
    bin_.mkdir(parents=True)
    (bin_ / "copilot").write_text(PRINTS)
    (bin_ / "copilot").chmod(0o755)
    path = f"{bin_}:{home.env()['PATH']}"
    env = home.env(PATH=path, TAPUI_COPILOT_PORT="always")
    assert home.run("copilot", "--resume", "x", env=env).stdout == f"{FLAG} --resume x\n"
    never = home.run("copilot", env=home.env(PATH=path, TAPUI_COPILOT_PORT="never"))
    assert (never.returncode, never.stdout) == (1, "")
    assert "copilot.port forbids" in never.stderr
    for args in (("serve", "--attach", "1"), ("--attach", "1")):
        refused = home.run(*args, env=home.env(TAPUI_COPILOT_PORT="never"))
        assert "forbids Copilot's port" in refused.stderr
    ExtensionFile(home.copilot).install()
    (home.copilot / "settings.json").write_text('{"experimental": true}')
    plain = home.run("copilot", "-p", "hello", env=env)
    assert (plain.stdout, plain.stderr) == ("-p hello\n", "")
