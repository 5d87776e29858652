"""The SDK's edge: what tapui uses that is not public, and what the SDK leaves to its caller."""

import ast
import asyncio
import inspect
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import tapui.hosts.copilot
from tapui.hosts.copilot import sdk

PACKAGE = Path(tapui.hosts.copilot.__file__).parent
EDGE = "sdk.py"
PRIVATE = {"copilot._jsonrpc"}
"""What `sdk.py` uses of the SDK's inside. A new version of the SDK may change each of these."""


def private_modules(source: Path) -> Iterator[str]:
    """Yield the SDK's private modules that a file imports, and generated ones."""
    for node in ast.walk(ast.parse(source.read_text())):
        names = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
        names += [one.name for one in node.names] if isinstance(node, ast.Import) else []
        for name in names:
            first, *rest = name.split(".")
            if first == "copilot" and any(part[0] == "_" or part == "generated" for part in rest):
                yield name


def test_only_one_module_touches_what_the_sdk_keeps_private() -> None:
    files = PACKAGE.rglob("*.py")
    found = {str(file.relative_to(PACKAGE)): set(private_modules(file)) for file in files}
    assert found.pop(EDGE) == PRIVATE
    assert not any(found.values()), found


def test_private_names_are_still_there() -> None:
    from copilot import CopilotClient, RuntimeConnection
    from copilot._jsonrpc import JsonRpcError, ProcessExitedError

    client = CopilotClient(connection=RuntimeConnection.for_uri("127.0.0.1:1"))
    assert (client._client, client._cli_process) == (None, None)
    assert issubclass(JsonRpcError, Exception)
    assert issubclass(ProcessExitedError, Exception)
    assert sdk.failures()[:2] == (JsonRpcError, ProcessExitedError)


def test_the_gateways_process_never_loads_the_sdk() -> None:
    program = (
        "import sys\n"
        "import tapui.station.parts.hosts, tapui.hosts.copilot.launcher\n"
        "assert 'copilot' not in sys.modules and 'tapui.hosts.copilot.host' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)


_CALLBACK = """
import asyncio
from tapui.hosts.copilot import sdk

async def main():
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(sdk.loop_failed)
    done = loop.create_future()
    done.cancel()
    loop.call_soon({callback})
    await asyncio.sleep(0)

asyncio.run(main())
"""


@pytest.mark.parametrize(
    ("callback", "is_told"),
    [
        ("done.set_exception, OSError('the connection ended')", False),
        ("done.set_result, None", False),
        ("[].pop", True),
        ("done.result", True),
    ],
)
def test_only_late_answers_of_the_cli_are_no_errors(callback: str, is_told: bool) -> None:
    """In a process of its own: here any error in a callback fails the test."""
    program = _CALLBACK.format(callback=callback)
    ran = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60
    )
    assert ("Exception in callback" in ran.stderr) is is_told, ran.stderr


async def test_what_is_sent_within_a_trace_belongs_to_it() -> None:
    sdk.load()
    import copilot.client
    import copilot.session

    asked = [copilot.client.get_trace_context, copilot.session.get_trace_context]
    assert [one() for one in asked] == [{}, {}]
    with sdk.trace_context("00-1-2-01"):
        found = await sdk.call("ask", _asked_later(asked))
    assert found == [{"traceparent": "00-1-2-01"}] * 2
    with sdk.trace_context(None):
        assert [one() for one in asked] == [{}, {}]


async def _asked_later(asked: list[Any]) -> list[Any]:
    await asyncio.sleep(0)
    return [one() for one in asked]


def test_the_sdk_asks_for_the_trace_before_it_makes_resumes_and_prompts_a_session() -> None:
    import copilot.client
    import copilot.session

    made = inspect.getsource(copilot.client.CopilotClient.create_session)
    resumed = inspect.getsource(copilot.client.CopilotClient.resume_session)
    prompts = inspect.getsource(copilot.session)
    assert all("get_trace_context()" in one for one in (made, resumed, prompts))
