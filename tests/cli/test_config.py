"""The configuration: what is read from where, and what is said about what cannot be used."""

import json
import os
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from tapui.cli.commands.config import example_text
from tapui.cli.context import load
from tapui.settings import loading
from tapui.settings.loading import ConfigError, Origin
from tapui.settings.settings import Proving, Settings
from tapui.wire.limits import MAX_CONTEXT
from tests.home.managed_files import SPOILT

THEMES = "tapui-colour-blind, tapui-dark, tapui-high-contrast, tapui-light, tapui-terminal"


def written(folder: Path, text: str | bytes) -> Path:
    path = folder / "config.toml"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def test_without_any_source_the_settings_are_the_defaults(tmp_path: Path) -> None:
    found = load(tmp_path / "config.toml", {})
    assert found.settings == Settings()
    assert set(found.origins.values()) == {Origin("default")}


def test_a_setting_s_variable_has_its_name() -> None:
    """Which variables there are is pinned by `tests/test_frozen_names.py`."""
    for key in loading.SETTINGS.values():
        assert key.name == ".".join(key.path)
        assert key.variable == "TAPUI_" + re.sub("[.-]", "_", key.name).upper()


LOOSE = {"approvals.command-line": "always", "approvals.new-terminals": "take"}
STRICT = {"approvals.command-line": "person", "approvals.new-terminals": "ask"}


@pytest.mark.parametrize("name", LOOSE)
def test_a_variable_makes_the_rule_about_the_person_stricter_alone(
    tmp_path: Path, name: str
) -> None:
    path = (*name.split("."),)
    variable = loading.SETTINGS[path].variable
    with pytest.raises(ConfigError) as raised:
        load(tmp_path / "config.toml", {variable: LOOSE[name]})
    assert f'{variable}: write {name} = "{LOOSE[name]}" into config.toml' in str(raised.value)
    file = written(tmp_path, f"{name} = '{LOOSE[name]}'")
    for environ in ({}, {variable: LOOSE[name]}, {"XDG_STATE_HOME": "/x", "TAPUI_HOME": "/y"}):
        assert load(file, environ).values[path] == LOOSE[name]
    assert load(file, {variable: STRICT[name]}).values[path] == STRICT[name]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("telemetry.otlp-endpoint", "http://localhost:4318"),
        ("telemetry.exporter-type", "file"),
        ("telemetry.file-path", "/tmp/spans.jsonl"),
        ("telemetry.source-name", "mine"),
        ("telemetry.capture-content", True),
    ],
)
def test_only_the_persons_file_and_the_administrators_say_where_spans_go(
    tmp_path: Path, name: str, value: str | bool
) -> None:
    path = (*name.split("."),)
    variable = loading.SETTINGS[path].variable
    with pytest.raises(ConfigError, match=f"^{variable}: write {name} = .* into config.toml"):
        load(tmp_path / "none.toml", {variable: str(value).lower()})
    file = written(tmp_path, f"{name} = {json.dumps(value)}")
    assert load(file, {}).values[path] == value
    with pytest.raises(ConfigError, match="does not hold where"):
        load(file, {"XDG_CONFIG_HOME": "/elsewhere"})
    (tmp_path / "managed.toml").write_text(f"{name} = {json.dumps(value)}")
    managed = tmp_path / "managed.toml"
    found = load(tmp_path / "none.toml", {}, None, managed, owner=os.getuid())
    assert (found.values[path], found.origins[path].kind) == (value, "managed")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("library-docs.context7", "always"),
        ("library-docs.address", "http://localhost:1"),
        ("library-docs.paths", ["/srv/docs"]),
    ],
)
def test_no_variable_lets_library_docs_look_elsewhere(
    tmp_path: Path, name: str, value: str | list[str]
) -> None:
    path = (*name.split("."),)
    variable = loading.SETTINGS[path].variable
    given = value if isinstance(value, str) else json.dumps(value)
    with pytest.raises(ConfigError, match=f"^{variable}: write {name} = .* into config.toml"):
        load(tmp_path / "none.toml", {variable: given})
    file = written(tmp_path, f"{name} = {json.dumps(value)}")
    kept = value if isinstance(value, str) else tuple(value)
    assert load(file, {}).values[path] == kept


