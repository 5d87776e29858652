"""Text from outside, in every field that a screen shows, never reaches the terminal raw."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.rig.peers import Host, Json, Provider
from tests.rig.tower import PANES, TowerProcess

MARK = "hOsTiLe"
MAIN = r"q quit"
"""In the footer while the panes have the keys, and not while a sheet lies over them."""
BIDI = "\u202e\u2066\u061c"
ZERO_WIDTH = "\u200b\u200d\ufeff\u2060"
SEPARATORS = "\u2028\u2029"
TAGS = "\U000e0041\U000e0042"
PRIVATE_USE = "\ue000\U000f0000"
CORPUS = {
    "clipboard and title": "\x1b]52;c;aE9zVGlMZQ==\x07\x1b]0;hOsTiLe\x07",
    "links": "\x1b]8;;http://h.example/\x1b\\\x9d8;;http://h.example/\x9c",
    "terminal commands": "\x9b31m\x1b[6n\x1bP+q544e\x1b\\\x1b[?1049l\x1bc",
    "controls": "\x00\x07\x08\x0b\x0c\r\x7f\x85",
    "invisible": f"{BIDI}{ZERO_WIDTH}{SEPARATORS}{TAGS}{PRIVATE_USE}",
    "marks": "a" + "\u0301" * 30,
    "markup": "x[/][@click=app.bell]y[/][link=http://h/]z[bold",
}
RAW = (
    b"\x1b]52;",
    b"\x1b]8;",
    b"\x1b]0;hOsTiLe",
    b"\x1b[6n\x1bP+q",
    b"\x1bc",
    b"\x07h",
    b"\x00",
    b"\x7f",
    *(chr(code).encode() for code in range(0x80, 0xA0)),
    *(char.encode() for char in BIDI + ZERO_WIDTH + SEPARATORS + TAGS + PRIVATE_USE),
    "\u0301\u0301\u0301".encode(),
)


KINDS = {
    "commands": ("clipboard and title", "links", "terminal commands", "controls"),
    "characters": ("invisible", "marks", "markup"),
}


def hostile(kind: str, first: int = 0) -> str:
    """Return the texts of a kind, each with a mark on both sides, the one of this number first."""
    names = KINDS[kind]
    return "".join(f"{MARK}{CORPUS[name]}{MARK}" for name in (*names[first:], *names[:first]))


def form_of(text: str) -> Json:
    """Return a schema with a text in every place that a form shows."""
    about = {"title": text, "description": text}
    flat = {
        f"{text}1": {"type": "string", **about},
        f"{text}2": {"enum": [text, {text: text}], **about},
        f"{text}3": {"type": "array", "default": [text], **about},
    }
    return {"type": "object", "properties": flat}


async def _workbench(tower: TowerProcess, provider: Provider, text: str) -> None:
    """Call a tool of the provider's by its form, then look at one that has none."""
    screen = tower.screen
    screen.keys(PANES["providers"], ".", "c")
    await screen.seen("2 tools")
    screen.keys("f", "o", "r", "m")
    await screen.seen("1 of 2")
    screen.keys("Enter")
    await screen.seen("the arguments fit")
    screen.keys("x", "C-r")
    call = await provider.expect("tool.call", tool="form")
    assert call["args"] == {f"{text}1": "x", f"{text}3": [text]}
    await provider.send({"type": "tool.progress", "id": call["id"], "message": text})
    await screen.seen("progress")
    await provider.send({"type": "tool.result", "id": call["id"], "data": {text: [text]}})
    await screen.seen("✓ done")
    screen.keys("C-r")
    call = await provider.expect("tool.call", tool="form")
    failed = {"error": text, "errorCode": "INTERNAL"}
    await provider.send({"type": "tool.result", "id": call["id"], **failed})
    await screen.seen("error INTERNAL")
    screen.keys("C-t")
    await screen.seen(r"\\u|x\[/\]")
    screen.keys("Escape", "Escape")
    await screen.seen(MAIN)


async def _turns(tower: TowerProcess, host: Host, text: str) -> None:
    """Look at a turn and at each of its steps, in full."""
    for event, data in (
        ("user.message", {"content": text, "from": text}),
        ("assistant.message", {"content": text}),
        ("session.error", {"message": text, "errorType": text}),
        ("assistant.intent", {"intent": text}),
    ):
        await host.send({"type": "session.event", "sessionId": "s1", "event": event, "data": data})
    screen = tower.screen
    screen.keys("2")
    await screen.seen(rf"2 Turns: .*\n.* ▾ 2 +{MARK}")
    screen.keys("Home", ".", "o")
    await screen.seen("prompt")
    screen.keys("v", "q")
    await screen.seen(MAIN)
    for _step in range(2):
        screen.keys("j", ".", "o")
        await screen.gone(MAIN)
        await screen.seen(MARK)
        screen.keys("v", "q")
        await screen.seen(MAIN)


