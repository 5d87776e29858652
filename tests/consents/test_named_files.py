"""Which files a command names, and what of them is covered."""

import os
import shlex
from pathlib import Path
from typing import Any

import pytest

from tapui.consents import named_files as module
from tapui.consents.emitters import files_of
from tapui.consents.named_files import NamedFiles
from tapui.core.emitters.plans import EmitterPlan


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    path = tmp_path / "folder"
    for name in (
        "pulse.sh",
        "scripts/run.mjs",
        "my file.sh",
        "sub/inner.sh",
        "sub/deep/last.sh",
        "conf.json",
    ):
        (path / name).parent.mkdir(parents=True, exist_ok=True)
        (path / name).write_text(name)
    return path


def named(folder: Path, command: str | None, **keys: Any) -> NamedFiles:
    entry = EmitterPlan(
        **{"kind": "emitter", "name": "e", "cwd": str(folder), **keys}, command=command
    )
    return files_of(str(folder), entry)


@pytest.mark.parametrize(
    ("command", "names"),
    [
        ("./pulse.sh", ["pulse.sh"]),
        ("bash pulse.sh -x", ["pulse.sh"]),
        ("node scripts/run.mjs --config=conf.json", ["conf.json", "scripts/run.mjs"]),
        ("'./my file.sh' && ./pulse.sh", ["my file.sh", "pulse.sh"]),
        ('"./my file.sh"', ["my file.sh"]),
        ("./my\\ file.sh", ["my file.sh"]),
        ("cat conf.json | while read x; do ./pulse.sh $x; done", ["conf.json", "pulse.sh"]),
        ("echo $(./pulse.sh)", ["pulse.sh"]),
        ("bash -c './pulse.sh; ./sub/inner.sh'", ["pulse.sh", "sub/inner.sh"]),
        ("timeout 5 ./pulse.sh", ["pulse.sh"]),
        ("cd sub && ./inner.sh", ["sub/inner.sh"]),
        ("bash < pulse.sh", ["pulse.sh"]),
        ("bash -c 'sh < pulse.sh'", ["pulse.sh"]),
        ("while read x; do echo $x; done < conf.json", ["conf.json"]),
        ("curl -d @conf.json x", ["conf.json"]),
        ("sub/../pulse.sh", ["pulse.sh"]),
        ("./pulse.sh > conf.json", ["pulse.sh"]),
        ("ls sub", []),
        ("./gone.sh", []),
        ("echo 'unclosed ./pulse.sh", ["pulse.sh"]),
        ("cd sub; cd deep; ./last.sh", ["sub/deep/last.sh"]),
        ("cd sub/deep && cd .. && ./inner.sh", ["sub/inner.sh"]),
        ("env -C sub ./inner.sh", ["sub/inner.sh"]),
        ("make --directory=sub -f inner.sh", ["sub/inner.sh"]),
        pytest.param("true; " * 500 + "./pulse.sh", ["pulse.sh"], id="vast"),
    ],
)
def test_words_that_are_files(folder: Path, command: str, names: list[str]) -> None:
    assert sorted(named(folder, command).digests) == names


NAMES = (
    "run.sh", "run.awk", "x.js", "x.mk", "y.rb", "pkg/__init__.py", "pkg/__main__.py", "pkg/sub.py",
    "lib/inner.py", "D", "package.json", "rc", "top.py", "a.sh", "b.sh",
)  # fmt: skip


@pytest.fixture
def project(tmp_path: Path) -> Path:
    path = tmp_path / "project"
    for name in NAMES:
        (path / name).parent.mkdir(parents=True, exist_ok=True)
        (path / name).write_text(name)
    return path