def test_a_variable_makes_the_consent_to_context7_stricter_alone(tmp_path: Path) -> None:
    path = ("library-docs", "context7")
    variable = "TAPUI_LIBRARY_DOCS_CONTEXT7"
    for word, stricter in (("always", "ask"), ("always", "never"), ("ask", "never")):
        file = written(tmp_path, f"library-docs.context7 = '{word}'")
        assert load(file, {variable: stricter}).values[path] == stricter
        file = written(tmp_path, f"library-docs.context7 = '{stricter}'")
        with pytest.raises(ConfigError, match="a variable cannot loosen it"):
            load(file, {variable: word})


def test_a_variable_makes_the_question_about_notes_stricter_alone(tmp_path: Path) -> None:
    path, variable = ("memory", "ask-writes"), "TAPUI_MEMORY_ASK_WRITES"
    assert load(tmp_path / "none.toml", {}).values[path] is False
    assert load(tmp_path / "none.toml", {variable: "on"}).values[path] is True
    with pytest.raises(ConfigError, match="a variable cannot loosen it"):
        load(written(tmp_path, "memory.ask-writes = true"), {variable: "off"})


@pytest.mark.parametrize(
    ("setting", "fault"),
    [
        ("context7 = 'yes'", "write never or ask or always"),
        ("address = 'context7.com'", "write an http or https address"),
        ("address = 'https://u:p@h'", "without a name, a password"),
        ("paths = ['docs']", "write an absolute path, or one with ~/"),
        ("paths = '/docs'", "expected a list of texts"),
    ],
)
def test_library_docs_are_checked(tmp_path: Path, setting: str, fault: str) -> None:
    with pytest.raises(ConfigError, match=fault):
        load(written(tmp_path, f"[library-docs]\n{setting}"), {})


@pytest.mark.parametrize(
    "address",
    [
        "localhost:4318",
        "ftp://h",
        "http://",
        "http://u:p@h",
        "http://h?x",
        "http://h:0",
        "http://h#x",
    ],
)
def test_an_endpoint_is_an_address_without_secrets(tmp_path: Path, address: str) -> None:
    file = written(tmp_path, f"telemetry.otlp-endpoint = {json.dumps(address)}")
    with pytest.raises(ConfigError, match=r"telemetry\.otlp-endpoint: write an"):
        load(file, {})


@pytest.mark.parametrize("variable", ["XDG_CONFIG_HOME", "XDG_STATE_HOME"])
def test_a_file_apart_from_the_state_does_not_loosen_that_rule(
    tmp_path: Path, variable: str
) -> None:
    file = written(tmp_path, "approvals.command-line = 'always'\nport = 9500")
    with pytest.raises(ConfigError, match="does not hold where XDG_CONFIG_HOME or XDG_STATE_HOME"):
        load(file, {variable: "/elsewhere"})
    usual = {"XDG_CONFIG_HOME": ".config", "XDG_STATE_HOME": ".local/state"}
    found = load(file, {variable: str(Path.home() / usual[variable])})
    assert found.settings.approvals.command_line == "always"
    written(tmp_path, "approvals.command-line = 'person'\nport = 9500")
    assert load(file, {variable: "/elsewhere"}).settings.port == 9500


