"""Every command where no gateway runs: exit codes, help, and what is said."""

import argparse
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tapui.cli import commands
from tapui.cli.arguments import CommandParser
from tapui.cli.parser import build, command_modules
from tapui.settings import loading
from tests.cli.running import ran
from tests.cli.schemas import check
from tests.rig.gateway import Home, tapui_argv
from tests.rig.waiting import HUNG


def every_command(parser: CommandParser, *words: str) -> Iterator[tuple[str, ...]]:
    """Yield the words of each command, and of each of its actions."""
    yield words
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for name, inner in action.choices.items():
                yield from every_command(inner, *words, name)


NEED_GATEWAY = [
    ("status",),
    ("status", "--json"),
    ("status", "--line"),
    ("status", "--watch"),
    ("call", "greet"),
    ("tail", "builds"),
    ("tail", "builds", "--follow", "--json"),
    ("send", "s1", "go on"),
    ("stop-turn", "s1"),
    ("prove",),
    ("proof",),
    ("changes",),
    ("goal",),
    ("goal", "pytest -q"),
    ("goal", "show", "g-1", "--json"),
    ("goal", "drop", "g-1"),
    ("next",),
    ("show", "last"),
    ("approve", "a1"),
    ("deny", "a1"),
    ("emitters", "start", "e"),
    ("emitters", "keep", "e", "--json"),
    ("emitters", "list", "--session", "s1"),
    ("emitters", "allow", "--session", "s1"),
    ("stop",),
]
HEAVY = ("textual", "websockets", "msgspec", "rich", "psutil", "asyncio", "copilot")


def test_a_process_ends_with_the_code_of_its_command(home: Home) -> None:
    done = home.run("--version")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("tapui ")
    done = home.run("status")
    assert (done.returncode, done.stdout) == (3, "")
    assert done.stderr.startswith("tapui: no gateway runs; start one")


def test_a_process_without_a_command_shows_the_tower_or_says_why_not(home: Home) -> None:
    done = home.run()
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("tapui: the tower needs a terminal")
    home.settle("prot = 1\n")
    done = home.run()
    assert (done.returncode, done.stdout) == (2, "")
    assert (
        done.stderr == f"tapui: {home.tapui}/config.toml:1: prot: unknown key; did you mean port?\n"
    )


def test_help_of_every_command_names_its_usage_and_the_exit_codes(home: Home) -> None:
    found = list(every_command(build()))
    assert {(), ("status",), ("provider", "new")} <= set(found)
    for command in found:
        done = ran(home, *command, "--help")
        assert (done.returncode, done.stderr) == (0, ""), command
        assert done.stdout.startswith(" ".join(("usage: tapui", *command)))
        assert [line for line in done.stdout.splitlines() if len(line) > 80] == [], command
        assert "3 no gateway" in done.stdout, command
        assert "130 interrupted" in done.stdout, command


def script_ran(home: Home, script: str) -> "subprocess.CompletedProcess[str]":
    """Run a script that calls the command line in an interpreter of its own."""
    return subprocess.run(
        [sys.executable, "-c", script],
        env=home.env(),
        capture_output=True,
        text=True,
        timeout=HUNG,
        check=False,
    )


@pytest.mark.parametrize("argument", ["--version", "--help"])
def test_version_and_help_import_nothing_that_takes_time(home: Home, argument: str) -> None:
    script = (
        "import sys\n"
        "from tapui.cli.main import main\n"
        f"code = main([{argument!r}])\n"
        f"print([name for name in {HEAVY!r} if name in sys.modules], file=sys.stderr)\n"
        "sys.exit(code)"
    )
    done = script_ran(home, script)
    assert (done.returncode, done.stderr) == (0, "[]\n")


def test_every_command_is_known_by_its_name_alone() -> None:
    found = [line.name for one in command_modules(commands.__path__) for line in one.lines]
    parsed = {command for command in every_command(build()) if len(command) == 1}
    assert parsed == {(name,) for name in found}
    assert len(set(found)) == len(found)


def test_no_two_commands_have_one_place_in_the_list() -> None:
    lines = [line for one in command_modules(commands.__path__) for line in one.lines]
    assert len({line.place for line in lines}) == len(lines)


WAVE = '''"""`tapui wave`."""

COMMANDS = """
205 wave: greet a person
206 wave-back: greet in return
"""


def arguments(wave, back):
    wave.runs(run, "More of it.")
    wave.add_argument("name", metavar="NAME", help="who it is")
    back.runs(lambda args: 3)


def run(args):
    print("hello", args.name)
    return 0
'''


