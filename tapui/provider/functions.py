"""Running the functions of a provider's author: gates, rewriters, handlers, plain or coroutines."""

import asyncio
import logging
from collections.abc import Callable
from typing import Any

from msgspec import Raw

from tapui.provider.context import DeclaredGate, GateCall
from tapui.provider.declarations import Declared
from tapui.provider.session import Session, SessionNews
from tapui.provider.threads import Threads, contained
from tapui.provider.tool import is_coroutine
from tapui.wire.limits import GATE_TIMEOUT, TRANSFORM_TIMEOUT
from tapui.wire.provider import GateCheck, GateResult
from tapui.wire.surrogates import without_surrogates

MAX_SECTION = 256 * 1024
"""Characters of a section that a function may return: in any script they fit a message."""

log = logging.getLogger("tapui.provider")


class Functions:
    """Runs functions; what they raise is in the log, and the gateway still gets an answer."""

    def __init__(self, threads: Threads) -> None:
        self.threads = threads
        self.telling = 0
        """Events that handlers are hearing of."""

    async def run(self, name: str, function: Callable[..., Any], *arguments: Any) -> Any:
        """Run a function, a plain one in a thread, and return its result; raises as `contained`."""
        if is_coroutine(function):
            return await contained(function(*arguments))
        return await contained(self.threads.call(name, lambda: function(*arguments)))

    async def judge(self, gate: DeclaredGate, check: GateCheck, session: Session) -> GateResult:
        """Return what a gate says about a call; one that takes longer than the gateway waits is
        given up, so that its thread is not missing elsewhere."""
        call = GateCall(session, check.tool, check.args)
        deadline = asyncio.timeout(GATE_TIMEOUT)
        try:
            async with deadline:
                verdict = await self.run(gate.id, gate.function, call)
        except Exception:
            if deadline.expired():
                text = "the gate '%s' has not answered in %g s"
                log.error(text, gate.id, GATE_TIMEOUT)  # noqa: TRY400 - a state, without a trace
            else:
                log.exception("the gate '%s' failed", gate.id)
            return gate.failed(check.call_id)
        answer = gate.answer(check.call_id, verdict)
        if answer is None:
            log.error(
                "the gate '%s' returned %r; it must return True, False, Deny or Allow",
                gate.id,
                type(verdict).__name__,
            )
            return gate.failed(check.call_id)
        return answer

    async def rewrite(self, function: Callable[..., Any] | None, section: str, current: str) -> str:
        """Return a section's new text; the current one where the function fails."""
        if function is None:
            return current
        try:
            async with asyncio.timeout(TRANSFORM_TIMEOUT):
                content = await self.run(section, function, current)
        except Exception:
            log.exception("the transform of '%s' failed", section)
            return current
        if not isinstance(content, str):
            log.error("the transform of '%s' returned no text", section)
            return current
        if len(content) > MAX_SECTION:
            log.error(
                "the transform of '%s' returned more than %d characters", section, MAX_SECTION
            )
            return current
        return without_surrogates(content)

    async def tell(self, provider: Declared, session: Session, event: str, data: Raw) -> None:
        """Have a provider's handlers hear of an event, one after the other."""
        self.telling += 1
        try:
            for handler in provider.handlers_of(event):
                await self._tell_one(handler, SessionNews(session, event, data))
        finally:
            self.telling -= 1

    async def _tell_one(self, handler: Callable[..., Any], news: SessionNews) -> None:
        try:
            await self.run(news.name, handler, news)
        except asyncio.CancelledError:
            raise
        except Exception:
            log.exception("the handler of %s failed", news.name)
