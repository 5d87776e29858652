"""An attacker who guesses pairing codes, on a clock turned by hand."""

from collections import deque
from dataclasses import dataclass, field
from random import Random

from tapui.core.effects import Close, MakeDurable, Send
from tapui.core.gateway import Gateway
from tapui.runtime.system import RegexMatcher
from tapui.settings.settings import Settings
from tapui.wire import limits
from tapui.wire import provider as p
from tapui.wire import tower as t
from tapui.wire.codec import encode
from tapui.wire.message import Error
from tests.core.harness import INTERNAL_TOKEN, PROVIDER_TOKEN, CountingIds

ORIGINS = (None, "https://a.example", "https://b.example", "https://c.example")
MINUTE = 60.0


class SecretIds(CountingIds):
    """Ids by number; codes by the dice, which the attacker does not see."""

    def __init__(self, dice: Random) -> None:
        super().__init__()
        self._dice = dice

    def code(self) -> str:
        return f"{self._dice.randrange(1_000_000):06d}"


@dataclass
class Tally:
    """What came of the guesses."""

    guesses: int = 0
    tries: int = 0
    """Guesses that the gateway compared with a code, or would have if there had been one."""
    limited: int = 0
    ignored: int = 0
    """Guesses on a connection that was closed already."""
    admitted: int = 0
    codes: int = 0
    most_in_a_minute: int = 0
    most_for_a_code: int = 0
    minutes: float = 0.0
    times: deque[float] = field(default_factory=deque)


class Attack:
    """Many connections from several Origins, and a person who opens every request there is.

    The attacker guesses as fast as it likes, on every connection that may still pair, also many
    times on one, before and after the code exists, and comes back when it is thrown out.
    """

    def __init__(self, seed: int, *, gap: float) -> None:
        self._dice = Random(seed)
        self._gap = gap
        self.now = 0.0
        self.tally = Tally()
        self._gateway = Gateway(
            run="run-1",
            ids=SecretIds(Random(seed + 1)),
            settings=Settings(),
            persist_dir=lambda name: name,
            matcher=RegexMatcher(),
            provider_token=PROVIDER_TOKEN,
            internal_token=INTERNAL_TOKEN,
        )
        self._heard: list[tuple[int, object]] = []
        self._tries: dict[int, int] = {}
        """Tries that were compared, by connection: each has at most one code."""
        self._tower = self._enter(None, INTERNAL_TOKEN)
        self._say(self._tower, t.TowerHello(2))
        self._host = self._enter(None, INTERNAL_TOKEN)
        hello = b'{"type":"host.hello","name":"h","kind":"k","protocolVersion":2}'
        session = b'{"type":"session.open","session":{"id":"s1","label":"","cwd":"/"}}'
        self._send(self._host, hello)
        self._send(self._host, session)
        self._asking: list[int] = []

    def guess(self, times: int) -> Tally:
        """Guess so often; return what came of it."""
        until = self.tally.guesses + times
        while self.tally.guesses < until:
            self._fill()
            burst = self._dice.randint(1, 8)
            for _ in range(burst):
                if self._asking:
                    self._guess_on(self._dice.choice(self._asking))
            # Without a request that waits it cannot guess, until the gateway takes another.
            self._wait(self._gap * self._dice.random() if self._asking else 1.0)
        self.tally.minutes = self.now / MINUTE
        return self.tally

    def _fill(self) -> None:
        """Ask to pair until three requests wait, as many as the gateway takes."""
        for _ in range(self._dice.randint(0, 4)):
            if self._gateway.refusal() is not None:
                return
            number = self._enter(self._dice.choice(ORIGINS), None)
            self._say(number, p.Auth(mode="pair"))
            errors = [one for to, one in self._heard if to == number and isinstance(one, Error)]
            if errors:
                assert errors[0].code == "RATE_LIMITED"
                self._leave(number)
                return
            self._asking.append(number)
            if self._dice.random() < 0.8:
                self._open()

    def _open(self) -> None:
        """The person opens what waits, without looking."""
        for waiting in self._gateway.parts.approvals.of_kind("pairing"):
            if waiting.view.state == "waiting":
                self._say(self._tower, t.ApprovalReveal(waiting.view.id))
                self.tally.codes += 1

    def _guess_on(self, number: int) -> None:
        tally = self.tally
        tally.guesses += 1
        self._say(number, p.AuthConfirm(f"{self._dice.randrange(1_000_000):06d}"))
        heard = [one for to, one in self._heard if to == number]
        error = next((one for one in heard if isinstance(one, Error)), None)
        if error is not None and error.code == "RATE_LIMITED":
            tally.limited += 1
            if self._dice.random() < 0.3:
                self._leave(number)
            return
        if not heard:
            tally.ignored += 1
            self._asking.remove(number)
            return
        self._count(number)
        if any(isinstance(one, p.Sessions) for one in heard):
            tally.admitted += 1
        else:
            assert error is not None, heard
            assert error.code == "AUTH_FAILED"
            assert any(isinstance(one, Close) for one in heard), "a wrong code closes"
        # It goes on with the closed one now and then, to see whether anybody listens.
        if self._dice.random() < 0.7:
            self._leave(number)

    def _count(self, number: int) -> None:
        tally = self.tally
        tally.tries += 1
        self._tries[number] = self._tries.get(number, 0) + 1
        tally.most_for_a_code = max(tally.most_for_a_code, self._tries[number])
        tally.times.append(self.now)
        while tally.times[0] <= self.now - MINUTE:
            tally.times.popleft()
        tally.most_in_a_minute = max(tally.most_in_a_minute, len(tally.times))
        assert tally.most_in_a_minute <= limits.PAIRING_ATTEMPTS_PER_MINUTE
        assert tally.most_for_a_code == 1

    # The shell

    def _enter(self, origin: str | None, token: str | None) -> int:
        number = self._gateway.opened(origin, self.now)
        if token is not None:
            self._say(number, p.Auth(token=token))
        return number

    def _leave(self, number: int) -> None:
        if number in self._asking:
            self._asking.remove(number)
        self._tries.pop(number, None)
        self._gateway.tell(self.now, self._gateway.closed, number)
        self._turn()

    def _say(self, number: int, message: p.Message) -> None:
        self._send(number, encode(message))

    def _send(self, number: int, data: bytes) -> None:
        self._heard.clear()
        self._gateway.received(number, data, self.now)
        self._turn()

    def _turn(self) -> None:
        while True:
            entries, _, effects = self._gateway.take()
            if not entries and not effects:
                return
            for effect in effects:
                if isinstance(effect, Send):
                    self._heard.append((effect.connection, effect.message))
                elif isinstance(effect, Close):
                    self._heard.append((effect.connection, effect))
                elif isinstance(effect, MakeDurable):
                    self._gateway.tell(self.now, self._gateway.answered, effect.ticket, True)

    def _wait(self, seconds: float) -> None:
        end = self.now + seconds
        while (due := self._gateway.next_deadline) is not None and due <= end:
            self.now = max(due, self.now)
            self._gateway.tell(self.now, self._gateway.tick)
            self._turn()
        self.now = end