@pytest.mark.parametrize(
    ("name", "strict", "loose"),
    [
        ("modes.agent-to-plan", "'never'", "'allow'"),
        ("modes.subagent-to-autopilot", "'never'", "'ask'"),
        ("modes.command-line-to-autopilot", "'ask'", "'allow'"),
        ("modes.lock", "true", "false"),
    ],
)
def test_a_variable_makes_the_rules_about_modes_stricter_alone(
    tmp_path: Path, name: str, strict: str, loose: str
) -> None:
    path = (*name.split("."),)
    variable = loading.SETTINGS[path].variable
    value = {"true": True, "false": False}
    given, held = (value.get(one, one.strip("'")) for one in (loose, strict))
    file = written(tmp_path, f"{name} = {strict}")
    with pytest.raises(ConfigError, match=f"{variable}: write {name} = .* into config.toml"):
        load(file, {variable: str(given).lower()})
    assert load(file, {variable: str(held).lower()}).values[path] == held
    written(tmp_path, f"{name} = {loose}")
    assert load(file, {}).values[path] == given
    assert load(file, {variable: str(held).lower()}).values[path] == held
    with pytest.raises(ConfigError, match="does not hold where"):
        load(file, {"XDG_CONFIG_HOME": "/elsewhere"})


@pytest.mark.parametrize("asker", ["agent", "subagent", "provider"])
def test_autopilot_is_given_to_no_agent_unasked(tmp_path: Path, asker: str) -> None:
    name = f"modes.{asker}-to-autopilot"
    path = (*name.split("."),)
    file = written(tmp_path, f"port = 9500\n[modes]\n{asker}-to-autopilot = 'allow'\n")
    found = load(file, {})
    assert (found.values[path], found.settings.port) == ("ask", 9500)
    (fault,) = found.faults
    assert fault == f'{file}:3: {name}: autopilot is not allowed to agents unasked: "ask" holds'
    managed = tmp_path / "managed.toml"
    for value, held in (("never", "never"), ("ask", "ask"), ("allow", "ask")):
        managed.write_text(f"modes.{asker}-to-autopilot = '{value}'\n")
        managed.chmod(0o644)
        found = load(file, {}, None, managed, owner=os.getuid())
        assert found.values[path] == held
        assert found.origins[path].kind == "managed"
        assert len(found.faults) == (2 if value == "allow" else 1)


def test_a_check_that_cannot_be_used_is_named(tmp_path: Path) -> None:
    named = ["make lint && pytest", "./check.sh", "! pytest", "pytest 'a"]
    file = written(tmp_path, f"port = 9500\n[checks]\ncommands = {json.dumps(named)}\n")
    found = load(file, {})
    assert found.settings.checks.commands == tuple(named)
    several = "it is several commands, and checks no turn: write each as a text of its own"
    assert found.faults == (
        f'{file}:3: checks.commands: "make lint && pytest": {several}',
        f'{file}:3: checks.commands: "! pytest": it checks no turn: ! turns its exit code round',
        f'{file}:3: checks.commands: "pytest \'a": it checks no turn: it cannot be parsed',
    )
    (fault,) = load(tmp_path / "none", {"TAPUI_CHECKS_COMMANDS": '["cd web"]'}).faults
    assert fault == 'TAPUI_CHECKS_COMMANDS: "cd web": it checks no turn: it runs no program'


def test_the_administrator_forbids_what_the_person_allows(tmp_path: Path) -> None:
    file = written(tmp_path, "[modes]\nagent-to-plan = 'allow'\nlock = false\n")
    managed = tmp_path / "managed.toml"
    managed.write_text("[modes]\nagent-to-plan = 'never'\nlock = true\n")
    managed.chmod(0o644)
    found = load(file, {}, None, managed, owner=os.getuid()).settings.modes
    assert (found.agent_to_plan, found.lock) == ("never", True)


def test_the_administrator_forbids_proving_sending_back_and_goals_of_files(tmp_path: Path) -> None:
    names = ("prove", "send-back", "file-goals")
    file = written(tmp_path, "\n".join(["[proof]", *(f"{one} = true" for one in names)]))
    managed = tmp_path / "managed.toml"
    managed.write_text("\n".join(["[proof]", *(f"{one} = false" for one in names)]))
    managed.chmod(0o644)
    variable = {"TAPUI_PROOF_PROVE": "true"}
    found = load(file, variable, None, managed, owner=os.getuid())
    assert found.settings.proof == Proving(prove=False, send_back=False, file_goals=False)
    assert found.origins["proof", "prove"].kind == "managed"


