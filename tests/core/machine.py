"""Whole conversations by the dice, and what must hold after each step of them."""

from random import Random

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from tapui.projection.fold import fold
from tapui.projection.state import State, is_connected, is_open, is_unsettled
from tapui.wire import limits
from tests.core import says
from tests.core.harness import EVERYTHING, Conversation, Json, Peer

MOST_PEERS = 14
dice = st.integers(0, 2**32 - 1).map(Random)


class ConversationMachine(RuleBasedStateMachine):
    """Hosts, providers, towers and strangers talk; time passes; connections drop."""

    def __init__(self) -> None:
        super().__init__()
        self.talk = Conversation()
        self.pending: dict[tuple[int, str], int] = {}
        """Outcomes that callers still wait for, by connection and invoke id: 0 or 1."""
        self.folded = State()

    @initialize()
    def begin(self) -> None:
        self.talk.local()
        self.talk.tools()
        self.talk.host().say(type="session.open", session={"id": "s1", "label": "", "cwd": "/"})
        self.talk.provider("s1", name="ann")
        self.talk.tower()
        self._listen()

    # Steps

    @rule(dice=dice)
    def arrives(self, dice: Random) -> None:
        if len(self._open()) < MOST_PEERS and self.talk.gateway.refusal() is None:
            says.arrive(self.talk, dice)
            self._listen()

    @rule(dice=dice)
    def speaks(self, dice: Random) -> None:
        self._speak(dice, "Bound", "Host", "Tower")

    @rule(dice=dice)
    def host_speaks(self, dice: Random) -> None:
        self._speak(dice, "Host")

    @rule(dice=dice)
    def provider_speaks(self, dice: Random) -> None:
        self._speak(dice, "Bound", "Unbound")

    @rule(dice=dice)
    def tower_speaks(self, dice: Random) -> None:
        self._speak(dice, "Tower")

    @rule(dice=dice)
    def stranger_speaks(self, dice: Random) -> None:
        self._speak(dice, "AwaitAuth", "AwaitHello", "AwaitPairing")

    @rule(dice=dice)
    def out_of_turn(self, dice: Random) -> None:
        """Somebody says what another kind of client would."""
        peers = self._open()
        if peers:
            peer = dice.choice(peers)
            speaker = dice.choice(list(says.SPEAKERS.values()))
            self._say(peer, speaker(self.talk, dice, peer))

    @rule(dice=dice)
    def garbage(self, dice: Random) -> None:
        peers = self._open()
        if peers:
            peer = dice.choice(peers)
            message = says.SPEAKERS[peer.state](self.talk, dice, peer)
            data = says.garbled(dice, message)
            if b"tool.invoke" not in data:
                peer.say(data) if dice.random() < 0.9 else peer.say_binary()
                self._listen()

    @rule(seconds=st.sampled_from([0.001, 0.05, 0.2, 1.0, 5.0, 12.0, 31.0, 130.0]))
    def time_passes(self, seconds: float) -> None:
        self.talk.wait(seconds)
        self._listen()

    @rule(dice=dice)
    def drops(self, dice: Random) -> None:
        peers = self._open()
        if len(peers) > MOST_PEERS // 2:
            dice.choice(peers).drop()
            self._listen()

    @rule(records=st.sampled_from(["kept", "kept", "held", "refused"]))
    def the_disk(self, records: str) -> None:
        self.talk.records = records

    @rule(is_ok=st.booleans())
    def the_disk_answers(self, is_ok: bool) -> None:
        self.talk.recorded(is_ok=is_ok)
        self._listen()

    def _speak(self, dice: Random, *states: str) -> None:
        peers = [peer for peer in self._open() if peer.state in states]
        if peers:
            peer = dice.choice(peers)
            self._say(peer, says.SPEAKERS[peer.state](self.talk, dice, peer))

    def _open(self) -> list[Peer]:
        return [peer for peer in self.talk.peers.values() if peer.state != "Closed"]

    def _say(self, peer: Peer, message: Json) -> None:
        key = (peer.number, str(message.get("id")))
        is_new = message["type"] == "tool.invoke" and not self.pending.get(key)
        if is_new:
            self.pending[key] = 1
        mark = len(peer.inbox)
        peer.say(message)
        if is_new and any(
            one["type"] == "error" and one.get("replyTo") == "tool.invoke"
            for one in peer.inbox[mark:]
        ):
            self.pending[key] = 0
        self._listen()

    def _listen(self) -> None:
        """Read what everybody heard: no outcome comes twice, or unasked."""
        for number, peer in list(self.talk.peers.items()):
            for message in peer.hear():
                if message["type"] == "tool.outcome":
                    key = (number, message["id"])
                    assert self.pending.get(key) == 1, message
                    self.pending[key] = 0
                    given = {"data", "error", "file"} & set(message)
                    assert len(given) == 1, message
            if peer.state == "Closed":
                del self.talk.peers[number]
        for entry in self.talk.entries:
            fold(self.folded, entry.event, entry.ts)
        self.talk.entries.clear()

    # What must hold

    @invariant()
    def the_state_is_what_the_events_fold_to(self) -> None:
        assert self.folded == self.talk.gateway.state

    @invariant()
    def the_state_is_what_the_registers_say(self) -> None:
        gateway = self.talk.gateway
        r, state = gateway.parts, gateway.state
        live = {id_: one for id_, one in state.sessions.items() if is_open(one)}
        assert live == {id_: session.view for id_, session in r.sessions.open.items()}
        connected = {
            id_: provider.view
            for id_, provider in r.providers.connected.items()
            if not provider.connection.is_builtin
        }
        shown = {id_: one for id_, one in state.providers.items() if is_connected(one)}
        assert shown.keys() == connected.keys()
        for id_, view in connected.items():
            one = shown[id_]
            same = ("name", "instance", "state", "session_id", "tools", "trust", "origin")
            assert [getattr(one, x) for x in same] == [getattr(view, x) for x in same]
        sessions = r.sessions.open.values()
        native = {one.call_id for each in sessions for one in each.native_calls.values()}
        assert state.calls.keys() == r.calls.pending.keys() | native
        for id_, call in r.calls.pending.items():
            assert (state.calls[id_].state == "cancelling") == call.is_settled
        unsettled = {id_: one for id_, one in state.approvals.items() if is_unsettled(one)}
        registered = r.approvals.waiting | r.approvals.deciding
        assert unsettled == {id_: one.view for id_, one in registered.items()}
        counts = {key: stream.count for key, stream in state.streams.items()}
        in_memory = {
            (id_, name): log.count
            for id_ in r.sessions.open
            for name, log in r.streams.of(id_).items()
        }
        assert in_memory.items() <= counts.items()
        assert counts.keys() - in_memory.keys() <= r.streams._released.keys()

    @invariant()
    def only_tools_of_providers_in_the_session_can_be_called(self) -> None:
        r = self.talk.gateway.parts
        for session in r.sessions.open.values():
            for name, entry in session.tools.items():
                assert entry.offers or entry.lists
                for provider, _ in entry.offers.values():
                    assert r.providers.connected[provider.id] is provider
                    assert provider.connection.standing in ("Bound", "Builtin")
                    assert provider.is_in(session)
                    assert session.providers[provider.id] is provider
                    assert name in [tool.name for tool in provider.tools[session.id]]
            for provider in session.providers.values():
                assert provider.is_in(session)
                assert {tool.name for tool in provider.tools[session.id]} == {
                    name for name, entry in session.tools.items() if provider.id in entry.offers
                }
        for provider in r.providers.connected.values():
            assert provider.tools.keys() == provider.sessions.keys()
            for session in provider.sessions.values():
                assert session.is_open or provider in session.leaving

    @invariant()
    def calls_are_known_to_both_ends(self) -> None:
        r = self.talk.gateway.parts
        for call in r.calls.pending.values():
            assert call.deadline is not None
            assert call.deadline.is_live
            assert call.provider.calls[call.view.id] is call
            assert (call.caller.invokes.get(call.invoke_id) is call) != call.is_settled
            assert call.session.is_open or call.is_settled
        for provider in r.providers.connected.values():
            assert provider.running == sum(not one.is_settled for one in provider.calls.values())
        for caller in r.connections.by_number.values():
            made = [call for call in r.calls.pending.values() if call.caller is caller]
            assert caller.calls == len(made)
            assert caller.call_bytes == sum(len(memoryview(one.invoke.args)) for one in made)
        waited_for = sum(len(one.invokes) for one in r.connections.by_number.values())
        assert waited_for == sum(not one.is_settled for one in r.calls.pending.values())
        open_ = {peer.number for peer in self._open()}
        assert waited_for == sum(n for (peer, _), n in self.pending.items() if peer in open_)

    @invariant()
    def everything_is_bounded(self) -> None:
        r = self.talk.gateway.parts
        live = {
            (provider.id, session)
            for provider in r.providers.connected.values()
            for session in provider.sessions
        }
        assert r.injects._brakes.keys() <= live
        assert r.budgets._pushes.keys() <= live
        for session in r.sessions.open.values():
            for provider in session.providers.values():
                held = sum(inject.source is provider for inject in session.injects)
                assert held <= limits.MAX_HELD_INJECTS
            for log in r.streams.of(session.id).values():
                assert len(log.lines) <= limits.STREAM_LINES
        assert len(r.approvals.of_kind("pairing")) <= limits.MAX_PAIRINGS
        asked = {id_ for one in r.connections.by_number.values() for id_ in one.requests.values()}
        deciding = len(self.talk.held)
        assert len(asked - r.approvals.waiting.keys()) <= deciding
        ending = {id_ for one in r.providers.connected.values() for id_ in one.sessions}
        assert r.streams._logs.keys() <= r.sessions.open.keys() | ending

    @invariant()
    def every_deadline_belongs_to_something(self) -> None:
        r = self.talk.gateway.parts
        leaving = {
            session
            for provider in r.providers.connected.values()
            for session in provider.sessions.values()
            if session.leaving
        }
        expected = (
            sum(one.standing == "AwaitAuth" for one in r.connections.by_number.values())
            + len(r.calls.pending)
            + len(r.approvals.waiting)
            + sum(one.tools_changed is not None for one in r.sessions.open.values())
            + len(leaving)
            + len(r.providers._departed)
            + len(r.modes._setting)
            + (r.announcements.pending is not None)
            + (r.pairings.next_line is not None)
            + len(r.streams._departed)
            + sum(one.turn_due is not None for one in r.sessions.open.values())
            + sum(
                one.deadline is not None and one.deadline.is_live
                for alarms in (r.alarms._busy, r.alarms._waiting)
                for one in alarms.values()
            )
        )
        assert set(r.alarms._waiting) <= set(r.approvals.waiting)
        assert set(r.alarms._busy) == {one.id for one in r.sessions.open.values() if one.is_busy}
        assert len(r.context.deadlines) == expected

    @invariant()
    def who_is_gone_is_gone(self) -> None:
        r = self.talk.gateway.parts
        open_ = {peer.number for peer in self._open()} | self.talk.ends.keys()
        assert r.connections.by_number.keys() == open_
        towers = {id_ for id_, one in r.connections.by_number.items() if one.standing == "Tower"}
        assert self.talk.gateway.watchers.keys() == towers
        for provider in r.providers.connected.values():
            assert provider.connection.id in open_
            assert provider.connection.provider is provider

    def teardown(self) -> None:
        """Time settles everything."""
        self.talk.records = "kept"
        self.talk.recorded()
        self.talk.wait(EVERYTHING)
        self._listen()
        r = self.talk.gateway.parts
        assert not r.calls.pending
        assert not r.approvals.waiting
        assert not r.modes._setting
        assert not r.providers._departed
        assert not self.talk.builtin._pending
        assert not self.talk.gateway.parts.context.tickets
        assert len(r.context.deadlines) == 0
        open_ = {peer.number for peer in self._open()}
        assert not any(n for (peer, _), n in self.pending.items() if peer in open_)
        self.the_state_is_what_the_registers_say()
        self.everything_is_bounded()
