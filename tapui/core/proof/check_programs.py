"""The programs that are checks: one row a program, with what its options make of a run.

An option ends in `:` where its value follows, `?` where a value can only be glued to it, `*` where
it is the beginning of many; `-c=a` is `-c` with exactly that value. What a row does not name leaves
the exit code what it is, but the run is no longer the program's whole check.
"""

from typing import Literal, NamedTuple

Kind = Literal["tests", "lint", "types", "build"]


class CheckProgram(NamedTuple):
    """A row. `prints` may differ between a criterion and a run; `whole` leave the check whole."""

    names: str
    kind: Kind
    prints: str = ""
    whole: str = ""
    subset: str = ""
    idle: str = ""
    """Nothing is checked then; `*`: never."""
    masks: str = ""
    """Failures are not in the exit code then."""
    watch: str = ""
    """It does not end by itself then; `*`: never."""
    fixes: str = ""
    """The files of the folder are written then."""
    needs: str = ""
    """Without one of these it is no check."""
    targets: str = ""
    """Operands with which the check is whole; `*` where it always takes some."""
    surface: str = ""
    """Files that say what is checked: globs, in its folder or a folder above."""
    further: str = ""
    """More of them, that are too many to be read: only that they were changed is seen."""
    has_clusters: bool = False
    """Whether `-qx` is `-q -x`."""
    is_script: bool = False
    """Its first operand is the name of a script, which says what kind it is."""
    built: str = ""
    """It runs what was built before then; `*`: always."""
    scripts: str = ""
    """Options of which the value names what is run, like an operand of a script."""


_PACKAGE = "package.json .npmrc .yarnrc.yml pnpm-workspace.yaml"
_PYTHON = "pyproject.toml setup.cfg tox.ini"
_OF_PYTEST = f"{_PYTHON} pytest.ini .pytest.ini pytest.toml .pytest.toml **/conftest.py"
_OF_JAVASCRIPT = (
    "jest.config.* babel.config.* vitest.config.* vite.config.* vitest.workspace.* .mocharc*"
    " playwright.config.* karma.conf.* **/jest.setup.* **/vitest.setup.* **/setupTests.*"
)
_NAMES_OF_TESTS = "test test[s._-]* *[_-]test* check check[s._-]* *[_-]check* ci ci[._-]*"
_FOLDERS_OF_SCRIPTS = "scripts script bin tools hack dev ci .ci"
_CALLED = " ".join(
    f"{folder}/{name}" for folder in _FOLDERS_OF_SCRIPTS.split() for name in _NAMES_OF_TESTS.split()
)
"""What scripts and targets call to run tests, by its name."""
_CALLED = f"test*.sh *[_-]test*.sh check*.sh {_CALLED}"
_PACKAGES = "**/package.json **/jest.config.* **/vitest.config.* **/project.json **/turbo.json"
_OF_RUNNERS = (
    "--verbose --silent -s --color --colors --no-color --no-colors --watch=false --watchAll=false"
    " --no-watch --loglevel: --no-progress --progress=false"
    " --reporter=verbose --reporter=dot --reporter=default --reporter=basic --reporter=list"
    " --reporter=line --reporter=spec --reporter=tap --reporters=default"
)
_SUBSETS = (
    "-t: --testNamePattern: --testPathPattern: --testPathPatterns: --grep: -g: -k: --filter: -F:"
    " --onlyChanged -o --changed --changedSince: --findRelatedTests --lf --last-failed --shard:"
    " --project: --workspace: --spec: --tests: --related --only: --testPathIgnorePatterns:"
)
_IDLE = (
    "--help --version --listTests --list --list-tests --showConfig --clearCache --dry-run --init"
)
_GO = "-race -cover -coverprofile: -covermode: -coverpkg: -count: -timeout: -p: -parallel: -mod:"
_CARGO_PRINTS = "-q --quiet -v -vv --verbose --color: --nocapture --show-output --no-capture"
_CARGO = (
    "--workspace --all --all-targets --all-features --locked --offline --frozen --release -r -j:"
    " --jobs: --no-fail-fast --test-threads: --keep-going"
)
_CARGO_SUBSET = (
    "-p: --package: --lib --doc --bin: --bins --test: --tests --example: --examples --bench:"
    " --benches --exclude: --skip: --exact --ignored --no-default-features"
)
_CARGO_FILES = "Cargo.toml build.rs .cargo/config.toml rust-toolchain*"
_SCRIPT_IDLE = f"{_IDLE} --collect-only --co"