async def _inspector(tower: TowerProcess, provider: Provider, push: Json) -> None:
    """Look at a provider's conversation, and at one message of it."""
    screen = tower.screen
    screen.keys(PANES["providers"], ".", "i")
    await screen.seen("Nothing has been said since")
    await provider.send(push)
    await screen.seen("push")
    screen.keys("Enter")
    await screen.seen("metadata")
    screen.keys("q", "q")
    await screen.seen(MAIN)


async def _together(tower: TowerProcess) -> None:
    """Look at two streams together, wrapped."""
    screen = tower.screen
    screen.keys(PANES["streams"], "z", "m", "]", "m")
    await screen.seen(rf"\+ {MARK}.*\n.*\+ {MARK}")
    screen.keys("y")
    await screen.seen("wrapped")
    screen.keys("z")


async def _find(tower: TowerProcess) -> None:
    """Find the texts in the records, and look at the newest: a line, which has a sheet of its own.

    What the tower still has on its main screen, a call or an error, would be shown there.
    """
    screen = tower.screen
    screen.keys("f")
    screen.type(MARK.lower())
    await screen.seen(rf"▌\S+ +line .*{MARK}")
    screen.keys("Enter")
    await screen.seen("kind")
    screen.keys("Escape", "Escape")
    await screen.seen(MAIN)


def names(kind: str) -> list[str]:
    """Return names with the texts of a kind in them, as long as names may be."""
    return [f"{MARK}{CORPUS[one]}".replace("@", "")[:60] for one in KINDS[kind]]


@pytest.mark.parametrize("name", KINDS)
async def test_hostile_text_is_shown_escaped(
    start_tower: Callable[..., TowerProcess], tmp_path: Path, name: str
) -> None:
    record = tmp_path / "bytes"
    text, other, called = hostile(name), hostile(name, 1), names(name)
    tower = start_tower(size=(160, 45), record=record)
    host = await Host.hello(tower.url, tower.internal_token, name=text)
    await host.open("s1", label=text, cwd=f"/{text}", model=text, foreground=True)
    tool = {"name": "greet", "description": text, "parameters": {"description": text}}
    form = {"name": "form", "description": text, "parameters": form_of(text)}
    provider = await Provider.bind(
        tower.url, tower.token, name=called[-1], tools=[tool, form], session="s1"
    )
    metadata = {text: text}
    push = {"type": "push", "level": "keep", "event": text, "metadata": metadata}
    for stream in called:
        await provider.send({**push, "stream": stream})
    await host.invoke("s1", "greet", {text: text})
    call = await provider.expect("tool.call")
    await provider.send({"type": "tool.progress", "id": call["id"], "message": text})
    await host.invoke("s1", "greet", {}, id_="i2")
    await provider.answer(error=text, errorCode="INTERNAL")
    await host.send(
        {
            "type": "approval.request",
            "id": "r1",
            "sessionId": "s1",
            "kind": "permission",
            "detail": {"kind": "shell", "fullCommandText": text, text: [text]},
        }
    )
    await tower.screen.seen("! 1 waiting")
    await tower.screen.seen(MAIN)
    opens = [[PANES[pane], "Enter"] for pane in ("sessions", "providers", "calls", "streams")]
    for keys in opens:
        tower.screen.keys(*keys)
        await tower.screen.gone(MAIN)
        await tower.screen.seen(MARK)
        tower.screen.keys("q")
        await tower.screen.seen(MAIN)
    tower.screen.keys("a")
    await tower.screen.seen("A letter, then Enter")
    await tower.screen.seen(MARK)
    tower.screen.keys("Escape")
    await tower.screen.gone("A letter, then Enter")
    await _workbench(tower, provider, text)
    await _turns(tower, host, other)
    await _inspector(tower, provider, {**push, "event": other, "stream": called[0]})
    await _together(tower)
    await _find(tower)
    written = record.read_bytes()
    assert MARK.encode() in written
    assert [raw for raw in RAW if raw in written] == []
    if name == "characters":
        assert "x[/][@click" in tower.screen.text()
    for peer in (provider, host):
        await peer.close()
