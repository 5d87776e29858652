"""Parts of the copilot host by themselves: tools and results, permissions, the ledger, routing."""

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest
from copilot import session_events

from tapui.hosts.copilot.asks.permissions import describe
from tapui.hosts.copilot.session.ledger import Ledger
from tapui.hosts.copilot.session.toolset import needs_no_prompt
from tapui.hosts.copilot.uplink import HostTiming
from tapui.hosts.for_models import text_for_model
from tapui.projection.requests.permissions import PERMISSIONS
from tapui.wire.codec import raw
from tapui.wire.host import (
    HostHello,
    HostLooked,
    ModeResult,
    ModeSet,
    SessionOpen,
    SessionsUnattached,
)
from tapui.wire.message import FileResult, OfferedTool, ToolOutcome
from tests.hosts.conftest import Pretender
from tests.hosts.gateway import GatewayPlayed, HostThread
from tests.rig.waiting import HUNG, until


def offered(name: str, provider: str, *, read_only: bool | None = None) -> OfferedTool:
    return OfferedTool(name, "…", raw({}), provider, read_only)


@pytest.mark.parametrize(
    ("tool", "free"),
    [
        (offered("tap_list_streams", "tap", read_only=True), True),
        (offered("tap_set_session_mode", "tap"), True),
        (offered("tap_post", "tap"), False),
        (offered("tap_post", "tap", read_only=False), False),
        (offered("greet", "greeter"), False),
        (offered("greet", "greeter", read_only=True), False),
        (offered("tap_set_session_mode", "greeter"), False),
    ],
)
def test_only_tapuis_own_harmless_tools_skip_the_prompt(tool: OfferedTool, free: bool) -> None:
    assert needs_no_prompt(tool) is free


@pytest.mark.parametrize(
    ("outcome", "text", "ok"),
    [
        (ToolOutcome("c", data=raw("hällo\nbob")), "hällo\nbob", True),
        (ToolOutcome("c", data=msgspec.Raw(b' "quoted" ')), "quoted", True),
        (ToolOutcome("c", data=msgspec.Raw(b'{"a":\n [1, 2]}')), '{"a":[1,2]}', True),
        (ToolOutcome("c", data=raw(None)), "null", True),
        (
            ToolOutcome("c", file=FileResult("/tmp/x.png", "image/png", 12)),
            "The result is in the file /tmp/x.png (image/png, 12 bytes)",
            True,
        ),
        (
            ToolOutcome("c", file=FileResult("/tmp/x.png", "image/png", 12, note="A red dot.")),
            "The result is in the file /tmp/x.png (image/png, 12 bytes)\n\nA red dot.",
            True,
        ),
        (ToolOutcome("c", error="gone", error_code="NOT_FOUND"), "NOT_FOUND: gone", False),
        (
            ToolOutcome("c", error="slow", error_code="TIMEOUT", retryable=True),
            "TIMEOUT: slow It may work if it is called again.",
            False,
        ),
    ],
)
def test_outcome_as_the_model_reads_it(outcome: ToolOutcome, text: str, ok: bool) -> None:
    assert text_for_model(outcome) == (text, ok)


def test_permission_shows_the_whole_command() -> None:
    command = "echo one; rm -rf two\n" * 200
    shown = describe(
        {
            "kind": "shell",
            "fullCommandText": command,
            "intention": "tidy",
            "canOfferSessionApproval": True,
            "commands": [{"identifier": "echo", "readOnly": True}],
            "commandSegments": [{"identifier": "echo", "fullCommandText": "echo one"}],
            "possiblePaths": ["two"],
            "possibleUrls": [],
            "hasWriteFileRedirection": False,
            "warning": "it deletes",
        }
    )
    assert shown == {
        "kind": "shell",
        "fullCommandText": command,
        "intention": "tidy",
        "commandSegments": [{"identifier": "echo", "fullCommandText": "echo one"}],
        "hasWriteFileRedirection": False,
        "warning": "it deletes",
    }


def test_permission_has_one_word_for_a_kind() -> None:
    assert describe({"kind": "commands", "fullCommandText": "ls"})["kind"] == "shell"


