"""A provider: what it declares, and the ways to run it."""

from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager
from functools import cache
from typing import TYPE_CHECKING, Any

from tapui.provider.declarations import Declared
from tapui.provider.errors import DeclarationError

if TYPE_CHECKING:
    from tapui.provider.link import Dial


@cache
def _open_test() -> Callable[..., AbstractAsyncContextManager[Any]]:
    """Return what opens tests: it is above the kit, which finds it by its entry point."""
    from importlib.metadata import entry_points

    found = next(iter(entry_points(group="tapui.provider", name="testing")), None)
    if found is None:
        raise DeclarationError("test() needs an installed tapui: install it anew, with pip")
    opener: Callable[..., AbstractAsyncContextManager[Any]] = found.load()
    return opener


class Provider(Declared):
    """What a process offers to Copilot sessions. See `tapui/provider/README.md`.

    `name` is unique in a session, together with `instance`. `session` is the id or the label of the
    session to be in, or `"all"`; without it, the one that is in front. `context` goes to the
    agent with every prompt, `startup_context` once. `metadata` (a dict) tells agents of several
    instances which is which. `concurrency` is how many calls are taken at once. `subscribe` are
    names of events to hear of, `call_timeout` the seconds that a call may take unless its tool
    says otherwise.
    """

    async def call(self, tool: str, arguments: Mapping[str, Any] | None = None) -> Any:
        """Run a tool without any gateway; return its result as the gateway would get it.

        That is decoded JSON, or a `FileResult`. Raises `ToolError` where the call fails.
        """
        from tapui.provider.calls import call

        return await call(self, tool, dict(arguments or {}))

    def test(self, **options: Any) -> AbstractAsyncContextManager[Any]:
        """Return a session in memory in which the provider can be tried; see `tapui.testing`."""
        return _open_test()(self, **options)

    async def serve(self, dial: "Dial", **options: Any) -> None:
        """Serve over links that `dial` opens, until it is cancelled; see `Serving`."""
        from tapui.provider.serving import Serving

        await Serving(self, dial, **options).run()

    def run(self, argv: list[str] | None = None) -> None:
        """Serve until Ctrl-C, as a program: finds the gateway and prints what happens.

        `argv` are the program's arguments (by default its own); `--help` shows them.
        """
        from tapui.provider.program import run

        run(self, argv)
