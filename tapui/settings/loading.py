"""Settings from flags, environment, file and defaults, each with where it came from."""

import json
import math
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit

import msgspec

from tapui.files.foreign_file import (
    ROOT,
    ManagedFileError,
    decoded,
    encoding_fault,
    managed_text,
)
from tapui.home.paths import MANAGED, Home, is_split
from tapui.settings.settings import Settings
from tapui.settings.toml_file import TomlPath, key_lines, line_of, syntax_fault
from tapui.text import cut, safe_text
from tapui.wire.limits import MAX_CONTEXT, MAX_TOOLS

KeyPath = tuple[str, ...]
Scalar = bool | int | float | str
Value = Scalar | tuple[str, ...]

_TYPE_WORDS: dict[type, str] = {
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    str: "a text",
    tuple: "a list of texts",
}
_TRUE = frozenset({"1", "true", "yes", "on"})
_FALSE = frozenset({"0", "false", "no", "off"})
_DAY = 24 * 3600
_RANGES: dict[KeyPath, tuple[float, float, str]] = {
    ("port",): (0, 65535, ""),
    ("provider-tools",): (1, MAX_TOOLS, ""),
    ("timeouts", "call"): (0.001, _DAY, " seconds"),
    ("timeouts", "mode-approval"): (1, _DAY, " seconds"),
    ("timeouts", "emitter-approval"): (1, _DAY, " seconds"),
    ("timeouts", "idle-exit"): (0, _DAY, " seconds"),
    ("alarms", "waiting"): (0, 1440, " minutes"),
    ("alarms", "quiet"): (0, 1440, " minutes"),
    ("budget", "tokens"): (0, 2**53, ""),
    ("budget", "requests"): (0, 2**53, ""),
    ("records", "inline"): (0, 5 * 2**20, " bytes"),
    ("records", "file"): (2**16, 2**40, " bytes"),
    ("records", "session"): (2**16, 2**50, " bytes"),
    ("records", "keep-days"): (1, 36_500, " days"),
}
_PATTERNS = frozenset({("records", "mask")})
_COMMANDS: KeyPath = ("checks", "commands")
_STRICT: dict[KeyPath, str] = {
    ("approvals", "command-line"): "person",
    ("approvals", "new-terminals"): "ask",
}
"""Settings of who is the person, with their strict values. Another value holds only where the
person's file or the administrator's has it: an agent could set a variable for its commands."""
_SWITCHES = ("never", "ask", "allow")
"""The values of the settings `modes.…-to-…`, the strictest first."""
_ON: frozenset[KeyPath] = frozenset({("modes", "lock"), ("memory", "ask-writes")})
"""Settings that are stricter where they are on."""
_LEAVING = ("telemetry", "library-docs")
"""The tables of what leaves this machine: any value but the default is looser."""
_REMOTE: KeyPath = ("library-docs", "context7")
_REMOTE_WORDS = ("never", "ask", "always")
"""Its values, the strictest first."""
_PATHS: KeyPath = ("library-docs", "paths")
Choices = Mapping[KeyPath, Callable[[str], str | None]]
"""What is wrong with a text as the value of each setting that is one; None for a text it takes.

Every setting that is a text has an entry (in `load`): without one its value raises `KeyError`.
"""


@dataclass(frozen=True, slots=True)
class Checks:
    """Checks of values that only rooms above this one can make; each returns what is wrong."""

    theme: Callable[[str], str | None]
    pattern: Callable[[str], str | None]
    """Of a pattern that masks texts."""
    command: Callable[[str], str | None]
    """Of a command that is to be a check: why no turn is checked by it."""
    key_bindings: Callable[[Mapping[str, object]], dict[str, str]]
    """Of the table `[keys]`, by action; empty when all can be used."""


class ConfigError(Exception):
    """The configuration cannot be used. The text has one line a fault: where, key, what."""


