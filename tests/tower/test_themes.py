"""The themes are readable, wrong ones are refused with one line, and a wheel carries them."""

import itertools
import math
import os
import zipfile
from pathlib import Path

import pytest
from textual.app import App, ComposeResult
from textual.color import Color
from textual.widgets import DataTable, Input, Static

from tapui.tower.themes import theme_files, themes
from tapui.tower.themes.themes import ThemeChoice

LEAST = {
    "tapui-dark": 4.5,
    "tapui-light": 4.5,
    "tapui-high-contrast": 7.0,
    "tapui-colour-blind": 4.5,
}
"""The contrast that each theme's texts have at least."""
TERMINAL = "tapui-terminal"
BUILTIN = (*LEAST, TERMINAL)
BORDERS = ("border-blurred", "primary")
GROUNDS = ("background", "surface", "panel")
TEXTS = (
    "foreground", "text", "text-muted", "foreground-muted", "text-primary", "text-secondary",
    "text-accent", "text-success", "text-warning", "text-error", "primary", "secondary", "accent",
    "success", "warning", "error",
)  # fmt: skip
PAIRS = (
    ("block-cursor-foreground", "block-cursor-background"),
    ("block-cursor-blurred-foreground", "block-cursor-blurred-background"),
    ("footer-key-foreground", "footer-background"),
    ("footer-description-foreground", "footer-background"),
    ("input-selection-foreground", "input-selection-background"),
    ("input-cursor-foreground", "input-cursor-background"),
)


def luminance(color: Color) -> float:
    def linear(part: int) -> float:
        share = part / 255
        return share / 12.92 if share <= 0.04045 else ((share + 0.055) / 1.055) ** 2.4

    return 0.2126 * linear(color.r) + 0.7152 * linear(color.g) + 0.0722 * linear(color.b)


def ratio(text: Color, ground: Color) -> float:
    brighter, darker = sorted((luminance(text), luminance(ground)), reverse=True)
    return (brighter + 0.05) / (darker + 0.05)


def resolved(value: str, ground: Color) -> Color:
    """Return what the terminal shows for the CSS colour `value` on `ground`."""
    name, _, percent = value.partition(" ")
    alpha = float(percent.rstrip("%")) / 100 if percent else 1.0
    if name == "auto":
        return ground + ground.get_contrast_text(alpha)
    return ground + Color.parse(name).multiply_alpha(alpha)


def test_the_contrast_formula_is_that_of_wcag() -> None:
    assert ratio(Color.parse("#fff"), Color.parse("#000")) == pytest.approx(21)
    assert ratio(Color.parse("#777"), Color.parse("#fff")) == pytest.approx(4.48, abs=0.01)


@pytest.mark.parametrize(("name", "least"), LEAST.items())
def test_all_text_of_a_theme_has_enough_contrast(name: str, least: float) -> None:
    found, problems = themes.load([theme_files.builtin_folder()])
    assert problems == []
    theme = found[name]
    variables = {**theme.to_color_system().generate(), **theme.variables}
    weak = []
    for ground_name in GROUNDS:
        ground = Color.parse(variables[ground_name])
        for text_name in TEXTS:
            contrast = ratio(resolved(variables[text_name], ground), ground)
            if contrast < least:
                weak.append((text_name, ground_name, round(contrast, 2)))
        for border in BORDERS:
            contrast = ratio(resolved(variables[border], ground), ground)
            if contrast < 3:
                weak.append((border, ground_name, round(contrast, 2)))
    for text_name, ground_name in PAIRS:
        ground = resolved(variables[ground_name], Color.parse(variables["background"]))
        contrast = ratio(resolved(variables[text_name], ground), ground)
        if contrast < least:
            weak.append((text_name, ground_name, round(contrast, 2)))
    assert weak == []


def test_without_colours_no_word_is_fainter_than_the_rest() -> None:
    theme = themes.without_colours(themes.load([theme_files.builtin_folder()])[0]["tapui-dark"])
    assert {theme.primary, theme.warning, theme.error, theme.success} == {theme.foreground}


def linear(color: Color) -> tuple[float, float, float]:
    def one(part: int) -> float:
        share = part / 255
        return share / 12.92 if share <= 0.04045 else ((share + 0.055) / 1.055) ** 2.4

    return one(color.r), one(color.g), one(color.b)


def times_matrix(
    matrix: tuple[tuple[float, float, float], ...], color: tuple[float, ...]
) -> tuple[float, ...]:
    return tuple(sum(a * b for a, b in zip(row, color, strict=True)) for row in matrix)


DEUTERANOPIA = (
    (0.367322, 0.860646, -0.227968),
    (0.280085, 0.672501, 0.047413),
    (-0.011820, 0.042940, 0.968881),
)
"""How people without green cones see linear RGB (Machado, Oliveira and Fernandes, 2009)."""


