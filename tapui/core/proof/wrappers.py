"""The program behind its wrappers: `cd web && timeout 300 npx --no jest` runs jest, in `web`.

A wrapper is looked through only where all of its options are known, and where the code of what it
runs is its own. Anything else stays in the words, so that it equals no criterion.
"""

import re
from collections.abc import Callable
from typing import NamedTuple

from tapui.core.proof.shell_state import FOLDER_OF_PROGRAMS, modules_before, settings
from tapui.core.proof.statements import UNKNOWN
from tapui.policies.programs import base_name

_MOST_WRAPPERS = 12
_SETTING = re.compile(r"([A-Za-z_]\w*)=(.*)", re.DOTALL | re.ASCII)
_INSTALLED = re.compile(
    r"(?:(?!/(?:tmp|var/tmp|dev)/)[\w@%+=:,./~-]*/)?"
    r"(?:node_modules/\.bin|vendor/bin|\.?venv/(?:bin|Scripts)|env/bin|\.tox/[\w.-]+/bin"
    r"|\.nox/[\w.-]+/bin)/([\w.-]+?)(?:\.exe|\.cmd)?",
    re.ASCII,
)
"""Where package managers put what they install: `npx` and `uv run` take it from there, too, so a
program of these folders is as good as its bare name. A folder `bin` of the repository is not."""
_SYSTEM = re.compile(rf"(?:{FOLDER_OF_PROGRAMS})/([\w.+-]+?)(?:\.exe)?", re.ASCII)
"""Absolute paths as `which` gives them: folders of the system, and of the person's tools."""
_BUILD_SCRIPTS = re.compile(r"(?:\.{1,2}/)*(gradlew|mvnw)(?:\.bat|\.cmd)?", re.ASCII)
"""Scripts that a build tool itself makes and that each such repository has: files of the check."""
_ACTIVATES = re.compile(
    r"(?:(?!/(?:tmp|var/tmp|dev)/)[\w@%+=:,./~-]*/)?\.?v?env/(?:bin|Scripts)/activate"
    r"|/etc/profile|/opt/(?:(?:mini|ana)?conda3?|miniforge3?)/etc/profile\.d/conda\.sh"
    r"|/usr/(?:local|share)/nvm/(?:nvm|init-nvm)\.sh"
    r"|(?:~|/root|/home/[\w.-]+|/Users/[\w.-]+)/(?:\.(?:cargo|deno|ghcup|local/bin)/env|\.nvm/nvm\.sh"
    r"|\.(?:bashrc|profile|bash_profile)|\.asdf/asdf\.sh|\.sdkman/bin/sdkman-init\.sh"
    r"|(?:(?:mini|ana)conda3?|miniforge3?|mambaforge)/etc/profile\.d/conda\.sh)",
    re.ASCII,
)
"""Files with which tools that a person installs put their programs in a shell's way."""
_MODULES = frozenset(
    """pytest unittest mypy ruff flake8 pylint black isort tox nox coverage pyright bandit nose2
    compileall py_compile build pyflakes pycodestyle doctest basedpyright django""".split()  # noqa: SIM905
)
"""Modules that `python -m` runs as programs of their names."""
_PARTS_OF_MODULES = {"pytest": ("_pytest/__init__.py", "pluggy.py", "pluggy/__init__.py")}
"""More names in a folder that come before those of a module."""
_PYTHON = re.compile(r"(?:python|pypy)(?:3(?:\.\d+)?)?|py", re.ASCII)
_PLAIN_PYTHON = frozenset({"-u", "-B", "-s", "-E", "-I", "-b", "-bb", "-Xdev"})
_PYTHON_VALUES = {
    "-W": re.compile(r"error|default|always"),
    "-X": re.compile(r"dev|utf8(?:=1)?|faulthandler"),
}
"""`-O` is not among these: it takes the asserts out."""
_SCRIPT_RUNNERS = frozenset({"yarn", "pnpm", "bun", "npm"})
_OF_PACKAGES = frozenset(
    """jest vitest mocha ava eslint tsc vue-tsc prettier playwright cypress biome oxlint stylelint
    karma tap c8 nyc next vite svelte-check astro webpack rollup tsup ng turbo nx lerna jasmine tsx
    react-scripts run-s run-p npm-run-all""".split()  # noqa: SIM905
)
"""Programs that `yarn X` and `pnpm X` run, if no script of package.json has that name."""
_PACKAGES_OF = {"typescript": "tsc", "@biomejs/biome": "biome", "@playwright/test": "playwright"}
_WITH = re.compile(r"(?:pytest|mypy|ruff|tox|nox|coverage)(?:-[\w-]+)?(?:\[[\w,-]+\])?")

