"""Commands that fetch whatever version there is."""

import shlex

import pytest

from tapui.consents.unpinned import unpinned


@pytest.mark.parametrize(
    ("command", "package"),
    [
        ("npx foo", "foo"),
        ("npx -y @scope/foo", "@scope/foo"),
        ("npx -y @scope/foo@latest", "@scope/foo@latest"),
        ("npx -y @scope/foo@^1.2", "@scope/foo@^1.2"),
        ("/usr/bin/npx --package=foo bar", "foo"),
        ("npx -p foo bar", "foo"),
        ("npx.cmd foo", "foo"),
        ("npm exec -- foo", "foo"),
        ("pnpm dlx foo", "foo"),
        ("bunx foo", "foo"),
        ("uvx mcp-server-git", "mcp-server-git"),
        ("uvx --from mcp-server-git git-server", "mcp-server-git"),
        ("uvx --python 3.12 mcp-server-git", "mcp-server-git"),
        ("uv tool run mcp-server-git", "mcp-server-git"),
        ("pipx run foo", "foo"),
        ("pipx run 'foo>=1'", "foo>=1"),
        ("docker run -i --rm mcp/git", "mcp/git"),
        ("docker run -e A=b ghcr.io:443/x/y:latest", "ghcr.io:443/x/y:latest"),
        ("npx foo@1", "foo@1"),
        ("npx foo@1.2", "foo@1.2"),
        ("npx foo@1.x", "foo@1.x"),
        ("npx foo@1.2.3", None),
        ("npx foo@1.2.3-beta.1", None),
        ("npx -y @scope/foo@2026.8.31 /tmp", None),
        ("npx ./local", None),
        ("npm run start", None),
        ("uvx mcp-server-git==1.2", None),
        ("uvx --from mcp-server-git@1.2 git-server", None),
        ("uv run server.py", None),
        ("docker run -i mcp/git:1.4", None),
        ("docker run mcp/git@sha256:0a1b", None),
        ("docker exec x", None),
        ("node server.js", None),
        ("npx", None),
    ],
)
def test_what_is_fetched_anew(command: str, package: str | None) -> None:
    program, *args = shlex.split(command)
    assert unpinned(program, args) == package
