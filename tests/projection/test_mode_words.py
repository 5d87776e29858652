"""Whose a session's mode is, and what was refused, in words."""

from typing import Any

from tapui.projection.requests.kinds import kind_of
from tapui.projection.requests.request_kind import RequestContext
from tapui.projection.state import State
from tapui.projection.words import mode_words, refused_mode
from tapui.wire.subjects import Approval, ModeRefusal, ModeStanding, Session

SESSION = Session("s1", "one", "/", "idle", "copilot", [], "2026-01-01T00:00:00Z", mode="plan")
AT = "2026-01-01T00:00:01Z"


def test_a_mode_and_whose_it_is() -> None:
    state = State(sessions={"s1": SESSION})
    assert (mode_words(state, SESSION), refused_mode(state, SESSION)) == ("plan", None)
    state.modes["s1"] = ModeStanding("s1", "userOwned", "you", AT)
    assert mode_words(state, SESSION) == "plan, userOwned: set by you"
    refused = ModeRefusal("autopilot", "subagent", "never", "setting", "the setting is never", AT)
    state.modes["s1"] = ModeStanding("s1", "modelOwned", "setting", AT, refused)
    assert mode_words(state, SESSION) == "plan, modelOwned: allowed by a setting"
    told = "autopilot, asked by a subagent (never): the setting is never"
    assert refused_mode(state, SESSION) == told


def remarks(**detail: Any) -> list[str]:
    approval = Approval("a1", "mode", "waiting", detail, AT, AT, session_id="s1")
    context = RequestContext(State(sessions={"s1": SESSION}), str)
    return [str(one.text) for one in kind_of(approval).remarks(context, approval)]


def test_the_request_names_the_setting_that_has_it_asked() -> None:
    given = {"from": "plan", "to": "autopilot", "askedBy": "commandLine", "policy": "ask"}
    wanted = "a command wants it: modes.command-line-to-autopilot is ask"
    assert wanted in remarks(**given)
    # Records of other versions, and what is no mode.
    for name, value in (("to", "party"), ("askedBy", ["agent"]), ("policy", None)):
        assert wanted not in remarks(**{**given, name: value})