_OF_WORKSPACE = frozenset({"-r", "--recursive", "--silent", "--workspace-root"})
_FOREACH = re.compile(r"-[Aptivm]+|--(?:all|parallel|topological(?:-dev)?|interlaced|verbose)")
_PHP_PROGRAMS = re.compile(r"(?:\./)?(?:vendor/bin|bin)/(?:simple-)?(?:phpunit|pest|paratest)")

Option = Callable[[str], bool]


class Wrapper(NamedTuple):
    """Words that run what follows them: options without and with a value, and operands before."""

    flags: str = ""
    valued: str = ""
    folder: str = ""
    """Options with a value that is the folder in which it runs."""
    operands: int = 0
    files: tuple[str, ...] = ()
    """Files in which another program can take that name."""


_OF_MISE = ("mise.toml", ".mise.toml", ".tool-versions")
_WRAPPERS: dict[tuple[str, ...], Wrapper] = {
    ("time",): Wrapper("-p"),
    ("timeout",): Wrapper("-f --foreground -v --verbose", "-s --signal -k --kill-after", "", 1),
    ("gtimeout",): Wrapper("-f --foreground -v --verbose", "-s --signal -k --kill-after", "", 1),
    ("nice",): Wrapper("", "-n --adjustment"),
    ("ionice",): Wrapper("-t", "-c -n --class --classdata"),
    ("nohup",): Wrapper(),
    ("stdbuf",): Wrapper("", "-i -o -e --input --output --error"),
    ("command",): Wrapper(),
    ("xvfb-run",): Wrapper("-a --auto-servernum", "-s --server-args -n --server-num"),
    ("caffeinate",): Wrapper("-i -s -d -m"),
    ("volta", "run"): Wrapper("", "--node --npm --yarn --pnpm"),
    ("fnm", "exec"): Wrapper("", "--using"),
    ("asdf", "exec"): Wrapper("", "", "", 0, (".tool-versions",)),
    ("rbenv", "exec"): Wrapper(),
    ("pyenv", "exec"): Wrapper(),
    ("direnv", "exec"): Wrapper("", "", "", 1, (".envrc",)),
    ("c8",): Wrapper("--all --check-coverage", "-r --reporter --lines --branches --functions"),
    ("nyc",): Wrapper("--all --check-coverage --silent", "-r --reporter --lines --branches"),
    ("corepack",): Wrapper(),
    ("uv", "run"): Wrapper(
        "--frozen --locked --no-sync --offline --isolated --active --all-extras --all-groups --dev"
        " --no-dev --no-progress -q --quiet -v --verbose --exact --all-packages --no-active"
        " --no-editable --only-dev",
        "--extra --group --no-group --only-group --with --package --color",
        "--directory",
        0,
        ("pyproject.toml", "uv.toml"),
    ),
    ("uvx",): Wrapper("-q --quiet --isolated --offline", "--with"),
    ("pipx", "run"): Wrapper(),
    ("poetry", "run"): Wrapper("", "", "", 0, ("pyproject.toml",)),
    ("pipenv", "run"): Wrapper("", "", "", 0, ("Pipfile",)),
    ("pdm", "run"): Wrapper("", "", "-p --project", 0, ("pyproject.toml",)),
    ("hatch", "run"): Wrapper("", "", "", 0, ("pyproject.toml", "hatch.toml")),
    ("rye", "run"): Wrapper("", "", "", 0, ("pyproject.toml",)),
    ("pixi", "run"): Wrapper("--frozen --locked", "-e --environment", "", 0, ("pixi.toml",)),
    ("npx",): Wrapper("-y --yes --no --no-install -q --quiet", "-p --package", "", 0),
    ("npm", "exec"): Wrapper("-y --yes --no -q --quiet", "-p --package", "", 0),
    ("pnpm", "exec"): Wrapper(),
    ("yarn", "exec"): Wrapper(),
    ("bunx",): Wrapper("--bun"),
    ("bun", "x"): Wrapper("--bun"),
    ("bundle", "exec"): Wrapper("", "", "", 0, ("Gemfile",)),
    ("mise", "exec"): Wrapper("", "", "", 0, _OF_MISE),
    ("mise", "x"): Wrapper("", "", "", 0, _OF_MISE),
    ("conda", "run"): Wrapper("--no-capture-output --live-stream", "-n --name"),
    ("coverage", "run"): Wrapper(
        "--branch -p --parallel-mode -a --append", "--source --omit --include --concurrency"
    ),
}
_OWN_SCRIPTS = {(one, "run") for one in ("hatch", "pdm", "pixi", "rye", "pipenv")}
"""Wrappers that also run scripts of their files, by their names."""
_FOLDER_OPTIONS: dict[str, tuple[str, ...]] = {
    "make": ("-C", "--directory"),
    "gmake": ("-C", "--directory"),
    "npm": ("--prefix", "-C"),
    "pnpm": ("-C", "--dir", "--prefix"),
    "yarn": ("--cwd",),
    "bun": ("--cwd",),
    "go": ("-C",),
    "gradle": ("-p", "--project-dir"),
    "gradlew": ("-p", "--project-dir"),
    "tsc": ("-p", "--project"),
    "ctest": ("--test-dir",),
    "ninja": ("-C",),
    "meson": ("-C",),
    "composer": ("-d", "--working-dir"),
    "uv": ("--directory",),
    "poetry": ("-C", "--directory"),
    "just": ("-d", "--working-directory"),
    "git": ("-C",),
}
_FOLDER_FIRST = frozenset({"pnpm", "yarn", "bun", "composer", "uv", "poetry", "git"})
"""Programs of which options behind the verb are for what it runs."""