@pytest.mark.parametrize("place", ["wave.py", "wave/__init__.py"])
def test_a_new_command_is_one_new_file(
    home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    file = tmp_path / "added" / place
    file.parent.mkdir(parents=True)
    file.write_text(WAVE)

    folders = [*commands.__path__, str(tmp_path / "added")]
    monkeypatch.setattr(commands, "__path__", folders)
    monkeypatch.delitem(sys.modules, f"{commands.__name__}.wave", raising=False)

    def run(*args: str) -> tuple[int, str, str]:
        done = ran(home, *args)
        return done.returncode, done.stdout, done.stderr

    assert run("wave", "Ada") == (0, "hello Ada\n", "")
    assert run("wave-back") == (3, "", "")
    listed = run("--help")[1]
    names = re.findall(r"^    ([a-z-]+)", listed, re.MULTILINE)
    at = names.index("wave")
    assert names[at - 1 : at + 3] == ["why", "wave", "wave-back", "why-allowed"]
    assert "greet a person\n" in listed
    told = run("wave", "--help")[1]
    assert told.startswith("usage: tapui wave [-h] NAME\n\nGreet a person.\n\nMore of it.\n")
    assert (
        run("wafe")[2] == "tapui: there is no command wafe; did you mean wave?\ntry: tapui --help\n"
    )
    assert run("wave")[0] == 2


def test_a_command_imports_nothing_of_the_others(home: Home) -> None:
    script = (
        "import sys\n"
        "from tapui.cli.main import main\n"
        "main(['status'])\n"
        "room = 'tapui.cli.commands.'\n"
        "print([name for name in sys.modules if name.startswith(room)])"
    )
    assert script_ran(home, script).stdout == "['tapui.cli.commands.status']\n"


@pytest.mark.parametrize("command", ["status", "config", "records", "doctor"])
def test_commands_without_a_screen_do_not_import_textual(home: Home, command: str) -> None:
    script = (
        "import sys\n"
        "from tapui.cli.main import main\n"
        f"main([{command!r}])\n"
        "print('textual' in sys.modules, 'copilot' in sys.modules)"
    )
    assert script_ran(home, script).stdout.splitlines()[-1] == "False False"


@pytest.mark.parametrize("command", NEED_GATEWAY, ids=" ".join)
def test_without_a_gateway_the_exit_code_is_3(home: Home, command: tuple[str, ...]) -> None:
    done = ran(home, *command)
    assert (done.returncode, done.stdout) == (3, "")
    assert done.stderr == "tapui: no gateway runs; start one with `tapui` or `tapui serve`\n"


def test_a_port_on_which_nothing_runs_is_named(home: Home) -> None:
    for done in (
        ran(home, "status", "--port", "9555"),
        ran(home, "--port", "9555", "status"),
        ran(home, "status", env=home.env(TAPUI_PORT="9555")),
    ):
        assert done.returncode == 3
        assert done.stderr.startswith("tapui: no gateway runs on port 9555; start one")


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (("frobnicate",), "there is no command frobnicate; there are serve, stop, copilot,"),
        (("statsu",), "there is no command statsu; did you mean status?\ntry: tapui --help\n"),
        (("--port", "1", "rocords"), "there is no command rocords; did you mean records?"),
        (
            ("records", "nosuch"),
            "there is no action nosuch; there are export, query, purge, delete\n",
        ),
        (("records", "perge"), "there is no action perge; did you mean purge?\n"),
        (("--nope",), "unrecognized arguments: --nope\ntry: tapui --help\n"),
        (
            ("status", "--jsno"),
            "unrecognized arguments: --jsno; did you mean --json?\ntry: tapui st",
        ),
        (("serve", "--exit-when-idel=1"), "--exit-when-idel=1; did you mean --exit-when-idle?"),
        (("--port", "many"), "expected a port number, got 'many'"),
        (("--port", "65536"), "expected a port number, got '65536'"),
        (("--attach", "--no-attach"), "not allowed with argument"),
        (("serve", "--attach", "x"), "expected a port number, got 'x'"),
        (("status", "--nope"), "unrecognized arguments: --nope"),
        (("status", "extra\x1b[31m"), "unrecognized arguments: extra\\x1b[31m"),
        (("call",), "the following arguments are required: TOOL"),
        (("call", "t", "--args", "{"), "--args is not valid JSON"),
        (("call", "t", "--args", "[1]"), "--args must be a JSON object"),
        (("call", "t", "--args", "[" * 100_000), "--args is not valid JSON"),
        (("tail", "--follow"), "--follow and --json are of a stream: name one"),
        (("approve",), "the following arguments are required: ID"),
        (("deny",), "the following arguments are required: ID"),
        (("goal", "show"), "the following arguments are required: GOAL"),
        (("records", "--last", "0"), "expected a number from 1, got '0'"),
        (("records", "--collection", "call"), "no collection call; did you mean calls?"),
        (("records", "--collection", "zzz"), "no collection zzz; there are approvals, calls,"),
        (("demo",), "the tower needs a terminal"),
    ],
)
def test_wrong_use_is_2_and_says_why(home: Home, command: tuple[str, ...], said: str) -> None:
    done = ran(home, *command)
    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr
    assert done.stderr.startswith("tapui: ")
    assert "Traceback" not in done.stderr
    assert "\x1b" not in done.stderr


