"""`tapui provider` without a gateway: new, run, check, describe, call, mcp."""

import asyncio
import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, StdioServerParameters

import tapui
from tests.rig.gateway import Home, tapui_argv

README = Path(tapui.__file__).parents[1] / "README.md"
GUIDE = Path(tapui.__file__).parent / "provider" / "README.md"
TOOLS = '''
import base64, sys
from dataclasses import dataclass
from tapui.provider import Context, Image, Provider, ToolError
from tests.cli.running import ran

print("printed while it is loaded")
provider = Provider("tools")

@dataclass
class Sum:
    value: int

@provider.tool
def add(a: int, b: int = 0) -> Sum:
    """Add two numbers. Returns the sum.

    Args:
        a: The first.
        b: The second.
    """
    print("printed in a call")
    return Sum(a + b)

@provider.tool
async def fail(how: str, context: Context) -> None:
    """Fail in some way.

    Args:
        how: In which way.
    """
    context.progress(1, 2, "half")
    if how == "told":
        raise ToolError("NO_SUCH_THING", "there is none", retryable=False)
    raise KeyError("secret")

@provider.tool
def picture() -> Image:
    """Draw a picture of one pixel."""
    return Image(base64.b64decode(
        "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNk+A8AAQUBAScY42YAAAAASUVORK5CYII="
    ))
'''