@pytest.mark.parametrize(
    ("command", "names"),
    [
        ("env -S 'sh run.sh'", ["run.sh"]),
        ("env '-Ssh run.sh'", ["run.sh"]),
        ("env --split-string='sh run.sh'", ["run.sh"]),
        ("awk -frun.awk D", ["D", "run.awk"]),
        ("awk -f run.awk", ["run.awk"]),
        ("node -r./x.js", ["x.js"]),
        ("node -r ./x", ["x.js"]),
        ("node --require=./x.js -e 1", ["x.js"]),
        ("node --import ./x.js -e 1", ["x.js"]),
        ("node ./x", ["x.js"]),
        ("ruby -r./y", ["y.rb"]),
        ("make -fx.mk", ["x.mk"]),
        ("make -sfx.mk", ["x.mk"]),
        ("python -m pkg", ["pkg/__init__.py", "pkg/__main__.py"]),
        ("python3.12 -mpkg.sub", ["pkg/__init__.py", "pkg/sub.py"]),
        ("python -Im top", ["top.py"]),
        ("uv run python -m top", ["top.py"]),
        ("python -c 'import x' -m gone", []),
        ("bash --rcfile rc -i", ["rc"]),
        ("bash --rcfile=rc -i", ["rc"]),
        (". ./run.sh", ["run.sh"]),
        ("source run.sh", ["run.sh"]),
        ("docker build -f D .", ["D"]),
        ("docker build -fD .", ["D"]),
        ("NODE_OPTIONS=--require=./x.js true", ["x.js"]),
        ("NODE_OPTIONS='--require ./x' true", ["x.js"]),
        ("env NODE_OPTIONS=--require=./x.js true", ["x.js"]),
        ("export BASH_ENV=./run.sh; true", ["run.sh"]),
        ("PYTHONPATH=./lib python -m inner", ["lib/inner.py"]),
        ("PYTHONPATH=/x:./lib python -m inner", ["lib/inner.py"]),
        ("npm run x", ["package.json"]),
        ("su me -c 'sh run.sh'", ["run.sh"]),
        ("flock D -c 'sh run.sh'", ["D", "run.sh"]),
        ("curl https://x.example/run.sh:D", []),
    ],
)
def test_files_that_options_texts_and_variables_name(
    project: Path, command: str, names: list[str]
) -> None:
    assert sorted(named(project, command).digests) == names


@pytest.mark.parametrize(
    ("command", "pattern"),
    [
        ("sh *.sh", "*.sh"),
        ("sh ./[ab].sh", "./[ab].sh"),
        ("sh ?.sh", "?.sh"),
        ("cd lib && cat 'x y'*.sh | sh", "x y*.sh"),
        ("bash -c 'sh *.sh'", "*.sh"),
        ("env -S 'sh *.sh'", "*.sh"),
        ("sh <<EOF\nsh *.sh\nEOF", "*.sh"),
        ('echo "$(sh *.sh)"', "*.sh"),
    ],
)
def test_a_pattern_is_not_covered(project: Path, command: str, pattern: str) -> None:
    line = f"{pattern}: a pattern, the files that it stands for are not followed"
    assert line in named(project, command).uncovered


@pytest.mark.parametrize(
    "command", ["grep 'a*b' D", 'find . -name "*.py"', "test $? = 0", "[ -f D ]", "echo a\\*b"]
)
def test_what_the_shell_does_not_expand_is_no_pattern(project: Path, command: str) -> None:
    assert not any("pattern" in one for one in named(project, command).uncovered)


def test_a_provider_has_no_shell_that_expands_patterns(project: Path) -> None:
    found = named(project, "sh", kind="provider", args=("-c", "sh *.sh", "x*y"))
    patterns = [one for one in found.uncovered if "pattern" in one]
    assert patterns == ["*.sh: a pattern, the files that it stands for are not followed"]
    found = named(project, "env", kind="provider", args=("NODE_OPTIONS=--require=./x.js", "node"))
    assert list(found.digests)[:1] == ["x.js"]
    assert any("NODE_OPTIONS decides" in one for one in found.doubts)


@pytest.mark.parametrize(
    ("command", "readers"),
    [
        ("npx -y cowsay@1.6.0", "npx"),
        ("node .", "node"),
        ("npm run x", "npm"),
        ("find . -name run.sh -exec sh {} ;", "find"),
        ("git status | head -3 && eslint .", "git or eslint"),
        ("timeout 5 cmake .", "timeout 5 cmake ."),
        ("ls | xargs jest", "xargs jest"),
        ("bash -c 'cd x; deno task x'", "deno"),
        ("env -S 'mise run x'", "env -S mise run x or mise"),
        ("if [ -f x ]; then $(terraform plan); fi", "$(terraform plan) or terraform"),
        ("awk 'BEGIN { system(\"./run.sh\") }'", "awk"),
        ("./run.sh", "./run.sh"),
        ("bash run.sh", "bash"),
        ("bash -c -- ninja", "ninja"),
        ("./cat D", "./cat"),
        ("ninja 'unclosed", "ninja"),
        ("true; " * 500 + "ninja", "ninja"),
    ],
)
def test_what_a_program_reads_by_itself_is_not_covered(
    project: Path, command: str, readers: str
) -> None:
    line = f"what {readers} reads in this folder by itself"
    assert line in named(project, command).uncovered
    assert line in named(project, "sh", kind="provider", args=("-c", command)).uncovered


@pytest.mark.parametrize(
    "command",
    [
        "echo x; sleep 5 && date",
        "tail -f D | grep -v a | sed 's/a/b/' | awk '{ print $1 }'",
        "while true; do /usr/bin/cat D; cd lib; done",
        "bash -c 'curl -s https://x.example | jq .a'",
    ],
)
def test_of_programs_that_read_only_their_words_all_is_covered(project: Path, command: str) -> None:
    assert not any("by itself" in one for one in named(project, command).uncovered)
    found = named(project, "sh", kind="provider", args=("-c", command)).uncovered
    assert not any("by itself" in one for one in found)