class InnerProgram(NamedTuple):
    """What a simple command runs. `script` is the text that a shell is given, with its options."""

    words: tuple[str, ...]
    folders: tuple[str, ...] = ()
    """Where to, one after the other."""
    sets: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    doubt: str = ""
    is_process: bool = False
    """Whether a process of its own runs it: `env cd web` leaves the shell where it is."""
    script: str | None = None
    options: frozenset[str] = frozenset()


def activates(word: str) -> bool:
    """Return whether a file that a shell reads only puts installed programs in its way."""
    return _ACTIVATES.fullmatch(word) is not None


def program(words: tuple[str, ...]) -> InnerProgram:
    """Return the program behind all of a command's wrappers."""
    made = InnerProgram(words)
    for _ in range(_MOST_WRAPPERS):
        inner = _once(made)
        if inner == made:
            return made
        made = inner
        if made.doubt or made.script is not None:
            return made
    return made._replace(doubt="it has too many wrappers")


def _once(one: InnerProgram) -> InnerProgram:
    if not one.words:
        return one._replace(doubt="it names no program")
    first = one.words[0]
    if UNKNOWN in first:
        return one._replace(doubt="its program is not known before it runs")
    if not first or first in ("!", "{", "}"):
        return one._replace(doubt="it names no program")
    if "/" in first:
        return _path(one)
    one = _folders(one)
    for rule in (_env, _shell, _python, _php, _spelled, _package_script, _wrapped):
        if (made := rule(one)) is not None:
            is_process = made != one and first not in ("time", "command")
            return made._replace(is_process=one.is_process or is_process)
    return one