def perceived(color: Color) -> tuple[float, ...]:
    """Return a colour as people with deuteranopia see it, in Oklab: distances are alike there."""
    seen = tuple(min(max(part, 0.0), 1.0) for part in times_matrix(DEUTERANOPIA, linear(color)))
    cones = times_matrix(
        (
            (0.4122214708, 0.5363325363, 0.0514459929),
            (0.2119034982, 0.6806995451, 0.1073969566),
            (0.0883024619, 0.2817188376, 0.6299787005),
        ),
        seen,
    )
    return times_matrix(
        (
            (0.2104542553, 0.7936177850, -0.0040720468),
            (1.9779984951, -2.4285922050, 0.4505937099),
            (0.0259040371, 0.7827717662, -0.8086757660),
        ),
        tuple(cone ** (1 / 3) for cone in cones),
    )


def distance(one: Color, other: Color) -> float:
    return math.dist(perceived(one), perceived(other))


def test_without_green_cones_the_three_states_are_told_apart() -> None:
    found, _ = themes.load([theme_files.builtin_folder()])
    theme = found["tapui-colour-blind"]
    states = [Color.parse(name or "") for name in (theme.warning, theme.error, theme.success)]
    apart = [distance(one, other) for one, other in itertools.combinations(states, 2)]
    assert min(apart) > 0.2
    red, green = Color.parse("#ff7b72"), Color.parse("#67c98a")
    assert distance(red, green) < 0.05, "the measure sees what such people see"


def test_what_waits_has_a_colour_of_its_own() -> None:
    found, _ = themes.load([theme_files.builtin_folder()])
    for theme in found.values():
        others = (theme.primary, theme.secondary, theme.accent, theme.success, theme.error)
        assert theme.warning not in others
        shown = {**theme.to_color_system().generate(), **theme.variables}
        assert shown["footer-key-foreground"] != theme.warning


def test_the_terminals_own_theme_names_no_other_colour() -> None:
    found, _ = themes.load([theme_files.builtin_folder()])
    theme = found[TERMINAL]
    assert theme.ansi
    colors = [theme.primary, theme.background, theme.foreground, theme.warning, theme.error]
    assert {color for color in colors if not (color or "").startswith("ansi_")} == set()
    assert theme.background == theme.surface == theme.panel == "ansi_default"
    shown = ("border-blurred", "text-muted", "footer-key-foreground", "foreground-muted")
    texts = {key: theme.variables[key] for key in shown}
    assert "ansi_black" not in texts.values()


async def test_without_colour_the_terminals_own_theme_gives_way(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    app: App[str] = App()
    async with app.run_test():
        assert ThemeChoice(app, [theme_files.builtin_folder()], None).begin(TERMINAL) == []
        assert app.theme == "tapui-dark"


def test_the_builtin_themes_are_these_five() -> None:
    found, problems = themes.load([theme_files.builtin_folder()])
    assert (sorted(found), problems) == (sorted(BUILTIN), [])
    assert [found[name].dark for name in BUILTIN] == [True, False, True, True, True]


class Shown(App[None]):
    def compose(self) -> ComposeResult:
        yield Static("text")
        yield Input("text")
        yield DataTable()


async def test_textual_accepts_every_builtin_theme_live() -> None:
    found, _ = themes.load([theme_files.builtin_folder()])
    app = Shown()
    async with app.run_test() as pilot:
        for theme in found.values():
            app.register_theme(theme)
            app.theme = theme.name
            await pilot.pause()
            assert app.screen.styles.background == Color.parse(theme.background or "")


def write(folder: Path, name: str, text: str | bytes) -> Path:
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


GOOD = '[colors]\nprimary = "#123456"\nbackground = "#000"\nforeground = "#fff"\n'


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("colors = ", "is not valid TOML"),
        (b"\xff\xfe", "is not UTF-8 text: save it as UTF-8"),
        ("dark = true\n", "missing required field `colors`"),
        ("[colors]\n", "[colors]: Object missing required field `primary`"),
        (GOOD.replace("#123456", "blurple"), 'colors.primary: write a colour as "#rrggbb"'),
        (GOOD.replace("#123456", "#123456\\n"), 'colors.primary: write a colour as "#rrggbb"'),
        (GOOD.replace('"#123456"', "12"), "colors.primary: Expected `str`, got `int`"),
        (GOOD + 'shiny = "#000"\n', "[colors]: Object contains unknown field `shiny`"),
        ("dark = 3\n" + GOOD, "dark: Expected `bool`, got `int`"),
        (GOOD + '[variables]\nno-such = "#000"\n', "variables.no-such: there is no such variable"),
        (GOOD + '[variables]\nborder = "red; }"\n', "variables.border: write a colour as"),
        (GOOD + '[variables]\nlink-style = "blink"\n', "variables.link-style: write"),
        (GOOD + "#" + "x" * theme_files.MAX_FILE_BYTES, "is larger than 64 KiB"),
        ("x = " + "[" * 5000, "is not valid TOML"),
    ],
)
def test_a_wrong_theme_is_left_out_with_one_line(
    tmp_path: Path, text: str | bytes, told: str
) -> None:
    wrong = write(tmp_path, "wrong.toml", text)
    write(tmp_path, "good.toml", GOOD)
    found, problems = themes.load([tmp_path])
    assert list(found) == ["good"]
    assert len(problems) == 1
    assert problems[0].startswith(f"theme {wrong}: ")
    assert told in problems[0]
    assert problems[0].isprintable()