@pytest.mark.parametrize(
    ("request_", "key", "value"),
    [
        ({"kind": "write", "fileName": "a", "diff": "+1", "newFileContents": "1"}, "diff", "+1"),
        ({"kind": "write", "fileName": "a", "diff": "", "newFileContents": "1"}, None, None),
        ({"kind": "url", "url": "https://example.org/?q=1"}, "url", "https://example.org/?q=1"),
        ({"kind": "path", "paths": ["/a", "/b"], "accessKind": "read"}, "path", "/a\n/b"),
        ({"kind": "custom-tool", "toolName": "greet", "args": {"n": 1}}, "args", {"n": 1}),
    ],
)
def test_permission_shows_what_it_is_about(
    request_: dict[str, Any], key: str | None, value: Any
) -> None:
    shown = describe(request_)
    if key is None:
        assert shown["newFileContents"] == "1"
    else:
        assert shown[key] == value
        assert "newFileContents" not in shown


@pytest.mark.parametrize(
    ("request_", "wish"),
    [
        (
            {
                "kind": "extension-permission-access",
                "extensionName": "user:tapui",
                "capabilities": ["skip tool permission prompts", "register hooks"],
            },
            "tapui's own extension, user:tapui: skip tool permission prompts, register hooks",
        ),
        (
            {
                "kind": "extension-permission-access",
                "extensionName": "project:tapui",
                "capabilities": ["handle permission requests"],
            },
            "extension project:tapui: handle permission requests",
        ),
        (
            {
                "kind": "extension-env-access",
                "extensionName": "user:x",
                "environmentVariables": ["GH_TOKEN", "A"],
            },
            "extension user:x: read the variables GH_TOKEN, A",
        ),
        (
            {"kind": "extension-management", "operation": "reload", "extensionName": "user:x"},
            "reload extension user:x",
        ),
        ({"kind": "extension-management", "operation": "scaffold"}, "scaffold extensions"),
        ({"kind": "workflow", "operation": "run", "name": "ship"}, "run the workflow ship"),
    ],
)
def test_permission_without_a_thing_says_in_words_what_is_wanted(
    request_: dict[str, Any], wish: str
) -> None:
    assert describe({**request_, "toolCallId": "t"}) == {
        "kind": request_["kind"],
        "toolCallId": "t",
        "wish": wish,
    }


def test_permission_of_an_unknown_form_is_shown_with_all_its_fields() -> None:
    odd = {"kind": "extension-permission-access", "capabilities": "all", "extensionName": "x"}
    assert describe(odd) == odd


def test_permission_says_where_a_file_really_is(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "there")
    shown = describe({"kind": "write", "fileName": f"{tmp_path}/link/a", "resolvedPath": "/said"})
    assert shown["resolvedPath"] == f"{tmp_path}/there/a"
    assert "resolvedPath" not in describe({"kind": "read", "path": "a"})
    assert "resolvedPath" not in describe({"kind": "read", "path": "/a\0"})


def test_ledger_is_on_disk_before_a_call_and_gone_after_the_last(tmp_path: Path) -> None:
    folder = tmp_path / "files" / "tap"
    ledger = Ledger(folder)
    assert not folder.exists()
    ledger.begin("r1")
    ledger.begin("r2")
    (file,) = folder.iterdir()
    assert file.read_text().splitlines()[1:] == ["+r1", "+r2"]
    assert file.stat().st_mode & 0o777 == 0o600
    assert folder.stat().st_mode & 0o777 == 0o700
    ledger.end("r1")
    assert file.read_text().splitlines()[1:] == ["+r1", "+r2", "-r1"]
    ledger.end("r2")
    assert not file.exists()


