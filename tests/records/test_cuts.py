"""Secrets where a text was cut: no half of one is recorded, before the cut or behind it."""

import re
from collections.abc import Callable, Iterator

import pytest

from tapui.hosts.copilot.session.shells import ShellOutput
from tapui.projection.cuts import Bounds, cut
from tapui.projection.summary import last_line, one_line
from tapui.records.masking import Masks
from tapui.settings.settings import Records
from tapui.wire import events as ev
from tapui.wire import limits, subjects
from tapui.wire.codec import raw
from tests.core.harness import Conversation
from tests.records.test_masking import SECRETS, line_of, posted
from tests.records.turns import stamp

PIECE = 6
"""Characters of a secret that nothing recorded may have."""
WORDS = "made by the build of today, "
STEP = 7
"""A cut goes through each secret at every so many characters."""

Cut = Callable[[str, int], str]
"""Cuts a text so that the cut lies at a place of it; returns what is kept."""


def places(form: str) -> Iterator[tuple[str, str, int]]:
    """Yield the beginning of a secret, its rest, and a place in it at which a text is cut."""
    begun, rest = SECRETS[form]
    for at in range(1, len(begun + rest), STEP):
        yield begun, rest, at


def recorded(text: str) -> bytes:
    return Masks().masked(line_of(posted(text)))


def left_of(rest: str, recorded_line: bytes) -> set[str]:
    """Return the pieces of a secret that a record has; of a key its header is none."""
    secret = re.split("ENCRYPTED|GnuPG v2", rest)[-1].partition("-----END")[0].replace("\n", "")
    pieces = {secret[at : at + PIECE] for at in range(len(secret) - PIECE + 1)}
    text = re.sub(r"\\+n| ⏎ ", "", recorded_line.decode())
    return {one for one in pieces if one in text}


def filled(most: int, between: str = " ") -> str:
    text = WORDS.replace(" ", between)
    return (text * (most // len(text) + 1))[:most]


def shell_output(text: str) -> dict[str, str]:
    output = ShellOutput()
    for number, at in enumerate(range(0, len(text), 5_000)):
        output.add(number, text[at : at + 5_000])
    return output.ends()


@pytest.mark.parametrize("form", SECRETS)
def test_the_kept_end_of_a_shells_output_begins_with_no_rest_of_one(form: str) -> None:
    for begun, rest, at in places(form):
        secret = begun + rest
        behind = filled(limits.MAX_SHELL_TEXT - len(secret) + at)
        for before in (" ", "\n", '"', "x="):
            ends = shell_output(filled(20_000) + before + secret + behind)
            assert left_of(rest, recorded(ends["tail"])) == set(), (before, at)
            assert ends["tail"].endswith(behind[-10_000:])


@pytest.mark.parametrize("form", SECRETS)
def test_the_kept_beginning_of_it_ends_with_no_half_of_one(form: str) -> None:
    for begun, rest, at in places(form):
        ends = shell_output(filled(4 * 1024 - at) + begun + rest + filled(30_000))
        assert left_of(rest, recorded(ends["head"])) == set(), at


@pytest.mark.parametrize("form", SECRETS)
def test_what_follows_a_gap_begins_with_no_rest_of_one(form: str) -> None:
    for _, rest, at in places(form):
        output = ShellOutput()
        output.add(0, "begun")
        output.add(2, rest[at:] + " " + filled(500))
        assert left_of(rest, recorded(output.ends()["tail"])) == set(), at


@pytest.mark.parametrize("form", ["github", "jwt", "bearer", "key"])
def test_a_long_output_of_a_host_that_tells_it_whole(form: str) -> None:
    most = limits.MAX_SHELL_TEXT
    for begun, rest, at in list(places(form))[::3]:
        secret = begun + rest
        head = filled(most - at) + secret
        tail = secret + filled(most - len(secret) + at)
        talk = Conversation()
        host = talk.host()
        host.open("s1", shellTools=["bash"], cwd="/code")
        call = {"tool": "bash", "toolCallId": "t1"}
        host.event("s1", "tool.execution_start", **call, args={"command": "env"})
        result = {"type": "success", "output": head + filled(9 * most) + tail}
        host.event("s1", "tool.execution_complete", **call, result=result, shell={"id": "1"})
        (told,) = [one.event for one in talk.entries if isinstance(one.event, ev.CallFinished)]
        assert told.call.shell is not None
        assert told.call.shell.head
        assert told.call.shell.tail.endswith(tail[-10_000:])
        assert left_of(rest, Masks().masked(line_of(told))) == set(), at


def _last_line(text: str, at: int) -> str:
    return last_line(f"{filled(1_000)} {text}{filled(limits.MAX_SUMMARY - len(text) + at - 1)}")


def _one_line(text: str, at: int) -> str:
    return one_line(filled(limits.MAX_SUMMARY - 1 - at) + text + filled(1_000))


def _args(text: str, at: int) -> str:
    data = raw({"a": filled(limits.CUT_HEAD - at - 6) + text + filled(9_000)})
    kept = cut(data, limits.DETAIL_BYTES)[1]
    assert kept is not None
    return kept.head


def _field(text: str, at: int) -> str:
    prompt = filled(limits.CUT_HEAD - at) + text + filled(90_000)
    line = subjects.Line(1, stamp(1), "keep", prompt)
    bounded = Bounds(Records().inline).bounded(ev.StreamPosted("s1", "log@ci", line))
    return bounded.line.event + bounded.cuts["line.event"].head


@pytest.mark.parametrize("way", [_last_line, _one_line, _args, _field])
def test_other_texts_that_are_cut(way: Cut) -> None:
    for form in SECRETS:
        for begun, rest, at in places(form):
            if at < limits.MAX_SUMMARY - 20:
                assert left_of(rest, recorded(way(begun + rest, at))) == set(), (form, at)


def test_a_long_word_stays_where_it_cannot_be_the_half_of_one() -> None:
    assert one_line("x" * 500) == "x" * (limits.MAX_SUMMARY - 1) + "…"
    assert last_line("# Done\n" + "all tests pass " * 40).endswith("pass")