def _path(one: InnerProgram) -> InnerProgram:
    """Take a program by its path: an installed one is the same as its name."""
    first, *rest = one.words
    one = one._replace(is_process=True)
    if found := _SYSTEM.fullmatch(first):
        return one._replace(words=(found[1], *rest))
    if ".." not in first.split("/")[1:] and (found := _INSTALLED.fullmatch(first)):
        return one._replace(words=(found[1], *rest), files=(*one.files, first))
    if found := _BUILD_SCRIPTS.fullmatch(first):
        return one._replace(words=(found[1], *rest), files=(*one.files, first))
    name = first.removeprefix("./") if "/" in first.removeprefix("./") else first
    made = one._replace(words=(name, *rest))
    return made if first in one.files else made._replace(files=(*one.files, first))


def _folders(one: InnerProgram) -> InnerProgram:
    """Take the folder out of options such as `--prefix web`."""
    options = _FOLDER_OPTIONS.get(one.words[0])
    if not options:
        return one
    words: list[str] = []
    folders: list[str] = []
    left = iter(one.words)
    for word in left:
        is_verb = words and not word.startswith("-") and one.words[0] in _FOLDER_FIRST
        is_verb = is_verb or (one.words[0] == "go" and len(words) > 1)
        if word == "--" or (is_verb and word not in options):
            words += [word, *left]
            break
        name, sign, value = word.partition("=")
        glued = one.words[0] in ("make", "gmake", "ninja") and re.fullmatch(r"-C(.+)", word)
        if word in options:
            folders.append(next(left, UNKNOWN))
        elif sign and name in options and name.startswith("--"):
            folders.append(value)
        elif glued:
            folders.append(glued[1])
        else:
            words.append(word)
    if one.words[0] == "tsc" and any(folder.endswith(".json") for folder in folders):
        return one
    if any(UNKNOWN in folder for folder in folders):
        return one._replace(doubt="the folder in which it runs is not known")
    return one._replace(words=tuple(words), folders=(*one.folders, *folders))


def _env(one: InnerProgram) -> InnerProgram | None:
    """Look through `env A=b`, `cross-env A=b`."""
    if one.words[0] not in ("env", "cross-env"):
        return None
    at, given, folders = 1, list[tuple[str, str]](), list[str]()
    while at < len(one.words):
        word = one.words[at]
        if found := _SETTING.fullmatch(word):
            given.append((found[1], found[2]))
        elif word in ("-u", "--unset") and at + 1 < len(one.words):
            at += 1
            given.append((one.words[at], ""))
        elif word.startswith("--unset="):
            given.append((word.partition("=")[2], ""))
        elif word in ("-C", "--chdir") and at + 1 < len(one.words):
            at += 1
            folders.append(one.words[at])
        elif word.startswith(("-", UNKNOWN)):
            return one._replace(doubt=f"env has {word.lstrip(UNKNOWN)}")
        else:
            break
        at += 1
    if at == len(one.words):
        return None
    sets, doubt = settings(given)
    if any(UNKNOWN in folder for folder in folders):
        doubt = doubt or "the folder in which it runs is not known"
    return one._replace(
        words=one.words[at:],
        sets=(*one.sets, *sets),
        folders=(*one.folders, *folders),
        files=(*one.files, *modules_before(given)),
        doubt=doubt,
    )


def _shell(one: InnerProgram) -> InnerProgram | None:
    """Look into `bash -c 'TEXT'`, as far as its options are known."""
    name = one.words[0]
    if name not in ("bash", "sh", "zsh", "dash", "fish", "ksh"):
        return None
    options: set[str] = set()
    has_text = False
    words = iter(one.words[1:])
    for word in words:
        if word in ("--norc", "--noprofile", "--login", "--"):
            continue
        if re.fullmatch(r"-[ceuxol]+", word):
            has_text = has_text or "c" in word
            options |= {"errexit"} if "e" in word else set()
            if "o" in word:
                value = next(words, "")
                options.add(value)
                if value not in ("pipefail", "errexit", "nounset", "xtrace"):
                    return one._replace(doubt=f"{name} has options that are not read")
            continue
        if word.startswith(("-", "+")):
            return one._replace(doubt=f"{name} has options that are not read ({word})")
        if not has_text:
            files = one.files if word in one.files else (*one.files, word)
            return one._replace(files=files)
        if UNKNOWN in word:
            return one._replace(doubt=f"the text that {name} is given is not known")
        if name not in ("bash", "sh"):
            return one._replace(doubt=f"tapui does not read {name}")
        return one._replace(script=word, options=frozenset(options))
    return one._replace(doubt=f"{name} runs what it reads")