def run(home: Home, *args: str, folder: Path | None = None) -> "subprocess.CompletedProcess[str]":
    """Run an action; what an author's program says on standard error is no fault of tapui's."""
    return subprocess.run(
        tapui_argv("provider", *args),
        cwd=folder,
        env=home.env(),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.fixture
def tools(tmp_path: Path) -> Path:
    path = tmp_path / "tools.py"
    path.write_text(TOOLS)
    return path


def test_a_new_project_runs_its_tests_and_has_nothing_to_mend(home: Home, tmp_path: Path) -> None:
    def tapui(*args: str) -> "subprocess.CompletedProcess[str]":
        return run(home, *args, folder=tmp_path)

    made = tapui("new", "greeter")
    assert (made.returncode, made.stderr) == (0, "")
    assert "wrote greeter/greeter.py\n" in made.stdout
    assert "  cd greeter\n" in made.stdout
    tested = tapui("run", "greeter/test_greeter.py")
    assert tested.returncode == 0, tested.stderr
    assert tested.stderr.rstrip().endswith("OK")
    assert "Ran 2 tests" in tested.stderr
    checked = tapui("check", "greeter/greeter.py")
    assert (checked.returncode, checked.stdout) == (0, "greeter: 2 tools, all fine\n")
    again = tapui("new", "greeter")
    assert (again.returncode, again.stdout) == (2, "")
    assert "greeter is there already" in again.stderr


def test_shells_complete_actions_and_files(home: Home) -> None:
    script = home.run("completion", "bash").stdout
    assert "provider_subparsers=(new add run dev list check describe call mcp)" in script
    assert "provider_dev_pos_0_COMPGEN=_shtab_compgen_files" in script
    assert "_files" in home.run("completion", "zsh").stdout


def test_options_of_a_run_stand_before_or_behind_the_file(home: Home, tmp_path: Path) -> None:
    path = tmp_path / "words.py"
    path.write_text("import sys\nprint(sys.argv[1:])\n")
    before = run(home, "run", "--session", "s 1", "--port", "9", "--prefix=-p", str(path), "more")
    assert before.stdout == "['--session=s 1', '--port=9', '--prefix=-p', 'more']\n"
    behind = run(home, "run", str(path), "--session", "s 1")
    assert behind.stdout == "['--session', 's 1']\n"


def test_a_test_that_fails_is_1(home: Home, tmp_path: Path) -> None:
    path = tmp_path / "test_it.py"
    path.write_text("import unittest\nclass T(unittest.TestCase):\n"
                    "    def test_it(self): self.fail('no')\nunittest.main()\n")  # fmt: skip
    done = run(home, "run", str(path))
    assert done.returncode == 1
    assert "FAILED (failures=1)" in done.stderr


def test_a_test_that_does_not_run_itself_is_1(home: Home, tools: Path) -> None:
    path = tools.with_name("test_tools.py")
    path.write_text("from tools import provider\n\ndef test_it(): assert provider.tools\n")
    done = run(home, "run", str(path))
    assert done.returncode == 1
    assert "test_tools.py has no provider or tool of its own, it imports provider" in done.stderr
    assert "unittest.main()" in done.stderr


@pytest.mark.parametrize(("guide", "name"), [(README, "reminder"), (GUIDE, "greeter")])
def test_the_documents_own_providers_have_nothing_to_mend(
    home: Home, tmp_path: Path, guide: Path, name: str
) -> None:
    samples = re.findall(r"```python\n(.*?)```", guide.read_text(), re.DOTALL)
    (sample,) = [one for one in samples if f'{name} = Provider("{name}")' in one]
    path = tmp_path / f"{name}.py"
    path.write_text(sample)
    done = run(home, "check", str(path))
    assert (done.returncode, done.stdout) == (0, f"{name}: 1 tool, all fine\n")


def test_a_file_gets_the_arguments_behind_it(home: Home, tools: Path) -> None:
    tools.write_text(f"{TOOLS}\nprovider.run()\n")
    done = home.run("provider", "run", str(tools), "--", "--help")
    assert done.returncode == 0
    assert "The provider 'tools'" in done.stdout


def test_what_there_is_to_mend_is_1(home: Home, tmp_path: Path) -> None:
    path = tmp_path / "bad.py"
    path.write_text("from tapui.provider import Provider\np = Provider('bad')\n"
                    "@p.tool\ndef get(x): return x\np.run()\n")  # fmt: skip
    done = home.run("provider", "check", str(path))
    assert (done.returncode, done.stderr) == (1, "")
    lines = done.stdout.splitlines()
    assert lines[0] == "bad.py: it runs when it is imported, also by its tests"
    assert [line.partition(":")[0] for line in lines[2::2]] == ["get", "get", "get.x", "get.x"]
    told = home.run("provider", "check", str(path), "--json").stdout.splitlines()
    assert json.loads(told[-1]).keys() == {"path", "problem", "fix"}


def test_tools_are_described_for_people_and_programs(home: Home, tools: Path) -> None:
    done = home.run("provider", "describe", str(tools))
    assert "add(a, b=0)\n    Add two numbers. Returns the sum.\n" in done.stdout
    assert done.stderr == "printed while it is loaded\n"
    document = home.run("provider", "describe", str(tools), "--markdown").stdout
    assert "| `a` | `integer` | yes |  | The first. |\n" in document
    described = json.loads(home.run("provider", "describe", str(tools), "--json").stdout)
    assert [one["name"] for one in described["tools"]] == ["add", "fail", "picture"]
    assert described["tools"][0]["parameters"]["required"] == ["a"]


@pytest.mark.parametrize(
    ("args", "code", "out", "err"),
    [
        (("add", "a=2", "b=3"), 0, '{\n  "value": 5\n}\n', "printed in a call\n"),
        (("add", "--args", '{"a": 2}'), 0, '{\n  "value": 2\n}\n', ""),
        (("add", "a=two"), 2, "", "a takes integer, and two is none"),
        (("add",), 2, "", "add requires a (integer); give it as a=…, or with --args"),
        (("ad", "a=2"), 1, "", "there is no tool ad; did you mean add?"),
        (("fail", "how=told"), 1, "", "NO_SUCH_THING: there is none"),
        (("fail", "how=told"), 1, "", "1/2 half\n"),
        (("fail", "how=otherwise"), 1, "", "KeyError"),
        (("picture",), 0, '"mimeType": "image/png"', ""),
    ],
)
def test_a_tool_is_called_without_a_gateway(
    home: Home, tools: Path, args: tuple[str, ...], code: int, out: str, err: str
) -> None:
    done = run(home, "call", str(tools), *args)
    assert done.returncode == code, done.stderr
    assert out in done.stdout
    assert "printed" not in done.stdout
    assert err in done.stderr


def test_of_many_tools_people_are_shown_the_first(home: Home, tmp_path: Path) -> None:
    path = tmp_path / "many.py"
    path.write_text(
        "from tapui.provider import Provider\nprovider = Provider('many')\n"
        "for n in range(90):\n    provider.tool(name=f'tool_{n}')(lambda: None)\n"
    )

    def said(action: str, *more: str, code: int = 0) -> list[str]:
        done = home.run("provider", action, str(path), *more)
        assert done.returncode == code, done.stderr
        return done.stdout.splitlines()

    assert (len(said("describe")), said("describe")[-1]) == (63, "and 70 more: --all")
    assert "tool_89()" in said("describe", "--all")
    assert "## `tool_89`" in said("describe", "--markdown")
    found = said("check", code=1)
    assert (len(found), found[-1]) == (41, "and 70 more: --all")
    assert len(said("check", "--all", code=1)) == 180
    assert len(said("check", "--json", code=1)) == 90


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("none.py", None, "none.py is not there"),
        ("notes.txt", "", "is no Python file; its name must end with .py"),
        ("folder/inner.py", "", "is a folder; did you mean"),
        ("broken.py", "1 +", "SyntaxError"),
        ("exits.py", "import sys; sys.exit(4)", "sys.exit(4)"),
        ("empty.py", "", "empty.py has no provider"),
    ],
)
@pytest.mark.parametrize("action", ["check", "run"])
def test_a_file_that_cannot_be_used_is_told_in_a_line(
    home: Home, tmp_path: Path, action: str, name: str, text: str | None, said: str
) -> None:
    if action == "run" and name == "exits.py":
        said = ""  # a program may end as it likes
    path = tmp_path / name
    path.parent.mkdir(exist_ok=True)
    if text is not None:
        path.write_text(text)
    given = path.parent if "/" in name else path
    done = home.run("provider", action, str(given))
    assert done.returncode in (1, 2, 4)
    assert done.stdout == ""
    assert said in done.stderr
    assert "tapui/cli" not in done.stderr