def test_the_shell_of_an_entry_is_a_program_too(project: Path) -> None:
    found = named(project, "true", shell="node").uncovered
    assert found == ["what node reads in this folder by itself"]
    assert named(project, "true", shell="zsh").uncovered == []


def test_texts_within_texts_hide_no_program(project: Path) -> None:
    quoted, substituted = "ninja", "ninja"
    for _ in range(8):
        quoted = f"bash -c {shlex.quote(quoted)}"
        substituted = f'bash -c "$({substituted})"'
    vast = "; ".join(f"bash -c 'echo {number}'" for number in range(50)) + "; bash -c ninja"
    for command in (quoted, substituted, vast):
        assert any("by itself" in one for one in named(project, command).uncovered), command


def test_a_module_of_which_not_all_is_named_is_not_covered(project: Path) -> None:
    assert "pkg: a folder, of which only what is named is covered" in (
        named(project, "python -m pkg").uncovered
    )


def test_a_variable_that_a_command_sets_is_a_doubt(project: Path) -> None:
    for command in ("NODE_OPTIONS=-r./x.js node", "env NODE_OPTIONS=x node", "export PATH=."):
        assert any("decides what runs" in one for one in named(project, command).doubts), command


def test_links_that_lead_out_or_nowhere_are_not_covered(project: Path, tmp_path: Path) -> None:
    (tmp_path / "away").mkdir()
    (tmp_path / "away" / "x.sh").write_text("x")
    (project / "out").symlink_to(tmp_path / "away")
    (project / "later").symlink_to("not-there-yet")
    assert "out: a link that leads out of the folder" in named(project, "run-parts out").uncovered
    found = named(project, "cd out && sh ./x.sh")
    assert "./x.sh: a link that leads out of the folder" in found.uncovered
    assert "later: a link to what is not there" in named(project, "sh later").uncovered


def test_variables_the_shell_and_arguments_count(folder: Path) -> None:
    found = named(folder, "make", env=(("BASH_ENV", "./pulse.sh"), ("P", "x:conf.json")))
    assert sorted(found.digests) == ["conf.json", "pulse.sh"]
    found = named(folder, "make", shell=str(folder / "pulse.sh"))
    assert list(found.digests) == ["pulse.sh"]
    found = named(folder, "./pulse.sh", kind="provider", args=("my file.sh", "--f=conf.json"))
    assert sorted(found.digests) == ["conf.json", "my file.sh", "pulse.sh"]
    assert named(folder, None, prompt="./pulse.sh").digests == {}


def test_programs_along_a_path_of_the_entry_count(folder: Path) -> None:
    for name in ("bash", "ls", "zsh"):
        (folder / "sub" / name).write_text(name)
    path = (("PATH", "./sub:/usr/bin"),)
    assert sorted(named(folder, "ls -l", env=path).digests) == ["sub/bash", "sub/ls"]
    assert sorted(named(folder, "true", env=path, shell="zsh").digests) == ["sub/zsh"]
    assert named(folder, "ls -l").digests == {}


@pytest.mark.parametrize(
    "name",
    [
        "PATH", "HOME", "LD_PRELOAD", "DYLD_INSERT_LIBRARIES", "BASH_ENV", "ENV", "GIT_SSH_COMMAND",
        "PYTHONPATH", "PYTHONUSERBASE", "PERL5LIB", "NODE_OPTIONS", "NODE_EXTRA_CA_CERTS",
        "npm_config_registry", "NPM_CONFIG_REGISTRY", "Npm_Config_userconfig", "UV_DEFAULT_INDEX",
        "UV_EXTRA_INDEX_URL", "PIP_INDEX_URL", "https_proxy", "HTTPS_PROXY", "ALL_PROXY",
        "OPENSSL_CONF", "SSL_CERT_FILE", "GOPROXY", "GONOSUMDB", "CARGO_HOME", "DOCKER_HOST",
        "YARN_REGISTRY", "MAKEFLAGS", "CURL_CA_BUNDLE", "PAGER", "BUNDLE_GEMFILE",
    ],
)  # fmt: skip
def test_a_variable_that_decides_what_runs_is_a_doubt(folder: Path, name: str) -> None:
    found = named(folder, "./pulse.sh", env=((name, "x"), ("CI", "1")))
    assert found.doubts == (f"its variable {name} decides what runs, or where it comes from",)


@pytest.mark.parametrize("name", ["CI", "LOG_LEVEL", "API_TOKEN", "DEBUG", "PORT", "GOOGLE_KEY"])
def test_other_variables_are_no_doubt(folder: Path, name: str) -> None:
    assert named(folder, "./pulse.sh", env=((name, "x"),)).doubts == ()


