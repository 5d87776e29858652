"""`tapui language-server`, with a server that is played."""

import json
import subprocess
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.cli.running import HOSTILE, RAW, Command, next_event, provider, ran, tower
from tests.rig.gateway import Gateway, Home
from tests.rig.language_server import LAST_WORDS, answers, installed, told
from tests.rig.waiting import until_async

AUTHOR = ("-c", "user.name=t", "-c", "user.email=t@example.org")
SLEEP = "sleep 1000; true"
ALLOW = '[[rules]]\nallow = "echo *"\n'


def language_server(home: Home, *turns: list[dict[str, Any]], **more: Any) -> tuple[str, ...]:
    """Return the words of the command, whose server plays these turns in the folder `work`."""
    (home.root / "work").mkdir()
    program = installed(home.root / "bin", *turns, **more)
    return "language-server", "-w", str(home.root / "work"), "--program", str(program)


def command(text: str) -> dict[str, Any]:
    return {"call": "run_in_terminal", "input": {"command": text, "explanation": "to see"}}


def test_a_prompt_with_a_gateway_of_its_own(home: Home) -> None:
    steps = [{"say": "Hello there."}, command("echo one"), command("rm -r /"), {"say": "Done."}]
    words = language_server(home, steps)
    home.settle(ALLOW)
    done = ran(home, *words, "agent", "do", "it")
    assert (done.returncode, done.stdout) == (5, "Hello there.\nDone.\n")
    assert "· run_in_terminal echo one" in done.stderr
    assert "denied: run rm -r / (no rule allows it" in done.stderr
    program = Path(words[-1])
    (create,) = told(program, "conversation/create")
    assert create["params"]["turns"] == [{"request": "do it"}]
    went, denied = answers(program)
    assert went[0]["content"] == [{"value": "one\n[exit code 0]"}]
    assert denied[0]["status"] == "error"
    assert told(program, "shutdown")


def test_each_event_as_json(home: Home) -> None:
    words = language_server(home, [{"say": "Hello."}])
    done = ran(home, *words, "--json", "--model", "mine/gpt", "agent", "x")
    assert done.returncode == 0, done.stderr
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert (lines[-1]["kind"], lines[-1]["exitCode"]) == ("run.finished", 0)
    assert "assistant.message" in [one.get("event") for one in lines]
    (create,) = told(Path(words[-1]), "conversation/create")
    assert create["params"]["modelInfo"] == {"id": "gpt", "providerName": "mine"}


async def test_a_request_waits_for_the_person(home: Home, gateway: Gateway) -> None:
    file = home.root / "work" / "a.txt"
    write = {"call": "create_file", "input": {"filePath": str(file), "content": "new\n"}}
    words = language_server(home, [write, {"say": "Written."}])
    watching = await tower(gateway)
    running = await Command.start(home, *words, "agent", "write it")
    asked = await next_event(watching, "approval.requested")
    detail: Any = asked["approval"]["detail"]
    assert (detail["kind"], detail["fileName"]) == ("write", str(file.resolve()))
    assert "+new" in detail["diff"].splitlines()
    assert not file.exists()
    decide = {"type": "approval.decide", "decision": "approve"}
    await watching.send({**decide, "approvalId": asked["approval"]["id"]})
    code, out, err = await running.end()
    assert (code, out) == (0, "Written.\n"), err
    assert file.read_text() == "new\n"
    await watching.close()


async def test_prompts_of_the_tower_until_it_is_interrupted(home: Home, gateway: Gateway) -> None:
    words = language_server(home, [{"say": "One."}], [{"say": "Two."}], [{"wait": True}])
    watching = await tower(gateway)
    running = await Command.start(home, *words)
    opened: Any = await next_event(watching, "session.opened")
    session = opened["session"]
    assert (session["host"], session["headless"]) == ("language-server", True)
    for text in ("One.", "Two."):
        tell = {"type": "session.tell", "sessionId": session["id"], "text": "go"}
        await watching.send({**tell, "id": text})
        assert await running.line() == f"{text}\n"
    await watching.send({**tell, "id": "three"})
    program = Path(words[-1])
    await until_async(lambda: len(told(program, "conversation/turn")) == 2, what="the third turn")
    running.interrupt()
    code, _, _ = await running.end()
    assert code == 130
    closed: Any = await next_event(watching, "session.closed")
    assert closed["session"]["id"] == session["id"]
    assert told(program, "shutdown")
    await watching.close()