def _python(one: InnerProgram) -> InnerProgram | None:
    """Look through `python -m pytest`."""
    if not _PYTHON.fullmatch(one.words[0]):
        return None
    at = 1
    while at < len(one.words):
        word, value = one.words[at], "".join(one.words[at + 1 : at + 2])
        is_fine = word in _PYTHON_VALUES and _PYTHON_VALUES[word].fullmatch(value)
        if word not in _PLAIN_PYTHON and not is_fine:
            break
        at += 2 if is_fine else 1
    if one.words[at : at + 1] == ("-m",) and (module := "".join(one.words[at + 1 : at + 2])):
        if module not in _MODULES:
            return None
        # A file of that name in the folder comes before the installed one.
        own = (f"{module}.py", f"{module}/__init__.py", f"{module}/__main__.py")
        own = (*own, *_PARTS_OF_MODULES.get(module, ()))
        return one._replace(words=one.words[at + 1 :], files=(*one.files, *own))
    script = "".join(one.words[1:2])
    if script in ("manage.py", "./manage.py"):
        return one._replace(words=("manage.py", *one.words[2:]), files=(*one.files, "manage.py"))
    if script and not script.startswith("-") and script not in one.files:
        return one._replace(files=(*one.files, script))
    return None


def _php(one: InnerProgram) -> InnerProgram | None:
    """Look through `php -d memory_limit=1G vendor/bin/phpunit`."""
    words = one.words
    at = 1
    while words[0] == "php" and words[at : at + 1] == ("-d",) and at + 2 < len(words):
        if not re.fullmatch(r"(?:memory_limit|xdebug\.mode|pcov\.enabled)=[\w-]+", words[at + 1]):
            return None
        at += 2
    if words[0] != "php" or len(words) <= at or not re.fullmatch(_PHP_PROGRAMS, words[at]):
        return None
    path = words[at]
    return one._replace(words=(base_name(path), *words[at + 1 :]), files=(*one.files, path))


def _spelled(one: InnerProgram) -> InnerProgram | None:
    """Spell `node --import tsx --test` and `pnpm -r test` in one way."""
    name, *rest = one.words
    if name == "node" and "--test" in rest[1:] and rest[0].startswith("-"):
        rest.remove("--test")
        return one._replace(words=(name, "--test", *rest))
    if name == "pnpm" and rest and rest[0] in _OF_WORKSPACE:
        return one._replace(words=(name, *rest[1:], rest[0])) if len(rest) > 1 else None
    if name == "pnpm" and rest[:1] == ["run"] and rest[1:2] and rest[1] in _OF_WORKSPACE:
        return one._replace(words=(name, "run", *rest[2:], rest[1])) if len(rest) > 2 else None
    if name == "yarn" and rest[:1] == ["workspaces"]:
        at = 2 if rest[1:2] == ["foreach"] else 1
        flags = rest[2 : rest.index("run")] if at == 2 and "run" in rest[2:] else []
        verb = rest[at + len(flags) :]
        if verb[:1] == ["run"] and len(verb) > 1 and all(map(_FOREACH.fullmatch, flags)):
            return one._replace(words=(name, "run", verb[1], "--workspaces", *verb[2:]))
    if name == "composer" and rest[:1] in (["run-script"], ["exec"]) and len(rest) > 1:
        return one._replace(words=(name, "run", *rest[1:])) if rest[0] != "exec" else None
    return None


