"""What an agent is told of tapui with its first prompt."""

import pytest

from tapui.core.emitters.introduction import USUAL
from tapui.settings.settings import Briefing, Settings
from tests.core.harness import Conversation, Peer
from tests.core.hooks.test_prompts import contexts
from tests.core.runner import EmitterShell, entry
from tests.core.sessions.test_starts import opens, start, starter


def begun(talk: Conversation, *, words: str = "") -> Peer:
    """Return a host; the built-in tools are there, and emitters can be run."""
    talk.tools()
    talk.runner.begin()
    return talk.host()


def test_it_is_told_once_what_tap_offers_and_what_is_there(talk: Conversation) -> None:
    host = begun(talk)
    host.open("s1", cwd="/repo")
    talk.runner.write(
        "/repo",
        entry("ci", kind="timed", every=300, stream="ops"),
        entry("mine", ownership="modelOwned", auto_start=False),
        allows=True,
    )
    talk.runner.starts("ci")
    talk.runner.says("failed", name="ci")
    (told,) = contexts(host)
    assert told.split("\n") == [
        USUAL,
        "Emitters: ci (every 5m, the person's: running), mine (all the time, yours: configured).",
        "Streams: ops@tap.",
    ]
    assert contexts(host) == []


def test_without_emitters_and_streams_it_is_told_of_the_tools(talk: Conversation) -> None:
    host = begun(talk)
    host.open("s1", cwd="/repo")
    assert contexts(host) == [USUAL]


def test_it_comes_before_what_providers_say(talk: Conversation) -> None:
    host = begun(talk)
    host.open("s1", cwd="/repo")
    talk.provider("s1", startup_context="hello")
    assert contexts(host) == [USUAL, "hello"]


def test_a_session_that_takes_anothers_place_is_told_anew_with_what_goes_on(
    talk: Conversation,
) -> None:
    host = begun(talk)
    host.open("s1", cwd="/repo")
    talk.runner.write("/repo", entry("ci"), allows=True)
    talk.runner.starts("ci")
    assert len(contexts(host)) == 1
    host.open("s2", cwd="/repo", replaces="s1")
    (told,) = contexts(host, "s2")
    assert "Emitters: ci (all the time, the person's: running)." in told
    assert contexts(host, "s2") == []


def test_another_session_of_the_folder_hears_of_the_same_streams(talk: Conversation) -> None:
    host = begun(talk)
    host.open("s1", cwd="/repo")
    talk.runner.write("/repo", entry("ci", stream="ops"), allows=True)
    talk.runner.starts("ci")
    talk.runner.says("a line", name="ci")
    host.open("s2", cwd="/repo")
    assert contexts(host, "s2")[0].endswith("Streams: ops@tap.")


@pytest.mark.parametrize(
    ("agent", "told"),
    [(Briefing(told=False), []), (Briefing(words="Use tap."), ["Use tap."])],
)
def test_the_person_can_choose_the_words_or_none(agent: Briefing, told: list[str]) -> None:
    talk = Conversation(Settings(agent=agent))
    host = begun(talk)
    host.open("s1", cwd="/repo")
    assert contexts(host) == told


def test_nothing_is_told_where_emitters_are_not_run(talk: Conversation) -> None:
    talk.tools()
    host = talk.host()
    host.open("s1", cwd="/repo")
    assert contexts(host) == []
    talk.runner.begin()
    assert contexts(host) == [USUAL]


def test_nothing_is_told_in_a_session_in_which_nobody_is_asked(
    talk: Conversation, shell: EmitterShell
) -> None:
    talk.tools()
    host = starter(talk)
    start(talk.tower(name="tapui run"), unattended=True)
    opens(host, host.hear_one("session.start"))
    assert contexts(host, "s9") == []


def test_of_many_the_first_are_named_and_the_others_counted(talk: Conversation) -> None:
    host = begun(talk)
    host.open("s1", cwd="/repo")
    talk.runner.write("/repo", *(entry(f"e{number:02}", auto_start=False) for number in range(23)))
    (told,) = contexts(host)
    assert told.endswith("e19 (all the time, the person's: configured) and 3 more.")
