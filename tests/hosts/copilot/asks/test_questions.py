"""Plans that wait for approval, as forms."""

from tapui.hosts.copilot.asks.questions import plan_form

DETAIL = {
    "summary": "Look, then leap",
    "planContent": "# The plan\n1. Look",
    "actions": ["interactive", "autopilot", "exit_only"],
    "recommendedAction": "autopilot",
}


def test_a_plan_is_shown_whole_with_what_may_follow() -> None:
    form = plan_form(DETAIL)
    assert form["message"] == "The plan is ready: Look, then leap"
    assert form["plan"] == "# The plan\n1. Look"
    then = form["requestedSchema"]["properties"]["then"]
    assert then["enum"] == ["interactive", "autopilot", "exit_only"]
    assert then["default"] == "autopilot"
    assert form["requestedSchema"]["required"] == []


def test_a_plan_without_anything_is_still_a_form() -> None:
    form = plan_form({})
    assert (form["message"], form["plan"]) == ("The plan is ready:", "")
    assert form["requestedSchema"]["properties"]["then"]["enum"] == []
