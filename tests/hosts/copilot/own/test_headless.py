"""Sessions of our own: the folders that are trusted, the provider, who holds a session."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tapui.hosts.copilot.finding.discovery import holders
from tapui.hosts.copilot.finding.trusted_folders import is_trusted
from tapui.hosts.copilot.install.own_files import is_experimental
from tapui.hosts.copilot.own.own_session import (
    StartError,
    checked_effort,
    checked_folder,
    checked_model,
    checked_name,
    headers_of,
    model_of,
    provider_of,
    with_provider,
    with_telemetry,
)
from tapui.wire.steering import SessionStart


def trusts(home: Path, *folders: Any, key: str = "trustedFolders") -> None:
    text = f"// This file is managed automatically.\n{json.dumps({key: folders})}\n"
    (home / "config.json").write_text(text)


@pytest.mark.parametrize("key", ["trustedFolders", "trusted_folders"])
def test_a_folder_is_trusted_with_all_below_it(tmp_path: Path, key: str) -> None:
    work = tmp_path / "work"
    (work / "sub").mkdir(parents=True)
    (tmp_path / "workshop").mkdir()
    trusts(tmp_path, str(work), key=key)
    assert is_trusted(tmp_path, str(work))
    assert is_trusted(tmp_path, str(work / "sub"))
    assert not is_trusted(tmp_path, str(tmp_path / "workshop"))
    assert not is_trusted(tmp_path, str(tmp_path))


@pytest.mark.parametrize(
    "form",
    [
        "\ufeff{{{list}}}", "// of the CLI\n{{{list}}} // here", "/* all\nof it */ {{{list}}}",
        '{{{list},}}', "{{ // why\r\n{list} /* , */ }}\r\n", '{{"a": "// none", {list}}}',
    ],
)  # fmt: skip
def test_the_clis_list_is_read_in_the_forms_that_editors_leave(tmp_path: Path, form: str) -> None:
    listed = f'"trustedFolders": [{json.dumps(str(tmp_path))}, ]'
    (tmp_path / "config.json").write_bytes(form.format(list=listed).encode())
    assert is_trusted(tmp_path, str(tmp_path))
    settings = form.format(list='"experimental": true')
    (tmp_path / "settings.json").write_bytes(settings.encode())
    assert is_experimental(tmp_path)
    (tmp_path / "settings.json").write_bytes(settings.removeprefix("\ufeff").encode("utf-16"))
    assert is_experimental(tmp_path)


def test_links_do_not_widen_what_is_trusted(tmp_path: Path) -> None:
    work, other = tmp_path / "work", tmp_path / "other"
    work.mkdir()
    other.mkdir()
    (work / "out").symlink_to(other)
    trusts(tmp_path, str(work))
    assert not is_trusted(tmp_path, str(work / "out"))
    assert not is_trusted(tmp_path, f"{work}/../other")


@pytest.mark.parametrize(
    "text", ["", "[]", "{", '{"trustedFolders": "/"}', '{"trustedFolders": [7]}']
)
def test_a_list_that_cannot_be_read_trusts_nothing(tmp_path: Path, text: str) -> None:
    (tmp_path / "config.json").write_text(text)
    assert not is_trusted(tmp_path, "/")
    assert not is_trusted(tmp_path / "nowhere", "/")


def test_a_provider_is_what_the_environment_says() -> None:
    assert provider_of({}) is None
    assert provider_of({"COPILOT_PROVIDER_API_KEY": "k"}) is None
    url = {"COPILOT_PROVIDER_BASE_URL": "http://127.0.0.1:1/v1"}
    plain = provider_of(url)
    assert plain is not None
    assert (plain["type"], plain["wireApi"]) == ("openai", "completions")
    assert len(plain["apiKey"]) > 20  # the CLI masks it wherever it occurs
    keyed = provider_of({**url, "COPILOT_PROVIDER_API_KEY": "secret", "COPILOT_MODEL": "m"})
    assert keyed is not None
    assert keyed["apiKey"] == "secret"
    azure = provider_of(
        {
            **url,
            "COPILOT_PROVIDER_TYPE": "azure",
            "COPILOT_PROVIDER_AZURE_API_VERSION": "v",
            "COPILOT_PROVIDER_BEARER_TOKEN": "t",
            "COPILOT_PROVIDER_MAX_PROMPT_TOKENS": "1000",
        }
    )
    assert azure is not None
    assert azure["azure"] == {"apiVersion": "v"}
    assert (azure["bearerToken"], azure["maxPromptTokens"]) == ("t", 1000)
    assert "apiKey" not in azure
    command = provider_of({**url, "COPILOT_PROVIDER_API_KEY_COMMAND": "pass show"})
    assert command is not None
    assert (command["apiKeyCommand"], command.get("apiKey")) == ("pass show", None)
    assert (model_of({}), model_of({"COPILOT_MODEL": "m"})) == (None, "m")


def test_the_environment_goes_before_the_settings() -> None:
    provider = {"url": "http://127.0.0.1:1/v1", "kind": "anthropic", "key": "secret"}
    given = {**provider, "headers": "X-Tenant: a:b", "model": "m"}
    found = with_provider({"HOME": "/h"}, **given)
    assert provider_of(found) == {
        "type": "anthropic",
        "baseUrl": "http://127.0.0.1:1/v1",
        "apiKey": "secret",
        "headers": {"X-Tenant": "a:b"},
    }
    assert (model_of(found), found["HOME"]) == ("m", "/h")
    own = {"COPILOT_PROVIDER_BASE_URL": "http://127.0.0.1:2/v1", "COPILOT_MODEL": "mine"}
    assert with_provider(own, **given) == own
    assert with_provider({}, url="", kind="openai", key="k", headers="A: b", model="") == {}


def test_headers_are_lines_as_the_cli_has_them() -> None:
    assert headers_of("X-Key: a\nX-Tenant : b: c\\nX-Empty:\n: none\nno header\n") == {
        "X-Key": "a",
        "X-Tenant": "b: c",
        "X-Empty": "",
    }


def test_an_effort_that_there_is_not_is_refused() -> None:
    with pytest.raises(StartError, match="there is no effort huge; there are: none, minimal, low"):
        checked_effort(SessionStart("x", "/", effort="huge"))
    checked_effort(SessionStart("x", "/", effort="high"))
    checked_effort(SessionStart("x", "/"))


def test_a_provider_without_a_model_is_refused() -> None:
    environ = {"COPILOT_PROVIDER_BASE_URL": "http://127.0.0.1:1/v1"}
    with pytest.raises(StartError, match="needs a model"):
        checked_model(SessionStart("x", "/"), environ)
    checked_model(SessionStart("x", "/", model="m"), environ)
    checked_model(SessionStart("x", "/"), {**environ, "COPILOT_MODEL": "m"})


@pytest.mark.parametrize("name", ["", " x", "x ", 'a "b"', "a\nb"])
def test_a_name_that_the_cli_would_refuse(name: str) -> None:
    with pytest.raises(StartError):
        checked_name(name)


def test_a_folder_must_be_one(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path)
    assert checked_folder(str(tmp_path / "link")) == str(tmp_path)
    for wrong in (str(tmp_path / "none"), "/\0"):
        with pytest.raises(StartError, match="is no folder"):
            checked_folder(wrong)


@pytest.mark.parametrize("given", ["", ".", "work"])
def test_a_folder_is_never_where_the_host_happens_to_run(given: str) -> None:
    with pytest.raises(StartError):
        checked_folder(given)


def test_who_holds_a_session(tmp_path: Path) -> None:
    folder = tmp_path / "session-state" / "s1"
    folder.mkdir(parents=True)
    assert holders(tmp_path, "s1") == holders(tmp_path, "s2") == []
    (folder / f"inuse.{os.getpid()}.lock").write_text("")
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    (folder / f"inuse.{gone.pid}.lock").write_text("")
    assert holders(tmp_path, "s1") == [os.getpid()]
    os.utime(folder / f"inuse.{os.getpid()}.lock", (0, 0))  # of a process with the same id
    assert holders(tmp_path, "s1") == []


OFF: dict[str, Any] = {
    "endpoint": "", "exporter": "", "file": "", "source": "", "captures": False,
}  # fmt: skip


def test_without_an_endpoint_and_a_file_the_environment_is_the_persons() -> None:
    own = {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://mine", "PATH": "/bin"}
    assert with_telemetry(own, **(OFF | {"captures": True, "source": "x"})) == own


@pytest.mark.parametrize(
    ("given", "kind"),
    [
        ({"endpoint": "http://h"}, "otlp-http"),
        ({"file": "/f"}, "file"),
        ({"endpoint": "http://h", "file": "/f"}, "otlp-http"),
        ({"endpoint": "http://h", "file": "/f", "exporter": "file"}, "file"),
    ],
)
def test_the_cli_exports_its_spans_as_the_settings_say(given: dict[str, str], kind: str) -> None:
    own = {"OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT": "true"}
    found = with_telemetry(own, **(OFF | given))
    assert found["COPILOT_OTEL_ENABLED"] == "true"
    assert found["COPILOT_OTEL_EXPORTER_TYPE"] == kind
    assert found["OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"] == "false"
    assert found.get("OTEL_EXPORTER_OTLP_ENDPOINT") == given.get("endpoint")
    assert found.get("COPILOT_OTEL_FILE_EXPORTER_PATH") == given.get("file")


def test_the_variables_are_those_that_the_sdk_sets() -> None:
    import copilot.client

    source = Path(copilot.client.__file__).read_text("utf-8")
    every = OFF | {"endpoint": "http://h", "file": "/f", "source": "s", "captures": True}
    for name in with_telemetry({}, **every):
        assert f'env["{name}"]' in source, name