def test_file_sets_top_level_nested_dotted_quoted_and_inline_keys(tmp_path: Path) -> None:
    path = written(
        tmp_path,
        "# mine\n"
        "port = 9500\n"
        '"bell" = false\n'
        "records.inline = 10\n"
        "timeouts = { call = 5, mode-approval = 7.5 }\n",
    )
    found = load(path, {})
    assert found.settings.port == 9500
    assert found.settings.bell is False
    assert found.settings.records.inline == 10
    assert found.settings.timeouts.call == 5.0
    assert found.settings.timeouts.mode_approval == 7.5
    where = {".".join(key): origin.detail for key, origin in found.origins.items() if origin.detail}
    assert where == {
        "port": f"{path}:2",
        "bell": f"{path}:3",
        "records.inline": f"{path}:4",
        "timeouts.call": f"{path}:5",
        "timeouts.mode-approval": f"{path}:5",
    }


def test_flags_override_environment_which_overrides_the_file(tmp_path: Path) -> None:
    path = written(tmp_path, 'port = 1\ntheme = "tapui-light"\nbell = false\n')
    found = load(
        path, {"TAPUI_PORT": "2", "TAPUI_THEME": "tapui-high-contrast"}, {"port": ("--port", 3)}
    )
    assert (found.settings.port, found.settings.bell) == (3, False)
    assert found.settings.theme == "tapui-high-contrast"
    assert found.origins["port",] == Origin("flag", "--port")
    assert found.origins["theme",] == Origin("env", "TAPUI_THEME")
    assert found.origins["bell",] == Origin("file", f"{path}:3")
    in_file, variable = Origin("file", f"{path}:1"), Origin("env", "TAPUI_PORT")
    assert found.overridden == {
        ("port",): [in_file, variable],
        ("theme",): [Origin("file", f"{path}:2")],
    }


@pytest.mark.parametrize(
    ("word", "value"), [("1", True), ("ON", True), ("no", False), ("false", False)]
)
def test_variables_of_switches_take_the_usual_words(tmp_path: Path, word: str, value: bool) -> None:
    assert load(tmp_path / "none", {"TAPUI_ATTACH": word}).settings.attach is value


