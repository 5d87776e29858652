"""What happens next: the line at the lower edge of a request's sheet."""

from textual.content import Content

from tapui.projection import asking
from tapui.projection.state import is_waiting
from tapui.tower.plain import plain
from tapui.tower.requests import Option
from tapui.wire import subjects


def prompt_line(
    approval: subjects.Approval | None,
    *,
    chosen: Option | None,
    trouble: str,
    is_sent: bool,
    is_in_form: bool,
) -> Content:
    """Return what Enter does, or what to press before.

    `trouble` is why the last key did not count, `is_in_form` whether the person is at a field of a
    question or a form.
    """
    if approval is None:
        return plain("It waits no longer.", "$text-muted")
    if not is_waiting(approval):
        return plain(asking.outcome(approval), "$text-muted", limit=200)
    if is_sent:
        return plain("sent, waiting for the gateway …", "$text-muted")
    told = plain(f"{trouble}  " if trouble else "", "bold $error", limit=300)
    if chosen is not None:
        return told + _then(chosen)
    if approval.state == "revealed":
        return told + plain("Enter this code on the page that asks for it.")
    if is_in_form:
        is_form = approval.kind == "elicitation"
        enter = "goes on, in the last field to your answer." if is_form else "takes this answer."
        return told + plain(f"Enter {enter} Esc leaves the field.", "$text-muted")
    choose = "  Space chooses sessions." if approval.kind == "pairing" else ""
    return told + plain(f"A letter, then Enter.{choose}", "$text-muted")


def _then(option: Option) -> Content:
    allows = option.answer in ("allow", "keep", "make-rule")
    tone = "bold $success" if allows else "bold $error"
    rest = plain("    Esc takes the choice back", "$text-muted")
    return plain(f"Enter {option.enter}", tone) + rest
