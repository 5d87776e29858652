"""Private names of Textual and Rich are used in one module, and each of them exists."""

import ast
import asyncio
from pathlib import Path

import pytest
import rich
import textual
from textual.app import App, ComposeResult
from textual.screen import Screen
from textual.widget import Widget
from textual.widgets import Static, TextArea

from tapui.tower.textual import inside

TOWER = Path(inside.__file__).parent.parent


NAMED_TUPLE_NAMES = ("_replace", "_asdict", "_fields")


def is_private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__")


@pytest.mark.parametrize(("owner", "name"), inside.PRIVATE, ids=str)
async def test_each_private_name_exists(owner: type, name: str) -> None:
    async with App[None]().run_test() as pilot:
        screen = pilot.app.screen
        made = (pilot.app, screen, screen._compositor)
        found = [owner, *(one for one in made if isinstance(one, owner))]
        assert any(hasattr(one, name) for one in found)


def used_of_textual(path: Path) -> set[str]:
    """Private names of Textual's or Rich's that a module uses: foreign attributes, and those of
    `self` that it does not define itself."""
    tree = ast.parse(path.read_text())
    functions = (ast.FunctionDef, ast.AsyncFunctionDef)
    own = {node.name for node in ast.walk(tree) if isinstance(node, functions)}
    methods = {
        node.name
        for kind in ast.walk(tree)
        if isinstance(kind, ast.ClassDef)
        for node in kind.body
        if isinstance(node, functions)
    }
    stored = {
        node.attr
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store)
    }
    names = {
        target.id
        for node in ast.walk(tree)
        if isinstance(node, ast.AnnAssign) and isinstance(target := node.target, ast.Name)
    }
    read = {
        node.attr
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute)
        if is_private(node.attr) and node.attr not in NAMED_TUPLE_NAMES
    }
    inherited = textual_names()
    assigned = stored & inherited
    return (read - own - stored - names) | (methods & inherited) | assigned


def textual_names() -> set[str]:
    """All private names of Textual's classes that the tower inherits from."""
    from textual.drivers.linux_driver import LinuxDriver
    from textual.screen import ModalScreen
    from textual.scroll_view import ScrollView
    from textual.widgets import Input, Static

    app = App[None]()
    kinds = (App, LinuxDriver, ModalScreen, ScrollView, Input, Static)
    found = {name for kind in kinds for name in dir(kind)} | set(vars(app))
    screen = ModalScreen[None]()
    for made in (ScrollView(), Static(), screen):
        found |= set(vars(made))
    found |= set(dir(screen._compositor))
    return {name for name in found if is_private(name)}


def test_no_other_module_uses_private_names() -> None:
    used = {
        path.relative_to(TOWER).as_posix(): found
        for path in sorted(TOWER.rglob("*.py"))
        if (found := used_of_textual(path))
    }
    assert used.pop("textual/inside.py") == {name for _owner, name in inside.PRIVATE}
    assert used == {}


def test_no_private_module_is_imported_but_those_that_are_named() -> None:
    for path in TOWER.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] in (
                "textual",
                "rich",
            ):
                if node.module in inside.PRIVATE_MODULES and path.stem == "inside":
                    continue
                parts = [*(node.module or "").split("."), *(one.name for one in node.names)]
                assert [part for part in parts if is_private(part)] == [], path


def test_the_majors_are_bounded() -> None:
    project = (TOWER.parent.parent / "pyproject.toml").read_text()
    for library in (textual, rich):
        assert f'"{library.__name__}>=' in project
        (line,) = [one for one in project.splitlines() if f'"{library.__name__}>=' in one]
        assert ",<" in line


@pytest.mark.parametrize("kind", [inside.LeanScreen, inside.OverScreen])
async def test_a_frame_between_the_end_of_a_widget_and_the_next_layout_is_painted(
    kind: type[Screen[None]],
) -> None:
    screen = kind()
    async with inside.PlainApp().run_test() as pilot:
        await pilot.app.push_screen(screen)
        area = TextArea("some text")
        await screen.mount(area)
        await pilot.pause()
        await area.remove()
        assert area in screen._compositor.full_map, "the layout still has it"
        lines = screen._compositor.render_strips()
        assert "some text" not in "".join(line.text for line in lines)


class Child(Static):
    def __init__(self, gone: asyncio.Event) -> None:
        super().__init__("there")
        self.gone = gone

    def on_unmount(self) -> None:
        self.gone.set()


class Parent(Widget):
    """It looks for its child once that has gone."""

    def __init__(self) -> None:
        super().__init__()
        self.gone = asyncio.Event()

    def compose(self) -> ComposeResult:
        yield Child(self.gone)

    def on_mount(self) -> None:
        self.run_worker(self._look)

    async def _look(self) -> None:
        await self.gone.wait()
        self.query_one(Child)


class ParentApp(inside.PlainApp):
    def compose(self) -> ComposeResult:
        yield Parent()


@pytest.mark.parametrize("ends", ["the widget", "the app"])
async def test_a_worker_ends_before_the_children_that_it_looks_for(ends: str) -> None:
    app = ParentApp()
    async with app.run_test() as pilot:
        parent = app.query_one(Parent)
        await pilot.pause()
        if ends == "the widget":
            await parent.remove()
    assert parent.gone.is_set()
    assert app.crash is None


async def test_what_waits_for_a_frame_is_left_out_once_its_widget_has_ended() -> None:
    app = ParentApp()
    async with app.run_test() as pilot:
        parent = app.query_one(Parent)
        await pilot.pause()
        looked: list[Widget] = []

        def look() -> None:
            looked.append(parent.query_one(Child))

        inside.after_refresh(parent, look)
        await pilot.pause()
        assert len(looked) == 1, "it is done as long as the widget is there"
        goes_on = asyncio.Event()
        app.screen.call_later(goes_on.wait)  # its next frame is late
        inside.after_refresh(parent, look)
        await parent.remove()
        goes_on.set()
        await pilot.pause()
    assert (app.crash, len(looked)) == (None, 1)
