"""A provider at work: one conversation after the other, as links are lost and dialled anew."""

import asyncio
import logging
import time
from collections import deque
from collections.abc import Awaitable, Callable

from tapui.provider.calls import OutletOfLoop
from tapui.provider.conversation import LinkConversation, Listener
from tapui.provider.declarations import Declared
from tapui.provider.errors import GatewayRefusal
from tapui.provider.functions import Functions
from tapui.provider.link import Dial, LinkLost
from tapui.provider.members import Members
from tapui.provider.outbox import PushPace
from tapui.provider.threads import Threads
from tapui.secret import Secret
from tapui.wire.errors import ErrorCode
from tapui.wire.message import Message, ToolProgress
from tapui.wire.provider import ContextUpdate, HistoryLine, Push, StreamQuery

log = logging.getLogger("tapui.provider")

FIRST_PAUSE = 0.25
LONGEST_PAUSE = 10.0
"""Seconds before a gateway is dialled again: doubled each time, up to this."""
MAX_HELD = 100
"""Messages of sessions that wait until the provider is bound again; the oldest go first."""


class Serving(OutletOfLoop):
    """Serves a provider until `run` is cancelled.

    `dial` opens a link, and opens the next one when that is lost; `token` is shown at its
    beginning: a `Secret`, or a function that returns the one that holds by now, or None for a link
    that needs none. `session` goes before the provider's own; where neither names one, the session
    of `folder` is joined. `prefix` stands in front of each tool's name. `sleep` waits for seconds;
    `now` are seconds that only go forward.
    """

    def __init__(
        self,
        provider: Declared,
        dial: Dial,
        *,
        token: Secret | Callable[[], Secret | None] | None = None,
        session: str | None = None,
        folder: str | None = None,
        listener: Listener | None = None,
        prefix: str = "",
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__()
        self.provider = provider
        if prefix:
            provider.put_in_front(prefix)
        self.session = session or provider.session
        self.folder = folder
        self.listener = listener or Listener()
        self.reconnect_token: str | None = None
        self._dial = dial
        self._token = token
        self.sleep = sleep
        self._threads = Threads(self.loop)
        self.functions = Functions(self._threads)
        self.members = Members(provider.backgrounds, self)
        self._conversation: LinkConversation | None = None
        self._held: deque[Message] = deque(maxlen=MAX_HELD)
        self._pace = PushPace(self._send, sleep, self._is_bound, now)

    async def run(self) -> None:
        """Serve until it is cancelled; it leaves in order then.

        Raises `GatewayRefusal` when trying again would not help.
        """
        self.provider.followed_by(self)
        try:
            await self._serve()
        finally:
            self.provider.left_by(self)
            self._pace.close()
            await self.members.close()
            self._threads.close()

    async def _serve(self) -> None:
        pause = FIRST_PAUSE
        while True:
            conversation: LinkConversation | None = None
            token = self._token() if callable(self._token) else self._token
            try:
                conversation = LinkConversation(self, await self._dial(), token)
                self._conversation = conversation
                await conversation.run()
            except LinkLost as error:
                self.listener.waiting(error.reason)
            except GatewayRefusal as error:
                if not self._has_other_token(error, token):
                    raise
                self.listener.waiting(error.text)
            finally:
                self._conversation = None
            if conversation is not None and conversation.was_bound:
                pause = FIRST_PAUSE
            await self.sleep(pause)
            pause = min(2 * pause, LONGEST_PAUSE)

    def _has_other_token(self, error: GatewayRefusal, shown: Secret | None) -> bool:
        """Return whether a token was refused that is not the newest: the gateway has restarted."""
        if error.code is not ErrorCode.AUTH_FAILED or not callable(self._token):
            return False
        newest = self._token()
        return newest is not None and (shown is None or not newest.is_same(shown))

    # What is declared while it serves

    def tools_changed(self) -> None:
        def tell() -> None:
            if self._conversation is not None:
                self._conversation.tools_changed()

        self.in_loop(tell)

    def context_changed(self) -> None:
        def tell() -> None:
            self.members.forget_contexts()
            if self._conversation is not None:
                self._conversation.context_changed()

        self.in_loop(tell)

    # What sessions and calls say, from any thread

    def post(self, message: Message) -> None:
        self.in_loop(lambda: self._post(message))

    def _post(self, message: Message) -> None:
        if isinstance(message, Push):
            self._pace.push(message)
        elif (
            isinstance(message, ContextUpdate)
            and self.members.keep_context(message)
            and not self._is_bound()
        ):
            pass  # it goes with the next hello
        else:
            self._send(message)

    def _is_bound(self) -> bool:
        return self._conversation is not None and self._conversation.is_bound

    def _send(self, message: Message) -> None:
        if self._conversation is not None and self._conversation.is_bound:
            if self.members.may_have(message):
                self._conversation.say(message)
            return
        if len(self._held) == MAX_HELD:
            log.warning(
                "more than %d messages wait for the gateway; the oldest is dropped", MAX_HELD
            )
        self._held.append(message)

    def release(self) -> None:
        while self._held:
            self._send(self._held.popleft())
        self._pace.resume()

    async def history(self, query: StreamQuery) -> dict[str, list[HistoryLine]]:
        if self._conversation is None or not self._conversation.is_bound:
            raise LinkLost("the provider is not bound to a session")
        return await self._conversation.history(query)

    def progress(self, told: ToolProgress) -> None:
        self.in_loop(lambda: self._progress(told))

    def _progress(self, told: ToolProgress) -> None:
        if self._conversation is not None and told.id in self._conversation.calls:
            self._conversation.outbox.progress(told)
