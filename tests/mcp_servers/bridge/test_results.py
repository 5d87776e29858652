"""What a server answers, as a result of the provider."""

import base64
from pathlib import Path
from typing import Any

import mcp_types as types
import pytest

from tapui.mcp_servers.bridge.results import MAX_KEPT, ResultFiles, result_of
from tapui.provider import File, Image, ToolError

PNG = b"\x89PNG\r\n\x1a\n" + bytes(20)


def text(told: str) -> types.TextContent:
    return types.TextContent(text=told)


def coded(data: bytes) -> str:
    return base64.b64encode(data).decode()


def image(data: bytes = PNG, kind: str = "image/png") -> types.ImageContent:
    return types.ImageContent(data=coded(data), mime_type=kind)


def answer(*content: types.ContentBlock, **more: Any) -> types.CallToolResult:
    return types.CallToolResult(content=list(content), **more)


@pytest.fixture
def files(tmp_path: Path) -> ResultFiles:
    return ResultFiles(tmp_path / "files")


@pytest.mark.parametrize(
    ("given", "result"),
    [
        (answer(text("hi")), "hi"),
        (answer(text("a"), text("b")), "a\n\nb"),
        (answer(), ""),
        (answer(text('{"a": 1}'), structured_content={"a": 1}), {"a": 1}),
        (answer(text("hi"), structured_content={"content": "hi"}), "hi"),
        (answer(text("hi"), structured_content={"result": "hi"}), "hi"),
        (answer(text("2"), structured_content={"result": 2}), 2),
        (answer(text("true"), structured_content={"result": True}), True),
        (answer(text("True"), structured_content={"result": True}), True),
        (answer(text("null"), structured_content={"result": None}), None),
        (answer(text("[1, 2]"), structured_content={"result": [1, 2]}), [1, 2]),
        (answer(text("1"), text("2"), structured_content={"result": [1, 2]}), [1, 2]),
        (answer(text("a"), text("b"), structured_content={"result": ["a", "b"]}), ["a", "b"]),
        (answer(text('{"a":1}'), structured_content={"result": [{"a": 1}]}), [{"a": 1}]),
        (answer(structured_content={"result": []}), []),
        (answer(text("3"), structured_content={"result": 2}), '3\n\n{"result":2}'),
        (answer(text("2"), structured_content={"result": 2, "n": 1}), '2\n\n{"result":2,"n":1}'),
        (answer(structured_content={"a": [1]}), {"a": [1]}),
        (
            answer(text("hi"), types.ImageContent(data="no base64!", mime_type="image/png")),
            "hi\n\n[left out: image/png that is no base64]",
        ),
        (answer(text("three"), structured_content={"sum": 3}), 'three\n\n{"sum":3}'),
        (
            answer(types.ResourceLink(name="r", uri="file:///r", size=3, description="A file.")),
            "r: file:///r (3 bytes)\nA file.",
        ),
        (
            answer(
                types.EmbeddedResource(
                    resource=types.TextResourceContents(uri="demo://1", text="inside")
                )
            ),
            "[demo://1]\ninside",
        ),
    ],
)
def test_text_and_structured_content(
    given: types.CallToolResult, result: object, files: ResultFiles
) -> None:
    assert result_of(given, files) == result


def test_an_image_is_the_result_and_all_text_goes_with_it(files: ResultFiles) -> None:
    audio = types.AudioContent(data=coded(b"sound"), mime_type="audio/wav")
    found = result_of(answer(text("one"), audio, image(), image(PNG + b"2"), text("two")), files)
    assert isinstance(found, Image)
    assert (found.data, found.mime_type) == (PNG, "image/png")
    first, second, *others = (found.note or "").split("\n\n")
    assert (first, second) == ("one", "two")
    kinds = ["(audio/wav, 5 bytes)", f"(image/png, {len(PNG) + 1} bytes)"]
    assert [other.partition(" (")[2].join(("(", "")) for other in others] == kinds
    written = [Path(other.removeprefix("Also: ").partition(" (")[0]) for other in others]
    assert [path.read_bytes() for path in written] == [b"sound", PNG + b"2"]
    files.clear()
    assert not any(path.exists() for path in written)


def test_a_sound_or_another_file_is_a_file(files: ResultFiles) -> None:
    blob = types.BlobResourceContents(uri="demo://x.gz", blob=coded(b"zip"), mime_type="x/gz")
    found = result_of(answer(types.EmbeddedResource(resource=blob)), files)
    assert isinstance(found, File)
    assert (Path(found.path).read_bytes(), found.mime_type) == (b"zip", "x/gz")
    assert found.note == "[demo://x.gz]"


def test_long_text_beside_an_image_is_put_into_a_file(files: ResultFiles) -> None:
    found = result_of(answer(text("x" * 50_000), image()), files)
    assert isinstance(found, Image)
    place = (found.note or "").rpartition("The whole text: ")[2]
    assert Path(place).read_text() == "x" * 50_000
    assert len(found.note or "") <= 16_384


@pytest.mark.parametrize(
    ("given", "code", "words"),
    [
        (answer(text("no such city"), is_error=True), "TOOL_FAILED", "no such city"),
        (answer(is_error=True), "TOOL_FAILED", "the server says that it failed"),
        (answer(image(bytes(21 * 2**20))), "PAYLOAD_TOO_LARGE", "21.0 MiB"),
        (answer(text("x" * (21 * 2**20))), "PAYLOAD_TOO_LARGE", "21.0 MiB"),
    ],
)
def test_what_failed_or_cannot_be_taken_is_an_error(
    given: types.CallToolResult, code: str, words: str, files: ResultFiles
) -> None:
    with pytest.raises(ToolError) as failed:
        result_of(given, files)
    assert failed.value.code == code
    assert words in failed.value.text


def test_files_beside_results_do_not_pile_up(files: ResultFiles, tmp_path: Path) -> None:
    for number in range(MAX_KEPT + 5):
        files.write(str(number).encode(), "text/plain")
    kept = [path.read_text() for path in (tmp_path / "files").iterdir()]
    assert len(kept) == MAX_KEPT
    assert "0" not in kept
    assert str(MAX_KEPT + 4) in kept
