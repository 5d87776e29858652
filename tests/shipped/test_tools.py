"""The provider `tools`: what `execute` is given and returns, and which files it loads."""

import base64
from pathlib import Path
from typing import Any

import pytest

from tapui.consents.emitters import EmitterConsents
from tapui.emitters.config.reading import read
from tapui.provider import Image, ToolError
from tapui.shipped.tool_results import result_of
from tapui.shipped.tools import ConsentedFiles, FolderTools, load
from tests.folder_tools.folder import SAMPLES, folder_with, source
from tests.rig.waiting import until_async

TEXT = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNk+A8AAQUBAScY42YAAAAASUVORK5CYII="
)
PIXEL = base64.b64decode(TEXT)


@pytest.mark.parametrize(
    ("returned", "expected"),
    [
        ([{"type": "text", "value": "one"}, {"type": "text", "value": "two"}], "one\ntwo"),
        ([], ""),
        ("a text", "a text"),
        ({"result": "success"}, "success"),
    ],
)
def test_a_documented_result_is_a_text(returned: object, expected: str) -> None:
    assert result_of(returned, "/w") == expected


def test_an_image_is_a_file_with_the_texts_as_its_note() -> None:
    parts = [
        {"type": "image", "data": TEXT, "mimeType": "image/png"},
        {"type": "text", "value": "a lawn"},
        {"type": "image", "path": "b.png"},
    ]
    found = result_of(parts, "/w")
    assert found == Image(PIXEL, "image/png", "a lawn\n(1 more image: a result has one)")
    assert result_of(parts[2:], "/w") == Image(Path("/w/b.png"))


@pytest.mark.parametrize(
    ("returned", "told"),
    [
        ({"result": "error", "message": "no such file"}, "no such file"),
        ({"result": "error"}, "error"),
        ({"result": "fine"}, "the tool returned {'result': 'fine'};"),
        (None, "the tool returned nothing;"),
        (5, "the tool returned int;"),
        ([{"type": "text"}], "the tool returned as part 0 {'type': 'text'};"),
        (["x"], "the tool returned as part 0 'x';"),
        ([{"type": "image"}], 'the tool returned as part 0 an image without "path" or "data";'),
        ([{"type": "image", "data": "?"}], "an image whose data is no base64;"),
    ],
)
def test_an_error_and_what_is_no_result_are_errors_that_say_why(
    returned: object, told: str
) -> None:
    with pytest.raises(ToolError) as raised:
        result_of(returned, "/w")
    assert raised.value.code == "INTERNAL"
    assert told in raised.value.text


BODIES = {
    "place": "return ctx.workspace_root",
    "given": "return str(tool_input)",
    "ids": "return f'{bool(ctx.session_id)} {bool(ctx.tool_call_id)} {ctx.cancelled()}'",
    "writes": "ctx.sync_file_to_server('a.txt', 'A'); return {'result': 'success'}",
    "opens": "ctx.open_document('file:///a', 'python', 'x'); return {'result': 'success'}",
    "tells": "ctx.progress('half'); ctx.log('a line'); return 'told'",
    "fails": "raise KeyError('what')",
    "refuses": "return {'result': 'error', 'message': 'not now'}",
    "leaves": "raise SystemExit(3)",
}


@pytest.fixture
def tools(tmp_path: Path) -> FolderTools:
    files = {name: source(name, body=body) for name, body in BODIES.items()}
    files["waits"] = source("waits").replace("def execute", "async def execute")
    return load(folder_with(tmp_path, **files))


async def test_execute_is_called_with_the_arguments_and_the_context(tools: FolderTools) -> None:
    async with tools.provider.test() as session:
        assert (await session.call("place")).data == tools.folder
        assert (await session.call("given", a=1, b=["x"])).data == "{'a': 1, 'b': ['x']}"
        assert (await session.call("ids")).data == "True True False"
        assert (await session.call("waits")).data == "done"
        assert (await session.call("writes")).data == "success"
        assert (await session.call("opens")).data == "success"
        told = await session.call("tells")
        assert (told.data, told.progress) == ("told", ["half"])
        lines = [(one.level, one.event) for one in session.pushes]
        assert lines == [
            ("keep", "wrote a.txt"),
            ("surface", "open file:///a"),
            ("surface", "a line"),
        ]


async def test_an_exception_is_an_error_with_its_text_alone(
    tools: FolderTools, capfd: pytest.CaptureFixture[str]
) -> None:
    async with tools.provider.test() as session:
        failed = await session.call("fails")
        assert (failed.error_code, failed.error) == ("INTERNAL", "KeyError: 'what'")
        assert (await session.call("refuses")).error == "not now"
    assert 'raise KeyError("what")' in capfd.readouterr().err.replace("'", '"')


