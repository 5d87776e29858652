"""What is a check, and which of its files say what is checked."""

import pytest

from tapui.core.proof.checks import bare, check, idle, surface
from tapui.core.proof.deciding import read


def found(text: str) -> str:
    one = check(read(text).parts[-1].words)
    return f"{one.kind} {one.part}".strip() if one else ""


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("pytest -q -x", "tests"),
        ("pytest -xvs", "tests"),
        ("pytest -k login", "tests it ran -k: a subset"),
        ("pytest --lf", "tests it ran --lf: a subset"),
        ("pytest tests/a.py", "tests it ran tests/a.py: a subset"),
        ("pytest -p no:x", "tests it ran with -p"),
        ("jest --onlyChanged", "tests it ran --onlyChanged: a subset"),
        ("jest --watchAll=false --ci", "tests"),
        ("vitest", "tests"),
        ("vitest run src/a.test.ts", "tests it ran src/a.test.ts: a subset"),
        ("npm test", "tests"),
        ("npm run test:unit", "tests"),
        ("npm run lint", "lint"),
        ("npm run type-check", "types"),
        ("npm run build", "build"),
        ("npm run format:check", "lint"),
        ("yarn build", "build"),
        ("pnpm run typecheck", "types"),
        ("composer test", "tests"),
        ("make", "build"),
        ("make test", "tests"),
        ("make lint test", "tests"),
        ("make clean test", "tests"),
        ("make test CC=true", "tests it ran CC=true: a subset"),
        ("just test", "tests"),
        ("go test ./...", "tests"),
        ("go test ./a", "tests it ran ./a: a subset"),
        ("go test", "tests it ran one package: a subset"),
        ("go test -short ./...", "tests it ran -short: a subset"),
        ("cargo test -p a", "tests it ran -p: a subset"),
        ("cargo clippy -- -D warnings", "lint"),
        ("cargo check", "build"),
        ("gradlew :app:testDebugUnitTest", "tests"),
        ("gradle build -x test", "tests it ran -x: a subset"),
        ("mvn -q verify", "tests"),
        ("mvn package -DskipTests", "tests it ran -DskipTests: a subset"),
        ("mvn clean install", "tests"),
        ("mvn checkstyle:check", "lint"),
        # Options that choose what is run
        ("tox -e py312", "tests"),
        ("tox -e py312-django42,lint", "tests"),
        ("tox -e lint", "lint"),
        ("tox -e docs", "tests it ran -e: a subset"),
        ("tox -e py312 -- tests/a.py", "tests it ran tests/a.py: a subset"),
        ("nox -s tests", "tests"),
        ("nox -s lint tests-3.12", "tests"),
        ("nox -s tests -- -k a", "tests it ran -k: a subset"),
        ("nx run-many -t lint test build", "tests"),
        ("nx run-many --target=test --all", "tests"),
        ("nx run-many -t test --projects=a", "tests it ran --projects: a subset"),
        # Scripts of other files
        ("hatch run test", "tests"),
        ("pdm run lint", "lint"),
        ("poetry run poe test", "tests"),
        ("rake", "tests"),
        ("run-s lint test", "tests"),
        ("mise run test", "tests"),
        ("make test V=1", "tests"),
        ("make test V=1 PYTEST=true", "tests it ran PYTEST=true: a subset"),
        # In other words
        ("pnpm -r run test", "tests"),
        ("pnpm -r --filter web test", "tests it ran --filter: a subset"),
        ("yarn workspaces foreach -Apt run test", "tests"),
        ("node --import tsx --test", "tests"),
        ("node --require ./a --test", "tests it ran with --require"),
        ("php -d memory_limit=-1 vendor/bin/phpunit", "tests"),
        ("c8 npm test", "tests"),
        ("uvx pytest", "tests"),
        ("direnv exec . pytest", "tests"),
        ("python -X dev -W error -m pytest", "tests"),
        ("react-scripts test --watchAll=false", "tests"),
        # Options and operands
        ("pytest -p no:cacheprovider ./tests", "tests"),
        ("pytest -p no:django", "tests it ran with -p"),
        ("jest --config jest.config.js -w 2", "tests"),
        ("jest --config jest.unit.js", "tests it ran with --config"),
        ("unittest discover tests -p test_*.py", "tests"),
        ("unittest tests", "tests it ran tests: a subset"),
        ("manage.py test --parallel 4", "tests"),
        ("cargo nextest run --profile ci", "tests"),
        ("cargo nextest run -E x", "tests it ran -E: a subset"),
        ("dotnet test --logger trx /p:CollectCoverage=true", "tests"),
        ("bazel test //... --test_output=errors", "tests"),
        ("bazel test //... -- -//a/...", "tests it ran with -//a/..."),
        ("turbo run test --filter=a", "tests it ran --filter: a subset"),
        ("ginkgo -r -v", "tests"),
        # What is done to tests without running them
        ("npm run test:lint", "lint"),
        ("npm run lint:tests", "lint"),
        ("npm run test:types", "types"),
        ("npm run build:test", "build"),
        ("gradlew testClasses", "build"),
        ("gradlew compileTestJava", "build"),
        ("mvn test-compile", "build"),
        ("npm run lint-and-test", "tests"),
        ("npm run test:run", "tests"),
        ("dotnet test --filter A", "tests it ran --filter: a subset"),
        ("rspec -e a", "tests it ran -e: a subset"),
        ("ctest -R a", "tests it ran -R: a subset"),
        ("ruff check src", "lint"),
        ("ruff check a.py", "lint it ran a.py: a subset"),
        ("ruff format --check", "lint"),
        ("black --check .", "lint"),
        ("prettier --check .", "lint"),
        ("mypy src", "types"),
        ("tsc -p web --noEmit", "types"),
        ("turbo run test", "tests"),
        ("nx test app", "tests it ran app: a subset"),
    ],
)
def test_a_check_is_known_with_what_it_leaves_out(text: str, kind: str) -> None:
    assert found(text) == kind


