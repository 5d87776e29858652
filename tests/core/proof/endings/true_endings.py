"""Endings whose claims were recorded: what the agent says holds, and is to be seen as such."""

from tapui.core.proof.folder_states import ADDED
from tests.core.proof.endings.steps import (
    GONE,
    Behind,
    Edit,
    Ended,
    Outside,
    Prompt,
    Restarted,
    Shell,
    TurnStory,
    cargo_output,
    go_output,
    jest_output,
    pytest_output,
)
from tests.core.proof.endings.true_commands import HELD_UP, TRUE_COMMANDS

CART = Edit("shop/cart.py")
PAGE = Edit("web/page.ts")
PASSED = Shell("pytest", 0, pytest_output(12))
SAYS = "Done: the tests pass."
TWELVE = "checked: pytest, 12 tests, after the last change"
JEST = "checked: npm test, 12 tests, after the last change"


def one(name: str, shell: Shell, shown: str, edit: Edit = CART) -> TurnStory:
    """An edit, and one command that checks it."""
    return TurnStory(name, SAYS, (edit, shell), shown, 0)


def then(name: str, *steps: object, shown: str = TWELVE) -> TurnStory:
    """An edit, the tests, and what follows."""
    return TurnStory(name, SAYS, (CART, PASSED, *steps), shown, 0)  # type: ignore[arg-type]


