"""The line for the shell makes the same call, in every shell; secrets are not on screen."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from msgspec import Raw

from tapui.text import escaped, json_text, safe_text
from tapui.tower.workbench.shell_line import (
    MAX_CHARS,
    NoLine,
    in_short,
    shell_line,
)
from tests.cli.running import Command, provider
from tests.conftest import program
from tests.rig.gateway import Gateway, Home

SHELLS = ("sh", "bash", "dash", "zsh", "fish")
NASTY = {
    "quotes": "it's \"so\" `id` $(id) $HOME %PATH% !! \\ \\\\n \\' ~ * ? [a] {b,c} # ; & | < >",
    "controls": "\x00\x1b[31m\x07\n\r\t\u2028\u202e\ud83d\ude00\ue000",
    "": ["", None, True, 1.0, 10**30, {"a'b": "-"}],
    "unicode": "ü 表 é e\u0301\u0301\u0301\u0301",
}
GREET = {"name": "greet", "description": "Say hello", "parameters": {"type": "object"}}


def raw(value: Any) -> Raw:
    return Raw(json.dumps(value).encode())


def line(value: Any, **more: Any) -> str:
    return shell_line("ws://localhost:9400", "s1", "greet", raw(value), **more).line


@pytest.mark.parametrize("shell", SHELLS)
async def test_the_line_makes_the_same_call_in_a_real_shell(
    gateway: Gateway, home: Home, shell: str
) -> None:
    program(shell)
    async with provider(gateway, tools=[GREET]) as one:
        session = "local"
        made = shell_line(gateway.url, session, "greet", raw(NASTY)).line
        pasted = Path(home.root) / "pasted"
        pasted.write_text(f"{made}\n")
        command = await Command.shell(home, shell, pasted)
        call = await one.expect("tool.call")
        assert call["args"] == json.loads(json.dumps(NASTY))
        await one.send({"type": "tool.result", "id": call["id"], "data": "ok"})
        assert await command.end() == (0, '"ok"\n', "")


@pytest.mark.parametrize("shell", SHELLS)
def test_every_shell_reads_the_arguments_as_one_word(shell: str) -> None:
    words = f"printf '%s' {line(NASTY).partition('--args ')[2]}"
    done = subprocess.run([program(shell), "-c", words], capture_output=True, check=True)
    assert json.loads(done.stdout) == json.loads(json.dumps(NASTY))


def test_a_line_shows_every_character_as_it_is() -> None:
    made = line(NASTY)
    assert safe_text(made) == made
    assert made.startswith("tapui call greet --session s1 --port 9400 --args '{")


def test_secrets_are_masked_on_screen_and_there_when_pasted() -> None:
    made = shell_line("ws://h:1", "s1", "t", raw({"key": "s3cret", "a": 1}), frozenset({"key"}))
    assert "s3cret" in made.line
    assert made.shown == made.line.replace("s3cret", "********")
    assert in_short(raw({"key": "s3cret"}), frozenset({"key"})) == '{"key": "********"}'


@pytest.mark.parametrize(
    ("session", "value", "why"),
    [
        ("s\x1b", {}, "this session's id cannot be typed"),
        ("s1", {"a": "x" * MAX_CHARS}, "too long for a line"),
        ("s1", {"a": "\x00" * (MAX_CHARS // 6)}, "too long for a line"),
    ],
)
def test_what_cannot_be_a_line_says_why(session: str, value: Any, why: str) -> None:
    with pytest.raises(NoLine, match=why):
        shell_line("ws://localhost:9400", session, "greet", raw(value))


def test_a_session_with_odd_characters_is_quoted() -> None:
    made = shell_line("ws://localhost:9400", "it's; rm -rf", "greet", raw({})).line
    words = f"printf '%s\\n' {made.partition('tapui ')[2]}"
    done = subprocess.run(["sh", "-c", words], capture_output=True, check=True, text=True)
    assert done.stdout.splitlines()[:4] == ["call", "greet", "--session", "it's; rm -rf"]


@pytest.mark.parametrize("indent", [None, 2])
def test_json_text_is_safe_and_the_same_value(indent: int | None) -> None:
    text = json_text(NASTY, indent=indent)
    assert safe_text(text, newlines=indent is not None) == text
    assert json.loads(text) == json.loads(json.dumps(NASTY))


def test_what_is_pasted_into_json_stays_json() -> None:
    pasted = '{\r\n\t"a": "\u202e\x1b"\r\n}'
    assert json.loads(escaped(pasted)) == {"a": "\u202e\x1b"}
    assert safe_text(escaped(pasted), newlines=True) == escaped(pasted)


def test_long_arguments_are_told_in_short() -> None:
    assert in_short(raw({"a": "x" * 500})).endswith("…")
    assert in_short(raw({"a": "x" * MAX_CHARS})) == f"{MAX_CHARS + 9:,} bytes"