@pytest.mark.parametrize(
    "command", [("config",), ("status",), ("serve",), ("serve", "--detach"), ("demo",)]
)
def test_a_configuration_that_cannot_be_used_is_2(home: Home, command: tuple[str, ...]) -> None:
    home.tapui.mkdir(parents=True)
    (home.tapui / "config.toml").write_text("\nprot = 1\n")
    done = ran(home, *command)
    assert (done.returncode, done.stdout) == (2, "")
    if command != ("demo",):
        wanted = f"tapui: {home.tapui}/config.toml:2: prot: unknown key; did you mean port?\n"
        assert done.stderr == wanted


def test_config_prints_path_values_and_where_each_comes_from(home: Home) -> None:
    home.tapui.mkdir(parents=True)
    (home.tapui / "config.toml").write_text(
        'theme = "tapui-light"\n[timeouts]\n# long\ncall = 300\n'
    )
    env = home.env(TAPUI_ATTACH="off", TAPUI_BELL="", NO_COLOR="1")
    done = ran(home, "--port", "9500", "config", env=env)
    assert (done.returncode, done.stderr) == (0, "")
    path, _, titles, *rows, _, themes = done.stdout.splitlines()
    assert path == f"{home.tapui}/config.toml"
    assert titles == "  SETTING                            VALUE          FROM"
    assert [row.split()[0] for row in rows] == [*map(".".join, loading.SETTINGS), "colour"]
    came = [row for row in rows if not row.endswith("  default")]
    assert came == [
        "  port                               9500           --port",
        '  theme                              "tapui-light"  config.toml:1',
        "  attach                             false          TAPUI_ATTACH",
        "  timeouts.call                      300.0          config.toml:4",
        "  colour                             false          NO_COLOR",
    ]
    for row in (
        "  bell                               true           default",
        '  copilot.model                      ""             default',
        "  alarms.waiting                     10.0           default",
        "  records.session                    1073741824     default",
        "  records.mask                       []             default",
        '  modes.provider-to-autopilot        "never"        default',
    ):
        assert row in rows
    assert themes == (
        "themes: tapui-colour-blind, tapui-dark, tapui-high-contrast, tapui-light, tapui-terminal"
    )


def test_config_tells_of_a_theme_whose_file_cannot_be_used(home: Home) -> None:
    (home.tapui / "themes").mkdir(parents=True)
    (home.tapui / "themes" / "mine.toml").write_text("[colors]\nprimary = 'red'\n")
    done = ran(home, "config", env=home.env(TAPUI_THEME="mine"))
    assert done.returncode == 1
    assert '  theme                              "mine"      TAPUI_THEME\n' in done.stdout
    assert done.stderr == (
        f'tapui: theme {home.tapui}/themes/mine.toml: colors.primary: write a colour as "#rrggbb"\n'
    )


def test_config_as_json(home: Home) -> None:
    done = ran(home, "config", "--json", env=home.env(TAPUI_THEME="tapui-light"))
    assert (done.returncode, done.stderr) == (0, "")
    found = check("config", done.stdout)
    assert found["path"] == f"{home.tapui}/config.toml"
    assert found["exists"] is False
    theme = next(one for one in found["settings"] if one["key"] == "theme")
    assert (theme["value"], theme["origin"], theme["where"]) == (
        "tapui-light",
        "env",
        "TAPUI_THEME",
    )