@pytest.mark.parametrize(
    ("text", "about"),
    [
        ("npm test", ""),
        ("npm run test:ci", ""),
        ("make test-race", ""),
        ("make check", ""),
        ("npm run test:unit", "unit"),
        ("make test-fast", "fast"),
        ("gradlew :app:testDebugUnitTest", "debug unit"),
        ("pytest", ""),
    ],
)
def test_a_name_may_say_which_tests_are_run(text: str, about: str) -> None:
    one = check(read(text).parts[-1].words)
    assert one is not None
    assert one.about == set(about.split())


@pytest.mark.parametrize(
    "text",
    [
        *(
            "ls",
            "git diff",
            "npm install",
            "npm ci",
            "npm run dev",
            "npm start",
            "npm run test:watch",
        ),
        *(
            "npm run lint:fix",
            "npm run format",
            "yarn",
            "yarn add jest",
            "black .",
            "prettier -w .",
        ),
        *(
            "ruff format",
            "make clean",
            "make install",
            "make docs",
            "make test-deps",
            "make test-db-up",
            "npm run test:report",
            "mvn surefire:test",
            "mvn dependency:tree",
            "nx affected -t test",
            "yarn workspaces foreach --since run test",
            "php -d auto_prepend_file=a vendor/bin/phpunit",
            "lerna run test --no-bail",
            "run-p --race lint test",
            "react-scripts test",
            "behave -d",
            "robot --nostatusrc tests",
            "bazel test --nobuild //...",
            "uvx --from ./a pytest",
            "direnv exec /a pytest",
            "gradle clean",
            "just",
            "tox -l",
        ),
        *("jest --watch", "vitest watch", "vitest --ui", "tsc --watch", "pytest --collect-only"),
        *(
            "cargo run",
            "cargo fmt",
            "go run .",
            "python a.py",
            "./pytest",
            "tail -3",
            "echo pytest",
        ),
        *("pnpm install", "composer install", "next dev", "nodemon", "docker run x pytest"),
    ],
)
def test_other_programs_and_watches_are_no_checks(text: str) -> None:
    assert found(text) == ""


@pytest.mark.parametrize(
    ("text", "writes"),
    [
        ("ruff check --fix", True),
        ("eslint --fix .", True),
        ("jest -u", True),
        ("npm test", True),
        ("make test", True),
        ("cargo build", True),
        ("pytest", False),
        ("mypy src", False),
        ("black --check .", False),
    ],
)
def test_a_check_that_may_write_is_known(text: str, writes: bool) -> None:
    one = check(read(text).parts[-1].words)
    assert one is not None
    assert one.is_writer is writes


@pytest.mark.parametrize(
    ("text", "files"),
    [
        ("pytest", {"pyproject.toml", "pytest.ini", "tox.ini", "setup.cfg", "**/conftest.py"}),
        ("python -m pytest", {"pytest.py", "pytest/__init__.py", "pluggy.py", "**/conftest.py"}),
        ("mise exec -- pytest", {"mise.toml"}),
        ("bazel test //...", {".bazelrc"}),
        ("cargo nextest run", {".config/nextest.toml"}),
        ("npm test", {"package.json", ".npmrc"}),
        ("yarn jest", {"package.json", "jest.config.*"}),
        ("npx vitest run", {"vitest.config.*", "vite.config.*"}),
        ("make test", {"Makefile", "GNUmakefile", "*.mk"}),
        ("tox", {"tox.ini"}),
        ("./scripts/check.sh", {"scripts/check.sh"}),
        ("bash scripts/check.sh -v", {"scripts/check.sh"}),
        ("python manage.py test", {"manage.py"}),
        ("./gradlew test", {"./gradlew", "build.gradle*"}),
        (".venv/bin/pytest", {".venv/bin/pytest"}),
        ("source .venv/bin/activate && pytest", {".venv/bin/activate"}),
        ("hatch run pytest", {"pyproject.toml", "hatch.toml"}),
        ("pipenv run pytest", {"Pipfile"}),
    ],
)
def test_the_files_of_a_check_are_named(text: str, files: set[str]) -> None:
    part = read(text).parts[-1]
    assert files <= set(surface(part.words, part.files))


def test_a_program_of_no_row_has_no_files_and_keeps_its_words() -> None:
    assert surface(("ls", "-l")) == ()
    assert bare(("ls", "-l", "--color")) == ("ls", "-l", "--color")
    assert idle(("ls", "-h")) == ""
    assert idle(()) == ""
    assert check(()) is None


def test_an_option_that_only_prints_is_taken_with_its_value() -> None:
    assert bare(("pytest", "--tb", "short", "-ra", "a")) == ("pytest", "a")
    assert bare(("npm", "--silent", "test")) == ("npm", "test")
    assert bare(("mvn", "-q", "test", "-X")) == ("mvn", "test")
