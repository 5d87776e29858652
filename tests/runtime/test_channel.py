"""Lines between tapui and its children: cut anywhere, too long, no messages, not read."""

import asyncio
import signal
import socket
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Raw, Struct

from tapui.runtime.children.channel import MAX_UNSENT, WEIGHT_A_TURN, Channel, UnreadError
from tapui.runtime.children.lines import (
    ENDS,
    MAX_LINE_BYTES,
    LineCodec,
    LineError,
    LineSplitter,
    LongLine,
)
from tapui.secret import Secret
from tests.rig.waiting import until_async
from tests.runtime.children import ON_BOTH_LOOPS, READY, WAITS, Lines, Test, loop, python, run  # noqa: F401 - fixtures


class Said(Struct, tag="said", tag_field="type", frozen=True):
    text: str
    more: Raw = Raw(b"null")


class Shown(Struct, tag="shown", tag_field="type", frozen=True):
    token: Secret


CODEC: LineCodec[Said | Shown] = LineCodec(Said | Shown)
MENDING: LineCodec[Said] = LineCodec(Said, mends=True)


@given(st.lists(st.text(max_size=20).map(Said)), st.integers(1, 30))
def test_messages_arrive_however_they_are_cut(messages: list[Said], size: int) -> None:
    data = b"".join(map(MENDING.encode, messages))
    splitter = LineSplitter()
    parts = (data[at : at + size] for at in range(0, len(data), size))
    found = [MENDING.decode(line) for part in parts for line in splitter.feed(part)]
    assert [one.text for one in found] == [one.text for one in messages]
    assert not list(splitter.finish())


def test_a_line_too_long_leaves_its_ends_and_the_lines_behind_it() -> None:
    splitter = LineSplitter()
    begin, rest = b"b" * ENDS, b"x" * MAX_LINE_BYTES
    data = begin + rest + b"end\n" + CODEC.encode(Said("after")) + b"last"
    found = [one for at in range(0, len(data), 65_537) for one in splitter.feed(data[at:][:65_537])]
    long, after = found
    assert isinstance(long, LongLine)
    assert (long.size, long.first) == (ENDS + MAX_LINE_BYTES + 3, begin)
    assert long.last == b"x" * (ENDS - 3) + b"end"
    with pytest.raises(LineError, match="a message of"):
        CODEC.decode(long)
    assert CODEC.decode(after) == Said("after")
    assert list(splitter.finish()) == [b"last"]


def test_what_cannot_be_a_line_is_refused_or_mended() -> None:
    with pytest.raises(LineError, match="a message of"):
        CODEC.encode(Said("x" * MAX_LINE_BYTES))
    with pytest.raises(LineError, match="encoded"):
        CODEC.encode(Said("\udcff"))
    assert MENDING.decode(MENDING.encode(Said("a\ud83d"))).text == "a\ufffd"
    assert CODEC.encode(Said("a\nb", Raw(b'{"a":\r\n1}'))).count(b"\n") == 1


@pytest.mark.parametrize(
    "line", [b"", b"nonsense s3cr3t", b'{"type":"other s3cr3t"}', b"[" * 100_000, b"\xff"]
)
def test_what_is_no_message_is_refused_without_quoting_it(line: bytes) -> None:
    with pytest.raises(LineError) as refused:
        CODEC.decode(line)
    assert "s3cr3t" not in str(refused.value)


def test_a_token_crosses_the_line_and_shows_nowhere_else() -> None:
    read = CODEC.decode(CODEC.encode(Shown(Secret("s3cr3t"))))
    assert isinstance(read, Shown)
    assert read.token.reveal() == "s3cr3t"
    assert "s3cr3t" not in repr(read)


async def opened(
    on_message: Callable[[Said | Shown], None],
    on_bad_line: Callable[[LineError], None] | None = None,
    weight: int = 1,
) -> tuple[Channel[Said | Shown], socket.socket]:
    ours, theirs = socket.socketpair()
    channel = Channel(
        "the child", CODEC, on_message, on_bad_line=on_bad_line, weight=lambda _: weight
    )
    await channel.open(ours)
    return channel, theirs