OriginKind = Literal["default", "file", "env", "flag", "managed"]
"""`managed`: the administrator's file."""


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a value comes from. `detail` is `file:line`, the variable's or the flag's name."""

    kind: OriginKind
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting: its path in kebab-case, its type and its default; lists are of texts."""

    path: KeyPath
    type: type
    """`tuple` is a list of texts."""
    default: Value

    @property
    def name(self) -> str:
        """The dotted name, such as `timeouts.mode-approval`."""
        return ".".join(self.path)

    @property
    def variable(self) -> str:
        """The environment variable, such as `TAPUI_TIMEOUTS_MODE_APPROVAL`."""
        return "TAPUI_" + "_".join(self.path).replace("-", "_").upper()


@dataclass(frozen=True, slots=True)
class Loaded:
    """The settings in force."""

    path: Path
    settings: Settings
    values: dict[KeyPath, Value] = field(default_factory=dict)
    origins: dict[KeyPath, Origin] = field(default_factory=dict)
    overridden: dict[KeyPath, list[Origin]] = field(default_factory=dict)
    """Where a setting is set as well, to no effect; the weakest first."""
    faults: tuple[str, ...] = ()
    """Values in whose place a stricter one holds, and checks that cannot be used, a line each."""


_OF_OTHERS = ("port", "theme", "glyphs", "attach", "bell", "notify", "keys")
"""Settings of a tower, or that flags give to a single gateway."""


def differences(found: Loaded, used: Mapping[str, Any]) -> list[str]:
    """Return the settings in which a running gateway differs from these, with its values."""
    told = []
    for setting in SETTINGS.values():
        there: Any = used
        for name in setting.path:
            there = there.get(name) if isinstance(there, Mapping) else None
        value = found.values[setting.path]
        here: Any = list(value) if isinstance(value, tuple) else value
        if there is not None and there != here and setting.path[0] not in _OF_OTHERS:
            told.append(f"{setting.name} is {msgspec.json.encode(there).decode()} there")
    return told


RULES: KeyPath = ("rules",)
"""The tables with rules: `rule_files` reads them."""
KEY_BINDINGS: KeyPath = ("keys",)
"""The table with the person's own keys: its names are those of actions, not of settings."""


def _settings_of(kind: type[msgspec.Struct], prefix: KeyPath = ()) -> Iterator[Setting]:
    default = kind()
    for info in msgspec.structs.fields(kind):
        path = (*prefix, info.encode_name)
        if path == KEY_BINDINGS:
            continue
        if isinstance(info.type, type) and issubclass(info.type, msgspec.Struct):
            yield from _settings_of(info.type, path)
        else:
            kept = info.type if isinstance(info.type, type) else tuple
            yield Setting(path, kept, getattr(default, info.name))


SETTINGS: dict[KeyPath, Setting] = {one.path: one for one in _settings_of(Settings)}
"""Every setting, by its path."""
_MODE_SWITCHES = tuple(path for path in SETTINGS if path[0] == "modes" and path not in _ON)
AUTOPILOT_OF_AGENTS = tuple(
    SETTINGS["modes", f"{asker}-to-autopilot"] for asker in ("agent", "subagent", "provider")
)
"""What is never `allow`."""
_TABLES = frozenset(path[:-1] for path in SETTINGS if len(path) > 1)


def config_path(environ: Mapping[str, str]) -> Path:
    """Return where the configuration file is: in `TAPUI_HOME`, else in the platform's folder."""
    return Home.of(environ).config / "config.toml"