def _package_script(one: InnerProgram) -> InnerProgram | None:
    """Look through `yarn jest` and `pnpm run jest`; spell `npm t` and `yarn run test` out."""
    name, *rest = one.words
    if name not in _SCRIPT_RUNNERS or not rest:
        return None
    if rest[0] in ("run", "run-script") and len(rest) > 1:
        if name != "npm" and rest[1] in _OF_PACKAGES:
            return one._replace(words=tuple(rest[1:]), files=(*one.files, "package.json"))
        # `bun test` is a runner of its own, `bun run test` a script.
        if rest[1] == "test" and name != "bun":
            return one._replace(words=(name, *rest[1:]))
        if rest[0] == "run-script":
            return one._replace(words=(name, "run", *rest[1:]))
        if name in ("yarn", "pnpm") and not rest[1].startswith("-"):
            return one._replace(words=(name, *rest[1:])) if _is_script(rest[1]) else None
    elif name in ("npm", "pnpm") and rest[0] in ("t", "tst"):
        return one._replace(words=(name, "test", *rest[1:]))
    elif name in ("yarn", "pnpm") and rest[0] in _OF_PACKAGES:
        return one._replace(words=tuple(rest), files=(*one.files, "package.json"))
    return None


def _is_script(word: str) -> bool:
    """Return whether yarn and pnpm take a word for a script, and have no command of that name."""
    names = r"(?:test|lint|build|check|type-?check|format|e2e|unit)[\w:.-]*"
    return re.fullmatch(names, word) is not None


def _wrapped(one: InnerProgram) -> InnerProgram | None:
    """Look through a wrapper of the table."""
    for size in (2, 1):
        if (rule := _WRAPPERS.get(one.words[:size])) is not None:
            break
    else:
        return None
    flags, valued, folder = rule.flags.split(), rule.valued.split(), rule.folder.split()
    at, operands, folders = size, rule.operands, list[str]()
    words = one.words
    is_module = False
    while at < len(words):
        word = words[at]
        name, sign, value = word.partition("=")
        glued = word[:2] if not word.startswith("--") and word[:2] in valued else ""
        if word == "--":
            at += 1
            break
        if word in ("-m", "--module") and words[:size] in (("uv", "run"), ("coverage", "run")):
            at, is_module = at + 1, True
            break
        if word in flags or (words[0] == "nice" and re.fullmatch(r"-\d+", word)):
            at += 1
            continue
        if word in valued or word in folder:
            name, value, step = word, "".join(words[at + 1 : at + 2]), 2
        elif sign and word.startswith("--") and name in (*valued, *folder):
            step = 1
        elif glued:
            name, value, step = glued, word[2:], 1
        elif word.startswith("-"):
            return one  # stays in the words
        elif operands and UNKNOWN not in word and (words[0] != "direnv" or word == "."):
            operands, at = operands - 1, at + 1
            continue
        else:
            break
        if name in folder:
            folders.append(value)
        if not _is_fine(words, name, value):
            return one
        at += step
    rest = words[at:]
    if words[:2] in _OWN_SCRIPTS and rest and _is_script(rest[0]):
        return one._replace(files=tuple(dict.fromkeys([*one.files, *rule.files])))
    if not rest or operands or any(UNKNOWN in one_ for one_ in folders):
        return one
    if words[0] == "command" and rest[0].startswith("-"):
        return one
    # `npm exec tsc --noEmit` keeps the option for itself.
    if (
        words[:2] == ("npm", "exec")
        and words[at - 1] != "--"
        and any(one_.startswith("-") for one_ in rest)
    ):
        return one
    if is_module:
        rest = ("python", "-m", *rest)
    files = tuple(one_ for one_ in rule.files if one_ not in one.files)
    return one._replace(words=rest, folders=(*one.folders, *folders), files=(*one.files, *files))


def _is_fine(words: tuple[str, ...], name: str, value: str) -> bool:
    """Return whether an option's value leaves the program what its name says."""
    if UNKNOWN in value or not value:
        return False
    if name == "--with":
        return _WITH.fullmatch(value) is not None
    if words[0] in ("npx", "npm") and name in ("-p", "--package"):
        return value in _PACKAGES_OF or base_name(value) in _OF_PACKAGES
    return True
