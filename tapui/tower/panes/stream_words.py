"""The lines above and below the tail: what is shown, and how it stands."""

from textual.content import Content

from tapui.projection.state import StreamKey
from tapui.tower.levels import SHOWN_LEVELS
from tapui.tower.panes.tail import Tail
from tapui.tower.plain import plain
from tapui.tower.view import View


def heading(view: View, shown: list[StreamKey], selected: StreamKey | None) -> Content:
    """Return which streams are shown, with the number of their lines."""
    streams = view.state.streams
    if len(shown) > 1:
        total = sum(streams[key].count for key in shown if key in streams)
        names = ", ".join(key[1] for key in shown)
        return Content("").join(
            [
                plain(f"{len(shown)} streams", "bold"),
                plain(f"  {total:,} lines", "$text-muted"),
                plain(f"  {names}", "$text-muted", limit=120),
            ]
        )
    key = shown[0] if shown else selected
    stream = streams.get(key) if key else None
    if stream is None:
        return Content("")
    note = "" if shown else "  muted: stored, not shown"
    return Content("").join(
        [
            plain(stream.name, "bold"),
            plain(f"  {view.session_name(stream.session_id)}", "$text-muted", limit=66),
            plain(f"  {stream.count:,} lines{note}", "$text-muted"),
        ]
    )


def standing(tail: Tail) -> Content:
    """Return how the tail stands, what is missed, and what the filter leaves."""
    lines = tail.lines
    unseen = lines.unseen()
    about = "up to " if lines.is_sieved and lines.is_frozen else ""
    new = f"{about}{unseen:,} new"
    if lines.is_paused:
        state = plain(f"‖ paused, {new} — Space to resume", "$warning")
    elif lines.is_following:
        state = plain("● following", "$success")
    elif unseen:
        state = plain(f"↓ {new} — End to follow", "$accent")
    else:
        state = plain("○ not following — End to follow", "$text-muted")
    parts = [state]
    if lines.levels != SHOWN_LEVELS[0][1]:
        shown = [level for level in ("keep", "surface", "inject") if level in lines.levels]
        parts.append(plain(f"  {' and '.join(shown)} only", "bold"))
    if lines.filter:
        parts.append(plain(f"  / {lines.filter.text}", "bold", limit=32))
    if lines.is_sieved:
        parts.append(plain(f"  {len(lines.rows):,} of {lines.count:,} match", "$text-muted"))
    if lines.undecided:
        parts.append(plain(f", {lines.undecided:,} could not be matched", "$warning"))
    if tail.is_wrapped:
        parts.append(plain("  wrapped", "$text-muted"))
    elif tail.scroll_offset.x:
        parts.append(plain(f"  → {tail.scroll_offset.x}", "$text-muted"))
    return Content("").join(parts)