async def test_it_ends_when_the_person_ends_the_session(home: Home, gateway: Gateway) -> None:
    words = language_server(home)
    watching = await tower(gateway)
    running = await Command.start(home, *words)
    opened: Any = await next_event(watching, "session.opened")
    end = {"type": "session.end", "id": "e", "sessionId": opened["session"]["id"]}
    await watching.send(end)
    code, _, err = await running.end()
    assert code == 0, err
    await watching.close()


async def test_a_tool_of_a_provider(home: Home, gateway: Gateway) -> None:
    words = language_server(home, [{"call": "greet", "input": {"name": "you"}}])
    program = Path(words[-1])
    watching = await tower(gateway)
    running = await Command.start(home, *words)
    opened: Any = await next_event(watching, "session.opened")
    async with provider(gateway, session=opened["session"]["id"]) as one:

        def has_it() -> bool:
            lists = told(program, "conversation/registerTools")
            return "greet" in [tool["name"] for tool in lists[-1]["params"]["tools"]]

        await until_async(has_it, what="the provider's tool")
        tell = {"type": "session.tell", "sessionId": opened["session"]["id"], "text": "go"}
        await watching.send({**tell, "id": "t"})
        call = await one.expect("tool.call")
        assert call["args"] == {"name": "you"}
        await one.send({"type": "tool.result", "id": call["id"], "data": "hello you"})
        await until_async(lambda: answers(program), what="its answer")
    assert answers(program)[0][0] == {"content": [{"value": "hello you"}], "status": "success"}
    running.interrupt()
    await running.end()
    await watching.close()


def make_repository(folder: Path) -> None:
    for words in (["init", "-q"], ["add", "."], [*AUTHOR, "commit", "-qm", "x"]):
        subprocess.run(["git", "-C", str(folder), *words], check=True)


def passed(home: Home, goal: str) -> bool:
    return "✓ c1" in ran(home, "goal", "verify", goal).stdout


async def test_what_its_agent_runs_proves_a_goal(home: Home, gateway: Gateway) -> None:
    words = language_server(home, [command("sh check.sh")])
    work = home.root / "work"
    (work / "check.sh").write_text("exit 0\n")
    make_repository(work)
    watching = await tower(gateway)
    running = await Command.start(home, *words)
    opened: Any = await next_event(watching, "session.opened")
    id_ = opened["session"]["id"]
    opened_goal = ran(home, "goal", "open", "sh check.sh", "--session", id_)
    goal = opened_goal.stdout.split()[0]
    await watching.send({"type": "session.tell", "sessionId": id_, "text": "go", "id": "t"})
    wanted = await next_event(watching, "approval.requested")
    decide = {"type": "approval.decide", "decision": "approve"}
    await watching.send({**decide, "approvalId": wanted["approval"]["id"]})
    await next_event(watching, "call.finished")
    await until_async(lambda: passed(home, goal), what="the goal")
    running.interrupt()
    await running.end()
    await watching.close()


async def test_a_command_descends_from_the_host(home: Home, gateway: Gateway) -> None:
    """So what it sends counts as an agent's, also where it takes its marks away."""
    words = language_server(home, [command(SLEEP)])
    watching = await tower(gateway)
    running = await Command.start(home, *words)
    opened: Any = await next_event(watching, "session.opened")
    tell = {"type": "session.tell", "sessionId": opened["session"]["id"], "text": "go"}
    await watching.send({**tell, "id": "t"})
    asked = await next_event(watching, "approval.requested")
    decide = {"type": "approval.decide", "decision": "approve"}
    await watching.send({**decide, "approvalId": asked["approval"]["id"]})

    def sleeping() -> psutil.Process | None:
        below = psutil.Process(running.pid).children(recursive=True)
        return next((one for one in below if _words(one)[1:] == ["-c", SLEEP]), None)

    shell = await until_async(sleeping, what="the command")
    above = [" ".join(one.cmdline()) for one in shell.parents()]
    assert "-m tapui.hosts.language_server" in above[0]
    assert psutil.Process(running.pid).children()[0].pid == shell.parents()[0].pid
    running.interrupt()
    code, _, _ = await running.end()
    assert code == 130
    await until_async(lambda: not _words(shell), what="its end")
    await watching.close()


def _words(process: psutil.Process) -> list[str]:
    """Return a process's command line; none once it has ended."""
    try:
        return list(process.cmdline())
    except psutil.NoSuchProcess:  # a zombie is one that has ended
        return []


def test_a_server_that_dies(home: Home) -> None:
    done = ran(home, *language_server(home, [{"say": "x"}, {"die": 7}]), "agent", "go")
    assert (done.returncode, done.stdout) == (1, "x\n")
    assert f"the language server has ended (7): {LAST_WORDS}" in done.stderr