class _Gathering:
    """Values as the sources give them, the weakest source first; faults are kept, not raised."""

    def __init__(self, choices: Choices, checks: Checks, *, is_split: bool) -> None:
        self._choices = choices
        self._checks = checks
        self._is_split = is_split
        self.values: dict[KeyPath, Value] = {one.path: one.default for one in SETTINGS.values()}
        self.origins = dict.fromkeys(SETTINGS, Origin("default"))
        self.overridden: dict[KeyPath, list[Origin]] = {}
        self.key_bindings: dict[str, str] = {}
        self.faults: list[str] = []
        self.noted: list[str] = []
        """Faults of values that are taken all the same."""

    def take_key_bindings(self, table: Mapping[str, object], where: Mapping[str, str]) -> None:
        """Take the person's own keys; `where` has the place of each."""
        wrong = self._checks.key_bindings(table)
        self.faults += [f"{where[name]}: keys.{name}: {fault}" for name, fault in wrong.items()]
        self.key_bindings = {name: str(key) for name, key in table.items() if name not in wrong}

    def take(self, setting: Setting, value: object, origin: Origin) -> None:
        """Let a source set a value, if it is of the right type and in range."""
        if setting.type is float and type(value) is int:
            value = float(value)
        if setting.type is tuple and isinstance(value, list):
            value = tuple(value) if all(isinstance(one, str) for one in value) else value
        label = (
            origin.detail
            if origin.kind not in ("file", "managed")
            else f"{origin.detail}: {setting.name}"
        )
        if type(value) is not setting.type:
            wanted = _TYPE_WORDS[setting.type]
            self.faults.append(f"{label}: expected {wanted}, got {_shown(value)}")
        elif fault := self._fault(setting, value):
            self.faults.append(f"{label}: {fault}, got {_shown(value)}")
        elif fault := self._loosening_fault(setting, value, origin):
            self.faults.append(f"{label}: {fault}")
        else:
            if value == "allow" and setting in AUTOPILOT_OF_AGENTS:
                told = 'autopilot is not allowed to agents unasked: "ask" holds'
                self.noted.append(f"{label}: {told}")
                value = "ask"
            assert isinstance(value, Scalar | tuple)
            for one in value if setting.path == _COMMANDS and isinstance(value, tuple) else ():
                if (unused := self._checks.command(one)) is not None:
                    self.noted.append(f"{label}: {_shown(one)}: {unused}")
            if self.origins[setting.path].kind != "default":
                self.overridden.setdefault(setting.path, []).append(self.origins[setting.path])
            self.values[setting.path] = value
            self.origins[setting.path] = origin

    def _fault(self, setting: Setting, value: object) -> str | None:
        if isinstance(value, str):
            if value.strip():
                return self._choices[setting.path](value)
            return "must not be empty" if setting.default or value else None
        if isinstance(value, bool):
            return None
        if isinstance(value, tuple):
            check = self._checks.pattern if setting.path in _PATTERNS else None
            if setting.path == _PATHS:
                check = _path_fault
            return next(filter(None, map(check, value)), None) if check is not None else None
        assert isinstance(value, int | float)
        return _range_fault(setting.path, value)

    def _loosening_fault(self, setting: Setting, value: object, origin: Origin) -> str | None:
        if origin.kind == "managed" or not _is_looser(setting, value, self.values[setting.path]):
            return None
        if origin.kind == "env":
            return (
                f"write {setting.name} = {_shown(value)} into config.toml;"
                " a variable cannot loosen it"
            )
        if self._is_split:
            return (
                f"{_shown(value)} does not hold where XDG_CONFIG_HOME or XDG_STATE_HOME names a "
                "folder of its own; set TAPUI_HOME instead"
            )
        return None

    def settings(self) -> Settings:
        nested: dict[str, Any] = {"keys": self.key_bindings}
        for (*tables, last), value in self.values.items():
            table = nested
            for part in tables:
                table = table.setdefault(part, {})
            table[last] = value
        return msgspec.convert(nested, Settings)