@pytest.mark.expects_error_log("the tool leaves failed")
async def test_one_that_ends_the_program_ends_its_call_alone(tools: FolderTools) -> None:
    async with tools.provider.test() as session:
        assert (await session.call("leaves")).error_code == "INTERNAL"
        assert (await session.call("place")).data == tools.folder


async def test_an_own_context_class_is_given_with_what_is_tapuis(tmp_path: Path) -> None:
    base = (
        "import dataclasses\nfrom collections.abc import Callable\n\n@dataclasses.dataclass\n"
        "class ToolContext:\n    workspace_root: str\n    sync_file_to_server: Callable\n"
        "    open_document: Callable\n    def own(self): return 'own'\n"
    )
    body = "return f'{ctx.own()} {bool(ctx.session_id)}'"
    head = "from tools._base import ToolContext"
    found = load(folder_with(tmp_path, _base=base, one=source("one", head, body)))
    async with found.provider.test() as session:
        assert (await session.call("one")).data == "own True"


async def test_the_documents_samples_run_unchanged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    samples = {one.name.partition(".")[0]: one.read_text() for one in SAMPLES.iterdir()}
    found = load(folder_with(tmp_path / "repo", **samples))
    async with found.provider.test() as session:

        async def call(tool: str, **given: Any) -> object:
            return (await session.call(tool, **given)).data

        assert await call("your_tool_name", param1="test") == "Processed test"
        assert await call("get_changed_files") == "No changed files found."
        assert await call("memory", command="list") == "No memories saved yet."
        said = await call("memory", command="save", path="a/../n.md", content="x")
        assert said == "Saved memory 'n.md'."
        assert await call("memory", command="list") == "n.md"
    assert (tmp_path / ".copilot-cli/memories/n.md").read_text() == "x"


def allow(state: Path, folder: str) -> None:
    found = read(folder)
    entry = found.provider("tools")
    assert entry is not None
    consents = EmitterConsents(state)
    proposal = consents.standing(found, entry)
    consents.allow(proposal)  # type: ignore[arg-type]  # it is not allowed yet


def names(found: FolderTools) -> list[str]:
    return sorted(one.name for one in found.provider.tools)


async def test_nothing_is_imported_before_it_is_allowed(tmp_path: Path) -> None:
    head = f"import pathlib\npathlib.Path({str(tmp_path / 'ran')!r}).touch()"
    folder = folder_with(tmp_path / "repo", one=source("one", head))
    found = load(folder, ConsentedFiles(tmp_path / "state"))
    assert (names(found), found.is_held, (tmp_path / "ran").exists()) == ([], True, False)
    allow(tmp_path / "state", folder)
    found.look()
    assert (names(found), found.is_held, (tmp_path / "ran").exists()) == (["one"], False, True)


async def test_a_changed_file_waits_and_the_tools_of_before_go_on(tmp_path: Path) -> None:
    state, head = tmp_path / "state", "import pathlib, time"
    body = (
        f"\n    pathlib.Path({str(tmp_path)!r}, 'begun').touch()"
        f"\n    while not pathlib.Path({str(tmp_path)!r}, 'go').exists(): time.sleep(0.01)"
        "\n    return 'before'"
    )
    folder = folder_with(tmp_path / "repo", one=source("one", head, body))
    allow(state, folder)
    found = load(folder, ConsentedFiles(state))
    async with found.provider.test() as session:
        call = session.start("one")
        await until_async((tmp_path / "begun").exists, what=lambda: "the call has begun")
        folder_with(tmp_path / "repo", one=source("one", body="return 'after'"))
        found.look()
        assert found.is_held
        allow(state, folder)
        found.look()
        assert not found.is_held
        assert (await session.call("one")).data == "after"
        (tmp_path / "go").touch()
        assert (await call.result).data == "before"


def test_files_that_are_gone_are_no_tools_any_more(tmp_path: Path) -> None:
    folder = folder_with(tmp_path, one=source("one"), two=source("two"))
    found = load(folder)
    assert names(found) == ["one", "two"]
    (tmp_path / "tools/one.py").unlink()
    found.look()
    assert names(found) == ["two"]
    (tmp_path / "tools/two.py").unlink()
    (tmp_path / "tools").rmdir()
    found.look()
    assert names(found) == []


def test_a_timeout_is_the_schemas_or_two_minutes(tmp_path: Path) -> None:
    folder = folder_with(tmp_path, one=source("one"), two=source("two", timeout=500))
    found = {one.name: one.timeout for one in load(folder).provider.tools}
    assert found == {"one": 120_000, "two": 500}
