"""What is never asked of a person's CLI (tapui/hosts/copilot/README.md): no code here names it."""

import ast
from pathlib import Path

import pytest

from tapui.hosts import copilot

NEVER = {
    "approve-for-location",
    "approve-for-session",
    "approve-permanently",
    "approve-read-only-for-session",
    "runtime.shutdown",
    "session.permissions.setApproveAll",
    "session.permissions.setMode",
    "session.setForeground",
    "session.shell.exec",
    "session.shell.executeUserRequested",
}
MEMBERS = {"displayPrompt", "overridesBuiltInTool"}
"""Members of what is sent."""
SHUTDOWN = "session.shutdown"
"""A method, and an event that is waited for."""
MODULES = sorted(Path(copilot.__file__).parent.rglob("*.py"))


@pytest.mark.parametrize("module", MODULES, ids=lambda path: path.stem)
def test_what_wrecks_or_misleads_is_not_asked(module: Path) -> None:
    named: set[str] = set()
    for node in ast.walk(ast.parse(module.read_text())):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            named.add(node.value)
        elif isinstance(node, ast.keyword):
            assert node.arg not in MEMBERS
        elif isinstance(node, ast.Dict):
            keys = {key.value for key in node.keys if isinstance(key, ast.Constant)}
            assert not keys & MEMBERS
        elif isinstance(node, ast.Call):
            given = [one.value for one in node.args if isinstance(one, ast.Constant)]
            assert SHUTDOWN not in given
    assert named & NEVER == set()
