"""The commonest ways to run checks, as agents write them: what a turn shows after each of them."""

import pytest

from tests.core.proof.endings.played import PlayedSession
from tests.core.proof.endings.steps import Edit, Shell, TurnStory

SEEN = {
    # Python
    "pytest": "pytest",
    "pytest -q": "pytest",
    "pytest -x -q --tb=short 2>&1": "pytest",
    "python -m pytest tests/ -v": "pytest tests/",
    "python3 -m pytest -q --no-header": "pytest",
    "cd /code/shop && python -m pytest -q": "pytest",
    "source .venv/bin/activate && pytest -q": "pytest",
    ".venv/bin/python -m pytest -q": "pytest",
    "uv run pytest -q": "pytest",
    "poetry run pytest": "pytest",
    "set -o pipefail; pytest -q 2>&1 | tail -20": "pytest",
    "python -m unittest discover -s tests -v": "unittest discover",
    "python manage.py test": "manage.py test",
    "tox -q": "tox",
    "make test": "make test",
    "ruff check . && ruff format --check .": "ruff format",
    "uv run ruff check .": "ruff check",
    "mypy .": "mypy",
    # JavaScript, TypeScript
    "npm test": "npm test",
    "npm run test -- --run": "npm test",
    "CI=true npm test -- --watchAll=false 2>&1": "npm test",
    "npx jest --ci": "jest",
    "npx vitest run": "vitest run",
    "npx vitest run --reporter=verbose": "vitest run",
    "pnpm test": "pnpm test",
    "pnpm -r test": "pnpm test",
    "yarn test": "yarn test",
    "yarn jest --ci": "jest",
    "bun test": "bun test",
    "node --test": "node --test",
    "npx tsc --noEmit": "tsc",
    "npm run build": "npm run build",
    "npm run lint && npm run typecheck": "npm run typecheck",
    "npx eslint . --max-warnings 0": "eslint",
    "npx playwright test": "playwright test",
    # Go
    "go test ./...": "go test",
    "go test -v -count=1 ./...": "go test",
    "go vet ./... && go test -race ./...": "go test",
    "go build ./...": "go build",
    "golangci-lint run ./...": "golangci-lint run",
    # Rust
    "cargo test": "cargo test",
    "cargo test --all-features 2>&1": "cargo test",
    "cargo clippy --all-targets -- -D warnings": "cargo clippy",
    "cargo fmt --check && cargo test": "cargo test",
    # Java, .NET
    "./gradlew test": "gradlew test",
    "./gradlew build --console=plain": "gradlew build",
    "mvn -q test": "mvn test",
    "mvn -B clean verify": "mvn clean verify",
    "dotnet test": "dotnet test",
    "dotnet test --nologo -v q": "dotnet test",
    # Ruby, PHP, C++
    "bundle exec rspec": "rspec",
    "bin/rails test": "bin/rails test",
    "bundle exec rake test": "rake test",
    "vendor/bin/phpunit": "phpunit",
    "php artisan test": "php artisan test",
    "composer test": "composer test",
    "cmake --build build -j4 && ctest --test-dir build --output-on-failure": "ctest",
}
"""What is named as checked."""

UNSEEN = {
    "pytest -q 2>&1 | tail -20": "pytest: the exit code is tail's",
    "npm test 2>&1 | tail -40": "npm test: the exit code is tail's",
    "cargo test 2>&1 | grep 'test result'": "cargo test: the exit code is grep's",
}
"""Why it is not."""


def shown(text: str) -> str | None:
    story = TurnStory(text, (Edit("shop/cart.py"), Shell(text)), None, 0)
    return PlayedSession(story).shown


def test_there_are_60_and_at_most_6_are_unknown() -> None:
    assert len(SEEN) + len(UNSEEN) == 60
    assert len(UNSEEN) <= 6


@pytest.mark.parametrize(("text", "name"), SEEN.items())
def test_what_is_common_is_checked(text: str, name: str) -> None:
    assert shown(text) == f"checked: {name}, after the last change"


@pytest.mark.parametrize(("text", "reason"), UNSEEN.items())
def test_what_is_common_and_unknown_has_a_reason(text: str, reason: str) -> None:
    assert shown(text) == f"unchecked: 1 file changed; {reason}"