@pytest.mark.expects_error_log("the child sent what is no message")
async def test_a_process_that_sends_no_messages_is_let_go() -> None:
    taken: list[Said | Shown] = []
    channel, theirs = await opened(taken.append)
    with theirs:
        theirs.sendall(CODEC.encode(Said("before")) + b"nonsense\n" + CODEC.encode(Said("after")))
        await asyncio.wait_for(channel.ended, 15)
        channel.send(Said("dropped"))
    assert taken == [Said("before")]


async def test_where_bad_lines_are_taken_the_others_still_come() -> None:
    taken: list[object] = []
    channel, theirs = await opened(taken.append, taken.append)
    with theirs:
        theirs.sendall(b"nonsense\n" + CODEC.encode(Said("after")))
    await asyncio.wait_for(channel.ended, 15)
    assert isinstance(taken[0], LineError)
    assert taken[1:] == [Said("after")]


@pytest.mark.expects_error_log("a message of the child was not taken")
async def test_a_message_that_cannot_be_taken_holds_up_no_other() -> None:
    taken: list[Said | Shown] = []

    def take(message: Said | Shown) -> None:
        if message == Said("bad"):
            raise LookupError("not foreseen")
        taken.append(message)

    channel, theirs = await opened(take)
    with theirs:
        theirs.sendall(b"".join(map(CODEC.encode, [Said("bad"), Said("good")])))
    await asyncio.wait_for(channel.ended, 15)
    assert taken == [Said("good")]


@pytest.mark.parametrize("weight", [1, WEIGHT_A_TURN])
async def test_messages_are_handed_over_a_few_a_turn_and_all_before_the_end(weight: int) -> None:
    taken: list[Said | Shown] = []
    channel, theirs = await opened(taken.append, weight=weight)
    few = WEIGHT_A_TURN // weight
    sizes: set[int] = set()
    with theirs:
        theirs.sendall(CODEC.encode(Said("x")) * (3 * few))
        while len(taken) < 3 * few:
            sizes.add(len(taken))
            await asyncio.sleep(0)
        theirs.sendall(CODEC.encode(Said("x")) * (3 * few))
    await asyncio.wait_for(channel.ended, 15)
    assert {few, 2 * few} <= sizes
    assert len(taken) == 6 * few


async def test_a_process_that_reads_nothing_is_not_sent_more_than_a_bound() -> None:
    channel, theirs = await opened(lambda _: None)
    large = Said("x" * (10 * 1024 * 1024))
    with theirs:
        for _ in range(MAX_UNSENT // (10 * 1024 * 1024)):
            channel.send(large)
        waiting = asyncio.create_task(channel.drained())
        with pytest.raises(UnreadError):
            channel.send(large)
        assert not waiting.done()
    await asyncio.wait_for(channel.ended, 15)
    await waiting


ECHO = """
import socket, sys
end = socket.socket(fileno=int(sys.argv[-1]))
for line in end.makefile("rb"):
    end.sendall(line)
"""


@ON_BOTH_LOOPS
def test_a_child_has_the_other_end_and_ends_with_it(run: Callable[[Test], None]) -> None:  # noqa: F811
    async def test() -> None:
        taken: list[Said | Shown] = []
        channel = Channel("the child", CODEC, taken.append)
        child = await channel.start(python(ECHO), Lines())
        said = [Said("x" * size) for size in (1, 200_000, 3)]
        for one in said:
            channel.send(one)
        await until_async(lambda: len(taken) == len(said), what="all came back")
        channel.close()
        assert (await channel.end_of(child, 15)).code == 0
        assert taken == said

    run(test)


LEAVES = "import os, sys; os.close(int(sys.argv[-1]))\n"


@pytest.mark.parametrize("program", [LEAVES + READY + WAITS, READY + WAITS])
def test_a_child_that_does_not_read_ends_all_the_same(
    run: Callable[[Test], None],  # noqa: F811
    program: str,
) -> None:
    async def test() -> None:
        lines = Lines()
        channel = Channel("the child", CODEC, lambda _: None)
        child = await channel.start(python(program), lines)
        channel.send(Said("x" * 1_000_000))
        await lines.until("ready")
        if LEAVES not in program:
            child.kill()
        assert (await channel.end_of(child, 0.05)).signal == signal.SIGKILL

    run(test)
