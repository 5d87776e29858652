"""What the README shows is run; what the documents name exists."""

import asyncio
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote

import pytest

from tapui.cli.parser import build
from tapui.settings.loading import SETTINGS
from tests.rig.gateway import Gateway, Home
from tests.rig.peers import Host, Tower
from tests.test_house import FLOORS

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text()
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "tapui").rglob("*.md"))]


WIRE = (ROOT / "tapui/wire/README.md").read_text()
PAGES = ROOT / "tapui/docs"
"""What users read beside the README."""


def snippet(language: str, document: str = README) -> str:
    """Return a document's only code block in a language."""
    found = re.findall(rf"^```{language}\n(.*?)^```$", document, re.DOTALL | re.MULTILINE)
    assert len(found) == 1, f"{len(found)} blocks of {language}"
    return str(found[0])


@pytest.fixture
def gateway(tmp_path: Path) -> Iterator[Gateway]:
    with Gateway(Home(tmp_path), "--no-attach") as running:
        yield running


async def greeted_without_a_name(gateway: Gateway) -> object:
    """Call the tool with arguments that nobody checks; return its result."""
    async with await Tower.hello(gateway.url, gateway.internal_token) as tower:
        call = {"type": "tool.invoke", "id": "i1", "sessionId": "local", "tool": "greet"}
        await tower.send({**call, "args": {}})
        return (await tower.expect("tool.outcome", id="i1")).get("data")


@pytest.mark.machine
def test_provider_by_hand_answers_a_call(gateway: Gateway) -> None:
    code = snippet("python", WIRE)
    lines = [line for line in code.splitlines() if line.strip()]
    assert len(lines) <= 20
    provider = subprocess.Popen(
        [sys.executable, "-c", code], env=gateway.home.env(TAP_GATEWAY=gateway.url)
    )
    try:
        called = gateway.home.run(
            "call", "greet", "--args", '{"name": "Ada"}', "--port", str(gateway.port)
        )
        tries = 0
        while called.returncode and tries < 50:  # until the provider has said hello
            assert provider.poll() is None, "the provider ended"
            tries += 1
            called = gateway.home.run(
                "call", "greet", "--args", '{"name": "Ada"}', "--port", str(gateway.port)
            )
        assert "Hello, Ada!" in called.stdout, called.stderr
        # A model may leave out what the schema requires.
        assert asyncio.run(greeted_without_a_name(gateway)) == "Hello, stranger!"
        assert provider.poll() is None
    finally:
        provider.kill()
        provider.wait()


@pytest.mark.machine
async def test_provider_of_the_readme_wakes_its_session_and_has_a_gate(gateway: Gateway) -> None:
    code = snippet("python")
    assert len([line for line in code.splitlines() if line.strip()]) <= 15
    async with await Host.hello(gateway.url, gateway.internal_token, hooks=True) as host:
        await host.open("s1", foreground=True)
        provider = subprocess.Popen(  # noqa: ASYNC220 - it returns at once
            [sys.executable, "-c", code], env=gateway.home.env(TAP_GATEWAY=gateway.url)
        )
        try:
            await host.expect("tools.changed", sessionId="s1")
            await host.invoke("s1", "remind", {"text": "Look at the build.", "seconds": 0})
            assert (await host.expect("tool.outcome", id="i1"))["data"] == "You will be told."
            assert "Look at the build." in (await host.expect("session.send"))["prompt"]
            asked = {"type": "hook.preToolUse", "sessionId": "s1", "tool": "bash"}
            for command, is_denied in (("--force", True), ("--force-with-lease", False)):
                args = {"command": f"git push {command}"}
                await host.send({**asked, "id": command, "args": args})
                decided = await host.expect("hook.decision", id=command)
                assert (decided["decision"] == "deny") is is_denied
                assert (decided.get("reason") == "use --force-with-lease") is is_denied
        finally:
            provider.kill()
            provider.wait()


def test_every_command_of_the_documents_exists_and_none_is_missing() -> None:
    commands = (PAGES / "commands.md").read_text()
    shown = set(re.findall(r"^\| .*", commands, re.MULTILINE))
    named = {name for row in shown for name in re.findall(r"`tapui ([a-z-]+)", row.split("|")[1])}
    (choices,) = [
        set(action.choices) for action in build()._actions if isinstance(action.choices, dict)
    ]
    assert named == choices


@pytest.mark.parametrize("name", ["README.md", "tapui/README.md"])
def test_ci_runs_the_tests_as_the_documents_do(name: str) -> None:
    document = (ROOT / name).read_text()
    (command,) = re.findall(r"^python3 -m venv .*pytest.*$", document, re.MULTILINE)
    made, entered, install, run = command.split(" && ")
    assert (made, entered) == ("python3 -m venv .venv", ". .venv/bin/activate")
    ci = (ROOT / ".ci/run").read_text().splitlines()
    ran = f'{run} --junitxml="$scratch/tests.xml" "$@" || ended=$?'
    ours = ['"$python" -m venv "$scratch/venv"', '. "$scratch/venv/bin/activate"', install, ran]
    assert [line for line in ci if line in ours] == ours
    assert [line for line in ci if "pip install" in line and "-e" in line] == [install]


