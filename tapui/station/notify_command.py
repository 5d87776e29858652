"""The person's own program that calls them (`notify.command`): run without a shell."""

import asyncio
import logging
import re
from collections.abc import Callable, Sequence
from pathlib import PurePath

from tapui.tower.app.notifier import PersonCall

_PLACE = re.compile(r"\{(?:text|kind|session)\}")
_log = logging.getLogger(__name__)

SECONDS = 10.0
"""How long the program may take; it is then ended."""
AT_ONCE = 3
"""Programs that run at the same time; further calls are left out."""


def arguments(command: Sequence[str], call: PersonCall) -> list[str]:
    """Return a command line with the notice in its place, for `{text}`, `{kind}` and `{session}`.

    `notify-send` reads its text as markup, so what could be markup is escaped for it.
    """
    text = call.text
    if PurePath(command[0]).name == "notify-send":
        import html  # only here: its tables of entities take as long to load as a pane

        text = html.escape(text, quote=False)
    places = {"{text}": text, "{kind}": call.kind, "{session}": call.session}
    return [
        command[0],
        *(_PLACE.sub(lambda found: places[found[0]], part) for part in command[1:]),
    ]


class NotifyCommand:
    """Runs `command` for each notice; its faults are logged, and told with `tell` the first time.

    Used on a running loop, which ends what still runs when it ends. Nothing waits for the program.
    """

    def __init__(self, command: Sequence[str], tell: Callable[[str], None]) -> None:
        self._command = list(command)
        self._tell: Callable[[str], None] | None = tell
        self.running: set[asyncio.Task[None]] = set()
        """A task for each program that runs."""

    def __call__(self, call: PersonCall) -> None:
        if self._command and len(self.running) < AT_ONCE:
            task = asyncio.get_running_loop().create_task(self._run(call), name="notify")
            self.running.add(task)
            task.add_done_callback(self.running.discard)

    async def _run(self, call: PersonCall) -> None:
        try:
            process = await asyncio.create_subprocess_exec(
                *arguments(self._command, call),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.DEVNULL,
                stderr=asyncio.subprocess.DEVNULL,
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            self._failed(f"cannot be run: {error}")
            return
        try:
            async with asyncio.timeout(SECONDS):
                code = await process.wait()
        except TimeoutError:
            self._failed(f"took longer than {SECONDS:g} s and was ended")
        else:
            if code:
                self._failed(f"ended with exit code {code}")
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()

    def _failed(self, why: str) -> None:
        _log.warning("notify.command %s", why)
        tell, self._tell = self._tell, None
        if tell is not None:
            tell(f"notify.command {why}")
