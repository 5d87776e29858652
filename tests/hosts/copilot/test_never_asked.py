"""What is never asked of a person's CLI (tapui/hosts/copilot/README.md): no code here names it."""

import ast
from pathlib import Path

import pytest

from tapui.hosts import copilot

NEVER = {
    "shutdown",
    "set_approve_all",
    "shell",
    "set_foreground_session_id",
    "display_prompt",
    "overrides_built_in_tool",
    "PermissionDecisionApproveForSession",
    "PermissionDecisionApproveForLocation",
}
MODULES = sorted(Path(copilot.__file__).parent.rglob("*.py"))


@pytest.mark.parametrize("module", MODULES, ids=lambda path: path.stem)
def test_what_wrecks_or_misleads_is_not_asked(module: Path) -> None:
    named: set[str] = set()
    for node in ast.walk(ast.parse(module.read_text())):
        if isinstance(node, ast.Attribute):
            named.add(node.attr)
        elif isinstance(node, ast.ImportFrom):
            named |= {one.name for one in node.names}
        elif isinstance(node, ast.keyword) and node.arg:
            named.add(node.arg)
    assert named & NEVER == set()
