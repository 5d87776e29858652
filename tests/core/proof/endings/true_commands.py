"""Endings with commands that are the whole check, as public files and agents have them."""

from tests.core.proof.endings.steps import (
    Edit,
    Shell,
    TurnStory,
    cargo_output,
    go_output,
    jest_output,
    pytest_output,
)

CART = Edit("shop/cart.py")
SAYS = "Done: all tests pass."


def told(name: str, edit: Edit, shell: Shell, shown: str, *packages: str) -> TurnStory:
    return TurnStory(name, SAYS, (edit, shell), shown, 0, (), packages)


TRUE_COMMANDS: tuple[TurnStory, ...] = (
    told(
        "installed, with coverage",
        Edit("web/src/App.tsx"),
        Shell("cd web && npm ci && npm test -- --coverage", 0, jest_output(41)),
        "checked: npm test, 41 tests, after the last change",
        "web",
    ),
    told(
        "all features",
        Edit("src/lib.rs"),
        Shell("cargo test --workspace --all-features", 0, cargo_output(31)),
        "checked: cargo test, 31 tests, after the last change",
    ),
    told(
        "plain console",
        Edit("src/Cart.java"),
        Shell("./gradlew test --console=plain", 0, "BUILD SUCCESSFUL in 2s\n"),
        "checked: gradlew test, after the last change",
    ),
    told(
        "the race detector",
        Edit("internal/cart/cart.go"),
        Shell("go test ./... -count=1 -race", 0, go_output(3)),
        "checked: go test, 3 packages, after the last change",
    ),
    told(
        "workspaces of pnpm",
        Edit("packages/core/a.ts"),
        Shell("pnpm install --frozen-lockfile && pnpm -r build && pnpm -r test"),
        "checked: pnpm test, after the last change",
        "packages/core",
    ),
    told(
        "workspaces of yarn",
        Edit("packages/core/a.ts"),
        Shell("yarn workspaces foreach -Apt run test", 0, jest_output(41)),
        "checked: yarn test, 41 tests, after the last change",
        "packages/core",
    ),
    told(
        "synced by uv",
        CART,
        Shell("uv sync --frozen && uv run --frozen pytest -q", 0, pytest_output(12)),
        "checked: pytest, 12 tests, after the last change",
    ),
    told(
        "a tool of uv",
        CART,
        Shell("uvx --with pytest-cov pytest -q", 0, pytest_output(12)),
        "checked: pytest, 12 tests, after the last change",
    ),
    told(
        "coverage by poetry",
        CART,
        Shell("poetry run pytest --cov=shop --cov-report=term-missing", 0, pytest_output(12)),
        "checked: pytest, 12 tests, after the last change",
    ),
    told(
        "verified by Maven",
        Edit("src/Cart.java"),
        Shell(
            "mvn -B -ntp clean verify",
            0,
            "[INFO] Tests run: 12, Failures: 0, Errors: 0, Skipped: 0\n[INFO] BUILD SUCCESS\n",
        ),
        "checked: mvn clean verify, 12 tests, after the last change",
    ),
    told(
        "installed by Maven",
        Edit("src/Cart.java"),
        Shell("mvn -q clean install"),
        "checked: mvn clean install, after the last change",
    ),
    told(
        "a JDK of the system",
        Edit("src/Cart.java"),
        Shell("JAVA_HOME=/usr/lib/jvm/java-17 ./mvnw -q test"),
        "checked: mvnw test, after the last change",
    ),
    told(
        "a build of Gradle",
        Edit("src/Cart.java"),
        Shell("./gradlew clean build --no-daemon", 0, "BUILD SUCCESSFUL in 2s\n"),
        "checked: gradlew clean build, after the last change",
    ),
    told(
        "a release configuration",
        Edit("src/Cart.cs"),
        Shell("dotnet test --configuration Release --nologo --logger trx"),
        "checked: dotnet test, after the last change",
    ),
    told(
        "built, then tested",
        Edit("src/Cart.cs"),
        Shell("dotnet build --no-restore && dotnet test --no-build"),
        "checked: dotnet test, after the last change",
    ),
    told(
        "documentation format",
        Edit("lib/cart.rb"),
        Shell("bundle exec rspec --format documentation", 0, "24 examples, 0 failures\n"),
        "checked: rspec, 24 tests, after the last change",
    ),
    told(
        "rake by itself",
        Edit("lib/cart.rb"),
        Shell("bundle exec rake", 0, "24 examples, 0 failures\n"),
        "checked: rake, 24 tests, after the last change",
    ),
    told(
        "phpunit by php",
        Edit("src/Cart.php"),
        Shell(
            "composer install -q && php -d memory_limit=-1 vendor/bin/phpunit",
            0,
            "OK (24 tests, 30 assertions)\n",
        ),
        "checked: phpunit, 24 tests, after the last change",
    ),
    told(
        "configured, built, tested",
        Edit("src/cart.cpp"),
        Shell(
            "cmake -S . -B build && cmake --build build && ctest --test-dir build",
            0,
            "100% tests passed, 0 tests failed out of 9\n",
        ),
        "checked: ctest, 9 tests, after the last change",
    ),
    told(
        "in the build folder",
        Edit("src/cart.c"),
        Shell(
            "mkdir -p build && cd build && cmake .. && make -j4 && ctest",
            0,
            "100% tests passed, 0 tests failed out of 9\n",
        ),
        "checked: ctest, 9 tests, after the last change",
    ),
    told(
        "make, then its check",
        Edit("src/cart.c"),
        Shell('make -j"$(nproc)" && make check'),
        "checked: make check, after the last change",
    ),
    told(
        "ninja and meson",
        Edit("src/cart.c"),
        Shell(
            "meson setup build && meson compile -C build && meson test -C build --print-errorlogs"
        ),
        "checked: meson test, after the last change",
    ),
    told(
        "errors of Bazel",
        Edit("core/cart.cc"),
        Shell("bazel test //... --test_output=errors --keep_going"),
        "checked: bazel test, after the last change",
    ),
    told(
        "turbo",
        Edit("packages/core/a.ts"),
        Shell("npx turbo run lint test --concurrency=2", 0, jest_output(41)),
        "checked: turbo run lint test, 41 tests, after the last change",
    ),
    told(
        "nx",
        Edit("libs/cart/a.ts"),
        Shell("npx nx run-many -t lint test --parallel=3", 0, jest_output(41)),
        "checked: nx run-many lint test, 41 tests, after the last change",
    ),
    told(
        "lerna",
        Edit("packages/core/a.ts"),
        Shell("npx lerna run test --stream", 0, jest_output(41)),
        "checked: lerna run test, 41 tests, after the last change",
    ),
    told(
        "an environment of tox",
        CART,
        Shell("tox -e py312", 0, pytest_output(12)),
        "checked: tox py312, 12 tests, after the last change",
    ),
    told(
        "a session of nox",
        CART,
        Shell("nox -s tests", 0, pytest_output(12)),
        "checked: nox tests, 12 tests, after the last change",
    ),
    told(
        "nextest with a profile",
        Edit("src/lib.rs"),
        Shell("cargo nextest run --workspace --profile ci"),
        "checked: cargo nextest run, after the last change",
    ),
    told(
        "lint, types, tests, kept in a file",
        Edit("src/cart.ts"),
        Shell(
            "set -euo pipefail; npm run lint && npm test 2>&1 | tee /tmp/test.log",
            0,
            jest_output(41),
        ),
        "checked: npm test, 41 tests, after the last change",
    ),
    told(
        "a login shell",
        CART,
        Shell("bash -lc 'cd /code/shop && pytest -q'", 0, pytest_output(12)),
        "checked: pytest, 12 tests, after the last change",
    ),
    told(
        "a virtual display",
        Edit("src/extension.ts"),
        Shell("xvfb-run -a npm test"),
        "checked: npm test, after the last change",
    ),
    told(
        "its output shown on a failure",
        Edit("src/cart.js"),
        Shell("npm test > /tmp/test.log 2>&1 || { tail -50 /tmp/test.log; exit 1; }"),
        "checked: npm test, after the last change",
    ),
    told(
        "all rights of Deno",
        Edit("main.ts"),
        Shell("deno test --allow-all", 0, "ok | 12 passed | 0 failed (10ms)\n"),
        "checked: deno test, 12 tests, after the last change",
    ),
    told(
        "installed by bun",
        Edit("src/cart.ts"),
        Shell("bun install --frozen-lockfile && bun test"),
        "checked: bun test, after the last change",
    ),
    told(
        "mix",
        Edit("lib/cart.ex"),
        Shell("mix deps.get && mix test --warnings-as-errors"),
        "checked: mix test, after the last change",
    ),
    told(
        "swift",
        Edit("Sources/Cart.swift"),
        Shell("swift build && swift test --parallel"),
        "checked: swift test, after the last change",
    ),
    told(
        "flutter",
        Edit("lib/cart.dart"),
        Shell("flutter pub get && flutter analyze && flutter test --coverage"),
        "checked: flutter test, after the last change",
    ),
    told(
        "artisan",
        Edit("app/Cart.php"),
        Shell("php artisan test --parallel"),
        "checked: php artisan test, after the last change",
    ),
    told(
        "Django",
        Edit("shop/models.py"),
        Shell("python manage.py test --noinput --parallel 4", 0, "Ran 12 tests in 0.1s\n\nOK\n"),
        "checked: manage.py test, 12 tests, after the last change",
    ),
    told(
        "unittest's own pattern",
        CART,
        Shell(
            "python -m unittest discover -s tests -p 'test_*.py' -v",
            0,
            "Ran 12 tests in 0.1s\n\nOK\n",
        ),
        "checked: unittest discover, 12 tests, after the last change",
    ),
    told(
        "just",
        Edit("src/cart.ts"),
        Shell("just test", 0, jest_output(41)),
        "checked: just test, 41 tests, after the last change",
    ),
    told(
        "a script of hatch",
        CART,
        Shell("hatch run test", 0, pytest_output(12)),
        "checked: hatch run test, 12 tests, after the last change",
    ),
    told(
        "a script of poe",
        CART,
        Shell("poetry run poe test", 0, pytest_output(12)),
        "checked: poe test, 12 tests, after the last change",
    ),
    told(
        "a browser",
        Edit("src/page.ts"),
        Shell("npx playwright test --reporter=line"),
        "checked: playwright test, after the last change",
    ),
    told(
        "committed, then tested",
        CART,
        Shell('git add -A && git commit -qm "Fix totals" && pytest -q', 0, pytest_output(12)),
        "checked: pytest, 12 tests, after the last change",
    ),
    told(
        "there and back",
        Edit("web/src/a.ts"),
        Shell("pushd web && yarn test && popd", 0, jest_output(41)),
        "checked: yarn test, 41 tests, after the last change",
        "web",
    ),
    told(
        "a folder of modules",
        CART,
        Shell("PYTHONPATH=src python -m pytest -q", 0, pytest_output(12)),
        "checked: pytest, 12 tests, after the last change",
    ),
    told(
        "modules of JavaScript",
        Edit("src/cart.js"),
        Shell("NODE_OPTIONS=--experimental-vm-modules npx jest --runInBand", 0, jest_output(41)),
        "checked: jest, 41 tests, after the last change",
    ),
    told(
        "another version of Node",
        Edit("src/cart.js"),
        Shell(
            'export NVM_DIR="$HOME/.nvm" && . "$NVM_DIR/nvm.sh" && nvm use 20 && npm test',
            0,
            jest_output(41),
        ),
        "checked: npm test, 41 tests, after the last change",
    ),
    told(
        "Go's folder on the path",
        Edit("internal/cart/cart.go"),
        Shell("export PATH=$PATH:/usr/local/go/bin && go test ./...", 0, go_output(3)),
        "checked: go test, 3 packages, after the last change",
    ),
    told(
        "a cache elsewhere",
        CART,
        Shell("UV_CACHE_DIR=/tmp/uv-cache uv run pytest -q", 0, pytest_output(12)),
        "checked: pytest, 12 tests, after the last change",
    ),
    told(
        "an environment of conda",
        CART,
        Shell(
            "source ~/miniconda3/etc/profile.d/conda.sh && conda activate shop && pytest -q",
            0,
            pytest_output(12),
        ),
        "checked: pytest, 12 tests, after the last change",
    ),
    told(
        "lines of a script",
        CART,
        Shell("set -e\ncd /code/shop\nruff check .\nmypy shop\npytest -q", 0, pytest_output(12)),
        "checked: pytest, 12 tests, after the last change",
    ),
    told(
        "coverage, then its report",
        CART,
        Shell("coverage run -m pytest && coverage report --fail-under=90", 0, pytest_output(12)),
        "checked: pytest, 12 tests, after the last change",
    ),
    told(
        "another folder of make",
        Edit("api/app.go"),
        Shell("make -C api test", 0, go_output(1)),
        "checked: make test, 1 package, after the last change",
        "api",
    ),
    told(
        "another folder of Go",
        Edit("api/app.go"),
        Shell("go -C api test ./...", 0, go_output(1)),
        "checked: go test, 1 package, after the last change",
        "api",
    ),
    told(
        "mended by eslint first",
        Edit("src/cart.ts"),
        Shell(
            "npx eslint --fix . && npx tsc --noEmit && npx jest --ci --coverage --maxWorkers=2",
            0,
            jest_output(41),
        ),
        "checked: jest, 41 tests, after the last change",
    ),
    told(
        "headless Chrome",
        Edit("src/app.component.ts"),
        Shell("npx ng test --watch=false --browsers=ChromeHeadless"),
        "checked: ng test, after the last change",
    ),
    told(
        "sbt",
        Edit("src/Cart.scala"),
        Shell("sbt clean test"),
        "checked: sbt clean test, after the last change",
    ),
    told(
        "workers, timed",
        CART,
        Shell("time pytest -q -n auto -p no:cacheprovider", 0, pytest_output(12)),
        "checked: pytest, 12 tests, after the last change",
    ),
    told(
        "one check, then a commit and a push",
        CART,
        Shell("uv sync && pytest -q && git commit -qam x && git push", 0, pytest_output(12)),
        "checked: pytest, 12 tests, after the last change",
    ),
)
HELD_UP: tuple[TurnStory, ...] = (
    told(
        "the end of its output",
        CART,
        Shell("pytest 2>&1 | tail -20", 0, pytest_output(12)),
        "unchecked: 1 file changed; pytest: its summary says 12 passed; the exit code is tail's",
    ),
    told(
        "its exit code printed",
        Edit("src/cart.js"),
        Shell('npm test; echo "exit $?"', 0, jest_output(12) + "exit 0\n"),
        "unchecked: 1 file changed; npm test: the exit code is echo's",
    ),
    told(
        "its exit code kept",
        Edit("src/cart.js"),
        Shell("npm test > /tmp/o.log 2>&1; rc=$?; tail -5 /tmp/o.log; exit $rc"),
        "unchecked: 1 file changed; npm test: exit sets the exit code",
    ),
    told(
        "the folder on a line of its own",
        CART,
        Shell("cd /code/shop\npytest -q", 0, pytest_output(12)),
        "unchecked: 1 file changed; pytest: its folder is not known: join cd with &&",
    ),
    told(
        "a condition that leaves",
        CART,
        Shell("if ! pytest -q; then exit 1; fi", 0, pytest_output(12)),
        "unchecked: 1 file changed; pytest: it stands in an if, which takes its exit code",
    ),
    told(
        "a profile of Maven",
        Edit("src/Cart.java"),
        Shell("mvn -B -Pci verify", 0, "[INFO] BUILD SUCCESS\n"),
        "unchecked: 1 file changed; it ran with -Pci",
    ),
)
"""Such that tapui cannot tell, and says why."""