LINKS = [
    pytest.param(document, target, id=f"{document.parent.name}-{target}")
    for document in DOCUMENTS
    for target in sorted(set(re.findall(r"\]\((?!https?:)([^)#]+)\)", document.read_text())))
]
ANCHORS = [
    pytest.param(document, path, anchor, id=f"{document.parent.name}-{path}-{anchor}")
    for document in DOCUMENTS
    for path, anchor in sorted(
        set(re.findall(r"\]\((?!https?:)([^)#]*)#([^)]+)\)", document.read_text()))
    )
]
TEXT = "".join(document.read_text() for document in DOCUMENTS)


@pytest.mark.parametrize(("document", "target"), LINKS)
def test_links_lead_somewhere(document: Path, target: str) -> None:
    assert (document.parent / unquote(target)).exists()


@pytest.mark.parametrize(("document", "path", "anchor"), ANCHORS)
def test_anchors_of_links_exist(document: Path, path: str, anchor: str) -> None:
    text = (document.parent / path if path else document).read_text()
    headings = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    made = {re.sub(r"[^\w -]", "", one.lower()).replace(" ", "-") for one in headings}
    assert anchor in made | set(re.findall(r'<a id="([^"]+)">', text))


@pytest.mark.parametrize("named", sorted(set(re.findall(r"`(tests/[\w/.:]+)`", TEXT))))
def test_tests_that_the_documents_name_exist(named: str) -> None:
    """A test is named by its file or folder, or as `file.py::test_name`."""
    path, _, name = named.partition("::")
    assert (ROOT / path).exists()
    if name:
        assert re.search(rf"^(async )?def {name}\(", (ROOT / path).read_text(), re.MULTILINE)


def test_every_promise_names_a_test() -> None:
    promises = (ROOT / "tapui/PROMISES.md").read_text()
    rows = re.findall(r"^\| (?!promise|-)(.+) \| (.+) \|$", promises, re.MULTILINE)
    assert len(rows) >= 50
    assert [row for row in rows if "`tests/" not in row[1]] == []


def test_the_floors_of_the_document_are_those_of_the_house() -> None:
    """Each row of the table has floors next to each other, from the lowest to the highest."""
    table = (ROOT / "tapui/README.md").read_text().partition("| floor |")[2].partition("\n\n")[0]
    rows = [re.findall(r"`(\w+)`", row.split("|")[1]) for row in table.splitlines()[2:]]
    floor_of = {name: at for at, floor in enumerate(FLOORS) for name in floor}
    named = [name for row in rows for name in row]
    assert set(named) == floor_of.keys() - {"__main__"}
    heights = [floor_of[name] for name in named]
    assert heights == sorted(heights)


@pytest.mark.parametrize(
    "path", sorted(set(re.findall(r"`((?:tapui/)?(?:[a-z_]+/)+[a-z_]+\.py)`", TEXT)))
)
def test_modules_that_the_documents_name_exist(path: str) -> None:
    assert (ROOT / path).exists() or (ROOT / "tapui" / path).exists()


@pytest.mark.parametrize("module", sorted(set(re.findall(r"`python -m (tests[\w.]+)", TEXT))))
def test_programs_that_the_documents_name_exist(module: str) -> None:
    path = ROOT / module.replace(".", "/")
    assert path.with_suffix(".py").exists() or (path / "__main__.py").exists()


def test_every_setting_is_in_the_documents_with_its_default() -> None:
    settings = (PAGES / "settings.md").read_text()
    table = settings.partition("| setting |")[2].partition("\n\n")[0]
    rows = dict(re.findall(r"^\| `([a-z0-9.-]+)` \| ([^|]+) \|", table, re.MULTILINE))
    assert rows == {one.name: json.dumps(one.default) for one in SETTINGS.values()}


def test_the_readme_is_short_and_names_every_page() -> None:
    assert len(README.encode()) <= 12_000
    assert len(re.findall(r"!\[", README)) == 3
    named = set(re.findall(r"\]\(tapui/docs/([a-z]+)\.md\)", README))
    assert named == {page.stem for page in PAGES.glob("*.md")}


@pytest.mark.machine
@pytest.mark.parametrize(("document", "count"), [("README.md", 2), ("tapui/docs/rules.md", 6)])
def test_the_rules_of_the_documents_are_in_force_as_they_stand(
    home: Home, document: str, count: int
) -> None:
    home.settle(snippet("toml", (ROOT / document).read_text()))
    done = home.run("config", "--json")
    assert done.returncode == 0, done.stderr
    assert len(json.loads(done.stdout)["rules"]) == count
