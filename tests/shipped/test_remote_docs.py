"""Context7 is asked only once the person allows it, within bounds, and what it says is data."""

import json
import os
import socket
import threading
from pathlib import Path
from typing import Any

import pytest

from tapui.secret import Secret
from tapui.settings.settings import LibraryDocs
from tapui.shipped.docs.answers import provider
from tapui.shipped.docs.remote import Context7, RemoteError, RemoteLibrary
from tapui.shipped.docs.sections import MOST_CHARS
from tapui.shipped.docs.standing import docs_standing
from tests.shipped.docs_places import DocsService, install

FOUND = [
    {"id": "/acme/boats", "title": "Boats", "description": "Boats\x1b[2J float", "trust": 9},
    {"id": "/acme/oars", "name": "Oars"},
]
TEXT = "## Moor\n\nWith two ropes.\x1b[31m\n\n" + "Long paragraph.\n\n" * 1000


def answer(path: str, query: dict[str, str]) -> tuple[int, bytes]:
    if path == "/api/v2/libs/search":
        return 200, json.dumps(
            {"results": FOUND if "boat" in query["libraryName"] else []}
        ).encode()
    return (200, TEXT.encode()) if query["libraryId"] == "/acme/boats" else (404, b"none")


@pytest.fixture
def home(tmp_path: Path) -> Path:
    folder = tmp_path / "home"
    folder.mkdir(mode=0o700)
    (tmp_path / "work").mkdir()
    return folder


def settle(home: Path, **settings: str) -> None:
    lines = "".join(f"{name} = {value}\n" for name, value in settings.items())
    (home / "config.toml").write_text(f"[library-docs]\n{lines}")


def allow(home: Path, service: DocsService, word: str = "always") -> None:
    settle(home, context7=f'"{word}"', address=f'"{service.address}"')


def session_of(home: Path, **environ: str) -> Any:
    given = {"TAPUI_HOME": str(home), **environ}
    return provider(given).test(cwd=str(home.parent / "work"), patience=60)


async def test_both_steps_ask_the_service_once_it_is_allowed(home: Path) -> None:
    with DocsService(answer).serving() as service:
        allow(home, service)
        async with session_of(home, CONTEXT7_API_KEY="key-1") as session:
            found = await session.call("resolve_library_id", libraryName="boats")
            text = (
                await session.call(
                    "get_library_docs", libraryId="/acme/boats", query="moor with ropes"
                )
            ).text
    assert [one["id"] for one in found.data] == ["/acme/boats", "/acme/oars"]
    assert found.data[0]["description"] == f"Boats\\x1b[2J float (from {service.address})"
    assert "With two ropes." in text
    assert "\x1b" not in text
    assert len(text) <= MOST_CHARS
    assert text.endswith("\n…")
    searched, asked = service.asked
    assert searched[0] == "/api/v2/libs/search"
    assert searched[1]["libraryName"] == "boats"
    assert asked[0] == "/api/v2/context"
    assert asked[1]["libraryId"] == "/acme/boats"
    assert asked[1]["query"] == "moor with ropes"
    assert {searched[2], asked[2]} == {"Bearer key-1"}


@pytest.mark.parametrize("word", ["ask", "never"])
async def test_without_consent_nothing_is_asked_and_no_call_waits(home: Path, word: str) -> None:
    with DocsService(answer).serving() as service:
        allow(home, service, word)
        async with session_of(home) as session:
            for _ in range(3):
                found = await session.call("resolve_library_id", libraryName="boats")
                assert found.error_code == "NOT_FOUND"
                assert "Bundled libraries: cucumber, gherkin, java, playwright, selenium." in (
                    found.error or ""
                )
            docs = await session.call("get_library_docs", libraryId="/acme/boats", query="moor")
            assert docs.error_code == "NOT_FOUND"
            assert "no docs available" in (docs.error or "")
            bundled = await session.call("get_library_docs", libraryId="java", query="zzyx")
            shown = [one for one in session.timeline if "docs:" in one]
    assert service.asked == []
    assert (docs_standing(home, LibraryDocs()).asked_at is not None) == (word == "ask")
    how = f'[library-docs] context7 = "always" in {home / "config.toml"}'
    assert (how in (docs.error or "")) == (word == "ask")
    assert (how in bundled.text) == (word == "ask")
    assert bundled.text.startswith("# Java SE (bundled with tapui): an overview")
    assert len(shown) == (1 if word == "ask" else 0)  # the person is shown it once
    assert all(how in one for one in shown)


