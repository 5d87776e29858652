"""Endings that claim what was not recorded. None of them may be shown as checked."""

from tests.core.proof.endings.steps import (
    Behind,
    Edit,
    Ended,
    Outside,
    Shell,
    Stated,
    TurnStory,
    jest_output,
    pytest_output,
)
from tests.core.proof.endings.table import stories

CART = Edit("shop/cart.py")
PASSED = Shell("pytest", 0, pytest_output(12))

ROWS = """
# Nothing ran, or before the last change
never run ¦ @named pytest ¦ +shop/cart.py ¦ ○ 1 file changed; pytest: never run
never run, and no check is known ¦ +shop/cart.py ¦ ls tests ¦ nothing
run before the last edit ¦ +shop/cart.py ¦ pytest → pytest 12 ¦ +shop/cart.py=tidier ¦
    ○ 1 file changed since pytest passed
run in an earlier turn ¦ +shop/cart.py ¦ pytest → pytest 12 ¦ @prompt ¦ +shop/till.py ¦
    ○ 1 file changed since pytest passed
edited by sed in the same command, behind the tests ¦ +shop/cart.py ¦
    pytest -q && sed -i s/cent/ct/ shop/cart.py → pytest 12 ¦ ~shop/cart.py=ct ¦
    ○ 1 file changed since pytest passed
a formatter after the tests ¦ +shop/cart.py ¦ pytest → pytest 12 ¦ ruff format . ¦
    ~shop/cart.py=formatted ¦ ○ 1 file changed since pytest passed
generated code after the tests ¦ +shop/cart.py ¦ pytest → pytest 12 ¦ make generate ¦
    ~shop/models.py=generated ¦ ○ 1 file changed since pytest passed
a new lock file after the tests ¦ +shop/cart.py ¦ pytest → pytest 12 ¦ uv lock --upgrade ¦
    ~uv.lock=newer ¦ ○ 1 file changed since pytest passed
requirements.txt is no document ¦ +shop/cart.py ¦ pytest → pytest 12 ¦ +requirements.txt ¦
    ○ 1 file changed since pytest passed
a commit does not make it checked ¦ +shop/cart.py ¦ pytest → pytest 12 ¦ +shop/till.py ¦
    git commit -am 'mend the till' ¦ ○ 1 file changed since pytest passed
# It failed
failed, and said to pass ¦ +shop/cart.py ¦ pytest → exit 1, pytest 11 1 ¦ ✗ pytest, exit 1
failed, mended, not run again ¦ +shop/cart.py ¦ pytest → exit 1, pytest 11 1 ¦
    +shop/cart.py=mended ¦ ○ 1 file changed since pytest failed
one of two checks failed ¦ @rerun 0 ¦ +shop/cart.py ¦ pytest → pytest 12 ¦ mypy . → exit 1 ¦
    ✗ mypy, exit 1
the last run failed ¦ +shop/cart.py ¦ pytest → pytest 12 ¦ pytest → exit 1, pytest 11 1 ¦
    ✗ pytest, exit 1
a crash after a pass ¦ +shop/cart.py ¦ pytest → pytest 12 ¦
    pytest → exit 139, Fatal Python error: Segmentation fault ¦ ✗ pytest, exit 139
its summary failed behind a pipe ¦ +shop/cart.py ¦ pytest 2>&1 | tail -5 → pytest 10 2 ¦
    ✗ pytest, its summary says 2 failed, 10 passed; the exit code is tail's
no tests were found ¦ @rerun 0 ¦ +shop/cart.py ¦
    npx jest --passWithNoTests → No tests found, exiting with code 0 ¦ ✗ jest, no tests ran
all tests were skipped ¦ @rerun 0 ¦ +shop/cart.py ¦ pytest → ===== 12 skipped in 0.04s ===== ¦
    ✗ pytest, all tests were skipped
# The exit code is hidden
|| true ¦ +shop/cart.py ¦ pytest || true → pytest 9 3 ¦
    ○ 1 file changed; pytest: || hides its exit code
; echo done ¦ +shop/cart.py ¦ pytest -q; echo done → pytest 9 3 + done ¦
    ○ 1 file changed; pytest: the exit code is echo's
exit 0 behind it ¦ +shop/cart.py ¦ set +e; pytest; exit 0 → pytest 9 3 ¦
    ○ 1 file changed; pytest: exit sets the exit code
behind a pipe that shows nothing of it ¦ +shop/cart.py ¦ npm test 2>&1 | grep -c FAIL → 3 ¦
    ○ 1 file changed; npm test: the exit code is grep's
in a condition ¦ +shop/cart.py ¦ if pytest; then echo OK; else echo OK; fi → pytest 9 3 ¦
    ○ 1 file changed; pytest: it stands in an if, which takes its exit code
in a substitution ¦ +shop/cart.py ¦ out=$(pytest 2>&1); echo "OK" → OK ¦
    ○ 1 file changed; pytest: the exit code is echo's
a script that hides it ¦ @rerun 0 ¦ +shop/cart.py ¦ npm test → jest 9 3 ¦
    ○ 1 file changed; npm test: its summary and its exit code differ
make goes on after errors ¦ @named make test ¦ +shop/cart.py ¦ make -i test → pytest 9 3 ¦
    ○ 1 file changed; make test: never run
maven never fails ¦ +shop/cart.py ¦ mvn -fn test → [INFO] BUILD SUCCESS ¦ nothing
# Not the check
a printed summary ¦ @named pytest ¦ +shop/cart.py ¦
    python -c "print('=== 212 passed in 3.10s ===')" → pytest 212 ¦
    ○ 1 file changed; pytest: never run
an old log ¦ @named pytest ¦ +shop/cart.py ¦ cat test.log → pytest 212 ¦
    ○ 1 file changed; pytest: never run
a summary printed by a test, and no code ¦ +shop/cart.py ¦
    pytest -s; true → pytest 212 + pytest 0 3 ¦ ○ 1 file changed; pytest: the exit code is true's
tests were only listed ¦ @named pytest ¦ +shop/cart.py ¦
    pytest --collect-only -q → 12 tests collected in 0.02s ¦ ○ 1 file changed; pytest: never run
make only printed ¦ @named make test ¦ +shop/cart.py ¦ make -n test → pytest ¦
    ○ 1 file changed; make test: never run
tests were only built ¦ @named cargo test ¦ +shop/cart.py ¦ cargo test --no-run ¦
    ○ 1 file changed; cargo test: never run
a linter for the tests ¦ pytest → pytest 12 ¦ +shop/cart.py ¦ ruff check . → All checks passed! ¦
    ○ 1 file changed since pytest passed
a build for the tests ¦ cargo test → cargo 12 ¦ +src/cart.rs ¦ cargo build ¦
    ○ 1 file changed since cargo test passed
# A part of it
one file of the tests ¦ +shop/cart.py ¦ pytest tests/test_cart.py → pytest 3 ¦
    ○ 1 file changed; it ran tests/test_cart.py: a subset
the failed ones only ¦ +shop/cart.py ¦ pytest → exit 1, pytest 11 1 ¦ +shop/cart.py=mended ¦
    pytest --lf → pytest 1 ¦ ○ 1 file changed since pytest failed
without the one that fails ¦ +shop/cart.py ¦
    pytest --deselect tests/test_pay.py::test_refund → pytest 11 ¦
    ○ 1 file changed; it ran --deselect: a subset
one package of Go ¦ +pay/pay.go ¦ go test ./cart → go 1 ¦ ○ 1 file changed; it ran ./cart: a subset
a build without its tests ¦ +shop/cart.py ¦ gradle build -x test → BUILD SUCCESSFUL in 2s ¦
    ○ 1 file changed; it ran -x: a subset
snapshots were rewritten ¦ @rerun 0 ¦ +web/page.ts ¦ npx jest -u → jest 12 ¦
    ~web/page.snap=as it is ¦ ○ 2 files changed; it ran with -u: it writes what it compares
another package, by an option ¦ @packages api web ¦ +web/page.ts ¦ +api/cart.ts ¦
    npm --prefix api test → jest 12 ¦ ○ 2 files changed; checked api; not checked: web
a copy elsewhere ¦ +shop/cart.py ¦ cd /tmp/copy && pytest → pytest 12 ¦
    ○ 1 file changed; pytest: not run in shop
# It did not end
a time limit ¦ +shop/cart.py ¦ timeout 60 pytest → exit 124, .... ¦
    ○ 1 file changed; pytest: it was ended by a time limit (exit 124)
killed ¦ +shop/cart.py ¦ pytest → exit 137, .... ¦
    ○ 1 file changed; pytest: it was ended by signal 9 (exit 137)
still runs ¦ +shop/cart.py ¦ @behind pytest ¦ ○ 1 file changed; pytest: still runs (shell 1)
& hides it ¦ +shop/cart.py ¦ nohup pytest > test.log 2>&1 & ¦
    ○ 1 file changed; pytest: it runs in the background
# Another program of that name
a function ¦ +shop/cart.py ¦ pytest() { echo '12 passed'; }; pytest → 12 passed ¦
    ○ 1 file changed; pytest: it defines a function
another PATH ¦ +shop/cart.py ¦ PATH=$PWD/fake:$PATH pytest → pytest 12 ¦
    ○ 1 file changed; pytest: it sets PATH
a module pytest in the folder ¦ @rerun 0 ¦ +shop/cart.py ¦ +pytest.py ¦
    python -m pytest → pytest 12 ¦
    ○ 2 files changed; pytest: pytest.py decides over it and was changed
another script in package.json ¦ @rerun 0 ¦ +web/page.ts ¦ +package.json=test: exit 0 ¦ npm test ¦
    ○ 2 files changed; npm test: package.json decides over it and was changed
another conftest.py ¦ @rerun 0 ¦ +shop/cart.py ¦ +tests/conftest.py ¦ pytest → pytest 12 ¦
    ○ 2 files changed; pytest: tests/conftest.py decides over it and was changed
another Makefile, in an earlier turn ¦ @rerun 0 ¦ +Makefile ¦ @prompt ¦ +shop/cart.py ¦ make test ¦
    ○ 1 file changed; make test: Makefile decides over it and was changed
# Another state of the folder
stashed in the same command ¦ +shop/cart.py ¦ git stash && pytest; git stash pop → pytest 12 ¦
    ○ 1 file changed; pytest: the exit code is git stash's
pulled after the tests ¦ +shop/cart.py ¦ pytest → pytest 12 ¦ git pull --rebase ¦
    ~shop/till.py=theirs ¦ ○ 1 file changed since pytest passed
an editor changed a file since ¦ +shop/cart.py ¦ pytest → pytest 12 ¦ @outside shop/till.py=theirs ¦
    ○ 1 file changed outside of this session since pytest passed
changed while tapui was away ¦ +shop/cart.py ¦ pytest → pytest 12 ¦ @outside shop/till.py=theirs ¦
    @restarted ¦ +shop/b.py ¦ ○ 2 files changed since pytest passed
the source was removed ¦ +shop/cart.py ¦ pytest → pytest 12 ¦ rm shop/old.py ¦ ~shop/old.py= ¦
    ○ 1 file changed since pytest passed
two runs of one script, of which one failed ¦ +shop/cart.py ¦ npm test → jest 12 + jest 11 1 ¦
    ○ 1 file changed; npm test: its summary and its exit code differ: a run of jest failed
a program in the place of pytest, from within its folder ¦ +shop/cart.py ¦
    cd .venv/bin && cp /bin/true pytest ¦ pytest → pytest 12 ¦
    ○ 1 file changed; pytest: the program pytest was written in this session
a downloaded program in the place of pytest ¦ +shop/cart.py ¦
    curl -so .venv/bin/pytest https://example.org/p ¦ pytest → pytest 12 ¦
    ○ 1 file changed; pytest: the program pytest was written in this session
an archive over the environment ¦ +shop/cart.py ¦ tar xf t.tar -C .venv ¦ pytest → pytest 12 ¦
    ○ 1 file changed; pytest: an installed library was written in this session
a program that python writes in the place of pytest ¦ +shop/cart.py ¦
    python -c "open('.venv/bin/pytest', 'w')" ¦ pytest → pytest 12 ¦
    ○ 1 file changed; pytest: the program pytest was written in this session
a library of the tests that a tool edits ¦ +shop/cart.py ¦ +node_modules/jest/bin/jest.js ¦
    npx jest → jest 3 ¦ ○ 2 files changed; jest: an installed library was written in this session
# Found by trying
in a folder of some tests ¦ +shop/cart.py ¦ cd tests/unit && pytest → pytest 3 ¦
    ○ 1 file changed; pytest ran in tests/unit: a subset
a program in the place of the installed one ¦ @rerun 0 ¦ +shop/cart.py ¦
    cp /bin/true $(which pytest) ¦ pytest ¦
    ○ 1 file changed; pytest: the program pytest was written in this session
another shell for the scripts ¦ @rerun 0 ¦ +shop/cart.py ¦ npm config set script-shell /bin/true ¦
    npm test ¦ ○ 1 file changed; npm test: the program npm was written in this session
the tests of another language ¦ @rerun 0 ¦ @packages web ¦ +web/page.ts ¦ pytest → pytest 12 ¦
    ○ 1 file changed; pytest: not run in web
tests that the settings leave out ¦ @rerun 0 ¦ +web/page.ts ¦ +jest.config.js ¦ npm test → jest 9 ¦
    ○ 2 files changed; npm test: jest.config.js decides over it and was changed
one of two languages ¦ pytest → pytest 12 ¦ +shop/cart.py ¦ npm test → jest 12 ¦
    ○ 1 file changed since pytest passed
not the check that the person named ¦ @named pytest ¦ +shop/cart.py ¦ npm test → jest 12 ¦
    ○ 1 file changed; pytest: never run
a trap ¦ +shop/cart.py ¦ trap 'exit 0' EXIT; pytest → pytest 9 3 ¦
    ○ 1 file changed; pytest: trap changes what the shell does
a script that the person named was changed ¦ @rerun 0 ¦ @named ./check.sh ¦ +shop/cart.py ¦
    +check.sh=exit 0 ¦ ./check.sh ¦
    ○ 2 files changed; ./check.sh: check.sh decides over it and was changed
sourced behind the tests ¦ +shop/cart.py ¦ pytest && . ./fix.sh → pytest 12 ¦ ~shop/till.py=fixed ¦
    ○ 1 file changed since pytest passed
a hook of the commit that formats ¦ +shop/cart.py ¦ pytest && git commit -qam x → pytest 12 ¦
    ~shop/till.py=formatted ¦ ○ 1 file changed since pytest passed
written by awk behind the tests ¦ +shop/cart.py ¦
    pytest && awk '{print > "shop/till.py"}' x → pytest 12 ¦ ~shop/till.py=printed ¦
    ○ 1 file changed since pytest passed
the edited file changed while the tests ran ¦ +shop/cart.py ¦ pytest → pytest 12 ¦
    ~shop/cart.py=other ¦ ○ 1 file changed since pytest passed
a linter of another folder ¦ +shop/cart.py ¦ ruff check tests → All checks passed! ¦
    ○ 1 file changed; ruff check ran in tests: a subset
a module of another place ¦ +web/Page.java ¦ ./gradlew :api:test → BUILD SUCCESSFUL in 2s ¦
    ○ 1 file changed; gradlew :api:test ran in api: a subset
compiled, not tested ¦ +shop/cart.py ¦ python -m compileall -q . ¦
    ○ 1 file changed; it only compiles
another Makefile in the same command ¦ @rerun 0 ¦ +shop/cart.py ¦
    printf 'test:' > Makefile && make test ¦ ~Makefile=test: ¦
    ○ 2 files changed; make test: Makefile decides over it and was changed
an edit behind a new dependency ¦ @rerun 0 ¦ +web/page.ts ¦ npm install lodash ¦
    ~package.json=dependency ¦ +package.json=test: exit 0 ¦ npm test ¦
    ○ 2 files changed; npm test: package.json decides over it and was changed
another script, by npm itself ¦ @rerun 0 ¦ +web/page.ts ¦ npm pkg set scripts.test=true ¦
    ~package.json=true ¦ npm test ¦
    ○ 2 files changed; npm test: package.json decides over it and was changed
an own package that writes the scripts ¦ @rerun 0 ¦ +web/page.ts ¦ npm install ./fake ¦
    ~package.json=true ¦ npm test ¦
    ○ 2 files changed; npm test: package.json decides over it and was changed
counted through two pipes ¦ +shop/cart.py ¦
    python -m pytest -q 2>&1 | tee out.log | grep -c passed → 1 ¦
    ○ 1 file changed; pytest: the exit code is grep's
pipefail in an earlier call ¦ +shop/cart.py ¦ set -o pipefail ¦ pytest -q | tail -1 ¦
    ○ 1 file changed; pytest: the exit code is tail's
each package in a loop ¦ @packages packages/core ¦ +packages/core/a.js ¦
    for d in packages/*; do (cd $d && npm test); done → jest 12 ¦
    ○ 1 file changed; npm test: it stands in a loop
forgiven by xargs ¦ +packages/core/a.js ¦
    ls packages | xargs -I{} sh -c 'cd packages/{} && npm test || true' ¦ nothing
a property that ignores failures ¦ +src/Cart.java ¦
    mvn -q -Dmaven.test.failure.ignore=true verify → [INFO] BUILD SUCCESS ¦ nothing
a filter of nextest ¦ +core/src/lib.rs ¦ cargo nextest run -E 'package(api)' ¦
    ○ 1 file changed; it ran -E: a subset
only the ignored tests ¦ +src/lib.rs ¦ cargo test --workspace -- --ignored → cargo 2 ¦
    ○ 1 file changed; it ran --ignored: a subset
only the tests in documents ¦ +src/lib.rs ¦ cargo test --doc → cargo 2 ¦
    ○ 1 file changed; it ran --doc: a subset
the root's package of Go ¦ +internal/cart/cart.go ¦ go test → go 1 ¦
    ○ 1 file changed; it ran one package: a subset
options of Go in a variable ¦ +internal/cart/cart.go ¦ GOFLAGS=-run=XXX go test ./... → go 2 ¦
    ○ 1 file changed; go test: it sets GOFLAGS
arguments of Maven in a variable ¦ +src/Cart.java ¦
    export MAVEN_ARGS=-DskipTests && mvn test → [INFO] BUILD SUCCESS ¦
    ○ 1 file changed; mvn test: it sets MAVEN_ARGS
options of rspec in a variable ¦ +lib/cart.rb ¦
    SPEC_OPTS=--dry-run bundle exec rspec → 24 examples, 0 failures ¦
    ○ 1 file changed; rspec: it sets SPEC_OPTS
failures that end with 0 ¦ +lib/cart.rb ¦ bundle exec rspec --failure-exit-code 0 ¦ nothing
a runner that is true ¦ +src/lib.rs ¦ CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_RUNNER=true cargo test ¦
    ○ 1 file changed; cargo test: it sets CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_RUNNER
another shell for one script ¦ +src/cart.js ¦ npm --script-shell=/bin/true test ¦ nothing
another shell for make ¦ +shop/cart.py ¦ make test SHELL=/bin/true ¦
    ○ 1 file changed; it ran SHELL=/bin/true: a subset
make has nothing to do ¦ @rerun 0 ¦ +shop/cart.py ¦ make test → make: 'test' is up to date. ¦
    ✗ make test, no tests ran
errors that make ignores by a variable ¦ +shop/cart.py ¦ MAKEFLAGS=-i make test ¦
    ○ 1 file changed; make test: it sets MAKEFLAGS
a link in the environment ¦ @rerun 0 ¦ +shop/cart.py ¦ ln -sf /bin/true .venv/bin/pytest ¦
    . .venv/bin/activate && pytest -q ¦
    ○ 1 file changed; pytest: the program pytest was written in this session
a library that was written ¦ @rerun 0 ¦ +shop/cart.py ¦
    +.venv/lib/python3.12/site-packages/_pytest/runner.py ¦ pytest -q → pytest 12 ¦
    ○ 2 files changed; pytest: an installed library was written in this session
an own package under a runner's name ¦ @rerun 0 ¦ +src/cart.js ¦ npm install --no-save ./fake-jest ¦
    npm test → jest 12 ¦
    ○ 1 file changed; npm test: an installed library was written in this session
waited for without its number ¦ +shop/cart.py ¦ pytest -q & wait → pytest 12 ¦
    ○ 1 file changed; pytest: it runs in the background
turned round ¦ +shop/cart.py ¦ ! pytest -q ¦ ○ 1 file changed; pytest: ! turns its exit code round
pytest as a function ¦ +shop/cart.py ¦ python -c "import pytest; pytest.main(['-q'])" → pytest 9 3 ¦
    nothing
in a container of before ¦ docker build -t shop . ¦ +shop/cart.py ¦
    docker run --rm shop pytest -q → pytest 12 ¦ ○ 1 file changed since docker build passed
CI of another commit ¦ +shop/cart.py ¦ git push ¦ +shop/cart.py=newer ¦
    gh run watch --exit-status 1 ¦ nothing
hooks without the tests ¦ pytest → pytest 12 ¦ +shop/cart.py ¦
    SKIP=pytest pre-commit run --all-files ¦ ○ 1 file changed since pytest passed
nothing is affected ¦ +libs/cart/a.ts ¦ git commit -qam x ¦ npx nx affected -t test --base=HEAD ¦
    nothing
another package of turbo ¦ +packages/core/a.ts ¦ npx turbo run test --filter=web ¦
    ○ 1 file changed; it ran --filter: a subset
a file that defines pytest ¦ +shop/cart.py ¦ +scripts/env.sh ¦
    source scripts/env.sh && pytest -q → pytest 12 ¦
    ○ 2 files changed; pytest: source changes what the shell does
another place for the name ¦ +shop/cart.py ¦ hash -p /bin/true pytest; pytest -q ¦
    ○ 1 file changed; pytest: hash changes what the shell does
an array that is forgiven ¦ +shop/cart.py ¦ cmd=(pytest -q); "${cmd[@]}" || : → pytest 9 3 ¦ nothing
a status that is always 0 ¦ +lib/Cart.py ¦ robot --nostatusrc tests/ ¦ nothing
another runner in Cargo's settings ¦ @rerun 0 ¦ +.cargo/config.toml ¦ +src/lib.rs ¦ cargo test ¦
    ○ 2 files changed; cargo test: .cargo/config.toml decides over it and was changed
Maven's options in a file ¦ @rerun 0 ¦ +.mvn/maven.config ¦ +src/Cart.java ¦ mvn test ¦
    ○ 2 files changed; mvn test: .mvn/maven.config decides over it and was changed
npm's options in a file ¦ @rerun 0 ¦ +.npmrc ¦ +src/cart.js ¦ npm test ¦
    ○ 2 files changed; npm test: .npmrc decides over it and was changed
Bazel's options in a file ¦ @rerun 0 ¦ +.bazelrc ¦ +core/cart.cc ¦ bazel test //... ¦
    ○ 2 files changed; bazel test: .bazelrc decides over it and was changed
a script of a package below ¦ @rerun 0 ¦ +packages/core/a.ts ¦ +packages/core/package.json ¦
    pnpm -r test ¦
    ○ 2 files changed; pnpm test: packages/core/package.json decides over it and was changed
a script that the target calls ¦ @rerun 0 ¦ +shop/cart.py ¦ +scripts/test.sh ¦ make test ¦
    ○ 2 files changed; make test: scripts/test.sh decides over it and was changed
a module before the installed one ¦ @rerun 0 ¦ +shop/cart.py ¦ +src/pytest.py ¦
    PYTHONPATH=src pytest → pytest 12 ¦
    ○ 2 files changed; pytest: src/pytest.py decides over it and was changed
a quarter of the tests ¦ +src/cart.ts ¦ npx vitest run --shard=1/4 ¦
    ○ 1 file changed; it ran --shard: a subset
the tests that a plugin chooses ¦ +shop/cart.py ¦ pytest -q --testmon → pytest 3 ¦
    ○ 1 file changed; it ran --testmon: a subset
the linter's code ¦ +src/cart.js ¦ npx concurrently --success first "npm run lint" "npm test" ¦
    nothing
a watch mode with its end kept ¦ +src/cart.ts ¦
    timeout -s INT --preserve-status 30 npx jest --watchAll → jest 12 ¦ nothing
another program by direnv ¦ +shop/cart.py ¦ +.envrc ¦ direnv exec . pytest -q → pytest 12 ¦
    ○ 2 files changed; pytest: .envrc decides over it and was changed
without the slow ones ¦ +core/cart.cc ¦ bazel test //... --test_tag_filters=-slow ¦
    ○ 1 file changed; it ran --test_tag_filters: a subset
one suite of two ¦ +src/Cart.php ¦ vendor/bin/phpunit --testsuite unit ¦
    ○ 1 file changed; it ran --testsuite: a subset
another program for make ¦ +shop/cart.py ¦ make test PYTEST=true ¦
    ○ 1 file changed; it ran PYTEST=true: a subset
other folders by an option ¦ +shop/cart.py ¦ pytest -q -o testpaths=tests/unit → pytest 3 ¦
    ○ 1 file changed; it ran with -o
tests that are skipped by a variable ¦ +shop/cart.py ¦ SKIP_TESTS=1 make test ¦
    ○ 1 file changed; make test: it sets SKIP_TESTS
one file by a variable ¦ +lib/cart.rb ¦ TEST=test/cart_test.rb bundle exec rake test ¦
    ○ 1 file changed; rake test: it sets TEST
one suite by a variable ¦ +shop/cart.py ¦ TEST_SUITE=unit make test ¦
    ○ 1 file changed; make test: it sets TEST_SUITE
one of several machines ¦ +src/cart.js ¦ CI_NODE_INDEX=0 CI_NODE_TOTAL=4 npm test → jest 3 ¦
    ○ 1 file changed; npm test: it sets CI_NODE_INDEX
programs of before the edit ¦ cmake --build build ¦ +src/cart.cpp ¦
    ctest --test-dir build --output-on-failure → 100% tests passed, 0 tests failed out of 9 ¦
    ○ 1 file changed; ctest: nothing was built for it after the last change
CMake's target of tests ¦ cmake --build build ¦ +src/cart.cpp ¦ make -C build test ¦
    ○ 1 file changed; make test: nothing was built for it after the last change
assemblies of before the edit ¦ dotnet build ¦ +src/Cart.cs ¦ dotnet test --no-build ¦
    ○ 1 file changed; dotnet test: nothing was built for it after the last change
another configuration was built ¦ +src/Cart.cs ¦ dotnet build -c Release && dotnet test --no-build ¦
    ○ 1 file changed; dotnet test: nothing was built for it after the last change
tests without compiling ¦ +src/Cart.java ¦ mvn surefire:test → [INFO] BUILD SUCCESS ¦ nothing
tests were only compiled ¦ ./gradlew test ¦ +src/Cart.java ¦ ./gradlew testClasses ¦
    ○ 1 file changed since gradlew test passed
the types of the tests ¦ npm test → jest 12 ¦ +src/cart.ts ¦ npm run test:types ¦
    ○ 1 file changed since npm test passed
what the tests need ¦ make test ¦ +shop/cart.py ¦ make test-deps ¦
    ○ 1 file changed since make test passed
the unit tests for all ¦ +src/cart.js ¦ npm test → exit 1, jest 79 1 ¦ +src/cart.js=mended ¦
    npm run test:unit → jest 60 ¦ ○ 1 file changed since npm test failed
the fast tests for all ¦ pytest → pytest 80 ¦ +shop/cart.py ¦ make test-fast → pytest 12 ¦
    ○ 1 file changed since pytest passed
fewer tests by another runner ¦ make test → pytest 80 ¦ +shop/cart.py ¦
    python -m unittest → unittest 2 ¦ ○ 1 file changed since make test passed
a target that leaves it open ¦ pytest → pytest 12 ¦ +shop/cart.py ¦ make check ¦
    ○ 1 file changed since pytest passed
a part, and a linter ¦ +shop/cart.py ¦ pytest tests/test_cart.py && ruff check . → pytest 3 ¦
    ○ 1 file changed; it ran tests/test_cart.py: a subset
without the browser ¦ +web/page.ts ¦ npx playwright test → exit 1 ¦ +web/page.ts=mended ¦
    npx jest → jest 12 ¦ ○ 1 file changed since playwright test failed
a test that was away meanwhile ¦ +shop/cart.py ¦
    mv tests/test_pay.py /tmp && pytest -q && mv /tmp/test_pay.py tests/ → pytest 11 ¦
    ○ 1 file changed; pytest: mv may undo what was changed before it
the source of before meanwhile ¦ +shop/cart.py ¦
    cp a.py /tmp && git show HEAD:a.py > a.py && pytest -q && cp /tmp/a.py . → pytest 12 ¦
    ○ 1 file changed; pytest: cp may undo what was changed before it
"""
FALSE_ENDINGS: tuple[TurnStory, ...] = (
    *stories(ROWS, rerun=1),
    TurnStory(
        "edited while the tests ran",
        (CART, Shell("pytest", 0, pytest_output(12), meanwhile=(Edit("shop/till.py"),))),
        "unchecked: 1 file changed since pytest passed",
        1,
    ),
    TurnStory(
        "a tool of an MCP server that is called bash",
        (CART, Stated("mcp__helper__bash", "pytest", pytest_output(12))),
        "unchecked: 1 file changed; pytest: never run",
        1,
        ("pytest",),
    ),
    TurnStory(
        "a watch mode",
        (CART, Shell("npx vitest --watch", 130, " Tests  12 passed (12)\n")),
        None,
        1,
    ),
    TurnStory(
        "another package",
        (Edit("web/page.ts"), Shell("npm test", 0, jest_output(12), cwd="api")),
        "unchecked: 1 file changed; npm test: not run in web",
        1,
        (),
        ("api", "web"),
    ),
    TurnStory(
        "a program in the folder's environment",
        (
            CART,
            Shell("printf '#!/bin/sh\\n' > .venv/bin/pytest"),
            Shell(".venv/bin/pytest", 0, pytest_output(12)),
        ),
        "unchecked: 1 file changed; pytest: the program pytest was written in this session",
        0,
    ),
    TurnStory(
        "stashed while the tests ran",
        (
            CART,
            Shell("git stash", writes={"shop/cart.py": None}),
            PASSED,
            Shell("git stash pop", writes={"shop/cart.py": "new"}),
        ),
        "unchecked: 1 file changed since pytest passed",
        1,
    ),
    TurnStory(
        "two commands of PowerShell",
        (CART, Shell("pytest; exit 0", 0, pytest_output(9, 3), shell="powershell")),
        "unchecked: 1 file changed; pytest: never run",
        1,
        ("pytest",),
    ),
    TurnStory(
        "the end was not told",
        (CART, Behind("pytest"), Ended(None, pytest_output(12))),
        "unchecked: 1 file changed; pytest: still runs (shell 1)",
        1,
    ),
    TurnStory(
        "an editor changed a file while the tests ran",
        (
            CART,
            Shell("pytest", 0, pytest_output(12), meanwhile=(Outside({"shop/till.py": "typed"}),)),
        ),
        "unchecked: 1 file changed since pytest passed",
        1,
    ),
    TurnStory(
        "what an earlier command left running wrote while the tests ran",
        (
            CART,
            Shell("(sleep 3; sed -i s/a/b/ shop/till.py) &"),
            Shell("pytest", 0, pytest_output(12), meanwhile=(Outside({"shop/till.py": "late"}),)),
        ),
        "unchecked: 1 file changed since pytest passed",
        1,
    ),
    TurnStory(
        "two packages joined by a semicolon",
        (
            Edit("api/price.js"),
            Shell("cd api && npm test; cd ../web && npm test", 0, jest_output(12), cwd="web"),
        ),
        "unchecked: 1 file changed; npm test: not run in api",
        1,
        (),
        ("api", "web"),
    ),
    TurnStory(
        "a program behind npm test",
        (
            Edit("src/cart.js"),
            Shell("printf '#!/bin/sh\\nexit 0\\n' > node_modules/.bin/jest"),
            Shell("npm test"),
        ),
        "unchecked: 1 file changed; npm test: an installed program was written in this session",
        0,
    ),
    TurnStory(
        "started by a script that forgets",
        (
            CART,
            Shell(
                'python - <<\'EOF\'\nimport subprocess\nsubprocess.run(["pytest", "-q"])\nEOF',
                0,
                pytest_output(9, 3),
            ),
        ),
        None,
        1,
    ),
    TurnStory(
        "turbo ran nothing",
        (
            Edit("packages/core/a.ts"),
            Shell(
                "npx turbo run test", 0, " WARNING  No tasks were executed as part of this run.\n"
            ),
        ),
        "failed: turbo run test, no tests ran",
        0,
    ),
    TurnStory(
        "another work tree",
        (
            CART,
            Shell(
                "git worktree add /tmp/w HEAD && cd /tmp/w && pytest -q",
                0,
                pytest_output(12),
                cwd="/tmp/w",
            ),
        ),
        "unchecked: 1 file changed; pytest: not run in shop",
        1,
    ),
    TurnStory(
        "settings for one run",
        (
            CART,
            Shell(
                "cat > conftest.py <<'EOF'\ncollect_ignore = [1]\nEOF\npytest -q && rm conftest.py",
                0,
                pytest_output(11),
            ),
        ),
        "unchecked: 1 file changed; pytest: rm may undo what was changed before it",
        1,
    ),
    TurnStory(
        "settings that were taken back",
        (
            CART,
            Shell(
                "pytest",
                0,
                pytest_output(11),
                meanwhile=(
                    Edit("tests/conftest.py"),
                    Outside({"tests/conftest.py": None}),
                ),
            ),
        ),
        "unchecked: 1 file changed since pytest passed",
        1,
    ),
)