def test_a_turn_that_the_server_refuses(home: Home) -> None:
    done = ran(home, *language_server(home, [{"fail": "quota exceeded"}]), "agent", "go")
    assert (done.returncode, done.stdout) == (1, "")
    assert "tapui: quota exceeded" in done.stderr


def test_a_server_that_does_not_begin(home: Home) -> None:
    program = home.root / "bin" / "server"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\necho no library >&2\nexit 4\n")
    program.chmod(0o755)
    done = ran(home, "language-server", "--program", str(program), "agent", "go")
    assert (done.returncode, done.stdout) == (1, "")
    assert "tapui: the conversation was not begun" in done.stderr


def test_no_text_of_the_server_reaches_the_terminal_raw(home: Home) -> None:
    steps: list[dict[str, Any]] = [
        {"ask": "window/showMessageRequest", "params": {"message": HOSTILE}},
        {"say": HOSTILE},
        command(HOSTILE.replace("\0", "")),
    ]
    done = ran(home, *language_server(home, steps), "agent", "go")
    assert "language server: " in done.stderr
    assert not RAW.search(done.stdout + done.stderr)


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["agent", "x"], 3, "there is no copilot-language-server on the PATH: npm install -g"),
        (["--program", "server", "agent", "x"], 3, "must be a whole path: server"),
        (["--program", "/bin/sh", "-w", "nowhere", "agent", "x"], 2, "there is no folder "),
        (["--program", "/bin/sh", "agent", " "], 2, "there is no prompt"),
        (["--program", "/bin/sh"], 3, "no gateway runs, whose tower would give prompts"),
        (["--program", "/bin/sh", "--port", "9", "agent", "x"], 3, "no gateway runs on port 9"),
    ],
)
def test_what_it_cannot_begin_with(home: Home, words: list[str], code: int, said: str) -> None:
    done = ran(home, "language-server", *words, env=home.env(PATH="/usr/bin:/bin"))
    assert (done.returncode, done.stdout) == (code, ""), done.stderr
    assert said in done.stderr


def test_the_setting_names_the_program(home: Home) -> None:
    *_, program = language_server(home, [{"say": "Hi."}])
    home.settle(f'[language-server]\nprogram = "{program}"\n')
    done = ran(home, "language-server", "-w", str(home.root / "work"), "agent", "x")
    assert (done.returncode, done.stdout) == (0, "Hi.\n"), done.stderr


def test_signing_in(home: Home) -> None:
    *words, program = language_server(home, status={"status": "OK", "user": "octocat"})
    done = ran(home, *words, program, "sign-in")
    assert (done.returncode, done.stdout) == (0, "signed in as octocat\n"), done.stderr


def test_the_code_that_signs_in_is_shown(home: Home) -> None:
    finish = {"command": "github.copilot.finishDeviceFlow", "arguments": [], "title": "Sign in"}
    words = language_server(
        home,
        status={"status": "NotSignedIn"},
        answers={"signIn": {"userCode": "AB12-CD34", "command": finish}},
    )
    done = ran(home, *words, "sign-in")
    assert done.returncode == 1
    assert done.stdout == "enter the code AB12-CD34 at https://github.com/login/device\n"
    assert "tapui: you are not signed in" in done.stderr
    (finished,) = told(Path(words[-1]), "workspace/executeCommand")
    assert finished["params"] == {"command": finish["command"], "arguments": []}


def test_the_doctor_says_whether_it_can_begin(home: Home) -> None:
    def finding(env: dict[str, str]) -> tuple[str, str | None]:
        done = ran(home, "doctor", "--json", env=env)
        found = json.loads(done.stdout)["findings"]
        (one,) = [one for one in found if one["id"] == "language-server"]
        return one["state"], one["command"]

    bare = {"PATH": "/usr/bin:/bin"}
    install = "npm install -g @github/copilot-language-server"
    assert finding(home.env(**bare)) == ("ok", install)
    *_, program = language_server(home)
    named = {"TAPUI_LANGUAGE_SERVER_PROGRAM": program}
    assert finding(home.env(**named)) == ("ok", None)
    state, line = finding(home.env(TAPUI_LANGUAGE_SERVER_PROGRAM="/gone"))
    assert (state, (line or "").endswith("config")) == ("warning", True)


def test_the_gateway_on_a_port(home: Home, gateway: Gateway) -> None:
    words = language_server(home, [{"say": "Hi."}])
    done = ran(home, *words, "--port", str(gateway.port), "agent", "x")
    assert (done.returncode, done.stdout) == (0, "Hi.\n"), done.stderr