async def test_a_consent_given_or_taken_holds_at_once(home: Path) -> None:
    with DocsService(answer).serving() as service:
        async with session_of(home) as session:
            for word, asked in (("ask", 0), ("always", 1), ("never", 1)):
                allow(home, service, word)
                await session.call("resolve_library_id", libraryName="boats")
                assert len(service.asked) == asked, word


async def test_settings_that_cannot_be_read_allow_nothing(home: Path) -> None:
    with DocsService(answer).serving() as service:
        async with session_of(home) as session:
            (home / "config.toml").write_text('[library-docs]\ncontext7 = "always"\nwrong')
            found = await session.call("resolve_library_id", libraryName="boats")
    assert found.error_code == "NOT_FOUND"
    assert service.asked == []


async def test_bundled_documents_without_a_word_of_the_question_ask_first(home: Path) -> None:
    def known(_path: str, _query: dict[str, str]) -> tuple[int, bytes]:
        return 200, b"The service's own words."

    with DocsService(known).serving() as service:
        allow(home, service)
        async with session_of(home) as session:
            there = await session.call("get_library_docs", libraryId="pw", query="locator")
            assert service.asked == []
            other = await session.call("get_library_docs", libraryId="pw", query="zzyx")
    assert there.text.startswith("# Playwright (bundled with tapui)")
    assert "The service's own words." in other.text
    assert service.asked[0][1]["libraryId"] == "playwright"


async def test_a_service_that_fails_leaves_what_is_here(home: Path) -> None:
    with DocsService(lambda _path, _query: (500, b"")).serving() as service:
        allow(home, service)
        async with session_of(home) as session:
            found = await session.call("resolve_library_id", libraryName="boats")
            overview = await session.call("get_library_docs", libraryId="java", query="zzyx")
    assert "it answered 500" in (found.error or "")
    assert "Bundled libraries:" in (found.error or "")
    assert overview.text.startswith("# Java SE (bundled with tapui): an overview")
    assert "it answered 500" in overview.text


@pytest.mark.parametrize(
    "library",
    [
        "",
        "  ",
        "a b",
        "../x",
        "a/../b",
        "a/b/c/d/e",
        "a//b",
        "http://x",
        "a?b=c",
        "a\nb",
        "x" * 300,
    ],
)
async def test_an_id_that_is_none_is_refused(home: Path, library: str) -> None:
    with DocsService(answer).serving() as service:
        allow(home, service)
        async with session_of(home) as session:
            found = await session.call("get_library_docs", libraryId=library, query="x")
    assert found.error_code == "INVALID_ARGS"
    assert service.asked == []


async def test_a_folder_of_the_person_is_a_library(home: Path, tmp_path: Path) -> None:
    own = tmp_path / "acme-api"
    (own / "deep").mkdir(parents=True)
    (own / "deep/one.md").write_text("## Orders\n\nAre posted to /orders.\n")
    secret = tmp_path / "secret.md"
    secret.write_text("## Orders\n\nThe password.\n")
    (own / "out.md").symlink_to(secret)
    os.mkfifo(own / "pipe.md")
    with (own / "z.md").open("wb") as file:
        file.truncate(100 * 1024 * 1024)
    settle(home, paths=f'["{own}", "{tmp_path / "gone"}"]')
    async with session_of(home) as session:
        found = await session.call("resolve_library_id", libraryName="Acme API")
        assert [one["id"] for one in found.data] == ["acme-api"]
        docs = await session.call("get_library_docs", libraryId="acme-api", query="orders")
    assert "Are posted to /orders." in docs.text
    assert "password" not in docs.text


