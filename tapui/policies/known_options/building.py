"""Harmless options of build tools, compilers, linters, package managers and runners of tests."""

TABLE = """
make,gmake,bmake -j? --jobs? -k --keep-going -S --no-keep-going -n --just-print --dry-run
                --recon -s --silent --quiet -B --always-make -q --question -i --ignore-errors -w
                --print-directory --no-print-directory -p --print-data-base -d --debug? -r
                --no-builtin-rules -R --no-builtin-variables -l? --load-average? -O?
                --output-sync? !-t !--touch -v --warn-undefined-variables --trace --shuffle? !-f:
                !--file: !--makefile: !-C: !--directory: !-I: !--include-dir: !-E: !--eval: !-e
                !--environment-overrides !-o: !--old-file: !--assume-old: !-W: !--what-if:
                !--new-file: !--assume-new: !-m !-b
ninja           -j: -k: -l: -n -v --verbose --quiet -d:stats|explain|keepdepfile|keeprsp !-C:
                !-f: !-t: !-w:
cmake           -N -L -LA -LAH --graphviz: !-P: !-E !-D? !-C: !-G: !-S: !-B: !-T: !-A:
                !--toolchain: !--preset: !--build: !--install: !--open: !-U: !--trace-redirect:
                !--debug-output
ctest           -V --verbose -VV --extra-verbose -Q --quiet --output-on-failure -j? --parallel?
                -R: --tests-regex: -E: --exclude-regex: -L: --label-regex: -LE: -N --show-only?
                -I: --timeout: --stop-on-failure --rerun-failed --progress -C: --repeat: -F !-S:
                !--script: !-SP: !-D: !-M: !-T: !--build-and-test !--overwrite: !-O:
                !--output-log: !--test-dir: !--test-command: !--build-makeprogram: !-A:
                !--add-notes: !--output-junit: !--preset:
meson compile,meson test -j: -v --verbose --print-errorlogs -q --quiet --no-rebuild --suite:
                --list !-C: !--wrapper: !--wrap: !--gdb !--gdb-path: !--setup: !--ninja-args:
                !--test-args: !--logbase:
@cc             -c -S -E -g -g0 -g1 -g2 -g3 -ggdb -O -O0 -O1 -O2 -O3 -Os -Og -Oz -Ofast -Wall
                -Wextra -Werror -Werror=* -Wpedantic -Wshadow -Wconversion -Wformat* -Wunused*
                -Wno-* -Wmissing-* -pedantic -pedantic-errors -w -std=* -ansi -D: -D? -U: -U?
                -I: -I? -L: -L? -l? -pthread -fPIC -fpic -fPIE -pie -shared -static -s -m32 -m64
                -march=* -mtune=* -fsyntax-only -v -### -M -MM -fno-strict-aliasing -fno-common
                -fno-exceptions -fno-rtti -fwrapv -fopenmp -flto -ffast-math
                -fstack-protector-strong -fomit-frame-pointer -fno-omit-frame-pointer
                -fsanitize=* -fdiagnostics-color* -fvisibility=hidden -x: -dumpversion
                -dumpmachine -print-search-dirs -print-file-name=* -P -C -nostdinc -nostdlib
                !-o: !-wrapper: !-specs: !-specs=* !-B: !-B? !-fplugin: !-fplugin=* !-Xlinker:
                !-Xassembler: !-Xpreprocessor: !-Xclang: !-T: !-u: !-z: !-include: !-imacros:
                !-isystem: !-iquote: !-aux-info: !-dumpbase: !-dumpdir: !-MF: !-MT: !-MQ:
                !--sysroot: !-Wl,* !-Wa,* !-Wp,* !-fuse-ld=* !-ld-path=* !--ld-path=*
                !-save-temps* !-MD !-MMD !-no-canonical-prefixes !--config: !-ccc-install-dir:
                !-fpass-plugin=* !-mllvm: !-foffload=* !-iplugindir=*
gcc,g++,cc,c++,clang,clang++,cpp,c99,c89 @cc
rustc           -V -v --edition: --explain: -O -g --test --cap-lints: --cfg: -A: -W: -D: -F:
                --allow: --warn: --deny: --forbid: --color: --error-format: !--print: !-o:
                !--out-dir: !-C: !--codegen: !-L: !-l: !--extern: !-Z: !--sysroot: !--emit:
                !--target:
@go.build       -v -x -n -race -msan -asan -a -p: -tags: -trimpath -mod:readonly|vendor|mod
                -buildvcs: -work -cover -covermode: -coverpkg: -json -modcacherw -buildmode:
                -linkshared -installsuffix: !-o: !-exec: !-toolexec: !-vettool: !-modfile:
                !-overlay: !-ldflags: !-gcflags: !-asmflags: !-gccgoflags: !-compiler: !-pkgdir:
                !-C: !-pgo:
go version      -m -v
go help
go build        @go.build
go test         @go.build -run: -skip: -bench: -benchmem -benchtime: -count: -cpu: -failfast
                -list: -parallel: -short -timeout: -vet:off -shuffle: -fuzztime:
                -fuzzminimizetime: -fullpath -c !-args !-fuzz: !-coverprofile: !-cpuprofile:
                !-memprofile: !-mutexprofile: !-blockprofile: !-trace: !-outputdir:
                !-testlogfile: !-test.*
go vet          @go.build -c: -composites -printf -unreachable
go fmt          -n -x -mod:readonly|vendor
go list         @go.build -m -f: -e -deps -test -u -versions -json? -find -export -retracted
                -reuse:
go mod tidy     -v -x -e -diff -go: -compat:
go mod download -x -json
go mod verify
go mod graph
go mod why      -m -vendor
!go mod edit
!go mod init
!go mod vendor
go env          -json -changed !-w !-u
go doc          -all -c -cmd -short -src -u
!go get         @go.build = -u -t -d
!go install     @go.build =
!go run
!go generate
!go tool
!go clean       -n -x -cache -testcache
!go work
!go fix
!go bug
!go telemetry
gofmt,goimports -l -d -s -w -e -r:
golangci-lint run -v --verbose --fix --fast --timeout: -E: --enable: -D: --disable: --tests
                --new -n --allow-parallel-runners !-c: !--config: !--out-format: !--output?
                !--cpu-profile-path: !--modules-download-mode:
golangci-lint linters
golangci-lint version
@cargo          -v --verbose -vv -q --quiet --locked --offline --frozen --color: -p: --package:
                --workspace --all --exclude: --lib --bins --bin: --examples --example: --tests
                --test: --benches --bench: --all-targets --doc -F: --features: --all-features
                --no-default-features -j: --jobs: --keep-going -r --release --profile:
                --message-format: --ignore-rust-version --timings --no-run --no-fail-fast
                --future-incompat-report !--config: !--manifest-path: !--target-dir:
                !--artifact-dir: !--out-dir: !-Z: !-C: !--target: !--lockfile-path: !--fix
cargo           -v --verbose -q --quiet --locked --offline --frozen --color: -V --list
                --explain: !--config: !-Z: !-C: !--manifest-path:
cargo build,cargo b @cargo
cargo check,cargo c @cargo
cargo test,cargo t @cargo
cargo test --   --nocapture --no-capture --test-threads: --ignored --include-ignored --exact
                --skip: --show-output -q --quiet --list --color: --format:pretty|terse
cargo t --      --nocapture --no-capture --test-threads: --ignored --include-ignored --exact
                --skip: --show-output -q --quiet --list --color:
cargo nextest run @cargo -E: --retries: --no-capture --run-ignored:
cargo bench     @cargo
cargo clippy    @cargo --no-deps --allow-dirty --allow-staged
cargo clippy -- -D: -W: -A: --deny: --warn: --allow:
cargo doc,cargo d @cargo --no-deps --document-private-items
cargo fmt       --all -p: --package: --check -q --quiet -v --verbose
cargo fmt --    --check -l
cargo tree      @cargo -e: --edges: -i? --invert? --depth: --prefix: -d --duplicates -f:
                --format: --no-dedupe
cargo metadata  --format-version: --no-deps --offline --locked --frozen --features:
                --all-features !--manifest-path: !--config:
cargo fetch     -q -v --locked --offline
cargo search    --limit: -q
cargo info      -q -v
cargo pkgid
cargo locate-project --workspace --message-format:
cargo verify-project
cargo version   -v --verbose
cargo clean     -p: --package: --release -r --doc -n --dry-run -v -q !--manifest-path:
                !--target-dir: !--config:
cargo update    -p: --package: --precise: --dry-run --aggressive --recursive -w --workspace -q
                -v --offline --locked
cargo generate-lockfile --offline -q -v
cargo audit     -q --quiet --json --deny: --ignore:
cargo deny check
!cargo add      = -p: --package: --dev --build -F: --features: --no-default-features --optional
                --dry-run
!cargo remove,cargo rm = -p: --package: --dev --build --dry-run
!cargo run,cargo r
!cargo install
!cargo uninstall
!cargo publish  --dry-run --locked
!cargo fix      @cargo --allow-dirty --allow-staged
!cargo new      --lib --bin --vcs:
!cargo init     --lib --bin --vcs:
!cargo vendor
!cargo package  --list -l
!cargo yank
!cargo login
!cargo owner
!cargo rustc
!cargo rustdoc
@pip            -q --quiet -v --verbose -vv --no-input --no-color --disable-pip-version-check
                --timeout: --retries: --no-cache-dir --progress-bar: --isolated !--python:
                !--log: !--proxy: !--cert: !--cache-dir: !--config-settings: !-C: !--index-url:
                !-i: !--extra-index-url: !-f: !--find-links: !--trusted-host: !--client-cert:
                !--global-option:
pip,pip3        @pip -V -h
pip list        @pip -o --outdated -u --uptodate -e --editable -l --local --user --format:
                --not-required
pip show        @pip -f --files
pip freeze      @pip -l --local --user --all --exclude: --exclude-editable
pip check       @pip
pip index versions @pip --pre
pip inspect     @pip --local --user
pip debug       @pip
pip config list -v --verbose
pip config get
pip cache dir
pip cache info
pip cache list  --format:
pip hash        -a: --algorithm:
pip help
!pip install    @pip = -r: --requirement: -U --upgrade -e: --editable: --no-deps --pre --user
                --dry-run --force-reinstall --no-build-isolation --only-binary: --no-binary:
                --require-hashes --prefer-binary --break-system-packages --upgrade-strategy: -I
                --ignore-installed !-t: !--target: !--prefix: !--root: !--src: !-c:
                !--constraint: !--report: !--platform:
!pip uninstall  @pip = -y --yes
!pip download   @pip = --no-deps
!pip wheel      @pip =
@uv             -q --quiet -v --verbose --offline --no-progress --color: --no-color --frozen
                --locked --all-extras --extra: --no-dev --dev --group: --no-group: --only-group:
                --all-groups --no-cache -n --no-sync --only-dev --package: --all-packages
                --no-install-project --inexact --exact !--with: !--with-editable:
                !--with-requirements: !--python: !-p: !--directory: !--project: !--config-file:
                !--env-file: !--index-url: !-i: !--default-index: !--index: !--extra-index-url:
                !--find-links: !-f: !--cache-dir: !--config-setting: !-C:
                !--allow-insecure-host: !--script: !-m: !--module: !--from: !--target:
                !--prefix: !--link-mode: !--keyring-provider: !--system
uv              @uv -V -h !--directory: !--project: !--config-file: !--cache-dir:
uv sync         @uv --reinstall -U --upgrade --check --dry-run
uv lock         @uv --check -U --upgrade -P: --upgrade-package: --dry-run
uv tree         @uv --depth: --prune: --no-dedupe --invert --outdated --universal
uv version      @uv --short
uv python list  --only-installed --all-versions
uv python find
uv pip list     -q -v -o --outdated -e --editable --format: --exclude:
uv pip show     -q -v -f --files
uv pip freeze   -q -v
uv pip check    -q -v
uv pip tree     -q -v --depth: --invert --outdated
!uv pip install @uv = -r: -U --upgrade -e: --no-deps
!uv pip sync    @uv =
!uv pip uninstall @uv =
uv tool list
uv tool dir
!uv tool run
!uv tool install
uv cache dir
!uv add         @uv = --dev --optional: --group:
!uv remove      @uv = --dev --optional: --group:
!uv run         @uv
!uv build       @uv
!uv publish
!uv venv
!uv export      @uv --no-hashes --format:
@poetry         -q --quiet -v -vv -vvv -n --no-interaction --no-ansi --ansi --no-cache !-C:
                !--directory: !-P: !--project:
poetry          @poetry -V -h
poetry install  @poetry --no-root --sync --dry-run --with: --without: --only: --only-root -E:
                --extras: --all-extras --no-dev --compile
poetry show     @poetry --tree -t -l --latest -o --outdated -a --all --top-level -T --with:
                --without: --only: --no-truncate
poetry check    @poetry --lock --strict
poetry lock     @poetry --no-update --regenerate --check
poetry env info @poetry -p --path -e --executable
poetry env list @poetry --full-path
poetry version  @poetry -s --short --dry-run
!poetry add     @poetry = -D --dev -G: --group: --optional --dry-run --lock
!poetry remove  @poetry = -D --dev -G: --group: --dry-run --lock
!poetry update  @poetry --dry-run --lock --sync
!poetry build   @poetry -f: --format:
!poetry run
!poetry publish
!poetry config
!poetry self
!poetry shell
!poetry init
!poetry new
@pytest         -q --quiet -v --verbose -x --exitfirst -s --capture: -k: -m: --markers --lf
                --last-failed --ff --failed-first --nf --new-first --sw --stepwise --sw-skip
                --stepwise-skip --maxfail: --tb: --fixtures --funcargs --fixtures-per-test -r:
                -l --showlocals --no-showlocals --durations: --durations-min: --co
                --collect-only --no-header --no-summary --show-capture: --color:
                --code-highlight: --setup-show --setup-only --setup-plan --runxfail
                --strict-markers --strict-config --strict -n: --numprocesses: --dist: --ignore:
                --ignore-glob: --deselect: --cache-show? --cache-clear --disable-warnings
                --disable-pytest-warnings --cov? --no-cov
                --cov-report:term|term-missing|term:skip-covered|term-missing:skip-covered
                --cov-branch --cov-fail-under: --timeout: --asyncio-mode: --randomly-seed:
                -p:no:* --pyargs --full-trace --keep-duplicates --noconftest --log-cli-level:
                --log-level: --snapshot-update --doctest-modules --benchmark-skip
                --benchmark-only --hypothesis-seed: --forked --reruns: !-c: !--config-file: !-o:
                !--override-ini: !--rootdir: !--confcutdir: !--basetemp: !--junitxml:
                !--junit-xml: !--import-mode: !--pdb !--pdbcls: !--trace !--debug? !--log-file:
                !--pastebin: !-W: !--pythonwarnings: !--cov-config: !--cov-append
                !--doctest-glob: !--rsyncdir: !--tx: !--px: !-d !-f !--looponfail !--result-log:
                !--report-log: !--html: !--assert: !--trace-config
pytest,py.test  @pytest -V -h
unittest        -v --verbose -q --quiet -f --failfast -c --catch -b --buffer -k: --locals
                --durations: -s: -p: -t:
tox             -q -v -vv -e: -r --recreate -p? --parallel? -l --listenv -a --listenvs-all
                --notest -o --skip-missing-interpreters? --no-recreate-pkg --skip-pkg-install
                --showconfig -s -f: -m: !-x: !--override: !-c: !--conf: !--workdir:
                !--toxworkdir: !--root: !--installpkg: !--devenv: !--hashseed: !--discover:
                !--result-json: !-b
tox run         -q -v -e: -r --recreate --notest -f: -m: !-x: !--override: !-c: !--conf:
                !--workdir: !--root:
tox list        -q -v -e: -f: -m:
tox --          @pytest
tox run --      @pytest
nox             -s: --session: --sessions: -e: -k: --keywords: -t: --tags: -l --list -r -R
                --reuse-existing-virtualenvs -x --stop-on-first-error
                --no-error-on-missing-interpreters --no-install -v --verbose -p: --python: !-f:
                !--noxfile: !--envdir: !--extra-python: !--force-python: !-P: !--report: !-db:
                !--default-venv-backend: !-fb: !--force-venv-backend: !--pythons:
                !--download-python:
nox --          @pytest
ruff            -q --quiet -v --verbose -s --silent -V -h !--config: !--isolated
ruff check      -q --quiet -v --verbose -s --silent --fix --no-fix --unsafe-fixes
                --no-unsafe-fixes --show-fixes --diff -w --watch --select: --ignore:
                --extend-select: --extend-ignore: --exclude: --line-length: --statistics
                --output-format: -n --no-cache -e --exit-zero --preview --no-preview
                --target-version: --respect-gitignore --force-exclude --exit-non-zero-on-fix
                --show-files --show-settings --stdin-filename: --isolated !--config: !-o:
                !--output-file: !--cache-dir: !--add-noqa
ruff format     -q --quiet -v --verbose -s --silent --check --diff --exclude: --line-length:
                --preview -n --no-cache --target-version: --respect-gitignore --force-exclude
                --stdin-filename: --isolated --range: !--config: !--cache-dir:
ruff rule       --all --output-format:
ruff linter     --output-format:
ruff version    --output-format:
black           -q --quiet -v --verbose --check --diff --color --no-color -l: --line-length: -t:
                --target-version: -S --skip-string-normalization --fast --safe -W: --workers:
                --exclude: --extend-exclude: --include: --force-exclude: -C --preview
                --required-version: !--config: !-c: !--code: !--stdin-filename:
isort           -c --check --check-only --diff -q --quiet -v --verbose --profile: -l:
                --line-length: --atomic !--sp: !--settings-path: !--settings-file: !--settings:
flake8          -v --verbose -q --quiet --count --statistics --select: --ignore:
                --extend-ignore: --max-line-length: --exclude: --show-source --max-complexity:
                --per-file-ignores: --exit-zero -j: --jobs: !--config: !--append-config:
                !--output-file: !--tee !--require-plugins: !--format:
pylint          -E --errors-only --disable: --enable: -j: --jobs: --score: -r: --reports: -v
                --exit-zero --recursive: !--load-plugins: !--init-hook: !--rcfile: !--output:
                !-f: !--output-format: !--import-graph:
mypy            -v --verbose --strict --ignore-missing-imports --no-incremental
                --show-error-codes --hide-error-codes --pretty --no-pretty --no-error-summary
                --show-error-context --show-column-numbers --check-untyped-defs
                --disallow-untyped-defs --warn-unused-ignores --no-implicit-optional
                --python-version: --platform: -p: --package: -m: --module: --exclude:
                --explicit-package-bases --namespace-packages --follow-imports: --install-types?
                --color-output --no-color-output --skip-cache-mtime-checks --any-exprs
                --soft-error-limit: !--install-types !--config-file: !--python-executable:
                !--cache-dir: !--shadow-file: !--junit-xml: !--html-report: !--txt-report:
                !--xml-report: !--any-exprs-report: !--linecount-report: !--custom-typeshed-dir:
                !--custom-typing-module: !-c: !--command: !--pdb !--non-interactive
pyright,basedpyright --outputjson --stats --verbose -w --watch --warnings --skipunannotated
                --threads? --level: --pythonversion: --pythonplatform: !-p: !--project:
                !--pythonpath: !-v: !--venvpath: !--venv-path: !-t: !--typeshedpath:
                !--createstub: !--verifytypes:
coverage report -m --show-missing --skip-covered --skip-empty --fail-under: --include: --omit:
                --sort: -i --precision: !--rcfile: !--data-file: !--format:
coverage combine -a --append -q --keep !--rcfile: !--data-file:
coverage erase  !--rcfile: !--data-file:
!coverage run
pre-commit run  -a --all-files -v --verbose --files --show-diff-on-failure --from-ref: --to-ref:
                --hook-stage: --color: -s: -o: !-c: !--config:
!pre-commit install
!pre-commit try-repo
mvn,mvnw        -q -B -o -e -X -U -V -v -ntp -T: -pl: -am -amd -fae -ff -fn -DskipTests
                -DskipTests=true -Dtest=* -DfailIfNoTests=* -Dit.test=* -Dcheckstyle.skip
                -DskipITs -N -P: --quiet --batch-mode --offline --errors --debug
                --no-transfer-progress --threads: --projects: --also-make --fail-at-end
                --fail-fast --update-snapshots --show-version !-f: !--file: !-s: !--settings:
                !-gs: !--global-settings: !-t: !--toolchains: !-D: !-D? !--define: !-l:
                !--log-file: !-gt: !-emp: !-ep: !-b: !-rf: !--resume-from: !-I? !-ps:
gradle,gradlew  -q --quiet -i --info -d --debug -s --stacktrace -S --full-stacktrace -w --warn
                --offline --no-daemon --daemon --parallel --no-parallel --continue --rerun-tasks
                --refresh-dependencies --console: -x: --exclude-task: --tests: --build-cache
                --no-build-cache --dry-run -m --no-configuration-cache --configuration-cache
                --max-workers: --profile --warning-mode: --configuration: --status --fail-fast
                !-I: !--init-script: !-b: !--build-file: !-c: !--settings-file: !-p:
                !--project-dir: !-P: !-P? !-D: !-D? !--project-prop: !--system-prop: !-g:
                !--gradle-user-home: !--include-build: !--project-cache-dir:
                !--write-verification-metadata: !--scan !--gui !-t !--debug-jvm !--console-file:
dotnet build,dotnet test,dotnet restore -c: --configuration: -v: --verbosity: --no-restore
                --no-build --nologo -f: --framework: --filter: --no-incremental -t --list-tests
                --blame --interactive !-o: !--output: !-s: !--settings: !-r: !-a: !-l: !-d:
                !--source: !--configfile: !-p? !--property? !-e: !--collect:
dotnet test --  {0}
dotnet list     --outdated --vulnerable --include-transitive
!dotnet run
!dotnet exec
!dotnet tool
!dotnet publish
!dotnet add
swift build,swift test -c: --configuration: -v --verbose -q --quiet --filter: --skip: --parallel
                -j: -l --list-tests
bundle install,bundle check,bundle list --quiet --jobs: --retry: --local --name-only --paths
bundle show,bundle info,bundle outdated --paths
!bundle exec
!bundle config
!bundle add
gem list        -l --local -r --remote -a --all
gem search      -r --remote -a --all
!gem install
composer install,composer validate,composer show,composer outdated -n --no-interaction -q
                --quiet -v -vv --no-dev --no-scripts --no-progress --dry-run --prefer-dist
                --strict --tree -i !-d: !--working-dir: !--no-plugins
rake            -T --tasks? -P --prereqs -n --dry-run -s --silent -q --quiet -v --verbose -m
                --multitask -t --trace? -j: !-f: !--rakefile: !-r: !--require: !-e: !--execute:
                !-p: !--execute-print: !-E: !--execute-continue: !-I: !--libdir: !-R:
                !--rakelibdir: !-C: !--directory:
just,task       -l --list -n --dry-run -q --quiet -v --verbose --summary --color: !-f:
                !--justfile: !-d: !-t: !--taskfile: !--dir: !--working-directory: !--shell:
                !--shell-arg: !--set !-c: !--command: !-e !--edit !--dotenv-path:
bazel build,bazel test,bazel query -k --keep_going --test_output: --nocache_test_results
shellcheck      -s: --shell: -x --external-sources -e: --exclude: -S: --severity: -f: --format:
                -a -o: --enable: -C? --color? -W: -i: --include: !--rcfile: !-P: !--source-path:
"""