def test_an_empty_variable_is_one_that_is_not_set(tmp_path: Path) -> None:
    assert load(tmp_path / "none", {"TAPUI_PORT": ""}).settings.port == Settings().port


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("port = 70000", "{path}:1: port: must be from 0 to 65535, got 70000"),
        ("\n\nport = -1", "{path}:3: port: must be from 0 to 65535, got -1"),
        ("port = true", "{path}:1: port: expected a whole number, got true"),
        ('port = "9400"', '{path}:1: port: expected a whole number, got "9400"'),
        ("port = 1.5", "{path}:1: port: expected a whole number, got 1.5"),
        ("port = 1979-05-27", "{path}:1: port: expected a whole number, got 1979-05-27"),
        ("theme = 3", "{path}:1: theme: expected a text, got 3"),
        ("theme = ' '", '{path}:1: theme: must not be empty, got " "'),
        (
            "\ntheme = 'dark'",
            '{path}:2: theme: there is no such theme (there are: {themes}), got "dark"',
        ),
        ("theme = '../tapui-dark'", None),
        ("bell = 1", "{path}:1: bell: expected true or false, got 1"),
        (
            "[timeouts]\n\ncall = 0",
            "{path}:3: timeouts.call: must be from 0.001 to 86400 seconds, got 0.0",
        ),
        (
            "[timeouts]\ncall = inf",
            "{path}:2: timeouts.call: must be from 0.001 to 86400 seconds, got Infinity",
        ),
        (
            "[timeouts]\ncall = nan",
            "{path}:2: timeouts.call: must be from 0.001 to 86400 seconds, got NaN",
        ),
        ("timeouts = 3", "{path}:1: timeouts: expected a table, got 3"),
        ("prot = 9400", "{path}:1: prot: unknown key; did you mean port?"),
        (
            "[timeouts]\nmode_approval = 3",
            "{path}:2: timeouts.mode_approval: unknown key; did you mean timeouts.mode-approval?",
        ),
        (
            "\n# where it belongs: below [timeouts]\nidle-exit = 3",
            "{path}:3: idle-exit: unknown key; did you mean timeouts.idle-exit?",
        ),
        ("[frobnicate]\nx = 1", "{path}:1: frobnicate: unknown key"),
        ("[[port]]\nx = 1", '{path}:1: port: expected a whole number, got [{{"x": 1}}]'),
        ("a = 1\na = 2", "{path}:2: a = 2: Cannot overwrite a value"),
        ("port = ", "{path}:1: port =: Invalid value"),
        (
            "port = 1\n[timeouts",
            "{path}:2: [timeouts: Expected ']' at the end of a table declaration",
        ),
        (b"# caf\xc3\xa9\nport = 1 # \xff", "{path}:2: not valid UTF-8"),
        (b"\xef\xbb\xbf# caf\xc3\xa9\nport = 1 # \xff", "{path}:2: not valid UTF-8"),
        ("port = 1".encode("utf-16"), "{path}:1: it is UTF-16: save it as UTF-8"),
        ("\ufeffport = ", "{path}:1: port =: Invalid value"),
        (
            "[records]\nfile = 100000\nsession = 70000",
            "{path}:3: records.session must not be smaller than records.file",
        ),
        ("'\x1b' = 1", None),
        ("'\u202eport' = 1", "{path}:1: \\u202eport: unknown key; did you mean port?"),
    ],
)
def test_a_fault_names_file_line_and_key(
    tmp_path: Path, text: str | bytes, fault: str | None
) -> None:
    path = written(tmp_path, text)
    with pytest.raises(ConfigError) as raised:
        load(path, {})
    assert str(raised.value).isprintable()
    if fault is not None:
        assert str(raised.value) == fault.format(path=path, themes=THEMES)


def test_all_faults_are_told_at_once(tmp_path: Path) -> None:
    path = written(tmp_path, "port = 70000\nbel = true\n")
    with pytest.raises(ConfigError) as raised:
        load(path, {"TAPUI_PORT": "many", "TAPUI_TIMEOUTS_CALL": "1e99"}, {"port": ("--port", -1)})
    assert str(raised.value).splitlines() == [
        f"{path}:1: port: must be from 0 to 65535, got 70000",
        f"{path}:2: bel: unknown key; did you mean bell?",
        'TAPUI_PORT: expected a whole number, got "many"',
        "TAPUI_TIMEOUTS_CALL: must be from 0.001 to 86400 seconds, got 1e+99",
        "--port: must be from 0 to 65535, got -1",
    ]


