"""The arguments of the commands about what tapui adds to Copilot CLI, and the MCP door."""

from typing import TYPE_CHECKING

from tapui.cli.arguments import add_command, add_port

if TYPE_CHECKING:
    from tapui.cli.arguments import Commands

_WHAT = "the extension of Copilot CLI, the MCP server `tapui mcp-door`, or skills for its agent"


def add_doors(commands: "Commands") -> None:
    """Add `install`, `uninstall` and `mcp-door`."""
    install = add_command(
        commands,
        "install",
        "commands.install",
        "add tapui's extension, its MCP server or its skills to Copilot CLI",
        "extension: lets tapui into sessions of a plain `copilot`, once its experimental\n"
        "features are on. mcp: gives sessions the tools of providers, and nothing else;\n"
        "lines for other MCP clients are printed. skills: teaches agents to use emitters\n"
        "(/tap-loop) and to write providers (/create-provider). The extension and the MCP\n"
        "server need no port. What you have changed is left alone.",
    )
    uninstall = add_command(
        commands,
        "uninstall",
        "commands.install",
        "remove tapui's extension, its MCP server or its skills from Copilot CLI",
        "mcp: the token for tools is revoked, also for MCP clients that are connected.",
    )
    for parser in (install, uninstall):
        parser.add_argument("what", choices=("extension", "mcp", "skills"), help=_WHAT)
        parser.add_argument(
            "--dry-run", action="store_true", help="only print what would be written, and where"
        )
        parser.set_defaults(is_removal=parser is uninstall)
    door = add_command(
        commands,
        "mcp-door",
        "commands.mcp_door",
        "give an MCP client the tools of providers, on standard input and output",
        "MCP clients start it (`tapui install mcp` prints their lines). It waits for a\n"
        "gateway. It needs the extra `tapui[mcp]`.",
    )
    add_port(door, "the gateway's port")
