"""`Provider.test()`: a session for as long as a test lasts."""

import os
from types import TracebackType

from tapui.provider import Provider
from tapui.testing.memory_host import HostedSession
from tapui.testing.session import ProviderSession
from tapui.testing.stage import LAST_MOMENT, Stage

PATIENCE = 10.0
"""Real seconds that anything may take, unless the test says otherwise."""


class OpenTest:
    """Opens the session with `async with`; at its end everything is stopped and checked."""

    def __init__(self, provider: Provider, id_: str, cwd: str, patience: float) -> None:
        self._provider = provider
        self._id = id_
        self._cwd = cwd
        self._patience = patience
        self._stage: Stage | None = None

    @property
    def is_open(self) -> bool:
        return self._stage is not None

    async def __aenter__(self) -> ProviderSession:
        if self._stage is not None:
            raise RuntimeError("this session is open already: call test() once more for another")
        self._stage = stage = Stage(self._patience)
        hosted = HostedSession(self._id, self._id, self._cwd)
        stage.host.open(hosted)
        stage.start(self._provider, self._id)
        try:
            await stage.bound()
        except BaseException:
            self._stage = None
            await stage.stop()
            raise
        return ProviderSession(stage, hosted)

    async def __aexit__(
        self,
        _kind: type[BaseException] | None,
        error: BaseException | None,
        _trace: TracebackType | None,
    ) -> None:
        stage, self._stage = self._stage, None
        if stage is None:
            return
        await stage.has_settled(LAST_MOMENT)
        await stage.stop()
        if error is None:
            stage.faults.check()
        for fault in stage.faults.take():
            if error is not None:
                error.add_note(f"and: {fault}")


def open_test(
    provider: Provider,
    *,
    session: str = "test",
    cwd: str | None = None,
    patience: float = PATIENCE,
) -> OpenTest:
    """Open a session in memory with a provider in it; see `ProviderSession`.

    `session` is its id, `cwd` the folder in which it works (the present one), `patience` how many
    real seconds anything may take before the test fails.
    """
    return OpenTest(provider, session, cwd or os.getcwd(), patience)  # noqa: PTH109 - text
