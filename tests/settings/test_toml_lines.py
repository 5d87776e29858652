"""On which line a key of a TOML file stands."""

import tomllib

from tapui.settings.toml_file import key_lines, line_of


def test_keys_are_found_on_their_lines_whatever_stands_between() -> None:
    text = (
        "# theme = 'no'\n"
        'a = """\n'
        "b = 1\n"
        '""""\n'
        "c = [ # ]\n"
        "  'x = 1',\n"
        "  { d = 1 },\n"
        "]\n"
        "e.f.g = 1\n"
        "\n"
        "[ h . 'i.j' ] # [k]\n"
        "l = '''\n"
        "[m]'''\n"
        '"n\\"o" = 1\n'
        "[[p]]\n"
        "q = 1\n"
        "[[p]]\n"
        "q = 2"
    )
    tomllib.loads(text)
    assert key_lines(text) == {
        ("a",): 2,
        ("c",): 5,
        ("e",): 9,
        ("e", "f"): 9,
        ("e", "f", "g"): 9,
        ("h",): 11,
        ("h", "i.j"): 11,
        ("h", "i.j", "l"): 12,
        ("h", "i.j", 'n"o'): 14,
        ("p",): 15,
        ("p", 0): 15,
        ("p", 0, "q"): 16,
        ("p", 1): 17,
        ("p", 1, "q"): 18,
    }


def test_a_key_that_is_not_listed_is_where_its_table_is() -> None:
    lines = key_lines("a = 1\n[[p]]\nq = [{ r = 1 }]\n")
    assert line_of(lines, ("p", 0, "q", 0, "r")) == 3
    assert line_of(lines, ("p", 4)) == 2
    assert line_of(lines, ("z",)) == 1