def test_a_theme_with_a_byte_order_mark_is_read(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_bytes(f"\ufeff{GOOD}".replace("\n", "\r\n").encode())
    assert theme_files.read(tmp_path / "mine.toml").colors.primary == "#123456"


def test_a_hostile_file_name_is_shown_escaped(tmp_path: Path) -> None:
    write(tmp_path, "a\x1b]0;x\x07.toml", GOOD)
    found, problems = themes.load([tmp_path])
    assert found == {}
    assert "rename it" in problems[0]
    assert "\\x1b]0;x\\x07" in problems[0]
    assert problems[0].isprintable()


def test_a_theme_that_cannot_be_read_is_told(tmp_path: Path) -> None:
    (tmp_path / "folder.toml").mkdir()
    (tmp_path / "gone.toml").symlink_to(tmp_path / "nowhere")
    found, problems = themes.load([tmp_path])
    assert found == {}
    assert ["cannot be read" in line for line in problems] == [True, True]


def test_a_folder_that_is_missing_holds_no_themes_and_a_file_is_no_folder(tmp_path: Path) -> None:
    assert themes.load([tmp_path / "none"]) == ({}, [])
    path = write(tmp_path, "file", "")
    found, problems = themes.load([path])
    assert found == {}
    assert problems == [f"theme {path}: cannot be read (Not a directory)"]


def test_a_users_theme_replaces_the_builtin_of_its_name(tmp_path: Path) -> None:
    write(tmp_path, "tapui-dark.toml", GOOD)
    found, problems = themes.load([theme_files.builtin_folder(), tmp_path])
    assert problems == []
    assert found["tapui-dark"].primary == "#123456"
    assert found["tapui-light"].primary != "#123456"


def test_the_stamp_changes_when_a_theme_is_saved_added_or_removed(tmp_path: Path) -> None:
    assert themes.stamp([tmp_path / "none"]) == ()
    path = write(tmp_path, "mine.toml", GOOD)
    os.utime(path, ns=(1, 1))
    first = themes.stamp([tmp_path])
    assert themes.stamp([tmp_path]) == first
    os.utime(path, ns=(2, 2))
    saved = themes.stamp([tmp_path])
    write(tmp_path, "other.toml", GOOD)
    added = themes.stamp([tmp_path])
    path.unlink()
    assert len({first, saved, added, themes.stamp([tmp_path])}) == 4


def test_a_wheel_carries_the_themes(tmp_path: Path) -> None:
    builder = pytest.importorskip("hatchling.builders.wheel", reason="needs the build backend")
    root = Path(themes.__file__).resolve().parents[3]
    if not (root / "README.md").is_file():
        pytest.skip("an installed package builds no wheel")
    (built,) = builder.WheelBuilder(str(root)).build(directory=str(tmp_path))
    with zipfile.ZipFile(built) as wheel:
        names = wheel.namelist()
    assert {f"tapui/_themes/{name}.toml" for name in BUILTIN} <= set(names)


def test_one_theme_is_found_without_the_others(tmp_path: Path) -> None:
    colors = '[colors]\nprimary = "#{0}"\nbackground = "#{0}"\nforeground = "#{0}"\n'
    (tmp_path / "mine.toml").write_text(colors.format("010203"))
    (tmp_path / "tapui-dark.toml").write_text(colors.format("040506"))
    (tmp_path / "broken.toml").write_text("[colors")
    folders = [theme_files.builtin_folder(), tmp_path, tmp_path / "missing"]
    everything, _ = themes.load(folders)
    for name in (*BUILTIN, "mine"):
        assert themes.find(folders, name) == everything[name]
    assert themes.find(folders, "broken") is None
    assert themes.find(folders, "no such theme") is None
    assert themes.find(folders, "../mine") is None