ROWS = (
    # Tests
    CheckProgram(
        "pytest|py.test",
        "tests",
        "-q --quiet -v --verbose -s --tb: --color: --durations: --durations-min: -r: --no-header"
        " --no-summary -l --showlocals --show-capture: --capture: --full-trace --code-highlight:"
        " --verbosity: --junitxml: --junit-xml: --disable-warnings --log-cli-level: --log-level:"
        " -x --exitfirst --maxfail: --disable-pytest-warnings --cov-report:",
        "--cov? --cov-branch --cov-append --cov-fail-under: -n: --numprocesses:"
        " --dist: --strict --strict-markers --strict-config --ff --failed-first --nf"
        " --cache-clear"
        " --doctest-modules --pdb --timeout: -W=error -W=default -W=always --no-cov"
        " --asyncio-mode: --import-mode:"
        " --randomly-seed: --rootdir=. --basetemp: --benchmark-disable --cov-config: -p=xdist"
        " -p=no:cacheprovider -p=no:randomly -p=no:warnings -p=no:logging -p=no:sugar",
        "-k: -m: --lf --last-failed --sw --stepwise --stepwise-skip --deselect: --ignore:"
        " --ignore-glob: --pyargs --testmon --picked",
        "--collect-only --co -h --help --version -V --fixtures --funcargs --fixtures-per-test"
        " --markers --setup-plan --setup-only --cache-show",
        "--suppress-no-test-exit-code --suppress-tests-failed-exit-code",
        targets="tests tests/ test test/ . ./tests ./tests/ ./test ./test/ ./",
        surface=_OF_PYTEST,
        has_clusters=True,
    ),
    CheckProgram(
        "unittest",
        "tests",
        "-v --verbose -q --quiet -f --failfast -b --buffer --locals --durations:",
        "-c --catch",
        "-k: -s: --start-directory: -p: --pattern: -t: --top-level-directory:",
        "-h --help",
        has_clusters=True,
    ),
    CheckProgram(
        "unittest discover",
        "tests",
        "-v --verbose -q --quiet -f --failfast -b --buffer --locals --durations:",
        "-c --catch -p=test*.py -p=test_*.py -p=*_test.py --pattern=test*.py --pattern=test_*.py",
        "-k: -s: --start-directory: -p: --pattern: -t: --top-level-directory:",
        "-h --help",
        targets="tests tests/ test test/ .",
        has_clusters=True,
    ),
    CheckProgram(
        "manage.py test|django test|django-admin test",
        "tests",
        "-v: --verbosity: --no-color --force-color --failfast --timing",
        "--noinput --no-input --keepdb --parallel? --buffer --shuffle? --settings: --pythonpath:",
        "-k: --tag: --exclude-tag: -p: --pattern:",
        "-h --help --version",
        surface="manage.py",
    ),
    CheckProgram(
        "nose2", "tests", "-v --verbose -q -F --fail-fast", idle="-h --help", surface=_PYTHON
    ),
    CheckProgram(
        "tox|tox run",
        "tests",
        "-q -v -vv --colored: --result-json:",
        "-r --recreate -p: --parallel: --skip-missing-interpreters?",
        "-f: -m: --skip-env:",
        "-h --help --version -l --listenvs --notest -n --showconfig --devenv:",
        surface=f"{_OF_PYTEST} tox.toml",
        scripts="-e:",
    ),
    CheckProgram(
        "nox",
        "tests",
        "-v --verbose --no-color --forcecolor",
        "-r --reuse-existing-virtualenvs -R -x --stop-on-first-error",
        "-k: -t: --tags: -p:",
        "-h --help --version -l --list --list-sessions --install-only",
        surface=f"noxfile.py {_OF_PYTEST}",
        scripts="-s: --session: --sessions: -e:",
    ),
    CheckProgram(
        "jest",
        "tests",
        f"{_OF_RUNNERS} --logHeapUsage --expand -e --bail? -b",
        "--ci --coverage? --runInBand -i --maxWorkers: --detectOpenHandles --forceExit --json"
        " --no-cache --no-watchman --testTimeout: -w: --no-coverage --coverageReporters:"
        " --coverageDirectory: --randomize --seed: --errorOnDeprecated --collectCoverage?"
        " --config=jest.config.js --config=jest.config.ts --config=jest.config.cjs"
        " --config=jest.config.mjs -c=jest.config.js -c=jest.config.ts -c=jest.config.cjs",
        f"{_SUBSETS} --lastCommit --onlyFailures -f --selectProjects: --ignoreProjects:"
        " --runTestsByPath --projects:",
        f"{_IDLE} -h -v",
        "",
        "--watch --watchAll",
        "-u --updateSnapshot",
        surface=f"{_OF_JAVASCRIPT} {_PACKAGE}",
    ),
    CheckProgram(
        "vitest run|vitest",
        "tests",
        f"{_OF_RUNNERS} --bail? --logHeapUsage",
        "--run --coverage? --no-coverage --coverage.* --pool: --poolOptions.* --maxWorkers:"
        " --minWorkers: --typecheck? --no-file-parallelism --globals --testTimeout: --hookTimeout:"
        " --reporter=json --reporter=junit --outputFile* --no-isolate --sequence.shuffle"
        " --config=vitest.config.ts --config=vitest.config.js --config=vitest.config.mts"
        " -c=vitest.config.ts -c=vitest.config.js",
        f"{_SUBSETS} --dir: --exclude:",
        f"{_IDLE} -h -v",
        "--dangerouslyIgnoreUnhandledErrors",
        "--watch -w --ui",
        "-u --update",
        surface=f"{_OF_JAVASCRIPT} {_PACKAGE}",
    ),
    CheckProgram("vitest watch|vitest dev", "tests", watch="*"),
    CheckProgram("vitest list|vitest init", "tests", idle="*"),
    CheckProgram(
        "mocha",
        "tests",
        f"{_OF_RUNNERS} -c --bail -b",
        "--exit --timeout: --recursive --parallel --reporter: -R: -r=ts-node/register -r=tsx"
        " --require=ts-node/register --require=tsx --require=tsx/cjs --import=tsx",
        f"{_SUBSETS} -f: --fgrep: -i --invert",
        f"{_IDLE} -h -V --list-files",
        "--pass-on-failing-test-suite",
        "--watch",
        targets="test test/",
        surface=f".mocharc* {_PACKAGE}",
    ),
    CheckProgram(
        "playwright test|cypress run|ava|tap|karma start|ng test|jasmine|wtr|web-test-runner",
        "tests",
        f"{_OF_RUNNERS} --quiet",
        "--workers: --retries: --headless --browsers: --single-run --headed --code-coverage",
        f"{_SUBSETS} --browser: --pass-with-no-tests",
        f"{_IDLE} -h",
        "",
        "--watch --ui --debug",
        "--update-snapshots -u",
        targets="karma.conf.js karma.conf.cjs",
        surface="playwright.config.* cypress.config.* karma.conf.* angular.json ava.config.* .taprc"
        f" {_PACKAGE}",
        further="cypress/support/**",
    ),
    CheckProgram(
        "node --test|tsx --test",
        "tests",
        "",
        "--experimental-test-coverage --test-concurrency: --test-timeout: --test-reporter:"
        " --test-reporter-destination: --import=tsx --import=tsx/esm --no-warnings"
        " --experimental-strip-types --experimental-vm-modules --test-force-exit --require=tsx/cjs",
        "--test-name-pattern: --test-skip-pattern: --test-only --test-shard:",
        "--help --version -h -v --check -c",
        "",
        "--watch",
        targets="test test/",
        surface="package.json",
    ),
    CheckProgram(
        "bun test",
        "tests",
        "--verbose --bail?",
        "--coverage --timeout: --rerun-each:",
        "-t: --test-name-pattern: --todo --only",
        "--help -h",
        "",
        "--watch",
        surface="bunfig.toml package.json",
    ),
    CheckProgram(
        "deno test",
        "tests",
        "-q --quiet --fail-fast? --reporter:",
        "-A --allow-all --allow-read? --allow-env? --allow-net? --allow-run? --parallel"
        " --coverage?",
        "--filter: --ignore:",
        "--help -h --no-run",
        "",
        "--watch",
        surface="deno.json deno.jsonc",
    ),
    CheckProgram(
        "go test",
        "tests",
        "-v -json -failfast",
        f"{_GO} -shuffle: -vet: -cpu: -benchmem",
        "-run: -skip: -short -bench: -tags: -fuzz:",
        "-c -n -list: -h -help --help",
        "-exec: -toolexec:",
        targets="./...",
        surface="go.mod go.work",
    ),
    CheckProgram(
        "gotestsum",
        "tests",
        "--format: --no-color? -f: --hide-summary: -v",
        f"{_GO} --junitfile: --jsonfile:",
        "-run: -skip: -short -tags:",
        idle="--help -h",
        watch="--watch",
        targets="./...",
        surface="go.mod go.work",
    ),
    CheckProgram(
        "cargo test|cargo t|cargo nextest run|cargo llvm-cov|cargo tarpaulin|cross test",
        "tests",
        f"{_CARGO_PRINTS} --status-level: --final-status-level: --failure-output: --success-output:"
        " --hide-progress-bar",
        f"{_CARGO} --features: -F: --target: --profile: --timings? --target-dir: -P: --fail-fast"
        " --max-fail: --lcov --html --json --codecov --text --summary-only --output-path: --out:"
        " -o: --output-dir: --ignore-filename-regex: --fail-under-lines: --no-clean --skip-clean",
        f"{_CARGO_SUBSET} -E: --filterset: --filter-expr: --partition: --run-ignored:",
        "--no-run --help -h --list --version -V",
        surface=f"{_CARGO_FILES} .config/nextest.toml",
        further="**/Cargo.toml **/build.rs",
    ),
    CheckProgram(
        "gradle|gradlew",
        "tests",
        "-q --quiet -i --info -d --debug -s --stacktrace -S --full-stacktrace -w --warn"
        " --console:"
        " --warning-mode: --scan --no-scan",
        "--no-daemon --daemon --offline --parallel --no-parallel --rerun-tasks --build-cache"
        " --no-build-cache --max-workers: --rerun --continue --no-configuration-cache"
        " --configuration-cache",
        "--tests: -x: --exclude-task: -PskipTests* -DskipTests*",
        "-m --dry-run -h --help -? --version -v --test-dry-run",
        "",
        "-t --continuous",
        "--write-locks",
        surface="build.gradle* settings.gradle* gradle.properties gradlew gradlew.bat gradle/**",
        further="**/build.gradle* **/gradle.properties buildSrc/** build-logic/**",
        is_script=True,
    ),
    CheckProgram(
        "mvn|mvnw",
        "tests",
        "-q --quiet -B --batch-mode -ntp --no-transfer-progress -e --errors -X --debug"
        " -V --show-version -Dstyle.color* -Dorg.slf4j.* -DtrimStackTrace*",
        "-o --offline -U --update-snapshots -T* --threads: -DfailIfNoTests* -fae"
        " --fail-at-end -ff --fail-fast"
        " -am --also-make -Dmaven.javadoc.skip* -Dcheckstyle.skip* -Djacoco.skip* -Dgpg.skip*"
        " -Dspring.profiles.active* -Dfile.encoding* -Duser.timezone*",
        "-pl: --projects: -Dtest=* -Dit.test=* -Dgroups=* -DskipTests* -DskipITs*"
        " -Dmaven.test.skip* -rf: --resume-from:",
        "-h --help -v --version",
        "-Dmaven.test.failure.ignore* -DtestFailureIgnore* -fn --fail-never",
        surface="pom.xml mvnw mvnw.cmd .mvn/**",
        further="**/pom.xml",
        is_script=True,
    ),
    CheckProgram(
        "dotnet test",
        "tests",
        "-v: --verbosity: -v* --verbosity* --nologo --logger: --logger:* -l: --tl*",
        "--no-restore -c: --configuration: --collect: --collect:* --blame -p:CollectCoverage*"
        " -p:Coverlet* -p:Configuration* --results-directory: -m* --maxcpucount*",
        "--filter: -f: --framework:",
        "-t --list-tests -h --help -?",
        built="--no-build",
        surface="*.sln *.slnx *.csproj *.fsproj Directory.Build.* *.runsettings global.json",
        further="**/*.csproj **/*.fsproj **/*.vbproj **/Directory.Build.* **/*.runsettings"
        " **/xunit.runner.json",
    ),
    CheckProgram(
        "rspec|bin/rspec|parallel_rspec",
        "tests",
        "-f: --format: -c --color --no-color --force-color --fail-fast? -b --backtrace --profile?",
        "--order: --seed:",
        "-e: --example: -t: --tag: --only-failures -n --next-failure -P: --pattern:",
        "--dry-run -h --help -v --version --init",
        "--failure-exit-code: --error-exit-code:",
        targets="spec spec/",
        surface=".rspec spec/spec_helper.rb spec/rails_helper.rb Gemfile",
    ),
    CheckProgram(
        "rails test|bin/rails test|rails test:all|bin/rails test:all",
        "tests",
        "-v --verbose -b --backtrace -f --fail-fast -c --color --no-color",
        "",
        "-n: --name: -e: --exclude:",
        "-h --help",
        surface="test/test_helper.rb bin/rails Rakefile Gemfile config/environments/test.rb",
    ),
    CheckProgram(
        "phpunit|pest|php artisan test|paratest|simple-phpunit",
        "tests",
        "--colors? --color -v --verbose --testdox --no-progress --debug",
        "--stop-on-failure --stop-on-error --coverage-text? --no-coverage --parallel --log-junit:"
        " --coverage-clover: --coverage-html: --do-not-cache-result --order-by: -c=phpunit.xml"
        " --configuration=phpunit.xml --configuration=phpunit.xml.dist -c=phpunit.xml.dist -p:",
        "--filter: --group: --exclude-group: --testsuite: --dirty",
        "--list-tests --list-suites --list-groups --version -h --help --check-version",
        targets="tests tests/",
        surface="phpunit.xml phpunit.xml.dist phpunit.dist.xml tests/bootstrap.php composer.json"
        " tests/Pest.php",
    ),
    CheckProgram(
        "ctest",
        "tests",
        "--output-on-failure -V --verbose -VV -Q --quiet --progress --stop-on-failure",
        "-j* --parallel: -C: --timeout: --repeat-until-fail: --schedule-random --preset:",
        "-R: -E: -L: -LE: -I: --rerun-failed --tests-regex: --exclude-regex:",
        "-N --show-only? --help -h --version --print-labels",
        built="*",
        surface="CMakeLists.txt CTestConfig.cmake CTestCustom.cmake CMakePresets.json"
        " tests/CMakeLists.txt test/CMakeLists.txt",
    ),
    CheckProgram(
        "prove",
        "tests",
        "-v --verbose -q --quiet -Q --QUIET --color --nocolor --timer -f --failures",
        "-r --recurse -l --lib -b --blib -j: --jobs:",
        "",
        "--dry -D -h --help -H -V --version",
        "-e: --exec: --ignore-exit",
        targets="t t/",
        surface=".proverc",
        has_clusters=True,
    ),
    CheckProgram(
        "mix test|swift test|flutter test|dart test|sbt test|stack test|cabal test|lein test"
        "|zig build test|meson test|crystal spec|elm-test|busted|bats|dune test|dune runtest"
        "|gleam test|nimble test|forge test|hardhat test|rebar3 eunit|rebar3 ct|cabal v2-test"
        "|sbt clean test|shellspec|pants test",
        "tests",
        "-v --verbose -q --quiet --color --no-color --trace -vv -vvv --summary: -r: --reporter:"
        " --test-show-details: --print-errorlogs",
        "--parallel --release --cover --coverage --warnings-as-errors --fast --no-pub",
        "--skip: --plain-name: -n: -t: --only: --filter: --stale --failed --name: --tags:"
        " --exclude: --suite:",
        "-h --help --version --list --list-tests --show-test-names",
        "",
        "--watch --file-watch --listen-on-stdin",
        built="--skip-build --no-rebuild --no-compile",
        targets="tests test ::",
        surface="mix.exs Package.swift pubspec.yaml build.sbt stack.yaml project.clj build.zig"
        " meson.build tests/meson.build test/meson.build test/test_helper.exs config/test.exs"
        " config/config.exs dart_test.yaml project/plugins.sbt project/build.properties",
    ),
    # Scripts and targets: their names say what they are
    CheckProgram(
        "npm test|npm run|yarn|pnpm|bun run|composer|composer run|deno task",
        "tests",
        f"{_OF_RUNNERS} --quiet",
        "--ci --run --coverage? --runInBand -i --maxWorkers: --forceExit --detectOpenHandles"
        " --bail?"
        " --browsers: --headless --workspaces -ws --workspace-root --include-workspace-root"
        " -r --recursive --production",
        f"{_SUBSETS} -w:",
        _SCRIPT_IDLE,
        "--if-present --script-shell: --no-bail",
        "--watch --watchAll --ui",
        "--fix --write -u --update --updateSnapshot",
        surface=f"{_PACKAGE} .yarnrc .pnpmfile.cjs {_OF_JAVASCRIPT} composer.json deno.json"
        " deno.jsonc bunfig.toml phpunit.xml phpunit.xml.dist gulpfile.* Gruntfile.*",
        further=f"{_PACKAGES} {_CALLED} .yarn/releases/** .yarn/plugins/**",
        is_script=True,
    ),
    CheckProgram(
        "make|gmake",
        "tests",
        "-s --silent --quiet --no-print-directory -w --print-directory -O --output-sync? --trace",
        "-j? --jobs? -k --keep-going -B --always-make -l? --no-builtin-rules -r",
        "",
        "-n --just-print --dry-run --recon -q --question -t --touch -h --help -v --version -p"
        " --print-data-base",
        "-i --ignore-errors",
        surface=f"Makefile makefile GNUmakefile *.mk Makefile.am configure.ac {_OF_PYTEST}",
        further=f"**/Makefile **/Makefile.am **/*.mk {_CALLED}",
        has_clusters=True,
        is_script=True,
    ),
    CheckProgram(
        "just|task|rake|invoke|inv|mage|ninja|hatch test|nx|poe|gulp|grunt|ant|scons|doit"
        "|run-s|run-p|npm-run-all|mise run|moon run|hatch run|pdm run|pixi run|rye run"
        "|pipenv run|earthly",
        "tests",
        "-q --quiet -v --verbose -s --silent",
        "-j: --jobs: --parallel --all --force --cover --sequential --serial",
        f"{_SUBSETS} -p:",
        f"{_IDLE} -n -l -T -P --tasks --summary --show: --evaluate -h --dry --graph? --dryrun -t:",
        "-i --ignore --race --continue-on-error",
        "--watch -w",
        surface="justfile Justfile .justfile Taskfile.y*ml Rakefile tasks.py magefile.go turbo.json"
        " nx.json lerna.json package.json pyproject.toml hatch.toml build.ninja .rspec"
        " test/test_helper.rb spec/spec_helper.rb Pipfile pixi.toml build.xml"
        " mise.toml .mise.toml Earthfile gulpfile.* Gruntfile.* SConstruct dodo.py",
        further=f"{_PACKAGES} lib/tasks/** **/*.just **/Taskfile.yml **/Taskfile.yaml **/moon.yml"
        f" .moon/** {_CALLED}",
        is_script=True,
    ),
    CheckProgram(
        "turbo run|turbo|lerna run",
        "tests",
        "--output-logs: --log-order: --log-prefix: --ui: --stream --no-prefix -v --verbose"
        " --summarize? --no-daemon",
        "--no-cache --force? --concurrency: --parallel --continue? --env-mode: --cache: --sort"
        " --no-sort",
        f"{_SUBSETS} --scope: --ignore: --since? --affected",
        _IDLE,
        "--no-bail --only",
        "--watch",
        surface=f"turbo.json lerna.json {_PACKAGE}",
        further=f"{_PACKAGES} {_CALLED}",
        is_script=True,
    ),
    CheckProgram(
        "nx run-many",
        "tests",
        "--verbose --output-style: --outputStyle:",
        "--all --parallel? --maxParallel: --skip-nx-cache --skipNxCache --nx-bail --nxBail --ci"
        " --coverage --no-cloud --configuration: -c: --watch=false",
        "-p: --projects: --exclude:",
        f"{_IDLE} --graph",
        "",
        "--watch",
        surface=f"nx.json {_PACKAGE}",
        further=f"{_PACKAGES} {_CALLED}",
        scripts="-t: --target: --targets:",
    ),
    CheckProgram(
        "react-scripts test",
        "tests",
        _OF_RUNNERS,
        "--ci --coverage? --runInBand -i --maxWorkers: --forceExit --detectOpenHandles",
        _SUBSETS,
        _IDLE,
        "",
        "--watch --watchAll",
        "-u --updateSnapshot",
        needs="--watchAll --watch",
        surface=f"{_OF_JAVASCRIPT} {_PACKAGE}",
    ),
    CheckProgram(
        "ginkgo|ginkgo run",
        "tests",
        "-v -vv --no-color --succinct --json-report: --junit-report: --trace --show-node-events",
        "-r -p --procs: --race --cover --randomize-all --keep-going --fail-fast? --timeout:",
        "--focus: --skip: --label-filter: --focus-file: --skip-file: --skip-package: --tags:",
        "--dry-run --dryRun -h --help",
        "",
        "--until-it-fails",
        needs="-r",
        targets="./... .",
        surface="go.mod go.work",
    ),
    CheckProgram(
        "cucumber|behave|robot|codecept run",
        "tests",
        "--no-color --color -q --quiet -v --verbose --format: -f: --outputdir: --output: --xml",
        "--strict --fail-fast --stop --junit --parallel: --no-capture",
        "-t: --tags: -n: --name: -i: --include: -e: --exclude: -s: --suite: --test: --tag:",
        "--dry-run --dryrun -d -h --help --version",
        "--nostatusrc --no-strict --wip",
        targets="features features/ tests tests/ .",
        surface=f"cucumber.* behave.ini codeception.yml {_PYTHON}",
    ),
    CheckProgram(
        "bazel test|bazelisk test",
        "tests",
        "--test_output: --test_summary: --verbose_failures --color: --curses: --show_progress"
        " --noshow_progress --announce_rc --ui_event_filters:",
        "--keep_going -k --jobs: -j: --config: --nocache_test_results --cache_test_results: -c:"
        " --compilation_mode: --test_timeout: --runs_per_test: --flaky_test_attempts:"
        " --local_test_jobs: --build_tests_only --remote_cache: --disk_cache:",
        "--test_filter: --test_tag_filters: --build_tag_filters: --test_size_filters:"
        " --test_lang_filters: --test_timeout_filters: --deleted_packages:",
        "--nobuild --check_up_to_date --check_tests_up_to_date -h --help --version",
        "--run_under: --test_arg: --notest_keep_going",
        targets="//... ...",
        surface=".bazelrc MODULE.bazel WORKSPACE WORKSPACE.bazel .bazelversion tools/bazel",
        further="**/BUILD **/BUILD.bazel **/*.bzl",
    ),
    # Linters
    CheckProgram(
        "ruff check",
        "lint",
        "-q --quiet -v --verbose --output-format: --statistics --show-fixes --no-show-fixes",
        "--no-cache -n --no-fix --preview",
        "--select: --ignore: --extend-ignore: --exclude: --extend-exclude: --per-file-ignores:",
        "-h --help --show-files --show-settings",
        "-e --exit-zero",
        "-w --watch",
        "--fix --unsafe-fixes --add-noqa",
        targets="*",
        surface="ruff.toml .ruff.toml pyproject.toml",
    ),
    CheckProgram(
        "ruff format|black|isort|prettier|cargo fmt|rustfmt|dart format|terraform fmt"
        "|clang-format"
        "|swiftformat|biome format|mix format|deno fmt|dotnet format",
        "lint",
        "-q --quiet -v --verbose --color --no-color --diff --loglevel: --log-level:",
        "--no-cache --all --recursive -recursive --preview --ignore-unknown",
        "--exclude: --extend-exclude: --ignore-path: -p: --package:",
        "-h --help --version --list-files",
        "",
        "",
        "--write -w --fix",
        "--check --check-only -c --list-different -l -check --check-formatted --verify-no-changes"
        " --lint --dry-run --set-exit-if-changed",
        "*",
        f"ruff.toml .ruff.toml {_PYTHON} .prettierrc* prettier.config.* .prettierignore"
        " package.json"
        " rustfmt.toml .rustfmt.toml .clang-format biome.json",
    ),
    CheckProgram(
        "flake8|pylint|pyflakes|pycodestyle|bandit|yamllint|ansible-lint|shellcheck|hadolint"
        "|markdownlint|markdownlint-cli2|actionlint|staticcheck|codespell|vulture",
        "lint",
        "-q --quiet -v --verbose --color? --statistics --count --show-source --output-format: -f:"
        " --format:",
        "-r -j: --jobs: --rcfile: --strict -s",
        "--select: --ignore: --extend-ignore: --exclude: --disable: --enable: --errors-only -E",
        "-h --help --version --list-msgs",
        "--exit-zero --exit-code:",
        "",
        "--fix -w --write-changes",
        "",
        "*",
        f"{_PYTHON} .flake8 .pylintrc pylintrc .yamllint* .markdownlint* .shellcheckrc",
    ),
    CheckProgram(
        "eslint|oxlint|stylelint|biome check|biome lint|biome ci|ng lint|next lint|deno lint"
        "|standard"
        "|xo",
        "lint",
        "--color --no-color -f: --format: --formatter: --stats",
        "--cache --ext: --max-warnings: --report-unused-disable-directives --cache-location:"
        " --no-error-on-unmatched-pattern --error-on-warnings --quiet --deny-warnings",
        "--rule: --ignore-pattern: --no-ignore --changed --staged --since:",
        "--help -h --version -v --print-config: --env-info --init --inspect-config --fix-dry-run",
        "",
        "--watch",
        "--fix --write --apply --unsafe --apply-unsafe",
        "",
        "*",
        "eslint.config.* .eslintrc* .eslintignore .oxlintrc.json .stylelintrc* biome.json*"
        f" {_PACKAGE}",
    ),
    CheckProgram(
        "golangci-lint run|go vet",
        "lint",
        "-v --verbose --color: --out-format:",
        "--timeout: -race",
        "--new --new-from-rev: --disable: --enable: --fast -E: -D: -tags:",
        "-h --help -n",
        "--issues-exit-code: -vettool:",
        "",
        "--fix",
        "",
        "./... .",
        ".golangci.* go.mod",
    ),
    CheckProgram(
        "cargo clippy",
        "lint",
        _CARGO_PRINTS,
        f"{_CARGO} -D: --deny:",
        _CARGO_SUBSET,
        "--help -h --version",
        "--cap-lints:",
        "",
        "--fix --allow-dirty --allow-staged",
        surface=f"{_CARGO_FILES} clippy.toml .clippy.toml",
    ),
    CheckProgram(
        "rubocop|standardrb|phpstan analyse|phpstan analyze|phpstan|psalm|phpcs|ktlint|swiftlint"
        "|swiftlint lint|credo|mix credo|dart analyze|flutter analyze|detekt"
        "|terraform validate|tflint|helm lint|cppcheck|clang-tidy|luacheck|buf lint|sqlfluff"
        " lint",
        "lint",
        "-q --quiet -v --verbose --color --no-color --no-progress --format: -f: --error-format:",
        "--parallel -P --strict --fatal-infos --fatal-warnings --memory-limit:",
        "--only: --except: --files: --hook-stage:",
        "-h --help --version -V -L --list-target-files",
        "--exit-zero --no-exit-code",
        "",
        "-A --autocorrect --autocorrect-all --auto-correct --fix --alter",
        "",
        "*",
        ".rubocop.yml phpstan.neon* psalm.xml* phpcs.xml* .swiftlint.yml"
        " analysis_options.yaml .credo.exs detekt.yml .tflint.hcl",
    ),
    CheckProgram(
        "pre-commit run",
        "lint",
        "-v --verbose --color:",
        "--all-files -a --show-diff-on-failure",
        "--files: --hook-stage: --from-ref: --to-ref:",
        "-h --help",
        needs="--all-files -a",
        surface=".pre-commit-config.yaml",
    ),
    # Types
    CheckProgram(
        "mypy|dmypy run",
        "types",
        "--pretty --no-pretty --no-color-output --color-output --show-error-codes"
        " --show-column-numbers"
        " --no-error-summary --show-error-context --hide-error-context -v --verbose"
        " --hide-error-codes",
        "--strict --no-incremental --incremental --warn-unused-ignores --install-types"
        " --non-interactive --cache-dir: --explicit-package-bases --namespace-packages",
        "-m: --module: -p: --package: -c: --exclude:",
        "-h --help -V --version",
        targets="*",
        surface="mypy.ini .mypy.ini pyproject.toml setup.cfg",
    ),
    CheckProgram(
        "pyright|basedpyright|ty check|pyre check|pytype",
        "types",
        "--stats --verbose --outputjson -v -q",
        "--warnings --threads? --pythonversion:",
        "--createstub:",
        "-h --help --version",
        "",
        "-w --watch",
        "",
        "",
        "*",
        "pyrightconfig.json pyproject.toml",
    ),
    CheckProgram(
        "tsc|vue-tsc|svelte-check|astro check|flow check|flow",
        "types",
        "--pretty? --listFiles --diagnostics --extendedDiagnostics --explainFiles"
        " --noErrorTruncation"
        " --preserveWatchOutput",
        "--noEmit -b --build --strict --incremental --noEmit=true --tsconfig:",
        "",
        "-h --help -v --version --all --init --showConfig --listFilesOnly --clean --dry",
        "--noCheck",
        "-w --watch",
        "",
        surface="tsconfig*.json package.json flow-typed/** .flowconfig",
    ),
    # Builds
    CheckProgram(
        "cargo build|cargo b|cargo check|cargo c",
        "build",
        _CARGO_PRINTS,
        _CARGO,
        _CARGO_SUBSET,
        "--help -h --version --build-plan --unit-graph",
        surface=_CARGO_FILES,
    ),
    CheckProgram(
        "go build|go install",
        "build",
        "-v -x",
        f"{_GO} -o: -trimpath -ldflags: -a",
        "-tags:",
        "-n -h --help",
        "-toolexec:",
        targets="./... .",
        surface="go.mod go.work",
    ),
    CheckProgram(
        "dotnet build|dotnet publish",
        "build",
        "-v* --verbosity* --nologo --tl*",
        "--no-restore -c: --configuration: --no-incremental -warnaserror",
        "-f: --framework:",
        "-h --help -?",
        surface="*.sln *.csproj Directory.Build.* global.json",
    ),
    CheckProgram(
        "vite build|next build|webpack|webpack build|rollup|tsup|ng build|astro build|esbuild|swc"
        "|nuxt build|parcel build|remix build",
        "build",
        "--color --no-color --progress? --silent --verbose",
        "--mode: -c: --configuration: --config: --prod --production --minify? --dts",
        "",
        "--help -h --version -v --info",
        "",
        "--watch -w",
        surface="vite.config.* next.config.* webpack.config.* rollup.config.* angular.json"
        f" {_PACKAGE}",
    ),
    CheckProgram(
        "cmake --build|meson compile|bazel build|swift build|mix compile|zig build|stack build"
        "|cabal build|sbt compile|lein compile|flutter build|docker build|docker compose"
        " build|xcodebuild"
        "|python -m build|build|hatch build|poetry build|uv build|compileall|py_compile|tsc"
        " --build",
        "build",
        "-v --verbose -q --quiet",
        "-j: --parallel? --preset: --config: --release --warnings-as-errors --force",
        "--target: -t:",
        "-h --help --version -n --dry-run",
        targets="*",
        surface="CMakeLists.txt meson.build Package.swift mix.exs build.zig pyproject.toml"
        " Dockerfile",
    ),
)
