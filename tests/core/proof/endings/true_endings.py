"""Endings whose claims were recorded: what the agent says holds, and is to be seen as such."""

from tapui.core.proof.folder_states import ADDED
from tests.core.proof.endings.steps import (
    Behind,
    Edit,
    Ended,
    Shell,
    TurnStory,
    go_output,
    pytest_output,
)
from tests.core.proof.endings.table import stories

CART = Edit("shop/cart.py")
PAGE = Edit("web/page.ts")
PASSED = Shell("pytest", 0, pytest_output(12))

ROWS = """
# The ways to run it
a new environment, and scripts of the folder that an interpreter runs ¦
    python -m venv .venv && .venv/bin/pip install -q -r requirements.txt ¦
    sh bin/setup && python bin/seed.py && git clone -q ../data data ¦ +shop/cart.py ¦
    .venv/bin/python -m pytest → pytest 12 ¦ ✓ pytest, 12 tests
pytest ¦ +shop/cart.py ¦ pytest → pytest 12 ¦ ✓ pytest, 12 tests
options that print ¦ +shop/cart.py ¦ pytest -x -q --tb=short → pytest 12 ¦ ✓ pytest, 12 tests
with its folder ¦ +shop/cart.py ¦ python -m pytest tests/ -v → pytest 12 ¦ ✓ pytest tests/, 12 tests
uv run ¦ +shop/cart.py ¦ uv run --frozen pytest -q → pytest 12 ¦ ✓ pytest, 12 tests
poetry run ¦ +shop/cart.py ¦ poetry run pytest → pytest 12 ¦ ✓ pytest, 12 tests
behind an activation ¦ +shop/cart.py ¦ . .venv/bin/activate && pytest → pytest 12 ¦
    ✓ pytest, 12 tests
with a time limit ¦ +shop/cart.py ¦ timeout 300 pytest -q → pytest 12 ¦ ✓ pytest, 12 tests
with a pipe that keeps the code ¦ +shop/cart.py ¦
    set -o pipefail; pytest 2>&1 | tail -20 → pytest 12 ¦ ✓ pytest, 12 tests
coverage beside it ¦ +shop/cart.py ¦ pytest --cov=shop → pytest 12 ¦ ~.coverage=data ¦
    ✓ pytest, 12 tests
workers ¦ +shop/cart.py ¦ CI=1 pytest -n 4 → pytest 12 ¦ ✓ pytest, 12 tests
unittest ¦ +shop/cart.py ¦ python -m unittest discover -s tests → unittest 12 ¦
    ✓ unittest discover, 12 tests
tox ¦ +shop/cart.py ¦ tox ¦ ✓ tox
npm test ¦ +web/page.ts ¦ npm test → jest 12 ¦ ✓ npm test, 12 tests
npm test without watching ¦ +web/page.ts ¦ CI=true npm test -- --watchAll=false → jest 12 ¦
    ✓ npm test, 12 tests
npx jest ¦ +web/page.ts ¦ npx jest --ci → jest 12 ¦ ✓ jest, 12 tests
a script of pnpm ¦ +web/page.ts ¦ pnpm test ¦ ✓ pnpm test
bun ¦ +web/page.ts ¦ bun test ¦ ✓ bun test
node ¦ +web/page.ts ¦ node --test ¦ ✓ node --test
go ¦ +cart.go ¦ go test ./... → go 3 ¦ ✓ go test, 3 packages
cargo ¦ +src/cart.rs ¦ cargo test --workspace → cargo 12 ¦ ✓ cargo test, 12 tests
gradle ¦ +src/main/java/Cart.java ¦ ./gradlew test → BUILD SUCCESSFUL in 3s ¦ ✓ gradlew test
maven ¦ +src/main/java/Cart.java ¦ mvn -q -B test ¦ ✓ mvn test
dotnet ¦ +Cart.cs ¦ dotnet test ¦ ✓ dotnet test
rspec ¦ +lib/cart.rb ¦ bundle exec rspec → 12 examples, 0 failures ¦ ✓ rspec, 12 tests
phpunit ¦ +src/Cart.php ¦ vendor/bin/phpunit → OK (12 tests, 30 assertions) ¦ ✓ phpunit, 12 tests
ctest ¦ +src/cart.cpp ¦ cmake --build build && ctest --test-dir build ¦ ✓ ctest
make ¦ +shop/cart.py ¦ make -s test → pytest 12 ¦ ✓ make test, 12 tests
make elsewhere ¦ +shop/cart.py ¦ make -C . check ¦ ✓ make check
all in one chain ¦ +shop/cart.py ¦ ruff check . && mypy . && pytest -q → pytest 12 ¦
    ✓ pytest, 12 tests
with words around it ¦ +shop/cart.py ¦
    echo 'running the tests' && pytest && echo passed → pytest 12 ¦ ✓ pytest, 12 tests
a folder that must be there ¦ +shop/cart.py ¦ cd /code/shop || exit 1; pytest → pytest 12 ¦
    ✓ pytest, 12 tests
some were not selected ¦ +shop/cart.py ¦ pytest → === 9 passed, 3 deselected in 1.2s === ¦
    ✓ pytest, 9 of 12 tests
by a linter where no tests are known ¦ +shop/cart.py ¦ ruff check . ¦ ✓ ruff check
# Before the tests
a formatter before them ¦ +shop/cart.py ¦ ruff format . ¦ ~shop/cart.py=formatted ¦
    pytest → pytest 12 ¦ ✓ pytest, 12 tests
failed, mended, passed ¦ +shop/cart.py ¦ pytest → exit 1, pytest 11 1 ¦ +shop/cart.py=mended ¦
    pytest → pytest 12 ¦ ✓ pytest, 12 tests
one test first, then all ¦ +tests/test_cart.py ¦ pytest tests/test_cart.py → exit 1, pytest 0 1 ¦
    +shop/cart.py ¦ pytest → pytest 12 ¦
    ✓ pytest, 12 tests, after the last change, tests changed: 1 file
a linter that failed at first ¦ +shop/cart.py ¦ ruff check shop → exit 1 ¦ +shop/cart.py=linted ¦
    ruff check . ¦ pytest → pytest 12 ¦ ✓ pytest, 12 tests
interrupted, then with more time ¦ +shop/cart.py ¦ timeout 10 pytest → exit 124 ¦
    timeout 600 pytest → pytest 12 ¦ ✓ pytest, 12 tests
flaky ¦ +shop/cart.py ¦ pytest → exit 1, pytest 11 1 ¦ pytest → pytest 12 ¦
    ✓ pytest, 12 tests, flaky: 1 of 2
a test was removed ¦ pytest → pytest 13 ¦ rm tests/test_old.py ¦ ~tests/test_old.py= ¦
    +shop/cart.py ¦ pytest → pytest 12 ¦
    ✓ pytest, 12 tests, after the last change, tests changed: 1 removed, 13 → 12 tests
a link to the packages ¦ +shop/cart.py ¦ pip install -q -e . ¦ pytest → pytest 12 ¦
    ✓ pytest, 12 tests
# After the tests
a commit ¦ +shop/cart.py ¦ pytest → pytest 12 ¦ git add -A && git commit -qm 'mend the cart' ¦
    ✓ pytest, 12 tests
an amend and a push ¦ +shop/cart.py ¦ pytest → pytest 12 ¦ git commit --amend --no-edit ¦ git push ¦
    ✓ pytest, 12 tests
a touch ¦ +shop/cart.py ¦ pytest → pytest 12 ¦ touch shop/cart.py ¦ ✓ pytest, 12 tests
a look ¦ +shop/cart.py ¦ pytest → pytest 12 ¦ git status --short ¦ git diff | head -50 ¦
    ✓ pytest, 12 tests
a formatter without effect ¦ +shop/cart.py ¦ pytest → pytest 12 ¦ ruff format . ¦ ✓ pytest, 12 tests
documents ¦ +shop/cart.py ¦ pytest → pytest 12 ¦ +README.md ¦ +docs/api.py ¦
    ✓ pytest, 12 tests, after the last change (README.md, docs/api.py since)
a picture by another session ¦ +shop/cart.py ¦ pytest → pytest 12 ¦ @outside logo.png=new ¦
    ✓ pytest, 12 tests, after the last change (logo.png since)
a part of them again ¦ +shop/cart.py ¦ pytest → pytest 12 ¦ pytest tests/test_cart.py → pytest 3 ¦
    ✓ pytest, 12 tests
a linter ¦ +shop/cart.py ¦ pytest → pytest 12 ¦ ruff check . ¦ ✓ pytest, 12 tests
an interrupted second run ¦ +shop/cart.py ¦ pytest → pytest 12 ¦ pytest → exit 130 ¦
    ✓ pytest, 12 tests
a restart of tapui, and the tests again ¦ +shop/cart.py ¦ pytest → pytest 12 ¦ @restarted ¦
    +shop/till.py ¦ pytest → pytest 12 ¦ ✓ pytest, 12 tests
what a check wrote ¦ +web/page.ts ¦ npm test → jest 12 ¦ ~web/page.snap=new ¦
    ~package-lock.json=new ¦ ✓ npm test, 12 tests
only documents ¦ @named pytest ¦ +README.md ¦ nothing
nothing was changed ¦ pytest → pytest 12 ¦ nothing
checked by the turn that followed ¦ +shop/cart.py ¦ @prompt ¦ +shop/till.py ¦ pytest → pytest 12 ¦
    ✓ pytest, 12 tests
# Packages
its own package ¦ @packages api web ¦ +web/page.ts ¦ cd web && npm test → jest 12 ¦
    ✓ npm test, 12 tests
two packages ¦ @packages api web ¦ +web/page.ts ¦ +api/cart.ts ¦ npm --prefix api test → jest 12 ¦
    npm --prefix web test → jest 12 ¦ ✓ npm test in web, 12 tests, npm test in api, 12 tests
all packages from the root ¦ @packages api web ¦ +web/page.ts ¦ +api/cart.ts ¦ npm test → jest 12 ¦
    ✓ npm test, 12 tests
# What package managers and formatters do before
a new dependency ¦ +web/page.ts ¦ npm install lodash ¦ ~package.json=n ¦ ~package-lock.json=n ¦
    npm test → jest 12 ¦ ✓ npm test, 12 tests
a new dependency, then another ¦ +shop/cart.py ¦ uv add httpx ¦ ~pyproject.toml=n ¦
    uv add --dev respx ¦ ~pyproject.toml=m ¦ uv run pytest → pytest 12 ¦ ✓ pytest, 12 tests
a formatter in the same command, before them ¦ +shop/cart.py ¦
    ruff format . && pytest -q → pytest 12 ¦ ~shop/cart.py=f ¦ ✓ pytest, 12 tests
beside a server in the background ¦ +web/page.ts ¦ @behind npm run dev ¦ npm test → jest 12 ¦
    ✓ npm test, 12 tests
the unit tests, then all ¦ +web/page.ts ¦ npm run test:unit → jest 9 ¦ +web/page.ts=newer ¦
    npm test → jest 12 ¦ ✓ npm test, 12 tests
a dependency of a package below ¦ +web/page.ts ¦ npm install zod -w web ¦
    ~web/package.json=dependency ¦ npm test → jest 12 ¦ ✓ npm test, 12 tests
removed before and behind ¦ +web/page.ts ¦
    rm -rf coverage && npm test -- --coverage && rm -rf coverage → jest 12 ¦ ✓ npm test, 12 tests
built, then tested by another command ¦ +src/cart.c ¦ cmake --build build -j4 ¦
    ctest --test-dir build ¦ ✓ ctest
installed, with coverage ¦ @packages web ¦ +web/src/App.tsx ¦
    cd web && npm ci && npm test -- --coverage → jest 41 ¦ ✓ npm test, 41 tests
all features ¦ +src/lib.rs ¦ cargo test --workspace --all-features → cargo 31 ¦
    ✓ cargo test, 31 tests
plain console ¦ +src/Cart.java ¦ ./gradlew test --console=plain → BUILD SUCCESSFUL in 2s ¦
    ✓ gradlew test
the race detector ¦ +internal/cart/cart.go ¦ go test ./... -count=1 -race → go 3 ¦
    ✓ go test, 3 packages
workspaces of pnpm ¦ @packages packages/core ¦ +packages/core/a.ts ¦
    pnpm install --frozen-lockfile && pnpm -r build && pnpm -r test ¦ ✓ pnpm test
workspaces of yarn ¦ @packages packages/core ¦ +packages/core/a.ts ¦
    yarn workspaces foreach -Apt run test → jest 41 ¦ ✓ yarn test, 41 tests
synced by uv ¦ +shop/cart.py ¦ uv sync --frozen && uv run --frozen pytest -q → pytest 12 ¦
    ✓ pytest, 12 tests
a tool of uv ¦ +shop/cart.py ¦ uvx --with pytest-cov pytest -q → pytest 12 ¦ ✓ pytest, 12 tests
coverage by poetry ¦ +shop/cart.py ¦
    poetry run pytest --cov=shop --cov-report=term-missing → pytest 12 ¦ ✓ pytest, 12 tests
verified by Maven ¦ +src/Cart.java ¦ mvn -B -ntp clean verify → [INFO] Tests run: 12, Failures: 0,
    Errors: 0, Skipped: 0 + [INFO] BUILD SUCCESS ¦ ✓ mvn clean verify, 12 tests
installed by Maven ¦ +src/Cart.java ¦ mvn -q clean install ¦ ✓ mvn clean install
a JDK of the system ¦ +src/Cart.java ¦ JAVA_HOME=/usr/lib/jvm/java-17 ./mvnw -q test ¦ ✓ mvnw test
a build of Gradle ¦ +src/Cart.java ¦ ./gradlew clean build --no-daemon → BUILD SUCCESSFUL in 2s ¦
    ✓ gradlew clean build
a release configuration ¦ +src/Cart.cs ¦ dotnet test --configuration Release --nologo --logger trx ¦
    ✓ dotnet test
built, then tested ¦ +src/Cart.cs ¦ dotnet build --no-restore && dotnet test --no-build ¦
    ✓ dotnet test
documentation format ¦ +lib/cart.rb ¦
    bundle exec rspec --format documentation → 24 examples, 0 failures ¦ ✓ rspec, 24 tests
rake by itself ¦ +lib/cart.rb ¦ bundle exec rake → 24 examples, 0 failures ¦ ✓ rake, 24 tests
phpunit by php ¦ +src/Cart.php ¦ composer install -q && php -d memory_limit=-1 vendor/bin/phpunit →
    OK (24 tests, 30 assertions) ¦ ✓ phpunit, 24 tests
configured, built, tested ¦ +src/cart.cpp ¦ cmake -S . -B build && cmake --build build && ctest
    --test-dir build → 100% tests passed, 0 tests failed out of 9 ¦ ✓ ctest, 9 tests
in the build folder ¦ +src/cart.c ¦ mkdir -p build && cd build && cmake .. && make -j4 && ctest →
    100% tests passed, 0 tests failed out of 9 ¦ ✓ ctest, 9 tests
make, then its check ¦ +src/cart.c ¦ make -j"$(nproc)" && make check ¦ ✓ make check
ninja and meson ¦ +src/cart.c ¦
    meson setup build && meson compile -C build && meson test -C build --print-errorlogs ¦
    ✓ meson test
errors of Bazel ¦ +core/cart.cc ¦ bazel test //... --test_output=errors --keep_going ¦ ✓ bazel test
turbo ¦ +packages/core/a.ts ¦ npx turbo run lint test --concurrency=2 → jest 41 ¦
    ✓ turbo run lint test, 41 tests
nx ¦ +libs/cart/a.ts ¦ npx nx run-many -t lint test --parallel=3 → jest 41 ¦
    ✓ nx run-many lint test, 41 tests
lerna ¦ +packages/core/a.ts ¦ npx lerna run test --stream → jest 41 ¦ ✓ lerna run test, 41 tests
an environment of tox ¦ +shop/cart.py ¦ tox -e py312 → pytest 12 ¦ ✓ tox py312, 12 tests
a session of nox ¦ +shop/cart.py ¦ nox -s tests → pytest 12 ¦ ✓ nox tests, 12 tests
nextest with a profile ¦ +src/lib.rs ¦ cargo nextest run --workspace --profile ci ¦
    ✓ cargo nextest run
lint, types, tests, kept in a file ¦ +src/cart.ts ¦
    set -euo pipefail; npm run lint && npm test 2>&1 | tee /tmp/test.log → jest 41 ¦
    ✓ npm test, 41 tests
a login shell ¦ +shop/cart.py ¦ bash -lc 'cd /code/shop && pytest -q' → pytest 12 ¦
    ✓ pytest, 12 tests
a virtual display ¦ +src/extension.ts ¦ xvfb-run -a npm test ¦ ✓ npm test
its output shown on a failure ¦ +src/cart.js ¦
    npm test > /tmp/test.log 2>&1 || { tail -50 /tmp/test.log; exit 1; } ¦ ✓ npm test
all rights of Deno ¦ +main.ts ¦ deno test --allow-all → ok | 12 passed | 0 failed (10ms) ¦
    ✓ deno test, 12 tests
installed by bun ¦ +src/cart.ts ¦ bun install --frozen-lockfile && bun test ¦ ✓ bun test
mix ¦ +lib/cart.ex ¦ mix deps.get && mix test --warnings-as-errors ¦ ✓ mix test
swift ¦ +Sources/Cart.swift ¦ swift build && swift test --parallel ¦ ✓ swift test
flutter ¦ +lib/cart.dart ¦ flutter pub get && flutter analyze && flutter test --coverage ¦
    ✓ flutter test
artisan ¦ +app/Cart.php ¦ php artisan test --parallel ¦ ✓ php artisan test
Django ¦ +shop/models.py ¦ python manage.py test --noinput --parallel 4 → unittest 12 ¦
    ✓ manage.py test, 12 tests
unittest's own pattern ¦ +shop/cart.py ¦
    python -m unittest discover -s tests -p 'test_*.py' -v → unittest 12 ¦
    ✓ unittest discover, 12 tests
just ¦ +src/cart.ts ¦ just test → jest 41 ¦ ✓ just test, 41 tests
a script of hatch ¦ +shop/cart.py ¦ hatch run test → pytest 12 ¦ ✓ hatch run test, 12 tests
a script of poe ¦ +shop/cart.py ¦ poetry run poe test → pytest 12 ¦ ✓ poe test, 12 tests
a browser ¦ +src/page.ts ¦ npx playwright test --reporter=line ¦ ✓ playwright test
committed, then tested ¦ +shop/cart.py ¦
    git add -A && git commit -qm "Fix totals" && pytest -q → pytest 12 ¦ ✓ pytest, 12 tests
there and back ¦ @packages web ¦ +web/src/a.ts ¦ pushd web && yarn test && popd → jest 41 ¦
    ✓ yarn test, 41 tests
a folder of modules ¦ +shop/cart.py ¦ PYTHONPATH=src python -m pytest -q → pytest 12 ¦
    ✓ pytest, 12 tests
modules of JavaScript ¦ +src/cart.js ¦
    NODE_OPTIONS=--experimental-vm-modules npx jest --runInBand → jest 41 ¦ ✓ jest, 41 tests
another version of Node ¦ +src/cart.js ¦
    export NVM_DIR="$HOME/.nvm" && . "$NVM_DIR/nvm.sh" && nvm use 20 && npm test → jest 41 ¦
    ✓ npm test, 41 tests
Go's folder on the path ¦ +internal/cart/cart.go ¦
    export PATH=$PATH:/usr/local/go/bin && go test ./... → go 3 ¦ ✓ go test, 3 packages
a cache elsewhere ¦ +shop/cart.py ¦ UV_CACHE_DIR=/tmp/uv-cache uv run pytest -q → pytest 12 ¦
    ✓ pytest, 12 tests
an environment of conda ¦ +shop/cart.py ¦
    source ~/miniconda3/etc/profile.d/conda.sh && conda activate shop && pytest -q → pytest 12 ¦
    ✓ pytest, 12 tests
coverage, then its report ¦ +shop/cart.py ¦
    coverage run -m pytest && coverage report --fail-under=90 → pytest 12 ¦ ✓ pytest, 12 tests
another folder of make ¦ @packages api ¦ +api/app.go ¦ make -C api test → go 1 ¦
    ✓ make test, 1 package
another folder of Go ¦ @packages api ¦ +api/app.go ¦ go -C api test ./... → go 1 ¦
    ✓ go test, 1 package
mended by eslint first ¦ +src/cart.ts ¦
    npx eslint --fix . && npx tsc --noEmit && npx jest --ci --coverage --maxWorkers=2 → jest 41 ¦
    ✓ jest, 41 tests
headless Chrome ¦ +src/app.component.ts ¦ npx ng test --watch=false --browsers=ChromeHeadless ¦
    ✓ ng test
sbt ¦ +src/Cart.scala ¦ sbt clean test ¦ ✓ sbt clean test
workers, timed ¦ +shop/cart.py ¦ time pytest -q -n auto -p no:cacheprovider → pytest 12 ¦
    ✓ pytest, 12 tests
one check, then a commit and a push ¦ +shop/cart.py ¦
    uv sync && pytest -q && git commit -qam x && git push → pytest 12 ¦ ✓ pytest, 12 tests
"""
HELD_UP_ROWS = """
the end of its output ¦ +shop/cart.py ¦ pytest 2>&1 | tail -20 → pytest 12 ¦
    ○ 1 file changed; pytest: its summary says 12 passed; the exit code is tail's
its exit code printed ¦ +src/cart.js ¦ npm test; echo "exit $?" → jest 12 + exit 0 ¦
    ○ 1 file changed; npm test: the exit code is echo's
its exit code kept ¦ +src/cart.js ¦
    npm test > /tmp/o.log 2>&1; rc=$?; tail -5 /tmp/o.log; exit $rc ¦
    ○ 1 file changed; npm test: exit sets the exit code
a condition that leaves ¦ +shop/cart.py ¦ if ! pytest -q; then exit 1; fi → pytest 12 ¦
    ○ 1 file changed; pytest: it stands in an if, which takes its exit code
a profile of Maven ¦ +src/Cart.java ¦ mvn -B -Pci verify → [INFO] BUILD SUCCESS ¦
    ○ 1 file changed; it ran with -Pci
"""
HELD_UP: tuple[TurnStory, ...] = (
    *stories(HELD_UP_ROWS, rerun=0),
    TurnStory(
        "the folder on a line of its own",
        (CART, Shell("cd /code/shop\npytest -q", 0, pytest_output(12))),
        "unchecked: 1 file changed; pytest: its folder is not known: join cd with &&",
        0,
    ),
)
"""Such that tapui cannot tell, and says why."""
TRUE_ENDINGS: tuple[TurnStory, ...] = (
    *stories(ROWS, rerun=0),
    TurnStory(
        "into a file",
        (CART, Shell("pytest > test.log 2>&1", writes={"test.log": "12 passed" + ADDED})),
        "checked: pytest, after the last change",
        0,
    ),
    TurnStory(
        "vitest",
        (
            PAGE,
            Shell(
                "pnpm exec vitest run",
                0,
                " Test Files  2 passed (2)\n      Tests  12 passed (12)\n",
            ),
        ),
        "checked: vitest run, 12 tests, after the last change",
        0,
    ),
    TurnStory(
        "go, from a cache",
        (Edit("cart.go"), Shell("go test ./...", 0, go_output(3, note="(cached)"))),
        "checked: go test, 3 packages, from a cache, after the last change",
        0,
    ),
    TurnStory(
        "PowerShell",
        (CART, Shell("pytest -q", 0, pytest_output(12), shell="powershell")),
        "checked: pytest, 12 tests, after the last change",
        0,
    ),
    TurnStory(
        "under set -e",
        (CART, Shell("set -e\npytest -q", 0, pytest_output(12))),
        "checked: pytest, 12 tests, after the last change",
        0,
    ),
    TurnStory(
        "in the background",
        (CART, Behind("pytest"), Shell("ls"), Ended(0, pytest_output(12))),
        "checked: pytest, 12 tests, after the last change",
        0,
    ),
    TurnStory(
        "reading beside the tests",
        (CART, Shell("pytest", 0, pytest_output(12), meanwhile=(Shell("cat README.md"),))),
        "checked: pytest, 12 tests, after the last change",
        0,
    ),
    TurnStory(
        "a new conftest.py that the person ran",
        (
            Edit("tests/conftest.py"),
            Shell("pytest", 0, pytest_output(12), by_person=True),
            CART,
            PASSED,
        ),
        "checked: pytest, 12 tests, after the last change, tests changed: 1 file",
        0,
    ),
    TurnStory(
        "an edit that was taken back",
        (
            CART,
            PASSED,
            Edit("shop/till.py"),
            Shell("git checkout shop/till.py", writes={"shop/till.py": None}),
        ),
        "checked: pytest, 12 tests, after the last change",
        0,
    ),
    TurnStory(
        "a target that is not there, then the tests",
        (CART, Shell("make test", 2, "make: *** No rule to make target 'test'.  Stop.\n"), PASSED),
        "checked: pytest, 12 tests, after the last change",
        0,
    ),
    TurnStory(
        "lines of a script",
        (
            CART,
            Shell(
                "set -e\ncd /code/shop\nruff check .\nmypy shop\npytest -q", 0, pytest_output(12)
            ),
        ),
        "checked: pytest, 12 tests, after the last change",
        0,
    ),
    *HELD_UP,
)
