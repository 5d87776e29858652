"""What a session is called: as Copilot calls it, where that says something to the person."""

from tapui.wire.message import UPDATE_MARK


def session_label(title: str | None) -> str | None:
    """Return the label of a session with this title, which often is its first prompt.

    None for one that a background event began: it is what woke the session, not what it is about.
    """
    text = (title or "").strip()
    if not text or text.startswith(UPDATE_MARK):
        return None
    return text.splitlines()[0].strip()