TRUE_ENDINGS: tuple[TurnStory, ...] = (
    # The ways to run it
    TurnStory(
        "a new environment, and scripts of the folder that an interpreter runs",
        SAYS,
        (
            Shell("python -m venv .venv && .venv/bin/pip install -q -r requirements.txt"),
            Shell("sh bin/setup && python bin/seed.py && git clone -q ../data data"),
            CART,
            Shell(".venv/bin/python -m pytest", 0, pytest_output(12)),
        ),
        TWELVE,
        0,
    ),
    one("pytest", PASSED, TWELVE),
    one("options that print", Shell("pytest -x -q --tb=short", 0, pytest_output(12)), TWELVE),
    one(
        "with its folder",
        Shell("python -m pytest tests/ -v", 0, pytest_output(12)),
        "checked: pytest tests/, 12 tests, after the last change",
    ),
    one("uv run", Shell("uv run --frozen pytest -q", 0, pytest_output(12)), TWELVE),
    one("poetry run", Shell("poetry run pytest", 0, pytest_output(12)), TWELVE),
    one(
        "behind an activation",
        Shell(". .venv/bin/activate && pytest", 0, pytest_output(12)),
        TWELVE,
    ),
    one("with a time limit", Shell("timeout 300 pytest -q", 0, pytest_output(12)), TWELVE),
    one(
        "with a pipe that keeps the code",
        Shell("set -o pipefail; pytest 2>&1 | tail -20", 0, pytest_output(12)),
        "checked: pytest, 12 tests, after the last change",
    ),
    one(
        "into a file",
        Shell("pytest > test.log 2>&1", 0, "", writes={"test.log": "12 passed" + ADDED}),
        "checked: pytest, after the last change",
    ),
    one(
        "coverage beside it",
        Shell("pytest --cov=shop", 0, pytest_output(12), writes={".coverage": "data"}),
        "checked: pytest, 12 tests, after the last change",
    ),
    one("workers", Shell("CI=1 pytest -n 4", 0, pytest_output(12)), TWELVE),
    one(
        "unittest",
        Shell("python -m unittest discover -s tests", 0, "Ran 12 tests in 0.1s\n\nOK\n"),
        "checked: unittest discover, 12 tests, after the last change",
    ),
    one("tox", Shell("tox", 0), "checked: tox, after the last change"),
    one("npm test", Shell("npm test", 0, jest_output(12)), JEST, PAGE),
    one(
        "npm test without watching",
        Shell("CI=true npm test -- --watchAll=false", 0, jest_output(12)),
        JEST,
        PAGE,
    ),
    one(
        "npx jest",
        Shell("npx jest --ci", 0, jest_output(12)),
        "checked: jest, 12 tests, after the last change",
        PAGE,
    ),
    one(
        "vitest",
        Shell(
            "pnpm exec vitest run", 0, " Test Files  2 passed (2)\n      Tests  12 passed (12)\n"
        ),
        "checked: vitest run, 12 tests, after the last change",
        PAGE,
    ),
    one(
        "a script of pnpm", Shell("pnpm test", 0), "checked: pnpm test, after the last change", PAGE
    ),
    one("bun", Shell("bun test", 0), "checked: bun test, after the last change", PAGE),
    one("node", Shell("node --test", 0), "checked: node --test, after the last change", PAGE),
    one(
        "go",
        Shell("go test ./...", 0, go_output(3)),
        "checked: go test, 3 packages, after the last change",
        Edit("cart.go"),
    ),
    one(
        "go, from a cache",
        Shell("go test ./...", 0, go_output(3, note="(cached)")),
        "checked: go test, 3 packages, from a cache, after the last change",
        Edit("cart.go"),
    ),
    one(
        "cargo",
        Shell("cargo test --workspace", 0, cargo_output(12)),
        "checked: cargo test, 12 tests, after the last change",
        Edit("src/cart.rs"),
    ),
    one(
        "gradle",
        Shell("./gradlew test", 0, "BUILD SUCCESSFUL in 3s\n"),
        "checked: gradlew test, after the last change",
        Edit("src/main/java/Cart.java"),
    ),
    one(
        "maven",
        Shell("mvn -q -B test", 0),
        "checked: mvn test, after the last change",
        Edit("src/main/java/Cart.java"),
    ),
    one(
        "dotnet",
        Shell("dotnet test", 0),
        "checked: dotnet test, after the last change",
        Edit("Cart.cs"),
    ),
    one(
        "rspec",
        Shell("bundle exec rspec", 0, "12 examples, 0 failures\n"),
        "checked: rspec, 12 tests, after the last change",
        Edit("lib/cart.rb"),
    ),
    one(
        "phpunit",
        Shell("vendor/bin/phpunit", 0, "OK (12 tests, 30 assertions)\n"),
        "checked: phpunit, 12 tests, after the last change",
        Edit("src/Cart.php"),
    ),
    one(
        "ctest",
        Shell("cmake --build build && ctest --test-dir build", 0),
        "checked: ctest, after the last change",
        Edit("src/cart.cpp"),
    ),
    one(
        "make",
        Shell("make -s test", 0, pytest_output(12)),
        "checked: make test, 12 tests, after the last change",
    ),
    one(
        "make elsewhere", Shell("make -C . check", 0), "checked: make check, after the last change"
    ),
    one("PowerShell", Shell("pytest -q", 0, pytest_output(12), shell="powershell"), TWELVE),
    one(
        "all in one chain",
        Shell("ruff check . && mypy . && pytest -q", 0, pytest_output(12)),
        TWELVE,
    ),
    one(
        "with words around it",
        Shell("echo 'running the tests' && pytest && echo passed", 0, pytest_output(12)),
        TWELVE,
    ),
    one("under set -e", Shell("set -e\npytest -q", 0, pytest_output(12)), TWELVE),
    one(
        "a folder that must be there",
        Shell("cd /code/shop || exit 1; pytest", 0, pytest_output(12)),
        TWELVE,
    ),
    one(
        "some were not selected",
        Shell("pytest", 0, "=== 9 passed, 3 deselected in 1.2s ===\n"),
        "checked: pytest, 9 of 12 tests, after the last change",
    ),
    one(
        "by a linter where no tests are known",
        Shell("ruff check .", 0),
        "checked: ruff check, after the last change",
    ),
    # Before the tests
    TurnStory(
        "a formatter before them",
        SAYS,
        (CART, Shell("ruff format .", 0, writes={"shop/cart.py": "formatted"}), PASSED),
        TWELVE,
        0,
    ),
    TurnStory(
        "failed, mended, passed",
        SAYS,
        (CART, Shell("pytest", 1, pytest_output(11, 1)), Edit("shop/cart.py", "mended"), PASSED),
        TWELVE,
        0,
    ),
    TurnStory(
        "one test first, then all",
        SAYS,
        (
            Edit("tests/test_cart.py"),
            Shell("pytest tests/test_cart.py", 1, pytest_output(0, 1)),
            CART,
            PASSED,
        ),
        f"{TWELVE}, tests changed: 1 file",
        0,
    ),
    TurnStory(
        "a linter that failed at first",
        SAYS,
        (
            CART,
            Shell("ruff check shop", 1),
            Edit("shop/cart.py", "linted"),
            Shell("ruff check .", 0),
            PASSED,
        ),
        TWELVE,
        0,
    ),
    TurnStory(
        "interrupted, then with more time",
        SAYS,
        (CART, Shell("timeout 10 pytest", 124), Shell("timeout 600 pytest", 0, pytest_output(12))),
        TWELVE,
        0,
    ),
    TurnStory(
        "flaky",
        "They pass, one of them after a retry.",
        (CART, Shell("pytest", 1, pytest_output(11, 1)), PASSED),
        "checked: pytest, 12 tests, flaky: 1 of 2, after the last change",
        0,
    ),
    TurnStory(
        "a test was removed",
        "I removed the obsolete test; the rest passes.",
        (
            Shell("pytest", 0, pytest_output(13)),
            Shell("rm tests/test_old.py", 0, writes={"tests/test_old.py": GONE}),
            CART,
            PASSED,
        ),
        f"{TWELVE}, tests changed: 1 removed, 13 → 12 tests",
        0,
    ),
    TurnStory(
        "in the background",
        SAYS,
        (CART, Behind("pytest"), Shell("ls"), Ended(0, pytest_output(12))),
        TWELVE,
        0,
    ),
    TurnStory(
        "reading beside the tests",
        SAYS,
        (CART, Shell("pytest", 0, pytest_output(12), meanwhile=(Shell("cat README.md"),))),
        TWELVE,
        0,
    ),
    TurnStory(
        "a link to the packages", SAYS, (CART, Shell("pip install -q -e .", 0), PASSED), TWELVE, 0
    ),
    TurnStory(
        "a new conftest.py that the person ran",
        SAYS,
        (
            Edit("tests/conftest.py"),
            Shell("pytest", 0, pytest_output(12), by_person=True),
            CART,
            PASSED,
        ),
        f"{TWELVE}, tests changed: 1 file",
        0,
    ),
    # After the tests
    then("a commit", Shell("git add -A && git commit -qm 'mend the cart'")),
    then("an amend and a push", Shell("git commit --amend --no-edit"), Shell("git push")),
    then("a touch", Shell("touch shop/cart.py")),
    then("a look", Shell("git status --short"), Shell("git diff | head -50")),
    then("a formatter without effect", Shell("ruff format .")),
    then(
        "documents",
        Edit("README.md"),
        Edit("docs/api.py"),
        shown=f"{TWELVE} (README.md, docs/api.py since)",
    ),
    then(
        "a picture by another session",
        Outside({"logo.png": "new"}),
        shown=f"{TWELVE} (logo.png since)",
    ),
    then(
        "an edit that was taken back",
        Edit("shop/till.py"),
        Shell("git checkout shop/till.py", 0, writes={"shop/till.py": None}),
    ),
    then("a part of them again", Shell("pytest tests/test_cart.py", 0, pytest_output(3))),
    then("a linter", Shell("ruff check .")),
    then("an interrupted second run", Shell("pytest", 130)),
    then("a restart of tapui, and the tests again", Restarted(), Edit("shop/till.py"), PASSED),
    TurnStory(
        "what a check wrote",
        SAYS,
        (
            PAGE,
            Shell(
                "npm test",
                0,
                jest_output(12),
                writes={"web/page.snap": "new", "package-lock.json": "new"},
            ),
        ),
        JEST,
        0,
    ),
    TurnStory(
        "only documents", "The README is up to date.", (Edit("README.md"),), None, 0, ("pytest",)
    ),
    TurnStory("nothing was changed", "All 12 tests pass.", (PASSED,), None, 0),
    TurnStory(
        "checked by the turn that followed",
        SAYS,
        (CART, Prompt(), Edit("shop/till.py"), PASSED),
        TWELVE,
        0,
    ),
    # Packages
    TurnStory(
        "its own package",
        SAYS,
        (PAGE, Shell("cd web && npm test", 0, jest_output(12))),
        JEST,
        0,
        (),
        ("api", "web"),
    ),
    TurnStory(
        "two packages",
        SAYS,
        (
            PAGE,
            Edit("api/cart.ts"),
            Shell("npm --prefix api test", 0, jest_output(12)),
            Shell("npm --prefix web test", 0, jest_output(12)),
        ),
        "checked: npm test in web, 12 tests, npm test in api, 12 tests, after the last change",
        0,
        (),
        ("api", "web"),
    ),
    TurnStory(
        "all packages from the root",
        SAYS,
        (PAGE, Edit("api/cart.ts"), Shell("npm test", 0, jest_output(12))),
        JEST,
        0,
        (),
        ("api", "web"),
    ),
    # What package managers and formatters do before
    TurnStory(
        "a new dependency",
        SAYS,
        (
            PAGE,
            Shell("npm install lodash", 0, writes={"package.json": "n", "package-lock.json": "n"}),
            Shell("npm test", 0, jest_output(12)),
        ),
        JEST,
        0,
    ),
    TurnStory(
        "a new dependency, then another",
        SAYS,
        (
            CART,
            Shell("uv add httpx", 0, writes={"pyproject.toml": "n"}),
            Shell("uv add --dev respx", 0, writes={"pyproject.toml": "m"}),
            Shell("uv run pytest", 0, pytest_output(12)),
        ),
        TWELVE,
        0,
    ),
    one(
        "a formatter in the same command, before them",
        Shell("ruff format . && pytest -q", 0, pytest_output(12), writes={"shop/cart.py": "f"}),
        TWELVE,
    ),
    TurnStory(
        "beside a server in the background",
        SAYS,
        (PAGE, Behind("npm run dev"), Shell("npm test", 0, jest_output(12))),
        JEST,
        0,
    ),
    TurnStory(
        "a target that is not there, then the tests",
        SAYS,
        (CART, Shell("make test", 2, "make: *** No rule to make target 'test'.  Stop.\n"), PASSED),
        TWELVE,
        0,
    ),
    TurnStory(
        "the unit tests, then all",
        SAYS,
        (
            PAGE,
            Shell("npm run test:unit", 0, jest_output(9)),
            Edit("web/page.ts", "newer"),
            Shell("npm test", 0, jest_output(12)),
        ),
        JEST,
        0,
    ),
    TurnStory(
        "a dependency of a package below",
        SAYS,
        (
            PAGE,
            Shell("npm install zod -w web", 0, writes={"web/package.json": "dependency"}),
            Shell("npm test", 0, jest_output(12)),
        ),
        JEST,
        0,
    ),
    one(
        "removed before and behind",
        Shell("rm -rf coverage && npm test -- --coverage && rm -rf coverage", 0, jest_output(12)),
        JEST,
        PAGE,
    ),
    TurnStory(
        "built, then tested by another command",
        SAYS,
        (Edit("src/cart.c"), Shell("cmake --build build -j4"), Shell("ctest --test-dir build")),
        "checked: ctest, after the last change",
        0,
    ),
    *TRUE_COMMANDS,
    *HELD_UP,
)