def test_records_of_nothing(home: Home) -> None:
    done = ran(home, "records")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "there are no records\n")
    done = ran(home, "records", "--session", "s1")
    assert done.returncode == 1
    assert done.stderr == (
        "tapui: there are no records of session s1; sessions with records: none\n"
    )


def program(folder: Path, name: str, text: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


@pytest.mark.parametrize(
    ("given", "passed"),
    [
        ((), "--ui-server"),
        (("--resume", "abc"), "--ui-server --resume abc"),
        (("--model", "x", "-h"), "--ui-server --model x -h"),
        (("--", "--help"), "--ui-server --help"),
        (("--ui-server", "--port", "1"), "--ui-server --port 1"),
        (("--port", "x", "two words"), "--ui-server --port x two words"),
    ],
)
def test_copilot_is_started_reachable_with_every_argument(
    home: Home, given: tuple[str, ...], passed: str
) -> None:
    program(home.root / "bin", "copilot", 'echo "$@"; exit 7')
    done = home.run("copilot", *given, env=home.env(PATH=f"{home.root}/bin:/usr/bin:/bin"))
    assert (done.returncode, done.stdout, done.stderr) == (7, f"{passed}\n", "")


def test_without_copilot_the_text_says_how_to_get_it(home: Home) -> None:
    done = ran(home, "copilot", env=home.env(PATH=str(home.root)))
    assert done.returncode == 1
    assert done.stderr.startswith("tapui: Copilot CLI was not found on PATH; install it with: npm")


@pytest.mark.parametrize("command", [("config",), ("config", "--json"), ("--help",)])
def test_a_reader_that_has_gone_is_no_failure(home: Home, command: tuple[str, ...]) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    try:
        done = subprocess.run(
            tapui_argv(*command),
            env=home.env(),
            stdout=writing,
            stderr=subprocess.PIPE,
            timeout=30,
            check=False,
        )
    finally:
        os.close(writing)
    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
def test_a_full_disk_under_stdout_is_said_in_one_line(home: Home) -> None:
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            tapui_argv("config"),
            env=home.env(),
            stdout=full,
            stderr=subprocess.PIPE,
            timeout=30,
            check=False,
        )
    assert done.returncode == 1
    assert done.stderr == b"tapui: stdout: No space left on device\n"


def test_text_that_the_terminal_cannot_show_is_escaped_and_not_fatal(home: Home) -> None:
    home.tapui.mkdir(parents=True)
    done = home.run(
        "config",
        env={
            **home.env(),
            "TAPUI_HOME": f"{home.root}/\u00fc",
            "LC_ALL": "C",
            "PYTHONIOENCODING": "ascii",
            "LANG": "C",
        },
    )
    assert done.returncode == 0
    assert done.stdout.startswith(f"{home.root}/\\xfc/config.toml")


def test_a_home_that_cannot_be_made_is_said_in_one_line(home: Home) -> None:
    home.root.mkdir(parents=True, exist_ok=True)
    (home.root / "file").write_text("")
    done = ran(home, "serve", "--detach", env=home.env(TAPUI_HOME=f"{home.root}/file/home"))
    assert done.returncode == 1
    assert done.stderr == f"tapui: {home.root}/file/home/log: Not a directory\n"


RULES = '[[rules]]\nallow = "npm ci"\nfolder = "/"\n\n[[rules]]\ndeny = "rm"\n'


def test_rules_are_shown_with_their_place(home: Home) -> None:
    home.tapui.mkdir()
    (home.tapui / "config.toml").write_text(RULES)
    done = ran(home, "config")
    assert done.returncode == 0, done.stderr
    assert "config.toml:2" in done.stdout
    told = check("config", ran(home, "config", "--json").stdout)["rules"]
    assert [(one["effect"], one["pattern"], one["source"]) for one in told] == [
        ("allow", "npm ci", "person"),
        ("deny", "rm", "person"),
    ]


def test_a_fault_in_a_rule_is_told_with_file_line_and_key(home: Home) -> None:
    home.tapui.mkdir()
    (home.tapui / "config.toml").write_text(RULES + "folder = 1\n")
    done = ran(home, "config")
    assert done.returncode == 1
    assert "config.toml:7: rules.2.folder: expected an absolute path" in done.stderr
    assert "npm ci" not in done.stdout