def load(
    path: Path,
    environ: Mapping[str, str],
    flags: Mapping[str, tuple[str, Scalar]] | None = None,
    managed: Path = MANAGED,
    *,
    owner: int = ROOT,
    checks: Checks,
) -> Loaded:
    """Read all sources: the administrator's file over flags over environment over file over
    defaults.

    `flags` maps a setting's dotted name to the flag that set it and its value. A file that is not
    there is an empty one. Raises `ConfigError` with every fault that was found.
    """
    choices: Choices = {
        ("theme",): checks.theme,
        ("glyphs",): partial(_none_of, ("unicode", "ascii")),
        ("approvals", "command-line"): partial(_none_of, ("person", "always")),
        ("approvals", "new-terminals"): partial(_none_of, ("ask", "take")),
        ("copilot", "port"): partial(_none_of, ("ask", "always", "never")),
        ("copilot", "provider-url"): _url_fault,
        ("copilot", "provider-type"): partial(_none_of, ("openai", "azure", "anthropic")),
        ("copilot", "key-file"): _path_fault,
        ("copilot", "headers-file"): _path_fault,
        ("copilot", "model"): _word_fault,
        ("agent", "words"): _context_fault,
        ("telemetry", "otlp-endpoint"): _endpoint_fault,
        ("telemetry", "exporter-type"): partial(_none_of, ("otlp-http", "file")),
        ("telemetry", "file-path"): _path_fault,
        ("telemetry", "source-name"): _word_fault,
        ("memory", "folder"): _path_fault,
        ("language-server", "program"): _path_fault,
        _REMOTE: partial(_none_of, _REMOTE_WORDS),
        ("library-docs", "address"): _endpoint_fault,
        **dict.fromkeys(_MODE_SWITCHES, partial(_none_of, _SWITCHES)),
    }
    found = _Gathering(choices, checks, is_split=is_split(environ))
    _read_file(path, found)
    for setting in SETTINGS.values():
        if text := environ.get(setting.variable):
            found.take(setting, _parse(setting, text), Origin("env", setting.variable))
    for name, (flag, value) in (flags or {}).items():
        found.take(SETTINGS[tuple(name.split("."))], value, Origin("flag", flag))
    _read_managed(managed, owner, found)
    session, file = ("records", "session"), ("records", "file")
    if not found.faults and found.values[session] < found.values[file]:  # type: ignore[operator]
        where = found.origins[session].detail or found.origins[file].detail
        found.faults.append(f"{where}: records.session must not be smaller than records.file")
    if found.faults:
        raise ConfigError("\n".join(safe_text(fault) for fault in found.faults))
    told = tuple(safe_text(fault) for fault in found.noted)
    return Loaded(path, found.settings(), found.values, found.origins, found.overridden, told)


def _read_managed(path: Path, owner: int, found: _Gathering) -> None:
    """Take what the administrator's file sets. Raises `ConfigError` for one that cannot be read:
    what it forbids is not known, so nothing starts without it."""
    try:
        text = managed_text(path, owner)
    except ManagedFileError as error:
        raise ConfigError(
            safe_text(
                f"{path}: the administrator's file cannot be used: {error}. Nothing starts until it"
                " is mended: it must be a file of root that only root can write and all can read"
            )
        ) from None
    if text is None:
        return
    try:
        table = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(safe_text(_syntax_fault(path, text, str(error)))) from None
    _read_table(path, table, (), key_lines(text), found, kind="managed")


def _read_file(path: Path, found: _Gathering) -> None:
    try:
        data = path.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return
    except OSError as error:
        raise ConfigError(safe_text(f"{path}: cannot be read: {error.strerror}")) from None
    try:
        text = decoded(data)
        table = tomllib.loads(text)
    except UnicodeDecodeError as error:
        raise ConfigError(safe_text("{}:{}: {}".format(path, *encoding_fault(error)))) from None
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(safe_text(_syntax_fault(path, text, str(error)))) from None
    _read_table(path, table, (), key_lines(text), found)


def _syntax_fault(path: Path, text: str, fault: str) -> str:
    number, what = syntax_fault(text, fault)
    if number is None:
        return f"{path}: {fault}"
    lines = text.splitlines() or [""]
    line = lines[min(number, len(lines)) - 1].strip()
    return f"{path}:{number}: {line[:60]}: {what}"