def test_what_no_digest_covers_is_said(folder: Path) -> None:
    os.mkfifo(folder / "pipe")
    (folder / "self").symlink_to(".")
    assert named(folder, "cat ./pipe").uncovered == ["./pipe: no file, what it gives is not known"]
    assert named(folder, "ls sub").uncovered == [
        "sub: a folder, of which only what is named is covered"
    ]
    assert named(folder, "ls .").uncovered == []
    assert "self" in named(folder, "ls self").uncovered[0]


def test_words_folders_and_bytes_are_bounded(folder: Path) -> None:
    found = named(folder, "echo " + " ".join(f"w{n}" for n in range(2000)))
    assert found.uncovered[0].endswith(f"more words: {module.MAX_WORDS} are looked at")
    for number in range(20):
        (folder / f"d{number}").mkdir()
    found = named(folder, "; ".join(f"cd d{n}" for n in range(20)) + "; ./pulse.sh")
    assert list(found.digests) == ["pulse.sh"]
    assert any("one more folder" in one for one in found.uncovered)
    count = module.MAX_ALL // module.MAX_WHOLE + 1
    for number in range(count):
        (folder / f"large{number}").touch()
        os.truncate(folder / f"large{number}", module.MAX_WHOLE)
    digests = named(folder, "cat " + " ".join(f"large{n}" for n in range(count))).digests
    kinds = [one.partition(":")[0] for one in digests.values()]
    assert kinds == ["sha256"] * (count - 1) + ["large"]


def test_names_are_meant_from_where_it_runs(folder: Path) -> None:
    assert list(named(folder, "./inner.sh", cwd=str(folder / "sub")).digests) == ["sub/inner.sh"]
    assert list(named(folder, "../pulse.sh", cwd=str(folder / "sub")).digests) == ["pulse.sh"]


def test_what_lies_outside_is_named_as_not_covered(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("x")
    (folder / "out").symlink_to(tmp_path / "secret")
    found = named(folder, "/usr/bin/cat ../secret ~/x ./out >/dev/null 2>&1 </dev/null")
    assert found.digests == {}
    assert sorted(found.uncovered) == [
        "../secret",
        "./out: a link that leads out of the folder",
        "/usr/bin/cat",
        "~/x",
    ]


def test_a_link_within_the_folder_stands_for_its_file(folder: Path) -> None:
    (folder / "link").symlink_to("pulse.sh")
    before = named(folder, "./link").digests
    assert list(before) == ["pulse.sh"]
    (folder / "link").unlink()
    (folder / "link").symlink_to("conf.json")
    assert list(named(folder, "./link").digests) == ["conf.json"]


def test_what_is_not_understood_is_a_doubt(folder: Path) -> None:
    assert named(folder, "./pulse.sh").doubts == ()
    assert "it uses a variable" in named(folder, "$HOME/x ./pulse.sh").doubts


def test_more_files_than_are_covered_are_counted(folder: Path) -> None:
    names = [f"f{number}" for number in range(module.MAX_FILES + 2)]
    for name in names:
        (folder / name).touch()
    found = named(folder, f"cat {' '.join(names)}")
    assert len(found.digests) == module.MAX_FILES
    assert found.uncovered == [f"and 2 more files: {module.MAX_FILES} are covered"]


def test_of_a_large_file_size_time_and_beginning_count(folder: Path) -> None:
    large = module.MAX_WHOLE + 1
    path = folder / "pulse.sh"
    seen = []
    for text, size in (("0", large), ("x", large), ("0", large + 1)):
        path.write_text(text)
        os.truncate(path, size)
        os.utime(path, ns=(5, 5))
        seen.append(named(folder, "./pulse.sh").digests["pulse.sh"])
    with path.open("r+") as file:  # the end, behind what is read
        file.seek(large)
        file.write("B")
    os.utime(path, ns=(5, 5))
    seen.append(named(folder, "./pulse.sh").digests["pulse.sh"])
    os.utime(path, ns=(6, 6))
    seen.append(named(folder, "./pulse.sh").digests["pulse.sh"])
    assert len(set(seen)) == 5
    assert seen[0].startswith(f"large:{large}:5:")


def test_pipes_folders_and_devices_are_not_waited_for(folder: Path) -> None:
    os.mkfifo(folder / "pipe")
    (folder / "loop").symlink_to("loop")
    (folder / "zero").symlink_to("/dev/zero")
    found = named(folder, "./pipe ./loop ./zero sub . .. /dev/zero")
    assert found.digests == {}


def test_hostile_words_are_bounded(folder: Path) -> None:
    words = " ".join(f"../{n}" for n in range(500)) + " \x1b[31m/../../x " + "a/" * 3000
    found = named(folder, words)
    assert len(found.uncovered) <= 21
    assert all(one.isprintable() for one in found.uncovered)