def test_a_file_that_cannot_be_read_is_said_so(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.symlink_to(path)
    with pytest.raises(ConfigError, match=r"config\.toml: cannot be read: Too many levels of sym"):
        load(path, {})


def test_a_folder_in_the_files_place_is_said_so(tmp_path: Path) -> None:
    (tmp_path / "config.toml").mkdir()
    with pytest.raises(ConfigError, match=r"config\.toml: cannot be read: Is a directory"):
        load(tmp_path / "config.toml", {})


def test_the_file_is_in_tapui_home_if_that_is_set(tmp_path: Path) -> None:
    assert loading.config_path({"TAPUI_HOME": str(tmp_path)}) == tmp_path / "config.toml"
    assert loading.config_path({}).parts[-2:] == ("tapui", "config.toml")


def test_a_theme_of_ones_own_is_one_that_exists(tmp_path: Path) -> None:
    (tmp_path / "themes").mkdir()
    (tmp_path / "themes" / "mine.toml").write_text("")
    assert load(tmp_path / "config.toml", {"TAPUI_THEME": "mine"}).settings.theme == "mine"
    with pytest.raises(ConfigError) as raised:
        load(tmp_path / "config.toml", {"TAPUI_THEME": "yours"})
    assert str(raised.value) == (
        f'TAPUI_THEME: there is no such theme (there are: mine, {THEMES}), got "yours"'
    )


@pytest.mark.parametrize("key", loading.SETTINGS.values(), ids=lambda key: key.name)
def test_every_setting_refuses_what_it_does_not_mean(tmp_path: Path, key: loading.Setting) -> None:
    wrong = {
        bool: ["maybe"],
        str: ["no such one"],
        int: ["-1", str(2**64)],
        float: ["-1", "1e99"],
        tuple: ["one", "[1]"],
    }
    if key.name == "records.mask":
        wrong[tuple].append('["("]')
    if key.name == "agent.words":
        wrong[str] = ["x" * (MAX_CONTEXT + 1)]
    for text in wrong[key.type]:
        with pytest.raises(ConfigError, match=f"^{key.variable}: "):
            load(tmp_path / "config.toml", {key.variable: text})


def test_patterns_to_mask_are_a_list_of_texts(tmp_path: Path) -> None:
    path = written(tmp_path, 'records.mask = ["hunter\\\\d", "corp-[a-z]+"]\n')
    assert load(path, {}).settings.records.mask == (r"hunter\d", "corp-[a-z]+")
    env = {"TAPUI_RECORDS_MASK": '["one"]'}
    assert load(path, env).settings.records.mask == ("one",)


@pytest.mark.parametrize(
    ("value", "fault"),
    [
        ('"one"', "expected a list of texts"),
        ("[1]", "expected a list of texts"),
        ('["(a"]', "bad pattern: missing ) at position 2"),
        ('["a*"]', "the pattern also matches where nothing is"),
        (f'["{"a" * 1001}"]', "a pattern may have 1,000 characters"),
    ],
)
def test_patterns_that_cannot_be_used_are_refused(tmp_path: Path, value: str, fault: str) -> None:
    path = written(tmp_path, f"[records]\nmask = {value}\n")
    with pytest.raises(ConfigError, match=re.escape(f"{path}:2: records.mask: {fault}")):
        load(path, {})


def test_the_command_that_calls_is_a_list_of_texts(tmp_path: Path) -> None:
    path = written(tmp_path, 'notify.command = ["notify-send", "--", "{text}"]\n')
    assert load(path, {}).settings.notify.command == ("notify-send", "--", "{text}")
    found = load(path, {"TAPUI_NOTIFY_COMMAND": '["say", "two words"]'})
    assert found.settings.notify.command == ("say", "two words")
    for wrong in ('notify.command = ["x", 1]', 'notify.command = "x"'):
        with pytest.raises(ConfigError, match=r"notify\.command: expected a list of texts, got"):
            load(written(tmp_path, wrong), {})


def test_the_example_sets_nothing_and_its_settings_are_the_defaults(tmp_path: Path) -> None:
    text = example_text()
    found = load(written(tmp_path, text), {})
    assert set(found.origins.values()) == {Origin("default")}
    told = re.sub(r"^#(?=[a-z0-9-]+ = )", "", text, flags=re.MULTILINE)
    found = load(written(tmp_path, told), {})
    assert found.settings == Settings()
    assert {origin.kind for origin in found.origins.values()} == {"file"}


def test_the_example_says_of_every_setting_what_it_does() -> None:
    text = example_text()
    assert max(map(len, text.splitlines())) <= 80
    paragraphs = text.split("\n\n")
    for key in loading.SETTINGS.values():
        (about,) = [part for part in paragraphs if f"# Environment: {key.variable}\n" in part]
        *told, variable, setting = about.splitlines()
        assert setting.startswith(f"#{key.path[-1]} = ")
        assert len(" ".join(told)) > 20
        assert variable.startswith("# Environment: ")


def test_own_keys_are_read(tmp_path: Path) -> None:
    path = written(tmp_path, '[keys]\nanswer = "A"\ncommands = ": ctrl+k"\n')
    assert load(path, {}).settings.keys == {"answer": "A", "commands": ": ctrl+k"}


def test_wrong_own_keys_are_told_with_their_lines(tmp_path: Path) -> None:
    path = written(tmp_path, '[keys]\nzoom = "w"\nanser = "A"\nanswer = "e"\n')
    with pytest.raises(ConfigError) as caught:
        load(path, {})
    assert f"{path}:3: keys.anser: there is no such action; did you mean answer?" in str(
        caught.value
    )
    assert f"{path}:4: keys.answer: e is the key of next-failure already" in str(caught.value)


def test_glyphs_are_one_of_two(tmp_path: Path) -> None:
    assert load(written(tmp_path, 'glyphs = "ascii"\n'), {}).settings.glyphs == "ascii"
    with pytest.raises(ConfigError, match="write unicode or ascii"):
        load(written(tmp_path, 'glyphs = "emoji"\n'), {})


def test_rules_are_no_settings(tmp_path: Path) -> None:
    path = written(tmp_path, "[[rules]]\nallow = 1\n")
    assert load(path, {}).settings == Settings()


def test_what_the_administrator_sets_goes_before_everything(tmp_path: Path) -> None:
    managed = tmp_path / "managed.toml"
    managed.write_text("port = 1234\n")
    managed.chmod(0o644)
    flags: dict[str, tuple[str, loading.Scalar]] = {"port": ("--port", 4321)}
    path = tmp_path / "config.toml"
    found = load(path, {"TAPUI_PORT": "5"}, flags, managed, owner=os.getuid())
    assert found.settings.port == 1234
    assert found.origins["port",] == Origin("managed", f"{managed}:1")
    managed.chmod(0o666)
    with pytest.raises(ConfigError, match="others than root can write it"):
        load(path, {}, None, managed, owner=os.getuid())


@pytest.mark.parametrize("spoil", SPOILT.values(), ids=SPOILT)
def test_without_the_administrators_file_nothing_starts(
    tmp_path: Path, spoil: Callable[[Path], None]
) -> None:
    managed = tmp_path / "managed.toml"
    spoil(managed)
    with pytest.raises(ConfigError, match=str(managed)):
        load(tmp_path / "config.toml", {}, None, managed, owner=os.getuid())


def test_a_key_of_a_newer_version_in_the_administrators_file_is_told(tmp_path: Path) -> None:
    managed = tmp_path / "managed.toml"
    managed.write_text("[copilot]\nport = 'never'\nlater = true\n")
    managed.chmod(0o644)
    with pytest.raises(ConfigError, match=r"copilot\.later: unknown key"):
        load(tmp_path / "config.toml", {}, None, managed, owner=os.getuid())


@pytest.mark.parametrize("text", ["\ufeffport = 7011\n", "\ufeff# mine\r\nport = 7011\r\n"])
def test_a_byte_order_mark_and_line_ends_of_an_editor_are_read(tmp_path: Path, text: str) -> None:
    path = written(tmp_path, text.encode())
    managed = tmp_path / "managed.toml"
    managed.write_bytes("\ufeff[records]\r\nkeep-days = 7\r\n".encode())
    managed.chmod(0o644)
    tmp_path.chmod(0o755)
    loaded = load(path, {}, managed=managed, owner=os.getuid())
    assert (loaded.settings.port, loaded.settings.records.keep_days) == (7011, 7)
