"""What a variable that is set before a check makes of it, and what a shell reads before it."""

import pytest

from tapui.core.proof.deciding import read
from tapui.core.proof.surfaces import surface_files


def outcome(text: str) -> str:
    reading = read(text)
    at = len(reading.parts) - 1
    found = reading.outcome(at, 0)
    return f"{found.state}: {found.reason}" if found.reason else found.state


@pytest.mark.parametrize(
    "setting",
    [
        "CI=1",
        "NODE_OPTIONS=--experimental-vm-modules",
        "NODE_OPTIONS='--max-old-space-size=4096 --no-warnings'",
        "RUSTFLAGS='-D warnings'",
        "PYTHONPATH=src",
        "PYTHONPATH=.",
        "PYTHONPATH=$PWD/src:tests",
        'PYTHONPATH="src:$PYTHONPATH"',
        "PYTHONPATH=src:${PYTHONPATH:-}",
        "PYTHONWARNINGS=error",
        "UV_CACHE_DIR=/tmp/uv",
        "GOCACHE=/tmp/go",
        "GOFLAGS=-mod=mod",
        "CARGO_TARGET_DIR=/tmp/target",
        "JAVA_HOME=/usr/lib/jvm/java-17-openjdk-amd64",
        "MAVEN_OPTS=-Xmx1g",
        "GRADLE_OPTS=-Dorg.gradle.daemon=false",
        "PATH=$PATH:/usr/local/go/bin",
        'PATH="$HOME/.local/bin:$PATH"',
        "PATH=./node_modules/.bin:$PATH",
        "PATH=$HOME/.nvm/versions/node/v20.1.0/bin:${PATH}",
        "DATABASE_URL=sqlite://",
        "NODE_ENV=test",
        "SKIP_PREFLIGHT_CHECK=true",
        "PLAYWRIGHT_SKIP_BROWSER_DOWNLOAD=1",
        "RUN_SLOW_TESTS=1",
    ],
)
def test_a_variable_that_leaves_the_check_what_it_is(setting: str) -> None:
    assert outcome(f"{setting} make test") == "passed"
    assert outcome(f"export {setting} && make test") == "passed"
    assert outcome(f"export {setting}; make test") == "passed"
    if "$" not in setting:  # what `env` is given is not known then
        assert outcome(f"env {setting} make test") == "passed"


@pytest.mark.parametrize(
    "setting",
    [
        "NODE_OPTIONS=--require=./patch.js",
        "NODE_OPTIONS='--no-warnings --import ./patch.js'",
        "RUSTFLAGS='-D warnings --cfg fake'",
        "PYTHONPATH=/tmp/fake",
        "PYTHONPATH=../fake",
        "PYTHONPATH=~/fake",
        "PYTHONPATH=src:$FAKE",
        "PYTHONPATH=$(./fake)",
        "PYTHONSTARTUP=x",
        "PYTEST_ADDOPTS=-kx",
        "GOFLAGS=-run=x",
        "GOFLAGS='-mod=mod -exec=true'",
        "JAVA_HOME=/tmp/fake",
        "JAVA_HOME=/usr/../tmp/fake",
        "MAVEN_OPTS=-DskipTests",
        "GRADLE_OPTS=-Dorg.gradle.project.skipTests=true",
        "PATH=fake:$PATH",
        "PATH=$PATH:/tmp/fake",
        "PATH=/usr/bin",
        "PATH=$HOME/fake:$PATH",
        "PATH=$FAKE/bin:$PATH",
        "NVM_DIR=/tmp/fake",
        "SKIP=pytest",
        "SKIP_TESTS=1",
        "TEST_FILTER=cart",
        "TEST=test/cart_test.rb",
        "TESTS=one",
        "SPEC=spec/cart_spec.rb",
        "SPEC_OPTS=--dry-run",
        "CI_NODE_INDEX=0",
        "TEST_SHARD=1/4",
        "CYPRESS_SPEC=one",
        "MIX_TEST_ONLY=1",
        "BUILD_TAGS=unit",
        "FAST=1",
        "RUN_TESTS=0",
        "ENABLE_TESTS=false",
        "ROBOT_OPTIONS=--nostatusrc",
        "TEST_ARGS=-kx",
        "TESTFLAGS=-kx",
        "LEFTHOOK=0",
        "JUST_DRY_RUN=1",
        "PRE_COMMIT_ALLOW_NO_CONFIG=1",
        "NO_TESTS=1",
        "TESTS_DISABLED=1",
        "TEST_SUITE=unit",
        "E2E_TEST_PATH=a",
        "PKG=./cart",
        "ORG_GRADLE_PROJECT_skipTests=true",
    ],
)
def test_a_variable_that_may_choose_what_is_checked(setting: str) -> None:
    told = f"unknown: it sets {setting.partition('=')[0]}"
    assert outcome(f"{setting} make test") == told
    assert outcome(f"export {setting} && make test") == told
    assert outcome(f"env {setting} make test").startswith("unknown")


@pytest.mark.parametrize(
    "text",
    [
        "PYTHONPATH=src pytest",
        'export PYTHONPATH="src:$PYTHONPATH"; python -m pytest',
        "env PYTHONPATH=./src/ uv run pytest",
    ],
)
@pytest.mark.parametrize("name", ["pytest.py", "sitecustomize.py", "_pytest/__init__.py"])
def test_a_module_before_the_installed_one_decides(text: str, name: str) -> None:
    part = read(text).parts[-1]
    assert surface_files(part, "/code/shop", "/code/shop", [f"src/{name}"]) == [f"src/{name}"]
    assert surface_files(part, "/code/shop", "/code/shop", [f"lib/{name}"]) == []


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (". ~/.nvm/nvm.sh && nvm use 20 && npm test", "passed"),
        ('export NVM_DIR="$HOME/.nvm" && . "$NVM_DIR/nvm.sh" && npm test', "passed"),
        ('[ -s "$NVM_DIR/nvm.sh" ] && . "$NVM_DIR/nvm.sh"; npm test', "passed"),
        ("source ~/miniconda3/etc/profile.d/conda.sh && conda activate a && npm test", "passed"),
        ("source ~/.bashrc && npm test", "passed"),
        ("bash -lc 'npm test'", "passed"),
        ("bash --login -c 'npm test'", "passed"),
        ("bash -ic 'npm test'", "unknown: bash has options that are not read (-ic)"),
        ("NVM_DIR=/tmp/a; . $NVM_DIR/nvm.sh && npm test", "unknown: it sets NVM_DIR"),
        (". ./nvm.sh && npm test", "unknown: . changes what the shell does"),
        (". ~/.bashrc.d/a && npm test", "unknown: . changes what the shell does"),
    ],
)
def test_what_puts_the_persons_tools_in_a_shells_way(text: str, told: str) -> None:
    assert outcome(text) == told
