"""The first message to a bridge: an entry with its values, which are secrets from here on."""

from collections.abc import Mapping

from tapui.consents.mcp_servers import Allowable, allowable
from tapui.emitters.runner.environment import command_environment
from tapui.emitters.runner.processes import MARK
from tapui.files.foreign_file import reason
from tapui.mcp_servers.config.entries import MissingValueError, ServerEntry, Template
from tapui.mcp_servers.messages import ServerStart
from tapui.secret import Secret


class CannotStartError(Exception):
    """A value is missing, or a variable may not be given. The text says which, and no value."""


def server_start(
    entry: ServerEntry, allowed: Allowable, environ: Mapping[str, str], gateway_url: str
) -> ServerStart:
    """Return the first line for a bridge. Files are read: not on a loop.

    Raises `CannotStartError`.
    """
    try:
        is_same = allowable(entry) == allowed
    except OSError as error:
        raise CannotStartError(f"what it names cannot be found: {reason(error)}") from None
    if not is_same:
        raise CannotStartError("a link that it names leads elsewhere now")
    folder = entry.folder or allowed.cwd or ""

    def value(key: str, one: Template) -> Secret:
        try:
            found = one.value(environ, folder)
        except MissingValueError as error:
            raise CannotStartError(f"{key}: {error}") from None
        if "\0" in found.reveal():
            raise CannotStartError(f"{key}: it has a NUL in it")
        return found

    env = {name: value(f"env.{name}", one) for name, one in entry.env}
    _, refused = command_environment({}, {name: one.reveal() for name, one in env.items()})
    if refused:
        raise CannotStartError(f"these variables are not given to programs: {', '.join(refused)}")
    headers = {name: value(f"headers.{name}", one) for name, one in entry.headers}
    for name, one in headers.items():
        if not one.reveal().isascii():
            raise CannotStartError(f"headers.{name}: it has letters beyond ASCII, such as ü")
        if not one.reveal().isprintable():
            raise CannotStartError(f"headers.{name}: it has characters that no header may have")
    url = None if entry.url is None else value("url", entry.url).reveal()
    if url is not None and not url.lower().startswith(("http://", "https://")):
        raise CannotStartError("url: it begins with http:// or https://")
    return ServerStart(
        name=entry.name,
        gateway_url=gateway_url,
        command=None if entry.command is None else value("command", entry.command).reveal(),
        args=[value(f"args[{at}]", one).reveal() for at, one in enumerate(entry.args)],
        # What runs below it is known by the mark, and allows nothing.
        env={**env, MARK: Secret(f"mcp:{entry.name}")},
        cwd=allowed.cwd,
        url=url,
        headers=headers,
        patience=entry.patience,
    )