def _read_table(
    path: Path,
    table: dict[str, Any],
    prefix: KeyPath,
    lines: dict[TomlPath, int],
    found: _Gathering,
    *,
    kind: OriginKind = "file",
) -> None:
    for name, value in table.items():
        here = (*prefix, name)
        at = line_of(lines, here)
        where = f"{path}:{at}"
        if here == RULES:
            continue
        if here == KEY_BINDINGS and isinstance(value, dict):
            places = {one: f"{path}:{lines.get((*KEY_BINDINGS, one), at)}" for one in value}
            found.take_key_bindings(value, places)
        elif here in SETTINGS:
            found.take(SETTINGS[here], value, Origin(kind, where))
        elif here not in _TABLES | {KEY_BINDINGS}:
            found.faults.append(f"{where}: {'.'.join(here)}: unknown key{_suggestion(here)}")
        elif isinstance(value, dict):
            _read_table(path, value, here, lines, found, kind=kind)
        else:
            found.faults.append(f"{where}: {'.'.join(here)}: expected a table, got {_shown(value)}")


def _suggestion(path: KeyPath) -> str:
    """Name the nearest known key: by the whole path first, else by its last part."""
    import difflib

    names = [".".join(known) for known in (*SETTINGS, *_TABLES)]
    near = difflib.get_close_matches(".".join(path), names, n=1, cutoff=0.7)
    near = near or [name for name in names if name.rpartition(".")[2] == path[-1]]
    return f"; did you mean {near[0]}?" if near else ""


def allowed(setting: Setting) -> str:
    """Return the range of a setting as a sentence, empty where it has none."""
    if setting.path not in _RANGES:
        return ""
    low, high, unit = _RANGES[setting.path]
    return f"From {low} to {high}{unit}."


def _is_looser(setting: Setting, value: object, current: Value) -> bool:
    """Return whether a value lets more through than the one in force, where that is guarded."""
    if setting.path == _REMOTE:
        return _REMOTE_WORDS.index(str(value)) > _REMOTE_WORDS.index(str(current))
    if setting.path[0] in _LEAVING:
        return value not in (setting.default, current)
    if setting.path in _MODE_SWITCHES:
        return _SWITCHES.index(str(value)) > _SWITCHES.index(str(current))
    if setting.path in _ON:
        return bool(current) and not value
    return value not in (_STRICT.get(setting.path, value), current)


def _range_fault(path: KeyPath, value: float) -> str | None:
    low, high, unit = _RANGES[path]
    if math.isfinite(value) and low <= value <= high:
        return None
    return f"must be from {low} to {high}{unit}"


def _none_of(words: Sequence[str], text: str) -> str | None:
    return None if text in words else f"write {' or '.join(words)}"


def _url_fault(text: str) -> str | None:
    return None if text.startswith(("http://", "https://")) else "write an http or https address"


def _endpoint_fault(text: str) -> str | None:
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError:
        return "write an http or https address"
    if parts.scheme not in ("http", "https") or not parts.hostname or port == 0:
        return "write an http or https address"
    if parts.username is not None or parts.query or parts.fragment or not text.isprintable():
        return "write an address without a name, a password, `?` and `#`"
    return None


def _word_fault(text: str) -> str | None:
    return None if text.isprintable() and " " not in text else "write a name without blanks"


def _context_fault(text: str) -> str | None:
    return None if len(text) <= MAX_CONTEXT else f"write at most {MAX_CONTEXT:,} characters"


def _path_fault(text: str) -> str | None:
    return None if text.startswith(("/", "~/")) else "write an absolute path, or one with ~/"


def _parse(setting: Setting, text: str) -> object:
    """Read a variable's text as the setting's type; text that is not one is returned unchanged."""
    word = text.strip()
    if setting.type is bool and word.lower() in _TRUE | _FALSE:
        return word.lower() in _TRUE
    if setting.type in (int, float):
        try:
            return setting.type(word)
        except ValueError:
            return text
    if setting.type is tuple:
        try:
            return json.loads(word)
        except ValueError:
            return text
    return text


def _shown(value: object) -> str:
    try:
        text = json.dumps(value, ensure_ascii=False)
    except TypeError:
        text = str(value)
    return cut(text, 60)