async def test_what_is_installed_goes_before_the_service(home: Path) -> None:
    install(home.parent / "work", "boats", {"boats.py": '"""Boats of mine."""\n'})
    with DocsService(answer).serving() as service:
        allow(home, service)
        async with session_of(home) as session:
            found = await session.call("resolve_library_id", libraryName="boats")
            docs = await session.call("get_library_docs", libraryId="pypi/boats", query="boats")
    assert [one["id"] for one in found.data] == ["pypi/boats"]
    assert "Boats of mine." in docs.text
    assert service.asked == []


# The client


def test_an_answer_is_kept_for_a_day(tmp_path: Path) -> None:
    now = [0.0]
    with DocsService(answer).serving() as service:
        client = Context7(service.address, tmp_path, clock=lambda: now[0])
        for seconds, asked in ((0, 1), (23 * 3600, 1), (25 * 3600, 2)):
            (kept,) = [*tmp_path.glob("docs-remote/*")] or [None]
            written = kept.stat().st_mtime if kept else 0
            now[0] = written + seconds
            assert client.libraries("boats")[0] == RemoteLibrary(
                "/acme/boats", "Boats", "Boats\x1b[2J float"
            )
            assert len(service.asked) == asked
    (kept,) = tmp_path.glob("docs-remote/*")
    assert kept.stat().st_mode & 0o777 == 0o600


def test_kept_answers_are_few(tmp_path: Path) -> None:
    with DocsService(lambda _path, _query: (200, b"[]")).serving() as service:
        client = Context7(service.address, tmp_path)
        for number in range(210):
            client.libraries(f"boats{number}")
    assert len([*tmp_path.glob("docs-remote/*")]) == 200


@pytest.mark.parametrize(
    ("status", "body", "why"),
    [
        (302, b"", "it answered 302 (redirects are not followed)"),
        (429, b"", "it answered 429"),
        (200, b"<html>", "its answer is not understood"),
        (200, b"[" * 100_000, "its answer is not understood"),
        (200, b'[{"id": 1}]', "its answer is not understood"),
    ],
)
def test_what_is_no_answer_is_an_error(tmp_path: Path, status: int, body: bytes, why: str) -> None:
    with DocsService(lambda _path, _query: (status, body)).serving() as service:
        client = Context7(service.address, tmp_path, Secret("key"))
        with pytest.raises(RemoteError, match=why.replace("(", r"\(").replace(")", r"\)")):
            client.libraries("boats")
    assert len(service.asked) == 1


def test_a_server_that_drips_is_cut_off(tmp_path: Path) -> None:
    is_over = threading.Event()

    def drip(listener: socket.socket) -> None:
        connection, _ = listener.accept()
        with connection:
            connection.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
            while not is_over.wait(0.05):
                try:
                    connection.sendall(b"x")
                except OSError:
                    return

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=drip, args=(listener,))
        thread.start()
        try:
            client = Context7(
                f"http://127.0.0.1:{listener.getsockname()[1]}", tmp_path, seconds=0.5
            )
            with pytest.raises(RemoteError, match="it does not answer in time"):
                client.context("/acme/boats", "moor")
        finally:
            is_over.set()
            thread.join()


def test_a_service_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    with pytest.raises(RemoteError):
        Context7(f"http://127.0.0.1:{port}", tmp_path).context("/acme/boats", "moor")


def test_an_answer_is_read_to_a_bound(tmp_path: Path) -> None:
    with DocsService(lambda _path, _query: (200, b"x" * 5_000_000)).serving() as service:
        text = Context7(service.address, tmp_path).context("/acme/boats", "moor")
    assert len(text) == 1024 * 1024