def test_ledger_inherits_from_the_killed_and_not_from_the_living(tmp_path: Path) -> None:
    program = (
        "import pathlib, sys, time\n"
        "from tapui.hosts.copilot.session.ledger import Ledger\n"
        "ledger = Ledger(pathlib.Path(sys.argv[1]))\n"
        "ledger.begin('r1'); ledger.begin('r2'); ledger.end('r1')\n"
        "print('written', flush=True); sys.stdin.read()\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program, str(tmp_path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "written\n"
        assert Ledger(tmp_path).inherited() == {}
        other.kill()
        other.wait(HUNG)
        assert list(Ledger(tmp_path).inherited().values()) == [{"r2"}]


def test_ledger_refuses_a_planted_link(tmp_path: Path) -> None:
    target = tmp_path / "target"
    target.write_text("untouched")
    folder = tmp_path / "tap"
    folder.mkdir()
    (folder / f"unanswered.{os.getpid()}.calls").symlink_to(target)
    (folder / "unanswered.1.calls").symlink_to(target)
    ledger = Ledger(folder)
    assert ledger.inherited() == {}
    ledger.begin("r1")
    ledger.close()
    assert target.read_text() == "untouched"


def test_host_introduces_itself_and_answers_for_unknown_sessions(copilot_home: Path) -> None:
    gateway = GatewayPlayed()
    with HostThread(gateway, copilot_home, discover=False):
        hello = gateway.wait(HostHello)
        assert (hello.name, hello.kind, hello.protocol_version) == ("copilot", "copilot", 2)
        assert (hello.hooks, hello.looks) == (True, False)
        gateway.tell(ModeSet("m1", "nowhere", "plan"))
        assert gateway.wait(ModeResult, id="m1").ok is False
    assert gateway.is_closed


def test_port_that_is_no_cli_is_reported_once_with_what_to_do(
    copilot_home: Path, pretend: Any
) -> None:
    cli: Pretender = pretend("127.0.0.1")
    cli.process.kill()
    cli.process.wait(HUNG)
    gateway = GatewayPlayed()
    with HostThread(gateway, copilot_home, port=cli.ports[0]) as host:
        (only,) = until(lambda: list(host.reports), what="a report")
        (target,) = host.host.retry_log.targets()
        until(lambda: host.host.retry_log.failures(target) > 1, what="tried again")
        assert host.reports == [only]
    level, text = only
    assert level == "warning"
    assert f"cannot attach to port {cli.ports[0]}" in text
    assert "--ui-server" in text


def test_a_cli_that_ended_is_no_longer_remembered_for_its_trouble(
    copilot_home: Path, pretend: Any
) -> None:
    cli: Pretender = pretend("127.0.0.1")
    cli.hold("s1")
    with HostThread(GatewayPlayed(), copilot_home, timing=HostTiming(connect=0.2)) as host:
        log = host.host.retry_log
        until(lambda: host.run_in_loop(log.targets), what="it is in trouble")
        cli.kill()
        until(lambda: not host.run_in_loop(log.targets), what="forgotten")


def test_session_without_a_port_is_listed_until_it_ends(copilot_home: Path, pretend: Any) -> None:
    cli: Pretender = pretend()
    cli.hold("s 1")
    gateway = GatewayPlayed()
    with HostThread(gateway, copilot_home):
        (listed,) = gateway.wait(SessionsUnattached, lambda one: one.unattached).unattached
        assert (listed.id, listed.pid) == ("s 1", cli.process.pid)
        assert listed.hint == "copilot --ui-server --resume 's 1'"
        cli.kill()
        until(lambda: not gateway.of(SessionsUnattached)[-1].unattached, what="an empty list")


def test_its_first_look_is_over_when_nothing_is_there(copilot_home: Path) -> None:
    gateway = GatewayPlayed()
    with HostThread(gateway, copilot_home):
        assert gateway.wait(HostHello).looks
        assert gateway.wait(HostLooked).error is None
        host_looks = [one for one in gateway.messages if isinstance(one, HostLooked)]
        assert len(host_looks) == 1


def test_its_first_look_is_over_when_what_it_found_was_tried(
    copilot_home: Path, pretend: Any
) -> None:
    pretend("127.0.0.1").hold("s1")
    gateway = GatewayPlayed()
    with HostThread(gateway, copilot_home, timing=HostTiming(connect=0.5)) as host:
        gateway.wait(HostLooked)
        assert host.reports, "it was told before it was tried"


def test_cli_that_does_not_answer_is_reported_and_holds_nothing_up(
    copilot_home: Path, pretend: Any
) -> None:
    cli: Pretender = pretend("127.0.0.1")
    cli.hold("s1")
    gateway = GatewayPlayed()
    with HostThread(gateway, copilot_home, timing=HostTiming(connect=0.5)) as host:
        until(lambda: host.reports, what="a report")
        host.stop()
    ((_, text),) = host.reports
    assert f"port {cli.ports[0]}: no answer from the CLI within 0.5 s" in text
    assert not gateway.of(SessionOpen)


def test_every_kind_of_permission_of_the_sdk_has_words() -> None:
    names = [one for one in dir(session_events) if re.fullmatch(r"PermissionRequest[A-Z]\w+", one)]
    kinds = {getattr(getattr(session_events, one), "kind", None) for one in names} - {None}
    assert {"shell", "extension-permission-access"} <= kinds
    shown = {describe({"kind": kind})["kind"] for kind in kinds}
    assert shown <= set(PERMISSIONS)
