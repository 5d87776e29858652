"""The files that decide what a check does, among those that were changed."""

import pytest

from tapui.core.proof.deciding import read
from tapui.core.proof.surfaces import is_test, surface_files

ROOT = "/code/shop"


def decides(text: str, path: str, folder: str = "") -> bool:
    part = read(text).parts[-1]
    inner = f"{ROOT}/{folder}".rstrip("/")
    return surface_files(part, inner, ROOT, [path]) == [path]


@pytest.mark.parametrize(
    ("text", "path"),
    [
        # Of the packages below
        ("pnpm -r test", "packages/core/package.json"),
        ("npm test", "packages/core/jest.config.js"),
        ("npx turbo run test", "packages/core/package.json"),
        ("cargo test --workspace", "core/Cargo.toml"),
        ("cargo test", "core/build.rs"),
        ("./gradlew test", "core/build.gradle.kts"),
        ("./gradlew test", "buildSrc/src/main/kotlin/Tests.kt"),
        ("./gradlew test", "gradle/wrapper/gradle-wrapper.properties"),
        ("mvn verify", "core/pom.xml"),
        ("dotnet test", "tests/Shop.Tests/Shop.Tests.csproj"),
        ("bazel test //...", "core/BUILD.bazel"),
        ("make test", "tests/Makefile"),
        ("make check", "mk/test.mk"),
        ("pytest", "api/tests/conftest.py"),
        # Scripts that it calls, by their names
        ("npm test", "scripts/test.sh"),
        ("npm test", "scripts/run-tests.mjs"),
        ("make check", "tools/check.py"),
        ("make test", "hack/unit-test.sh"),
        ("make test", "run_tests.sh"),
        ("just ci", "ci/check"),
        ("bundle exec rake test", "lib/tasks/db.rake"),
        ("yarn test", ".yarn/releases/yarn-4.0.0.cjs"),
        # Settings
        ("npx ava", "ava.config.mjs"),
        ("npx cypress run", "cypress/support/e2e.js"),
        ("cargo nextest run", ".config/nextest.toml"),
        ("ctest --test-dir build", "CTestCustom.cmake"),
        ("ctest", "tests/CMakeLists.txt"),
        ("hatch test", "hatch.toml"),
        ("mix test", "config/test.exs"),
        ("dart test", "dart_test.yaml"),
        ("python -m pytest", "_pytest/__init__.py"),
        ("./check.sh", "check.sh"),
        (f"{ROOT}/.venv/bin/pytest", ".venv/bin/pytest"),
    ],
)
def test_a_file_decides(text: str, path: str) -> None:
    assert decides(text, path)


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("npm test", "src/cart.js"),
        ("npm test", "scripts/latest.js"),
        ("npm test", "scripts/deploy.sh"),
        ("npm test", "src/scripts/test.js"),
        ("npx jest", "packages/core/package.json"),
        ("make test", "docs/contest.md"),
        ("pytest", "package.json"),
        ("pytest", "tests/test_cart.py"),
        ("cargo test", "src/build/rs.rs"),
        ("./a[z-a].sh", "a-.sh"),
    ],
)
def test_another_file_does_not(text: str, path: str) -> None:
    assert not decides(text, path)


def test_of_a_check_in_a_folder_those_above_and_below_decide_and_no_others() -> None:
    assert decides("npm test", "package.json", "web")
    assert decides("npm test", "web/kit/package.json", "web")
    assert not decides("npm test", "api/package.json", "web")
    assert decides("../check.sh", "check.sh", "web")


def test_mocks_are_tests() -> None:
    assert is_test("src/__mocks__/fs.js")
