"""The arguments of the commands about the ways into tapui: the extension and the MCP door."""

from typing import TYPE_CHECKING

from tapui.cli.arguments import add_command, add_port

if TYPE_CHECKING:
    from tapui.cli.arguments import Commands

_WHAT = "the extension of Copilot CLI, or the MCP server `tapui mcp-door`"


def add_doors(commands: "Commands") -> None:
    """Add `install`, `uninstall` and `mcp-door`."""
    install = add_command(
        commands,
        "install",
        "install",
        "add tapui's extension, or its MCP server, to Copilot CLI; neither needs a port",
        "extension: lets tapui into sessions of a plain `copilot`, once its experimental\n"
        "features are on. mcp: gives sessions the tools of providers, and nothing else;\n"
        "lines for other MCP clients are printed. What you have changed is left alone.",
    )
    uninstall = add_command(
        commands,
        "uninstall",
        "install",
        "remove tapui's extension, or its MCP server, from Copilot CLI",
        "mcp: the token for tools is revoked, also for MCP clients that are connected.",
    )
    for parser in (install, uninstall):
        parser.add_argument("what", choices=("extension", "mcp"), help=_WHAT)
        parser.add_argument(
            "--dry-run", action="store_true", help="only print what would be written, and where"
        )
        parser.set_defaults(is_removal=parser is uninstall)
    door = add_command(
        commands,
        "mcp-door",
        "mcp_door",
        "give an MCP client the tools of providers, on standard input and output",
        "MCP clients start it (`tapui install mcp` prints their lines). It waits for a\n"
        "gateway. It needs the extra `tapui[mcp]`.",
    )
    add_port(door, "the gateway's port")