async def test_any_mcp_client_can_use_the_tools(home: Home, tools: Path, tmp_path: Path) -> None:
    command, *args = tapui_argv("provider", "mcp", str(tools))
    server = StdioServerParameters(command=command, args=args, env=home.env(), cwd=tmp_path)
    told: list[Any] = []

    async def progress(done: float, total: float | None, text: str | None) -> None:
        told.append((done, total, text))

    async with asyncio.timeout(30), Client(server) as client:
        listed = await client.list_tools()
        assert [tool.name for tool in listed.tools] == ["add", "fail", "picture"]
        assert listed.tools[0].input_schema["required"] == ["a"]
        added = await client.call_tool("add", {"a": 2, "b": 3})
        assert added.structured_content == {"value": 5}
        failed = await client.call_tool("fail", {"how": "told"}, progress_callback=progress)
        assert failed.is_error
        assert "NO_SUCH_THING: there is none" in failed.content[0].text
        assert told == [(1, 2, "half")]
        wrong = await client.call_tool("add", {"a": "two"})
        assert "INVALID_ARGS" in wrong.content[0].text
        drawn = await client.call_tool("picture", {})
        assert drawn.content[-1].mime_type == "image/png"


def test_a_process_without_a_terminal_adds_no_provider(home: Home, tmp_path: Path) -> None:
    refused = home.run("provider", "add", "memory", "--folder", str(tmp_path), "--yes")
    assert refused.returncode == 1
    assert "has no terminal: add it in a terminal of yours" in refused.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_copy_of_a_provider_that_ships_is_fine_as_it_is(home: Home, tmp_path: Path) -> None:
    made = run(home, "new", "our-ci", "--template", "ci", folder=tmp_path)
    assert (made.returncode, made.stderr) == (0, "")
    assert "wrote our-ci/github_actions.py\n" in made.stdout
    assert "provider run test_our_ci.py" in made.stdout
    tested = run(home, "run", "our-ci/test_our_ci.py", folder=tmp_path)
    assert tested.returncode == 0, tested.stderr
    checked = run(home, "check", "our-ci/our_ci.py", folder=tmp_path)
    assert (checked.returncode, checked.stdout) == (0, "our-ci: 6 tools, all fine\n")


def test_a_copy_of_a_provider_that_ships_passes_its_test(home: Home, tmp_path: Path) -> None:
    done = run(home, "new", "notes", "--template", "memory", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "provider run test_notes.py" in done.stdout
    done = run(home, "run", "test_notes.py", folder=tmp_path / "notes")
    assert done.returncode == 0, done.stderr
    wrong = run(home, "new", "x", "--template", "memory", "--lang", "javascript", folder=tmp_path)
    assert wrong.returncode == 2
    page = run(home, "new", "page", "--template", "browser", folder=tmp_path)
    assert page.returncode == 0
    assert (tmp_path / "page/tap-connect.js").exists()
